"""Where the lines of hunks stand in a file: all places are found, and only one each is an answer."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from pq.core.lines import Lines
from pq.core.patch import Hunk
from pq.core.placement import Reason, Refused


class Known(enum.Enum):
    """What is known of the lines that hunks are to be found in: are they the file that the hunks were made for?"""

    THE_FILE = enum.auto()
    UNKNOWN = enum.auto()
    ANOTHER = enum.auto()


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


def find_places(lines: Lines, hunks: Sequence[Hunk], fuzz: int, known: Known) -> list[tuple[int, int]] | Refused:
    """For each hunk its 0-based start and the fuzz it took; or the first hunk that has no place, or two."""
    if known is Known.UNKNOWN and _stand_as_stated(lines, hunks):
        return [(hunk.position, 0) for hunk in hunks]
    index: _Index | None = None
    candidates: list[tuple[list[int], int]] = []
    behind = 0
    for hunk in hunks:
        if known is Known.THE_FILE and hunk.position >= behind and _stands(lines, hunk, hunk.position):
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
