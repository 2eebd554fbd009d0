"""forecast: what would become of every patch on every fetched release. In memory: neither the checkout nor the queue is touched."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

from pq.core import paths
from pq.core.ledger import Outcome
from pq.core.patch import Patch
from pq.engine import rebase, releases, remembered
from pq.engine.apply import Failed
from pq.engine.carry import Conflict, Layer
from pq.engine.lost import Lost, Trees, lost
from pq.engine.onto import Renames, change_of, onto
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError
from pq.repo.objects import Node
from pq.upstream import versions

_ALONE = 4
"""So many patches on so many releases, multiplied, are not worth a second process."""
_SHARE = 4
"""Groups of patches, for each process, from which on each group is one's own."""

Nodes = Mapping[str, Node | None]


@dataclass(frozen=True, slots=True)
class Cell:
    """What would become of a patch on a release, what else there is to say, and, where it does not fit, why and what is gone."""

    patch: str
    release: str
    outcome: Outcome
    note: str = ""
    failed: Failed | None = None
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cells, release by release, in the order of the series."""

    series: str
    pin: str
    patches: tuple[str, ...]
    releases: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def conflicts(self) -> tuple[Cell, ...]:
        """Where somebody has to look."""
        return tuple(cell for cell in self.cells if cell.outcome.stops)

    def of(self, patch: str) -> tuple[Cell, ...]:
        """The cells of one patch."""
        return tuple(cell for cell in self.cells if cell.patch == patch)


def forecast(workspace: Workspace, given: Sequence[str]) -> Forecast:
    """All patches of the series on these releases, or on all that are fetched and later than the pin.

    Raises NothingToDo where there is no such release or no patch, PqError where a patch does not belong on its own release.
    """
    pin = workspace.pin.release
    given = [releases.name_of(workspace, each) for each in given]
    names = versions.ordered(given) or tuple(dict.fromkeys(given)) or releases.fetched_since(workspace, pin)
    if not names:
        raise NothingToDo(f"No release behind {pin} is fetched", hint=f"pq fetch --all-since {pin}")
    layers = rebase.standing(workspace)
    if not layers:
        raise NothingToDo("No patches in series")
    fetched = dict.fromkeys((*names, *releases.fetched_since(workspace, pin)))
    commits = {name: workspace.checkout.release(name) for name in dict.fromkeys((*versions.ordered(fetched), *fetched))}
    trees = {name: workspace.checkout.read_commit(commit).tree for name, commit in commits.items() if commit is not None}
    missing = [name for name in names if name not in trees]
    if missing:
        raise PqError(f"Release {missing[0]} is not fetched", hint=f"pq fetch {missing[0]}")
    seer = _Seer(workspace, layers, tuple(trees.items()))
    found = {(cell.patch, cell.release): cell for cell in seer.cells(names)}
    patches = tuple(layer.entry.name for layer in layers)
    cells = tuple(found[patch, name] for name in names for patch in patches)
    return Forecast(workspace.queue.series_name, pin, patches, names, cells)


@dataclass(frozen=True)
class _Seer:
    """Looks at patches on releases, in as many processes as there are processors: they share what this one has read.

    Patches that have no file in common have nothing to do with one another. So a process takes some that have, and goes through the
    releases with them: most of what it reads, and much of what it finds, is the same on the next one.
    """

    workspace: Workspace
    layers: Sequence[Layer]
    trees: Trees
    _changes: dict[int, Patch] = field(default_factory=dict)
    _renames: dict[str, Renames] = field(default_factory=dict)
    _seen: dict[object, tuple[Cell, Nodes]] = field(default_factory=dict)

    def cells(self, names: Sequence[str]) -> Iterator[Cell]:
        """What becomes of the patches on these releases."""
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        groups = sorted(self._groups(), key=self._size, reverse=True)  # what takes longest is begun first
        tasks = [(group, names) for group in groups]
        if len(groups) < count * _SHARE:
            tasks = [(group, (name,)) for group in groups for name in names]
        if count == 1 or len(self.layers) * len(names) <= _ALONE:
            for task in tasks:
                yield from self.look(*task)
            return
        global _seer  # noqa: PLW0603 - what a forked process is to have can't be passed on: pygit2's objects are no values
        _seer = self
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork"), initializer=_begin) as pool:
            for found in pool.map(_look, tasks):
                yield from found

    def look(self, group: Sequence[int], names: Sequence[str]) -> tuple[Cell, ...]:
        """The cells of some patches on these releases. A patch that does not fit is left out for those above it."""
        return tuple(cell for name in names for cell in self._on(group, name))

    def _groups(self) -> list[list[int]]:
        """The patches by number, those together that have files in common."""
        groups: list[tuple[set[str], list[int]]] = []
        for number, differences in enumerate(self._differences):
            common = [group for group in groups if not group[0].isdisjoint(differences)]
            groups = [group for group in groups if group not in common]
            numbers = sorted([number, *(one for group in common for one in group[1])])
            groups.append((set(differences).union(*(group[0] for group in common)), numbers))
        return [numbers for _, numbers in groups]

    def _size(self, group: Sequence[int]) -> int:
        """How much there is to read of the files of some patches, in bytes."""
        nodes = (was for number in group for was, _ in self._differences[number].values() if was is not None)
        return sum(len(self.workspace.checkout.objects.read(oid)) for _, oid in nodes)

    @cached_property
    def _differences(self) -> Sequence[Mapping[str, tuple[Node | None, Node | None]]]:
        """The files that each patch changes: what was there, and what is."""
        objects = self.workspace.checkout.objects
        return [objects.difference(layer.before, layer.tree) for layer in self.layers]

    def _change(self, number: int) -> Patch:
        if number not in self._changes:
            self._changes[number] = change_of(self.workspace, self.layers[number])
        return self._changes[number]

    def _on(self, group: Sequence[int], name: str) -> Iterator[Cell]:
        objects, ground = self.workspace.checkout.objects, dict(self.trees)[name]
        if name not in self._renames:
            pin = self.workspace.checkout.read_commit(self.workspace.pin_commit).tree
            touched = frozenset(path for each in self._differences for path, (was, _) in each.items() if was is not None)
            self._renames[name] = Renames(objects, pin, ground, touched)
        renames = self._renames[name]
        for number in group:
            key = (number, *self._ground(number, renames, ground))
            if key not in self._seen:
                self._seen[key] = self._cell(number, renames, name, ground)
            cell, changes = self._seen[key]
            ground = objects.edit(ground, dict(changes))
            yield replace(cell, release=name)

    def _ground(self, number: int, renames: Renames, tree: str) -> Iterator[object]:
        """All that a patch finds in a tree: what stands at its paths, old and new, and above them."""
        named = self._differences[number].keys()
        for path in sorted(named | {now for path in named if (now := renames.renamed(path)) is not None}):
            objects = self.workspace.checkout.objects
            yield path, objects.node(tree, path), tuple(objects.file(tree, above) for above in paths.above(path))

    def _cell(self, number: int, renames: Renames, name: str, ground: str) -> tuple[Cell, Nodes]:
        objects, patch = self.workspace.checkout.objects, self.layers[number].entry.name
        found = remembered.carried(self.workspace, onto(renames, patch, self.layers[number], self._change(number), ground))
        if not isinstance(found, Conflict):
            changes = {path: new for path, (_, new) in objects.difference(ground, found.tree).items()}
            return Cell(patch, name, found.outcome, found.note), changes
        assert found.failed is not None
        behind = [each for each in self.trees if each[0] != self.workspace.pin.release]
        behind = behind[: [each[0] for each in behind].index(name) + 1]
        gone = lost(objects, found.failed, behind, found.renamed, search=False)
        return Cell(patch, name, found.outcome, failed=found.failed, lost=gone), {}


_seer: _Seer


def _begin() -> None:
    gc.disable()  # syntax trees are many objects, none of which is garbage of that kind


def _look(task: tuple[Sequence[int], Sequence[str]]) -> tuple[Cell, ...]:
    return _seer.look(*task)
