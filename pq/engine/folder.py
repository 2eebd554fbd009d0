"""`pq apply`: patches onto a plain folder, by the same proof as push, all files or none (design, section 9a)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pq.checks import syntax
from pq.core.patch import SYMLINK, FilePatch, Patch
from pq.core.tree import File, Tree
from pq.engine import kept
from pq.engine.apply import Failed, apply_patch
from pq.engine.events import Ending, PatchEnding
from pq.engine.trees import FolderTree, Overlay


@dataclass(frozen=True, slots=True)
class Named:
    """A patch and the name it was given by."""

    name: str
    patch: Patch


def apply(
    folder: Path, patches: Sequence[Named], *, base: Tree | None, fuzz: int, only_check: bool, reverse: bool
) -> tuple[PatchEnding, ...]:
    """Apply patches in order to a folder, or none of them. The endings say why not.

    `patches` are as they are to be applied, reversed already where `reverse` says so: that is needed only to find what was kept.
    Raises NotClean where a symlink is in the way, OSError where the folder can't be written; nothing is changed then.
    """
    if not only_check:
        kept.recover(folder)
    key = _key(patches, reverse=reverse)
    if reverse and (found := kept.find(folder, key)) is not None:
        if not only_check:
            kept.replace(folder, found.before, None, copies=found.place / "before")
            kept.drop(found)
        return tuple(PatchEnding(named.name, Ending.APPLIED) for named in patches)
    tree = Overlay(FolderTree(folder))
    endings = _endings(tree, _Origin(base, reverse=reverse, patches=patches, fuzz=fuzz), patches, fuzz)
    if not only_check and tree.changes and all(ending.ending in (Ending.APPLIED, Ending.ALREADY) for ending in endings):
        kept.replace(folder, tree.changes, None if reverse else key)
    return endings


def _endings(tree: Overlay, origin: _Origin, patches: Sequence[Named], fuzz: int) -> tuple[PatchEnding, ...]:
    endings = []
    for number, named in enumerate(patches):
        outcome = apply_patch(tree, named.patch, base=origin.before(number), fuzz=fuzz)
        if isinstance(outcome, Failed):
            endings.append(PatchEnding(named.name, Ending.ALREADY if outcome.landed else Ending.CONFLICT, failed=outcome))
        else:
            faults = _faults(tree, outcome.changes)
            endings.append(PatchEnding(named.name, Ending.REJECTED if faults else Ending.APPLIED, outcome.placed, faults=faults))
            tree.changes.update(outcome.changes)
    return tuple(endings)


class _Origin:
    """What the patches were made against: the base, with the patches before each of them; made only where it is asked for.

    For patches that are taken back it is the base with all of them on it.
    """

    def __init__(self, base: Tree | None, *, reverse: bool, patches: Sequence[Named], fuzz: int) -> None:
        self._tree = None if base is None else Overlay(base)
        self._fuzz = fuzz
        self._patches = [named.patch for named in patches]
        self._made = [patch.reversed() for patch in reversed(self._patches)] if reverse else []
        self._done = 0

    def before(self, number: int) -> Callable[[FilePatch], bytes | None]:
        """Finds the files that the patch of this number was made against."""

        def base(file: FilePatch) -> bytes | None:
            if self._tree is None:
                return None
            due = [*self._made, *self._patches[:number]]
            for patch in due[self._done :]:
                made = apply_patch(self._tree, patch, fuzz=self._fuzz)
                self._tree.changes.update({} if isinstance(made, Failed) else made.changes)
            self._done = len(due)
            files = (self._tree.get(path) for path in (file.old_path, file.new_path) if path is not None)
            return next((found.content for found in files if found is not None), None)

        return base


def _faults(tree: Tree, changes: Mapping[str, File | None]) -> tuple[tuple[str, syntax.Fault], ...]:
    """Python files that no longer compile, but did."""
    found = []
    for path, file in changes.items():
        if file is None or not path.endswith(".py") or file.mode == SYMLINK:
            continue
        old = tree.get(path)
        fault = syntax.compile_fault(path, file.content)
        if fault and (old is None or syntax.compile_fault(path, old.content) is None):
            found.append((path, fault))
    return tuple(found)


def _key(patches: Sequence[Named], *, reverse: bool) -> str:
    """The same for patches and for the reverse of them."""
    digest = hashlib.sha256()
    for named in reversed(patches) if reverse else patches:
        digest.update(hashlib.sha256(named.patch.raw).digest())
    return digest.hexdigest()[:16]
