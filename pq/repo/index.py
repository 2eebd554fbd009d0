"""The index of a repository: what is about to be committed, whatever stands in the worktree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.core import paths
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.tree import File
from pq.repo import files
from pq.repo.git import repository_around, run
from pq.repo.objects import Objects


@dataclass(frozen=True)
class Index:
    """An index of the repository at `top`: the one that git commits, which may be a temporary one, or the repository's own (None)."""

    top: Path
    repository: pygit2.Repository
    file: Path | None

    def named(self, pattern: str) -> tuple[str, ...]:
        """The paths that match a pattern of git's."""
        return self._lines("--glob-pathspecs", "ls-files", "--cached", "-z", "--", pattern)

    def changed(self, folder: str) -> tuple[str, ...]:
        """The paths below a folder that are other ones than in HEAD, from that folder."""
        found = self._lines("--literal-pathspecs", "diff", "--cached", "--name-only", "--no-renames", "-z", "--", folder or ".")
        return tuple(os.path.relpath(path, folder or ".") for path in found)

    def committed(self, folder: str, path: str) -> bytes | None:
        """What HEAD has at a path below a folder; None where that is no file."""
        if self.repository.head_is_unborn:
            return None
        objects = Objects(self.repository)
        node = objects.file(str(self.repository.head.peel(pygit2.Tree).id), f"{folder}/{path}" if folder else path)
        return None if node is None else objects.read(node[1])

    def lay_out(self, folder: str, names: tuple[str, ...], target: Path) -> None:
        """Write what stands at some names below a folder to another place, byte for byte, no filter between."""
        objects = Objects(self.repository)
        where = [f"{folder}/{name}" if folder else name for name in names]
        for line in self._lines("--literal-pathspecs", "ls-files", "--stage", "-z", "--", *where):
            said, _, path = line.partition("\t")
            mode, oid, _ = said.split(" ")
            if int(mode, 8) in (REGULAR, EXECUTABLE, SYMLINK):
                inside = os.path.relpath(path, folder or ".")
                files.put(files.at(target, inside), File(int(mode, 8), objects.read(oid)), files.new_token())

    def _lines(self, *words: str) -> tuple[str, ...]:
        variables = {} if self.file is None else {"GIT_INDEX_FILE": str(self.file)}
        said = run(*words, cwd=self.top, **variables)
        return tuple(paths.text(os.fsencode(each)) for each in said.split("\0")[:-1])


def open_index(start: Path, file: Path | None) -> Index | None:
    """The index of the repository around a folder; None where there is none."""
    found = repository_around(start)
    return None if found is None or found.is_bare else Index(Path(found.workdir), found, file)
