"""What a run has read so far. It would come to the same point with any tree in which that reads the same."""

from __future__ import annotations

import _thread
import hashlib
import os
import stat
import sys
from types import CodeType
from typing import Any

Digest = bytes | None
"""Of a file's content; None for a file that is not there."""

_STARTS = {"subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "pty.spawn", "sqlite3.connect"}
"""Events behind which files are read by others, which nobody hears of."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")


class Reading:
    """Every file that was executed or opened, with what was in it then, but for those of the interpreter and its packages.

    `apart` is code that stands for a part of its file only; whoever executes it answers for that. `is_blind`: others may have read, too.
    """

    def __init__(self, root: str, mark: str, *own: str) -> None:
        self.root = root
        self.mark = mark
        self.read: dict[str, Digest] = {}
        self.apart: CodeType | None = None
        self.is_blind = False
        self._looking = 0
        self._skipped = tuple(f"{place}{os.sep}" for place in {sys.prefix, sys.base_prefix, *own}) + _NO_FILES
        self.stamp = _stamp(mark)
        self.shape = _shape(root)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of what is about to be read: a hook of sys.addaudithook."""
        if self._looking == _thread.get_ident():
            return
        if event == "exec":
            self._note(None if arguments[0] is self.apart else getattr(arguments[0], "co_filename", None))
        elif event == "open":
            if arguments[2] & os.O_ACCMODE != os.O_WRONLY:
                self._note(arguments[0])
        elif event in _STARTS:
            self.is_blind = True

    def _note(self, place: object) -> None:
        if isinstance(place, bytes):
            place = os.fsdecode(place)
        if not isinstance(place, str) or place.startswith(("<", *self._skipped)):
            return
        place = os.path.realpath(place)
        if place not in self.read and not place.startswith(self._skipped):
            self.read[place] = _digest(self.look(place))

    def look(self, place: str) -> bytes | None:
        """The content of a file, read without a note; None where there is none."""
        self._looking = _thread.get_ident()
        try:
            if not stat.S_ISREG(os.stat(place).st_mode):
                return None
            with open(place, "rb") as file:
                return file.read()
        except OSError:
            return None
        finally:
            self._looking = 0

    def fork(self) -> int:
        """As os.fork, without a note."""
        self._looking = _thread.get_ident()
        try:
            return os.fork()
        finally:
            self._looking = 0

    def is_undisturbed(self) -> bool:
        """Whether nobody has begun to write into the tree meanwhile: `mark` is taken away before that, and written anew behind it."""
        return self.stamp == _stamp(self.mark)

    def holds(self) -> bool:
        """Whether the tree of now has the same files, and all that was read reads the same."""
        self.stamp = _stamp(self.mark)
        same = self.shape == _shape(self.root) and all(_digest(self.look(place)) == was for place, was in self.read.items())
        return same and self.is_undisturbed()


def _digest(content: bytes | None) -> Digest:
    return None if content is None else hashlib.sha256(content).digest()


def _stamp(mark: str) -> tuple[int, int] | None:
    try:
        status = os.stat(mark)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _shape(root: str) -> bytes:
    """A digest of the names, kinds and modes of all files: these may have been asked for without reading one. Of a file that is not
    Python it has whether it was written anew: other code than Python may have read it.
    """
    found = hashlib.sha256()
    below = [root]
    while below:
        with os.scandir(below.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                status = entry.stat(follow_symlinks=False)
                seen: tuple[object, ...] = (entry.path, status.st_mode)
                if entry.is_symlink():
                    seen += (os.readlink(entry.path),)
                elif entry.is_dir():
                    below.append(entry.path)
                elif not entry.name.endswith(".py"):
                    seen += (status.st_ino, status.st_size, status.st_mtime_ns)
                found.update(repr(seen).encode("utf-8", "surrogateescape"))
    return found.digest()
