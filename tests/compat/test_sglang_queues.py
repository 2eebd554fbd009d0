"""Published sglang queues, each pushed on its own release: the tree that `git apply` gives, and the pin again."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from pq.engine import checking
from pq.upstream import pypi
from tests.compat.conftest import CORPUS
from tests.conftest import World, git, snapshot

pytestmark = [pytest.mark.corpus, pytest.mark.usefixtures("user_cache")]

WHOLE = ["slime/0.5.9", "tracelens/0.5.9", "stitch/0.5.15", "specforge/0.5.14", "llm-scaler/0.5.13", "infera/0.5.15.post1"]
SPLIT = ["slime/0.5.9", "specforge/0.5.14", "llm-scaler/0.5.13"]


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked queues."""
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(CORPUS / "sglang" / "queues.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "queues"


def start(root: Path, queue: Path, names: list[str]) -> World:
    """A world whose v1 is the release, with these patches in the series."""
    world = World(root)
    wheel = pypi.fetch(
        "sglang", queue.parent.name if queue.name == "split" else queue.name, checking.cache() / "wheels", progress=print
    )
    world.release("v1", {path: content for path, _, content in wheel.files("python")})
    world.init()
    for name in names:
        world.add(name, (queue / name).read_bytes())
    return world


def expected(world: World, names: list[str]) -> str:
    """The tree that `git apply` makes of the release."""
    place = world.root / "git"
    git(world.root, "clone", "-q", str(world.upstream), str(place))
    for name in names:
        git(place, "apply", "--index", "--whitespace=nowarn", str(world.queue / "patches" / name))
    return git(place, "write-tree")


@pytest.mark.parametrize("which", [*WHOLE, *(f"{name}/split" for name in SPLIT)])
def test_a_published_queue_gives_what_git_apply_gives(which: str, published: Path, tmp_path: Path) -> None:
    queue = published / which
    names = (queue / "series").read_text(encoding="utf-8").split()
    world = start(tmp_path, queue, names)
    pin = snapshot(world.checkout)

    pushed = world.pq("push", "-a")
    tree = git(world.checkout, "rev-parse", "HEAD^{tree}")
    clean = git(world.checkout, "status", "--porcelain")
    popped = world.pq("pop", "-a")

    assert pushed.code == 0, pushed.err
    assert (tree, clean) == (expected(world, names), "")
    assert popped.code == 0
    assert snapshot(world.checkout) == pin


@pytest.mark.parametrize("which", WHOLE)
def test_apply_onto_a_plain_folder_gives_the_same_and_takes_it_back(which: str, published: Path, tmp_path: Path) -> None:
    queue = published / which
    names = (queue / "series").read_text(encoding="utf-8").split()
    world = start(tmp_path, queue, [])
    site = tmp_path / "site"
    shutil.copytree(world.upstream, site, ignore=shutil.ignore_patterns(".git"))
    before = snapshot(site)
    patches = [str(queue / name) for name in names]

    applied = world.pq("apply", *patches, "--onto", str(site), "--base", str(world.upstream))
    after = snapshot(site)
    taken_back = world.pq("apply", "-R", *patches, "--onto", str(site))

    assert applied.code == 0, applied.err
    for name in names:
        git(world.upstream, "apply", "--whitespace=nowarn", str(queue / name))
    assert {path: content for path, content in after.items() if not path.startswith(".pq/")} == snapshot(world.upstream)
    assert taken_back.code == 0, taken_back.err
    assert snapshot(site) == before
