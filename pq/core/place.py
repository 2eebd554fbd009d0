"""Placement: where the hunks of a file patch belong, by proof (design, section 7).

In this order, for one file:

1. the file is the one that the patch names by its `index` id: the hunks stand where they say, the result has the recorded id;
2. the file the patch was made against is known: a three-way merge carries the hunks over, and a conflict is the answer, too;
3. nothing else is known: all hunks fit exactly at their stated lines, or each at exactly one place, in their order. Stated lines
   prove nothing about a file of which the `index` line says that it is another one;
4. with `fuzz`, up to that many context lines at either end of a hunk may differ, never a removed line.

A hunk that shows lines on one side of its change only stands at that end of the file. If nothing fits but the reverse of the patch
does exactly, it has landed already; if both fit, each at another place than stated, nobody can tell.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pq.core import definitions, heading, scope, surroundings
from pq.core.landed import find_landed
from pq.core.lines import Lines, is_blob, split_lines
from pq.core.merge import Conflict, Merged, edited, merge
from pq.core.patch import Action, FilePatch, Hunk


class How(enum.StrEnum):
    """By which proof a hunk stands where it stands."""

    RECORDED = "recorded"
    MERGED = "merged"
    SEARCHED = "searched"
    FUZZED = "fuzzed"


class _Known(enum.Enum):
    """What is known of the lines that hunks are to be found in: are they the file that the hunks were made for?"""

    THE_FILE = enum.auto()
    UNKNOWN = enum.auto()
    ANOTHER = enum.auto()


class Landed(enum.StrEnum):
    """How much of a hunk was there already."""

    NOT = "no"
    PARTLY = "partly"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class HunkPlace:
    """Where one hunk stands: `line` counts from 1 in the file before, `offset` from the stated line."""

    hunk: int
    line: int
    offset: int
    fuzz: int = 0
    landed: Landed = Landed.NOT


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
    MOVED = "moved"
    THERE = "there"
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


def place(file: FilePatch, now: bytes, *, base: bytes | None = None, fuzz: int = 0, prove: bool = True) -> Placed | Refused:
    """Place the hunks of `file` on the content `now`. `base` is the content the patch was made against, if known.

    `prove`: of Python files, what they come to stand in is compared, too.
    """
    if file.crlf and b"\r\n" not in now:
        kept = place(replace(file, crlf=False), now, base=base, fuzz=fuzz, prove=prove)
        if isinstance(kept, Placed) and is_blob(kept.content, file.new_id):  # the id says that the CRs are the file's own
            return kept
        return place(file.without_cr(), now, base=base, fuzz=fuzz, prove=prove)
    ours = split_lines(now)
    if file.new_id != file.old_id and is_blob(now, file.new_id):
        back = _searched(ours, tuple(hunk.reversed() for hunk in file.hunks), How.RECORDED, _Known.THE_FILE)
        return Refused(Reason.LANDED) if isinstance(back, Placed) else Refused(Reason.WRONG_RESULT, detail=file.new_id)
    if is_blob(now, file.old_id) or (file.action is Action.CREATE and not now):
        return _verified(_searched(ours, file.hunks, How.RECORDED, _Known.THE_FILE), file)
    if base is not None:
        known = _Known.THE_FILE if not file.old_id or is_blob(base, file.old_id) else _Known.ANOTHER
        carried = _merged(split_lines(base), ours, file, known, prove=prove and file.path.endswith(".py"))
        if carried is not None:
            return carried
    found = _by_text(ours, file, now if prove and file.path.endswith(".py") else None)
    for allowed in range(1, fuzz + 1):
        if isinstance(found, Placed) or found.reason is not Reason.NO_PLACE:
            break
        found = _searched(ours, file.hunks, How.FUZZED, _Known.ANOTHER, fuzz=allowed)
    if prove and isinstance(found, Placed) and file.path.endswith(".py"):
        return _under_its_heading(found, now, file)
    if isinstance(found, Refused) and found.reason is Reason.NO_PLACE and _fits_without_cr(now, file):
        return replace(found, detail="only the line endings differ: CR LF here, LF there")
    return found


def _under_its_heading(found: Placed, now: bytes, file: FilePatch) -> Placed | Refused:
    """Refuse a hunk that says that it belongs elsewhere."""
    contradicted = _contradicted(now, file.hunks, [at.line - 1 for at in found.hunks])
    if contradicted is None:
        return found
    hunk, start, there = contradicted
    made_for = hunk.section.decode(errors="replace").strip()
    detail = f"it says that it was made for {made_for}, and its lines stand in {there}"
    return Refused(Reason.MOVED, hunk, (start + 1,), detail=detail)


def _contradicted(content: bytes, hunks: Sequence[Hunk], starts: Sequence[int]) -> tuple[Hunk, int, str] | None:
    """The first hunk that says that it belongs elsewhere, its 0-based start, and what it stands in."""
    lines, scopes = split_lines(content), scope.scopes(content)
    for hunk, start in zip(hunks, starts, strict=True):
        if (there := heading.contradicts(hunk, lines, start, scopes)) is not None:
            return hunk, start, there
    return None


def _verified(found: Placed | Refused, file: FilePatch) -> Placed | Refused:
    """The result has to have the recorded id. A new file's need not: people edit them by hand, and its one hunk is counted."""
    recorded = file.new_id if file.action is not Action.CREATE else ""
    if isinstance(found, Placed) and recorded and not is_blob(found.content, recorded):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    return found


def _by_text(ours: Lines, file: FilePatch, python: bytes | None) -> Placed | Refused:
    """Step 3, and whether the patch has landed: in a Python file, where its headings say that it was made for."""
    found = _searched(ours, file.hunks, How.SEARCHED, _Known.ANOTHER if file.old_id else _Known.UNKNOWN)
    if _as_stated(found) or (isinstance(found, Refused) and found.reason is Reason.NO_CONTEXT):
        return found
    reverse = tuple(hunk.reversed() for hunk in file.hunks)
    back = _searched(ours, reverse, How.SEARCHED, _Known.ANOTHER if file.new_id else _Known.UNKNOWN)
    if isinstance(back, Refused) or (python is not None and isinstance(_under_its_heading(back, python, file), Refused)):
        return found
    lines = tuple(hunk.line for hunk in back.hunks)
    if _as_stated(back) or (isinstance(found, Refused) and found.reason is Reason.NO_PLACE):
        return Refused(Reason.LANDED, lines=lines)
    if isinstance(found, Refused):
        return found
    places = (found.hunks[0].line, lines[0])
    return Refused(
        Reason.AMBIGUOUS, file.hunks[0], places, file.hunks[0].old, detail="at the second of these lines it seems to have landed"
    )


def _fits_without_cr(now: bytes, file: FilePatch) -> bool:
    bare = now.replace(b"\r\n", b"\n")
    return isinstance(_searched(split_lines(bare), file.without_cr().hunks, How.SEARCHED, _Known.UNKNOWN), Placed)


def _as_stated(found: Placed | Refused) -> bool:
    return isinstance(found, Placed) and not any(hunk.offset for hunk in found.hunks)


def _merged(base: Lines, ours: Lines, file: FilePatch, known: _Known, *, prove: bool) -> Placed | Refused | None:
    """Step 2; None where the hunks do not fit the base, so that it is not the one."""
    hunks = file.hunks
    starts = _places(base, hunks, 0, known)
    if isinstance(starts, Refused):
        return None
    is_named = bool(file.old_id) and is_blob(b"".join(base), file.old_id)
    if prove and not is_named and _contradicted(b"".join(base), hunks, [start for start, _ in starts]) is not None:
        return None
    edits = [edit for hunk, (start, _) in zip(hunks, starts, strict=True) for edit in hunk.edits(start)]
    theirs = edited(base, edits)
    if known is _Known.THE_FILE and file.old_id and not is_blob(b"".join(theirs), file.new_id):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    merged = merge(base, ours, edits)
    if not isinstance(merged, Merged):
        return _conflict(merged[0], hunks)
    if merged.lines == ours and edits:
        return Refused(Reason.LANDED, lines=tuple(landing.line + 1 for landing in merged.landings))
    if prove and (found := find_landed(base, ours, merged)) is not None:
        landing, what, line = found
        hunk = next(hunk for hunk in hunks if hunk.number == landing.edit.hunk)
        detail = f"{what.what} stands in {what.scope or 'the module'} already, as it did not where the patch was made"
        return Refused(Reason.THERE, hunk, (line,), detail=detail)
    if prove and (moved := surroundings.moved(base, ours, merged)) is not None:
        landing, made, reached = moved
        hunk = next(hunk for hunk in hunks if hunk.number == landing.edit.hunk)
        return Refused(Reason.MOVED, hunk, (landing.line + 1,), detail=f"it was made for {made}, and would stand in {reached}")
    if prove and (torn := definitions.torn(base, ours, theirs, merged.lines)) is not None:
        name, line = torn
        return Refused(
            Reason.MOVED, lines=(line,), detail=f"with it, {name} would be neither what it is here nor what the patch has"
        )
    places = []
    for hunk, (start, _) in zip(hunks, starts, strict=True):
        landings = [landing for landing in merged.landings if landing.edit.hunk == hunk.number]
        shift = landings[0].line - landings[0].edit.start if landings else 0
        there = [landing.landed for landing in landings]
        landed = Landed.NOT if not any(there) else Landed.WHOLE if all(there) else Landed.PARTLY
        places.append(HunkPlace(hunk.number, start + shift + 1, start + shift - hunk.position, landed=landed))
    placed = _joined(merged.lines, How.MERGED, tuple(places))
    if prove and isinstance(placed, Placed) and surroundings.parse(b"".join(ours)) is None:
        return _under_its_heading(placed, b"".join(ours), file)
    return placed


def _conflict(conflict: Conflict, hunks: Sequence[Hunk]) -> Refused:
    hunk = next(hunk for hunk in hunks if hunk.number == conflict.hunk)
    if conflict.other is not None:
        return Refused(Reason.AMBIGUOUS, hunk, tuple(sorted((conflict.line + 1, conflict.other + 1))), conflict.base)
    return Refused(Reason.CONFLICT, hunk, (conflict.line + 1,), conflict.base, conflict.ours)


def _searched(lines: Lines, hunks: Sequence[Hunk], how: How, known: _Known, *, fuzz: int = 0) -> Placed | Refused:
    """Steps 1, 3 and 4: the hunks at their places on these lines."""
    starts = _places(lines, hunks, fuzz, known)
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


def _places(lines: Lines, hunks: Sequence[Hunk], fuzz: int, known: _Known) -> list[tuple[int, int]] | Refused:
    """For each hunk its 0-based start and the fuzz it took; or the first hunk that has no place, or two."""
    if known is _Known.UNKNOWN and _stand_as_stated(lines, hunks):
        return [(hunk.position, 0) for hunk in hunks]
    index: _Index | None = None
    candidates: list[tuple[list[int], int]] = []
    behind = 0
    for hunk in hunks:
        if known is _Known.THE_FILE and hunk.position >= behind and _stands(lines, hunk, hunk.position):
            found: tuple[list[int], int] | Refused = [hunk.position], 0
        else:
            index = index or _Index(lines)
            found = _search(index, hunk, behind, fuzz)
        if isinstance(found, Refused):
            return found
        candidates.append(found)
        behind = found[0][0] + len(hunk.old)
    return _only_places(hunks, candidates)


def _stands(lines: Lines, hunk: Hunk, start: int) -> bool:
    stop = start + len(hunk.old)
    return stop <= len(lines) and lines[start:stop] == hunk.old


def _stand_as_stated(lines: Lines, hunks: Sequence[Hunk]) -> bool:
    behind = 0
    for hunk in hunks:
        start = hunk.position
        if (
            start < behind
            or not _stands(lines, hunk, start)
            or not _fits_edges(lines, hunk, start)
            or not (hunk.old or not lines)
        ):
            return False
        behind = start + len(hunk.old)
    return True


def _fits_edges(lines: Lines, hunk: Hunk, start: int) -> bool:
    """A hunk with context on one side of its change only says that the file begins or ends on the other."""
    if not hunk.leading and hunk.trailing and hunk.old_start <= 1:
        return start == 0
    if hunk.leading and not hunk.trailing:
        return start + len(hunk.old) == len(lines)
    return True


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
    elsewhere: list[int] = []
    for allowed in range(fuzz + 1):
        cut, wanted = _trimmed(hunk, allowed)
        if not wanted:
            return Refused(Reason.NO_CONTEXT, hunk)
        inside = [start - cut for start in index.find(wanted, behind + cut)]
        starts = [start for start in inside if _fits_edges(index.lines, hunk, start)]
        if starts:
            return starts, allowed
        elsewhere = elsewhere or inside
    if elsewhere:
        detail = "its lines stand here, but it says that the file begins or ends with them"
        return Refused(Reason.NO_PLACE, hunk, (elsewhere[0] + 1,), detail=detail)
    line, found = _nearest(index, hunk)
    return Refused(Reason.NO_PLACE, hunk, (line + 1,), hunk.old, found)


def _trimmed(hunk: Hunk, fuzz: int) -> tuple[int, Lines]:
    """The old lines less `fuzz` context lines at the end with more of them (patch's rule), and how many went in front."""
    most = max(hunk.leading, hunk.trailing)
    front = min(max(fuzz + hunk.leading - most, 0), hunk.leading)
    back = min(max(fuzz + hunk.trailing - most, 0), hunk.trailing)
    old = hunk.old
    return front, old[front : len(old) - back]


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
