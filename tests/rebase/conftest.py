"""Releases of an upstream that moves, and a queue made for the first of them."""

from __future__ import annotations

import pytest

from tests.conftest import World, git
from tests.editing.conftest import patched

CODE = """\
import os


class Args:
    one: int = 1
    two: int = 2


def run(x):
    y = x + 1
    check(y)
    return y


def threshold_acc():
    return 1.0
"""
LINES = "".join(f"line {number}\n" for number in range(1, 61))


def with_line(text: str, number: int, line: str) -> str:
    """The text with another line at a place (from 1)."""
    lines = text.splitlines(keepends=True)
    return "".join((*lines[: number - 1], line, *lines[number:]))


@pytest.fixture
def moving(tmp_path_factory: pytest.TempPathFactory) -> World:
    """v1; v2 moves lines, changes line 10 and adds a field; v3 renames the module and moves a function into another file."""
    world = World(tmp_path_factory.mktemp("world"))
    world.release("v1", {"f.txt": LINES.encode(), "m.py": CODE.encode(), "same.txt": b"same\n"})
    lines = with_line(LINES.replace("line 1\n", "line 0\nline 1\n", 1), 11, "ten\n")
    code = CODE.replace("    two: int = 2\n", "    two: int = 2\n    ours: int = 3\n")
    world.release("v2", {"f.txt": lines.encode(), "m.py": code.encode(), "same.txt": b"same\n"})
    code, acc = code.split("\n\ndef threshold_acc")
    world.release(
        "v3",
        {"f.txt": lines.encode(), "n.py": code.encode(), "acc.py": b"def threshold_acc" + acc.encode(), "same.txt": b"same\n"},
    )
    world.init()
    git(world.checkout, "config", "user.name", "Ada")
    git(world.checkout, "config", "user.email", "ada@example.org")
    assert world.pq("fetch", "--all-since", "v1").code == 0
    return world


def make(world: World, name: str, file: str, old: str, new: str) -> None:
    """A patch on top that puts one text in place of another one."""
    assert world.pq("new", name).code == 0
    place = world.checkout / file
    text = place.read_text() if place.exists() else ""
    assert old in text
    place.write_text(text.replace(old, new, 1) if old else text + new)
    if not old:
        assert world.pq("add", file).code == 0
    assert world.pq("refresh").code == 0


@pytest.fixture
def clashing(moving: World) -> World:
    """Patches a (line 40), b (line 10, which v2 changes) and c (line 50)."""
    return patched(moving, a=40, b=10, c=50)


def outcomes(world: World, series: str) -> dict[str, str]:
    """What the ledger of a series says."""
    found = {}
    for line in (world.queue / "series" / series).read_text().splitlines():
        if line.startswith("# pq-outcome: "):
            patch, _, said = line.removeprefix("# pq-outcome: ").partition(" ")
            found[patch] = said
    return found
