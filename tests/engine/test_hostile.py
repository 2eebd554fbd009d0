"""A queue that somebody cloned, and that means harm: nothing of it is run, and nothing outside of it is written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import World, git, snapshot

_COMMANDS = (
    ("status",),
    ("series", "-v"),
    ("setup",),
    ("push", "-a"),
    ("status",),
    ("verify",),
    ("check",),
    ("new", "mine.patch"),
    ("refresh",),
    ("pop", "-a"),
    ("push", "-a", "--no-check"),
    ("pop", "-a"),
    ("fetch", "v1"),
    ("releases",),
    ("undo",),
    ("trust",),
)
_RUN = "#!/bin/sh\ntouch {}/ran\n"


@pytest.fixture
def clone(stacked: World) -> Iterator[World]:
    """A clone of a queue, without a checkout, beside a repository of the user's own; at the end, all but the queue is as it was."""
    stacked.trusting = False
    shutil.rmtree(stacked.checkout)
    own = stacked.root / "own"
    git(stacked.root, "clone", "-q", str(stacked.upstream), str(own))
    (stacked.root / "empty").mkdir()
    before = _outside(stacked)
    yield stacked
    assert not [place for place in stacked.root.rglob("ran") if not place.is_relative_to(stacked.checkout)]
    assert _outside(stacked) == before


def _outside(world: World) -> dict[str, bytes]:
    found = {name: content for name, content in snapshot(world.root).items() if not name.startswith("queue/")}
    heads = {name: git(world.root / name, "for-each-ref").encode() for name in ("own", "upstream")}
    configs = {f"{name} config": (world.root / name / ".git" / "config").read_bytes() for name in heads}
    hooks = {
        f"{name} hooks": "".join(sorted(str(each) for each in (world.root / name / ".git" / "hooks").iterdir())).encode()
        for name in heads
    }
    folders = "".join(sorted(f"{place}\n" for place in world.root.iterdir())).encode()
    return found | heads | configs | hooks | {"folders": folders}


def _use(world: World) -> None:
    for words in _COMMANDS:
        said = world.pq(*words)
        assert said.code not in (70, 130), (words, said)


def _executable(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


def _toml(*, upstream: str = "", check: str = "", source: str = "../upstream") -> Callable[[World], None]:
    def write(world: World) -> None:
        _executable(world.queue / "mine", _RUN.format(world.root))
        said = f'[upstream]\nsource = "{source}"\nseries = "v1"\n{upstream}\n[check]\n{check}\n'
        (world.queue / "pq.toml").write_text(said.replace("ROOT", str(world.root)))

    return write


def _hook(world: World) -> None:
    _executable(world.queue / "hooks" / "pre-apply", _RUN.format(world.root))


def _probe(world: World) -> None:
    _executable(world.queue / "hooks" / "probes" / "probe.py", f"open('{world.root}/ran', 'w')\n")
    _toml(check='modules = ["pkg.module"]\npython = "/usr/bin/env"')(world)


def _series(line: str) -> Callable[[World], None]:
    def write(world: World) -> None:
        with world.series.open("a") as series:
            series.write(f"{line}\n")

    return write


def _patch(name: str, text: str) -> Callable[[World], None]:
    def write(world: World) -> None:
        world.add(name, text.replace("ROOT", str(world.root)).encode())

    return write


def _link(name: str, target: str) -> Callable[[World], None]:
    def write(world: World) -> None:
        place = world.queue / name
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    return write


def _git_folder(world: World) -> None:
    """Not named `.git`, so that a clone brings it; its config has git run a program."""
    made = world.queue / "came"
    git(world.root, "init", "-q", "--bare", str(made))
    git(made, "config", "core.fsmonitor", f"touch {world.root}/ran; false")
    for key, value in (("core.bare", "false"), ("core.worktree", ".")):
        git(made, "config", key, value)
    _toml(upstream='checkout = "came"')(world)


_CREATE = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"

_CASES: dict[str, Callable[[World], None]] = {
    "hook": _hook,
    "probe": _probe,
    "python": _toml(check='modules = ["pkg.module"]\npython = "./mine"'),
    "requirements": _toml(check='modules = ["pkg.module"]\nrequirements = "../../etc/passwd"'),
    "checkout is the user's": _toml(upstream='checkout = "../own"'),
    "checkout is upstream": _toml(upstream='checkout = "ROOT/upstream"'),
    "checkout is an empty folder": _toml(upstream='checkout = "../empty"'),
    "checkout is nowhere yet": _toml(upstream='checkout = "../new/place"'),
    "checkout is a git folder that came along": _git_folder,
    "checkout is a link": _link(".checkout", "../own"),
    "checkout in a link": _toml(upstream='checkout = "patches/../../own"'),
    "prefix": _toml(upstream='prefix = "../../../new"'),
    "root": _toml(check='root = "../../.."'),
    "ext": _toml(source="ext::sh -c touch% ROOT/ran"),
    "upload-pack": _toml(source="--upload-pack=touch ROOT/ran"),
    "pip option": _toml(source="pypi:-rROOT/own/numbers.txt"),
    "pip url": _toml(source="pypi:x @ file://ROOT/own"),
    "series leads out": _series("../../own/numbers.txt"),
    "series is absolute": _series("/etc/passwd"),
    "name is an option": _series("--reject"),
    "name is -": _series("-"),
    "options": _series("one-more.patch -o ../../ran --reject -z .orig"),
    "release leads out": _series("# pq-pin: ../../../heads/main"),
    "patch is a link": _link("patches/one.patch", "../../own/numbers.txt"),
    "patches is a link": _link("patches", "../own"),
    "series is a link": _link("series/v1", "../../own/numbers.txt"),
    "series folder is a link": _link("series", "../empty"),
    "patch leads out": _patch("out.patch", _CREATE.format("../ran")),
    "patch is absolute": _patch("out.patch", _CREATE.format("ROOT/ran")),
    "patch names git": _patch("out.patch", _CREATE.format(".git/hooks/ran")),
    "patch names a file like an option": _patch("out.patch", _CREATE.format("--upload-pack=ran")),
    "patch through a link": _patch(
        "out.patch",
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../..\n\\ No newline at end of file\n"
        + _CREATE.format("l/ran"),
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_nothing_is_run_and_nothing_is_written_outside(clone: World, case: str) -> None:
    _CASES[case](clone)

    _use(clone)


def test_python_is_led_to_no_modules_of_the_queue(clone: World) -> None:
    """`python -m pip` would find them first in the folder that it is started in."""
    for name in ("pip", "venv", "pq", "click", "pygit2", "runpy"):
        _executable(clone.queue / name / "__init__.py", f"open('{clone.root}/ran', 'w')\n")
        _executable(clone.queue / name / "__main__.py", f"open('{clone.root}/ran', 'w')\n")
    _toml(source="pypi:nothing-of-this-name-is-there")(clone)

    for words in _COMMANDS:
        subprocess.run([Path(sys.executable).with_name("pq"), *words], cwd=clone.queue, capture_output=True, check=False)
