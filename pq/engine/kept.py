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
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pq.core import paths
from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File
from pq.engine.trees import FolderTree
from pq.errors import NotClean
from pq.repo.transaction import write_synced

_KEPT = ".pq"
_BACK = "back"
_OURS = re.compile(r"[0-9a-f]{16}|back")
_SUFFIX = ".pq-new"


@dataclass(frozen=True, slots=True)
class _Record:
    """What record.json says: whether the apply was interrupted, and by path "before", "mode" and "after"."""

    pending: bool
    files: Mapping[str, Mapping[str, object]]


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


def replace(folder: Path, changes: Mapping[str, File | None], key: str | None, *, copies: Path | None = None) -> None:
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
                with open(place, "xb") as copy:
                    copy.write(before.content)
                    copy.flush()
                    os.fsync(copy.fileno())
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
    """Put back what was kept, at every path that holds what the interrupted apply put there; the paths where that failed."""
    tree = FolderTree(folder)
    left = []
    for path, said in sorted(files.items(), key=lambda file: file[1]["before"] is not None):
        if any((folder / above).is_symlink() for above in Path(path).parents if above != Path()):
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
        copy = kept / "before" / path
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


def _write_record(kept: Path, state: str, files: Mapping[str, Mapping[str, object]]) -> None:
    write_synced(kept / "record.json", json.dumps({"state": state, "files": files}).encode())


def _read_record(place: Path) -> _Record | None:
    """The record, or None. It may lie in the folder that is patched, so its paths are believed no more than a patch's (law 9)."""
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        files = {str(path): dict(said) for path, said in content["files"].items()}
        pending = content["state"] == "pending"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return None if any(map(paths.fault, files)) else _Record(pending, files)


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


def drop(kept: Kept) -> None:
    """Drop what was kept, once it is back in its place."""
    shutil.rmtree(kept.place)
    _drop_empty(kept.place.parent)
