"""undo, redo and log: checkout, series and patch files come back together."""

from __future__ import annotations

import json

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.laws import nothing_changed, stands_at, state

CHANGING: dict[str, tuple[str, ...]] = {
    "pop": ("pop", "-a"),
    "new": ("new", "x.patch"),
    "delete": ("delete", "-r", "b"),
    "rename": ("rename", "x.patch"),
    "float": ("float", "a"),
    "sink": ("sink",),
    "squash": ("squash", "a", "b"),
    "split": ("split", "-P", "b", "x.patch", "m.py"),
    "spill": ("spill",),
    "fork": ("fork",),
    "remove": ("remove", "-P", "b", "m.py"),
}


@pytest.fixture
def mixed(three: World) -> World:
    """Three patches, of which b changes two files."""
    change(three, 1, "y = 2", name="m.py")
    assert three.pq("refresh", "b").code == 0
    return three


def _state(world: World) -> dict[str, object]:
    """All but file times."""
    return {key: value for key, value in state(world).items() if key != "times"}


@pytest.mark.parametrize("words", CHANGING.values(), ids=CHANGING)
def test_every_command_can_be_taken_back_and_done_again(mixed: World, words: tuple[str, ...]) -> None:
    before = _state(mixed)
    assert mixed.pq(*words).code == 0
    after = _state(mixed)
    assert after != before

    assert mixed.pq("undo").out == f"Took back: pq {' '.join(words)}\n"
    assert _state(mixed) == before
    assert mixed.pq("redo").out == f"Did again: pq {' '.join(words)}\n"
    assert _state(mixed) == after


def test_all_the_way_back_and_forth(mixed: World) -> None:
    full = _state(mixed)
    count = len(mixed.pq("log").out.splitlines())

    assert mixed.pq("undo", str(count)).code == 0
    assert (listed(mixed), mixed.pq("top").code) == ([], 2)
    assert mixed.pq("undo").code == 2
    assert mixed.pq("redo", str(count)).code == 0

    assert _state(mixed) == full
    assert mixed.pq("redo").code == 2


def test_undo_of_a_refresh_gives_the_edits_back(three: World) -> None:
    change(three, 30, "thirty")
    (three.checkout / "new.txt").write_text("new\n")
    three.pq("add", "new.txt")
    edited, text = three.files(), patch(three, "c.patch")
    three.pq("refresh")

    assert three.pq("undo").code == 0

    assert (three.files(), patch(three, "c.patch")) == (edited, text)
    assert {line[3:] for line in git(three.checkout, "status", "--porcelain").splitlines()} == {"f.txt", "new.txt"}
    assert three.pq("refresh").code == 0
    assert "+new\n" in patch(three, "c.patch")


def test_undo_destroys_no_edits(three: World) -> None:
    change(three, 25, "mine")

    with nothing_changed(three):
        said = three.pq("undo", "1") if three.pq("pop").code == 0 else three.pq("pop")

    assert said.code == 5
    assert "unrefreshed changes are in the way: f.txt" in said.err


def test_undo_destroys_no_edit_of_a_patch_file(three: World) -> None:
    place = three.queue / "patches" / "c.patch"
    place.write_text("Mine.\n" + place.read_text())

    said = three.pq("undo")

    assert (said.code, "patches/c.patch is not what it was" in said.err) == (5, True)
    assert place.read_text().startswith("Mine.\n")


def test_a_new_operation_ends_what_could_be_done_again(three: World) -> None:
    three.pq("pop")
    three.pq("undo")
    three.pq("float", "a")

    assert three.pq("redo").code == 2
    stands_at(three, "a.patch")


def test_the_branch_moved_by_git_is_not_taken_back(three: World) -> None:
    git(three.checkout, "reset", "-q", "--hard", "HEAD~1")

    with nothing_changed(three):
        said = three.pq("undo")

    assert (said.code, "moved by other means" in said.err) == (5, True)


def test_the_log_says_what_was_done(three: World) -> None:
    lines = three.pq("log", "-n", "2").out.splitlines()

    assert [line.partition(" pq ")[2] for line in lines] == ["refresh", "new c.patch"]
    assert json.loads(three.pq("log", "--json", "-n", "1").out)["log"][0]["title"] == "refresh"
