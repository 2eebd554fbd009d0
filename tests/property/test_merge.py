"""Merging, against its laws and against `git merge-file`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pq.core import patch_reader
from pq.core.lines import split_lines
from pq.core.merge import Labels, Merged, _Change, _changes, marked, markers, merge
from pq.core.patch import Edit, FilePatch
from tests.core.diffs import only, plain
from tests.property.texts import edited, folders, git_diff, look_alikes, near, numbered, seldom, unique


def _edits(old: bytes, new: bytes) -> list[Edit]:
    return [] if old == new else _of(only(plain(old, new, context=0)))


def _of(file: FilePatch) -> list[Edit]:
    return [edit for hunk in file.hunks for edit in hunk.edits(hunk.position)]


@given(near(look_alikes()))
def test_edits_of_an_unchanged_file_are_made(pair: tuple[bytes, bytes]) -> None:
    """merge(base, base, edits) is base with the edits."""
    old, new = pair

    found = merge(split_lines(old), split_lines(old), _edits(old, new))

    assert isinstance(found, Merged)
    assert b"".join(found.lines) == new


@given(near(look_alikes()))
def test_edits_that_ours_has_made_itself_have_landed(pair: tuple[bytes, bytes]) -> None:
    """merge(base, ours, edits of ours) is ours."""
    old, new = pair

    found = merge(split_lines(old), split_lines(new), _edits(old, new))

    assert isinstance(found, Merged)
    assert b"".join(found.lines) == new
    assert all(landing.landed for landing in found.landings)


LABELS = Labels(b"mine", b"base", b"yours")


@given(near(look_alikes()), st.data())
def test_markers_stand_where_the_conflicts_are(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    """Without conflicts marked is merge. With some, each is said once, and what stands on our side is ours, whole."""
    old, new = pair
    base, ours, edits = split_lines(old), split_lines(edited(data.draw, old)), _edits(old, new)
    found, said = merge(base, ours, edits), marked(base, ours, edits, LABELS)

    assert markers(said, LABELS) == (0 if isinstance(found, Merged) else 3 * len(found))
    if isinstance(found, Merged):
        assert said == found.lines
        return
    sides: dict[bytes, list[tuple[bytes, ...]]] = {b"<": [], b"|": [], b"=": []}
    side, text = b"", list[bytes]()
    for line in said:
        if line in (b"<<<<<<< mine\n", b"||||||| base\n", b"=======\n", b">>>>>>> yours\n"):
            if side:
                sides[side].append(tuple(text))
            side, text = (b"" if line[:1] == b">" else line[:1]), []
        elif side:
            text.append(line)
    wanted = [(conflict.ours, conflict.base, conflict.theirs) for conflict in found]
    ended = [tuple(tuple(line.removesuffix(b"\n") + b"\n" for line in lines) for lines in each) for each in wanted]
    assert list(zip(sides[b"<"], sides[b"|"], sides[b"="], strict=True)) == ended


@given(near(look_alikes()), st.data())
def test_no_edits_make_no_difference(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    old, _ = pair
    ours = edited(data.draw, old)

    assert merge(split_lines(old), split_lines(ours), []) == Merged(split_lines(ours), ())


def _merge_file(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    with folders([ours], [base], [theirs]) as (root, _):
        words = ["git", "merge-file", "-p", "-q", "a/000", "b/000", "c/000"]
        done = subprocess.run(words, cwd=root, capture_output=True, check=False)
    assert done.returncode < 128, done.stderr
    return None if done.returncode else done.stdout


@given(unique())
def test_where_a_change_can_be_said_in_one_way_git_agrees(drawn: tuple[tuple[int, ...], ...]) -> None:
    """Clean where `git merge-file` is clean, with the same result, and a conflict where it has one."""
    base, ours, theirs = (numbered(lines) for lines in drawn)

    found = merge(split_lines(base), split_lines(ours), _edits(base, theirs))

    assert (b"".join(found.lines) if isinstance(found, Merged) else None) == _merge_file(base, ours, theirs)


@given(near(look_alikes()), st.data())
def test_a_merged_file_grows_by_the_edits_that_had_not_landed(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    """Law 2: no edit is lost, none is made twice."""
    old, new = pair
    ours = split_lines(edited(data.draw, old))
    edits = _edits(old, new)

    found = merge(split_lines(old), ours, edits)

    if isinstance(found, Merged):
        assert sorted((landing.edit for landing in found.landings), key=lambda edit: edit.start) == edits
        grown = sum(
            len(landing.edit.lines) - (landing.edit.stop - landing.edit.start) for landing in found.landings if not landing.landed
        )
        assert len(found.lines) - len(ours) == grown


@given(near(look_alikes()), st.data())
def test_merging_is_the_same_from_the_other_end(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    """Of two ways to say what ours changed none is preferred in silence: files turned upside down merge to the result turned so."""
    old, new = pair
    base, ours = split_lines(old), split_lines(edited(data.draw, old))
    edits = _edits(old, new)
    turned = [Edit(len(base) - edit.stop, len(base) - edit.start, edit.lines[::-1], edit.hunk) for edit in reversed(edits)]

    found, mirrored = merge(base, ours, edits), merge(base[::-1], ours[::-1], turned)

    if isinstance(found, Merged) and isinstance(mirrored, Merged):
        assert found.lines == mirrored.lines[::-1]


@st.composite
def _triples(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    base = draw(look_alikes())
    return base, edited(draw, base), edited(draw, base)


@seldom(20)
@given(st.lists(_triples(), min_size=30, max_size=60))
def test_where_the_diffs_say_the_same_git_agrees(triples: list[tuple[bytes, bytes, bytes]]) -> None:
    """On look-alike lines, where git's diff of ours is the one that pq makes: what pq merges, git merges to the same."""
    bases, ours, theirs = (list(side) for side in zip(*triples, strict=True))
    said_ours, said_theirs = _said(bases, ours), _said(bases, theirs)

    for number, (base, mine, other) in enumerate(triples):
        changes = [_Change(edit.start, edit.stop, 0, len(edit.lines)) for edit in said_ours.get(number, [])]
        made = [
            _Change(change.start, change.stop, 0, change.ours_stop - change.ours_start)
            for change in _changes(split_lines(base), split_lines(mine))
        ]
        if made != changes:
            continue
        found = merge(split_lines(base), split_lines(mine), said_theirs.get(number, []))
        if isinstance(found, Merged):
            assert _merge_file(base, mine, other) == b"".join(found.lines)


def _said(olds: Sequence[bytes], news: Sequence[bytes]) -> dict[int, list[Edit]]:
    """git's edits, by number of the file. merge-file knows no indent heuristic."""
    with folders(olds, news) as (root, _):
        patch = patch_reader.read(git_diff(root, "--text", "-U0", "--no-indent-heuristic"), file="x.patch", strip=2)
    return {int(file.path): _of(file) for file in patch.files}
