"""All or nothing: the lock, the journal, and the one way in which an operation changes checkout, queue and refs.

Order: journal, files of the checkout, index, files of the queue, refs and HEAD, journal away. The last ref is the commit point: every move
sets one of pq's own there. Killed before it, the next command takes all back; killed behind it, all is done already.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.core.patch import REGULAR, SYMLINK
from pq.core.tree import File
from pq.errors import NotClean, PqError
from pq.repo import commits, files, journal, operations
from pq.repo.journal import Journal, RefChange
from pq.repo.objects import FOLDER, Objects
from pq.repo.operations import State
from pq.repo.refs import target
from pq.repo.worktree import Changes, Entry, Worktree

_MOVING = "refs/pq/moving"
_PACKING = 0.5
"""Seconds in which git is done with packing refs."""
_OWN_LOCK = 2.0
"""Seconds behind the journal's time in which a lock file is pq's own."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What an interrupted move was brought to: `back` to the old state or on to the new one. `left` are files that were neither.

    `moved`: the branch was neither, so that everything was left as it is.
    """

    back: bool
    left: tuple[str, ...] = ()
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """An operation that is done or, in reverse, taken back, and what that makes of refs: first the branch, last the commit point.

    `head` is the branch that HEAD is on, and the one that it is to be on; None: the first of the refs.
    """

    logged: str
    before: State
    after: State
    refs: tuple[RefChange, ...]
    reverse: bool = False
    head: tuple[str, str] | None = None

    @property
    def branches(self) -> tuple[str, str]:
        """The branch that HEAD is on, and the one that it is to be on."""
        return self.head or (self.refs[0].name, self.refs[0].name)


@dataclass(frozen=True, slots=True)
class _Switch:
    """What a move changes: files of the checkout, entries of the index, files of the queue."""

    files: Changes
    index: Mapping[str, tuple[Entry, Entry]]
    queue: Mapping[str, tuple[bytes | None, bytes | None]]


@dataclass(frozen=True, slots=True)
class Mover:
    """Changes the files, the index and the refs of one checkout, and the files of the queue that it belongs to."""

    folder: Path
    objects: Objects
    worktree: Worktree
    queue: Path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second pq out of the repository, whose refs all its worktrees share. The lock file says which process has it."""
        self.folder.mkdir(exist_ok=True)
        shared = self._shared_folder / "pq"
        shared.mkdir(exist_ok=True)
        with open(os.open(shared / "lock", os.O_RDWR | os.O_CREAT, 0o666), "r+b") as lock:
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

    def move(self, move: Move) -> None:
        """Make a move. Raises NotClean, with nothing changed, if edits are in the way."""
        self.objects.flush()
        self._require_unmoved(move)
        switch = self.require_clear(move.before, move.after)
        self._set(RefChange(_MOVING, None, move.logged))  # so that no gc takes it away
        token = files.new_token()
        entries = self.worktree.entries(switch.index)
        journal.write(self._journal, Journal(move.logged, move.reverse, move.refs, move.branches, token, entries))
        try:
            self.worktree.switch_files(switch.files, token)
            os.utime(self._journal)
            self.worktree.switch_index({path: new for path, (_, new) in switch.index.items()})
            for path, (old, new) in switch.queue.items():
                self._require_queue(path, old)
                self._put_queue(path, new, token)
            os.utime(self._journal)
            *refs_before, last = move.refs
            for ref in refs_before:
                self._set(ref)
            self._set_head(move.branches[1])
            self._set(last)
        except BaseException:
            with contextlib.suppress(
                OSError, PqError, pygit2.GitError
            ):  # what can't be taken back now, the next command takes back
                self._settle()
            raise
        self._forget()

    def require_clear(self, before: State, after: State) -> _Switch:
        """What a move would change. Raises NotClean if edits, or a running git, are in the way."""
        if Path(self.objects.repository.path, "index.lock").exists():
            raise NotClean(
                "git is at work in the checkout (index.lock exists)", hint="wait for it, or remove the file if no git is running"
            )
        switch = self._switch(before, after)
        taken = self.edits(before).keys() | before.conflicts.keys()
        staged = {path: old for path, (old, _) in switch.index.items() if path not in taken}
        self.worktree.require_told_apart(switch.files)
        if blocking := self.worktree.in_the_way(switch.files, staged):
            raise self.blocked(blocking)
        for path, (old, _) in switch.queue.items():
            self._require_queue(path, old)
        return switch

    def blocked(self, paths: Iterable[str]) -> NotClean:
        """That edits are in the way, and how to put them aside: files that git does not know take another option."""
        fact = f"unrefreshed changes are in the way: {', '.join(sorted(paths))}"
        git = f"git -C {self.worktree.root}"
        if self.worktree.unmerged():
            return NotClean(fact, hint="copy them elsewhere, then git restore those that git knows and remove the others")
        if None in self.worktree.entries(paths).values():
            return NotClean(fact, hint=f"{git} stash -a puts them aside, {git} status --ignored shows them")
        return NotClean(fact, hint=f"{git} stash puts them aside, {git} diff HEAD shows them")

    def recover(self) -> Recovery | None:
        """Finish or undo a move that was interrupted; None if there was none."""
        if not self._journal.exists():
            self._set(RefChange(_MOVING, None, None))
            return None
        if (found := journal.read(self._journal)) is not None:
            self._drop_own_locks(found)
        return self._settle()

    def _settle(self) -> Recovery:
        """Bring everything to one side of the commit point. A journal that can't be read was never complete: nothing was changed yet."""
        found = journal.read(self._journal)
        if found is not None and (head := self._target(found.head[0])) is not None:
            self.worktree.mend_index(commits.read(self.objects, head).tree)
        if found is None:
            recovery = Recovery(back=True)
        elif self._target(found.refs[-1].name) == found.refs[-1].new:
            with contextlib.suppress(PqError):  # what can't be read any more is nothing to mend by
                self.worktree.mend_files(self._switch(*self._states(found)).files, found.token)
            recovery = Recovery(back=False)
        elif self._target(found.refs[0].name) not in (found.refs[0].old, found.refs[0].new) or self._head not in found.head:
            recovery = Recovery(back=False, moved=True)
        else:
            recovery = Recovery(back=True, left=self._take_back(found))
        self._forget()
        return recovery

    def _take_back(self, found: Journal) -> tuple[str, ...]:
        """Undo what a move did so far; what somebody else touched meanwhile is left, and named."""
        try:
            switch = self._switch(*self._states(found))
        except PqError as error:
            self._forget()
            raise PqError(
                f"an interrupted command can't be taken back: {error.fact}",
                hint=f"git -C {self.worktree.root} status shows what it left; commands work again",
            ) from None
        for ref in reversed(found.refs):
            if self._target(ref.name) == ref.new:
                self._set(RefChange(ref.name, ref.new, ref.old))
        self._set_head(found.head[0])
        left = list(self.worktree.switch_back(switch.files, found.index, found.token))
        for path, (old, new) in switch.queue.items():
            files.drop_temporary(files.at(self.queue, path), found.token)
            now = self._queue_file(path)
            if now == new != old:
                self._put_queue(path, old, found.token)
            elif now != old:
                left.append(path)
        return tuple(left)

    def _states(self, found: Journal) -> tuple[State, State]:
        """From where to where the move went."""
        made = operations.read(self.objects, found.operation).operation
        return (made.after, made.before) if found.reverse else (made.before, made.after)

    def _forget(self) -> None:
        """Take the journal away, and the ref that kept what it names."""
        self._journal.unlink()
        self._set(RefChange(_MOVING, None, None))

    def _set(self, ref: RefChange) -> None:
        """Set or delete a ref; one whose old value is said, only if it still has it."""
        references = self.objects.repository.references
        if ref.old == ref.new is not None:
            return
        if ref.new is None:
            if ref.name in references:
                references.delete(ref.name)
        elif ref.old is None:
            references.create(ref.name, pygit2.Oid(hex=ref.new), force=True)
        else:
            references[ref.name].set_target(pygit2.Oid(hex=ref.new), "pq: move")  # only if it is still what was read here

    def _target(self, name: str) -> str | None:
        return target(self.objects.repository, name)

    @property
    def _head(self) -> str:
        """The branch that HEAD is on, or the commit where it is on none."""
        return target(self.objects.repository, "HEAD") or ""

    def _set_head(self, branch: str) -> None:
        if self._head != branch:
            self.objects.repository.references["HEAD"].set_target(branch, "pq: move")

    def _require_unmoved(self, move: Move) -> None:
        """The user may have committed, or switched to another branch, while the hook was running."""
        branch = move.branches[0]
        if self._head != branch or any(self._target(ref.name) != ref.old for ref in move.refs):
            raise NotClean(
                f"HEAD or branch {branch.removeprefix('refs/heads/')} was moved meanwhile", hint="run the command again"
            )

    def _switch(self, before: State, after: State) -> _Switch:
        gone_first = sorted(before.queue, key=lambda path: (after.queue[path] is not None, path))
        queue = {path: (before.queue[path], after.queue[path]) for path in gone_first}
        return _Switch(self.objects.difference(before.files, after.files), self._index_changes(before, after), queue)

    def _index_changes(self, before: State, after: State) -> dict[str, tuple[Entry, Entry]]:
        """The entries of all files that the move is about: as the head has them and, of files that are new among the edits, as these are.

        Entries of edits are set though they should be so already: nobody knows what was staged.
        """
        heads = [commits.read(self.objects, state.head).tree for state in (before, after)]
        edits = [self.edits(state) for state in (before, after)]
        conflicts = [before.conflicts, after.conflicts]
        moved = self.objects.difference(*heads)

        def entry(side: int, path: str) -> Entry:
            if path in conflicts[side]:
                return conflicts[side][path]
            head = self.objects.node(heads[side], path)
            if head is not None and head[0] != FOLDER:
                return head
            return edits[side][path][1] if path in edits[side] else None

        return {
            path: (entry(0, path), entry(1, path)) for path in {**moved, **edits[0], **edits[1], **conflicts[0], **conflicts[1]}
        }

    def edits(self, state: State) -> Changes:
        """The edits that a state has on top of its head."""
        return self.objects.difference(commits.read(self.objects, state.head).tree, state.files)

    def _queue_file(self, path: str) -> bytes | None:
        found = files.read(files.at(self.queue, path))
        if found is not None and found.mode == SYMLINK:
            raise NotClean(f"{path} is a symlink", hint="put the file itself there")
        return None if found is None else found.content

    def _require_queue(self, path: str, content: bytes | None) -> None:
        if files.symlink_above(self.queue, path) is not None or self._queue_file(path) != content:
            way = (
                "if that is meant, pq repair goes on from it"
                if "/" in path
                else "put it back as it was, and make the edit again then"
            )
            raise NotClean(f"{path} is not what it was", hint=f"it was edited since; {way}")

    def _put_queue(self, path: str, content: bytes | None, token: str) -> None:
        if content is None:
            top, _, below = path.partition("/")
            files.remove(self.queue / top, below)  # which leaves patches/ itself
        else:
            place = files.at(self.queue, path)
            mode = stat.S_IMODE(os.stat(place).st_mode) if os.path.exists(place) else None
            files.put(place, File(REGULAR, content), token, permissions=mode, synced=True)

    def _drop_dead_locks(self) -> None:
        """Only pq writes refs below refs/pq, and only with its lock; git locks them for moments when it packs refs."""
        for lock in (self._shared_folder / "refs" / "pq").rglob("*.lock"):
            end = time.monotonic() + _PACKING
            while lock.exists() and time.monotonic() < end:
                time.sleep(0.01)
            lock.unlink(missing_ok=True)

    def _drop_own_locks(self, found: Journal) -> None:
        began = self._journal.stat().st_mtime
        own = Path(self.objects.repository.path)
        branches = {self._shared_folder / f"{branch}.lock" for branch in (found.refs[0].name, *found.head)}
        for lock in (own / "index.lock", own / "HEAD.lock", *branches):
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
        return self.folder / journal.NAME
