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
from collections.abc import Iterator
from pathlib import Path

import pytest

from pq.checks import warm
from pq.checks.findings import Finding
from pq.checks.imports import Imported
from pq.checks.stage import Stage
from pq.checks.warm import Warm
from pq.core.tree import File
from tests.checks.conftest import configure, is_gone
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
    made = Copy(tmp_path, warm=Warm(tmp_path / "worker", "key", 60), watch=("pkg.module",))
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


@pytest.mark.parametrize("what", ["the module", "what it imports", "what that reads", "a name that that asks for", "a variable"])
def test_a_copy_serves_only_what_it_has_read(copy: Copy, runs: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    asks = "import os\nhere = os.path.dirname(__file__)\nopen(here + '/data.txt').close()\nos.path.exists(here + '/more.txt')\n"
    copy.write("pkg/data.txt", "1")
    copy.write("pkg/runs.py", (copy.root / "stage/files/pkg/runs.py").read_text() + asks)
    started(copy, UPPER + LOWER.format(0))
    copy.check(UPPER + LOWER.format(0))
    copy.check(UPPER + LOWER.format(0))
    assert times(runs) == 2

    module = UPPER + LOWER.format(0)
    if what == "the module":
        module = UPPER.replace("\n\n\n", "  # once\n\n\n") + LOWER.format(0)
    elif what == "what it imports":
        copy.write("pkg/runs.py", (copy.root / "stage/files/pkg/runs.py").read_text() + "new = True\n")
    elif what == "what that reads":
        copy.write("pkg/data.txt", "2")
    elif what == "a name that that asks for":
        copy.write("pkg/more.txt", "")
    else:
        monkeypatch.setenv("LIBRARY_PATH", "elsewhere")

    assert isinstance(copy.check(module), Imported)
    assert times(runs) == 3


MODULES = ("a", "b", "c", "d")


def _module(chance: random.Random, name: str) -> str:
    """A module that imports, has effects on others, and asks for what others have; it may well fail."""
    others = [other for other in MODULES if other != name]
    upper = ["from __future__ import annotations"] * chance.randint(0, 1) + ["trace = []"]
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
def test_it_comes_to_the_same_state_as_a_fresh_process(copy: Copy, seed: int) -> None:
    """The law, over modules that import in circles, write into one another and fail: the verdict, the order and all values."""
    chance = random.Random(seed)
    worker, copy.watch = started(copy), ("pkg.a", "pkg.b", "pkg.c")
    seen = copy.root / "seen"
    probe = copy.write("../probe.py", PROBE % str(seen))
    stage = Stage(copy.root / "stage", copy.root / "none")
    texts = {name: _module(chance, name) for name in MODULES}
    outcomes = []
    for _ in range(12):
        texts[chance.choice(MODULES)] = _module(chance, name := chance.choice(MODULES)).replace(f"pkg.{name}", "pkg.d")
        for name, text in texts.items():
            stage._put(f"pkg/{name}.py", File(REGULAR, text.encode()))
        states = []
        for copy.warm in (worker, None):
            seen.write_text("")
            outcome = copy.check("import pkg.a, pkg.b\n", probes=[probe])
            said = outcome if isinstance(outcome, Finding) else outcome.modules
            states.append((said, seen.read_text()))
        assert states[0] == states[1], texts
        outcomes.append(type(states[0][0]))
    assert int in outcomes


def test_several_copies_of_one_run(copy: Copy, runs: Path) -> None:
    copy.watch = ("pkg.module", "pkg.other")
    copy.write("pkg/other.py", "import pkg.runs\n\n\nclass Other:\n    pass\n")
    module = "import pkg.other\n\n\nclass Mine(pkg.other.Other):\n    pass\n"
    worker = started(copy, module)
    copy.check(module)
    assert times(runs) == 2
    assert sorted(place.name for place in worker.folder.glob("0?")) == ["00", "01", "02"]

    copy.write("pkg/other.py", "import pkg.runs\n\n\nclass Other:\n    changed = True\n")
    assert isinstance(copy.check(module + "\n\nassert Mine.changed\n"), Imported)

    assert times(runs) == 2


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
copy = Copy(root, warm=Warm(Path({above!r}), "key", 60))
copy.check((root / "stage/files/pkg/module.py").read_text(), timeout=240)
"""


def test_what_hangs_in_it_is_ended_and_so_is_the_fresh_process(copy: Copy) -> None:
    started(copy)
    file = copy.root / "pids"
    line = f"import os, time\nopen({str(file)!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(60)\n"

    assert copy.finding(line, timeout=2).reason == "the import check took more than 2 seconds and was ended"

    assert [is_gone(int(pid)) for pid in file.read_text().split()] == [True, True]


def test_a_module_that_forks_has_one_answer_and_one_copy(copy: Copy) -> None:
    worker = started(copy)
    forks = "import os\nos.fork()\n\n\ndef f():\n    pass\n"

    assert isinstance(copy.check(forks), Imported)
    assert isinstance(copy.check(forks), Imported)

    assert len(pids(worker.folder)) == 2


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
    copy = Copy(root, warm=Warm(root / "worker", "key", 60), watch=(module,))
    return isinstance(copy.check("", modules=[module]), Imported)


# -- how long it stays, and whose it is -----------------------------------------------------------------------------


def test_it_ends_when_nobody_asks_and_when_its_folder_goes(copy: Copy) -> None:
    worker = started(copy, MODULE.decode())
    copy.check(MODULE.decode())
    assert len(before := pids(worker.folder)) == 2

    shutil.rmtree(worker.folder)

    assert all(is_gone(pid) or is_gone(pid) for pid in before)
    copy.warm = Warm(worker.above, "key", 1)
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


def test_push_leaves_a_worker_and_the_next_one_asks_it(staying: tuple[World, Path]) -> None:
    world, folder = staying
    world.patch("change.patch", {"pkg/module.py": MODULE + b"import json\n"})
    assert world.pq("push").code == 0
    (first,) = folder.iterdir()
    wait_for(Warm(folder, first.name, 60))
    assert world.pq("check").code == 0
    assert (first / "01").exists()

    configure(world, stand_ins=["nowhere"])
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
