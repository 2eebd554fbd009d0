"""What hunks and file patches say of themselves."""

from __future__ import annotations

import pytest

from pq.core import patch_reader
from pq.core.patch import Action, Edit, Hunk
from pq.errors import PqError
from tests.core.diffs import only

MIXED = b"--- a/f\n+++ b/f\n@@ -10,6 +10,7 @@\n one\n-two\n+TWO\n three\n-four\n-five\n+4\n+5\n+6\n six\n"


def _hunk(patch: bytes) -> Hunk:
    (hunk,) = only(patch).hunks
    return hunk


def test_a_hunk() -> None:
    hunk = _hunk(MIXED)

    assert hunk.old == (b"one\n", b"two\n", b"three\n", b"four\n", b"five\n", b"six\n")
    assert hunk.new == (b"one\n", b"TWO\n", b"three\n", b"4\n", b"5\n", b"6\n", b"six\n")
    assert (hunk.position, hunk.leading, hunk.trailing) == (9, 1, 1)
    assert hunk.edits(20) == (Edit(21, 22, (b"TWO\n",), 1), Edit(23, 25, (b"4\n", b"5\n", b"6\n"), 1))


def test_removed_and_added_lines_may_come_in_any_order() -> None:
    hunk = _hunk(b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n+A\n-a\n-b\n+B\n c\n")

    assert hunk.edits(0) == (Edit(0, 2, (b"A\n", b"B\n"), 1),)


@pytest.mark.parametrize(("ranges", "position"), [(b"-5,0 +6", 5), (b"-0,0 +1", 0)])
def test_a_hunk_of_no_old_lines_names_the_line_before(ranges: bytes, position: int) -> None:
    hunk = _hunk(b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ %s @@\n+x\n" % ranges)

    assert hunk.position == position
    assert hunk.edits(position) == (Edit(position, position, (b"x\n",), 1),)


def test_a_hunk_taken_back() -> None:
    back = _hunk(MIXED).reversed()

    assert (back.old, back.new, back.old_start) == (_hunk(MIXED).new, _hunk(MIXED).old, 10)
    assert back.reversed() == _hunk(MIXED)


def test_a_new_file_taken_back_goes() -> None:
    file = only(b"diff --git a/f b/f\nnew file mode 100755\nindex 0000000..1234567\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n")

    back = file.reversed()

    assert (back.action, back.old_path, back.new_path, back.old_mode, back.new_mode) == (Action.DELETE, "f", None, 0o100755, None)
    assert (back.old_id, back.new_id) == ("1234567", "")
    assert back.reversed() == file


def test_a_rename_taken_back() -> None:
    back = only(b"diff --git a/f b/g\nrename from f\nrename to g\n").reversed()

    assert (back.action, back.old_path, back.new_path) == (Action.RENAME, "g", "f")


def test_what_can_t_be_taken_back_is_refused() -> None:
    copy = only(b"diff --git a/f b/g\ncopy from f\ncopy to g\n")
    binary = only(b"diff --git a/f b/f\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n")

    with pytest.raises(PqError, match="a copy can't be applied in reverse"):
        copy.reversed()
    with pytest.raises(PqError, match="does not say what was there before"):
        binary.reversed()


def test_a_patch_taken_back_begins_at_its_end() -> None:
    patch = patch_reader.read(MIXED + MIXED.replace(b"/f\n", b"/g\n"), file="x.patch")

    assert [file.path for file in patch.files] == ["f", "g"]
    assert [file.path for file in patch.reversed().files] == ["g", "f"]
    assert patch.reversed().reversed() == patch
