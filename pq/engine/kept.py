"""The files of a plain folder, replaced all or none, and what was there kept.

What was there is kept, so that `-R` brings exactly it back: in `.pq/<key of the patches>/` of the folder while the patches are
applied, and then in the user's state folder, so that the folder holds nothing but its own files (there it stays where that can't be
written to)::

    record.json    {"state": "pending" | "applied", "token": <in the names of temporary files>, "folders": [<path made for a file>, …],
                    "files": {<path>: {"before": [<mode>, <id>] or null, "after": [<mode>, <id>] or null}}}
    before/<path>  the content before

`pending` is written, synced, before the first file is replaced and becomes `applied` behind the last: the next `pq apply` in
the folder takes back what an interrupted one left. Bytecode of changed files is dropped, since file times may lie.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pq.core import paths
from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, SYMLINK
from pq.core.tree import File
from pq.engine.trees import FolderTree
from pq.errors import NotClean, PqError
from pq.repo import files

Changes = Mapping[str, tuple[File | None, File | None]]
"""By path, what stands there and what comes in its place."""

_KEPT = ".pq"
_BACK = "back"
_OURS = re.compile(r"[0-9a-f]{16}|back")
_PARTIAL = ".new"
_RECORD = {"record.json", ".record.json.pq-new", "before"}

_Known = tuple[int, str] | None
"""What a record says of a file: its mode and the id of its content."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What record.json says."""

    pending: bool
    token: str
    folders: tuple[str, ...]
    files: Mapping[str, tuple[_Known, _Known]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was there before patches, and where that is kept."""

    place: Path
    before: dict[str, File | None]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second `pq apply` out of a folder, without a file in it. A file system that has no locks for folders goes without."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        held = True
        with contextlib.suppress(OSError):
            held = files.try_lock(handle)
        if not held:
            raise NotClean(f"another pq is at work in {folder}", hint="wait for it, and run the command again")
        yield
    finally:
        os.close(handle)


def interrupted(folder: Path) -> bool:
    """Whether an interrupted apply is still to be taken back."""
    records = (_read_record(kept / "record.json") for kept in _ours(folder))
    return any(record is not None and record.pending for record in records)


def recover(folder: Path) -> bool:
    """Take back what an interrupted apply left in a folder; whether there was anything."""
    found = False
    for kept in _ours(folder):
        record = _read_record(kept / "record.json")
        if record is None and (kept / "record.json").exists():
            raise NotClean(
                f"{kept / 'record.json'} can't be read", hint=f"what was there before is in {kept / 'before'}; then remove {kept}"
            )
        if record is not None and record.pending:
            _take_back(folder, kept, record)
            found = True
        elif record is None or kept.name == _BACK:  # nothing was changed yet, or all of it is done
            _drop(kept)
        else:
            _put_away(folder, kept)
        files.drop_empty(folder / _KEPT)
    return found


def replace(folder: Path, changes: Changes, key: str | None, *, copies: Path | None = None) -> None:
    """Make all changes, or, if one can't be made, none. With a key, what was there is kept under it.

    Files of which `copies` has a copy get its permissions. What goes, goes first: a folder may be where a file comes. Raises NotClean
    where something else than the changes say is there, or a symlink on the way; PqError for a path that is pq's own.
    """
    kept = folder / _KEPT / (key or _BACK)
    _require_ours(folder, changes)
    try:
        record = _prepare(folder, kept, changes)
    except BaseException:
        _drop(kept)
        files.drop_empty(folder / _KEPT)
        raise
    try:
        for path, (before, after) in sorted(changes.items(), key=lambda change: change[1][1] is not None):
            _require(folder, path, before, changes)
            _put(folder, path, after, record.token, copy=Path(files.at(copies, path)) if copies else None)
        _write_record(kept, "applied", record)
    except BaseException:
        _take_back(folder, kept, record)
        raise
    if key is None:
        _drop(kept)
    else:
        _put_away(folder, kept)
    files.drop_empty(folder / _KEPT)


def find(folder: Path, key: str) -> Kept | None:
    """What was there before these patches, if every file is still as they left it."""
    places = (folder / _KEPT / key, _state(folder) / key)
    return next((kept for place in places if (kept := _read_kept(FolderTree(folder), place)) is not None), None)


def drop(kept: Kept) -> None:
    """Drop what was kept, once it is back in its place."""
    _drop(kept.place)
    files.drop_empty(kept.place.parent)


def _prepare(folder: Path, kept: Path, changes: Changes) -> _Record:
    """Keep what is there, and write down what is about to happen. No file of the folder is changed by it."""
    _drop(kept)
    kept.parent.mkdir(exist_ok=True)
    kept.mkdir(mode=0o700)  # a copy is no easier to read than its file
    for path, (before, _) in changes.items():
        _require(folder, path, before, changes)
        if before is None:
            continue
        place = Path(files.at(kept / "before", path))
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "xb") as copy:
            copy.write(before.content)
            copy.flush()
            os.fsync(copy.fileno())
        if before.mode != SYMLINK:
            place.chmod(stat.S_IMODE(os.stat(files.at(folder, path)).st_mode) | stat.S_IRUSR)
    folders = {above for path in changes for above in paths.above(path) if not os.path.isdir(files.at(folder, above))}
    known = {path: (_known(before), _known(after)) for path, (before, after) in changes.items()}
    record = _Record(pending=True, token=files.new_token(), folders=tuple(sorted(folders)), files=known)
    _write_record(kept, "pending", record)
    return record


def _take_back(folder: Path, kept: Path, record: _Record) -> None:
    """Put back what was kept wherever the interrupted apply put something. Raises NotClean where somebody else did since."""
    tree = FolderTree(folder)
    left = []
    for path, (before, after) in sorted(record.files.items(), key=lambda file: file[1][0] is not None):
        if files.symlink_above(folder, path) is not None:
            left.append(path)
            continue
        files.drop_temporary(files.at(folder, path), record.token)
        now = _known(tree.get(path))
        if now == before:
            continue
        file = None if before is None else _copy(kept, path, before)
        if now != after or (before is not None and file is None):
            left.append(path)
            continue
        try:
            _put(folder, path, file, record.token, copy=Path(files.at(kept / "before", path)))
        except OSError:
            left.append(path)
    for made in reversed(record.folders):
        files.drop_empty(files.at(folder, made))
    if left:
        raise NotClean(
            f"an interrupted apply can't be taken back in {', '.join(left)}",
            hint=f"what was there before is in {kept / 'before'}; put it back by hand, then remove {kept}",
        )
    _drop(kept)
    files.drop_empty(folder / _KEPT)


def _put(folder: Path, path: str, file: File | None, token: str, *, copy: Path | None = None) -> None:
    """Put a file in its place, or take it away; with the permissions of the copy, if there is one, else of what was there."""
    place = Path(files.at(folder, path))
    if file is None:
        files.remove(folder, path)
    else:
        files.put(str(place), file, token, permissions=_permissions(copy if copy and copy.is_file() else place, file))
    for stale in (place.parent / "__pycache__").glob(f"{glob.escape(place.stem)}.*.pyc"):
        stale.unlink()


def _permissions(like: Path, file: File) -> int | None:
    """The permissions of a file, with the executable bits as the patch has them; None where nothing is there."""
    if file.mode == SYMLINK or not like.is_file() or like.is_symlink():
        return None
    mode = stat.S_IMODE(like.stat().st_mode)
    return mode | (mode & 0o444) >> 2 if file.mode == EXECUTABLE else mode & ~0o111


def _read_kept(tree: FolderTree, place: Path) -> Kept | None:
    record = _read_record(place / "record.json")
    if record is None or record.pending:
        return None
    before: dict[str, File | None] = {}
    for path, (was, after) in record.files.items():
        file = None if was is None else _copy(place, path, was)
        if _known(tree.get(path)) != after or (was is not None and file is None):
            return None
        before[path] = file
    return Kept(place, before)


def _copy(kept: Path, path: str, known: tuple[int, str]) -> File | None:
    """What was kept of a file, if it is whole."""
    place = Path(files.at(kept / "before", path))
    if not place.is_file() or place.is_symlink():
        return None
    file = File(known[0], place.read_bytes())
    return file if blob_id(file.content) == known[1] else None


def _known(file: File | None) -> _Known:
    return None if file is None else (file.mode, blob_id(file.content))


def _ours(folder: Path) -> list[Path]:
    """The folders in `.pq` that are pq's own, by their names and by what is in them."""
    kept = folder / _KEPT
    if kept.is_symlink() or not kept.is_dir():
        return []
    found = (each for each in sorted(kept.iterdir()) if _OURS.fullmatch(each.name) and each.is_dir() and not each.is_symlink())
    return [each for each in found if {inner.name for inner in each.iterdir()} <= _RECORD]


def _state(folder: Path) -> Path:
    """Where the user's state folder keeps what was in a folder."""
    return platformdirs.user_state_path("pq") / "applied" / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]


def _put_away(folder: Path, kept: Path) -> None:
    """Move what was kept out of the folder; it stays where the state folder can't be written to. At any moment one copy is whole."""
    target = _state(folder) / kept.name
    partial = target.with_name(f"{kept.name}{_PARTIAL}")
    with contextlib.suppress(OSError):
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(kept, partial, copy_function=_copy_synced)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(partial, target)
        files.sync_folder(target.parent)
        done = kept.with_name(_BACK)
        _drop(done)
        os.rename(kept, done)
        _drop(done)


def _copy_synced(source: str, target: str) -> None:
    shutil.copy2(source, target)
    with open(target, "rb") as copied:
        os.fsync(copied.fileno())


def _drop(kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)


def _write_record(kept: Path, state: str, record: _Record) -> None:
    said = {path: {"before": before, "after": after} for path, (before, after) in record.files.items()}
    content = {"state": state, "token": record.token, "folders": record.folders, "files": said}
    files.write_synced(kept / "record.json", json.dumps(content).encode())


def _read_record(place: Path) -> _Record | None:
    """The record, or None. It may lie in the folder that is patched, so its paths are believed no more than a patch's (law 9)."""
    try:
        said = json.loads(place.read_text(encoding="utf-8"))
        record = _Record(
            pending=said["state"] == "pending",
            token=str(said["token"]),
            folders=tuple(map(str, said["folders"])),
            files={str(path): (_read_known(file["before"]), _read_known(file["after"])) for path, file in said["files"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    named = (*record.files, *record.folders)
    return None if any(map(paths.fault, named)) or not record.token.isalnum() else record


def _read_known(said: object) -> _Known:
    if said is None:
        return None
    if not isinstance(said, list) or len(said) != 2:
        raise ValueError(said)
    return int(said[0]), str(said[1])


def _require_ours(folder: Path, changes: Changes) -> None:
    if (folder / _KEPT).is_symlink():
        raise NotClean(f"{folder / _KEPT} is a symlink", hint="pq keeps there what it replaces; move it away")
    if own := next((path for path in changes if path.split("/")[0] == _KEPT), None):
        raise PqError(f"a patch may not change {own}: pq keeps there what it replaces", hint="take it out of the patch")


def _require(folder: Path, path: str, before: File | None, changes: Changes) -> None:
    """Raise NotClean unless this is what stands at a path, with no symlink on the way but one that goes as well."""
    going = {name for name, (_, after) in changes.items() if after is None}
    link = files.symlink_above(folder, path)
    if link is not None and link not in going:
        raise NotClean(f"{link} is a symlink; no patch writes through one", hint="apply the patch to the folder it leads to")
    now = None if link is not None else FolderTree(folder).get(path)
    if now != before:
        raise NotClean(f"{path} was changed meanwhile", hint="run the command again")
