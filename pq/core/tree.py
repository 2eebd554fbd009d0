"""What a tree of files is to pq: a value for a file, and two questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class File:
    """A file of a tree: git's mode, and the content (of a symlink, its target)."""

    mode: int
    content: bytes


class Tree(Protocol):
    """Where patches are applied: a tree of git, or a plain folder. Paths are relative, `/` between components."""

    def get(self, path: str) -> File | None:
        """The file at a path, symlinks not followed; None where there is none."""

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands at the path, symlinks not followed."""
