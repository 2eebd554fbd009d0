"""The import check through `pq push`: what is staged, who is to blame, and which interpreter."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.conftest import configure, is_gone, script
from tests.conftest import MODULE, Result, World, git
from tests.laws import nothing_changed, stands_at


def _push(world: World, module: bytes) -> Result:
    """Push a patch that makes pkg/module.py this."""
    world.patch("change.patch", {"pkg/module.py": module})
    return world.pq("push")


def _rejected(world: World, module: bytes) -> str:
    said = _push(world, module)
    assert said.code == 4, said
    assert said.err.startswith("pq: Patch change.patch is rejected by hooks/pre-apply; the checkout is not changed by it\n")
    assert "Traceback" not in said.err
    stands_at(world, None)
    return said.err


def test_what_imports_passes_and_the_note_says_how(checked: World) -> None:
    said = _push(checked, MODULE + b"import json\n")

    assert said.code == 0, said
    assert "Checked: imported 2 modules in " in said.out or "Checked: imported 1 modules in " in said.out
    assert said.out.endswith("all probes passed\nNow at patch change.patch\n")


def test_a_syntax_error_is_shown_with_line_caret_and_hunk(checked: World) -> None:
    said = _rejected(checked, MODULE.replace(b"return 2", b"return (2"))

    assert "  pkg/module.py:9: SyntaxError: '(' was never closed, by hunk 1 (patches/change.patch:5) [syntax]\n" in said
    assert "          return (2\n                 ^\n" in said


def test_a_check_sees_the_candidate_and_not_the_last_one(checked: World) -> None:
    """The staged copy and its bytecode follow the tree, back and forth, whatever the file times."""
    checked.patch("bad.patch", {"pkg/module.py": MODULE.replace(b"return 2", b"return 9") + b"assert False\n"})
    assert checked.pq("push").code == 4
    checked.series.write_bytes(checked.series.read_bytes().replace(b"bad.patch\n", b""))
    checked.patch("good.patch", {"pkg/module.py": MODULE.replace(b"return 2", b"return 9") + b"assert True \n"})

    assert checked.pq("push").code == 0
    assert checked.pq("check").code == 0


def test_the_staged_copy_reaches_nothing_behind_a_symlink(checked: World) -> None:
    """A folder that becomes a symlink: what goes with the folder goes in the copy, not where the symlink leads."""
    outside = checked.root / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"precious\n")
    checked.patch("folder.patch", {"dir/file": b"1\n"})
    assert checked.pq("push").code == 0
    removal = b"diff --git a/dir/file b/dir/file\ndeleted file mode 100644\n--- a/dir/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    link = b"diff --git a/dir b/dir\nnew file mode 120000\n--- /dev/null\n+++ b/dir\n@@ -0,0 +1 @@\n+%s\n\\ No newline at end of file\n"
    checked.add("removal.patch", removal)
    checked.add("link.patch", link % os.fsencode(outside))

    assert checked.pq("push", "-a").code == 0

    assert (outside / "file").read_bytes() == b"precious\n"
    assert checked.pq("pop", "-a").code == 0
    assert (outside / "file").read_bytes() == b"precious\n"


def test_a_folder_that_a_patch_has_left_empty_is_no_package(checked: World) -> None:
    """git has no empty folders, and Python takes one for a package: what is right was refused, and what is broken passed."""
    checked.patch("there.patch", {"pkg/new/mod.py": b"x = 1\n", "json/inner/mod.py": b"x = 1\n"})
    assert checked.pq("push", "--no-check").code == 0
    assert checked.pq("check").code in (0, 4)
    assert checked.pq("pop").code == 0
    checked.series.write_bytes(checked.series.read_bytes().replace(b"there.patch\n", b""))
    checked.patch("bad.patch", {"pkg/module.py": MODULE + b"import importlib\nimportlib.import_module('pkg.new')\n"})
    checked.patch("good.patch", {"pkg/module.py": MODULE + b"import json\n"})

    rejected = checked.pq("push")
    checked.series.write_bytes(checked.series.read_bytes().replace(b"bad.patch\n", b""))

    assert (rejected.code, "No module named 'pkg.new'" in rejected.err) == (4, True), rejected
    assert checked.pq("push").code == 0


def test_a_reason_of_several_lines_is_shown_whole(checked: World) -> None:
    said = _rejected(checked, MODULE + b"raise ValueError('first\\n\\nthird')\n")

    assert "ValueError: first\n  \n  third, by hunk 1 (patches/change.patch:5) [import]\n" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("whom", [os.kill, os.killpg])
def test_ctrl_c_ends_the_imports_and_says_so_in_one_line(
    checked: World, whom: Callable[[int, int], None], number: signal.Signals
) -> None:
    """A Ctrl-C at a terminal goes to all of pq's processes, a kill -INT to one; a SIGTERM means the same."""
    pid = checked.root / "pid"
    line = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    checked.patch("change.patch", {"pkg/module.py": MODULE + line.encode()})
    process = subprocess.Popen(
        [sys.executable, "-m", "pq", "--trust", "push"],
        cwd=checked.queue,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not pid.exists() or not pid.read_text():
        time.sleep(0.01)

    with nothing_changed(checked):
        whom(process.pid, number)
        _, err = process.communicate(timeout=10)

    assert (process.returncode, err.strip()) == (130, "pq: interrupted")
    assert is_gone(int(pid.read_text()))


def test_the_first_patch_to_blame_is_named(checked: World) -> None:
    checked.patch("good.patch", {"numbers.txt": b"1\n"})
    checked.patch("bad.patch", {"pkg/module.py": MODULE + b"import nowhere\n"})
    checked.patch("other.patch", {"new.txt": b"1\n"})

    said = checked.pq("push", "-a")

    assert (said.code, said.out.splitlines()[-1]) == (4, "Now at patch good.patch")
    assert "Patch bad.patch is rejected" in said.err


def test_what_a_patch_expects_to_be_imported_is_imported(checked: World) -> None:
    checked.patch("fine.patch", {"pkg/fine.py": b"import json\n"}, header=b"Pq-Expect: import pkg.fine\n\n")
    checked.patch("dead.patch", {"pkg/dead.py": b"import nowhere\n"}, header=b"Pq-Expect: import pkg.dead\n\n")

    said = checked.pq("push", "-a")

    assert (said.code, said.out.splitlines()[-1]) == (4, "Now at patch fine.patch"), said
    assert "Patch dead.patch is rejected" in said.err
    assert "pkg/dead.py:1: ModuleNotFoundError: No module named 'nowhere', by hunk 1 (patches/dead.patch:" in said.err


def test_a_release_that_fails_already_is_not_blamed_on_a_patch(checked: World) -> None:
    configure(checked, modules=["pkg.nowhere"])

    assert "the tree below this patch fails already (is [check] in pq.toml right?): ModuleNotFoundError" in _rejected(
        checked, MODULE + b"x = 1\n"
    )


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/true", "nowhere-python"])
def test_an_interpreter_that_cant_be_run_lets_nothing_through(checked: World, python: str) -> None:
    configure(checked, python=python)

    said = _push_only(checked)

    assert said.code == 4
    assert said.err.startswith(f"pq: the interpreter of the import check can't be run: {python} ")
    assert said.err.endswith("hint: set [check] python in pq.toml to one that runs\n")


def _push_only(world: World) -> Result:
    world.add("x.patch", b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-line 1\n+line one\n")
    return world.pq("push")


def test_an_interpreter_that_hangs_is_not_waited_for(checked: World) -> None:
    """It answers nothing at all, and keeps its output open in a process of its own."""
    pid = checked.root / "pid"
    configure(checked, python=script(checked.root / "python", f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n"), timeout=1)
    began = time.monotonic()

    said = _push_only(checked)

    assert said.code == 4
    assert "can't be run" in said.err
    assert time.monotonic() - began < 15
    assert is_gone(int(pid.read_text()))


def test_an_interpreter_is_named_from_the_queue(checked: World) -> None:
    (checked.root / "env").mkdir()
    script(checked.root / "env" / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    configure(checked, python="../env/python")
    checked.patch("change.patch", {"pkg/module.py": MODULE + b"x = 1\n"})

    assert checked.pq("push", cwd=checked.checkout / "pkg").code == 0


def test_an_interpreter_inside_of_the_queue_is_not_asked(checked: World) -> None:
    """Its bytes, and those of its packages, could change with every pull."""
    script(checked.queue / "env" / "python", f'#!/bin/sh\ntouch "{checked.root}/ran"\nexec "{sys.executable}" "$@"\n')
    (checked.root / "link").symlink_to(checked.queue / "env" / "python")
    checked.patch("change.patch", {"pkg/module.py": MODULE + b"x = 1\n"})

    for named in ("env/python", str(checked.root / "link")):
        configure(checked, python=named)
        said = checked.pq("push")
        assert (said.code, f"[check] python is {named}, a file of the queue" in said.err) == (4, True)
    assert not (checked.root / "ran").exists()


@pytest.mark.parametrize(
    "line", ["-r ../other.txt", "-e ./pkg", "./pkg", "x @ file:///tmp/x", "--find-links ..", "evil-1.0.tar.gz"]
)
def test_requirements_lead_pip_to_no_other_file(checked: World, line: str) -> None:
    """What pip would install from there is not what `pq trust` shows."""
    configure(checked, python="managed")
    with (checked.queue / "pq.toml").open("a") as file:
        file.write('requirements = "hooks/requirements/v1.txt"\n')
    script(checked.queue / "hooks" / "requirements" / "v1.txt", f"# what it needs\nnumpy==1.0 \\\n    --hash=sha256:00\n{line}\n")

    said = checked.pq("setup")

    assert (said.code, "hooks/requirements/v1.txt:4: " in said.err) == (4, True), said


def test_without_the_managed_environment_nothing_is_let_through(checked: World) -> None:
    configure(checked, python="managed")
    (checked.queue / "pq.toml").write_text(
        (checked.queue / "pq.toml").read_text() + 'requirements = "hooks/requirements/{pin}.txt"\n'
    )

    missing = _push_only(checked)
    script(checked.queue / "hooks" / "requirements" / "v1.txt", "nothing==1\n")
    unbuilt = checked.pq("push")

    assert (missing.code, unbuilt.code) == (4, 4)
    assert "pq: hooks/requirements/v1.txt is missing: the import check has no requirements for v1\n" in missing.err
    assert unbuilt.err == "pq: the environment of the import check for v1 is not built\nhint: pq setup builds it\n"
    assert git(checked.checkout, "status", "--porcelain") == ""


def _newer() -> str | None:
    """A Python whose grammar has PEP 701. A shim of pyenv's may be there and answer nothing."""
    found = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    found += map(str, Path("~/.pyenv/versions").expanduser().glob("3.1[2-9]*/bin/python"))
    asking = ("-c", 'f"{\'a\' + "b"}"')
    return next(
        (path for path in found if path and subprocess.run([path, *asking], capture_output=True, check=False).returncode == 0),
        None,
    )


NEWER = _newer()


@pytest.mark.skipif(sys.version_info >= (3, 12) or NEWER is None, reason="needs an older Python, and a newer one beside it")
def test_the_grammar_is_that_of_the_interpreter_that_will_run_it(checked: World) -> None:
    """PEP 701: a quote inside an f-string is an error before 3.12."""
    configure(checked, python=str(NEWER))
    checked.patch("change.patch", {"pkg/module.py": MODULE + b'x = f"{\'a\' + "b"}"\n'})

    assert checked.pq("push").code == 0
    checked.patch("bad.patch", {"pkg/module.py": MODULE + b"x = f\"{'a' + \"\n"})
    assert "SyntaxError" in checked.pq("push").err
