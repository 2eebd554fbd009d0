"""What placement says: where the hunks of a file patch stand, or why it is refused. `place` finds out."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pq.core.lines import Lines
from pq.core.patch import Hunk


class How(enum.StrEnum):
    """By which proof a hunk stands where it stands."""

    RECORDED = "recorded"
    MERGED = "merged"
    STRUCTURED = "merged by structure"
    SEARCHED = "searched"
    FUZZED = "fuzzed"


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
