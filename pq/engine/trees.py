"""Trees that are not git's: a plain folder, a wheel, and changes in memory on top of any of them."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File, Tree
from pq.errors import PqError


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
                raise PqError(
                    f"{self.place} can't be read as a wheel: {error}",
                    hint="--base takes a folder, a wheel, or pypi:NAME==VERSION",
                ) from None
        return self._read


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
