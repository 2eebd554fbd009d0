"""What lint mends is mended, whatever stands in a file; and it never mends what was cut."""

from __future__ import annotations

import datetime

from hypothesis import example, given
from hypothesis import strategies as st

from pq.core import lint, patch_reader
from pq.errors import ParseError

TODAY = datetime.date(2026, 1, 1)
PATCH = b"""Subject: what it is for

diff --git a/f.txt b/f.txt
--- a/f.txt
+++ b/f.txt
@@ -2,5 +2,6 @@ heading
 two

-four
+vier
+and more
 five
 six
@@ -20,3 +21,2 @@
 twenty
-one
 two
"""
LINES = PATCH.splitlines(keepends=True)
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(LINES) - 1),
        st.sampled_from(
            [b"", b"\n", b" \n", b"+\n", b"-x\n", b" y\r\n", b"\r\r\n", b"@@ -1 +1 @@\n", b"@@ -1,9 +1,9 @@\n", b"-- \n"]
        ),
    ),
    max_size=4,
)


@st.composite
def patches(draw: st.DrawFn) -> bytes:
    """A patch with some lines replaced or gone, other line endings, or without its end."""
    lines = list(LINES)
    for number, line in draw(EDITS):
        lines[number] = line
    data = b"".join(lines)
    ending = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r\r\n"]))
    data = data.replace(b"\n", ending)
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


def _look(data: bytes) -> lint.Looked:
    return lint.look(data, file="a.patch", strip=1, today=TODAY)


@given(patches())
@example(PATCH.replace(b"\n", b"\r\r\n"))
def test_what_is_mended_is_without_fixable_faults(data: bytes) -> None:
    fixed = _look(data).fixed

    again = _look(fixed)

    assert again.fixed == fixed
    assert not [fault for fault in again.faults if fault.fixable]


@given(st.integers(0, len(PATCH)))
@example(PATCH.index(b"+and more"))
@example(PATCH.index(b" six"))
def test_what_was_cut_is_not_made_whole(end: int) -> None:
    """A prefix of a patch is refused, or it reads as what stands there; the counts are not made to fit what is left."""
    cut = PATCH[:end]
    try:
        patch_reader.read(cut, file="a.patch")
    except ParseError:
        looked = _look(cut)
        assert looked.fixed == cut
        assert [fault.code for fault in looked.faults if not fault.fixable]
