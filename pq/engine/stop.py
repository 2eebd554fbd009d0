"""A command that comes to a conflict stops there, and waits: the branch stands below what does not fit, the files hold the conflict.

What is kept is the command, and what was settled (pq.repo.stops); pq.engine.resume goes on from there.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec

from pq.engine import conflicts, events, history, rewrite
from pq.engine.carry import Conflict
from pq.engine.events import Tell
from pq.engine.lost import Lost
from pq.engine.move import Ending
from pq.engine.workspace import Workspace
from pq.repo import stops
from pq.repo.commits import Commit
from pq.repo.operations import State
from pq.repo.stops import STOPPED, Call, Nodes, Stop

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Halt:
    """Where a command can't go on by itself: what was to stand above the applied patch of a number does not fit.

    `edits` is the tree of the files with those edits that the command takes; `elsewhere` says that it was to stand on another release.
    """

    number: int
    conflict: Conflict
    edits: str | None = None
    elsewhere: Elsewhere | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The series that a command makes, and the release that this one stands on, with its commit; and what the patch does not find there."""

    series: str
    release: str
    commit: str
    lost: tuple[Lost, ...] = ()


BODIES: dict[str, Callable[..., Ending | Halt]] = {}
"""The commands that can stop, by the names of their functions, as they are inside of the lock."""


def stoppable(
    body: Callable[Concatenate[Workspace, Tell, P], Ending | Halt],
) -> Callable[Concatenate[Workspace, Tell, P], Ending]:
    """Make a command of what is to be done inside of the lock. All other arguments are given by name, and JSON has them."""
    BODIES[body.__name__] = body

    @functools.wraps(body)
    def command(workspace: Workspace, tell: Tell, /, *_: P.args, **arguments: P.kwargs) -> Ending:
        with workspace.locked(tell):
            said = json.loads(json.dumps(arguments))  # as a command that goes on has them
            return run(workspace, Call(workspace.title, body.__name__, said), tell)

    return command


def run(workspace: Workspace, call: Call, tell: Tell) -> Ending:
    """Do what the command says, or stop at the conflict that it comes to."""
    found = BODIES[call.name](workspace, tell, **call.arguments)
    return found if isinstance(found, Ending) else _stop(workspace, found, call, tell)


def decide(workspace: Workspace, nodes: Nodes) -> tuple[str, ...]:
    """Keep that the conflict that a command waits at is settled in these of its files; which these are."""
    found = workspace.stop
    paths = tuple(path for path in nodes if found is not None and path in found.files)
    if found is not None and paths:
        files = {**found.files, **{path: nodes[path] for path in paths}}
        decided = replace(found, files=files, decided=found.decided | set(paths))
        workspace.checkout.mover.worktree.switch_index({path: nodes[path] for path in paths})
        workspace.checkout.set_ref(STOPPED + workspace.queue.series_name, stops.write(workspace.checkout.objects, decided))
    return paths


def _stop(workspace: Workspace, halt: Halt, call: Call, tell: Tell) -> Ending:
    conflict, elsewhere, objects = halt.conflict, halt.elsewhere, workspace.checkout.objects
    release, lost = (None, ()) if elsewhere is None else (elsewhere.release, elsewhere.lost)
    marked = conflicts.mark(workspace, conflict)
    if marked is None:
        tell(events.Unfit(conflict.patch, conflict.failed, release, lost))
        return Ending.CONFLICT
    head = _below(workspace, halt)
    before = workspace.state(workspace.head)
    before = replace(before, files=halt.edits or before.files, series=None if elsewhere is None else workspace.queue.series_name)
    laid = State(head.oid, marked.tree, conflicts=marked.files, series=None if elsewhere is None else elsewhere.series)
    _require_apart(workspace, before, laid)
    files = {path: objects.node(marked.tree, path) for path in marked.files}
    carried = (conflict.before, conflict.tree, conflict.ground)
    known = workspace.resumed.known if workspace.resumed is not None else {}
    stop = Stop(call, known, conflict.patch, carried, files, before, laid, renamed=conflict.renamed)
    history.step(workspace, before, laid, stop)
    if elsewhere is None:
        below = workspace.stack.applied[: halt.number] if halt.number else ()
        workspace.remember(head.oid, [*below, *(layer.entry.name for layer in conflict.below)])
    whole = tuple(path for path in files if path not in marked.marked)
    tell(events.Stopped(conflict.patch, tuple(marked.marked), whole, conflict.failed, release, lost))
    return Ending.CONFLICT


def _below(workspace: Workspace, halt: Halt) -> Commit:
    """The commit that the conflict is laid on: what was carried so far, written."""
    elsewhere = halt.elsewhere
    if elsewhere is None:
        ground = rewrite.commit_below(workspace, halt.number)
    else:
        ground = workspace.checkout.read_commit(elsewhere.commit)
    candidates = rewrite.built(workspace, halt.conflict.below, ground)
    return candidates[-1].commit if candidates else ground


def _require_apart(workspace: Workspace, before: State, laid: State) -> None:
    """Raise NotClean where edits that the command does not take stand in files of the patch: its part could not be told from them."""
    mover = workspace.checkout.mover
    left = set(workspace.checkout.unrefreshed()) - mover.edits(before).keys()
    if mixed := left & (mover.edits(laid).keys() | laid.conflicts.keys()):
        raise mover.blocked(mixed)
