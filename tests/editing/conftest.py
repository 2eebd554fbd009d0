"""A world in which patches are made by pq."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.laws import state

LINES = "".join(f"line {number}\n" for number in range(1, 41))


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A queue without patches on a file of forty lines."""
    world = World(tmp_path_factory.mktemp("world"))
    world.release("v1", {"f.txt": LINES.encode(), "m.py": b"x = 1\n", "d/g.txt": b"g\n"})
    world.queue.mkdir()
    assert world.pq("init", "--source", "../upstream", "--pin", "v1").code == 0
    assert world.pq("setup").code == 0
    git(world.checkout, "config", "user.name", "Ada")
    git(world.checkout, "config", "user.email", "ada@example.org")
    return world


@pytest.fixture
def three(desk: World) -> World:
    """Three applied patches: a changes line 5, b line 15, c line 25."""
    return patched(desk, a=5, b=15, c=25)


def patched(world: World, **lines: int) -> World:
    """Applied patches, each of which changes one line of the file."""
    for name, number in lines.items():
        assert world.pq("new", f"{name}.patch").code == 0
        change(world, number, f"{name} {number}")
        assert world.pq("refresh").code == 0
    return world


def change(world: World, number: int, text: str, *, name: str = "f.txt") -> None:
    """Replace a line (from 1) of a file of the checkout."""
    place = world.checkout / name
    lines = place.read_text().splitlines()
    lines[number - 1] = text
    place.write_text("".join(f"{line}\n" for line in lines))


def patch(world: World, name: str) -> str:
    """The text of a patch file."""
    return (world.queue / "patches" / name).read_text()


def settle(world: World, text: str, *, name: str = "f.txt") -> None:
    """Put text in the place of each conflict of a file."""
    before, _, rest = (world.checkout / name).read_text().partition("<<<<<<<")
    while rest:
        before += text
        inside, _, rest = rest.partition(">>>>>>> ")[2].partition("\n")[2].partition("<<<<<<<")
        before += inside
    (world.checkout / name).write_text(before)


def content(world: World) -> dict[str, object]:
    """All of a world but the times of files; and what the index has."""
    found = {key: value for key, value in state(world).items() if key != "times"}
    index = git(world.checkout, "ls-files", "--stage")
    return found | {"index": index, "status": git(world.checkout, "status", "--porcelain")}


def set_back(kept: Path, queue: Path) -> None:
    """Put a copy of a queue in its place."""
    shutil.rmtree(queue)
    shutil.copytree(kept, queue, symlinks=True)


def listed(world: World) -> list[str]:
    """The patches of the series."""
    return [line for line in world.series.read_text().splitlines() if line and not line.startswith("#")]
