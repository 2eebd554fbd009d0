"""Placement: where the hunks of a file patch belong, by proof (design, section 7).

In this order, for one file:

1. the file is the one that the patch names by its `index` id: the hunks stand where they say, the result has the recorded id;
2. the file the patch was made against is known: a three-way merge carries the hunks over, and a conflict is the answer, too;
3. nothing else is known: every hunk fits exactly at its stated line, or at exactly one other place behind the hunk before;
4. with `fuzz`, up to that many context lines at either end of a hunk may differ, never a removed line.

If nothing fits but the reverse of the patch does exactly, it has landed already.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from pq.core.lines import Lines, is_blob, split_lines
from pq.core.merge import Conflict, Merged, merge
from pq.core.patch import FilePatch, Hunk


class How(enum.StrEnum):
    """By which proof a hunk stands where it stands."""

    RECORDED = "recorded"
    MERGED = "merged"
    SEARCHED = "searched"
    FUZZED = "fuzzed"


@dataclass(frozen=True, slots=True)
class HunkPlace:
    """Where one hunk stands: `line` counts from 1 in the file before, `offset` from the stated line; `landed`: it was there."""

    hunk: int
    line: int
    offset: int
    fuzz: int = 0
    landed: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """The file afterwards."""

    content: bytes
    how: How
    hunks: tuple[HunkPlace, ...]


class Reason(enum.StrEnum):
    """Why a file patch is refused."""

    CONFLICT = "conflict"
    NO_PLACE = "no place"
    AMBIGUOUS = "ambiguous"
    NO_CONTEXT = "no context"
    WRONG_RESULT = "wrong result"
    LANDED = "landed"
    EXISTS = "exists"
    MISSING = "missing"
    DIFFERS = "differs"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Refused:
    """The patch does not belong here. Lines count from 1; `lines` are the places in question, `expected`/`found` the texts."""

    reason: Reason
    hunk: Hunk | None = None
    lines: tuple[int, ...] = ()
    expected: Lines = ()
    found: Lines = ()
    detail: str = ""


def place(file: FilePatch, now: bytes, *, base: bytes | None = None, fuzz: int = 0) -> Placed | Refused:
    """Place the hunks of `file` on the content `now`. `base` is the content the patch was made against, if known."""
    if file.crlf and b"\r\n" not in now:
        file = file.without_cr()
    ours = split_lines(now)
    if file.new_id != file.old_id and is_blob(now, file.new_id):
        return Refused(Reason.LANDED)
    if is_blob(now, file.old_id):
        return _verified(_searched(ours, file.hunks, How.RECORDED), file)
    if base is not None and base != now:
        carried = _merged(split_lines(base), ours, file.hunks, fuzz)
        if carried is not None:
            return carried
    found = _searched(ours, file.hunks, How.SEARCHED)
    if isinstance(found, Refused):
        back = _searched(ours, tuple(hunk.reversed() for hunk in file.hunks), How.SEARCHED)
        if isinstance(back, Placed):
            return Refused(Reason.LANDED, lines=tuple(hunk.line for hunk in back.hunks))
    for allowed in range(1, fuzz + 1):
        if isinstance(found, Placed):
            break
        found = _searched(ours, file.hunks, How.FUZZED, fuzz=allowed)
    return found


def on_base(file: FilePatch, base: bytes) -> bytes | None:
    """The file the patch makes of its own base, or None where the hunks do not fit it."""
    if file.crlf and b"\r\n" not in base:
        file = file.without_cr()
    found = _searched(split_lines(base), file.hunks, How.SEARCHED)
    return found.content if isinstance(found, Placed) else None


def _verified(found: Placed | Refused, file: FilePatch) -> Placed | Refused:
    if isinstance(found, Placed) and file.new_id and not is_blob(found.content, file.new_id):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    return found


def _merged(base: Lines, ours: Lines, hunks: Sequence[Hunk], fuzz: int) -> Placed | Refused | None:
    """Step 2; None where the hunks do not fit the base, so that it is not the one."""
    starts = _places(base, hunks, fuzz)
    if isinstance(starts, Refused):
        return None
    edits = [edit for hunk, (start, _) in zip(hunks, starts, strict=True) for edit in hunk.edits(start)]
    merged = merge(base, ours, edits)
    if not isinstance(merged, Merged):
        return _conflict(merged[0], hunks)
    if merged.lines == ours and edits:
        return Refused(Reason.LANDED, lines=tuple(landing.line + 1 for landing in merged.landings))
    places = []
    for hunk, (start, _) in zip(hunks, starts, strict=True):
        landings = [landing for landing in merged.landings if landing.edit.hunk == hunk.number]
        shift = landings[0].line - landings[0].edit.start if landings else 0
        landed = bool(landings) and all(landing.landed for landing in landings)
        places.append(HunkPlace(hunk.number, start + shift + 1, start + shift - hunk.position, landed=landed))
    return _joined(merged.lines, How.MERGED, tuple(places))


def _conflict(conflict: Conflict, hunks: Sequence[Hunk]) -> Refused:
    hunk = next(hunk for hunk in hunks if hunk.number == conflict.hunk)
    return Refused(Reason.CONFLICT, hunk, (conflict.line + 1,), conflict.base, conflict.ours)


def _searched(lines: Lines, hunks: Sequence[Hunk], how: How, *, fuzz: int = 0) -> Placed | Refused:
    """Steps 1, 3 and 4: the hunks at their places on these lines."""
    starts = _places(lines, hunks, fuzz, recorded=how is How.RECORDED)
    if isinstance(starts, Refused):
        return starts
    out: list[bytes] = []
    places = []
    here = 0
    for hunk, (start, used) in zip(hunks, starts, strict=True):
        for edit in hunk.edits(start):
            out += lines[here : edit.start]
            out += edit.lines
            here = edit.stop
        places.append(HunkPlace(hunk.number, start + 1, start - hunk.position, used))
    out += lines[here:]
    return _joined(out, how, tuple(places))


def _joined(lines: Sequence[bytes], how: How, places: tuple[HunkPlace, ...]) -> Placed | Refused:
    if any(not line.endswith(b"\n") for line in lines[:-1]):
        return Refused(Reason.NO_PLACE, detail="a line without a newline would stand inside the file")
    return Placed(b"".join(lines), how, places)


@dataclass(slots=True)
class _Index:
    """Where each line stands, made once per file so that a search costs what its rarest line costs."""

    lines: Lines
    at: dict[bytes, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, line in enumerate(self.lines):
            self.at.setdefault(line, []).append(number)

    def find(self, wanted: Lines, behind: int) -> list[int]:
        """The starts, not before `behind`, at which the wanted lines stand one after the other."""
        rarest = min(range(len(wanted)), key=lambda i: len(self.at.get(wanted[i], ())))
        starts = (number - rarest for number in self.at.get(wanted[rarest], ()))
        return [start for start in starts if start >= behind and self.lines[start : start + len(wanted)] == wanted]


def _places(lines: Lines, hunks: Sequence[Hunk], fuzz: int, *, recorded: bool = False) -> list[tuple[int, int]] | Refused:
    """For each hunk its 0-based start and the fuzz it took; or the first hunk that has no place, or two.

    `recorded`: these lines are the very file that the hunks were made for, so a hunk that fits where it says stands there.
    """
    index: _Index | None = None
    candidates: list[tuple[list[int], int]] = []
    behind = offset = 0
    for hunk in hunks:
        stated = hunk.position
        fits = stated >= behind and lines[stated : stated + len(hunk.old)] == hunk.old
        if fits and (recorded or (not offset and (hunk.old or not lines))):
            found: tuple[list[int], int] | Refused = [stated], 0
        else:
            index = index or _Index(lines)
            found = _search(index, hunk, behind, fuzz)
        if isinstance(found, Refused):
            return found
        candidates.append(found)
        offset = found[0][0] - stated
        behind = found[0][0] + len(hunk.old)
    return _only_places(hunks, candidates)


def _only_places(hunks: Sequence[Hunk], candidates: list[tuple[list[int], int]]) -> list[tuple[int, int]] | Refused:
    """The one start of each hunk that leaves all hunks in their order, or the first hunk that has several."""
    last = None
    for number in range(len(hunks) - 1, -1, -1):
        starts, used = candidates[number]
        length = len(hunks[number].old)
        starts = [start for start in starts if last is None or start + length <= last]
        candidates[number] = starts, used
        last = starts[-1] if starts else last
    places: list[tuple[int, int]] = []
    behind = 0
    for hunk, (starts, used) in zip(hunks, candidates, strict=True):
        left = [start for start in starts if start >= behind]
        if not left:
            return Refused(Reason.NO_PLACE, hunk, expected=hunk.old, detail="the hunks would have to change their order")
        if len(left) > 1:
            return Refused(Reason.AMBIGUOUS, hunk, tuple(start + 1 for start in left), hunk.old)
        places.append((left[0], used))
        behind = left[0] + len(hunk.old)
    return places


def _search(index: _Index, hunk: Hunk, behind: int, fuzz: int) -> tuple[list[int], int] | Refused:
    """The starts behind the hunk before at which a hunk fits, with as little fuzz as it takes."""
    for allowed in range(fuzz + 1):
        cut, wanted = _trimmed(hunk, allowed)
        if not wanted:
            return Refused(Reason.NO_CONTEXT, hunk)
        starts = [start - cut for start in index.find(wanted, behind + cut)]
        if starts:
            return _anchored(index, hunk, starts) or starts, allowed
    line, found = _nearest(index, hunk)
    return Refused(Reason.NO_PLACE, hunk, (line + 1,), hunk.old, found)


def _trimmed(hunk: Hunk, fuzz: int) -> tuple[int, Lines]:
    """The old lines less `fuzz` context lines at the end with more of them (patch's rule), and how many went in front."""
    most = max(hunk.leading, hunk.trailing)
    front = min(max(fuzz + hunk.leading - most, 0), hunk.leading)
    back = min(max(fuzz + hunk.trailing - most, 0), hunk.trailing)
    old = hunk.old
    return front, old[front : len(old) - back]


def _anchored(index: _Index, hunk: Hunk, starts: list[int]) -> list[int]:
    """Of several places the ones at the file's edge, for a hunk that has no context there."""
    if not hunk.leading and hunk.old_start <= 1:
        return [start for start in starts if start == 0]
    if not hunk.trailing:
        return [start for start in starts if start + len(hunk.old) == len(index.lines)]
    return []


def _nearest(index: _Index, hunk: Hunk) -> tuple[int, Lines]:
    """For the message: the place that shares most lines with the hunk, nearest to the stated one, and what stands there."""
    votes: dict[int, int] = {}
    for number, line in enumerate(hunk.old):
        if not line.strip():
            continue
        for at in index.at.get(line, ())[:50]:
            votes[at - number] = votes.get(at - number, 0) + 1
    stated = hunk.position
    best = max(votes, key=lambda start: (votes[start], -abs(start - stated)), default=min(stated, len(index.lines)))
    best = max(best, 0)
    return best, index.lines[best : best + len(hunk.old)]
