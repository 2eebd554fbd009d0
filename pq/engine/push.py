"""push and goto: a plan, candidates in memory, the gate, and one move of the checkout."""

from __future__ import annotations

from collections.abc import Sequence

from pq.core import stack
from pq.core.series import Entry
from pq.engine import check_events, events
from pq.engine.candidate import Candidate, build
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.move import Ending, Goal, PushOptions, move, pop_patches
from pq.engine.workspace import Workspace
from pq.errors import NotClean


def push(workspace: Workspace, goal: Goal, options: PushOptions, tell: Tell) -> Ending:
    """Push patches. What comes before the first one that is refused or rejected stays pushed, unless `atomic`."""
    with workspace.locked(tell):
        return _push(workspace, stack.to_push(workspace.stack, goal), options, tell)


def goto(workspace: Workspace, patch: str, options: PushOptions, tell: Tell) -> Ending:
    """Push or pop until a patch is on top."""
    with workspace.locked(tell):
        if patch in workspace.stack.applied or workspace.series.find(patch) in workspace.stack.applied:
            return pop_patches(workspace, stack.to_pop(workspace.stack, patch), tell, dry_run=options.dry_run)
        return _push(workspace, stack.to_push(workspace.stack, patch), options, tell)


def _push(workspace: Workspace, entries: Sequence[Entry], options: PushOptions, tell: Tell) -> Ending:
    workspace.require_own()
    if edited := workspace.edited():
        raise NotClean(
            f"Patch {edited[0]} was changed since it was pushed",
            hint=f"{workspace.stack.taking_off(edited[0])}, then push again",
        )
    built = build(workspace, workspace.checkout.read_commit(workspace.head), entries, fuzz=options.fuzz)
    candidates, outcome = () if options.atomic and built.refused else built.candidates, Ending.DONE
    gate = Gate(workspace, tell)
    if candidates:
        workspace.checkout.mover.require_clear(workspace.state(workspace.head), workspace.state(candidates[-1].commit.oid))
        if options.check:
            gate.require_ready(candidates)
    for applying in built.applying:
        tell(applying)
    if built.refused is not None:
        tell(built.refused)
        outcome = Ending.REFUSED
    if options.check:
        candidates, rejected = _judged(gate, candidates, atomic=options.atomic)
        outcome = Ending.REJECTED if rejected else outcome
    elif candidates:
        tell(check_events.Unchecked(tuple(candidate.patch for candidate in candidates)))
    names = [*workspace.stack.applied, *(candidate.patch for candidate in candidates)]
    if candidates and not options.dry_run:
        move(workspace, candidates[-1].commit.oid, names)
    tell(events.NowAt(names[-1] if names else None, dry_run=options.dry_run))
    return outcome


def _judged(gate: Gate, candidates: Sequence[Candidate], *, atomic: bool) -> tuple[tuple[Candidate, ...], bool]:
    """The candidates that may pass, and whether some may not. What is left below a rejected one is judged on its own."""
    rejected_any = False
    while candidates and (rejected := gate.judge(candidates)):
        gate.tell(rejected)
        rejected_any = True
        names = [candidate.patch for candidate in candidates]
        candidates = () if atomic else candidates[: names.index(rejected.patch)]
    return tuple(candidates), rejected_any
