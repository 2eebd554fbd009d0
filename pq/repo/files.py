"""Files below a root, one at a time: a name holds what it held or what it is to hold, whatever stops the process.

Paths are as patches write them: `/` between components, bytes that are not UTF-8 as surrogates. Modes are git's. A new content is
written beside its place, under a name with a token that nobody else has; who writes down the token can drop what a killed process left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from pathlib import Path

from pq.core import paths
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File

_LONGEST = 255  # bytes of a name, on the file systems of today


def at(root: Path, path: str) -> str:
    """A path below the root as the system takes it."""
    return f"{root}{os.sep}{os.fsdecode(paths.raw(path))}"


def read(place: str) -> File | None:
    """What stands at a place, symlinks not followed. A folder is no file; a pipe or a device is one with a mode that no patch has."""
    try:
        status = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return File(SYMLINK, os.fsencode(os.readlink(place)))
    if kind != stat.S_IFREG:
        return None if kind == stat.S_IFDIR else File(kind, b"")
    with open(place, "rb") as file:
        return File(EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR, file.read())


def symlink_above(root: Path, path: str) -> str | None:
    """The first folder that the path leads through and that is a symlink: nothing is written behind one (law 9)."""
    return next((above for above in paths.above(path) if os.path.islink(at(root, above))), None)


def new_token() -> str:
    """A token for the names of temporary files."""
    return secrets.token_hex(6)


def put(place: str, file: File, token: str, *, permissions: int | None = None, synced: bool = False) -> None:
    """Put a file in its place by one rename, with the permissions or the usual ones. An empty folder in its place goes.

    `synced`: the name holds the old bytes or the new ones after a loss of power, too.
    """
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.isdir(place) and not os.path.islink(place):
        for folder, _, _ in os.walk(place, topdown=False):
            os.rmdir(folder)
    temporary = _temporary(place, token)
    try:
        if file.mode == SYMLINK:
            os.symlink(file.content, os.fsencode(temporary))
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with open(os.open(temporary, flags, 0o777 if file.mode == EXECUTABLE else 0o666), "wb") as written:
                written.write(file.content)
                if synced:
                    written.flush()
                    os.fsync(written.fileno())
            if permissions is not None:
                os.chmod(temporary, permissions)
        os.replace(temporary, place)
        if synced:
            sync_folder(os.path.dirname(place))
    except BaseException as error:
        with contextlib.suppress(OSError):
            drop_temporary(place, token)
        if isinstance(error, OSError):
            error.filename = place
        raise


def remove(root: Path, path: str) -> None:
    """Take a file away, and the folders above it that get empty."""
    place = at(root, path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)
    for above in reversed(tuple(paths.above(path))):
        if not drop_empty(at(root, above)):
            break


def drop_temporary(place: str, token: str) -> None:
    """Drop what an interrupted `put` left beside a place."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(_temporary(place, token))


def drop_empty(folder: str | Path) -> bool:
    """Drop a folder if it is empty, and not the one that the user stands in; whether it went."""
    if _is_current(folder):
        return False
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def _is_current(folder: str | Path) -> bool:
    try:
        return os.path.samefile(folder, os.curdir)
    except OSError:
        return False


def try_lock(handle: int) -> bool:
    """Lock an open file or folder for this process alone, without waiting; whether it could.

    The lock goes with the process: Python opens files so that no process that it starts inherits them.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_synced(place: Path, content: bytes) -> None:
    """Replace a file: its name holds the old bytes or the new ones, also after a loss of power."""
    temporary = place.with_name(f".{place.name}.pq-new")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
        sync_folder(place.parent)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = error.filename or str(place)
        raise


def sync(place: Path) -> None:
    """Make a file that somebody else wrote durable, and its name."""
    with open(place, "rb") as file:
        os.fsync(file.fileno())
    sync_folder(place.parent)


def sync_folder(folder: str | Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _temporary(place: str, token: str) -> str:
    """Beside the place, so that a rename does; cut where the name would be too long."""
    folder, name = os.path.split(os.fsencode(place))
    suffix = f".{token}.pq-new".encode()
    return os.fsdecode(os.path.join(folder, b"." + name[: _LONGEST - 1 - len(suffix)] + suffix))
