"""Three-way merge of lines: the edits of a patch, made for `base`, carried to `ours`.

The edits are known exactly (they are the hunks), so only the way from base to ours is searched for, with a patience diff:
lines that are unique on both sides anchor it, so that of three look-alike blocks the right one is found.
Regions where both sides changed touching lines are a conflict, unless both made the same of it: git's rule (xdl_merge). `marked` writes
such regions as git does in its diff3 style, for people and tools to settle.

A diff may say one insertion in several ways: between two calls, `)` and `f(` may be its last lines or its first. So before the sides
are compared, what ours inserted or removed is slid to where the patch does it, if it is the same there or has it in it: otherwise a
change that upstream took over would be made twice. What can be said as standing above an edit and, as well, as standing below it (a
third block like the two that were there) leaves open where the edit belongs: that is a conflict, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patiencediff import PatienceSequenceMatcher

from pq.core.lines import Lines
from pq.core.patch import Edit

_WORD = re.compile(rb"\w")
_OURS, _BASE, _MIDDLE, _THEIRS = b"<<<<<<< ", b"||||||| ", b"=======", b">>>>>>> "


@dataclass(frozen=True, slots=True)
class Landing:
    """Where an edit of the patch came to stand: 0-based line in ours; `landed` if ours had it already."""

    edit: Edit
    line: int
    landed: bool


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged lines, and where each edit went."""

    lines: Lines
    landings: tuple[Landing, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Both sides changed these lines, or (`other` is set) they are at either of two places.

    `line` and `other` are 0-based in ours; `hunk` is the number of the patch's hunk.
    """

    hunk: int
    line: int
    base: Lines
    ours: Lines
    theirs: Lines
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """What stands behind the markers: whose lines these are."""

    ours: bytes
    base: bytes
    theirs: bytes


def edited(base: Lines, edits: Sequence[Edit]) -> Lines:
    """What the edits make of the lines that they were made for."""
    return _applied(base, _Region(0, len(base), 0, len(base), tuple(edits)))


def merge(base: Lines, ours: Lines, edits: Sequence[Edit]) -> Merged | tuple[Conflict, ...]:
    """Carry `edits` (in order, disjoint, for `base`) to `ours`. All conflicts are returned, or the merged lines."""
    if edited(base, edits) == ours:
        return Merged(ours, tuple(_landed(edits)))
    out: list[bytes] = []
    landings: list[Landing] = []
    conflicts: list[Conflict] = []
    here = 0
    for region, merged in _merged(base, ours, edits):
        out += ours[here : region.ours_start]
        if isinstance(merged, Conflict):
            conflicts.append(merged)
        else:
            out += merged
        landed = ours[region.ours_start : region.ours_stop] == merged
        here = region.ours_stop
        landings += [Landing(edit, region.ours_start + edit.start - region.start, landed) for edit in region.edits]
    out += ours[here:]
    return tuple(conflicts) or Merged(tuple(out), tuple(landings))


def settled(base: Lines, ours: Lines, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edits that are in no conflict."""
    return tuple(
        edit for region, merged in _merged(base, ours, edits) if not isinstance(merged, Conflict) for edit in region.edits
    )


def marked(base: Lines, ours: Lines, edits: Sequence[Edit], labels: Labels, *, doubtful: frozenset[int] = frozenset()) -> Lines:
    """The merged lines with every conflict between markers: ours, base, theirs; and so all edits of the `doubtful` hunks."""
    if edited(base, edits) == ours and not doubtful:
        return ours
    out: list[bytes] = []
    here = 0
    for region, merged in _merged(base, ours, edits):
        out += ours[here : region.ours_start]
        if not isinstance(merged, Conflict) and any(edit.hunk in doubtful for edit in region.edits):
            mine, was = ours[region.ours_start : region.ours_stop], base[region.start : region.stop]
            merged = Conflict(region.edits[0].hunk, region.ours_start, was, mine, merged)
        out += _between_markers(merged, labels) if isinstance(merged, Conflict) else merged
        here = region.ours_stop
    return (*out, *ours[here:])


@dataclass(frozen=True, slots=True)
class Sides:
    """What stands between the markers of one conflict."""

    ours: Lines
    base: Lines
    theirs: Lines


def pieces(lines: Lines, labels: Labels) -> Iterator[Lines | Sides]:
    """A file with conflicts as what `marked` put together: lines, and between them conflicts. A marker without its others is a line."""
    wanted = (_OURS + labels.ours, _BASE + labels.base, _MIDDLE, _THEIRS + labels.theirs)
    here = at = 0
    while at < len(lines):
        places = _markers_from(lines, at, wanted)
        if places is None:
            at += 1
            continue
        if lines[here:at]:
            yield lines[here:at]
        first, second, third, last = places
        yield Sides(lines[first + 1 : second], lines[second + 1 : third], lines[third + 1 : last])
        here = at = last + 1
    if lines[here:]:
        yield lines[here:]


def _markers_from(lines: Lines, at: int, wanted: Sequence[bytes]) -> tuple[int, int, int, int] | None:
    """Where the four markers of a conflict that begins at a line stand."""
    found: list[int] = []
    for marker in wanted:
        start = found[-1] + 1 if found else at
        stop = len(lines) if found else at + 1
        place = next((number for number in range(start, stop) if lines[number].rstrip(b"\r\n") == marker), None)
        if place is None:
            return None
        found.append(place)
    first, second, third, last = found
    return first, second, third, last


def markers(lines: Lines, labels: Labels) -> int:
    """How many of the lines are markers."""
    wanted = {_OURS + labels.ours, _BASE + labels.base, _THEIRS + labels.theirs}
    return sum(line.rstrip(b"\r\n") in wanted for line in lines)


def _merged(base: Lines, ours: Lines, edits: Sequence[Edit]) -> Iterator[tuple[_Region, Lines | Conflict]]:
    """The regions that one side changed or both, each with what becomes of it."""
    changes = tuple(_slid(_changes(base, ours), base, ours, edits))
    loose = tuple(_loose(changes, base, ours))
    for region in _regions(changes, edits):
        was = base[region.start : region.stop]
        mine = ours[region.ours_start : region.ours_stop]
        theirs = _applied(base, region)
        other = next((change.elsewhere(region) for change in loose if change.passes(region)), None) if mine == was else None
        if region.edits and (mine not in (was, theirs) or other is not None):
            yield region, Conflict(region.edits[0].hunk, region.ours_start, was, mine, theirs, other)
        else:
            yield region, theirs if region.edits else mine


def _between_markers(conflict: Conflict, labels: Labels) -> Iterator[bytes]:
    ending = b"\r\n" if any(line.endswith(b"\r\n") for line in conflict.ours + conflict.theirs) else b"\n"
    sides = ((_OURS + labels.ours, conflict.ours), (_BASE + labels.base, conflict.base), (_MIDDLE, conflict.theirs))
    for marker, lines in sides:
        yield marker + ending
        yield from (line if line.endswith(b"\n") else line + ending for line in lines)
    yield _THEIRS + labels.theirs + ending


@dataclass(frozen=True, slots=True)
class _Change:
    """Lines `start` to `stop` of base are lines `ours_start` to `ours_stop` of ours."""

    start: int
    stop: int
    ours_start: int
    ours_stop: int


@dataclass(frozen=True, slots=True)
class _Loose:
    """A change that can be said in several ways: it ends at line `first` of base said as high as can be, and begins at `last` said as low."""

    change: _Change
    first: int
    last: int

    def passes(self, region: _Region) -> bool:
        """Whether it can be said to stand above the region, and below it."""
        return self.first < region.start and region.stop < self.last

    def elsewhere(self, region: _Region) -> int:
        """Where the region is in ours if the change is said to stand on its other side."""
        grown = (self.change.ours_stop - self.change.ours_start) - (self.change.stop - self.change.start)
        return region.ours_start + (grown if self.change.start > region.start else -grown)


@dataclass(frozen=True, slots=True)
class _Region(_Change):
    """A run of base that the edits, or ours, or both changed."""

    edits: tuple[Edit, ...]


def _changes(base: Lines, ours: Lines) -> list[_Change]:
    """What ours made of base."""
    found = []
    base_at = ours_at = 0
    for base_start, ours_start, length in PatienceSequenceMatcher(None, base, ours).get_matching_blocks():
        if base_start > base_at or ours_start > ours_at:
            found.append(_Change(base_at, base_start, ours_at, ours_start))
        base_at, ours_at = base_start + length, ours_start + length
    return found


def _slid(changes: Sequence[_Change], base: Lines, ours: Lines, edits: Sequence[Edit]) -> Iterator[_Change]:
    """The changes of ours; one that equals an edit or, as an insertion, has it in it, is said so that it begins where the edit does."""
    above = 0
    for number, change in enumerate(changes):
        below = changes[number + 1].start if number + 1 < len(changes) else len(base)
        near = [edit for edit in edits if above <= edit.start and edit.start + change.stop - change.start <= below]
        slid = (_slid_to(edit, change, base, ours) for edit in near if edit.start != change.start)
        change = next((found for found in slid if found is not None), change)
        above = change.stop
        yield change


def _slid_to(edit: Edit, change: _Change, base: Lines, ours: Lines) -> _Change | None:
    """The same change beginning where the edit begins, if it can be said so and the two are about the same lines."""
    removed, inserted = base[change.start : change.stop], ours[change.ours_start : change.ours_stop]
    if (removed and inserted) or bool(removed) != (edit.stop > edit.start) or bool(inserted) != bool(edit.lines):
        return None
    by, text = edit.start - change.start, removed or inserted
    between = base[edit.start : change.start] if by < 0 else base[change.stop : change.stop + by]
    run = between + text if by < 0 else text + between
    text, rest = (run[: len(text)], run[len(text) :]) if by < 0 else (run[by:], run[:by])
    about = len(removed) == edit.stop - edit.start if removed else _has(text, edit.lines)
    if rest != between or not about:
        return None
    return _Change(change.start + by, change.stop + by, change.ours_start + by, change.ours_stop + by)


def _loose(changes: Sequence[_Change], base: Lines, ours: Lines) -> Iterator[_Loose]:
    """The changes that can be said in several ways."""
    above = 0
    for number, change in enumerate(changes):
        below = changes[number + 1].start if number + 1 < len(changes) else len(base)
        up = down = 0
        while change.start - up > above and _same(
            base, change.start - up, change.stop - up, ours, change.ours_start - up, change.ours_stop - up
        ):
            up += 1
        while change.stop + down < below and _same(
            base, change.start + down + 1, change.stop + down + 1, ours, change.ours_start + down + 1, change.ours_stop + down + 1
        ):
            down += 1
        above = change.stop
        if up or down:
            yield _Loose(change, change.stop - up, change.start + down)


def _same(base: Lines, start: int, stop: int, ours: Lines, ours_start: int, ours_stop: int) -> bool:
    """Whether a change says the same one line higher."""
    return base[start - 1] == base[stop - 1] and ours[ours_start - 1] == ours[ours_stop - 1]


def _has(lines: Lines, wanted: Lines) -> bool:
    """Whether the wanted lines are these lines, or stand among them and say something."""
    if lines == wanted or not _WORD.search(b"".join(wanted)):
        return lines == wanted
    return any(lines[at : at + len(wanted)] == wanted for at in range(len(lines) - len(wanted) + 1))


def _regions(changes: Sequence[_Change], edits: Sequence[Edit]) -> Iterator[_Region]:
    """The changes and the edits in order of base, those that touch put together."""
    offset = 0
    group: list[_Change | Edit] = []
    stop = -1
    pieces: list[_Change | Edit] = [*changes, *edits]
    for piece in sorted(pieces, key=lambda piece: (piece.start, piece.stop)):
        if group and piece.start > stop:
            region = _region(group, offset)
            offset = region.ours_stop - region.stop
            yield region
            group = []
        stop = max(stop, piece.stop) if group else piece.stop
        group.append(piece)
    if group:
        yield _region(group, offset)


def _region(group: Sequence[_Change | Edit], offset: int) -> _Region:
    start, stop = group[0].start, max(piece.stop for piece in group)
    changes = [piece for piece in group if isinstance(piece, _Change)]
    ours_start, ours_stop = start + offset, stop + offset
    if changes:
        ours_start = changes[0].ours_start - (changes[0].start - start)
        ours_stop = changes[-1].ours_stop + (stop - changes[-1].stop)
    return _Region(start, stop, ours_start, ours_stop, tuple(piece for piece in group if isinstance(piece, Edit)))


def _landed(edits: Sequence[Edit]) -> Iterator[Landing]:
    """The landings of edits where ours is base with exactly these."""
    grown = 0
    for edit in edits:
        yield Landing(edit, edit.start + grown, landed=True)
        grown += len(edit.lines) - (edit.stop - edit.start)


def _applied(base: Lines, region: _Region) -> Lines:
    """The region of base with its edits made."""
    out: list[bytes] = []
    here = region.start
    for edit in region.edits:
        out += base[here : edit.start]
        out += edit.lines
        here = edit.stop
    return (*out, *base[here : region.stop])
