"""All or nothing: the lock, the journal, and the one way in which the checkout moves from commit to commit.

Order of a move: journal, files, index, branch, journal away. The branch is the commit point. Killed before it, the next
command takes the files back to the old commit; killed behind it, the files are the new commit's already. The journal
(`pq/journal.json` in the git folder) is::

    {"branch": "refs/heads/pq/<series>", "old": <commit id>, "new": <commit id>}

It is complete or absent: it is synced before a file is touched, and an unreadable one means that none was. Its time is set
anew before index and branch are written: a lock file of git's that was born right behind that time is the dead command's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.errors import NotClean, PqError
from pq.repo import commits, files
from pq.repo.objects import Objects
from pq.repo.worktree import Changes, Worktree

JOURNAL = "journal.json"
_MOVING = "refs/pq/moving"
_ID_BYTES = 20
_PACKING = 0.5
"""Seconds in which git is done with packing refs."""
_OWN_LOCK = 2.0
"""Seconds behind the journal's time in which a lock file is pq's own."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What an interrupted move was brought to: `back` to the old commit or on to the new one. `left` are files that were neither."""

    back: bool
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mover:
    """Moves the files, the index and the branch of one checkout."""

    folder: Path
    objects: Objects
    worktree: Worktree

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second pq out. The lock file says which process has it."""
        self.folder.mkdir(exist_ok=True)
        with open(os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666), "r+b") as lock:
            if not files.try_lock(lock.fileno()):
                by = lock.read().decode(errors="replace")
                raise NotClean(
                    f"another pq is at work here{f' (process {by})' if by else ''}",
                    hint="wait for it, or end it and run the command again",
                )
            lock.truncate()
            lock.write(b"%d" % os.getpid())
            lock.flush()
            self._drop_dead_locks()
            yield

    def move(self, branch: str, old: str, new: str) -> None:
        """Move from one commit to another. Raises NotClean, with nothing changed, if edits are in the way."""
        self.objects.flush()
        reference = self._unmoved(branch, old)
        changes = self.require_clear(old, new)
        self.objects.repository.references.create(_MOVING, pygit2.Oid(hex=new), force=True)  # so that no gc takes it away
        self._write_journal({"branch": branch, "old": old, "new": new})
        try:
            self.worktree.switch_files(changes)
            os.utime(self._journal)
            self.worktree.switch_index(changes)
            os.utime(self._journal)
            reference.set_target(pygit2.Oid(hex=new), "pq: move")  # only if it is still what was read above
        except BaseException:
            with contextlib.suppress(
                OSError, PqError, pygit2.GitError
            ):  # what can't be taken back now, the next command takes back
                self._settle()
            raise
        self._forget()

    def require_clear(self, old: str, new: str) -> Changes:
        """What a move would change. Raises NotClean if edits, or a running git, are in the way."""
        if Path(self.objects.repository.path, "index.lock").exists():
            raise NotClean(
                "git is at work in the checkout (index.lock exists)", hint="wait for it, or remove the file if no git is running"
            )
        changes = self._changes(old, new)
        if blocking := self.worktree.in_the_way(changes):
            raise NotClean(
                f"unrefreshed changes are in the way: {', '.join(blocking)}",
                hint=f"git -C {self.worktree.root} stash puts them aside, git -C {self.worktree.root} diff shows them",
            )
        return changes

    def recover(self) -> Recovery | None:
        """Finish or undo a move that was interrupted; None if there was none."""
        if not self._journal.exists():
            return None
        if (branch := self._read_journal()[0]) is not None:
            self._drop_own_locks(branch)
        return self._settle()

    def _settle(self) -> Recovery:
        """Bring the files to where the branch is. A journal that can't be read was never complete: nothing was changed yet."""
        branch, old, new = self._read_journal()
        left: tuple[str, ...] = ()
        now = None
        if branch is not None:
            try:
                changes = self._changes(old, new)
            except PqError as error:
                self._forget()
                raise PqError(
                    f"an interrupted command can't be taken back: {error.fact}",
                    hint=f"git -C {self.worktree.root} status shows what it left; commands work again",
                ) from None
            now = self._target(branch)
            left = self.worktree.switch_back(changes) if now == old else () if now == new else tuple(changes)
        self._forget()
        return Recovery(branch is None or now != new, left)

    def _read_journal(self) -> tuple[str | None, str, str]:
        """Branch, old and new commit; no branch where the journal is not complete."""
        try:
            journal = json.loads(self._journal.read_bytes())
            branch, old, new = journal["branch"], journal["old"], journal["new"]
            complete = branch.startswith("refs/heads/") and len(bytes.fromhex(old)) == len(bytes.fromhex(new)) == _ID_BYTES
        except (ValueError, KeyError, TypeError, AttributeError):
            complete = False
        return (branch, old, new) if complete else (None, "", "")

    def _forget(self) -> None:
        """Take the journal away, and the ref that kept what it names."""
        self._journal.unlink()
        if _MOVING in self.objects.repository.references:
            self.objects.repository.references.delete(_MOVING)

    def _target(self, branch: str) -> str | None:
        reference = self.objects.repository.references.get(branch)
        return None if reference is None else str(reference.target)

    def _unmoved(self, branch: str, old: str) -> pygit2.Reference:
        """The branch. The user may have committed, or switched to another one, while the hook was running."""
        references = self.objects.repository.references
        reference = references[branch]
        if references["HEAD"].target != branch or str(reference.target) != old:
            raise NotClean(
                f"HEAD or branch {branch.removeprefix('refs/heads/')} was moved meanwhile", hint="run the command again"
            )
        return reference

    def _drop_dead_locks(self) -> None:
        """Only pq writes refs below refs/pq, and only with its lock; git locks them for moments when it packs refs."""
        for lock in (self._shared_folder / "refs" / "pq").rglob("*.lock"):
            end = time.monotonic() + _PACKING
            while lock.exists() and time.monotonic() < end:
                time.sleep(0.01)
            lock.unlink(missing_ok=True)

    def _drop_own_locks(self, branch: str) -> None:
        began = self._journal.stat().st_mtime
        for lock in (Path(self.objects.repository.path, "index.lock"), self._shared_folder / f"{branch}.lock"):
            if lock.exists() and began <= lock.stat().st_mtime <= began + _OWN_LOCK:
                lock.unlink()

    @property
    def _shared_folder(self) -> Path:
        """The git folder with the branches: in a linked worktree, which has one of its own for the index, that of the repository."""
        own = Path(self.objects.repository.path)
        said = own / "commondir"
        return own / said.read_text(encoding="utf-8", errors="surrogateescape").strip() if said.exists() else own

    @property
    def _journal(self) -> Path:
        return self.folder / JOURNAL

    def _changes(self, old: str, new: str) -> Changes:
        before, after = (commits.read(self.objects, oid).tree for oid in (old, new))
        return self.objects.difference(before, after)

    def _write_journal(self, content: dict[str, str]) -> None:
        files.write_synced(self._journal, json.dumps(content).encode())
