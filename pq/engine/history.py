"""undo, redo and log; and the one way in which commands become operations that can be taken back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

from pq.engine import check_events, events
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.repo import operations, stops
from pq.repo.checkout import branch_of
from pq.repo.journal import RefChange
from pq.repo.operations import OPERATIONS, UNDONE, Logged, Operation, State
from pq.repo.stops import STOPPED, Stop
from pq.repo.transaction import Move


def do(workspace: Workspace, before: State, after: State) -> None:
    """Make an operation: what was undone before it can't be redone any more, and no command waits at a conflict.

    One that leads to another series is the first of that one's line, which goes on with the line of this one.
    """
    checkout, here, there = workspace.checkout, workspace.queue.series_name, _series(workspace, after)
    previous, stopped = checkout.ref(OPERATIONS + here), checkout.ref(STOPPED + here)
    made = operations.write(checkout.objects, Operation(workspace.title, before, after, int(time.time())), previous)
    branch, head = _branches(workspace, before, after, leaves=False)
    refs = (
        branch,
        *(RefChange(UNDONE + series, checkout.ref(UNDONE + series), None) for series in dict.fromkeys((here, there))),
        RefChange(STOPPED + here, stopped, None),
        RefChange(OPERATIONS + there, checkout.ref(OPERATIONS + there), made),
    )
    checkout.mover.move(Move(made, before, after, refs, head=head))


def step(workspace: Workspace, before: State, after: State, stop: Stop | None) -> None:
    """Move from one state to another in the midst of a command: to where it waits at a conflict, or back. The log does not have it."""
    checkout = workspace.checkout
    ref = STOPPED + workspace.queue.series_name
    made = operations.write(checkout.objects, Operation(workspace.title, before, after, int(time.time())), None)
    branch, head = _branches(workspace, before, after, leaves=_series(workspace, before) != workspace.queue.series_name)
    refs = (branch, RefChange(ref, checkout.ref(ref), stops.write(checkout.objects, stop) if stop is not None else None))
    checkout.mover.move(Move(made, before, after, refs, head=head))


def take_as_it_stands(workspace: Workspace) -> None:
    """Log what git made of the branch since the last operation, so that undo leads back. Files, index and branch stay."""
    checkout, ref = workspace.checkout, OPERATIONS + workspace.queue.series_name
    last = next(log(workspace))
    moved = Operation(workspace.title, replace(last.operation.after, queue={}), workspace.state(workspace.head), int(time.time()))
    checkout.set_ref(UNDONE + workspace.queue.series_name, None)
    checkout.set_ref(ref, operations.write(checkout.objects, moved, last.oid))


def applied_last(workspace: Workspace) -> tuple[str, ...] | None:
    """What the last operation left applied; None where the branch stands there still, or nothing is known."""
    last = next(log(workspace), None)
    if last is None or last.operation.after.head == workspace.head:
        return None
    with contextlib.suppress(PqError):
        return tuple(patch.patch for patch in workspace.checkout.stack(last.operation.after.head, workspace.pin_commit))
    return None


def forget_stop(workspace: Workspace) -> None:
    """No command waits any more."""
    workspace.checkout.set_ref(STOPPED + workspace.queue.series_name, None)


def undo(workspace: Workspace, tell: Tell) -> None:
    """Take the last operation back. Raises NothingToDo where there is none."""
    with workspace.locked(tell):
        logged = next(log(workspace), None)
        if logged is None:
            raise NothingToDo("No operation to undo")
        operation, checkout = logged.operation, workspace.checkout
        _require_at(workspace, operation.after)
        here, there = workspace.queue.series_name, _series(workspace, operation.before)
        if here != there and checkout.ref(OPERATIONS + there) != logged.previous:
            raise NotClean(
                f"Series {there} was worked on since {here} was made of it",
                hint=f"set [upstream] series in pq.toml to {there} and pq setup goes there; series {here} stays then",
            )
        undone = checkout.ref(UNDONE + here)
        branch, head = _branches(workspace, operation.after, operation.before, leaves=here != there)
        refs = (
            branch,
            *([RefChange(UNDONE + here, undone, None)] if here != there else []),
            RefChange(UNDONE + there, checkout.ref(UNDONE + there), undone or logged.oid),
            RefChange(OPERATIONS + here, logged.oid, logged.previous if here == there else None),
        )
        checkout.mover.move(Move(logged.oid, operation.after, operation.before, refs, reverse=True, head=head))
        _remember(workspace, operation.before)
        _tell_unchecked(workspace, operation.after, operation.before, tell)
        tell(events.Undone(operation.title, again=False))


def redo(workspace: Workspace, tell: Tell) -> None:
    """Make the operation again that was undone last. Raises NothingToDo where there is none."""
    with workspace.locked(tell):
        checkout, here = workspace.checkout, workspace.queue.series_name
        standing, undone = checkout.ref(OPERATIONS + here), checkout.ref(UNDONE + here)
        logged = next((each for each in _line(workspace, undone) if each.previous == standing), None)
        if logged is None:
            raise NothingToDo("No operation to redo")
        operation = logged.operation
        _require_at(workspace, operation.before)
        there = _series(workspace, operation.after)
        left = None if logged.oid == undone else undone
        branch, head = _branches(workspace, operation.before, operation.after, leaves=False)
        refs = (
            branch,
            *([RefChange(UNDONE + here, undone, None)] if here != there else []),
            RefChange(UNDONE + there, checkout.ref(UNDONE + there), left),
            RefChange(OPERATIONS + there, checkout.ref(OPERATIONS + there), logged.oid),
        )
        checkout.mover.move(Move(logged.oid, operation.before, operation.after, refs, head=head))
        _remember(workspace, operation.after)
        _tell_unchecked(workspace, operation.before, operation.after, tell)
        tell(events.Undone(operation.title, again=True))


def log(workspace: Workspace) -> Iterator[Logged]:
    """The operations that stand, the last one first."""
    return _line(workspace, workspace.checkout.ref(OPERATIONS + workspace.queue.series_name))


def _line(workspace: Workspace, oid: str | None) -> Iterator[Logged]:
    while oid is not None:
        logged = operations.read(workspace.checkout.objects, oid)
        yield logged
        oid = logged.previous


def _remember(workspace: Workspace, state: State) -> None:
    """Write down what is applied; not where that is of another series, which is looked at next time."""
    if _series(workspace, state) != workspace.queue.series_name:
        return
    with contextlib.suppress(NotClean):  # a commit that is no patch may stand there again
        stack = workspace.checkout.stack(state.head, workspace.pin_commit)
        workspace.remember(state.head, [patch.patch for patch in stack])


def _tell_unchecked(workspace: Workspace, before: State, after: State, tell: Tell) -> None:
    """Undo asks no gate, as a pop does not; that what came back was never let through is said."""
    from pq.engine.gate import Gate  # loads the checks: not for push and pop, which are operations, too

    with contextlib.suppress(PqError):
        stack = workspace.checkout.stack(after.head, workspace.pin_commit)
        if not stack or before.head == after.head or before.files == after.files:
            return
        below = workspace.checkout.read_commit(stack[-1].commit.parents[0]).tree
        if not Gate(workspace, tell).passed(below, stack[-1].commit, final=True):
            tell(check_events.Unchecked((stack[-1].patch,), asked=False))


def _require_at(workspace: Workspace, state: State) -> None:
    if workspace.head != state.head:
        raise NotClean(
            "The branch was moved by other means since that operation",
            hint="git reflog shows how; pq status shows where it stands",
        )


def _series(workspace: Workspace, state: State) -> str:
    return state.series or workspace.queue.series_name


def _branches(workspace: Workspace, old: State, new: State, *, leaves: bool) -> tuple[RefChange, tuple[str, str]]:
    """What becomes of the branch, and of HEAD. A move to another series makes its branch, and, where it `leaves` that one, drops it."""
    here, there = branch_of(_series(workspace, old)), branch_of(_series(workspace, new))
    if leaves and workspace.checkout.branch(_series(workspace, new)) != new.head:
        raise NotClean(
            f"Branch {there.removeprefix('refs/heads/')} was moved by other means since that operation",
            hint=f"git -C {workspace.checkout.root} branch -f {there.removeprefix('refs/heads/')} {new.head[:12]} puts it back",
        )
    if here == there:
        change = RefChange(here, old.head, new.head)
    else:
        change = RefChange(here, old.head, None) if leaves else RefChange(there, None, new.head)
    return change, (here, there)
