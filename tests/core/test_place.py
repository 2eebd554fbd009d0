"""Law 8: a hunk lands where it is proven to belong, or not at all."""

from __future__ import annotations

import pytest

from pq.core.place import place
from pq.core.placement import How, HunkPlace, Landed, Placed, Reason, Refused
from tests.core.diffs import content, only, plain, put, recorded, refusal

TEN = b"".join(b"line %d\n" % n for n in range(1, 11))
FIVE = TEN.replace(b"line 5\n", b"line five\n")


def _class(name: str, *, mine: bool = False) -> bytes:
    """14 lines that only the first tells from those of the next one."""
    more = b"        self.mine = x\n" if mine else b""
    return (
        b"class %s:\n    kind = 1\n\n    def __init__(self):\n        self.a = 1\n        self.b = 2\n\n" % name.encode()
        + b"    def forward(self, x):\n        x = x + 1\n        x = x * 2\n"
        + more
        + b"        x = x - 3\n        return x\n\n\n"
    )


C012 = _class("C0") + _class("C1") + _class("C2")
C012_MINE = _class("C0") + _class("C1", mine=True) + _class("C2")


# -- step 1: the file that the patch names --------------------------------------------------------------------------


def test_the_recorded_file_becomes_the_recorded_result() -> None:
    found = put(recorded(TEN, FIVE), TEN)

    assert found == Placed(FIVE, How.RECORDED, (HunkPlace(hunk=1, line=2, offset=0),))


def test_a_result_with_another_id_is_refused() -> None:
    """The patch was edited or cut after it was written."""
    edited = recorded(TEN, FIVE).replace(b"+line five", b"+line 5!")

    found = refusal(put(edited, TEN))

    assert (found.reason, found.detail) == (Reason.WRONG_RESULT, only(edited).new_id)


def test_a_cut_patch_is_refused_by_its_result() -> None:
    """W7: cut between two hunks, no parser can tell."""
    long = b"".join(b"line %d\n" % n for n in range(50))
    patch = recorded(long, long.replace(b"line 3\n", b"3\n").replace(b"line 40\n", b"40\n"))
    cut = patch[: patch.index(b"@@ -38")]

    assert refusal(put(cut, long)).reason is Reason.WRONG_RESULT


@pytest.mark.parametrize("context", [0, 1, 3])
def test_in_the_recorded_file_stated_lines_are_proof(context: int) -> None:
    """Look-alikes and zero context do no harm where the file is known."""
    old = b"x\n" * 9
    new = b"x\n" * 4 + b"new\n" + b"x\n" * 5

    assert content(put(recorded(old, new, context=context), old)) == new


def test_a_new_file_edited_by_hand_is_taken_as_it_is() -> None:
    """A published queue holds one. No base could be wrong, and the counts of its hunk say that nothing is cut."""
    new = b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000..ce01362\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+hello\n"

    assert put(new, b"") == Placed(b"hello\n", How.RECORDED, (HunkPlace(hunk=1, line=1, offset=0),))
    assert put(new.replace(b"+hello", b"+Hello"), b"") == Placed(b"Hello\n", How.RECORDED, (HunkPlace(hunk=1, line=1, offset=0),))


# -- step 2: the file that the patch was made against ---------------------------------------------------------------


@pytest.mark.parametrize("patch", [plain(C012, C012_MINE), recorded(C012, C012_MINE)])
def test_of_three_look_alike_classes_the_right_one_is_edited(patch: bytes) -> None:
    """M2: `patch -F0`, `git apply` and `git am -3` edit C0 and say nothing."""
    now = _class("New") + C012

    found = put(patch, now, base=C012)

    assert content(found) == _class("New") + C012_MINE
    assert isinstance(found, Placed)
    assert (found.how, found.hunks) == (How.MERGED, (HunkPlace(hunk=1, line=36, offset=14),))


def test_without_a_base_look_alikes_are_shown_and_refused() -> None:
    """M2 again: the id says that this is another file, so the stated line proves nothing."""
    found = refusal(put(recorded(C012, C012_MINE), _class("New") + C012))

    assert (found.reason, found.lines) == (Reason.AMBIGUOUS, (8, 22, 36, 50))
    assert found.hunk is not None
    assert found.expected == found.hunk.old


def test_a_landed_patch_does_not_go_into_the_next_look_alike() -> None:
    """Upstream took the change, so that forward only the other class fits, and backward only this one."""
    patch, landed = (
        plain(_class("C0") + _class("C1"), _class("C0", mine=True) + _class("C1")),
        _class("C0", mine=True) + _class("C1"),
    )

    as_stated = refusal(put(patch, landed))
    moved = refusal(put(patch, b"# new\n" + landed))

    assert (as_stated.reason, as_stated.lines) == (Reason.LANDED, (8,))
    assert (moved.reason, moved.lines) == (Reason.AMBIGUOUS, (24, 9))


def test_a_third_equal_block_leaves_nobody_to_tell() -> None:
    block = b"- one\n- two\n- three\n- four\n- five\n"
    base = b"begin\n" + block * 2 + b"end\n"
    patch = recorded(base, base.replace(b"- three\n", b"- 3\n", 1))

    found = refusal(put(patch, b"begin\n" + block * 3 + b"end\n", base=base))

    assert (found.reason, found.lines) == (Reason.AMBIGUOUS, (4, 9))


def test_a_conflict_is_an_answer() -> None:
    """Not a reason to look elsewhere, or for less context."""
    now = b"top\n" + TEN.replace(b"line 5\n", b"LINE 5\n")

    found = refusal(put(recorded(TEN, FIVE), now, base=TEN, fuzz=3))

    assert (found.reason, found.lines) == (Reason.CONFLICT, (6,))
    assert (found.expected, found.found) == ((b"line 5\n",), (b"LINE 5\n",))


def test_hunks_that_landed_are_told_from_those_that_did_not() -> None:
    long = b"".join(b"line %d\n" % n for n in range(1, 41))
    both = long.replace(b"line 5\n", b"five\n").replace(b"line 30\n", b"thirty\n")
    now = b"new\n" + long.replace(b"line 5\n", b"five\n")

    found = put(recorded(long, both), now, base=long)

    assert content(found) == b"new\n" + both
    assert isinstance(found, Placed)
    assert found.hunks == (HunkPlace(hunk=1, line=3, offset=1, landed=Landed.WHOLE), HunkPlace(hunk=2, line=28, offset=1))


def test_a_hunk_of_which_a_part_landed_says_so() -> None:
    both = TEN.replace(b"line 4\n", b"four\n").replace(b"line 6\n", b"six\n")
    now = b"new\n" + TEN.replace(b"line 4\n", b"four\n")

    found = put(recorded(TEN, both), now, base=TEN)

    assert content(found) == b"new\n" + both
    assert isinstance(found, Placed)
    assert [hunk.landed for hunk in found.hunks] == [Landed.PARTLY]


def test_a_hunk_at_the_end_of_a_file_is_told_what_it_misses() -> None:
    """Expected and found lines would be the same: what differs is that the file goes on."""
    found = refusal(put(plain(TEN, TEN + b"more\n"), TEN + b"other\n"))

    assert (found.reason, found.lines, found.found) == (Reason.NO_PLACE, (8,), ())
    assert found.detail == "its lines stand here, but it says that the file begins or ends with them"


def test_a_base_carries_a_hunk_without_context() -> None:
    new = TEN.replace(b"line 5\n", b"line 5\nmore\n")

    found = put(recorded(TEN, new, context=0), b"top\n" + TEN, base=TEN)

    assert content(found) == b"top\n" + new


def test_a_base_that_the_patch_does_not_fit_is_none() -> None:
    found = put(plain(TEN, FIVE), b"top\n" + TEN, base=b"nothing of it\n")

    assert content(found) == b"top\n" + FIVE
    assert isinstance(found, Placed)
    assert found.how is How.SEARCHED


def test_no_fuzz_on_the_base() -> None:
    """What fuzz placed is always reported, so the base can't take some in silence."""
    base = TEN.replace(b"line 8\n", b"LINE 8\n")

    found = put(plain(TEN, FIVE), base + b"more\n", base=base, fuzz=1)

    assert isinstance(found, Placed)
    assert (found.how, [hunk.fuzz for hunk in found.hunks]) == (How.FUZZED, [1])


# -- step 3: nothing else is known ----------------------------------------------------------------------------------


def test_exact_context_at_one_other_place() -> None:
    """M12, W1: libgit2 does not search. The offset is reported."""
    found = put(plain(TEN, FIVE), b"new\n" * 9 + TEN)

    assert found == Placed(b"new\n" * 9 + FIVE, How.SEARCHED, (HunkPlace(hunk=1, line=11, offset=9),))


def test_a_plain_patch_stands_as_stated_only_with_all_its_hunks() -> None:
    """If one hunk has moved, the file is another one, and a stated line is no proof for the others, either."""
    block = b"a\nb\nc\nd\ne\nf\ng\n"
    old = block + b"1\n2\n3\n" + block + TEN
    new = old.replace(b"d\n", b"D\n", 1).replace(b"line 5\n", b"line five\n")

    as_made = put(plain(old, new), old)
    moved = refusal(put(plain(old, new), old.replace(b"\n3\n", b"\n3\nmore\n")))

    assert content(as_made) == new
    assert (moved.reason, moved.lines) == (Reason.AMBIGUOUS, (1, 12))


def test_the_order_of_hunks_tells_look_alikes_apart() -> None:
    block = b"a\nb\nc\nd\ne\nf\ng\n"
    old, new = block + b"between\n" + block, block.replace(b"d\n", b"D1\n") + b"between\n" + block.replace(b"d\n", b"D2\n")

    found = put(plain(old, new), b"top\n" + old)

    assert content(found) == b"top\n" + new


def test_hunks_do_not_change_their_order() -> None:
    old = b"".join(b"line %d\n" % n for n in range(40))
    patch = plain(old, old.replace(b"line 5\n", b"five\n").replace(b"line 30\n", b"thirty\n"))
    lines = old.splitlines(keepends=True)

    found = refusal(put(patch, b"".join(lines[20:] + lines[:20])))

    assert found.reason is Reason.NO_PLACE


def test_what_stands_nowhere_is_shown_beside_the_nearest_place() -> None:
    """W12: expected and found lines."""
    now = b"top\n" + TEN.replace(b"line 5\n", b"LINE 5\n")

    found = refusal(put(plain(TEN, FIVE), now))

    assert (found.reason, found.lines) == (Reason.NO_PLACE, (3,))
    assert found.expected[3:4] == (b"line 5\n",)
    assert found.found[3:4] == (b"LINE 5\n",)


def test_the_nearest_place_is_the_one_that_shares_most() -> None:
    now = b"line 2\nx\nx\n" + TEN[: TEN.index(b"line 5")] + b"LINE 5\n" + b"x\nx\nline 6\n"

    found = refusal(put(plain(TEN, FIVE), now))

    assert (found.reason, found.lines, found.found[:4]) == (
        Reason.NO_PLACE,
        (5,),
        (b"line 2\n", b"line 3\n", b"line 4\n", b"LINE 5\n"),
    )


@pytest.mark.parametrize("context", [0, 1, 3])
def test_lines_at_the_end_belong_to_the_end(context: int) -> None:
    """A hunk without context behind it says that the file ends there; a look-alike before it is not meant."""
    old = b"a\nb\nc\nmiddle\na\nb\nc\n"

    found = put(plain(old, old + b"new\n", context=context), b"top\n" + old)

    if context:
        assert content(found) == b"top\n" + old + b"new\n"
    else:
        assert refusal(found).reason is Reason.NO_CONTEXT


def test_lines_at_the_top_belong_to_the_top() -> None:
    old = b"a\nb\nc\nmiddle\na\nb\nc\n"
    patch = plain(old, b"new\n" + old)

    assert content(put(patch, old + b"more\n")) == b"new\n" + old + b"more\n"
    assert refusal(put(patch, b"licence\n" + old)).reason is Reason.NO_PLACE


def test_lines_put_at_an_edge_are_not_put_there_twice() -> None:
    """Their context stands there still; plain search would take it."""
    old = b"a\nb\nc\n"

    assert refusal(put(plain(old, b"new\n" + old), b"new\n" + old)).reason is Reason.LANDED
    assert refusal(put(plain(old, old + b"new\n"), old + b"new\n")).reason is Reason.LANDED


def test_zero_context_is_not_the_end_of_the_file() -> None:
    patch = plain(TEN, TEN.replace(b"line 5\n", b"five\n"), context=0)

    assert content(put(patch, b"x\nx\n" + TEN)) == b"x\nx\n" + TEN.replace(b"line 5\n", b"five\n")
    assert refusal(put(patch, b"line 5\nx\nx\nx\nx\nx\nline 5\n")).lines == (1, 7)


@pytest.mark.parametrize("now", [b"", b"x\n", TEN, b"top\n" + TEN])
def test_an_insertion_without_context_has_no_place(now: bytes) -> None:
    patch = plain(TEN, TEN.replace(b"line 5\n", b"line 5\nmore\n"), context=0)

    assert refusal(put(patch, now)).reason is Reason.NO_CONTEXT


def test_no_newline_at_the_end_is_part_of_the_line() -> None:
    patch = plain(b"a\nb", b"a\nB")

    assert content(put(patch, b"a\nb")) == b"a\nB"
    assert refusal(put(patch, b"a\nb\n")).reason is Reason.NO_PLACE
    assert refusal(put(patch, b"a\nb\nc")).reason is Reason.NO_PLACE


def test_an_insertion_at_the_top_is_not_for_an_emptied_file() -> None:
    patch = recorded(TEN, b"new\n" + TEN, context=0)

    assert refusal(put(patch, b"")).reason is Reason.NO_CONTEXT


def test_a_last_line_does_not_run_together_with_the_next_one() -> None:
    patch = plain(b"a\nb\n", b"a\nB", context=0)

    found = refusal(put(patch, b"a\nb\nc\n"))

    assert (found.reason, found.detail) == (Reason.NO_PLACE, "a line without a newline would stand inside the file")


def test_a_line_without_newline_never_stands_inside() -> None:
    """Else it would run together with the next one."""
    patch = plain(b"a\nb\nc\n", b"a\nb\nC").replace(b"-c\n", b"-c\n")

    found = place(only(patch), b"a\nb\nc\nd\n", base=b"a\nb\nc\n")

    assert refusal(found).reason in (Reason.NO_PLACE, Reason.CONFLICT)


# -- step 4: fuzz ---------------------------------------------------------------------------------------------------

OPTIONS = """\
p.add_argument(
    "--alpha",
    type=int,
)
p.add_argument(
    "--beta",
    type=int,
)
p.add_argument(
    "--gamma",
    type=int,
)
"""


def test_a_keyword_does_not_go_into_the_wrong_call() -> None:
    """M1, W2: `patch -F2` puts it into --gamma, `git apply -C1` into --alpha."""
    old = OPTIONS.encode()
    patch = plain(old, old.replace(b'"--beta",\n    type=int,\n', b'"--beta",\n    type=int,\n    choices=[1, 2],\n'))
    now = old.replace(b'p.add_argument(\n    "--beta",\n    type=int,\n)\n', b"")

    assert refusal(put(patch, now)).reason is Reason.NO_PLACE
    assert refusal(put(patch, now, base=old, fuzz=3)).reason is Reason.CONFLICT


def test_fuzz_is_taken_on_request_only_and_reported() -> None:
    """W2, W70."""
    now = TEN.replace(b"line 8\n", b"LINE 8\n")

    assert refusal(put(plain(TEN, FIVE), now)).reason is Reason.NO_PLACE
    assert put(plain(TEN, FIVE), now, fuzz=2) == Placed(
        now.replace(b"line 5\n", b"line five\n"), How.FUZZED, (HunkPlace(hunk=1, line=2, offset=0, fuzz=1),)
    )


def test_no_hunk_begins_above_the_file() -> None:
    """Fuzz lets a context line differ, but it has to be there."""
    now = TEN[TEN.index(b"line 3") :]

    assert refusal(put(plain(TEN, FIVE), now, fuzz=1)).reason is Reason.NO_PLACE


@pytest.mark.parametrize("fuzz", [1, 2, 3])
def test_fuzz_is_never_on_removed_lines(fuzz: int) -> None:
    now = TEN.replace(b"line 5\n", b"LINE 5\n")

    assert refusal(put(plain(TEN, FIVE), now, fuzz=fuzz)).reason is Reason.NO_PLACE


def test_fuzz_does_not_help_where_the_patch_has_landed() -> None:
    now = FIVE.replace(b"line 10\n", b"line ten\n") + b"---\nline 2\nline 3\nline 4\nline 5\nLINE 6\n"

    assert refusal(put(plain(TEN, FIVE), now, fuzz=3)).reason is Reason.LANDED


def test_fuzz_needs_some_line_to_hold_on_to() -> None:
    patch = plain(TEN, TEN.replace(b"line 5\n", b"line 5\nmore\n"))

    assert refusal(put(patch, b"x\n" * 9, fuzz=3)).reason is Reason.NO_CONTEXT


# -- landed, and back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patch", [plain(TEN, FIVE), recorded(TEN, FIVE)])
@pytest.mark.parametrize("base", [None, TEN])
@pytest.mark.parametrize("now", [FIVE, b"top\n" + FIVE, FIVE + b"end\n"])
def test_landed(patch: bytes, base: bytes | None, now: bytes) -> None:
    """M9, W32: what the patch does is there, and so it can be taken back exactly."""
    assert refusal(put(patch, now, base=base)).reason is Reason.LANDED


def test_half_of_a_patch_is_not_landed() -> None:
    """Law 2."""
    long = b"".join(b"line %d\n" % n for n in range(40))
    patch = plain(long, long.replace(b"line 5\n", b"five\n").replace(b"line 30\n", b"thirty\n"))

    assert refusal(put(patch, long.replace(b"line 5\n", b"five\n"))).reason is Reason.NO_PLACE


@pytest.mark.parametrize("patch", [plain(TEN, FIVE), recorded(TEN, FIVE), plain(TEN, FIVE, context=0)])
def test_a_patch_taken_back_gives_the_old_file(patch: bytes) -> None:
    back = only(patch).reversed()

    assert content(place(back, FIVE)) == TEN
    assert refusal(place(back, TEN)).reason is Reason.LANDED


# -- line endings ---------------------------------------------------------------------------------------------------


def test_a_crlf_patch_fits_an_lf_file_and_a_crlf_one() -> None:
    """W14: headers are normalised, contents are not."""
    patch = plain(TEN, FIVE).replace(b"\n", b"\r\n")
    crlf = TEN.replace(b"\n", b"\r\n")

    assert content(put(patch, TEN)) == FIVE
    assert content(put(patch, crlf)) == FIVE.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("kept", [False, True])
def test_of_a_new_crlf_file_the_id_says_whose_the_crs_are(*, kept: bool) -> None:
    made = b"a\r\nb\r\n" if kept else b"a\nb\n"
    patch = b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000..%s\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    patch = (patch % (recorded(b"", made).split(b"..")[1][:40])).replace(b"\n", b"\r\n")

    assert content(put(patch, b"")) == made


def test_if_only_line_endings_differ_that_is_said() -> None:
    """W14."""
    found = refusal(put(plain(TEN, FIVE), TEN.replace(b"\n", b"\r\n")))

    assert (found.reason, found.detail) == (Reason.NO_PLACE, "only the line endings differ: CR LF here, LF there")


# -- hunks that no diff writes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [None, b"a\nb\nc\n"])
def test_hunks_that_overlap_are_refused(base: bytes | None) -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n"

    found = put(patch, b"a\nb\nc\n", base=base)

    assert isinstance(found, Refused)


def test_hunks_that_touch_are_placed_together() -> None:
    patch = (
        b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n+two\n line 3\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+five\n line 6\n"
    )

    found = put(patch, b"top\n" + TEN)

    assert content(found) == b"top\n" + TEN.replace(b"line 2\n", b"two\n").replace(b"line 5\n", b"five\n")


def test_hunks_out_of_order_are_refused() -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -9,2 +9,2 @@\n line 9\n-line 10\n+ten\n@@ -1,2 +1,2 @@\n-line 1\n+one\n line 2\n"

    assert refusal(put(patch, TEN)).reason is Reason.NO_PLACE


def test_a_hunk_that_changes_nothing_still_has_to_stand_there() -> None:
    patch = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n %s\n@@ -5 +5 @@\n-line 5\n+line five\n"

    assert content(put(patch % b"line 1", TEN)) == FIVE
    assert refusal(put(patch % b"line one", TEN)).reason is Reason.NO_PLACE


def test_wrong_line_numbers_do_no_harm_where_the_context_is_unique() -> None:
    patch = recorded(TEN, FIVE).replace(b"@@ -2,7 +2,7 @@", b"@@ -200,7 +2,7 @@")

    found = put(patch, TEN)

    assert content(found) == FIVE
    assert isinstance(found, Placed)
    assert found.hunks[0].offset == -198
