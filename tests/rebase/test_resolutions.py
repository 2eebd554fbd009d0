"""What was settled once is not asked again: on the next release, by the next person, after undo and after a power loss."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pq.core import resolutions
from pq.core.lines import split_lines
from pq.core.merge import Labels, Sides
from pq.core.resolutions import Resolution
from tests.conftest import World
from tests.editing.conftest import settle
from tests.rebase.conftest import outcomes


def _folder(world: World) -> Path:
    return world.queue / "patches" / ".resolutions"


@pytest.fixture
def settled(clashing: World) -> World:
    """A rebase to v2 whose conflict was settled, and that was taken back."""
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")
    assert clashing.pq("continue").code == 0
    assert clashing.pq("undo").code == 0
    return clashing


@pytest.mark.parametrize("release", ["v2", "v3"])
def test_it_is_made_again_and_said(settled: World, release: str) -> None:
    done = settled.pq("rebase", release)

    assert done.code == 0, done.err
    assert "b.patch: resolved as before (f.txt as in patches/.resolutions)\n" in done.out
    assert outcomes(settled, release)["b.patch"] == "resolved as before; f.txt as in patches/.resolutions"
    assert (settled.checkout / "f.txt").read_text().splitlines()[10] == "b ten"


def test_forecast_knows_it(settled: World) -> None:
    said = settled.pq("forecast")

    assert (said.code, said.out.splitlines()[2]) == (0, "b.patch  r  r")


def test_it_can_be_read_in_a_review(settled: World) -> None:
    (place,) = _folder(settled).iterdir()

    assert place.read_text() == "pq-resolution 1 1 1 1 f.txt\n<<<<<<<\nten\n|||||||\nline 10\n=======\nb 10\n>>>>>>>\nb ten\n"
    assert settled.pq("status").out.count("In no series") == 0


def test_it_is_kept_before_anything_else_is_done(clashing: World) -> None:
    """Power loss after --continue: the queue has the answer though the rebase has not ended (here: a check rejects it)."""
    (clashing.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\nexit 1\n")
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")

    assert clashing.pq("continue").code == 4

    assert len(list(_folder(clashing).iterdir())) == 1


def test_another_queue_takes_it_from_the_folder(settled: World, tmp_path: Path) -> None:
    """The folder is all there is to it: a colleague's queue, whose checkout never saw the conflict."""
    other = World(tmp_path)
    shutil.copytree(settled.upstream, other.upstream)
    other.init()
    for name in ("a.patch", "b.patch", "c.patch"):
        other.add(name, (settled.queue / "patches" / name).read_bytes())
    assert other.pq("rebase", "v2").code == 3
    assert other.pq("abort").code == 0

    shutil.copytree(_folder(settled), _folder(other))

    assert other.pq("rebase", "v2").code == 0


def test_it_is_not_taken_where_it_is_to_be_asked_again(settled: World) -> None:
    assert settled.pq("rebase", "v2", "--ask-again").code == 3
    settle(settled, "b ten, again\n")
    assert settled.pq("continue").code == 0
    assert settled.pq("undo").code == 0

    assert settled.pq("rebase", "v2").code == 0
    assert (settled.checkout / "f.txt").read_text().splitlines()[10] == "b ten, again"


def test_that_nothing_was_left_of_a_patch_is_not_remembered(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "ten\n")
    assert clashing.pq("continue", "--allow-empty").code == 0
    assert clashing.pq("undo").code == 0

    assert clashing.pq("forecast").code == 3
    assert clashing.pq("rebase", "v2").code == 3


def test_another_file_is_another_conflict(settled: World) -> None:
    (place,) = _folder(settled).iterdir()
    found = resolutions.read(place.read_bytes())
    assert found is not None

    assert resolutions.key(found.sides, "f.txt") == place.name != resolutions.key(found.sides, "g.txt")


@pytest.mark.parametrize("broken", [b"", b"pq-resolution 1 1 1 1\n", b"pq-resolution x\n", b"pq-resolution 9 9 9 9\n<<<<<<<\n"])
def test_a_broken_one_is_none(settled: World, broken: bytes) -> None:
    (place,) = _folder(settled).iterdir()
    place.write_bytes(broken)

    assert settled.pq("rebase", "v2").code == 3


def test_one_that_was_renamed_is_none(settled: World) -> None:
    """Its name says which conflict it answers."""
    (place,) = _folder(settled).iterdir()
    place.write_bytes(place.read_bytes().replace(b"line 10\n", b"line 11\n"))

    assert settled.pq("rebase", "v2").code == 3


LABELS = Labels(b"ours", b"base", b"theirs")
MARKED = b"a\n<<<<<<< ours\nx\n||||||| base\ny\n=======\nz\n>>>>>>> theirs\nb\n<<<<<<< ours\nw\n||||||| base\n=======\nq\n>>>>>>> theirs\nc\n"
ANSWERS = {
    "both": (b"a\nX\nb\nQ\nc\n", [b"X\n", b"Q\n"]),
    "nothing is left": (b"a\nb\nc\n", [b"", b""]),
    "something else was changed": (b"A\nX\nb\nQ\nc\n", []),
    "at the end, too": (b"a\nX\nb\nQ\nc\nd\n", []),
    "nobody can tell where the first ends": (b"a\nb\nb\nQ\nc\n", []),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_put_in_the_place_of_each_conflict(name: str) -> None:
    answer, wanted = ANSWERS[name]

    found = resolutions.learned(split_lines(MARKED), split_lines(answer), "a file", LABELS)

    assert [b"".join(each.answer) for each in found] == wanted
    known = {each.key: each.answer for each in found}
    if found:
        settled_again = resolutions.settled(split_lines(MARKED), "a file", LABELS, known.get)
        assert settled_again is not None
        assert b"".join(settled_again) == answer
    for each in found:
        assert resolutions.read(resolutions.render(each)) == each


def test_three_texts_have_one_name() -> None:
    """However lines are parted between them."""
    sides = [Sides((b"a\n",), (b"b\n",), ()), Sides((b"a\n", b"b\n"), (), ()), Sides((), (b"a\n", b"b\n"), ())]

    assert len({Resolution("f", each, ()).key for each in sides}) == 3
