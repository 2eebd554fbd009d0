"""What a command reports while it works. Values; the sentences are in `pq.cli.sentences`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pq.engine import check_events

if TYPE_CHECKING:
    from pq.checks.findings import Finding
    from pq.core.ledger import Outcome as LedgerOutcome
    from pq.core.placement import Placed
    from pq.engine.apply import Failed
    from pq.engine.lost import Lost


GO_ON = "settle it in the files, then pq continue; pq abort takes the command back"
"""The way out of a conflict."""
SETTLED = "it is settled: pq continue goes on, pq abort gives the command up"
"""The way out where a command was interrupted behind one."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """An interrupted command was settled before this one: taken `back`, or on to its end; or left, since the branch was `moved`."""

    back: bool
    left: tuple[str, ...] = ()
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Applying:
    """A patch is put on the stack. `known`: its commit existed; `empty`: there is no diff in it; `text`: but there is something."""

    patch: str
    known: bool
    placed: tuple[tuple[str, Placed], ...]
    empty: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True)
class BaseUnknown:
    """What was said to be the base of patches holds none of their files."""


@dataclass(frozen=True, slots=True)
class Empty:
    """There is no diff in these patches."""

    patches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A patch does not belong there."""

    patch: str
    file: str
    failed: Failed


@dataclass(frozen=True, slots=True)
class Unfit:
    """What a command would put elsewhere does not fit there: a patch, or None for the edits of the checkout or of a given patch.

    `release` is the one that it does not fit on, where that is another one, and `lost` what it does not find there.
    """

    patch: str | None
    failed: Failed | None = None
    release: str | None = None
    lost: tuple[Lost, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class NotFolded:
    """The given patch does not fit on the top."""

    failed: Failed


@dataclass(frozen=True, slots=True)
class Stopped:
    """A command waits at a conflict of a patch, or of the edits (None), that does not fit there.

    It stands in these files: `marked` hold both sides, between markers, the `whole` ones hold one of them. `release` and `lost`: see Unfit.
    """

    patch: str | None
    marked: tuple[str, ...]
    whole: tuple[str, ...]
    failed: Failed | None
    release: str | None = None
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """The conflict is not settled yet in these files: markers stand in them, or one side stands there `whole` as it was left."""

    marked: tuple[str, ...]
    whole: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """As the files stand, nothing is left of the patch, or of the edits (None), that did not fit."""

    patch: str | None


@dataclass(frozen=True, slots=True)
class WaitsAgain:
    """A command did not come to its end, and waits at its last conflict as that was settled."""

    title: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """A command that waited at a conflict was taken back."""

    title: str


@dataclass(frozen=True, slots=True)
class Removing:
    """A patch is taken off the stack."""

    patch: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A patch holds what stands in the checkout; `changed`: it did not before; `empty`: that is nothing."""

    patch: str
    changed: bool
    empty: bool = False


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """A patch above one that was changed was written anew on the other ground; `empty`: all it did is there already."""

    patch: str
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """A patch is no longer in the series; `file`: nor is its file there."""

    patch: str
    file: bool


@dataclass(frozen=True, slots=True)
class Renamed:
    """A patch has another name."""

    patch: str
    name: str


@dataclass(frozen=True, slots=True)
class HeaderReplaced:
    """A patch has another text above its diff; or (`appended`) more of it."""

    patch: str
    appended: bool = False


@dataclass(frozen=True, slots=True)
class Reverted:
    """Files are again what the top patch makes of them."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Squashed:
    """A patch has taken others in."""

    patch: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spilled:
    """What a patch changed in these files is unrefreshed now."""

    patch: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a patch is a patch of its own now, below it."""

    patch: str
    name: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A patch was taken into the series."""

    patch: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One of several patches was not taken into the series, since there is no diff in it."""

    patch: str


@dataclass(frozen=True, slots=True)
class Forked:
    """A copy of a patch stands in its place."""

    patch: str
    name: str


@dataclass(frozen=True, slots=True)
class Left:
    """Edits of these files are unrefreshed still."""

    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """git moved the branch along the stack: these patches have no commit any more, those have one again."""

    off: tuple[str, ...]
    on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """Commits and files are one: patches made of commits, files written from commits, patches applied anew from their files.

    `dropped` are no longer in the series and were taken off; `left` were applied and have no commit any more; `taken_in` are pairs of a
    patch and another one that git made one commit of.
    """

    adopted: tuple[str, ...]
    refreshed: tuple[str, ...]
    again: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    taken_in: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a patch on another release, and what else there is to say of it."""

    patch: str
    outcome: LedgerOutcome
    note: str


@dataclass(frozen=True, slots=True)
class Rebased:
    """A series was made of another one, with so many of `every` patch of it; `dry_run`: it would be."""

    old: str
    new: str
    patches: int
    every: int
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """An operation was taken back, or (`again`) made again."""

    title: str
    again: bool


@dataclass(frozen=True, slots=True)
class NowAt:
    """Where the stack ends now; None: nothing is applied. `dry_run`: where it would end."""

    patch: str | None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of something long."""

    text: str


class Ending(enum.Enum):
    """What became of a patch. It `fits` where nothing was changed, as asked for or for the sake of another patch."""

    APPLIED = "applied"
    FITS = "fits"
    ALREADY = "already applied"
    CONFLICT = "conflict"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class PatchEnding:
    """What became of one patch, and why."""

    patch: str
    ending: Ending
    placed: tuple[tuple[str, Placed], ...] = ()
    failed: Failed | None = None
    findings: tuple[Finding, ...] = ()


Edited = (
    Refreshed
    | CarriedOver
    | Deleted
    | Renamed
    | HeaderReplaced
    | Reverted
    | Squashed
    | Spilled
    | Split
    | Imported
    | LeftOut
    | Forked
    | Left
    | Repaired
    | Moved
    | Carried
    | Rebased
    | Undone
    | Aborted
)
Problem = (
    Recovered
    | Empty
    | BaseUnknown
    | Refused
    | Unfit
    | NotFolded
    | Stopped
    | Open
    | NothingLeft
    | WaitsAgain
    | check_events.Problem
)
"""What is told of even when all else is quiet."""
Event = Problem | check_events.Told | Applying | Removing | Edited | NowAt | Progress
Tell = Callable[[Event], None]
