"""float, sink, squash, spill, split: the same changes in other order, or cut into other patches. What the checkout holds stays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pq.core import header, paths
from pq.core.patch import Patch
from pq.core.stack import find_applied
from pq.engine import carry, edit, events, rewrite
from pq.engine.apply import Failed
from pq.engine.carry import Conflict, Layer
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out, layers
from pq.engine.stop import Halt, stoppable
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError


@stoppable
def float_up(workspace: Workspace, tell: Tell, *, patch: str) -> Ending | Halt:
    """Move an applied patch above all others that are applied."""
    name = find_applied(workspace.stack, patch)
    order = [each for each in workspace.stack.applied if each != name]
    return _reorder(workspace, [*order, name], name, tell)


@stoppable
def sink(workspace: Workspace, tell: Tell, *, patch: str | None, below: str | None) -> Ending | Halt:
    """Move an applied patch, or the top one, below another one, or below all."""
    name = edit.applied(workspace, patch)
    order = [each for each in workspace.stack.applied if each != name]
    at = order.index(_other(workspace, name, below)) if below else 0
    return _reorder(workspace, [*order[:at], name, *order[at:]], name, tell)


@stoppable
def squash(workspace: Workspace, tell: Tell, *, patches: Sequence[str]) -> Ending | Halt:
    """Make one of several applied patches, under the name of the lowest, where that stands."""
    names = sorted({find_applied(workspace.stack, each) for each in patches}, key=workspace.stack.applied.index)
    if len(names) < 2:
        raise PqError("One patch can't be squashed", hint="name those that are to be one")
    first = workspace.stack.applied.index(names[0])
    old = layers(workspace, first)
    chosen = [layer for layer in old if layer.entry.name in names]
    others = [layer for layer in old if layer.entry.name not in names]
    moved = carry.carry(workspace, [*chosen, *others], old[0].before, goal=old[-1].tree)
    if isinstance(moved, Conflict):
        return Halt(first, moved)
    lowest, highest = moved[0], moved[len(chosen) - 1]
    first_text, *texts = [workspace.parse(layer.entry, layer.content).header for layer in chosen]
    messages = [header.read(text).message for text in texts if text.strip()]
    text = b"\n".join([first_text.rstrip(b"\n") + b"\n", *(paths.raw(message) + b"\n" for message in messages)])
    text = b"" if not text.strip() else text + b"\n"
    renames = [rename for layer in chosen for rename in carry.renames(workspace.parse(layer.entry, layer.content))]
    body = carry.diff(workspace.checkout.objects, lowest.before, highest.tree, renames=renames)
    one = Layer(lowest.entry.forward(), text + body, lowest.before, highest.tree)
    series = workspace.series.without(*names[1:])
    made = (one, *moved[len(chosen) :])
    gone = {rewrite.patch_path(workspace, name): None for name in names[1:]}
    outcome = carry_out(workspace, Plan(first, made, {**rewrite.queue_changes(workspace, series, made), **gone}), tell)
    tell(events.Squashed(names[0], tuple(names[1:])))
    rewrite.tell_carried(tell, others, made[1:])
    return outcome


def spill(workspace: Workspace, paths: Collection[str], tell: Tell) -> Ending:
    """Make unrefreshed changes of what the top patch changes, in some paths or in all; the patch and its text stay."""
    with workspace.locked(tell):
        name = workspace.stack.require_top()
        number = len(workspace.applied) - 1
        (layer,) = layers(workspace, number)
        objects = workspace.checkout.objects
        changed = objects.difference(layer.before, layer.tree)
        wanted = edit.with_renames(workspace, layer, edit.among(changed, paths)) if paths else tuple(changed)
        if not wanted:
            raise NothingToDo(f"Patch {name} changes nothing" + (f" in {', '.join(paths)}" if paths else ""))
        tree = objects.edit(layer.tree, {path: changed[path][0] for path in wanted})
        content = carry.rewritten(workspace, layer.entry, layer.content, layer.before, tree)
        made = Layer(layer.entry.forward(), content, layer.before, tree)
        queue = rewrite.queue_changes(workspace, workspace.series, [made])
        outcome = carry_out(workspace, Plan(number, (made,), queue, kept=True), tell)
        tell(events.Spilled(name, wanted))
        return outcome


def split(workspace: Workspace, given: str | None, name: str, chosen: Mapping[str, Collection[int]], tell: Tell) -> Ending:
    """Cut what some files change, or some hunks of them (by number; none: all), out of an applied patch into a new one below it."""
    with workspace.locked(tell):
        source = edit.applied(workspace, given)
        number = workspace.stack.applied.index(source)
        layer, *above = layers(workspace, number)
        part = _part(workspace.parse(layer.entry, layer.content), chosen)
        tree = carry.apply_on(workspace, part, made_for=layer.before, ground=layer.before)
        if isinstance(tree, Failed):
            tell(events.Unfit(source, tree))
            return Ending.CONFLICT
        if tree in (layer.before, layer.tree):
            raise PqError(f"Patch {source} would be left with nothing, or lose nothing", hint="choose a part of it")
        edit.require_no_file(workspace, name)
        below = workspace.stack.applied[number - 1] if number else None
        series = workspace.series.inserted(name, behind=below)
        diff = carry.diff(workspace.checkout.objects, layer.before, tree, renames=carry.renames(part))
        new = Layer(series.entry(name), diff, layer.before, tree)
        content = carry.rewritten(workspace, layer.entry, layer.content, tree, layer.tree)
        rest = Layer(layer.entry.forward(), content, tree, layer.tree)
        made = (new, rest, *above)
        outcome = carry_out(workspace, Plan(number, made, rewrite.queue_changes(workspace, series, made[:2])), tell)
        tell(events.Split(source, name))
        return outcome


def _reorder(workspace: Workspace, order: Sequence[str], name: str, tell: Tell) -> Ending | Halt:
    """Bring the applied patches into another order, in which one of them has another place."""
    applied = workspace.stack.applied
    first = next((number for number, (old, new) in enumerate(zip(applied, order, strict=True)) if old != new), None)
    if first is None:
        raise NothingToDo("The patches stand in this order already")
    old = layers(workspace, first)
    by_name = {layer.entry.name: layer for layer in old}
    moved = carry.carry(workspace, [by_name[each] for each in order[first:]], old[0].before, goal=old[-1].tree)
    if isinstance(moved, Conflict):
        return Halt(first, moved)
    at = order.index(name)
    series = workspace.series.moved(name, behind=order[at - 1] if at else None)
    outcome = carry_out(workspace, Plan(first, moved, rewrite.queue_changes(workspace, series, moved)), tell)
    rewrite.tell_carried(tell, old, moved)
    tell(events.NowAt(order[-1]))
    return outcome


def _part(patch: Patch, chosen: Mapping[str, Collection[int]]) -> Patch:
    files = []
    for file in patch.files:
        numbers = next((chosen[path] for path in (file.path, file.old_path) if path is not None and path in chosen), None)
        if numbers is None:
            continue
        hunks = tuple(hunk for hunk in file.hunks if not numbers or hunk.number in numbers)
        if missing := set(numbers) - {hunk.number for hunk in file.hunks}:
            raise PqError(f"{file.path} has no hunk {min(missing)} in this patch", hint=f"it has {len(file.hunks)}")
        files.append(file if hunks == file.hunks else replace(file, hunks=hunks, new_id=""))
    if missing_files := chosen.keys() - {path for file in patch.files for path in (file.path, file.old_path)}:
        raise PqError(f"the patch does not touch {min(missing_files)}", hint="pq files lists what it touches")
    return replace(patch, files=tuple(files))


def _other(workspace: Workspace, name: str, given: str) -> str:
    found = find_applied(workspace.stack, given)
    if found == name:
        raise NothingToDo(f"Patch {name} can't stand below itself")
    return found
