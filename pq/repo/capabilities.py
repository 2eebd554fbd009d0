"""What the file system of a checkout can't hold, as git found out when it made the repository."""

from __future__ import annotations

from dataclasses import dataclass

import pygit2

from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Whether the file system has executable bits, has symlinks, and tells names apart that differ in case alone.

    Source: core.fileMode, core.symlinks and core.ignoreCase in git-config(1).
    """

    executables: bool = True
    symlinks: bool = True
    case: bool = True

    @classmethod
    def of(cls, repository: pygit2.Repository) -> Capabilities:
        """Those of a repository's worktree."""
        config = repository.config
        executables, symlinks = (key not in config or config.get_bool(key) for key in ("core.fileMode", "core.symlinks"))
        return cls(executables, symlinks, "core.ignoreCase" not in config or not config.get_bool("core.ignoreCase"))

    def may_be(self, found: int, mode: int) -> bool:
        """Whether a file that is found with one mode may be one of the other."""
        if found not in (REGULAR, EXECUTABLE) or found == mode:
            return found == mode
        return not self.executables if mode in (REGULAR, EXECUTABLE) else mode == SYMLINK and not self.symlinks

    def tells(self, found: int) -> bool:
        """Whether a file that is found with a mode can be nothing else."""
        return found not in (REGULAR, EXECUTABLE) or (self.executables and self.symlinks)

    def held(self, mode: int) -> int:
        """The mode of the file that stands for one of this mode."""
        return REGULAR if mode == SYMLINK and not self.symlinks else mode

    def plain(self, found: int) -> int:
        """The mode of a new file that is found with this one."""
        return REGULAR if found == EXECUTABLE and not self.executables else found
