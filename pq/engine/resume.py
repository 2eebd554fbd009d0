"""continue and abort: what becomes of a command that waits at a conflict.

`continue` takes what the user made of the files of the patch, goes back to where the command began, and does it again, knowing now what
it did not. So nothing of the command's own state is kept, and what it does behind the conflict is what it would have done without one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pq.engine import conflicts, edit, events, history, reorder, repair, stop
from pq.engine.events import Tell
from pq.engine.move import Outcome
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo
from pq.repo.operations import State
from pq.repo.stops import Stop
from pq.repo.worktree import Unmerged

COMMANDS = (edit, reorder, repair)
"""The modules of the commands that can stop, which have to be loaded for that."""


@dataclass(frozen=True, slots=True)
class _Here:
    """The checkout in a stop as it is, where the command began with what else was done since, and the tree that the conflict has become.

    `above`: the branch is where the stop left it, or at commits made on top.
    """

    now: State
    began: State
    answer: str
    above: bool


def resume(workspace: Workspace, tell: Tell, *, allow_empty: bool) -> Outcome:
    """Go on with the command that waits. Raises NothingToDo where there is none."""
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.answer is None:  # else it was interrupted between the conflict and its end
            here = _look(workspace, found)
            if not here.above:
                raise NotClean(
                    "The branch was moved by other means since the conflict",
                    hint=f"pq abort takes the command back; git -C {workspace.checkout.root} reset --soft {found.laid.head[:12]} puts the branch back",
                )
            if still := _open(workspace, found):
                tell(still)
                return Outcome.CONFLICT
            if here.answer == workspace.checkout.read_commit(found.laid.head).tree and not allow_empty:
                tell(events.NothingLeft(found.patch))
                return Outcome.CONFLICT
            found = replace(found, answer=here.answer)
            history.step(workspace, here.now, here.began, found)
        try:
            return stop.run(replace(workspace, title=found.call.title, settled=found.known), found.call, tell)
        except NotClean as error:
            error.hint = "it was as the command wants it when that began; put it back so"
            raise
        finally:
            if workspace.stop == found:
                _wait_again(workspace, found, tell)


def abort(workspace: Workspace, tell: Tell) -> None:
    """Take the command back that waits, with what was made of the conflict. Raises NothingToDo where there is none."""
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.answer is None:
            here = _look(workspace, found)
            history.step(workspace, here.now, here.began, None)
        else:
            history.forget_stop(workspace)
        tell(events.Aborted(found.call.title))


def _require_stop(workspace: Workspace) -> Stop:
    found = workspace.stop
    if found is None:
        raise NothingToDo("No command stopped at a conflict")
    return found


def _wait_again(workspace: Workspace, found: Stop, tell: Tell) -> None:
    """Lay the conflict anew, as it was settled, since the command did not come to its end."""
    assert found.answer is not None
    laid = replace(found.laid, files=found.answer)
    history.step(workspace, found.before, laid, replace(found, laid=laid, answer=None))
    tell(events.WaitsAgain(found.call.title))


def _look(workspace: Workspace, found: Stop) -> _Here:
    """Take what stands in the files of the patch. What else was edited or committed since is left as an edit, or `step` refuses to move."""
    checkout, objects = workspace.checkout, workspace.checkout.objects
    head, laid = (checkout.read_commit(oid) for oid in (workspace.head, found.laid.head))
    above = checkout.stands_on(head.oid, laid.oid)
    own = checkout.mover.edits(found.laid).keys() | found.files.keys()
    nodes = checkout.mover.worktree.edited(sorted(own))
    moved = own | objects.difference(found.before.files, found.laid.files).keys()
    committed = objects.difference(laid.tree, head.tree).keys() - moved if above else ()
    others = checkout.mover.worktree.edited(sorted(committed))
    files = found.laid.files if above else head.tree
    unmerged = dict.fromkeys(checkout.mover.worktree.unmerged(), Unmerged(None, None, None))
    return _Here(
        State(head.oid, objects.edit(files, {**nodes, **others}), conflicts=unmerged),
        replace(found.before, files=objects.edit(found.before.files, others)),
        objects.edit(laid.tree, nodes),
        above,
    )


def _open(workspace: Workspace, found: Stop) -> events.Open | None:
    """The files of which nobody has decided yet."""
    worktree, objects = workspace.checkout.mover.worktree, workspace.checkout.objects
    nodes, entries = worktree.edited(found.files), worktree.entries(found.files)
    merged = {path for path, entry in entries.items() if not isinstance(entry, Unmerged)}
    told = {path for path in merged if entries[path] == nodes[path]}  # by git add, or git rm
    left = [path for path in found.files if path not in told]
    marked = tuple(path for path in left if conflicts.is_marked(objects, found, path, nodes[path]))
    whole = tuple(path for path in left if path not in {*merged, *marked} and nodes[path] in (found.files[path], None))
    return events.Open(marked, whole) if marked or whole else None
