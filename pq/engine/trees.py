"""Trees that are not git's: a plain folder, a wheel, and changes in memory on top of any of them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File, Tree
from pq.errors import PqError
from pq.repo import files


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A plain folder as a tree. A path that leads through a symlink is not in it."""

    root: Path

    def get(self, path: str) -> File | None:
        """The file at a path."""
        found = files.read(files.at(self.root, path))
        return found if found is not None and found.mode in (REGULAR, EXECUTABLE, SYMLINK) else None

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path."""
        place = files.at(self.root, path)
        return os.path.isdir(place) and not os.path.islink(place)


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
    seen: dict[str, File | None] = field(default_factory=dict)

    def get(self, path: str) -> File | None:
        """The file at a path; read once from the tree below."""
        if path in self.changes:
            return self.changes[path]
        if path not in self.seen:
            self.seen[path] = self.below.get(path)
        return self.seen[path]

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path."""
        return any(
            file is not None and name.startswith(f"{path}/") for name, file in self.changes.items()
        ) or self.below.is_folder(path)
