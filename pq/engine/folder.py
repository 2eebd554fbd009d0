"""`pq apply`: patches onto a plain folder, by the same proof as push, all files or none (design, section 9a)."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pq.checks import structure, syntax
from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.core import header
from pq.core.patch import FilePatch, Patch
from pq.core.tree import File, Tree
from pq.engine import events, kept
from pq.engine.apply import Failed, apply_patch
from pq.engine.events import Ending, PatchEnding, Tell
from pq.engine.trees import FolderTree, Overlay
from pq.errors import NotClean, PqError


@dataclass(frozen=True, slots=True)
class Named:
    """A patch, the name it was given by, and the -p that it was read with."""

    name: str
    patch: Patch
    strip: int = 1


def apply(
    folder: Path, patches: Sequence[Named], tell: Tell, *, base: Tree | None, fuzz: int, only_check: bool, reverse: bool
) -> tuple[PatchEnding, ...]:
    """Apply patches in order to a folder, or none of them. The endings say why not; of a reversed patch, ALREADY says that it is not applied.

    `patches` are as they are to be applied, reversed already where `reverse` says so: that is needed only to find what was kept.
    Raises NotClean where a symlink is in the way, OSError where the folder can't be written; nothing is changed then.
    """
    with contextlib.ExitStack() as held:
        if not only_check:
            held.enter_context(kept.locked(folder))
            if kept.recover(folder):
                tell(events.Recovered(back=True))
        elif kept.interrupted(folder):
            raise NotClean(f"an interrupted apply stands in {folder}", hint="pq apply without --check takes it back first")
        named_files = {path for named in patches for file in named.patch.files if (path := file.old_path) is not None}
        if base is not None and named_files and not any(map(base.get, named_files)):
            tell(events.BaseUnknown())
        key = _key(patches, reverse=reverse)
        tree = Overlay(FolderTree(folder))
        if reverse and (found := kept.find(folder, key)) is not None:
            if not only_check:
                kept.replace(folder, _pairs(tree, found.before), None, copies=found.place / "before")
                kept.drop(found)
            return tuple(PatchEnding(named.name, Ending.FITS if only_check else Ending.APPLIED) for named in patches)
        endings = _endings(tree, _Origin(base, reverse=reverse, patches=patches, fuzz=fuzz), patches, fuzz)
        if len(patches) > 1 and any(ending.ending is Ending.CONFLICT for ending in endings) and _all_there(folder, patches):
            return tuple(PatchEnding(named.name, Ending.ALREADY) for named in patches)
        if only_check or not all(ending.ending in (Ending.FITS, Ending.ALREADY) for ending in endings):
            return endings
        if tree.changes:
            all_new = all(ending.ending is Ending.FITS for ending in endings)
            kept.replace(folder, _pairs(tree, tree.changes), key if all_new and not reverse else None)
        return tuple(replace(each, ending=Ending.APPLIED) if each.ending is Ending.FITS else each for each in endings)


def _all_there(folder: Path, patches: Sequence[Named]) -> bool:
    """Whether all of several patches can be taken back, one after the other: then they are there, though the lower ones do not show."""
    tree = Overlay(FolderTree(folder))
    try:
        back = [named.patch.reversed() for named in reversed(patches)]
    except PqError:
        return False
    for patch in back:
        outcome = apply_patch(tree, patch)
        if isinstance(outcome, Failed):
            return False
        tree.changes.update(outcome.changes)
    return True


def _pairs(tree: Overlay, after: Mapping[str, File | None]) -> dict[str, tuple[File | None, File | None]]:
    """By path what was read from the folder, and what comes in its place."""
    unread = (path for path in after if path not in tree.seen)
    tree.seen.update({path: tree.lower.get(path) for path in unread})
    return {path: (tree.seen[path], file) for path, file in after.items()}


def _endings(tree: Overlay, origin: _Origin, patches: Sequence[Named], fuzz: int) -> tuple[PatchEnding, ...]:
    endings = []
    for number, named in enumerate(patches):
        outcome = apply_patch(tree, named.patch, base=origin.before(number), fuzz=fuzz)
        if isinstance(outcome, Failed):
            endings.append(PatchEnding(named.name, Ending.ALREADY if outcome.landed else Ending.CONFLICT, failed=outcome))
        else:
            allowed = header.allowed(named.patch.header)
            findings = tuple(each for each in _findings(tree, outcome.changes) if each.code not in allowed)
            ending = Ending.REJECTED if findings else Ending.FITS
            endings.append(PatchEnding(named.name, ending, outcome.placed, findings=findings))
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
        self._unknown: set[str | None] = set()

    def before(self, number: int) -> Callable[[FilePatch], bytes | None]:
        """Finds the files that the patch of this number was made against."""

        def base(file: FilePatch) -> bytes | None:
            if self._tree is None:
                return None
            due = [*self._made, *self._patches[:number]]
            for patch in due[self._done :]:
                made = apply_patch(self._tree, patch, fuzz=self._fuzz)
                if isinstance(made, Failed):  # so that what its files were is not known
                    self._unknown |= {path for each in patch.files for path in (each.old_path, each.new_path)}
                else:
                    self._tree.changes.update(made.changes)
            self._done = len(due)
            if {file.old_path, file.new_path} & (self._unknown - {None}):
                return None
            files = (self._tree.get(path) for path in (file.old_path, file.new_path) if path is not None)
            return next((found.content for found in files if found is not None), None)

        return base


def _findings(tree: Tree, changes: Mapping[str, File | None]) -> tuple[Finding, ...]:
    """What the changes newly break, or bring in though no file means it. Names are not looked for: a folder may be half a package."""
    files = [(path, file.content) for path, file in changes.items() if file is not None and syntax.is_python(path, file.mode)]

    def before(number: int) -> list[bytes]:
        """The file as it was; of a new one, all that went, since it may be one of these under another name."""
        old = tree.get(files[number][0])
        went = (tree.get(path) for path, file in changes.items() if file is None and path.endswith(".py"))
        return [file.content for file in ([old] if old is not None else went) if file is not None]

    broken = syntax.new_findings(files, before)
    odd = (
        structure.findings(Source(files[number][0], before(number), files[number][1]))
        for number in range(len(files))
        if number not in broken
    )
    return (*broken.values(), *itertools.chain.from_iterable(odd))


def _key(patches: Sequence[Named], *, reverse: bool) -> str:
    """The same for patches and for the reverse of them."""
    digest = hashlib.sha256()
    for named in reversed(patches) if reverse else patches:
        digest.update(hashlib.sha256(named.patch.raw).digest() + named.strip.to_bytes(2))
    return digest.hexdigest()[:16]
