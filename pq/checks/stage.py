"""The staged copy: the candidate tree's files in a folder of pq's own, brought up to date file by file.

`tree` in the folder names the tree that the files are. It is taken away before the first file changes and written behind the
last, so that an interrupted update is followed by a fresh copy. Compiled bytecode goes with the file that it was made from.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pq.core.patch import EXECUTABLE, SYMLINK
from pq.core.tree import File

Changes = Callable[[str | None], Iterable[tuple[str, File | None]]]
"""What to write to get from the tree with this id (None: from nothing) to the candidate; None as a file: remove it.

What is removed comes first: a folder may become a symlink, and nothing is to be removed through one.
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder for one copy. `overlay` holds files that are not in the tree but belong to it, such as compiled libraries."""

    folder: Path
    overlay: Path

    @property
    def files(self) -> Path:
        """Where the files lie."""
        return self.folder / "files"

    @property
    def mark(self) -> Path:
        """The file that names the tree; it is not there while the copy is brought up to date."""
        return self.folder / "tree"

    @property
    def bytecode(self) -> Path:
        """Where the interpreter keeps the bytecode of these files."""
        return self.folder / "bytecode"

    def update(self, tree: str, changes: Changes) -> None:
        """Make the copy equal the tree."""
        staged, _, overlay = self.mark.read_text().partition(" ") if self.mark.exists() else ("", "", "")
        if overlay != str(self.overlay):
            staged = ""
        if staged == tree:
            return
        self.mark.unlink(missing_ok=True)
        if not staged:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.files.mkdir(parents=True)
            if self.overlay.is_dir():
                shutil.copytree(self.overlay, self.files, dirs_exist_ok=True)
        for path, file in changes(staged or None):
            self._put(path, file)
        self.mark.write_text(f"{tree} {self.overlay}")

    def _without_empty(self, folder: Path) -> None:
        """Folders that have nothing in them go: git has none, and Python takes one for a package."""
        while folder != self.files and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def _put(self, path: str, file: File | None) -> None:
        place = self.files / path
        compiled = self.bytecode / place.parent.relative_to(place.anchor)
        for old in compiled.glob(f"{place.stem}.*.pyc") if compiled.is_dir() else ():
            old.unlink()
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if file is None:
            self._without_empty(place.parent)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.mode == SYMLINK:
            os.symlink(file.content, os.fsencode(place))
        else:
            place.write_bytes(file.content)
            place.chmod(0o755 if file.mode == EXECUTABLE else 0o644)
