"""A world in which patches are made by pq."""

from __future__ import annotations

import pytest

from tests.conftest import World, git

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
    for name, number in (("a", 5), ("b", 15), ("c", 25)):
        assert desk.pq("new", f"{name}.patch").code == 0
        change(desk, number, f"{name} {number}")
        assert desk.pq("refresh").code == 0
    return desk


def change(world: World, number: int, text: str, *, name: str = "f.txt") -> None:
    """Replace a line (from 1) of a file of the checkout."""
    place = world.checkout / name
    lines = place.read_text().splitlines()
    lines[number - 1] = text
    place.write_text("".join(f"{line}\n" for line in lines))


def patch(world: World, name: str) -> str:
    """The text of a patch file."""
    return (world.queue / "patches" / name).read_text()


def listed(world: World) -> list[str]:
    """The patches of the series."""
    return [line for line in world.series.read_text().splitlines() if line and not line.startswith("#")]
