"""What commands that edit the queue have in common: a plan of layers and queue files, and the one way to carry it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pq.core import header
from pq.core.series import Series
from pq.engine import check_events, events, history
from pq.engine.candidate import Candidate
from pq.engine.carry import Layer
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.move import Ending
from pq.engine.workspace import Workspace
from pq.errors import NotClean
from pq.repo import commits
from pq.repo.commits import Commit
from pq.repo.operations import State


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of stack and queue.

    `layers` replace all applied patches from number `below` on. `queue` are the files of the queue that change, by path. `edits` is the
    tree of the checkout's files before, with the edits that the command takes; None: it takes none. `kept` says that the files stay as
    they are, edits and all. `read` are queue files as they were read for the plan; the series always counts as it was read.
    """

    below: int
    layers: tuple[Layer, ...]
    queue: Mapping[str, bytes | None] = field(default_factory=dict)
    edits: str | None = None
    kept: bool = False
    read: Mapping[str, bytes] = field(default_factory=dict)


def layers(workspace: Workspace, start: int = 0) -> tuple[Layer, ...]:
    """The applied patches from a number on. Raises NotClean where the series or their files differ from the stack."""
    workspace.require_order()
    workspace.require_own()
    if edited := workspace.edited():
        way_out = "pq repair applies the files as they are now" if workspace.resumed is None else "put its file back as it was"
        raise NotClean(f"Patch {edited[0]} was changed since it was pushed", hint=way_out)
    found = []
    before = ground(workspace, start)
    for applied in workspace.applied[start:]:
        entry = workspace.series.entry(applied.patch)
        found.append(Layer(entry, workspace.queue.read_patch(entry.name), before, applied.commit.tree, applied.fuzz))
        before = applied.commit.tree
    return tuple(found)


def ground(workspace: Workspace, number: int) -> str:
    """The tree below the applied patch of a number."""
    return commit_below(workspace, number).tree


def carry_out(workspace: Workspace, plan: Plan, tell: Tell, *, check: bool = True) -> Ending:
    """Make the commits, ask the gate if files of the checkout change, and do it all as one operation."""
    below = commit_below(workspace, plan.below)
    candidates = built(workspace, plan.layers, below)
    parent = candidates[-1].commit if candidates else below
    head = workspace.state(workspace.head)
    before = State(head.head, plan.edits or head.files, {path: _was(workspace, plan, path) for path in plan.queue})
    after = State(parent.oid, before.files if plan.kept else parent.tree, plan.queue)
    workspace.checkout.mover.require_clear(before, after)
    if candidates and before.files != after.files:
        if not check:
            tell(check_events.Unchecked(tuple(candidate.patch for candidate in candidates)))
        elif rejected := Gate(workspace, tell).judge(candidates):
            tell(rejected)
            return Ending.REJECTED
    history.do(workspace, before, after)
    names = [*(workspace.stack.applied[: plan.below] if plan.below else ()), *(layer.entry.name for layer in plan.layers)]
    workspace.remember(parent.oid, names)
    return Ending.DONE


def built(workspace: Workspace, layers: Sequence[Layer], parent: Commit) -> tuple[Candidate, ...]:
    """Layers on a commit, as commits."""
    candidates: list[Candidate] = []
    for layer in layers:
        made = _commit(workspace, layer, parent)
        candidates.append(Candidate(layer.entry.name, parent.tree, made))
        parent = made
    return tuple(candidates)


def queue_changes(workspace: Workspace, series: Series, changed: Sequence[Layer]) -> dict[str, bytes | None]:
    """The files of these patches and the series file, as far as they change. A patch written anew is applied as it stands."""
    found: dict[str, bytes | None] = {}
    for layer in changed:
        path = patch_path(workspace, layer.entry.name)
        if _bytes(workspace, path) != layer.content:
            found[path] = layer.content
        if (layer.entry.strip, layer.entry.reverse) == (1, False):
            series = series.forward(layer.entry.name)
    if series.lines != workspace.series.lines:
        found[workspace.queue.relative(workspace.queue.series_file)] = series.render()
    return found


def tell_carried(tell: Tell, old: Sequence[Layer], new: Sequence[Layer]) -> None:
    """Tell which patches were written anew only because what is below them changed."""
    contents = {layer.entry.name: layer.content for layer in old}
    for layer in new:
        if contents.get(layer.entry.name, layer.content) != layer.content:
            tell(events.CarriedOver(layer.entry.name, empty=layer.tree == layer.before))


def patch_path(workspace: Workspace, name: str) -> str:
    """The file of a patch, from the queue's folder."""
    return workspace.queue.relative(workspace.queue.patch_file(name))


def commit_below(workspace: Workspace, number: int) -> Commit:
    """The commit below the applied patch of a number."""
    return workspace.applied[number - 1].commit if number else workspace.checkout.read_commit(workspace.pin_commit)


def _commit(workspace: Workspace, layer: Layer, parent: Commit) -> Commit:
    return commits.write_patch(
        workspace.checkout.objects,
        tree=layer.tree,
        parent=parent,
        entry=layer.entry,
        digest=commits.identity(layer.content, layer.entry).partition(" ")[0],
        described=header.read(workspace.parse(layer.entry, layer.content).header),
        fuzz=layer.fuzz,
    )


def _was(workspace: Workspace, plan: Plan, path: str) -> bytes | None:
    """A queue file as the plan found it."""
    if path == workspace.queue.relative(workspace.queue.series_file):
        return workspace.series.render()
    return plan.read[path] if path in plan.read else _bytes(workspace, path)


def _bytes(workspace: Workspace, path: str) -> bytes | None:
    place = workspace.queue.root / path
    return place.read_bytes() if place.is_file() else None
