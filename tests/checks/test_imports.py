"""Imports for real, from the staged copy, in another interpreter: whatever the imported code does, the answer is the truth or none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pq.checks import imports
from pq.checks.findings import Finding
from pq.checks.imports import Imported, Request, TooLong
from pq.checks.stage import Stage
from pq.checks.warm import Warm
from pq.engine.checking import _as_finding
from tests.checks.conftest import is_gone, script

MODULE = "def second():\n    return 2\n"


@dataclass
class Copy:
    """A staged copy with package pkg, and how it is to be imported."""

    root: Path
    python: Path = Path(sys.executable)
    warm: Warm | None = None
    watch: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    memory: int = 16

    def write(self, name: str, text: str) -> Path:
        """Put a file into the copy."""
        return script(self.root / "stage" / "files" / name, text)

    def append(self, name: str, text: str) -> None:
        """Write a file anew, with more in it."""
        place = self.root / "stage" / "files" / name
        was = place.read_text() if place.exists() else ""
        place.unlink(missing_ok=True)
        self.write(name, was + text)

    def link(self, name: str, target: str) -> None:
        """Put a symlink into the copy."""
        place = self.root / "stage" / "files" / name
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def check(
        self,
        module: str = MODULE,
        *,
        modules: Sequence[str] = ("pkg.module",),
        stand_ins: Sequence[str] = (),
        timeout: int = 30,
        probes: Sequence[Path] = (),
    ) -> Imported | Finding:
        """Import pkg/module.py with this text."""
        self.write("pkg/module.py", module)
        stage = Stage(self.root / "stage", self.root / "none")
        request = Request(
            self.python,
            stage.files,
            tuple(modules),
            (*stand_ins, *self.stand_ins),
            tuple(probes),
            timeout,
            dict(os.environ) if self.environment is None else self.environment,
            self.memory,
            self.watch,
        )
        found = imports.check(request, stage, self.warm)
        return _as_finding(found) if isinstance(found, TooLong) else found

    def finding(self, module: str = MODULE, *, timeout: int = 30) -> Finding:
        """The same, where it has to be found out."""
        found = self.check(module, timeout=timeout)
        assert isinstance(found, Finding), found
        return found


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A staged copy in which pkg has an __init__.py."""
    made = Copy(tmp_path)
    made.write("pkg/__init__.py", "")
    return made


def test_what_imports_is_counted(copy: Copy) -> None:
    found = copy.check()

    assert isinstance(found, Imported)
    assert (found.modules, found.stood_in) == (2, ())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import nowhere\n", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt: "),
        ("import sys; sys.exit(0)\n", "SystemExit: 0"),
        ("raise type('X', (BaseException,), {})('x')\n", "X: x"),
    ],
)
def test_what_an_import_raises_is_the_reason(copy: Copy, line: str, reason: str) -> None:
    assert copy.finding(MODULE + line) == Finding(
        "import", reason, "pkg/module.py", 3, text=(f"pkg/module.py:3 in <module>: {line.strip()}",)
    )


@pytest.mark.parametrize(
    ("line", "ending"),
    [
        ("import os; os._exit(0)\n", "exited with 0"),
        ("import os; os.kill(os.getpid(), 9)\n", "was killed by signal 9"),
        ("import os; os.closerange(0, 100)\n", "exited with"),
        ("import os\nfor fd in range(100):\n    try: os.write(fd, b'{}')\n    except OSError: pass\n", "exited with 0"),
        (
            "import os\nfor fd in range(3, 100):\n    try: os.write(fd, b'{}')\n    except OSError: pass\nos._exit(0)\n",
            "exited with 0",
        ),
        ("class X(Exception):\n    def __str__(self): 1 / 0\nraise X\n", "exited with 1"),
    ],
)
def test_an_interpreter_that_does_not_answer_lets_nothing_through(copy: Copy, line: str, ending: str) -> None:
    found = copy.finding(MODULE + line)

    assert found.code == "import"
    assert found.reason.startswith(f"the interpreter {ending}")
    assert found.reason.endswith("during the imports, before it could answer")


@pytest.mark.parametrize(
    "line",
    [
        """print('{"seconds": 1, "modules": 1, "stood_in": []}')\n""",
        "import sys; sys.stderr.write('x' * 300000)\n",
        "import sys; sys.stdout.close(); sys.stdin.close()\n",
        "import sys; sys.stdin.read()\n",
        "import os; os.chdir('/'); os.umask(0o777)\n",
    ],
)
def test_what_an_import_prints_or_sets_is_no_answer(copy: Copy, line: str) -> None:
    assert isinstance(copy.check(MODULE + line), Imported)


def test_what_an_import_printed_is_shown_where_it_died(copy: Copy) -> None:
    found = copy.finding("import os\nos.write(1, b'last \\xff words\\n')\nos._exit(1)\n")

    assert found.text == ("last \ufffd words",)


def test_a_reason_longer_than_a_pipe_is_no_deadlock(copy: Copy) -> None:
    found = copy.finding("raise ValueError('x' * 1000000)\n", timeout=20)

    assert found.reason.startswith("ValueError: xxx")
    assert len(found.reason) < 10000


def test_an_import_that_hangs_is_ended(copy: Copy) -> None:
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pause()\n"

    assert copy.finding(deaf, timeout=1).reason == "the import check took more than 1 seconds and was ended"


def test_the_end_takes_the_grandchildren_too(copy: Copy) -> None:
    """A process group, not a process: the interpreter is a shell script here, and the import starts a process of its own."""
    pids = copy.root / "pids"
    copy.python = script(copy.root / "python", f'#!/bin/sh\necho $$ >> {pids}\n"{sys.executable}" "$@"\n')
    spawn = f"import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nopen({str(pids)!r}, 'a').write(f'{{child.pid}}\\n')\n"

    found = copy.finding(spawn + "child.wait()\n", timeout=1)

    assert "took more than 1 seconds" in found.reason
    assert [is_gone(int(pid)) for pid in pids.read_text().split()] == [True, True]


def test_what_an_import_leaves_behind_is_ended_too(copy: Copy) -> None:
    pid = copy.root / "pid"
    spawn = f"import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nopen({str(pid)!r}, 'w').write(str(child.pid))\n"

    assert isinstance(copy.check(spawn), Imported)

    assert is_gone(int(pid.read_text()))


# -- from the candidate tree, and nowhere else ----------------------------------------------------------------------


@pytest.fixture
def installed(copy: Copy) -> Path:
    """The site-packages of an interpreter in which another pkg is installed, which fails."""
    folder = copy.root / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)], check=True)
    copy.python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*/site-packages"))
    script(site / "pkg" / "__init__.py", "")
    script(site / "pkg" / "module.py", "raise RuntimeError('installed')\n")
    return site


def test_a_package_that_is_installed_as_well_comes_from_the_tree(copy: Copy, installed: Path) -> None:
    assert installed.is_dir()

    assert isinstance(copy.check(), Imported)


def test_a_package_without_init_loses_to_the_installed_one_and_is_found_out(copy: Copy, installed: Path) -> None:
    (copy.root / "stage" / "files" / "pkg" / "__init__.py").unlink()
    script(installed / "pkg" / "module.py", MODULE)

    assert copy.finding().reason.startswith(f"not imported from the candidate tree: pkg from {installed}/pkg/__init__.py")


def test_a_module_that_was_loaded_before_the_check_is_found_out(copy: Copy, installed: Path) -> None:
    """An editable install, or a .pth file, may have it in sys.modules at the start."""
    script(installed / "pkg" / "module.py", MODULE)
    (installed / "early.pth").write_text("import pkg.module\n")

    found = copy.finding()

    assert (found.code, found.reason.partition(", ")[0]) == (
        "origin",
        f"not imported from the candidate tree: pkg from {installed}/pkg/__init__.py",
    )


def test_a_symlink_in_the_tree_is_no_way_out_of_it(copy: Copy) -> None:
    script(copy.root / "outside.py", MODULE)
    (copy.root / "stage" / "files" / "pkg" / "linked.py").symlink_to(copy.root / "outside.py")

    found = copy.finding("import pkg.linked\n")

    assert "not imported from the candidate tree: pkg.linked from" in found.reason


def test_a_module_that_is_not_in_the_tree_is_not_checked_elsewhere(copy: Copy) -> None:
    found = copy.check(modules=["json"])

    assert found == Finding("origin", "not imported from the candidate tree: no module")


# -- stand-ins and probes -------------------------------------------------------------------------------------------

GPU = "import gpu_lib.ops\nfrom gpu_lib import Kernel\n\n\nclass Mine(Kernel):\n    x: gpu_lib.Tensor | None = None\n"


def test_a_module_that_cannot_exist_here_is_missed_unless_it_is_listed(copy: Copy) -> None:
    missed, stood_in = copy.check(GPU), copy.check(GPU, stand_ins=["gpu_lib", "json"])

    assert isinstance(missed, Finding)
    assert missed.reason == "ModuleNotFoundError: No module named 'gpu_lib'"
    assert isinstance(stood_in, Imported)
    assert stood_in.stood_in == ("gpu_lib",)


def test_the_tree_itself_is_never_stood_in(copy: Copy) -> None:
    """Else a package that is broken would pass as its own stand-in."""
    copy.write("pkg/__init__.py", "raise RuntimeError('broken')\n")
    copy.write("other.py", "")

    found = copy.check(modules=["other", "pkg.module"], stand_ins=["pkg"])

    assert isinstance(found, Finding)
    assert found.reason == "RuntimeError: broken"


def test_probes_run_behind_the_imports_in_the_same_process(copy: Copy) -> None:
    good = script(copy.root / "a.py", "import sys\nassert 'pkg.module' in sys.modules\n")
    bad = script(copy.root / "b.py", "import pkg.module\nassert pkg.module.second() == 3, 'second is not 3'\n")

    found = copy.check(probes=[good, bad])

    assert isinstance(copy.check(probes=[good]), Imported)
    assert isinstance(found, Finding)
    assert (found.code, found.reason) == ("probe", "probe b.py: AssertionError: second is not 3")


def test_a_probe_that_exits_is_no_pass(copy: Copy) -> None:
    found = copy.check(probes=[script(copy.root / "a.py", "import sys; sys.exit(0)\n")])

    assert isinstance(found, Finding)
    assert found.reason == "probe a.py: SystemExit: 0"
