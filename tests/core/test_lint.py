"""Faults of a patch's text: each is found where it is, and mended to what was meant."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pq.core import lint, patch_reader
from pq.core.lint import Looked, Severity

TODAY = datetime.date(2026, 11, 30)
WHOLE = b"""\
Subject: two lines

diff --git a/f.txt b/f.txt
--- a/f.txt
+++ b/f.txt
@@ -1,5 +1,5 @@
 one

-two
+TWO

 three
@@ -11,4 +11,5 @@ one
 eleven
 twelve

+more
 fourteen
diff --git a/g.txt b/g.txt
--- a/g.txt
+++ b/g.txt
@@ -1 +1,2 @@
 g
+h
""".replace(b"\n\n", b"\n \n").replace(b"two lines\n \n", b"two lines\n\n")


def _look(data: bytes) -> Looked:
    return lint.look(data, file="p", strip=1, today=TODAY)


def _codes(data: bytes) -> list[tuple[str, int | None]]:
    return [(fault.code, fault.line) for fault in _look(data).faults]


def test_a_patch_without_faults_is_left_alone() -> None:
    found = _look(WHOLE)

    assert (found.faults, found.fixed) == ((), WHOLE)


def test_a_space_that_an_editor_stripped_comes_back() -> None:
    """The fixers of white space that people have on commit do it to patches, too."""
    stripped = re.sub(rb"^ $", b"", WHOLE, flags=re.MULTILINE)

    assert _codes(stripped) == [("stripped-context", 8)]
    assert _look(stripped).fixed == WHOLE


def test_empty_lines_that_were_trimmed_at_the_end_come_back() -> None:
    whole = WHOLE.replace(b"@@ -1 +1,2 @@\n g\n+h\n", b"@@ -1,2 +1,3 @@\n g\n+h\n \n")

    assert _look(whole).faults == ()
    assert _look(whole.removesuffix(b" \n")).fixed == whole


@pytest.mark.parametrize("wrong", [b"@@ -1,4 +1,5 @@", b"@@ -1,5 +1,9 @@", b"@@ -1,5 +1 @@", b"@@ -1,0 +1,5 @@"])
def test_wrong_counts_are_counted_anew(wrong: bytes) -> None:
    data = WHOLE.replace(b"@@ -1,5 +1,5 @@", wrong)

    assert _codes(data) == [("counts", 6)]
    assert _look(data).fixed == WHOLE


def test_what_may_have_been_cut_is_not_counted_anew() -> None:
    """Lines are missing on both sides, or at the end of the file: the @@ line may be right, and the patch half gone."""
    for data in (WHOLE.replace(b"@@ -1,5 +1,5 @@", b"@@ -1,7 +1,7 @@"), WHOLE.removesuffix(b"+h\n")):
        assert [code for code, _ in _codes(data)] == ["unreadable"]
        assert _look(data).fixed == data


def test_counts_of_the_last_hunk_before_a_signature() -> None:
    signed = WHOLE + b"-- \n2.39.5\n"

    assert _look(signed.replace(b"-1 +1,2 @@", b"-1 +1 @@")).fixed == signed.replace(b"-1 +1,2", b"-1,1 +1,2")


def test_a_text_without_a_diff_is_pointed_out() -> None:
    assert [code for code, _ in _codes(b"<html>404</html>\n")] == ["no-diff"]
    assert "no-diff" not in [code for code, _ in _codes(b"")]  # a patch that has just begun


def test_line_endings_that_a_tool_changed_are_changed_back() -> None:
    data = WHOLE.replace(b"\n", b"\r\n")

    assert _codes(data) == [("crlf", 6)]
    assert _look(data).fixed == WHOLE


def test_line_endings_of_the_file_are_its_own() -> None:
    """A patch for a file with CRLF has them in the lines of the hunks, and LF in its own."""
    data = re.sub(rb"^([ +-](?!-- |\+\+ ).*)$", rb"\1\r", WHOLE, flags=re.MULTILINE)

    assert _look(data).fixed == data
    assert "crlf" not in [code for code, _ in _codes(data)]


def test_mixed_line_endings_have_no_one_answer() -> None:
    found = _look(WHOLE.replace(b"@@ -1,5 +1,5 @@\n", b"@@ -1,5 +1,5 @@\r\n"))

    assert [(fault.code, fault.fixable) for fault in found.faults] == [("crlf", False)]


def test_all_at_once() -> None:
    data = re.sub(rb"^ $", b"", WHOLE, flags=re.MULTILINE).replace(b"-1,5 +1,5", b"-1,9 +1,5").replace(b"\n", b"\r\n")

    assert [code for code, _ in _codes(data)] == ["crlf", "counts", "stripped-context"]
    assert _look(data).fixed == WHOLE


@pytest.mark.parametrize("name", ["../f.txt", "a/../../x", ".git/config"])
def test_paths_that_lead_out(name: str) -> None:
    data = WHOLE.replace(b"a/f.txt", b"a/" + name.encode()).replace(b"b/f.txt", b"b/" + name.encode())

    assert [code for code, _ in _codes(data)] == ["unsafe-path"]


def test_what_can_not_be_read_is_said_and_left() -> None:
    data = WHOLE.replace(b"+TWO", b"TWO")

    found = _look(data)

    assert ([fault.code for fault in found.faults], found.fixed) == (["unreadable"], data)


def test_files_that_tools_leave_behind() -> None:
    assert _codes(WHOLE.replace(b"/g.txt", b"/g.txt.orig")) == [("left-behind", 19)]


@pytest.mark.parametrize(
    ("header", "codes"),
    [
        (b"", [("no-description", 1)]),
        (b"From: Ada <ada@example.org>\n\n", [("no-description", 1)]),
        (b"Subject: x\nPq-Review-By: 2026-11-30\n\n", []),
        (b"Subject: x\nPq-Review-By: 2026-11-29\n\n", [("overdue", 2)]),
        (b"What it does.\n\nPq-Review-By: 2020-01-01\n\n", [("overdue", 3)]),
        (b"Subject: x\nPq-Review-By: soon\n\n", [("review-date", 2)]),
        (b"Subject: x\nPq-Review-By:\n\n", [("review-date", 2)]),
    ],
)
def test_what_stands_above_the_diff(header: bytes, codes: list[tuple[str, int]]) -> None:
    data = header + WHOLE.partition(b"\n\n")[2]

    assert _codes(data) == codes
    assert {fault.severity for fault in _look(data).faults} <= (
        {Severity.ERROR} if "review-date" in str(codes) else {Severity.WARNING}
    )


_LINES = st.lists(
    st.tuples(st.sampled_from(b" +-"), st.sampled_from([b"", b"x", b" y", b"-- z", b"@ w"])), min_size=1, max_size=12
)


@given(_LINES, st.booleans(), st.integers(0, 9), st.integers(0, 9))
def test_what_was_mended_says_what_was_meant(lines: list[tuple[int, bytes]], strip: bool, old: int, new: int) -> None:
    """Whatever the counts were, and whether the spaces of empty lines are gone: the hunk is the same."""
    body = b"".join(bytes([mark]) + text + b"\n" for mark, text in lines)
    counts = [sum(mark in b" " + kept for mark, _ in lines) for kept in (b"-", b"+")]
    start = b"Subject: x\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n"
    whole = start + b"@@ -%d,%d +%d,%d @@\n" % (bool(counts[0]), counts[0], bool(counts[1]), counts[1]) + body
    broken = start + b"@@ -%d,%d +%d,%d @@\n" % (bool(counts[0]), old, bool(counts[1]), new) + body
    if strip:
        ends = b" \n" if lines[-1] == (ord(" "), b"") else b""  # which line is the hunk's last nobody knows then
        broken = re.sub(rb"^ $", b"", broken.removesuffix(ends), flags=re.MULTILINE) + ends

    found = _look(broken)

    if found.patch is not None:
        again = _look(found.fixed)
        assert [fault.code for fault in again.faults] == []
        assert again.fixed == found.fixed
        if "counts" in [fault.code for fault in found.faults]:
            meant = patch_reader.read(whole, file="p")
            assert [hunk.lines for file in again.patch.files for hunk in file.hunks] == [  # type: ignore[union-attr]
                hunk.lines for file in meant.files for hunk in file.hunks
            ]
