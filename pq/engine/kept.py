"""The files of a plain folder, replaced all or none, and what was there kept.

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
import glob
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pq.core import paths
from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File
from pq.engine.trees import FolderTree
from pq.errors import NotClean
from pq.repo import files

_KEPT = ".pq"
_BACK = "back"
_OURS = re.compile(r"[0-9a-f]{16}|back")
_PARTIAL = ".new"


@dataclass(frozen=True, slots=True)
class _Record:
    """What record.json says: whether the apply was interrupted, and by path "before", "mode" and "after"."""

    pending: bool
    files: Mapping[str, Mapping[str, object]]


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
        files.drop_empty(folder / _KEPT)
    return found


def _require_back(folder: Path, kept: Path, left: Sequence[str]) -> None:
    """Drop what was kept, unless it is still needed."""
    if left:
        raise NotClean(
            f"an interrupted apply can't be taken back in {', '.join(left)}",
            hint=f"what was there before is in {kept / 'before'}; put it back by hand, then remove {kept}",
        )
    shutil.rmtree(kept, ignore_errors=True)
    files.drop_empty(folder / _KEPT)


def replace(
    folder: Path,
    changes: Mapping[str, tuple[File | None, File | None]],
    key: str | None,
    *,
    copies: Path | None = None,
) -> None:
    """Make all changes (by path what is there and what comes), or, if one can't be made, none. With a key, what was there is kept under it.

    Files of which `copies` has a copy get its permissions. What goes, goes first: a folder may be where a file comes.
    Raises NotClean where something else is there, or a symlink on the way.
    """
    kept = folder / _KEPT / (key or _BACK)
    shutil.rmtree(kept, ignore_errors=True)
    said: dict[str, Mapping[str, object]] = {}
    try:
        kept.parent.mkdir(exist_ok=True)
        kept.mkdir(mode=0o700)  # a copy is no easier to read than its file
        for path, (before, after) in changes.items():
            _require(folder, path, before)
            said[path] = {
                "before": None if before is None else blob_id(before.content),
                "mode": REGULAR if before is None else before.mode,
                "after": None if after is None else blob_id(after.content),
            }
            if before is not None:
                place = Path(files.at(kept / "before", path))
                place.parent.mkdir(parents=True, exist_ok=True)
                with open(place, "xb") as copy:
                    copy.write(before.content)
                    copy.flush()
                    os.fsync(copy.fileno())
                if before.mode != SYMLINK:
                    place.chmod(stat.S_IMODE(os.stat(files.at(folder, path)).st_mode) | stat.S_IRUSR)
        _write_record(kept, "pending", said)
        for path, (_, after) in sorted(changes.items(), key=lambda change: change[1][1] is not None):
            _put(folder, path, after, copy=copies / path if copies else None)
        _write_record(kept, "applied", said)
    except BaseException:
        _require_back(folder, kept, _take_back(folder, kept, said))
        raise
    if key is None:
        shutil.rmtree(kept)
    else:
        _put_away(folder, kept)
    files.drop_empty(folder / _KEPT)


def _put(folder: Path, path: str, file: File | None, *, copy: Path | None = None) -> None:
    """Put a file in its place, or take it away; with the permissions of the copy, if there is one, else of what was there."""
    place = Path(files.at(folder, path))
    if file is None:
        files.remove(folder, path)
    else:
        files.put(str(place), file, permissions=_permissions(copy if copy and copy.is_file() else place, file))
    for stale in (place.parent / "__pycache__").glob(f"{glob.escape(place.stem)}.*.pyc"):
        stale.unlink()


def _permissions(like: Path, file: File) -> int | None:
    """The permissions of a file, with the executable bits as the patch has them; None where nothing is there."""
    if file.mode == SYMLINK or not like.is_file() or like.is_symlink():
        return None
    mode = stat.S_IMODE(like.stat().st_mode)
    return mode | (mode & 0o444) >> 2 if file.mode == EXECUTABLE else mode & ~0o111


def _take_back(folder: Path, kept: Path, said: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """Put back what was kept, at every path that holds what the interrupted apply put there; the paths where that failed."""
    tree = FolderTree(folder)
    left = []
    for path, file in sorted(said.items(), key=lambda each: each[1]["before"] is not None):
        if files.symlink_above(folder, path) is not None:
            left.append(path)
            continue
        files.drop_temporary(files.at(folder, path))
        now = tree.get(path)
        if (None if now is None else blob_id(now.content)) != file["after"]:
            continue
        copy = Path(files.at(kept / "before", path))
        try:
            before = None if file["before"] is None else File(int(str(file["mode"])), copy.read_bytes())
            _put(folder, path, before, copy=copy)
        except OSError:
            left.append(path)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class Kept:
    """What was there before patches, and where that is kept."""

    place: Path
    before: dict[str, File | None]


def find(folder: Path, key: str) -> Kept | None:
    """What was there before these patches, if every file is still as they left it."""
    places = (folder / _KEPT / key, _state(folder) / key)
    return next((kept for place in places if (kept := _read_kept(FolderTree(folder), place)) is not None), None)


def _read_kept(tree: FolderTree, kept: Path) -> Kept | None:
    content = _read_record(kept / "record.json")
    if content is None or content.pending:
        return None
    before: dict[str, File | None] = {}
    for path, said in content.files.items():
        now = tree.get(path)
        if (None if now is None else blob_id(now.content)) != said["after"]:
            return None
        copy = Path(files.at(kept / "before", path))
        if said["before"] is not None and not copy.is_file():
            return None
        file = None if said["before"] is None else File(int(str(said["mode"])), copy.read_bytes())
        if file is not None and blob_id(file.content) != said["before"]:
            return None
        before[path] = file
    return Kept(kept, before)


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
        shutil.rmtree(done, ignore_errors=True)
        os.rename(kept, done)
        shutil.rmtree(done)


def _copy_synced(source: str, target: str) -> None:
    shutil.copy2(source, target)
    with open(target, "rb") as copied:
        os.fsync(copied.fileno())


def _write_record(kept: Path, state: str, said: Mapping[str, Mapping[str, object]]) -> None:
    files.write_synced(kept / "record.json", json.dumps({"state": state, "files": said}).encode())


def _read_record(place: Path) -> _Record | None:
    """The record, or None. It may lie in the folder that is patched, so its paths are believed no more than a patch's (law 9)."""
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        said = {str(path): dict(file) for path, file in content["files"].items()}
        pending = content["state"] == "pending"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None if any(map(paths.fault, said)) else _Record(pending, said)


def _require(folder: Path, path: str, before: File | None) -> None:
    """Raise NotClean unless this is what stands at a path, with no symlink on the way."""
    if (link := files.symlink_above(folder, path)) is not None:
        raise NotClean(f"{link} is a symlink; no patch writes through one", hint="apply the patch to the folder it leads to")
    if FolderTree(folder).get(path) != before:
        raise NotClean(f"{path} was changed meanwhile", hint="run the command again")


def drop(kept: Kept) -> None:
    """Drop what was kept, once it is back in its place."""
    shutil.rmtree(kept.place)
    files.drop_empty(kept.place.parent)
