"""Which patch each line comes from: annotate, the graph of what depends on what, and absorb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patiencediff import PatienceSequenceMatcher

from pq.core import stack
from pq.core.lines import Lines, split_lines
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK, Edit
from pq.engine import carry, edit, events, rewrite
from pq.engine.carry import Conflict, Layer
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out, layers
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError
from pq.repo.objects import Node, Objects

Owners = tuple[int | None, ...]
"""For each line the number of the applied patch that it comes from; None: from the release."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """A line of a file and the patch that it comes from; or it is not refreshed yet."""

    patch: str | None
    line: bytes
    unrefreshed: bool = False


@dataclass(frozen=True, slots=True)
class Dependency:
    """A patch needs another one: both touch these files, or lines of them."""

    patch: str
    needs: str
    files: tuple[str, ...]


def annotate(workspace: Workspace, path: str, given: str | None) -> tuple[Annotated, ...]:
    """The lines of a file as it stands in the checkout, or as the applied patches up to one make it."""
    below = layers(workspace)
    workspace.stack.require_top()
    names = workspace.stack.applied
    last = names.index(stack.find_applied(workspace.stack, given)) + 1 if given else len(below)
    objects = workspace.checkout.objects
    stands = rewrite.ground(workspace, last)
    tree = stands if given else edit.edits(workspace, ())
    node = objects.node(tree, path)
    if node is None or node[0] not in (REGULAR, EXECUTABLE):
        raise PqError(f"{path} is no file of the checkout", hint="paths start at the checkout")
    lines = _lines(objects, tree, path)
    owners = tuple(_through(_lines(objects, stands, path), lines, _owners(workspace, below[:last], path), len(below)))
    return tuple(
        Annotated(None if owner in (None, len(below)) else names[owner], line, unrefreshed=owner == len(below))
        for owner, line in zip(owners, lines, strict=True)
    )


def dependencies(workspace: Workspace, *, by_lines: bool, context: int) -> tuple[Dependency, ...]:
    """What each applied patch needs, by files or by lines that are at most `context` lines apart."""
    below, names = layers(workspace), workspace.stack.applied
    objects = workspace.checkout.objects
    found: dict[tuple[int, int], set[str]] = {}
    touched = [set(objects.difference(layer.before, layer.tree)) for layer in below]
    for number, layer in enumerate(below):
        for path in touched[number]:
            needed = (
                _needed(workspace, below[:number], layer, path, context)
                if by_lines
                else {other for other in range(number) if path in touched[other]}
            )
            for other in needed:
                found.setdefault((number, other), set()).add(path)
    return tuple(Dependency(names[one], names[other], tuple(sorted(files))) for (one, other), files in sorted(found.items()))


def reduced(found: Sequence[Dependency]) -> tuple[Dependency, ...]:
    """The dependencies that do not follow from others."""
    needs: dict[str, set[str]] = {}
    for each in found:
        needs.setdefault(each.patch, set()).add(each.needs)

    reached: dict[str, set[str]] = {}
    for each in found:  # a patch needs only what stands below it, and the lower ones come first
        steps = needs[each.patch]
        reached.setdefault(each.patch, steps.union(*(reached.get(step, set()) for step in steps)))
    return tuple(
        each for each in found if not any(each.needs in reached.get(step, ()) for step in needs[each.patch] - {each.needs})
    )


def absorb(workspace: Workspace, paths: Sequence[str], tell: Tell) -> Ending:
    """Put each edit into the applied patch that its lines come from. What comes from none, or can't be carried there, stays."""
    with workspace.locked(tell):
        old = layers(workspace)
        top = edit.edits(workspace, ())
        workspace.stack.require_top()
        if top == old[-1].tree:
            raise NothingToDo("There are no unrefreshed changes")
        edited = edit.edits(workspace, paths)
        owned = _owned(workspace, old, edited)
        made, taken, absorbed = old, old[-1].tree, list[int]()
        for owner in sorted({number for edits in owned.values() for number, _ in edits}):
            tree = _with_edits(workspace.checkout.objects, old[-1].tree, owned, {*absorbed, owner})
            moved = edit.refreshed(workspace, made[owner:], tree)
            if not isinstance(moved, Conflict):
                made, taken = (*made[:owner], *moved), tree
                absorbed.append(owner)
        if not absorbed:
            raise NothingToDo("No unrefreshed change belongs to an applied patch")
        first = absorbed[0]
        queue = rewrite.queue_changes(workspace, workspace.series, made[first:])
        outcome = carry_out(workspace, Plan(first, made[first:], queue, taken, kept=True), tell)
        for number in absorbed:
            tell(events.Refreshed(made[number].entry.name, changed=True))
        rewrite.tell_carried(tell, [old[n] for n in range(first, len(old)) if n not in absorbed], made[first:])
        if left := tuple(sorted(workspace.checkout.objects.difference(taken, top))):
            tell(events.Left(left))
        return outcome


def _owned(workspace: Workspace, below: Sequence[Layer], edited: str) -> dict[str, list[tuple[int, Edit]]]:
    """The edits of text that stand in lines of a patch, by file, each with the number of the patch."""
    objects = workspace.checkout.objects
    head = below[-1].tree
    found: dict[str, list[tuple[int, Edit]]] = {}
    for path, (old, new) in objects.difference(head, edited).items():
        if old is None or new is None or SYMLINK in (old[0], new[0]):
            continue
        owners = _owners(workspace, below, path)
        for change in _edits(_lines(objects, head, path), _lines(objects, edited, path)):
            around = owners[change.start : change.stop] or owners[max(change.start - 1, 0) : change.start + 1]
            if mine := [owner for owner in around if owner is not None]:
                found.setdefault(path, []).append((max(mine), change))
    return found


def _with_edits(objects: Objects, tree: str, owned: dict[str, list[tuple[int, Edit]]], owners: set[int]) -> str:
    """A tree with those edits made that belong to these patches."""
    nodes: dict[str, Node | None] = {}
    for path, edits in owned.items():
        lines, here, out = _lines(objects, tree, path), 0, list[bytes]()
        for owner, change in edits:
            if owner in owners:
                out += [*lines[here : change.start], *change.lines]
                here = change.stop
        node = objects.node(tree, path)
        assert node is not None
        nodes[path] = (node[0], objects.write("blob", b"".join((*out, *lines[here:]))))
    return objects.edit(tree, nodes)


def _needed(workspace: Workspace, below: Sequence[Layer], layer: Layer, path: str, context: int) -> set[int]:
    """The patches that the lines come from which a patch changes in a file, or stands beside."""
    objects = workspace.checkout.objects
    if objects.node(layer.before, path) is None:
        return set()
    owners = _owners(workspace, below, path)
    changes = _edits(_lines(objects, layer.before, path), _lines(objects, layer.tree, path))
    near = (owners[max(change.start - context, 0) : change.stop + context] for change in changes)
    return {owner for part in near for owner in part if owner is not None}


def _owners(workspace: Workspace, below: Sequence[Layer], path: str) -> Owners:
    """Where the lines of a file come from that these layers make."""
    objects = workspace.checkout.objects
    names = [path]
    for layer in reversed(below):
        moved = {new: old for old, new in carry.renames(workspace.parse(layer.entry, layer.content))}
        names.append(moved.get(names[-1], names[-1]))
    names.reverse()
    owners: list[int | None] = [None] * len(_lines(objects, below[0].before, names[0])) if below else []
    for number, layer in enumerate(below):
        before, after = _lines(objects, layer.before, names[number]), _lines(objects, layer.tree, names[number + 1])
        owners = list(_through(before, after, owners, number))
    return tuple(owners)


def _through(before: Lines, after: Lines, owners: Sequence[int | None], number: int) -> Iterator[int | None]:
    for word, old_start, old_stop, new_start, new_stop in PatienceSequenceMatcher(None, before, after).get_opcodes():
        if word == "equal":
            yield from owners[old_start:old_stop]
        else:
            yield from [number] * (new_stop - new_start)


def _edits(before: Lines, after: Lines) -> Iterator[Edit]:
    for word, old_start, old_stop, new_start, new_stop in PatienceSequenceMatcher(None, before, after).get_opcodes():
        if word != "equal":
            yield Edit(old_start, old_stop, after[new_start:new_stop])


def _lines(objects: Objects, tree: str, path: str) -> Lines:
    node = objects.node(tree, path)
    return split_lines(objects.read(node[1])) if node is not None and node[0] != SYMLINK else ()
