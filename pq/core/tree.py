"""What a tree of files is to pq: a value for a file, and two questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class File:
    """A file of a tree: git's mode, and the content (of a symlink, its target). A pipe or a device has a mode that git has not."""

    mode: int
    content: bytes


class Tree(Protocol):
    """Where patches are applied: a tree of git, or a plain folder. Paths are relative, `/` between components."""

    def get(self, path: str) -> File | None:
        """The file at a path, symlinks not followed; None where there is none."""

    def below(self, path: str) -> Iterable[str]:
        """The paths of all files below a folder, symlinks not followed; none where no folder stands there."""
