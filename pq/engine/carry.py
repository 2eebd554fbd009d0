"""Layers of the stack on other ground: each patch is carried over by three-way from what it stood on, written anew if it changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pq.core import patch_reader, render
from pq.core.ledger import Outcome
from pq.core.lines import is_blob
from pq.core.patch import Action, FilePatch, Patch
from pq.core.placement import Reason
from pq.core.render import FileChange
from pq.core.series import Entry
from pq.core.tree import File
from pq.engine.apply import Bases, Failed, apply_patch
from pq.engine.workspace import Workspace
from pq.repo.objects import GitTree, Objects


@dataclass(frozen=True, slots=True)
class Layer:
    """A patch on the stack: its entry, the bytes of its file, the trees below and with it, and the fuzz that it took."""

    entry: Entry
    content: bytes
    before: str
    tree: str
    fuzz: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """What does not fit on the tree `ground`: a patch, or the edits (None), that made `tree` of `before`.

    `below` are the layers that were carried before it came to that. Without `change` and `failed` it fits, but makes something else.
    `renamed` says what files of the ground were called in `before`; `prove`: see `pq.core.place.place`.
    """

    patch: str | None
    before: str
    tree: str
    ground: str
    change: Patch | None = None
    failed: Failed | None = None
    below: tuple[Layer, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    prove: bool = False

    @property
    def outcome(self) -> Outcome:
        """What to call it: what all of it adds may be there, in other words."""
        refusals = self.failed.refusals if self.failed is not None else ()
        there = bool(refusals) and all(each.refused.reason is Reason.THERE for each in refusals)
        return Outcome.CHANGED if there else Outcome.CONFLICT


def carry(workspace: Workspace, layers: Sequence[Layer], ground: str, *, goal: str | None = None) -> tuple[Layer, ...] | Conflict:
    """The layers on another tree. A patch that makes the same of the same files keeps its bytes.

    `goal` is the tree that they make together, where that is known: of the last one nobody has to be asked what it is then, where it
    does not fit, or where the user settled a conflict of one below it.
    """
    carried: list[Layer] = []
    for layer in layers:
        renamed = renames(workspace.parse(layer.entry, layer.content)) if layer.before != ground else ()
        tree = carry_change(workspace, layer.entry.name, layer.before, layer.tree, ground, renames=renamed)
        if goal not in (None, tree) and layer is layers[-1]:
            known = isinstance(tree, Conflict) or workspace.resumed is not None
            tree = goal if known and goal is not None else Conflict(layer.entry.name, layer.before, layer.tree, ground)
        if isinstance(tree, Conflict):
            return replace(tree, below=tuple(carried))
        moved = _moved(workspace, layer, ground, tree)
        carried.append(moved)
        ground = tree
    return tuple(carried)


def carry_change(
    workspace: Workspace, patch: str | None, before: str, tree: str, ground: str, *, renames: Iterable[tuple[str, str]] = ()
) -> str | Conflict:
    """The tree that a patch, or the edits (None), made of `before`, made of `ground` instead. What is there already is left out."""
    if before == ground:
        return tree
    known = workspace.resumed.known if workspace.resumed is not None else {}
    if (before, tree, ground) in known:
        return known[before, tree, ground]
    change = as_patch(workspace.checkout.objects, before, tree, renames=renames)
    outcome = apply_on(workspace, change, made_for=before, ground=ground)
    if isinstance(outcome, Failed) and (left := without(change, outcome, Reason.LANDED)) != change:
        change = left
        outcome = apply_on(workspace, change, made_for=before, ground=ground)
    return Conflict(patch, before, tree, ground, change, outcome) if isinstance(outcome, Failed) else outcome


def without(change: Patch, failed: Failed, *reasons: Reason) -> Patch:
    """A patch without the files that were refused for these reasons, or for any."""
    refused = {refusal.path for refusal in failed.refusals if not reasons or refusal.refused.reason in reasons}
    return replace(change, files=tuple(file for file in change.files if (file.old_path or file.path) not in refused))


def apply_on(workspace: Workspace, patch: Patch, *, made_for: str | None, ground: str, prove: bool = False) -> str | Failed:
    """The tree that a patch, which was made for one tree, makes of another; None: nothing is known of what it was made for."""
    objects = workspace.checkout.objects

    def base(file: FilePatch) -> bytes | None:
        return objects.find_blob(file.old_id) if file.old_id else None

    tree = GitTree(objects, ground)
    known = base if made_for is None else bases(objects, made_for)
    outcome = apply_patch(tree, patch, base=known, prove=prove)
    return outcome if isinstance(outcome, Failed) else tree.with_changes(outcome.changes).oid


def bases(objects: Objects, made_for: str, renamed: Mapping[str, str] | None = None) -> Bases:
    """What the files of a patch were in the tree that it was made for; `renamed` says what they were called there."""
    below, names = GitTree(objects, made_for), renamed or {}

    def base(file: FilePatch) -> bytes | None:
        found = (below.get(names.get(path, path)) for path in (file.old_path, file.new_path) if path is not None)
        return next((each.content for each in found if each is not None), None)

    return base


def stands(workspace: Workspace, layer: Layer) -> bool:
    """Whether the file of a patch says where it stands: its text alone makes the same of what is below it."""
    tree = GitTree(workspace.checkout.objects, layer.before)
    outcome = apply_patch(tree, workspace.parse(layer.entry, layer.content))
    return not isinstance(outcome, Failed) and tree.with_changes(outcome.changes).oid == layer.tree


def names_its_base(workspace: Workspace, layer: Layer) -> bool:
    """Whether the index lines of a patch, where it has them, name the files that stand below it."""
    below = GitTree(workspace.checkout.objects, layer.before)
    changes = workspace.parse(layer.entry, layer.content).files
    said = ((each.old_id, below.get(each.old_path)) for each in changes if each.old_path is not None and each.old_id)
    return all(file is not None and is_blob(file.content, oid) for oid, file in said)


def as_patch(objects: Objects, before: str, after: str, *, renames: Iterable[tuple[str, str]] = ()) -> Patch:
    """What differs between two trees, as a patch."""
    return patch_reader.read(diff(objects, before, after, renames=renames), file="the edits")


def rewritten(
    workspace: Workspace, entry: Entry, content: bytes, before: str, after: str, *, moved: Iterable[tuple[str, str]] = ()
) -> bytes:
    """The file of a patch that is what differs between two trees: its text stays, its renames do, and `moved` are more of these."""
    patch = workspace.parse(entry, content)
    header = patch.header if patch.header.endswith(b"\n") or not patch.header else patch.header + b"\n"
    return header + diff(workspace.checkout.objects, before, after, renames=[*renames(patch), *moved])


def renames(patch: Patch) -> tuple[tuple[str, str], ...]:
    """The old and the new path of every file that a patch renames."""
    moved = (file for file in patch.files if file.action is Action.RENAME)
    return tuple((file.old_path, file.new_path) for file in moved if file.old_path is not None and file.new_path is not None)


def diff(
    objects: Objects,
    before: str,
    after: str,
    *,
    renames: Iterable[tuple[str, str]] = (),
    only: Iterable[str] | None = None,
) -> bytes:
    """The diff of two trees, or of some paths of them. A file that went, and one that came with the same content, are a rename."""
    changes = objects.difference(before, after)
    if only is not None:
        wanted = set(only)
        changes = {path: change for path, change in changes.items() if path in wanted}
    gone = {path: old for path, (old, new) in changes.items() if new is None}
    come = {path: new for path, (old, new) in changes.items() if old is None}
    moves: dict[str, str] = {}
    for old, new in renames:
        if old in gone and new in come and old not in moves.values():
            moves[new] = old
    for path, node in sorted(come.items()):
        sources = [old for old, left in sorted(gone.items()) if left == node and old not in moves.values()]
        if path not in moves and sources and node is not None and objects.read(node[1]):
            moves[path] = sources[0]

    def file(path: str, side: int) -> File | None:
        node = changes[path][side]
        return None if node is None else File(node[0], objects.read(node[1]))

    moved = set(moves.values())
    return render.render(
        FileChange(moves.get(path, path), path, file(moves.get(path, path), 0), file(path, 1))
        for path in changes
        if path not in moved
    )


def _moved(workspace: Workspace, layer: Layer, ground: str, tree: str) -> Layer:
    if (layer.before, layer.tree) == (ground, tree):
        return layer
    objects = workspace.checkout.objects
    if objects.difference(layer.before, layer.tree) == objects.difference(ground, tree):
        return replace(layer, before=ground, tree=tree)
    return Layer(layer.entry.forward(), rewritten(workspace, layer.entry, layer.content, ground, tree), ground, tree)
