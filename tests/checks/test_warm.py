"""The worker that stays: quick, and never of another opinion than a fresh process. It is killed, starved and fooled here."""

from __future__ import annotations

import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pq.checks import warm
from pq.checks.findings import Finding
from pq.checks.imports import Imported
from pq.checks.stage import Stage
from pq.checks.warm import Warm
from pq.core.tree import File
from tests.checks.conftest import configure, is_gone, script
from tests.checks.test_imports import Copy
from tests.conftest import MODULE, World

pytestmark = pytest.mark.skipif(not warm.can_be(), reason="a worker stays on Linux only")

REGULAR = 0o100644


def pids(folder: Path) -> list[int]:
    """The processes of workers whose sockets are in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes()
        except OSError:
            continue
        if b"--stay" in words and os.fsencode(folder) in words:
            found.append(int(place.parent.name))
    return sorted(found)


def wait_for(worker: Warm) -> None:
    """Until there is one who answers."""
    for _ in range(1000):
        if worker.is_there():
            return
        time.sleep(0.005)
    raise AssertionError(f"nobody waits in {sorted(worker.folder.iterdir())}")


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    """A staged copy, and workers for it that end with the test."""
    made = Copy(tmp_path, warm=Warm(tmp_path / "worker", "key", "same", 60), watch=("pkg.module",))
    made.write("pkg/__init__.py", "")
    yield made
    shutil.rmtree(tmp_path / "worker", ignore_errors=True)
    for pid in pids(tmp_path):
        os.kill(pid, signal.SIGKILL)


def started(copy: Copy, module: str = "") -> Warm:
    """The workers, with one that waits and has not been asked yet."""
    assert copy.warm is not None
    assert isinstance(copy.check(module), Imported)
    wait_for(copy.warm)
    return copy.warm


UPPER = "import pkg.runs\n\n\n"
LOWER = "def answer():\n    return {}\n"
RUNS = "with open({!r}, 'a') as file:\n    file.write('run\\n')\n"


@pytest.fixture
def runs(copy: Copy) -> Path:
    """A file with a line for each time that pkg/runs.py was executed."""
    file = copy.root / "runs"
    file.touch()
    copy.write("pkg/runs.py", RUNS.format(str(file)))
    return file


def times(runs: Path) -> int:
    return len(runs.read_text().splitlines())


def test_what_stands_above_the_change_is_not_imported_again(copy: Copy, runs: Path) -> None:
    started(copy, UPPER + LOWER.format(0))
    assert times(runs) == 1
    assert isinstance(copy.check(UPPER + LOWER.format(1)), Imported)
    assert times(runs) == 2

    for number in range(3):
        assert isinstance(copy.check(UPPER + LOWER.format(number)), Imported)
        assert copy.finding(UPPER + LOWER.format(number) + "\n\nassert answer() < 0\n").line == 8

    assert times(runs) == 2 + 3  # a fresh process has the word that rejects


READS = """import ctypes, json, os, sqlite3, subprocess
here = os.path.dirname(__file__)
open(here + '/data.txt').close()
os.path.exists(here + '/more.txt')
"""
CHANGES: dict[str, tuple[str, Callable[[Copy], None]]] = {
    "the module": ("", lambda copy: copy.append("pkg/module.py", "")),
    "what it imports": ("", lambda copy: copy.append("pkg/runs.py", "new = True\n")),
    "what it opens": ("open(here + '/data.txt').close()", lambda copy: copy.append("pkg/data.txt", "2")),
    "what it opens by bytes": ("open(os.fsencode(here) + b'/data.txt').close()", lambda copy: copy.append("pkg/data.txt", "2")),
    "what it opens from there": ("os.chdir(here); open('data.txt').close()", lambda copy: copy.append("pkg/data.txt", "2")),
    "a Python file that it opens": ("open(here + '/other.py').close()", lambda copy: copy.append("pkg/other.py", "x = 1\n")),
    "what it opens elsewhere": ("open(here + '/../../../outside').close()", lambda copy: copy.append("../../outside", "2")),
    "what it asks the size of": ("os.path.getsize(here + '/data.txt')", lambda copy: copy.append("pkg/data.txt", "2")),
    "a mode": ("os.access(here + '/data.txt', os.X_OK)", lambda copy: (copy.root / "stage/files/pkg/data.txt").chmod(0o644)),
    "a name that it asks for": ("os.path.exists(here + '/more.txt')", lambda copy: copy.append("pkg/more.txt", "")),
    "where a link leads": ("os.readlink(here + '/link')", lambda copy: copy.link("pkg/link", "more.txt")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_copy_serves_only_what_it_has_read(copy: Copy, runs: Path, what: str) -> None:
    line, change = CHANGES[what]
    for name in ("pkg/data.txt", "pkg/other.py", "../../outside"):
        copy.write(name, "")
    copy.link("pkg/link", "data.txt")
    copy.append("pkg/runs.py", f"import os\nhere = os.path.dirname(__file__)\n{line}\n")
    started(copy, UPPER + LOWER.format(0))
    copy.check(UPPER + LOWER.format(0))
    copy.check(UPPER + LOWER.format(1))
    assert times(runs) == 2

    change(copy)
    upper = UPPER.replace("\n\n\n", "  # once\n\n\n") if what == "the module" else UPPER
    assert isinstance(copy.check(upper + LOWER.format(2)), Imported)

    assert times(runs) == 3


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import sqlite3; sqlite3.connect(':memory:')",
        "DATA = open(__file__)",
        "import socket; S = socket.socket()",
    ],
)
def test_no_copy_is_kept_behind_what_nobody_hears_of(copy: Copy, line: str) -> None:
    """Another process reads, or this one may read on."""
    copy.write("pkg/runs.py", f"{line}\n")
    worker = started(copy, UPPER + LOWER.format(0))

    assert isinstance(copy.check(UPPER + LOWER.format(0)), Imported)

    assert [place.name for place in worker.folder.glob("0?")] == ["00"]


def test_a_run_keeps_no_more_copies_than_it_may(copy: Copy) -> None:
    names = [f"m{number}" for number in range(15)]
    for name in names:
        copy.write(f"pkg/{name}.py", "x = 1\n\n\ndef f():\n    pass\n")
    copy.watch = tuple(f"pkg.{name}" for name in names)
    module = "".join(f"import pkg.{name}\n" for name in names)
    worker = started(copy, module)

    assert isinstance(copy.check(module), Imported)

    assert len(pids(worker.folder)) == 1 + 9


# -- a library is there from when it is imported --------------------------------------------------------------------

LENT = {
    "a module of a package": ("import xml.dom.minidom", "import xml", "xml.dom.minidom.parseString"),
    "what that imports": ("import concurrent.futures.thread", "import concurrent", "concurrent.futures"),
    "a name in sys.modules": ("import wave", "import sys", "sys.modules['wave']"),
    "a library of the environment": ("import outer.inner", "import sys", "sys.modules['outer']"),
    "what is imported in a library": ("import outer.inner", "import outer", "outer.inner"),
    "a name that a library puts there": ("import outer.inner", "import sys", "sys.modules['outer.made']"),
}


@pytest.fixture
def library(copy: Copy) -> Path:
    """The packages of an environment, with one that has parts."""
    folder = copy.root / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)], check=True)
    copy.python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*/site-packages"))
    script(
        site / "outer" / "__init__.py", "import sys, types\nsys.modules['outer.made'] = made = types.ModuleType('outer.made')\n"
    )
    script(site / "outer" / "inner.py", "from . import other\n")
    script(site / "outer" / "other.py", "")
    return site


@pytest.mark.parametrize("case", LENT)
def test_no_library_is_lent_to_who_does_not_import_it(copy: Copy, library: Path, case: str) -> None:
    assert library.is_dir()
    does, does_not, asks = LENT[case]
    started(copy, f"{does}\n")

    passes = copy.check(f"{does_not}\n{does}\nimport sys\n{asks}\n")
    fails = copy.check(f"{does_not}\n{asks}\n")

    assert isinstance(passes, Imported)
    assert isinstance(fails, Finding), fails


def test_a_library_is_as_it_was_loaded(copy: Copy, library: Path) -> None:
    """It is executed once, and what it has in it comes with it; the worker answers, not a fresh process."""
    log = copy.root / "log"
    script(library / "outer" / "other.py", f"open({str(log)!r}, 'a').write('executed\\n')\n")
    module = (
        "import outer.inner, outer.inner as again, email.mime.text, importlib, sys\nfrom outer import other, made\n"
        "assert outer.inner is again is importlib.import_module('outer.inner') and outer.other is other\n"
        "assert outer.__spec__.name == 'outer' and outer.made is made is sys.modules['outer.made']\n"
        "assert outer.inner.__spec__.loader is not None and outer.__path__ and email.mime.text.MIMEText\n"
    )
    worker = started(copy, module)
    for _ in range(200):
        if log.read_text() == "executed\n" * 2:
            break
        time.sleep(0.01)

    answer = worker.ask(_order(copy), 10)

    assert isinstance(answer, dict)
    assert answer.get("modules") == 2, answer
    assert log.read_text() == "executed\n" * 2  # by the fresh process, and by the worker when it began


def _order(copy: Copy) -> dict[str, object]:
    (copy.root / "work").mkdir(exist_ok=True)
    stage = Stage(copy.root / "stage", copy.root / "none")
    return {
        "root": str(stage.files),
        "modules": ["pkg.module"],
        "stand_ins": [],
        "probes": [],
        "watch": [],
        "mark": str(stage.mark),
        **{name: str(copy.root / name) for name in ("work", "said", "loaded", "bytecode")},
    }


def test_a_stand_in_makes_room_for_what_the_tree_has_itself(copy: Copy) -> None:
    copy.stand_ins = ("kernelx",)
    started(copy, "import kernelx\n")

    copy.write("kernelx/__init__.py", "raise RuntimeError('broken')\n")

    assert isinstance(copy.check("import kernelx\n"), Finding)


MODULES = ("a", "b", "c", "d")


def _module(chance: random.Random, name: str) -> str:
    """A module that imports, has effects on others, and asks for what others have; it may well fail."""
    others = [other for other in MODULES if other != name]
    upper = ["from __future__ import annotations"] * chance.randint(0, 1) + ["import sys", "trace = []"]
    upper += [f"import {library}" for library in chance.sample(("wave", "xml.dom.minidom", "outer.inner"), chance.randint(0, 2))]
    upper += [f"import pkg.{other}" for other in chance.sample(others, chance.randint(0, 2))]
    if chance.random() < 0.3:
        upper.append(f"try:\n    from pkg.{chance.choice(others)} import Z\nexcept ImportError:\n    Z = 0")
    if chance.random() < 0.2:
        upper.append(f"x: int = {chance.randint(0, 9)}")
    body = [f"def f():\n    return {chance.randint(0, 3)}"]
    body += [f"class C:\n    x: Missing = {chance.randint(0, 9)}"] * (chance.random() < 0.2)
    for other in chance.sample(others, chance.randint(0, 2)):
        body.append(
            f"try:\n    pkg.{other}.trace.append(({name!r}, pkg.{other}.f()))\nexcept (NameError, AttributeError):\n    trace.append({other!r})"
        )
    if chance.random() < 0.3:
        body.append(f"Z = {chance.randint(0, 3)}")
    if chance.random() < 0.2:
        body.append(f"import pkg.{chance.choice(others)}")
    if chance.random() < 0.3:
        body.append(f"trace.append({chance.choice(('wave', 'xml.dom', 'outer', 'outer.other'))!r} in sys.modules)")
    if chance.random() < 0.3:
        body.append("trace.append(open(__file__[: __file__.rindex('/')] + '/data.txt').read())")
    if chance.random() < 0.1:
        body.append("assert f() > 0")
    if chance.random() < 0.05:
        body.append("def (:")
    return "\n".join([*upper, *body]) + "\n"


PROBE = """
import sys
seen = {
    name: {key: repr(value).split(" at ")[0] for key, value in sorted(vars(module).items()) if key[0] != "_" and "module" not in repr(value)}
    | {"annotations": repr(sorted(vars(module).get("__annotations__", {}).items()))}
    for name, module in sys.modules.items() if name.split(".")[0] == "pkg"
}
open(%r, "w").write(repr(seen))
"""


@pytest.mark.parametrize("seed", range(6))
def test_it_comes_to_the_same_state_as_a_fresh_process(copy: Copy, library: Path, seed: int) -> None:
    """The law, over modules that import in circles, write into one another, read and fail: the verdict, the order and all values."""
    assert library.is_dir()
    chance = random.Random(seed)
    worker, copy.watch = started(copy, "import wave, xml.dom.minidom, outer.inner\n"), ("pkg.a", "pkg.b", "pkg.c")
    answered = 0
    seen = copy.root / "seen"
    probe = copy.write("../probe.py", PROBE % str(seen))
    stage = Stage(copy.root / "stage", copy.root / "none")
    stage._put("pkg/data.txt", File(REGULAR, b""))
    texts = {name: _module(chance, name) for name in MODULES}
    outcomes = []
    for _ in range(12):
        texts[chance.choice(MODULES)] = _module(chance, name := chance.choice(MODULES)).replace(f"pkg.{name}", "pkg.d")
        for name, text in texts.items():
            stage._put(f"pkg/{name}.py", File(REGULAR, text.encode()))
        if chance.random() < 0.2:
            stage._put("pkg/data.txt", File(REGULAR, str(chance.random()).encode()))
        copy.write("pkg/module.py", "import pkg.a, pkg.b\n")
        seen.write_text("")
        answer = worker.ask({**_order(copy), "probes": [str(probe)], "watch": copy.watch}, 10)
        passed = isinstance(answer, dict) and "failed" not in answer
        state = seen.read_text()
        copy.warm = None
        outcome = copy.check("import pkg.a, pkg.b\n", probes=[probe])
        if passed:
            assert isinstance(outcome, Imported), (outcome, texts)
            assert state == seen.read_text(), texts
        answered += passed
        outcomes.append(isinstance(outcome, Imported))
    assert answered
    assert answered >= sum(outcomes) - 1, "the worker has to be asked for something"


def test_several_copies_of_one_run(copy: Copy, runs: Path) -> None:
    copy.watch = ("pkg.module", "pkg.other")
    copy.write("pkg/other.py", "import pkg.runs\n\n\nclass Other:\n    pass\n")
    module = "import pkg.other\n\n\nclass Mine(pkg.other.Other):\n    pass\n"
    worker = started(copy, module)
    copy.check(module)
    assert times(runs) == 2
    assert sorted(place.name for place in worker.folder.glob("0?")) == ["00", "01", "02"]

    second = (worker.folder / "02").stat().st_ctime_ns

    copy.write("pkg/other.py", "import pkg.runs\n\n\nclass Other:\n    changed = True\n")
    assert isinstance(copy.check(module + "\n\nassert Mine.changed\n"), Imported)

    assert times(runs) == 2
    assert (worker.folder / "02").stat().st_ctime_ns > second  # a copy of the run that went on from the first one


# -- whatever happens to it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("whom", [slice(0, 1), slice(1, None), slice(None)], ids=["the first", "its copies", "all"])
def test_killed_between_checks_it_is_missed_by_nobody(copy: Copy, whom: slice) -> None:
    worker = started(copy, MODULE.decode())
    copy.check(MODULE.decode())
    killed = pids(worker.folder)[whom]
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)

    assert isinstance(copy.check(MODULE.decode() + "x = 1\n"), Imported)
    assert isinstance(copy.finding(MODULE.decode() + "assert False\n"), Finding)
    assert isinstance(copy.check(MODULE.decode() + "x = 2\n"), Imported)
    wait_for(worker)


DIES_ONCE = "import os\nif not os.path.exists({0!r}):\n    open({0!r}, 'w').close()\n    {1}\n"


@pytest.mark.parametrize(
    "line",
    [
        "os.kill(os.getpid(), 9)",
        "os._exit(0)",
        "os.closerange(0, 100)",
        "os.close(os.open('/dev/null', 0)); raise MemoryError",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28)); bytearray(1 << 30)",
    ],
)
def test_what_dies_in_it_is_asked_again_in_a_fresh_process(copy: Copy, line: str) -> None:
    """So does a process that the kernel ends for want of memory; one that really lacks memory is rejected by the fresh one."""
    started(copy)

    assert isinstance(copy.check(DIES_ONCE.format(str(copy.root / "once"), line)), Imported)
    assert isinstance(copy.check(f"import os\n{line}\n"), Finding)


def test_a_worker_that_dies_with_what_it_imports_is_missed_by_nobody(copy: Copy) -> None:
    worker = started(copy)

    assert isinstance(copy.check(DIES_ONCE.format(str(copy.root / "once"), "os.kill(os.getppid(), 9)")), Imported)

    for _ in range(100):
        if worker.is_there():
            break
        assert isinstance(copy.check(), Imported)  # the one that was killed may have been dying still
    wait_for(worker)


def test_one_who_asks_and_is_killed_leaves_no_import_behind(copy: Copy, tmp_path: Path) -> None:
    worker, pid = started(copy), tmp_path / "pid"
    copy.write("pkg/module.py", f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    asking = subprocess.Popen(
        [sys.executable, "-c", _ASK.format(root=str(copy.root), above=str(worker.above))], cwd=Path(__file__).parents[2]
    )
    while not pid.exists() or not pid.read_text():
        time.sleep(0.005)

    asking.kill()
    asking.wait()

    assert is_gone(int(pid.read_text()))
    assert worker.is_there()


_ASK = """
from pathlib import Path
from pq.checks.warm import Warm
from tests.checks.test_imports import Copy
root = Path({root!r})
copy = Copy(root, warm=Warm(Path({above!r}), "key", "same", 60))
copy.check((root / "stage/files/pkg/module.py").read_text(), timeout=240)
"""


def test_what_hangs_in_it_is_ended_and_so_is_the_fresh_process(copy: Copy) -> None:
    started(copy)
    file = copy.root / "pids"
    line = f"import os, time\nopen({str(file)!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(60)\n"

    assert copy.finding(line, timeout=2).reason == "the import check took more than 2 seconds and was ended"

    assert [is_gone(int(pid)) for pid in file.read_text().split()] == [True, True]


def test_a_module_that_forks_has_one_answer_and_no_copy(copy: Copy) -> None:
    worker = started(copy)
    forks = "import os\nos.fork()\n\n\ndef f():\n    pass\n"

    assert isinstance(copy.check(forks), Imported)
    assert isinstance(copy.check(forks), Imported)

    end = time.monotonic() + 10
    while len(pids(worker.folder)) > 1 and time.monotonic() < end:  # what was killed may be dying still
        time.sleep(0.005)
    assert len(pids(worker.folder)) == 1


def test_no_copy_is_kept_of_a_process_with_threads(copy: Copy) -> None:
    """The copy would have its locks and not the threads that hold them."""
    copy.write("pkg/threads.py", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n")
    threads = "import pkg.threads\n\n\ndef f():\n    pass\n"
    worker = started(copy, threads)

    assert isinstance(copy.check(threads), Imported)
    assert isinstance(copy.check(threads + "x = 1\n"), Imported)

    assert [place.name for place in worker.folder.glob("0?")] == ["00"]


def test_a_library_that_starts_threads_has_no_worker(copy: Copy) -> None:
    library = copy.root / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(library)], check=True)
    copy.python = library / "bin" / "python"
    site = next((library / "lib").glob("python*/site-packages"))
    (site / "busy.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    assert copy.warm is not None

    assert isinstance(copy.check("import busy\n"), Imported)
    for _ in range(1000):
        if (copy.warm.folder / "why").exists():
            break
        time.sleep(0.005)

    assert isinstance(copy.check("import busy\n"), Imported)
    assert isinstance(copy.check("import busy\nassert False\n"), Finding)
    assert not pids(copy.warm.folder)


@pytest.mark.parametrize(
    "line",
    [
        "import io, sys; sys.stdout = sys.stderr = io.StringIO()\n",
        "import sys; sys.stdout.close(); sys.stdin.close()\n",
        """print('{"modules": 1, "stood_in": []}', flush=True)\n""",
        "import sys; sys.modules['os'] = None; sys.meta_path.clear()\n",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n",
        "import sys; sys.addaudithook(lambda *_: None)\n",
    ],
)
def test_what_a_module_does_to_its_process_stays_there(copy: Copy, line: str) -> None:
    started(copy)

    for number in range(3):
        assert isinstance(copy.check(f"{line}\n\ndef f():\n    return {number}\n"), Imported)
        assert isinstance(copy.check(f"{line}\n\ndef f():\n    return {number}\n\n\nassert f() < 0\n"), Finding)


def test_two_at_once_get_their_own_answers(copy: Copy) -> None:
    started(copy)
    copy.write("pkg/good.py", "import time\ntime.sleep(0.1)\n\n\ndef f():\n    pass\n")
    copy.write("pkg/bad.py", "import time\ntime.sleep(0.1)\n\n\ndef f():\n    pass\n\n\nassert False\n")

    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        jobs = [pool.submit(_import, copy.root, f"pkg.{name}") for name in ("good", "bad") * 3]

    assert [job.result() for job in jobs] == [True, False] * 3


def _import(root: Path, module: str) -> bool:
    copy = Copy(root, warm=Warm(root / "worker", "key", "same", 60), watch=(module,))
    return isinstance(copy.check("", modules=[module]), Imported)


# -- how long it stays, and whose it is -----------------------------------------------------------------------------


def test_it_ends_when_nobody_asks_and_when_its_folder_goes(copy: Copy) -> None:
    worker = started(copy, MODULE.decode())
    copy.check(MODULE.decode())
    assert len(before := pids(worker.folder)) == 2

    shutil.rmtree(worker.folder)

    assert all(is_gone(pid) or is_gone(pid) for pid in before)
    copy.warm = Warm(worker.above, "key", "same", 1)
    started(copy)
    (idle,) = pids(worker.folder)
    assert is_gone(idle) or is_gone(idle) or is_gone(idle) or is_gone(idle)
    assert isinstance(copy.check(), Imported)


def test_nobody_else_reaches_it(copy: Copy) -> None:
    worker = started(copy)

    assert worker.folder.stat().st_mode & 0o777 == 0o700
    assert (worker.folder / "00").stat().st_mode & 0o077 == 0


def test_a_worker_that_began_with_another_tree_under_its_hands_keeps_no_copy(copy: Copy) -> None:
    """Whoever was killed may have left its import running while the next command writes another tree."""
    worker = started(copy)
    stage = Stage(copy.root / "stage", copy.root / "none")
    stage.update("1" * 40, lambda _: [("pkg/__init__.py", File(REGULAR, b""))])
    writes = f"import pathlib\npathlib.Path({str(stage.mark)!r}).unlink()\n\n\ndef f():\n    pass\n"

    assert isinstance(copy.check(writes), Imported)

    assert [place.name for place in worker.folder.glob("0?")] == ["00"]


@pytest.fixture
def staying(checked: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[World, Path]]:
    """A world whose hook may leave a worker behind, and the folder of these."""
    monkeypatch.delenv("PQ_NO_DAEMON")
    folder = checked.checkout / ".git" / "pq" / "worker"
    yield checked, folder
    shutil.rmtree(folder, ignore_errors=True)
    for pid in pids(folder):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("what", ["the configuration", "the interpreter"])
def test_push_leaves_a_worker_and_the_next_one_asks_it(staying: tuple[World, Path], what: str) -> None:
    world, folder = staying
    world.patch("change.patch", {"pkg/module.py": MODULE + b"import json\n"})
    assert world.pq("push").code == 0
    (first,) = folder.iterdir()
    configuration, _, environment = first.name.partition("-")
    wait_for(Warm(folder, configuration, environment, 60))
    assert world.pq("check").code == 0
    assert (first / "01").exists()

    if what == "the configuration":
        configure(world, stand_ins=["nowhere"])
    else:
        made = world.root / "env"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(made)], check=True)
        configure(world, python=made / "bin" / "python")
    assert world.pq("check").code == 0

    (second,) = folder.iterdir()
    assert second != first
    assert world.pq("check").code == 0
    assert not pids(first) or all(is_gone(pid) or is_gone(pid) for pid in pids(first))


@pytest.mark.parametrize("how", ["--no-daemon", "idle = 0"])
def test_it_can_be_done_without(staying: tuple[World, Path], how: str) -> None:
    world, folder = staying
    world.patch("change.patch", {"pkg/module.py": MODULE + b"import json\n"})
    if how != "--no-daemon":
        with (world.queue / "pq.toml").open("a") as file:
            file.write(f"{how}\n")

    assert world.pq("push", *([how] if how.startswith("-") else [])).code == 0

    assert not folder.exists()


def test_other_variables_have_a_worker_of_their_own(staying: tuple[World, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a library, or the tree, makes of them is in the process that waits."""
    world, folder = staying
    world.patch("change.patch", {"pkg/module.py": MODULE + b"import os\nassert os.environ['CUDA_MODE'] == 'on'\n"})
    monkeypatch.setenv("CUDA_MODE", "on")
    assert world.pq("push").code == 0

    monkeypatch.setenv("CUDA_MODE", "off")
    assert world.pq("check").code == 4
    monkeypatch.setenv("CUDA_MODE", "on")
    assert world.pq("check").code == 0

    first, second = (place.name.partition("-") for place in folder.iterdir())  # the release passed while it was off
    assert (first[0] == second[0], first[2] == second[2]) == (True, False)


@pytest.mark.parametrize("what", ["a file", "everybody's", "another's answer"])
def test_a_folder_that_is_not_its_own_is_no_fault_of_the_patch(staying: tuple[World, Path], what: str) -> None:
    world, folder = staying
    world.patch("change.patch", {"pkg/module.py": MODULE + b"import json\n"})
    if what == "a file":
        folder.write_text("")
        assert world.pq("push").code == 0
        return
    assert world.pq("push").code == 0
    (made,) = folder.iterdir()
    if what == "everybody's":
        made.chmod(0o777)
    else:
        shutil.rmtree(made)
        made.mkdir(mode=0o700)
        _answer(made, b'{"modules": "many"}\n')

    assert world.pq("check").code == 0


def _answer(folder: Path, text: bytes) -> None:
    """Someone who answers, once."""
    line = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); os.chdir(sys.argv[1]); s.bind('00'); s.listen()\n"
        "while True:\n    a = s.accept()[0]; a.recv(1 << 20); a.sendall(sys.argv[2].encode()); a.close()"
    )
    process = subprocess.Popen([sys.executable, "-c", line, str(folder), text.decode(), "--stay"])
    _ANSWERING.append(process)
    while not (folder / "00").exists():
        time.sleep(0.005)


_ANSWERING: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def nobody_answers() -> Iterator[None]:
    """Those who answer end with the test."""
    yield
    while _ANSWERING:
        process = _ANSWERING.pop()
        process.kill()
        process.wait()
