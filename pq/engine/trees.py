"""Trees that are not git's: a plain folder, a wheel, and changes in memory on top of any of them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pq.core import paths
from pq.core.patch import REGULAR
from pq.core.tree import File, Tree
from pq.errors import PqError
from pq.repo import files


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A plain folder as a tree. A path that leads through a symlink is not in it."""

    root: Path

    def get(self, path: str) -> File | None:
        """The file at a path."""
        return None if files.symlink_above(self.root, path) else files.read(files.at(self.root, path))

    def below(self, path: str) -> Iterable[str]:
        """The paths of all files below a folder."""
        place = files.at(self.root, path)
        for folder, folders, names in os.walk(place) if not os.path.islink(place) else ():
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(folder, each)))):
                yield f"{path}/{paths.text(os.fsencode(os.path.relpath(os.path.join(folder, name), place)))}"


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

    def below(self, path: str) -> Iterable[str]:
        """The paths of all files below a folder."""
        return (name for name in self._files() if name.startswith(f"{path}/"))

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

    lower: Tree
    changes: dict[str, File | None] = field(default_factory=dict)
    seen: dict[str, File | None] = field(default_factory=dict)

    def get(self, path: str) -> File | None:
        """The file at a path; read once from the tree under it."""
        if path in self.changes:
            return self.changes[path]
        if path not in self.seen:
            self.seen[path] = self.lower.get(path)
        return self.seen[path]

    def below(self, path: str) -> Iterable[str]:
        """The paths of all files below a folder."""
        yield from (each for each in self.lower.below(path) if each not in self.changes)
        yield from (each for each, file in self.changes.items() if file is not None and each.startswith(f"{path}/"))
