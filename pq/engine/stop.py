"""A command that comes to a conflict stops there, and waits: for `continue`, which makes it again with what was settled, or for `abort`.

A stop is an operation: the branch stands below what does not fit, the files hold the conflict. `continue` takes what the user made of
them, takes the stop back, and makes the same command again; carrying (pq.engine.carry) knows now what it did not. So nothing of the
command's own state is kept, and what it does behind the conflict is what it would have done without one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pq.engine import conflicts, events, history, rewrite
from pq.engine.carry import Conflict
from pq.engine.events import Tell
from pq.engine.move import Outcome
from pq.engine.rewrite import Plan
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.repo import stops
from pq.repo.operations import State
from pq.repo.stops import Nodes, Stop, Unsettled


@dataclass(frozen=True, slots=True)
class Resumed:
    """A command that goes on: what it knows now, and what the stop was, in case that it has to be one again."""

    now: Stop
    was: Stop | None = None
    before: State | None = None
    after: State | None = None


def stop(workspace: Workspace, number: int, conflict: Conflict, tell: Tell, *, edits: str | None = None) -> Outcome:
    """Stop at a conflict of what was to stand above the applied patch of a number; `edits` is the tree with those that the command took."""
    marked = conflicts.mark(workspace, conflict)
    if marked is None or conflict.failed is None:
        tell(events.Unfit(conflict.patch, conflict.failed))
        return Outcome.CONFLICT
    candidates = rewrite.built(workspace, Plan(number, conflict.below))
    head = candidates[-1].commit.oid if candidates else rewrite.commit_below(workspace, number).oid
    before = replace(workspace.state(workspace.head), files=edits) if edits else workspace.state(workspace.head)
    objects = workspace.checkout.objects
    files: Nodes = {path: objects.node(marked.tree, path) for path in marked.files}
    left = _edited(workspace, set(workspace.checkout.unrefreshed()) - history.taken(workspace, before))
    unsettled = Unsettled(conflict.patch, (conflict.before, conflict.tree, conflict.ground), files, left)
    said = Stop(workspace.command, str(Path.cwd()), workspace.settled, unsettled)
    history.stop(workspace, workspace.title, before, State(head, marked.tree), stops.write(objects, said))
    workspace.checkout.mover.worktree.mark_unmerged(marked.files)
    below = workspace.stack.applied[:number] if number else ()
    workspace.remember(head, [*below, *(layer.entry.name for layer in conflict.below)])
    tell(events.Stopped(conflict.patch, tuple(marked.files), conflict.failed))
    return Outcome.CONFLICT


def resume(workspace: Workspace, tell: Tell, *, allow_empty: bool) -> Resumed | None:
    """Take what the user made of the conflict, and take the stop back; None where it is not settled. Raises NothingToDo without one."""
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.conflict is None:
            return Resumed(found)  # it was interrupted between the conflict and its end
        after = _edits_since(workspace, found.conflict)
        if open_files := _unsettled(workspace, found.conflict):
            tell(events.Unsettled(open_files))
            return None
        if after.files == found.conflict.carried[2] and not allow_empty:
            what = f"of patch {found.conflict.patch}" if found.conflict.patch else "of the edits"
            raise PqError(
                f"Nothing is left {what}, as the files stand", hint="pq continue --allow-empty, if that is meant; else pq abort"
            )
        now = replace(found, settled={**found.settled, found.conflict.carried: after.files}, conflict=None)
        before = _leave(workspace, found.conflict, after, now)
        return Resumed(now, found, before, after)


def reopen(workspace: Workspace, resumed: Resumed, tell: Tell) -> None:
    """Stop there again with what the user made of the conflict, if the command did not come to its end."""
    with contextlib.suppress(PqError), workspace.locked(tell, stopped=True):
        found = workspace.stop
        if found is not None and found.conflict is None and resumed.was and resumed.before and resumed.after:
            kept = stops.write(workspace.checkout.objects, resumed.was)
            history.stop(workspace, resumed.was.title, resumed.before, resumed.after, kept)


def abort(workspace: Workspace, tell: Tell) -> None:
    """Take the stop back, with what was made of the conflict. Raises NothingToDo where there is none."""
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.conflict is None:
            history.forget_stop(workspace)
        else:
            logged = next(history.log(workspace)).operation
            moved = workspace.checkout.objects.difference(logged.after.files, logged.before.files)
            laid = history.taken(workspace, logged.after) | set(found.conflict.files)
            _leave(workspace, found.conflict, _with(workspace, _edited(workspace, laid | moved.keys())), None)
        tell(events.Aborted(found.title))


def _require_stop(workspace: Workspace) -> Stop:
    found = workspace.stop
    if found is None:
        raise NothingToDo("No command stopped at a conflict")
    return found


def _unsettled(workspace: Workspace, conflict: Unsettled) -> tuple[str, ...]:
    """The files of which nobody has decided yet."""
    unmerged = workspace.checkout.mover.worktree.unmerged()
    nodes = _edited(workspace, conflict.files)
    objects = workspace.checkout.objects
    return tuple(
        path
        for path, marked in conflict.files.items()
        if not conflicts.is_settled(objects, conflict.patch, nodes[path], marked, unmerged=path in unmerged)
    )


def _edits_since(workspace: Workspace, conflict: Unsettled) -> State:
    """The checkout with all that was edited since the stop."""
    edited = _edited(workspace, {*workspace.checkout.unrefreshed(), *conflict.files})
    return _with(workspace, {path: node for path, node in edited.items() if conflict.left.get(path, ()) != node})


def _leave(workspace: Workspace, conflict: Unsettled, now: State, kept: Stop | None) -> State:
    """From the conflict to where the command began; that state."""
    checkout = workspace.checkout
    logged = next(history.log(workspace)).operation
    head = checkout.read_commit(now.head)
    if logged.after.head not in (now.head, *head.parents):
        raise NotClean(
            "The branch was moved by other means since the conflict",
            hint=f"git -C {checkout.root} reset --soft {logged.after.head[:12]} puts it back and leaves the files",
        )
    checkout.mover.worktree.mark_merged({path: checkout.objects.node(head.tree, path) for path in conflict.files})
    history.leave(workspace, now, stops.write(checkout.objects, kept) if kept is not None else None)
    return logged.before


def _with(workspace: Workspace, nodes: Nodes) -> State:
    head = workspace.checkout.read_commit(workspace.head)
    return State(head.oid, workspace.checkout.objects.edit(head.tree, dict(nodes)))


def _edited(workspace: Workspace, paths: Iterable[str]) -> Nodes:
    return workspace.checkout.mover.worktree.edited(sorted(paths))
