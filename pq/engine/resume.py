"""continue and abort: what becomes of a command that waits at a conflict.

`continue` takes what the user made of the files of the patch, goes back to where the command began, and does it again, knowing now what
it did not. So nothing of the command's own state is kept, and what it does behind the conflict is what it would have done without one.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from pq.engine import conflicts, edit, events, history, rebase, reorder, repair, stop
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.remembered import Remembered
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.repo import stops
from pq.repo.commits import Commit
from pq.repo.operations import State
from pq.repo.stops import STOPPED, Stop
from pq.repo.worktree import Unmerged

COMMANDS = (edit, rebase, reorder, repair)
"""The modules of the commands that can stop, which have to be loaded for that."""


@dataclass(frozen=True, slots=True)
class _Here:
    """The checkout in a stop as it is, where the command began with what the user has done beside it, and what the conflict has become."""

    now: State
    began: State
    answer: str


def resume(
    workspace: Workspace, tell: Tell, *, allow_empty: bool, leave_out: str | None = None, unchecked: bool = False
) -> Ending:
    """Go on with the command that waits, or (`leave_out` says why) without the patch, or without asking the gate.

    Raises NothingToDo where there is none.
    """
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.answer is None:
            waiting = _waiting(workspace, found)
            here = _look(waiting, found)
            _require_above(waiting, found.laid.head, "since the conflict")
            if leave_out is None and (still := _open(waiting, found, here, allow_empty=allow_empty)):
                tell(still)
                return Ending.CONFLICT
            found = replace(found, answer=here.answer)
            if leave_out is None and found.laid.series is not None:
                Remembered(workspace).learn(found, here.answer)
            going = _as_told(found, leave_out, unchecked=unchecked)
            history.step(workspace, here.now, here.began, going)
        else:  # it was interrupted between the conflict and its end
            _require_above(workspace, found.before.head, "since the conflict was settled", exactly=True)
            going = _as_told(found, leave_out, unchecked=unchecked)
            workspace.checkout.set_ref(STOPPED + workspace.queue.series_name, stops.write(workspace.checkout.objects, going))
        try:
            return stop.run(replace(workspace, title=found.call.title, resumed=going), going.call, tell)
        finally:
            if workspace.stop == going:
                _wait_again(workspace, found, tell)


def _as_told(found: Stop, leave_out: str | None, *, unchecked: bool) -> Stop:
    """The stop as the user says to go on from it: kept so, so that an interruption does not make another answer of it."""
    going = found if leave_out is None else _without(found, leave_out)
    return _unchecked(going) if unchecked else going


def _without(found: Stop, reason: str) -> Stop:
    """The stop settled by leaving the patch out. Raises PqError where the command can't do without."""
    skipped = found.call.arguments.get("skipped")
    if not isinstance(skipped, dict) or found.patch is None:
        raise PqError(f"pq {found.call.title} can't leave a patch out", hint=events.GO_ON)
    arguments = {**found.call.arguments, "skipped": {**skipped, found.patch: reason}}
    return replace(found, call=replace(found.call, arguments=arguments), answer=found.carried[2])


def _unchecked(found: Stop) -> Stop:
    """The stop of a command that is not to ask the gate. Raises PqError for one that can't be told so."""
    if "check" not in found.call.arguments:
        raise PqError(f"pq {found.call.title} asks the checks always", hint=events.GO_ON)
    return replace(found, call=replace(found.call, arguments={**found.call.arguments, "check": False}))


def abort(workspace: Workspace, tell: Tell) -> None:
    """Take the command back that waits, with what was made of the conflict. Raises NothingToDo where there is none."""
    with workspace.locked(tell, stopped=True):
        found = _require_stop(workspace)
        if found.answer is None:
            here = _look(_waiting(workspace, found), found)
            history.step(workspace, here.now, here.began, None)
        else:
            history.forget_stop(workspace)
        tell(events.Aborted(found.call.title))


def _require_stop(workspace: Workspace) -> Stop:
    found = workspace.stop
    if found is None:
        raise NothingToDo("No command stopped at a conflict")
    return found


def _waiting(workspace: Workspace, found: Stop) -> Workspace:
    """The workspace as it is in the stop, which may be on the branch of the series that the command makes."""
    checkout, series = workspace.checkout, found.laid.series or workspace.queue.series_name
    if checkout.branch(series) is None:
        raise NotClean(
            f"Branch pq/{series}, on which the conflict waits, is gone",
            hint=f"git -C {checkout.root} switch -C pq/{series} {found.laid.head[:12]} puts it back",
        )
    return workspace.variant(at=checkout.head(series))


def _require_above(workspace: Workspace, head: str, since: str, *, exactly: bool = False) -> None:
    """Raise NotClean where the branch does not stand on a commit any more, or is not at it."""
    checkout = workspace.checkout
    if workspace.head != head and (exactly or checkout.merge_base(workspace.head, head) != head):
        raise NotClean(
            f"The branch was moved by other means {since}",
            hint=f"pq abort takes the command back; git -C {checkout.root} reset --soft {head[:12]} puts the branch back",
        )


def _wait_again(workspace: Workspace, found: Stop, tell: Tell) -> None:
    """Lay the conflict anew, as it was settled, since the command did not come to its end. Where edits are in the way, the answer is kept."""
    assert found.answer is not None
    nodes = {path: workspace.checkout.objects.node(found.answer, path) for path in found.files}
    laid = State(found.laid.head, found.answer, series=found.laid.series)
    with contextlib.suppress(NotClean):
        history.step(workspace, found.before, laid, replace(found, files=nodes, laid=laid, answer=None, decided=frozenset(nodes)))
        tell(events.WaitsAgain(found.call.title))


def _look(workspace: Workspace, found: Stop) -> _Here:
    """Tell apart what is the answer, what is the command's own, and what the user has done beside it. The files of the three are disjoint.

    The answer is what stands in the files of the patch. Other files that the stop laid are the command's: raises NotClean where somebody
    changed one. All else is the user's, and stays: what was committed becomes an edit.
    """
    checkout, objects, worktree = workspace.checkout, workspace.checkout.objects, workspace.checkout.mover.worktree
    head, laid = (checkout.read_commit(oid) for oid in (workspace.head, found.laid.head))
    answers = checkout.mover.edits(found.laid).keys() | found.files.keys()
    own = objects.difference(found.before.files, found.laid.files).keys() - answers
    committed = _committed(workspace, head, laid)
    now = {
        kind: worktree.edited(sorted(paths))
        for kind, paths in (("answers", answers), ("own", own), ("others", committed - answers - own))
    }
    as_laid = {path: (objects.file(found.laid.files, path), objects.file(head.tree, path)) for path in own}
    changed = {path for path, node in now["own"].items() if node not in as_laid[path]} | (committed & own)
    changed |= {path for path in now["others"] if any(_is_above(path, each) or _is_above(each, path) for each in own | answers)}
    if changed:
        shown = " ".join(sorted(changed))
        raise NotClean(
            f"{', '.join(sorted(changed))}: changed since the conflict, and the command that waits changes that as well",
            hint=f"copy it elsewhere, and git -C {checkout.root} restore -s {laid.oid[:12]} {shown}, or remove what git does not know",
        )
    unmerged = dict.fromkeys(worktree.unmerged() & answers, Unmerged(None, None, None))
    return _Here(
        State(
            head.oid,
            objects.edit(head.tree, now["own"] | now["answers"] | now["others"]),
            conflicts=unmerged,
            series=found.laid.series,
        ),
        replace(found.before, files=objects.edit(found.before.files, now["others"])),
        objects.edit(laid.tree, now["answers"]),
    )


def _committed(workspace: Workspace, head: Commit, laid: Commit) -> set[str]:
    """The files that were changed by commits made since the stop."""
    objects = workspace.checkout.objects
    base = workspace.checkout.read_commit(workspace.checkout.merge_base(head.oid, laid.oid))
    made = objects.difference(base.tree, head.tree)
    return {path for path, (_, new) in made.items() if new != objects.node(laid.tree, path)}


def _is_above(path: str, other: str) -> bool:
    return other.startswith(f"{path}/")


def _open(workspace: Workspace, found: Stop, here: _Here, *, allow_empty: bool) -> events.Open | events.NothingLeft | None:
    """What nobody has decided yet; None where all is settled."""
    checkout, objects = workspace.checkout, workspace.checkout.objects
    worktree = checkout.mover.worktree
    answers = checkout.mover.edits(found.laid).keys() | found.files.keys()
    nodes, entries = worktree.edited(sorted(answers)), worktree.entries(sorted(answers))
    head = checkout.read_commit(workspace.head).tree
    staged = {path for path in found.files if nodes[path] == entries[path]}
    decided = {path for path in staged if nodes[path] != objects.node(head, path)}  # else it may as well be a reset
    decided |= {path for path in found.decided if nodes[path] == found.files[path]}
    marked = tuple(path for path in sorted(answers - decided) if conflicts.is_marked(objects, found, path, nodes[path]))
    committed = staged if workspace.head != found.laid.head else set()
    left = [path for path in found.files if path not in {*decided, *committed, *marked}]
    whole = tuple(
        path for path in left if nodes[path] == found.files[path] or (nodes[path] is None and entries[path] is not None)
    )
    if marked or whole:
        return events.Open(marked, whole)
    nothing = here.answer == checkout.read_commit(found.laid.head).tree
    asked = nothing and not allow_empty and not (found.decided and here.answer == found.laid.files)
    return events.NothingLeft(found.patch) if asked else None
