"""Law 8: a hunk lands where it is proven to belong, or not at all."""

from __future__ import annotations

import itertools

from hypothesis import assume, given
from hypothesis import strategies as st

from pq.core import patch_reader
from pq.core.lines import Lines, split_lines
from pq.core.patch import Action, FilePatch, Hunk
from pq.core.place import place
from pq.core.placement import HunkPlace, Placed, Reason, Refused
from tests.core.diffs import content, only, plain, recorded
from tests.property.texts import edited, folders, git_diff, look_alikes, near, odd, seldom


@given(near(odd()), st.integers(0, 3))
def test_a_recorded_patch_makes_new_of_old_and_old_of_new(pair: tuple[bytes, bytes], context: int) -> None:
    old, new = pair
    assume(old != new)
    file = only(recorded(old, new, context=context))

    assert content(place(file, old)) == new
    assert content(place(file.reversed(), new)) == old
    assert place(file, new) == Refused(Reason.LANDED)


@given(near(odd()), st.integers(1, 3))
def test_a_plain_patch_makes_new_of_old_and_old_of_new(pair: tuple[bytes, bytes], context: int) -> None:
    old, new = pair
    assume(old != new)
    file = only(plain(old, new, context=context))

    assert content(place(file, old)) == new
    assert content(place(file.reversed(), new)) == old


@given(near(odd()), st.integers(0, 3))
def test_a_base_makes_new_of_old(pair: tuple[bytes, bytes], context: int) -> None:
    """Whatever context there is: the base says where the hunks stand."""
    old, new = pair
    assume(old != new)
    file = only(plain(old, new, context=context))

    assert content(place(file, old, base=old)) == new


@seldom(25)
@given(st.lists(near(odd()), min_size=20, max_size=40), st.sampled_from([0, 1, 3]))
def test_what_git_writes_makes_new_of_old_and_old_of_new(pairs: list[tuple[bytes, bytes]], context: int) -> None:
    pairs = [(old, new) for old, new in pairs if old != new]
    with folders([old for old, _ in pairs], [new for _, new in pairs]) as (root, _):
        patch = patch_reader.read(git_diff(root, "--full-index", "--text", f"-U{context}"), file="x.patch", strip=2)

    assert [file.path for file in patch.files] == [f"{number:03}" for number in range(len(pairs))]
    for file, (old, new) in zip(patch.files, pairs, strict=True):
        assert content(place(file, old)) == new
        assert content(place(file.reversed(), new)) == old


@given(near(look_alikes()), st.data(), st.integers(0, 3), st.booleans(), st.integers(0, 2))
def test_what_is_placed_by_its_text_stands_at_its_only_place(
    pair: tuple[bytes, bytes], data: st.DataObject, context: int, ids: bool, fuzz: int
) -> None:
    """A slow witness tries all places for all hunks."""
    old, new = pair
    assume(old != new and old)
    now = edited(data.draw, old)
    assume(now not in {old, new})
    file = only((recorded if ids else plain)(old, new, context=context))
    assume(file.action is Action.MODIFY)
    lines = split_lines(now)

    found = place(file, now, fuzz=fuzz)

    assert place(file, now, fuzz=fuzz) == found
    if isinstance(found, Placed):
        assert found.content == _made(lines, file, found.hunks)
        starts = tuple(hunk.line - 1 for hunk in found.hunks)
        if not any(hunk.fuzz for hunk in found.hunks):
            ways = _ways(lines, file)
            assert starts in ways
            assert len(ways) == 1 or (not ids and starts == tuple(hunk.position for hunk in file.hunks))
    elif found.reason is Reason.LANDED:
        assert _ways(lines, file.reversed())
    elif found.reason is Reason.AMBIGUOUS:
        assert len(_ways(lines, file)) + len(_ways(lines, file.reversed())) > 1 or fuzz
    elif found.reason is Reason.NO_PLACE and not fuzz and not found.detail:
        assert not _ways(lines, file)


def _ways(lines: Lines, file: FilePatch) -> list[tuple[int, ...]]:
    """All ways to place the hunks exactly, in their order."""
    places = [[start for start in range(len(lines) + 1) if _fits(lines, hunk, start)] for hunk in file.hunks]
    lengths = [len(hunk.old) for hunk in file.hunks]
    ways = itertools.product(*places)
    return [way for way in ways if all(a + n <= b for a, n, b in zip(way, lengths, way[1:], strict=False))]


def _fits(lines: Lines, hunk: Hunk, start: int) -> bool:
    if not hunk.old or lines[start : start + len(hunk.old)] != hunk.old:
        return False
    marks = [mark for mark, _ in hunk.lines]
    at_top = marks[0] != b" " and marks[-1] == b" " and hunk.old_start <= 1
    at_end = marks[0] == b" " and marks[-1] != b" "
    return not (at_top and start) and not (at_end and start + len(hunk.old) != len(lines))


def _made(lines: Lines, file: FilePatch, places: tuple[HunkPlace, ...]) -> bytes:
    """The file by hand: at each place, added lines go in and removed ones, which have to be there, go out."""
    out: list[bytes] = []
    here = 0
    for hunk, placed in zip(file.hunks, places, strict=True):
        out += lines[here : placed.line - 1]
        here = placed.line - 1
        for mark, text in hunk.lines:
            if mark == b"+":
                out.append(text)
                continue
            there = lines[here : here + 1]
            assert mark == b" " or there == (text,), "fuzz is never on removed lines"
            out += there if mark == b" " else ()
            here += 1
    return b"".join([*out, *lines[here:]])


@given(near(look_alikes()), st.data(), st.booleans())
def test_carrying_does_not_depend_on_ids_or_context(pair: tuple[bytes, bytes], data: st.DataObject, ids: bool) -> None:
    """With the base all is said."""
    old, new = pair
    now = edited(data.draw, old)
    assume(old not in {new, now} and now != new)
    files = [only((recorded if ids else plain)(old, new, context=context)) for context in (0, 3)]
    assume(all(file.action is Action.MODIFY for file in files))

    found = [place(file, now, base=old) for file in files]

    assert [getattr(one, "content", None) for one in found] == [
        getattr(place(file, now, base=old), "content", None) for file in reversed(files)
    ]
