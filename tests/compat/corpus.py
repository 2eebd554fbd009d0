"""Real queues, and git as the witness of what is in a folder. Where they come from is said in the corpus's own README."""

from __future__ import annotations

import csv
import os
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import PROJECT, World, git

CORPUS = Path(os.environ.get("PQ_CORPUS") or PROJECT.parent / "shared" / "corpus")
EVERYTHING = "PQ_COMPAT_ALL" in os.environ
"""Whether all cases are tried, where a sample is the rule."""

RAW = "* -text -eol -ident -filter -working-tree-encoding\n"
"""For info/attributes: no file of upstream's is anything but bytes."""


def rows(table: str) -> list[dict[str, str]]:
    """The rows of one of the corpus's tables; none where there is no corpus."""
    place = CORPUS / table
    if not place.is_file():
        return []
    with place.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def unpack(archive: str, folder: Path) -> Path:
    """Unpack one of the corpus's archives."""
    with tarfile.open(CORPUS / archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def tree_hash(folder: Path) -> str:
    """The corpus's hash of a tree: modes, paths and contents of all but `debian` and tools' own folders."""
    done = subprocess.run(["python3", str(CORPUS / "debian.py"), "hash", str(folder)], capture_output=True, check=True, text=True)
    return done.stdout.strip()


def queue_on(root: Path, tree: Path, patches: Path) -> World:
    """A queue on release v1, which is exactly this tree, with the patches and the series file of a quilt folder."""
    world = World(root)
    tree.rename(world.upstream)
    git(world.upstream, "init", "-q", "-b", "main")
    (world.upstream / ".git" / "info" / "attributes").write_text(RAW)
    git(world.upstream, "add", "--all", "--force")
    git(world.upstream, "commit", "-q", "-m", "v1")
    git(world.upstream, "tag", "v1")
    world.init()
    (world.queue / "patches").rmdir()
    patches.rename(world.queue / "patches")
    with world.series.open("ab") as series:
        series.write((world.queue / "patches" / "series").read_bytes())
    return world


@dataclass(frozen=True)
class Witness:
    """Git's reading of a plain folder, from a repository elsewhere."""

    folder: Path
    repository: Path

    def tree(self) -> str:
        """The id of the tree that the folder holds, every byte read anew."""
        self._begin()
        return self._git("write-tree")

    def applied(self, patches: Sequence[Path], strip: int) -> str:
        """The id of the tree that `git apply` makes of it. The folder is not changed."""
        self._begin()
        for patch in patches:
            self._git("apply", "--cached", f"-p{strip}", str(patch))
        return self._git("write-tree")

    def _begin(self) -> None:
        """An index of what the folder holds."""
        if not self.repository.exists():
            subprocess.run(["git", "init", "-q", "--bare", str(self.repository)], check=True)
            (self.repository / "info" / "attributes").write_text(RAW)
            self._git("config", "core.looseCompression", "0")
        (self.repository / "index").unlink(missing_ok=True)
        self._git("add", "--all", "--force", ".")

    def _git(self, *words: str) -> str:
        return git(self.folder, f"--git-dir={self.repository}", f"--work-tree={self.folder}", *words).strip()
