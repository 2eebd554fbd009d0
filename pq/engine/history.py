"""undo, redo and log; and the one way in which commands become operations that can be taken back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from pq.engine import events
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.repo import operations, stops
from pq.repo.checkout import branch_of
from pq.repo.operations import OPERATIONS, UNDONE, Logged, Operation, State
from pq.repo.stops import STOPPED, Stop
from pq.repo.transaction import Move, RefChange


def do(workspace: Workspace, before: State, after: State) -> None:
    """Make an operation: what was undone before it can't be redone any more, and no command waits at a conflict."""
    checkout = workspace.checkout
    previous, undone, stopped = (checkout.ref(_ref(workspace, kind)) for kind in (OPERATIONS, UNDONE, STOPPED))
    made = operations.write(checkout.objects, Operation(workspace.title, before, after, int(time.time())), previous)
    refs = (
        RefChange(branch_of(workspace.queue.series_name), before.head, after.head),
        RefChange(_ref(workspace, UNDONE), undone, None),
        RefChange(_ref(workspace, STOPPED), stopped, None),
        RefChange(_ref(workspace, OPERATIONS), previous, made),
    )
    checkout.mover.move(Move(made, before, after, refs))


def step(workspace: Workspace, before: State, after: State, stop: Stop | None) -> None:
    """Move from one state to another in the midst of a command: to where it waits at a conflict, or back. The log does not have it."""
    checkout = workspace.checkout
    ref = _ref(workspace, STOPPED)
    made = operations.write(checkout.objects, Operation(workspace.title, before, after, int(time.time())), None)
    refs = (
        RefChange(branch_of(workspace.queue.series_name), before.head, after.head),
        RefChange(ref, checkout.ref(ref), stops.write(checkout.objects, stop) if stop is not None else None),
    )
    checkout.mover.move(Move(made, before, after, refs))


def forget_stop(workspace: Workspace) -> None:
    """No command waits any more."""
    workspace.checkout.set_ref(_ref(workspace, STOPPED), None)


def undo(workspace: Workspace, tell: Tell) -> None:
    """Take the last operation back. Raises NothingToDo where there is none."""
    with workspace.locked(tell):
        logged = next(log(workspace), None)
        if logged is None:
            raise NothingToDo("No operation to undo")
        operation = logged.operation
        _require_at(workspace, operation.after)
        undone = workspace.checkout.ref(_ref(workspace, UNDONE))
        refs = (
            RefChange(branch_of(workspace.queue.series_name), operation.after.head, operation.before.head),
            RefChange(_ref(workspace, UNDONE), undone, undone or logged.oid),
            RefChange(_ref(workspace, OPERATIONS), logged.oid, logged.previous),
        )
        workspace.checkout.mover.move(Move(logged.oid, operation.after, operation.before, refs, reverse=True))
        _remember(workspace, operation.before)
        _tell_unchecked(workspace, operation.after, operation.before, tell)
        tell(events.Undone(operation.title, again=False))


def redo(workspace: Workspace, tell: Tell) -> None:
    """Make the operation again that was undone last. Raises NothingToDo where there is none."""
    with workspace.locked(tell):
        checkout = workspace.checkout
        standing, undone = (checkout.ref(_ref(workspace, kind)) for kind in (OPERATIONS, UNDONE))
        logged = next((each for each in _line(workspace, undone) if each.previous == standing), None)
        if logged is None:
            raise NothingToDo("No operation to redo")
        operation = logged.operation
        _require_at(workspace, operation.before)
        refs = (
            RefChange(branch_of(workspace.queue.series_name), operation.before.head, operation.after.head),
            RefChange(_ref(workspace, UNDONE), undone, None if logged.oid == undone else undone),
            RefChange(_ref(workspace, OPERATIONS), standing, logged.oid),
        )
        checkout.mover.move(Move(logged.oid, operation.before, operation.after, refs))
        _remember(workspace, operation.after)
        _tell_unchecked(workspace, operation.before, operation.after, tell)
        tell(events.Undone(operation.title, again=True))


def log(workspace: Workspace) -> Iterator[Logged]:
    """The operations that stand, the last one first."""
    return _line(workspace, workspace.checkout.ref(_ref(workspace, OPERATIONS)))


def _line(workspace: Workspace, oid: str | None) -> Iterator[Logged]:
    while oid is not None:
        logged = operations.read(workspace.checkout.objects, oid)
        yield logged
        oid = logged.previous


def _remember(workspace: Workspace, state: State) -> None:
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
            tell(events.Unchecked((stack[-1].patch,), asked=False))


def _require_at(workspace: Workspace, state: State) -> None:
    if workspace.head != state.head:
        raise NotClean(
            "The branch was moved by other means since that operation",
            hint="git reflog shows how; pq status shows where it stands",
        )


def _ref(workspace: Workspace, kind: str) -> str:
    return kind + workspace.queue.series_name
