"""What a run has read of the candidate tree so far. It would come to the same point with any tree in which that reads the same."""

from __future__ import annotations

import hashlib
import os
from types import CodeType
from typing import Any

Digest = bytes | None
"""Of a file's content; None for a file that is not there."""


class Reading:
    """Every file below root that was executed, imported or opened by this process, with what was in it then.

    `apart` is code that stands for a part of its file only; whoever executes it answers for that.
    """

    def __init__(self, root: str, mark: str) -> None:
        self.root = root
        self.mark = mark
        self.read: dict[str, Digest] = {}
        self.apart: CodeType | None = None
        self._looks = False
        self.stamp = _stamp(mark)
        self.names = _names(root)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of what is about to be read: a hook of sys.addaudithook."""
        if self._looks:
            return
        if event == "exec":
            place = None if arguments[0] is self.apart else getattr(arguments[0], "co_filename", None)
        elif event in {"open", "ctypes.dlopen"}:
            place = arguments[0]
        elif event == "import":
            place = arguments[1]
        else:
            return
        if isinstance(place, bytes):
            place = os.fsdecode(place)
        if isinstance(place, str) and place.startswith((self.root, ".")):
            place = os.path.abspath(place)
            if place.startswith(self.root + os.sep) and place not in self.read:
                self.read[place] = _digest(self.look(place))

    def look(self, place: str) -> bytes | None:
        """The content of a file, read without a note; None where there is none."""
        self._looks = True
        try:
            with open(place, "rb") as file:
                return file.read()
        except OSError:
            return None
        finally:
            self._looks = False

    def is_undisturbed(self) -> bool:
        """Whether nobody has begun to write into the tree meanwhile: `mark` is taken away before that, and written anew behind it."""
        return self.stamp == _stamp(self.mark)

    def holds(self) -> bool:
        """Whether the tree of now has the same files, and all that was read reads the same."""
        same = self.names == _names(self.root) and all(_digest(self.look(place)) == was for place, was in self.read.items())
        self.stamp = _stamp(self.mark)
        return same


def _digest(content: bytes | None) -> Digest:
    return None if content is None else hashlib.sha256(content).digest()


def _stamp(mark: str) -> tuple[int, int] | None:
    try:
        status = os.stat(mark)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _names(root: str) -> bytes:
    """A digest of the names and kinds of all files: whether one is there may have been asked without reading it."""
    found = hashlib.sha256()
    below = [root]
    while below:
        folder = below.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                is_folder = entry.is_dir(follow_symlinks=False)
                target = os.readlink(entry.path) if entry.is_symlink() else ""
                found.update(os.fsencode(f"{entry.path}\0{is_folder}\0{target}\0"))
                if is_folder:
                    below.append(entry.path)
    return found.digest()
