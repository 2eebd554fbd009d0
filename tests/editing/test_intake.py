"""import, fold, fork and header: patches and texts that come from elsewhere."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import LINES, change, listed, patch
from tests.laws import nothing_changed, stands_at

FAR = "--- a/f.txt\n+++ b/f.txt\n@@ -37,4 +37,4 @@\n line 37\n-line 38\n+far\n line 39\n line 40\n"


def test_patch_files_come_behind_the_top(three: World) -> None:
    three.pq("pop")
    (three.root / "one.patch").write_text(FAR)
    (three.root / "two.diff").write_text(FAR.replace("a/f.txt", "f.txt").replace("b/f.txt", "f.txt"))

    assert three.pq("import", "../one.patch").out == "Importing patch one.patch\n"
    assert three.pq("import", "-p0", "../two.diff").code == 0

    assert three.series.read_text().splitlines()[1:] == ["a.patch", "b.patch", "two.diff -p0", "one.patch", "c.patch"]
    assert (three.queue / "patches" / "one.patch").read_text() == FAR


def test_what_is_there_is_not_written_over(three: World) -> None:
    (three.root / "c.patch").write_text(FAR)
    (three.root / "bad.patch").write_text("no diff\n")

    with nothing_changed(three):
        assert three.pq("import", "../c.patch").code == 1
        assert three.pq("import", "-f", "../c.patch").code == 1
        assert three.pq("import", "../bad.patch").code == 1
        assert three.pq("import", "../nowhere.patch").code == 1
    three.pq("pop")
    assert three.pq("import", "-f", "../c.patch").code == 0
    assert patch(three, "c.patch") == FAR


def test_a_mailbox_is_as_many_patches(desk: World) -> None:
    upstream = desk.upstream
    for number in (3, 4, 5):
        text = (upstream / "f.txt").read_text().replace(f"line {number}\n", f"mail {number}\n")
        (upstream / "f.txt").write_text(text)
        git(upstream, "commit", "-qam", f"change: line {number}, größer")
    (desk.root / "box").write_text(git(upstream, "format-patch", "--stdout", "-3"))

    assert desk.pq("import", "../box").code == 0

    assert listed(desk) == [f"change-line-{number}-gr-er.patch" for number in (3, 4, 5)]
    assert desk.pq("push", "-a").code == 0
    assert (desk.checkout / "f.txt").read_text() == (upstream / "f.txt").read_text()
    assert git(desk.checkout, "log", "-1", "--format=%an %s").strip() == "Ada change: line 5, größer"


def test_a_range_of_commits_is_as_many_patches(desk: World) -> None:
    git(desk.checkout, "switch", "-q", "-c", "work")
    for number in (3, 4):
        change(desk, number, f"commit {number}")
        git(desk.checkout, "commit", "-qam", f"commit {number}\n\nWhy not.")
    wanted = (desk.checkout / "f.txt").read_text()
    git(desk.checkout, "switch", "-q", "pq/v1")

    assert desk.pq("import", "pq/v1..work").code == 0

    assert listed(desk) == ["commit-3.patch", "commit-4.patch"]
    assert desk.pq("push", "-a").code == 0
    assert (desk.checkout / "f.txt").read_text() == wanted
    assert git(desk.checkout, "log", "-1", "--format=%b").startswith("Why not.\n")
    assert desk.pq("import", "work..work").code == 2


def test_a_range_that_is_taken_back_begins_with_the_newest(desk: World) -> None:
    git(desk.checkout, "switch", "-q", "-c", "work")
    for text in ("first", "second"):
        change(desk, 3, text)
        git(desk.checkout, "commit", "-qam", text)
    git(desk.checkout, "commit", "-q", "--allow-empty", "-m", "nothing")
    git(desk.checkout, "switch", "-q", "pq/v1")
    desk.pq("import", "pq/v1..work")
    desk.pq("push", "-a")

    said = desk.pq("import", "-R", "-f", "pq/v1..work")

    assert said.code == 1  # they are applied under these names
    desk.pq("rename", "-P", "first", "1.patch")
    desk.pq("rename", "-P", "second", "2.patch")
    said = desk.pq("import", "-R", "pq/v1..work")
    assert said.out == (
        "Left out, since there is no diff in it: nothing.patch\nImporting patch second.patch\nImporting patch first.patch\n"
    )
    assert desk.pq("push", "-a").code == 0
    assert (desk.checkout / "f.txt").read_text() == LINES


def test_a_cover_letter_is_left_out(desk: World) -> None:
    for number in (3, 4):
        text = (desk.upstream / "f.txt").read_text().replace(f"line {number}\n", f"mail {number}\n")
        (desk.upstream / "f.txt").write_text(text)
        git(desk.upstream, "commit", "-qam", f"mail {number}")
    box = git(desk.upstream, "format-patch", "--stdout", "--cover-letter", "-2")
    (desk.root / "box").write_text(box)

    said = desk.pq("import", "../box")

    assert (said.code, said.out.count("Left out"), listed(desk)) == (0, 1, ["mail-3.patch", "mail-4.patch"])
    (desk.root / "letter").write_text(box[: box.index("\nFrom ", 1) + 1] * 2)
    with nothing_changed(desk):
        assert desk.pq("import", "../letter").code == 1


def test_a_mailbox_with_crlf(desk: World) -> None:
    text = (desk.upstream / "f.txt").read_text()
    for number in (3, 4):
        text = text.replace(f"line {number}\n", f"mail {number}\n")
        (desk.upstream / "f.txt").write_text(text)
        git(desk.upstream, "commit", "-qam", f"mail {number}")
    (desk.root / "box").write_bytes(git(desk.upstream, "format-patch", "--stdout", "-2").replace("\n", "\r\n").encode())

    assert desk.pq("import", "../box").code == 0

    assert listed(desk) == ["mail-3.patch", "mail-4.patch"]
    assert desk.pq("push", "-a").code == 0
    assert (desk.checkout / "f.txt").read_bytes() == text.encode()
    assert git(desk.checkout, "log", "-1", "--format=%an|%s").strip() == "Ada|mail 4"


def test_what_is_no_file_is_read_as_well_or_said_to_be_none(desk: World) -> None:
    pipe = desk.root / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(f"Subject: far away.patch\n\n{FAR}",))
    writer.start()

    assert desk.pq("import", "../pipe").out == "Importing patch far-away.patch\n"

    writer.join()
    assert desk.pq("import", "..").err.startswith("pq: .. is a folder\n")
    assert desk.process("import", "-", given=f"Subject: [PATCH] one\n\n{FAR}".encode()).out == "Importing patch one.patch\n"
    assert desk.process("import", "-", given=FAR.encode()).out == "Importing patch stdin.patch\n"


def test_standard_input(desk: World) -> None:
    assert desk.process("import", "-P", "x.patch", "-", given=FAR.encode()).code == 0

    assert patch(desk, "x.patch") == FAR


@pytest.mark.parametrize("words", [(), ("-R",)])
def test_fold_puts_a_patch_into_the_top(three: World, words: tuple[str, ...]) -> None:
    text = FAR
    if words:
        text = FAR.replace("-line 38", "-far").replace("+far\n", "+line 38\n")

    assert three.process("fold", *words, given=text.encode()).out == "Refreshed patch c.patch\n"

    assert ("+far\n" in patch(three, "c.patch"), "+c 25\n" in patch(three, "c.patch")) == (True, True)
    stands_at(three, "c.patch")


def test_fold_of_what_does_not_fit(three: World) -> None:
    with nothing_changed(three):
        assert three.process("fold", given=FAR.replace("line 38", "line X").encode()).code == 3


def test_fork_goes_on_with_a_copy(three: World) -> None:
    text = patch(three, "c.patch")

    assert three.pq("fork").out == "Fork of patch c.patch created as c-2.patch\n"
    change(three, 30, "thirty")
    three.pq("refresh")

    assert listed(three) == ["a.patch", "b.patch", "c-2.patch"]
    assert patch(three, "c.patch") == text
    assert three.pq("fork", "mine.patch").code == 0
    stands_at(three, "mine.patch")


def test_the_header_is_read_replaced_and_appended_to(three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    diff = patch(three, "b.patch")
    text = b"Subject: why\n\nBecause.\n\n"

    assert three.process("header", "-r", "b", given=text).out == "Replaced header of patch b.patch\n"
    assert three.pq("header", "b").out == "Subject: why\n\nBecause.\n\n"
    assert patch(three, "b.patch") == "Subject: why\n\nBecause.\n\n" + diff
    assert git(three.checkout, "log", "-1", "--format=%s", "HEAD~1").strip() == "why"
    monkeypatch.setenv("EDITOR", "sed -i s/why/how/")
    assert three.pq("header", "-e", "b").code == 0
    assert three.pq("header", "b").out.startswith("Subject: how\n")
    stands_at(three, "c.patch")


def test_a_text_that_would_be_a_diff_is_no_header(three: World) -> None:
    with nothing_changed(three):
        said = three.process("header", "-r", "b", given=FAR.encode())

    assert said.code == 1


def test_two_patches_of_one_name_are_one_too_many(desk: World) -> None:
    for folder in ("one", "two"):
        (desk.root / folder).mkdir()
        (desk.root / folder / "x.patch").write_text(FAR)

    with nothing_changed(desk):
        said = desk.pq("import", "../one/x.patch", "../two/x.patch")

    assert (said.code, said.err.split("\n")[0]) == (1, "pq: Two of these would be patch x.patch")


def test_an_author_with_a_comma_is_one_author(desk: World) -> None:
    git(desk.checkout, "switch", "-q", "-c", "work")
    change(desk, 3, "three")
    git(desk.checkout, "commit", "-qam", "three", "--author=Doe, Jané (ACME) <jane@example.org>")
    git(desk.checkout, "switch", "-q", "pq/v1")

    desk.pq("import", "pq/v1..work")
    assert desk.pq("push").code == 0

    assert git(desk.checkout, "log", "-1", "--format=%an <%ae>").strip() == "Doe, Jané (ACME) <jane@example.org>"


def test_what_was_written_in_an_editor_is_not_lost(three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where it is refused, nor what somebody else wrote meanwhile."""
    monkeypatch.setenv("EDITOR", 'sh -c \'echo "diff --git a/x b/x" > "$0"\'')

    refused = three.pq("header", "-e", "b")

    assert (refused.code, "hint: what you wrote is in " in refused.err) == (1, True)
    place = Path(refused.err.partition("what you wrote is in ")[2].strip())
    assert place.read_text() == "diff --git a/x b/x\n"
    place.unlink()


def test_a_patch_that_another_series_lists_keeps_its_file(three: World) -> None:
    (three.queue / "series" / "v2").write_text("b.patch\n")

    with nothing_changed(three):
        assert three.pq("delete", "-r", "b").code == 1
        assert three.pq("rename", "-P", "b", "x.patch").code == 1
    assert three.pq("delete", "b").code == 0


def test_a_name_made_of_a_subject_writes_over_no_file(desk: World) -> None:
    """Not one that only another series lists, either."""
    (desk.queue / "series" / "v2").write_text("mine.patch\n")
    (desk.queue / "patches" / "mine.patch").write_text(FAR)
    change(desk, 3, "three")
    git(desk.checkout, "commit", "-qam", "mine\n\nPq-Patch: gone.patch")

    assert desk.pq("repair").out == "Patch mine-2.patch was made of a commit\n"

    assert (patch(desk, "mine.patch"), "Pq-Patch" in patch(desk, "mine-2.patch")) == (FAR, False)
