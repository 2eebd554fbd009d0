"""One patch onto one tree, in memory: every file patch is placed, or none is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pq.core import paths
from pq.core.lines import is_blob
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK, Action, FilePatch, Patch
from pq.core.place import place
from pq.core.placement import How, Placed, Reason, Refused
from pq.core.tree import File, Tree

Bases = Callable[[FilePatch], bytes | None]
"""Finds the content that a file patch was made against, or None."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The files after the patch; None for one that is gone. `placed` says where the hunks stand, by path."""

    changes: dict[str, File | None]
    placed: tuple[tuple[str, Placed], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One file patch that does not belong here."""

    path: str
    refused: Refused


@dataclass(frozen=True, slots=True)
class Failed:
    """The patch does not belong here: every file patch that was refused, and how many were not."""

    refusals: tuple[Refusal, ...]
    fitting: int

    @property
    def landed(self) -> bool:
        """Whether all the patch does is there already."""
        return not self.fitting and all(refusal.refused.reason is Reason.LANDED for refusal in self.refusals)


_MODES = (REGULAR, EXECUTABLE, SYMLINK)


def no_base(_: FilePatch) -> None:
    """For a patch of which nothing is known."""


def apply_patch(tree: Tree, patch: Patch, *, base: Bases = no_base, fuzz: int = 0, prove: bool = True) -> Applied | Failed:
    """Place all file patches of `patch` on `tree`, which is not changed; `prove`: see `pq.core.place.place`."""
    work = _Work(tree, patch.files, prove=prove)
    refusals: list[Refusal] = []
    placed: list[tuple[str, Placed]] = []
    for file in patch.files:
        outcome = work.file(file, base, fuzz)
        if isinstance(outcome, Refused):
            refusals.append(Refusal(work.source(file) or file.path, outcome))
        else:
            placed.append((file.path, outcome))
    if refusals:
        return Failed(tuple(refusals), len(placed))
    return Applied(work.changes(), tuple(placed))


class _Work:
    """The files as the patch has left them so far. git's renames see the files before the patch, so that two can change places."""

    def __init__(self, tree: Tree, files: Sequence[FilePatch], *, prove: bool) -> None:
        self.tree = tree
        self.prove = prove
        self.written: dict[str, File] = {}
        self.gone: set[str] = set()
        self.leaving = {file.old_path for file in files if file.action in (Action.RENAME, Action.DELETE)}

    def changes(self) -> dict[str, File | None]:
        gone: dict[str, File | None] = dict.fromkeys(sorted(self.gone))
        return gone | self.written

    def source(self, file: FilePatch) -> str | None:
        """The path of the file that is to be patched: of two names in a plain patch, the one that exists."""
        if file.action in (Action.MODIFY, Action.DELETE):
            names = [name for name in (file.new_path, file.old_path) if name is not None]
            return next((name for name in names if self._get(name) is not None), names[0])
        return file.old_path

    def file(self, file: FilePatch, base: Bases, fuzz: int) -> Placed | Refused:
        source = self.source(file)
        target = source if file.action is Action.MODIFY else file.new_path
        if source is not None and (blocking := self._blocking(source, self.tree.get)):
            gone = file.action is Action.DELETE and blocking[1].mode != SYMLINK  # what is to go can't be below a file
            return Refused(Reason.LANDED) if gone else _unsafe(*blocking)
        if target is not None and (blocking := self._blocking(target, self._get)):
            return _unsafe(*blocking)
        old = self._before(file, source)
        if isinstance(old, Refused):
            return old
        if target is not None and file.action is not Action.MODIFY and (refused := self._in_the_way(file, target)):
            return refused
        placed = _content(file, old, base, fuzz, prove=self.prove)
        if isinstance(placed, Refused) and placed.reason is Reason.LANDED and old is not None and _changes_mode(file, old):
            placed = Placed(old.content, How.RECORDED, ())  # the content is there, the mode is not
        if isinstance(placed, Refused):
            return placed
        if target is None and placed.content:
            return Refused(Reason.DIFFERS, detail="the file holds more than the patch removes")
        self._write(file, old, source, target, placed.content)
        return placed

    def _before(self, file: FilePatch, source: str | None) -> File | Refused | None:
        if file.action is Action.CREATE or source is None:
            return None
        old = self.tree.get(source) if file.action in (Action.RENAME, Action.COPY) else self._get(source)
        if old is None:
            gone = file.action is Action.DELETE or (file.action is Action.RENAME and self._was_renamed(file))
            return Refused(Reason.LANDED if gone else Reason.MISSING)
        if old.mode not in _MODES:
            return Refused(Reason.DIFFERS, detail="neither a file nor a symlink stands there")
        if (old.mode == SYMLINK) != ((file.old_mode or old.mode) == SYMLINK):
            return Refused(Reason.DIFFERS, detail="one is a symlink, the other a file")
        return old

    def _was_renamed(self, file: FilePatch) -> bool:
        """Whether what stands under the new name can be taken back by the patch."""
        there = self._get(file.path)
        if there is None or (file.new_mode is not None and there.mode != file.new_mode):
            return False
        if not file.hunks and file.binary is None:
            return True
        if file.binary is not None:
            return bool(file.new_id) and is_blob(there.content, file.new_id)
        return isinstance(place(file.reversed(), there.content), Placed)

    def _in_the_way(self, file: FilePatch, target: str) -> Refused | None:
        """What already stands where the patch puts a new file."""
        there = self._get(target)
        if there is None and self._holds_files(target):
            return Refused(Reason.EXISTS, detail=f"a folder, {target},")
        if there is None or (target in self.leaving and target not in self.written):
            return None
        mode = there.mode if file.new_mode is None and there.mode != SYMLINK else file.new_mode or REGULAR
        if file.action is Action.CREATE and there == File(mode, _new_content(file)):
            return Refused(Reason.LANDED)
        if file.action is Action.CREATE and not file.git and there == File(REGULAR, b""):
            return None
        return Refused(Reason.EXISTS, detail=f"another file, {target},")

    def _write(self, file: FilePatch, old: File | None, source: str | None, target: str | None, content: bytes) -> None:
        if source is not None and file.action in (Action.RENAME, Action.DELETE):
            self.gone.add(source)
            if file.action is Action.DELETE:
                self.written.pop(source, None)
        if target is not None:
            self.written[target] = File(_mode(file, old), content)

    def _get(self, path: str) -> File | None:
        if path in self.written:
            return self.written[path]
        return None if path in self.gone else self.tree.get(path)

    def _holds_files(self, path: str) -> bool:
        """Whether a folder stands at the path with a file in it that the patch does not take away."""
        kept = (each for each in self.tree.below(path) if each not in self.gone and each not in self.leaving)
        return any(kept) or any(each.startswith(f"{path}/") for each in self.written)

    def _blocking(self, path: str, get: Callable[[str], File | None]) -> tuple[str, File] | None:
        """The file or symlink that stands where the path needs a folder (law 9)."""
        found = ((above, get(above)) for above in paths.above(path) if above not in self.leaving)
        return next(((above, there) for above, there in found if there is not None), None)


def _unsafe(above: str, there: File) -> Refused:
    return Refused(Reason.UNSAFE, detail=f"{above} is {'a symlink' if there.mode == SYMLINK else 'a file'}")


def _changes_mode(file: FilePatch, old: File) -> bool:
    """Whether the patch says that the mode changes, and it has not."""
    return file.new_mode not in (None, file.old_mode) and old.mode != file.new_mode


def _mode(file: FilePatch, old: File | None) -> int:
    """The mode afterwards. One that an `index` line merely mentions is no change: git apply leaves the file's own alone, too."""
    if old is not None and file.new_mode in (None, file.old_mode):
        return old.mode
    return file.new_mode or REGULAR


def _content(file: FilePatch, old: File | None, base: Bases, fuzz: int, *, prove: bool) -> Placed | Refused:
    now = old.content if old is not None else b""
    if file.binary is not None:
        return _binary(file, now)
    if not file.hunks:
        if old is not None and file.action is Action.MODIFY and file.new_mode == old.mode:
            return Refused(Reason.LANDED)
        named = file.action is Action.DELETE and is_blob(now, file.old_id)
        return Placed(b"" if named else now, How.RECORDED, ())
    if file.action is Action.CREATE:
        return place(file, b"", fuzz=0)
    known = None if is_blob(now, file.old_id) else base(file)
    return place(file, now, base=known, fuzz=fuzz, prove=prove)


def _binary(file: FilePatch, now: bytes) -> Placed | Refused:
    """A binary change is made only to the content that it was made for."""
    assert file.binary is not None
    if file.new_id and is_blob(now, file.new_id):
        return Refused(Reason.LANDED)
    if file.old_id and not is_blob(now, file.old_id):
        return Refused(Reason.DIFFERS, detail="the binary file is not the one that the patch was made for")
    try:
        new = file.binary.forward.apply(now)
    except ValueError as error:
        return Refused(Reason.DIFFERS, detail=str(error))
    if file.new_id and not is_blob(new, file.new_id):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    return Placed(new, How.RECORDED, ())


def _new_content(file: FilePatch) -> bytes:
    if file.binary is not None:
        return file.binary.forward.apply(b"") if file.binary.forward.literal else b""
    return b"".join(line for hunk in file.hunks for line in hunk.new)
