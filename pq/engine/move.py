"""Where push, pop and goto meet: what can be asked, how it ends, and the one move of the checkout. pop is here whole."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from pq.core import stack
from pq.engine import events, history
from pq.engine.events import Tell
from pq.engine.workspace import Workspace

Goal = str | int | None
"""Up to a patch, so many patches, -1 for all, None for one."""


class Ending(enum.Enum):
    """How a command ended that did not refuse to begin."""

    DONE = "done"
    REFUSED = "refused"
    CONFLICT = "conflict"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class PushOptions:
    """`atomic`: all or none of the patches; `check`: ask the gate."""

    atomic: bool = False
    dry_run: bool = False
    check: bool = True
    fuzz: int = 0


def pop(workspace: Workspace, goal: Goal, tell: Tell) -> Ending:
    """Pop patches."""
    with workspace.locked(tell):
        return pop_patches(workspace, stack.to_pop(workspace.stack, goal), tell)


def pop_patches(workspace: Workspace, names: Sequence[str], tell: Tell, *, dry_run: bool = False) -> Ending:
    """Take these patches, top first, off the stack."""
    workspace.require_own()
    left = workspace.applied[: len(workspace.applied) - len(names)]
    commit = left[-1].commit.oid if left else workspace.pin_commit
    if dry_run:
        workspace.checkout.mover.require_clear(workspace.state(workspace.head), workspace.state(commit))
    else:
        workspace.checkout.keep(workspace.queue.series_name, workspace.head)
        move(workspace, commit, [patch.patch for patch in left])
    for name in names:
        tell(events.Removing(name))
    tell(events.NowAt(left[-1].patch if left else None, dry_run=dry_run))
    return Ending.DONE


def move(workspace: Workspace, commit: str, names: Sequence[str]) -> None:
    """Move the checkout to a commit, with which these patches are applied."""
    history.do(workspace, workspace.state(workspace.head), workspace.state(commit))
    workspace.remember(commit, names)
