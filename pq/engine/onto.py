"""One patch on another release: where it goes, and what becomes of it (design, section 9). In memory; nothing is changed by asking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pq.core.ledger import Outcome
from pq.core.lines import split_lines
from pq.core.patch import Action, FilePatch, Patch
from pq.core.placement import How, Landed, Placed, Reason
from pq.engine import carry
from pq.engine.apply import Applied, Failed, apply_patch
from pq.engine.carry import Conflict, Layer
from pq.engine.workspace import Workspace
from pq.repo.objects import GitTree, Objects


@dataclass(frozen=True, slots=True)
class Carried:
    """A patch on another release: the tree with it, what became of it, and what else there is to say."""

    tree: str
    outcome: Outcome
    note: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Renames:
    """What files that patches change (`touched`) are called in the tree `new` of a release; `old` is that of the one they were made for."""

    objects: Objects
    old: str
    new: str
    touched: frozenset[str]

    @cached_property
    def _found(self) -> Mapping[str, str]:
        return self.objects.renames(self.old, self.new, self.touched)

    def renamed(self, path: str) -> str | None:
        """What a file of the old release is called in the new one, if it has another name there."""
        return self._found.get(path)


def change_of(workspace: Workspace, layer: Layer) -> Patch:
    """What a layer changes, as a patch that pq would write."""
    patch = workspace.parse(layer.entry, layer.content)
    return carry.as_patch(workspace.checkout.objects, layer.before, layer.tree, renames=carry.renames(patch))


def touched(changes: Iterable[Patch]) -> frozenset[str]:
    """The files that patches change, by the names that they had."""
    return frozenset(file.old_path for change in changes for file in change.files if file.old_path is not None)


def onto(renames: Renames, name: str, layer: Layer, change: Patch, ground: str) -> Carried | Conflict:
    """A patch that stands between two trees, and changes this, on another tree. What is there already is left out."""
    objects = renames.objects
    if layer.before in (ground, layer.tree):  # there is no diff in it, perhaps
        return Carried(layer.tree if layer.before == ground else ground, Outcome.IDENTICAL)
    change, renamed = _followed(renames, change, ground)
    there: list[str] = []
    applied = _apply(objects, change, layer.before, ground, renamed)
    if isinstance(applied, Failed) and (left := carry.without(change, applied, Reason.LANDED)) != change:
        there = [file.path for file in change.files if file not in left.files]
        change = left
        applied = _apply(objects, change, layer.before, ground, renamed)
    if isinstance(applied, Failed):
        return Conflict(name, layer.before, layer.tree, ground, change, applied, renamed=renamed, prove=True)
    tree = GitTree(objects, ground).with_changes(applied.changes).oid
    if tree == ground:
        return Carried(tree, Outcome.LANDED, renamed=renamed)
    note = "; ".join(_notes(applied, there, renamed))
    return Carried(tree, _outcome(objects, layer, change, applied, ground, tree, whole=not there), note, renamed)


def _apply(objects: Objects, change: Patch, before: str, ground: str, renamed: Mapping[str, str]) -> Applied | Failed:
    return apply_patch(GitTree(objects, ground), change, base=carry.bases(objects, before, renamed))


def _followed(renames: Renames, change: Patch, ground: str) -> tuple[Patch, Mapping[str, str]]:
    """The change, about the files under the names that they have now; and these, with those that they had."""
    renamed: dict[str, str] = {}
    files = []
    for file in change.files:
        old = file.old_path
        now = renames.renamed(old) if old is not None and renames.objects.node(ground, old) is None else None
        if old is not None and now is not None and renames.objects.node(ground, now) is not None:
            renamed[now] = old
            file = replace(file, old_path=now, new_path=now if file.action is Action.MODIFY else file.new_path)
        files.append(file)
    return replace(change, files=tuple(files)), renamed


def _outcome(objects: Objects, layer: Layer, change: Patch, applied: Applied, ground: str, tree: str, *, whole: bool) -> Outcome:
    if any(placed.how is How.STRUCTURED for _, placed in applied.placed):
        return Outcome.STRUCTURED
    if objects.difference(layer.before, layer.tree) == objects.difference(ground, tree):
        return Outcome.IDENTICAL
    below, placed = GitTree(objects, ground), dict(applied.placed)
    return (
        Outcome.MOVED
        if whole and all(_has_moved(file, placed.get(file.path), below) for file in change.files)
        else Outcome.MERGED
    )


def _has_moved(file: FilePatch, placed: Placed | None, below: GitTree) -> bool:
    """Whether the hunks of a file find the lines that they had, wherever these stand now."""
    there = below.get(file.old_path) if file.old_path is not None else None
    lines = split_lines(there.content) if there is not None else ()
    starts = {hunk.hunk: hunk.line - 1 for hunk in placed.hunks if hunk.landed is Landed.NOT} if placed is not None else {}
    return all(
        hunk.number in starts and lines[starts[hunk.number] : starts[hunk.number] + len(hunk.old)] == hunk.old
        for hunk in file.hunks
    )


def _notes(applied: Applied, there: list[str], renamed: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{old} is {now} now" for now, old in renamed.items())
    yield from (f"all of {path} had landed" for path in there)
    for path, placed in applied.placed:
        for landed, word in ((Landed.WHOLE, ""), (Landed.PARTLY, "a part of ")):
            if numbers := _landed(placed, landed):
                yield f"{word}hunk{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} of {path} had landed"


def _landed(placed: Placed, landed: Landed) -> list[str]:
    return [str(hunk.hunk) for hunk in placed.hunks if hunk.landed is landed]
