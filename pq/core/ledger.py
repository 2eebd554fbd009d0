"""The ledger of a rebase: what became of every patch. It stands in comments of the new series, so that git keeps and shows it::

# pq-from: <the old series>
# pq-outcome: <patch of the old series> <outcome>[; <what else there is to say>]
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pq.core import series
from pq.core.lines import split_lines
from pq.core.series import Series

_LINE = re.compile(rb"#\s*pq-(?P<key>from|outcome):\s*(?P<text>.*?)\s*$", re.DOTALL)


class Outcome(enum.StrEnum):
    """What becomes of a patch on another release (design, section 9), in the order of how much one has to look at it."""

    IDENTICAL = "identical"
    MOVED = "moved"
    MERGED = "merged"
    STRUCTURED = "merged by structure"
    REMEMBERED = "resolved as before"
    RESOLVED = "resolved by hand"
    LANDED = "landed"
    SKIPPED = "left out"
    HELD = "held back"
    CHANGED = "landed but changed"
    CONFLICT = "conflict"

    @property
    def stays(self) -> bool:
        """Whether the patch is in the new series, made for the new release."""
        return self in _STAYING

    @property
    def stops(self) -> bool:
        """Whether a rebase stops at the patch, and somebody has to look."""
        return self in (Outcome.CHANGED, Outcome.CONFLICT)

    def worst(self, other: Outcome) -> Outcome:
        """The one of two that has to be looked at more."""
        order = list(Outcome)
        return max(self, other, key=order.index)


_STAYING = {Outcome.IDENTICAL, Outcome.MOVED, Outcome.MERGED, Outcome.STRUCTURED, Outcome.REMEMBERED, Outcome.RESOLVED}


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one patch, named as in the old series; `note` is what else there is to say, on one line."""

    patch: str
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """From which series a series was made, and what became of that one's patches."""

    origin: str
    lines: tuple[Line, ...]


def read(found: Series) -> Ledger | None:
    """The ledger of a series; None for one that no rebase has made. Lines that say nothing known are left out."""
    origin, lines = None, []
    for key, text in _said(found):
        if key == "from":
            origin = text
        else:
            patch, _, rest = text.partition(" ")
            outcome, _, note = rest.partition("; ")
            if outcome in list(Outcome):
                lines.append(Line(patch, Outcome(outcome), note))
    return Ledger(origin, tuple(lines)) if origin is not None else None


def write(found: Series, ledger: Ledger) -> Series:
    """The series with this ledger behind its pin, in place of the one that it had."""
    kept = [line for line in found.lines if not _LINE.match(line)]
    said = [f"# pq-from: {ledger.origin}\n", *(_line(line) for line in ledger.lines)]
    at = next((number for number, line in enumerate(kept, 1) if b"pq-pin:" in line and line.lstrip().startswith(b"#")), 0)
    text = b"".join((*kept[:at], *(line.encode("utf-8", "surrogateescape") for line in said), *kept[at:]))
    return series.read(text, file="series")


def markdown(ledger: Ledger, title: str) -> Iterable[str]:
    """The ledger as a table for a pull request."""
    yield f"### {title}"
    yield ""
    yield "| patch | outcome | |"
    yield "|---|---|---|"
    for line in ledger.lines:
        note = line.note.replace("|", "\\|")
        yield f"| `{line.patch}` | {line.outcome} | {note} |"


def _line(line: Line) -> str:
    note = f"; {' '.join(line.note.split())}" if line.note else ""
    return f"# pq-outcome: {line.patch} {line.outcome}{note}\n"


def _said(found: Series) -> Iterable[tuple[str, str]]:
    for line in split_lines(found.render()):
        if (said := _LINE.match(line)) is not None:
            yield said["key"].decode(), said["text"].decode("utf-8", "surrogateescape")
