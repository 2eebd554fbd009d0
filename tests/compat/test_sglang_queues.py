"""Whole published sglang queues on their own releases: what pq makes of them is what `git apply` makes of them."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from pq.upstream import pypi
from tests.compat.corpus import Witness, unpack
from tests.conftest import World, git, snapshot

pytestmark = pytest.mark.corpus

QUEUES = [
    "slime/0.5.9",
    "tracelens/0.5.9",
    "stitch/0.5.15",
    "specforge/0.5.14",
    "llm-scaler/0.5.13",
    "infera/0.5.15.post1",
]
SPLIT = ["slime/0.5.9/split", "specforge/0.5.14/split", "llm-scaler/0.5.13/split"]
"""The same, a patch a file."""


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published queues."""
    return unpack("sglang/queues.tar.xz", tmp_path_factory.mktemp("queues")) / "queues"


def _patches(queue: Path) -> list[Path]:
    return [queue / name for name in (queue / "series").read_text().splitlines() if not name.startswith("#")]


def _world(root: Path, queue: Path, version: str) -> World:
    """A pq queue of these patches on the wheel of their release."""
    world = World(root)
    world.queue.mkdir()
    words = ("init", "--source", "pypi:sglang", "--pin", f"v{version}", "--checkout", ".checkout")
    assert (world.pq(*words).code, world.pq("setup").code) == (0, 0)
    config = (world.queue / "pq.toml").read_text()
    (world.queue / "pq.toml").write_text(config.partition("[check]")[0] + '[check]\nroot = "python"\n')
    for patch in _patches(queue):
        shutil.copy(patch, world.queue / "patches")
    with (world.queue / "series" / f"v{version}").open("ab") as series:
        series.write((queue / "series").read_bytes())
    return world


@pytest.mark.usefixtures("user_cache")
@pytest.mark.parametrize("name", [*QUEUES, *SPLIT])
def test_push_makes_the_tree_of_git_apply_and_pop_the_pin(name: str, queues: Path, tmp_path: Path) -> None:
    """Law 4: pop after push gives the same bytes, modes and symlinks."""
    world = _world(tmp_path, queues / name, name.split("/")[1])
    witness = Witness(world.checkout, tmp_path / "witness")
    wanted = witness.applied(_patches(queues / name), strip=1)
    pin = world.files()

    pushed = world.pq("push", "-a")
    made = witness.tree()
    popped = world.pq("pop", "-a")

    assert pushed.err == ""
    assert (pushed.code, pushed.err, popped.code) == (0, "", 0)
    assert made == wanted
    assert world.files() == pin
    assert git(world.checkout, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize("name", [*QUEUES, SPLIT[0]])
def test_apply_onto_site_packages_and_back(name: str, queues: Path, tmp_path: Path, user_cache: Path) -> None:
    """Design, 9a: all files change or none, and -R brings back what was there."""
    wheel = pypi.fetch("sglang", name.split("/")[1], user_cache / "pq" / "wheels", progress=print)
    zipfile.ZipFile(wheel.path).extractall(tmp_path / "site")
    witness = Witness(tmp_path / "site", tmp_path / "witness")
    wanted = witness.applied(_patches(queues / name), strip=2)
    before = snapshot(tmp_path / "site")

    words = ["apply", "-p2", "--onto", "site", *map(str, _patches(queues / name))]
    applied = World(tmp_path).pq(*words, cwd=tmp_path)
    made = witness.tree()
    back = World(tmp_path).pq(*words, "-R", cwd=tmp_path)

    assert (applied.code, applied.err, back.code) == (0, "", 0)
    assert made == wanted
    assert snapshot(tmp_path / "site") == before
