"""repair: after plain git on the branch, or an edit of the file of an applied patch, commits and files are one again."""

from __future__ import annotations

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch, settle
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


def test_amended_with_a_message_of_its_own_it_is_the_same_patch(three: World) -> None:
    """Nothing in the commit says so any more; the reflog does."""
    git(three.checkout, "commit", "-q", "--amend", "-m", "new title")

    assert three.pq("repair").out == "Patch c.patch was written from its commit\n"

    assert "Subject: new title\n" in patch(three, "c.patch")
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


def test_a_reset_takes_a_patch_off(three: World) -> None:
    git(three.checkout, "reset", "-q", "--hard", "HEAD~1")

    assert three.pq("repair").out == "Patch c.patch is not applied any more: it has no commit\n"
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


@pytest.mark.parametrize("prefer", ["commit", "file"])
def test_one_of_the_two_is_preferred(three: World, prefer: str) -> None:
    change(three, 25, "by commit")
    git(three.checkout, "commit", "-q", "--amend", "-a", "--no-edit")
    text = patch(three, "c.patch")
    (three.queue / "patches" / "c.patch").write_text(
        text.replace("+c 25", "+by file").replace(text.splitlines()[1], "index 1..2 100644")
    )

    assert three.pq("repair").code == 5
    assert three.pq("repair", "--prefer", prefer).code == 0

    assert f"by {prefer}\n" in (three.checkout / "f.txt").read_text()
    assert f"+by {prefer}\n" in patch(three, "c.patch")
    _is_one(three, "c.patch")


def test_a_conflict_above_an_edited_file_waits(three: World) -> None:
    change(three, 5, "d on a")
    three.pq("refresh", "-z", "d.patch")
    text = patch(three, "a.patch")
    (three.queue / "patches" / "a.patch").write_text(
        text.replace("+a 5", "+A 5").replace(text.splitlines()[1], "index 1..2 100644")
    )

    stopped = three.pq("repair")
    assert (stopped.code, "pq: Patch d.patch does not fit where it would stand; pq stopped there" in stopped.err) == (3, True)
    settle(three, "d on A\n")

    assert three.pq("continue").code == 0
    assert "-A 5\n+d on A\n" in patch(three, "d.patch")
    _is_one(three, "d.patch")


def test_repair_can_be_undone(three: World) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qam", "mine")
    three.pq("repair")

    assert three.pq("undo").code == 0

    assert listed(three) == ["a.patch", "b.patch", "c.patch"]
    assert git(three.checkout, "log", "-1", "--format=%s").strip() == "mine"


def test_an_amended_author_is_the_author(three: World) -> None:
    git(
        three.checkout,
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--author=Doe, John <john@example.org>",
        "--date=2020-01-01T00:00:00Z",
    )

    assert three.pq("repair").code == 0

    assert patch(three, "c.patch").startswith(
        'From: "Doe, John" <john@example.org>\nDate: Wed, 01 Jan 2020 00:00:00 +0000\nSubject: '
    )
    assert git(three.checkout, "log", "-1", "--format=%an <%ae> %at").strip() == "Doe, John <john@example.org> 1577836800"
    _is_one(three, "c.patch")


def test_other_fields_stay_when_a_commit_is_reworded(three: World) -> None:
    three.pq("pop")
    place = three.queue / "patches" / "c.patch"
    place.write_text("Subject: old\nForwarded: no\nBug: 5\n more\n\n\n\nText.\n\n" + place.read_text())
    three.pq("push")
    git(three.checkout, "commit", "-q", "--amend", "--no-edit")
    assert three.pq("repair").code == 0
    assert patch(three, "c.patch").startswith("Subject: old\nForwarded: no\n")
    message = git(three.checkout, "log", "-1", "--format=%B")
    git(three.checkout, "commit", "-q", "--amend", "-m", message.replace("old", "new", 1))

    assert three.pq("repair").code == 0

    assert patch(three, "c.patch").startswith("Forwarded: no\nBug: 5\n more\nSubject: new\n\nText.\n\ndiff --git")


@pytest.mark.parametrize("quoted", ["diff --git a/m.py b/m.py", "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 666"])
def test_a_message_that_quotes_a_diff_is_a_message(three: World, quoted: str) -> None:
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qam", f"mine\n\nAs in\n\n{quoted}\n")

    assert three.pq("repair").code == 0

    _is_one(three, "mine.patch")
    assert (three.checkout / "m.py").read_bytes() == b"x = 1\n"


def test_a_patch_that_the_series_lost_is_taken_off(three: World) -> None:
    """A colleague deleted it, and the queue was pulled."""
    three.series.write_text(three.series.read_text().replace("b.patch\n", ""))
    (three.queue / "patches" / "b.patch").unlink()

    said = three.pq("repair")

    assert "Patch b.patch was taken off; the series no longer has it\n" in said.out
    assert listed(three) == ["a.patch", "c.patch"]
    assert b"line 15\n" in (three.checkout / "f.txt").read_bytes()
    _is_one(three, "c.patch")


def test_an_order_that_was_edited_is_followed(three: World) -> None:
    text = three.series.read_text().replace("a.patch\nb.patch\n", "# second\nb.patch\n# first\na.patch # why\n")
    three.series.write_text(text)
    full = three.files()

    assert three.pq("repair").code == 0

    assert three.series.read_text() == text
    assert three.files() == full
    assert three.pq("applied").out == "b.patch\na.patch\nc.patch\n"


def test_an_order_that_does_not_fit_waits(three: World) -> None:
    change(three, 5, "d on a")
    three.pq("refresh", "-z", "d.patch")
    full, lines = three.files(), three.series.read_text().splitlines(keepends=True)
    three.series.write_text("".join([lines[0], *lines[2:], lines[1]]))

    assert three.pq("repair").code == 3
    settle(three, "d alone\n")
    assert three.pq("continue").code == 0

    assert three.files() == full
    _is_one(three, "a.patch")


def test_what_lost_its_commit_is_named(three: World) -> None:
    git(three.checkout, "reset", "-q", "--hard", "HEAD~1")
    change(three, 30, "thirty")
    git(three.checkout, "commit", "-qam", "new title")

    said = three.pq("repair")

    assert said.out == (
        "Patch new-title.patch was made of a commit\nPatch c.patch is not applied any more: it has no commit\n"
        "hint: pq push applies it again, pq delete -r takes it out for good\n"
    )
