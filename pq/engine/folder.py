"""`pq apply`: patches onto a plain folder, by the same proof as push, all files or none (design, section 9a).

What was there is kept, so that `-R` brings exactly it back: in `.pq/<digest of the patches>/` of the folder while the patches are
applied, and then in the user's state folder, so that the folder holds nothing but its own files (there it stays where that can't be
written to)::

    record.json    {"state": "pending" | "applied", "files": {<path>: {"before": <id or null>, "mode": <mode>, "after": <id or null>}}}
    before/<path>  the content before

`pending` is written, synced, before the first file is replaced and becomes `applied` behind the last: the next `pq apply` in
the folder takes back what an interrupted one left. Bytecode of changed files is dropped, since file times may lie.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from pq.checks import syntax
from pq.core import paths
from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK, FilePatch, Patch
from pq.core.tree import File, Tree
from pq.engine.apply import Failed, apply_patch
from pq.engine.events import Ending, PatchEnding
from pq.errors import NotClean, PqError

_KEPT = ".pq"
_BACK = "back"
_OURS = re.compile(r"[0-9a-f]{16}|back")
_SUFFIX = ".pq-new"


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A plain folder as a tree. A path that leads through a symlink is not in it."""

    root: Path

    def get(self, path: str) -> File | None:
        """The file at a path."""
        place = self.root / path
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return File(SYMLINK, os.fsencode(os.readlink(place)))
        if not stat.S_ISREG(status.st_mode):
            return None
        return File(EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR, place.read_bytes())

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path."""
        place = self.root / path
        return place.is_dir() and not place.is_symlink()


@dataclass(slots=True)
class WheelTree:
    """The files in a wheel as a tree, read when the first is asked for: a file that is its patch's own base needs none.

    A path that is not in it is looked for without its first component, too. Raises PqError where it is no wheel.
    """

    place: Path
    _read: Mapping[str, bytes] | None = None

    def get(self, path: str) -> File | None:
        """The file at a path."""
        files = self._files()
        content = files.get(path, files.get(path.partition("/")[2]))
        return None if content is None else File(REGULAR, content)

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path."""
        return any(name.startswith(f"{path}/") for name in self._files())

    def _files(self) -> Mapping[str, bytes]:
        if self._read is None:
            try:
                with zipfile.ZipFile(self.place) as archive:
                    self._read = {member.filename: archive.read(member) for member in archive.infolist() if not member.is_dir()}
            except (OSError, zipfile.BadZipFile) as error:
                raise PqError(f"{self.place} can't be read as a wheel: {error}") from None
        return self._read


def wheel_tree(place: Path) -> WheelTree:
    """The tree of a wheel."""
    return WheelTree(place)


@dataclass(slots=True)
class Overlay:
    """A tree with changes on top that are nowhere but in memory."""

    below: Tree
    changes: dict[str, File | None] = field(default_factory=dict)

    def get(self, path: str) -> File | None:
        """The file at a path."""
        return self.changes[path] if path in self.changes else self.below.get(path)

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path."""
        return any(
            file is not None and name.startswith(f"{path}/") for name, file in self.changes.items()
        ) or self.below.is_folder(path)


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
    Raises NotClean where the folder changes meanwhile, OSError where it can't be written; nothing is changed then.
    """
    if not only_check:
        recover(folder)
    key = _key(patches, reverse=reverse)
    if reverse and (kept := _kept(folder, key)) is not None:
        if not only_check:
            _replace(folder, kept.before, None, copies=kept.place / "before")
            shutil.rmtree(kept.place)
            _drop_empty(kept.place.parent)
        return tuple(PatchEnding(named.name, Ending.APPLIED) for named in patches)
    tree = Overlay(FolderTree(folder))
    endings = _endings(tree, _Origin(base, reverse=reverse, patches=patches, fuzz=fuzz), patches, fuzz)
    if not only_check and tree.changes and all(ending.ending in (Ending.APPLIED, Ending.ALREADY) for ending in endings):
        _replace(folder, tree.changes, None if reverse else key)
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


@dataclass(frozen=True, slots=True)
class _Record:
    """What record.json says: whether the apply was interrupted, and by path "before", "mode" and "after"."""

    pending: bool
    files: Mapping[str, Mapping[str, object]]


# -- writing ------------------------------------------------------------------------------------------------------


def recover(folder: Path) -> bool:
    """Take back what an interrupted apply left in a folder; whether there was anything."""
    found = False
    for kept in sorted((folder / _KEPT).glob("*")):
        if not _OURS.fullmatch(kept.name) or not kept.is_dir():
            continue
        record = kept / "record.json"
        content = _read_record(record)
        if content is None and record.exists():
            raise NotClean(f"{record} can't be read", hint=f"what was there before is in {kept / 'before'}; then remove {kept}")
        if content is not None and content.pending:
            _require_back(folder, kept, _take_back(folder, kept, content.files))
            found = True
        elif content is None or kept.name == _BACK:  # nothing was changed yet, or all of it is done
            shutil.rmtree(kept)
        else:
            _put_away(folder, kept)
        _drop_empty(folder / _KEPT)
    return found


def _require_back(folder: Path, kept: Path, left: Sequence[str]) -> None:
    """Drop what was kept, unless it is still needed."""
    if left:
        raise NotClean(
            f"an interrupted apply can't be taken back in {', '.join(left)}",
            hint=f"what was there before is in {kept / 'before'}; put it back by hand, then remove {kept}",
        )
    shutil.rmtree(kept, ignore_errors=True)
    _drop_empty(folder / _KEPT)


def _replace(folder: Path, changes: Mapping[str, File | None], key: str | None, *, copies: Path | None = None) -> None:
    """Write all changes, or, if one can't be written, none. With a key, what was there is kept under it.

    Files of which `copies` has a copy get its permissions. What goes, goes first: a folder may be where a file comes.
    """
    kept = folder / _KEPT / (key or _BACK)
    shutil.rmtree(kept, ignore_errors=True)
    tree = FolderTree(folder)
    files: dict[str, Mapping[str, object]] = {}
    try:
        kept.parent.mkdir(exist_ok=True)
        kept.mkdir(mode=0o700)  # a copy is no easier to read than its file
        for path, after in changes.items():
            before = tree.get(path)
            _require_no_symlink(folder, path)
            files[path] = {
                "before": None if before is None else blob_id(before.content),
                "mode": REGULAR if before is None else before.mode,
                "after": None if after is None else blob_id(after.content),
            }
            if before is not None:
                place = kept / "before" / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(before.content)
                if before.mode != SYMLINK:
                    place.chmod(stat.S_IMODE((folder / path).stat().st_mode) | stat.S_IRUSR)
        _write_record(kept, "pending", files)
        for path, after in sorted(changes.items(), key=lambda change: change[1] is not None):
            _put(folder, path, after, copy=copies / path if copies else None)
        _write_record(kept, "applied", files)
    except BaseException:
        _require_back(folder, kept, _take_back(folder, kept, files))
        raise
    if key is None:
        shutil.rmtree(kept)
    else:
        _put_away(folder, kept)
    _drop_empty(folder / _KEPT)


def _put(folder: Path, path: str, file: File | None, *, copy: Path | None = None) -> None:
    """Put a file in its place by one rename, or take it away; with the permissions of the copy, if there is one."""
    place = folder / path
    if file is None:
        place.unlink(missing_ok=True)
        for above in place.parents:
            if above == folder or not _drop_empty(above):
                break
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            for below in sorted(place.rglob("*"), reverse=True):
                _drop_empty(below)
            _drop_empty(place)
        temporary = place.with_name(f".{place.name[:200]}{_SUFFIX}")
        temporary.unlink(missing_ok=True)
        try:
            if file.mode == SYMLINK:
                os.symlink(file.content, os.fsencode(temporary))
            else:
                _write_like(copy if copy and copy.is_file() else place, temporary, file)
            os.replace(temporary, place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    for stale in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        stale.unlink()


def _write_like(place: Path, temporary: Path, file: File) -> None:
    """Write the content with the permissions of the file at a place, the executable bits as the patch has them."""
    temporary.write_bytes(file.content)
    if place.is_file() and not place.is_symlink():
        mode = stat.S_IMODE(place.stat().st_mode)
        readable = (mode & 0o444) >> 2
        temporary.chmod(mode | readable if file.mode == EXECUTABLE else mode & ~0o111)
    elif file.mode == EXECUTABLE:
        mode = stat.S_IMODE(temporary.stat().st_mode)
        temporary.chmod(mode | (mode & 0o444) >> 2)


def _take_back(folder: Path, kept: Path, files: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Put back what was kept, at every path that holds what the interrupted apply put there; the paths where that failed.

    The record lies in the folder that is patched, so its paths are believed no more than a patch's.
    """
    tree = FolderTree(folder)
    left = []
    for path, said in sorted(files.items(), key=lambda file: file[1]["before"] is not None):
        if paths.fault(path) or any((folder / above).is_symlink() for above in Path(path).parents if above != Path()):
            left.append(path)
            continue
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (folder / path).with_name(f".{Path(path).name[:200]}{_SUFFIX}").unlink()
        now = tree.get(path)
        if (None if now is None else blob_id(now.content)) != said["after"]:
            continue
        try:
            before = None if said["before"] is None else File(int(str(said["mode"])), (kept / "before" / path).read_bytes())
            _put(folder, path, before, copy=kept / "before" / path)
        except OSError:
            left.append(path)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was there before patches, and where that is kept."""

    place: Path
    before: dict[str, File | None]


def _kept(folder: Path, key: str) -> _Kept | None:
    """What was there before these patches, if every file is still as they left it."""
    places = (folder / _KEPT / key, _state(folder) / key)
    return next((kept for place in places if (kept := _read_kept(FolderTree(folder), place)) is not None), None)


def _read_kept(tree: FolderTree, kept: Path) -> _Kept | None:
    content = _read_record(kept / "record.json")
    if content is None or content.pending:
        return None
    before: dict[str, File | None] = {}
    for path, said in content.files.items():
        now = tree.get(path)
        if (None if now is None else blob_id(now.content)) != said["after"]:
            return None
        copy = kept / "before" / path
        if said["before"] is not None and not copy.is_file():
            return None
        before[path] = None if said["before"] is None else File(int(str(said["mode"])), copy.read_bytes())
    return _Kept(kept, before)


def _state(folder: Path) -> Path:
    """Where the user's state folder keeps what was in a folder."""
    return platformdirs.user_state_path("pq") / "applied" / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]


def _put_away(folder: Path, kept: Path) -> None:
    """Move what was kept out of the folder; it stays where the state folder can't be written to. At any moment one copy is whole."""
    target = _state(folder) / kept.name
    partial = target.with_name(f"{kept.name}{_SUFFIX}")
    with contextlib.suppress(OSError):
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(kept, partial)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(partial, target)
        done = kept.with_name(_BACK)
        shutil.rmtree(done, ignore_errors=True)
        os.rename(kept, done)
        shutil.rmtree(done)


def _key(patches: Sequence[Named], *, reverse: bool) -> str:
    """The same for patches and for the reverse of them."""
    digest = hashlib.sha256()
    for named in reversed(patches) if reverse else patches:
        digest.update(hashlib.sha256(named.patch.raw).digest())
    return digest.hexdigest()[:16]


def _write_record(kept: Path, state: str, files: Mapping[str, object]) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    temporary = kept / "record.new"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"state": state, "files": files}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, kept / "record.json")


def _read_record(place: Path) -> _Record | None:
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        return _Record(content["state"] == "pending", {str(path): dict(said) for path, said in content["files"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _require_no_symlink(folder: Path, path: str) -> None:
    for above in Path(path).parents:
        if (folder / above).is_symlink() and above != Path():
            raise NotClean(f"{above} is a symlink; no patch writes through one", hint="apply the patch to the folder it leads to")


def _drop_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
