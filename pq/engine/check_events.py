"""What is told of checks: by the gate, by verify, and before and behind the commits of git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pq.core.lint import Fault


@dataclass(frozen=True, slots=True)
class CheckedInPart:
    """The hook let the patches through without some checks, which it names."""

    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Faulty:
    """What git is about to commit of the queue has faults."""

    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class NotVerified:
    """A series could not be verified, and why; others are gone on with."""

    series: str
    because: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class Verifying:
    """The next of several series is looked at."""

    series: str


@dataclass(frozen=True, slots=True)
class CommitRejected:
    """hooks/pre-apply rejects what git is about to commit."""

    reasons: tuple[str, ...]
    findings: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class NotTakenIn:
    """A commit stands on the branch of a series that no patch was made of, and what to do."""

    because: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A check did not let a patch through; `reasons` in the hook's words, line by line, and the `findings` as values where it has them.

    `applied`: it stands in the checkout already.
    """

    patch: str
    reasons: tuple[str, ...]
    findings: tuple[Mapping[str, object], ...] = ()
    applied: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """What the hook has to say about a candidate that it let through."""

    text: str


@dataclass(frozen=True, slots=True)
class Passed:
    """The checks let these patches through."""

    patches: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Checks were skipped, on request or because the command makes none."""

    patches: tuple[str, ...]
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Stale:
    """The files of these applied patches are not what was applied, and checked."""

    patches: tuple[str, ...]


Problem = CheckedInPart | CommitRejected | Faulty | NotTakenIn | NotVerified | Rejected | Stale | Unchecked
"""What is told of even when all else is quiet."""
Told = Noted | Passed | Verifying
