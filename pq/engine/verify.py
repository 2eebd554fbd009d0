"""check and verify: the gate, asked without moving anything."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from pq.core.lint import Severity
from pq.core.series import Entry
from pq.engine import check_events, events, lint, releases
from pq.engine.candidate import Candidate, build
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.move import Ending
from pq.engine.setup import build_environment
from pq.engine.workspace import Workspace
from pq.errors import NotChecked, NothingToDo, PqError


def verify(workspace: Workspace, tell: Tell, *, budget: int | None = None) -> Ending:
    """Does the whole series apply to its pin, in memory, and pass? The checkout need not be on its branch, or clean."""
    if not workspace.stack_order:
        return _pin(workspace, budget, tell)
    return _judge(workspace, workspace.stack_order, budget, tell)


@dataclass(frozen=True, slots=True)
class SeriesVerified:
    """How the proof of one series ended, as `Ending` calls it."""

    series: str
    patches: int
    ending: str


@dataclass(frozen=True, slots=True)
class Verified:
    """How the proofs of all series ended, and how many errors lint has found."""

    series: tuple[SeriesVerified, ...]
    errors: int

    @property
    def ending(self) -> Ending:
        """The worst of all."""
        endings = [each.ending for each in self.series]
        worst = next((each for each in (Ending.REFUSED, Ending.REJECTED) if each.value in endings), Ending.DONE)
        return Ending.REFUSED if self.errors else worst


def verify_all(workspace: Workspace, today: datetime.date, tell: Tell, *, budget: int | None = None) -> Verified:
    """Verify every series of the queue, each on its own release, which is fetched if it is missing; and lint. It goes on behind a refusal."""
    endings = tuple(_verify_one(workspace.variant_of(name), tell, budget) for name in workspace.queue.series_names())
    linted = lint.run(workspace.variant(), today)
    errors = tuple(fault for fault in linted.faults if fault.severity is Severity.ERROR)
    if errors:
        tell(check_events.Faulty(errors))
    return Verified(endings, len(errors))


def _verify_one(workspace: Workspace, tell: Tell, budget: int | None) -> SeriesVerified:
    name = workspace.queue.series_name
    count = 0
    tell(check_events.Verifying(name))
    try:
        count = len(workspace.stack_order)
        with workspace.locked(tell):
            releases.obtain(workspace, workspace.pin.release, tell)
        if budget != 0:
            build_environment(workspace, workspace.pin, lambda text: tell(events.Progress(text)))
        ending = verify(workspace, tell, budget=budget)
    except PqError as error:
        tell(check_events.NotVerified(name, error.fact, error.hint))
        ending = Ending.REJECTED if isinstance(error, NotChecked) else Ending.REFUSED
    return SeriesVerified(name, count, ending.value)


def check(workspace: Workspace, patch: str | None, tell: Tell, *, budget: int | None = None) -> Ending:
    """Ask the gate about the stack up to a patch, applied or not; without one, about the stack as it is."""
    order = workspace.stack_order
    if patch is None:
        with workspace.locked(tell):
            applied = workspace.applied
            if not applied and not order:
                return _gate(workspace, [_release(workspace)], budget, tell)
            if not applied:
                raise NothingToDo("No patches applied", hint="pq verify checks the whole series")
            if edited := workspace.edited():
                tell(check_events.Stale(edited))
            before = workspace.checkout.read_commit(workspace.pin_commit).tree
            candidates = []
            for each in applied:
                candidates.append(Candidate(each.patch, before, each.commit))
                before = each.commit.tree
            return _gate(workspace, candidates, budget, tell, applied=True)
    name = workspace.series.find(patch)
    names = [entry.name for entry in order]
    return _judge(workspace, order[: names.index(name) + 1], budget, tell)


def _pin(workspace: Workspace, budget: int | None, tell: Tell) -> Ending:
    with workspace.locked(tell):
        return _gate(workspace, [_release(workspace)], budget, tell)


def _release(workspace: Workspace) -> Candidate:
    """The release itself, for a series that has no patch."""
    commit = workspace.checkout.read_commit(workspace.pin_commit)
    return Candidate(workspace.pin.release, commit.tree, commit)


def _judge(workspace: Workspace, entries: tuple[Entry, ...], budget: int | None, tell: Tell) -> Ending:
    with workspace.locked(tell):
        parent = workspace.checkout.read_commit(workspace.pin_commit)
        built = build(workspace, parent, entries)
        if built.refused is not None:
            tell(built.refused)
            return Ending.REFUSED
        if empty := tuple(applying.patch for applying in built.applying if applying.empty):
            tell(events.Empty(empty))
        return _gate(workspace, list(built.candidates), budget, tell)


def _gate(workspace: Workspace, candidates: list[Candidate], budget: int | None, tell: Tell, *, applied: bool = False) -> Ending:
    gate = Gate(workspace, tell, budget)
    if (rejected := gate.judge(candidates, fresh=True)) is not None:
        tell(replace(rejected, applied=applied))
        return Ending.REJECTED
    whole = gate.passed(candidates[-1].before, candidates[-1].commit, final=True)
    tell(check_events.Passed(tuple(candidate.patch for candidate in candidates), whole=whole))
    return Ending.DONE
