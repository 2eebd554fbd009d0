"""repair: after plain git on the branch, or an edit of the file of an applied patch, commits and files are one again."""

from __future__ import annotations

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.laws import nothing_changed, stands_at


def _is_one(world: World, top: str) -> None:
    """Nothing is left to repair, and the series makes the same of the release."""
    stands_at(world, top)
    full = world.files()
    assert world.pq("repair").code == 2
    assert world.pq("pop", "-a").code == 0
    assert world.pq("push", "-a").code == 0
    assert world.files() == full


def test_a_commit_becomes_a_patch(three: World) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qam", "mine: thirty\n\nBecause.")

    status = three.pq("status")
    assert (status.code, "pq repair makes a patch of it" in status.err) == (5, True)
    assert three.pq("repair").out == "Patch mine-thirty.patch was made of a commit\n"

    assert listed(three) == ["a.patch", "b.patch", "c.patch", "mine-thirty.patch"]
    text = patch(three, "mine-thirty.patch")
    assert (text.startswith("From: Ada <ada@example.org>\nDate: "), "Subject: mine: thirty\n\nBecause.\n\ndiff" in text) == (
        True,
        True,
    )
    _is_one(three, "mine-thirty.patch")


def test_an_amended_commit_is_a_refresh(three: World) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qa", "--amend", "--no-edit")

    assert "Commit changed by other means: c.patch\n" in three.pq("status").out
    for words in (("push",), ("pop",), ("refresh",), ("float", "a")):
        with nothing_changed(three):
            assert three.pq(*words).code in (2, 5), words
    assert three.pq("repair").out == "Patch c.patch was written from its commit\n"

    assert "+thirty\n" in patch(three, "c.patch")
    _is_one(three, "c.patch")


def test_a_reworded_commit_changes_the_text(three: World) -> None:
    message = git(three.checkout, "log", "-1", "--format=%B")
    git(three.checkout, "commit", "-q", "--amend", "-m", message.replace("c.patch\n\n", "Another title\n\nAnd why.\n\n", 1))

    assert three.pq("repair").code == 0

    assert "Subject: Another title\n\nAnd why.\n" in patch(three, "c.patch")
    assert "+c 25\n" in patch(three, "c.patch")
    _is_one(three, "c.patch")


def test_a_rebase_in_another_order(three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", "sed -i -e '1{h;d}' -e '2{G}'")
    git(three.checkout, "rebase", "-q", "-i", "HEAD~3")
    full = three.files()

    assert three.pq("repair").code == 0

    assert listed(three) == ["b.patch", "a.patch", "c.patch"]
    assert three.files() == full
    _is_one(three, "c.patch")


def test_a_dropped_commit_leaves_its_patch(three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = patch(three, "b.patch")
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", "sed -i 2d")
    git(three.checkout, "rebase", "-q", "-i", "HEAD~3")

    assert three.pq("repair").code == 0

    assert listed(three) == ["a.patch", "c.patch", "b.patch"]
    assert patch(three, "b.patch") == text
    assert three.pq("applied").out == "a.patch\nc.patch\n"
    assert three.pq("push", "-a").code == 0


def test_a_reset_needs_no_repair(three: World) -> None:
    git(three.checkout, "reset", "-q", "--hard", "HEAD~1")

    assert three.pq("repair").code == 2
    assert three.pq("push").code == 0
    stands_at(three, "c.patch")


def test_an_edited_file_is_applied_anew(three: World) -> None:
    place = three.queue / "patches" / "a.patch"
    lines = [line for line in place.read_text().splitlines(keepends=True) if not line.startswith("index")]
    place.write_text("".join(lines).replace("+a 5\n", "+a five\n"))

    assert three.pq("repair").out.startswith("Patch ")

    assert b"a five\n" in (three.checkout / "f.txt").read_bytes()
    assert "+a five\n" in patch(three, "a.patch")
    _is_one(three, "c.patch")


def test_both_changed_is_for_the_user_to_say(three: World) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qa", "--amend", "--no-edit")
    place = three.queue / "patches" / "c.patch"
    place.write_text("Mine.\n" + place.read_text())

    with nothing_changed(three):
        said = three.pq("repair")

    assert (said.code, "Both the commit and the file of patch c.patch were changed" in said.err) == (5, True)


def test_repair_can_be_undone(three: World) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qam", "mine")
    three.pq("repair")

    assert three.pq("undo").code == 0

    assert listed(three) == ["a.patch", "b.patch", "c.patch"]
    assert git(three.checkout, "log", "-1", "--format=%s").strip() == "mine"
