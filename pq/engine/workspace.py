"""What every command starts from: the queue, its series, the checkout, and the stack that stands in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pq import queue
from pq.core.series import Entry, Pin, Series
from pq.core.stack import Stack
from pq.engine import events
from pq.engine.events import Tell
from pq.errors import NotClean, PqError
from pq.queue import Queue
from pq.repo import checkout, commits, stops
from pq.repo.checkout import Checkout
from pq.repo.commits import PatchCommit
from pq.repo.operations import State
from pq.repo.stops import STOPPED, Stop

if TYPE_CHECKING:
    from pq.core.patch import Patch


@dataclass(frozen=True)
class Workspace:
    """One queue and its checkout. `title` is what `pq log` calls the operation that is made of the command.

    `resumed`: the command goes on from there. `at` is the commit that the stack ends at; None: the branch's. `trusted` is the digest of
    what the command may run of the queue's own, if the user said one.
    """

    queue: Queue
    title: str = ""
    resumed: Stop | None = None
    at: str | None = None
    trusted: str | None = None

    @property
    def series(self) -> Series:
        """The series in use."""
        return self._stamped_series[1]

    @cached_property
    def _stamped_series(self) -> tuple[str, Series]:
        """The stamp of the files as they were before they were read, and the series."""
        stamp = self.queue.stamp() if self.queue.series_file.is_file() else ""
        return stamp, self.queue.read_series()

    @cached_property
    def checkout(self) -> Checkout:
        """The checkout. Raises PqError where there is none, or where one outside of the queue's folder does not know the queue."""
        opened = checkout.open_checkout(self.queue.checkout, queue=self.queue.root)
        if self.queue.worktree is None and not self.queue.has_checkout_inside and not opened.knows_queue:
            raise PqError(
                f"The checkout {opened.root} is not known to belong to this queue", hint="pq setup writes that down in it"
            )
        return opened

    def variant(self, *, queue: Queue | None = None, at: str | None = None) -> Workspace:
        """The same with another queue, or ending at another commit, on the same open checkout."""
        found = replace(self, queue=queue or self.queue, at=at)
        vars(found)["checkout"] = self.checkout
        return found

    def variant_of(self, series_name: str) -> Workspace:
        """The same with another series in use."""
        found = replace(self, queue=replace(self.queue, series_name=queue.require_name(series_name)))
        if "checkout" in vars(self):
            vars(found)["checkout"] = self.checkout
        return found

    @cached_property
    def pin(self) -> Pin:
        """The release that the series is made for."""
        return self.queue.read_pin(self.series)

    @cached_property
    def pin_commit(self) -> str:
        """The commit of the pin. Raises NotClean where the checkout has another commit for that release, or none."""
        found = self.checkout.release(self.pin.release)
        if found is None:
            raise NotClean(f"Release {self.pin.release} is not in the checkout", hint="pq setup fetches it")
        if self.pin.commit not in (None, found):
            raise NotClean(
                f"The series is made for {self.pin.release} at {self.pin.commit}, the checkout has it at {found}",
                hint="was the release published anew? correct the pq-pin line once that is settled",
            )
        return found

    @cached_property
    def head(self) -> str:
        """The commit at the branch of the series."""
        try:
            return self.at or self.checkout.head(self.queue.series_name)
        except NotClean:
            self.require_no_stop()
            raise

    @cached_property
    def applied(self) -> tuple[PatchCommit, ...]:
        """The applied patches, bottom first."""
        try:
            stack = self.checkout.stack(self.head, self.pin_commit)
        except NotClean:
            self.require_no_stop()
            raise
        self.remember(self.head, [patch.patch for patch in stack])
        return stack

    @cached_property
    def stack(self) -> Stack:
        """The applied patches against the series."""
        return Stack(self.series, tuple(patch.patch for patch in self.applied), frozenset(self.queue.config.guards))

    @property
    def stack_order(self) -> tuple[Entry, ...]:
        """The entries of the series that its guards let through."""
        return Stack(self.series, (), frozenset(self.queue.config.guards)).order

    def read_patch(self, entry: Entry) -> Patch:
        """What a patch says when it is applied as the series says."""
        return self.parse(entry, self.queue.read_patch(entry.name))

    def parse(self, entry: Entry, content: bytes) -> Patch:
        """The same, of a patch file whose bytes are known."""
        from pq.core import patch_reader

        patch = patch_reader.read(content, file=self.queue.relative(self.queue.patch_file(entry.name)), strip=entry.strip)
        return patch.reversed() if entry.reverse else patch

    def edited(self) -> tuple[str, ...]:
        """Applied patches of the series whose files, or whose options in the series, are not what was applied."""
        found = []
        for applied in self.applied:
            if applied.patch not in self.series.names:
                continue
            try:
                entry = self.series.entry(applied.patch)
                same = commits.identity(self.queue.read_patch(entry.name), entry) == applied.identity
            except PqError:
                same = False
            if not same:
                found.append(applied.patch)
        return tuple(found)

    def require_own(self) -> None:
        """Raise NotClean where the commit of an applied patch was amended, rebased or reworded with plain git."""
        for applied in self.applied:
            if not applied.commit.own:
                raise NotClean(
                    f"The commit of patch {applied.patch} was changed by other means", hint="pq repair takes that into its file"
                )

    @property
    def stop(self) -> Stop | None:
        """The command that waits at a conflict, if one does."""
        kept = self.checkout.ref(STOPPED + self.queue.series_name)
        return None if kept is None else stops.read(self.checkout.objects, kept)

    def require_order(self) -> None:
        """Raise NotClean unless the applied patches are the first of the series."""
        try:
            self.stack.require_order()
        except NotClean:
            self.require_no_stop()
            raise

    def require_no_stop(self) -> None:
        """Raise NotClean where a command waits at a conflict, in this series or in the one that the checkout stands on."""
        if self.resumed is not None:
            return
        for series in {self.queue.series_name: None, self.checkout.series_on: None}:
            kept = self.checkout.ref(f"{STOPPED}{series}")
            if series is not None and kept is not None:
                stop = stops.read(self.checkout.objects, kept)
                hint = events.GO_ON if stop.answer is None else events.SETTLED
                raise NotClean(f"pq {stop.call.title} stopped at a conflict", hint=hint)

    def remember(self, commit: str, names: Sequence[str]) -> None:
        """Write down for `pq top` what is applied at a commit. Where that fails, `pq top` takes longer."""
        with contextlib.suppress(OSError):
            self.checkout.remember(commit, names, stamp=self._stamped_series[0])

    def state(self, commit: str) -> State:
        """The checkout at a commit, without edits."""
        return State(commit, self.checkout.read_commit(commit).tree)

    def settle(self, tell: Tell) -> None:
        """Settle what an interrupted command left, unless another pq is at work or the checkout can't be written."""
        if checkout.is_interrupted(self.queue.checkout):
            with contextlib.suppress(NotClean, OSError), self.locked(tell):
                pass

    @contextlib.contextmanager
    def locked(self, tell: Tell, *, stopped: bool = False) -> Iterator[None]:
        """Keep a second pq out of the checkout, and first settle what an interrupted one left.

        Raises NotClean where a command waits at a conflict, unless the caller may work then (`stopped`).
        """
        with self.checkout.mover.locked():
            if recovery := self.checkout.mover.recover():
                tell(events.Recovered(recovery.back, recovery.left, recovery.moved))
            if not stopped:
                self.require_no_stop()
            yield


def open_workspace(
    start: Path,
    *,
    queue_root: Path | None = None,
    series_name: str | None = None,
    title: str = "",
    trusted: str | None = None,
) -> Workspace:
    """The workspace around a folder: the nearest queue upwards, or the one that the checkout around it belongs to."""
    root = queue_root or queue.find(start) or checkout.queue_of(start)
    if root is None:
        raise PqError(f"No queue found from {start} upwards", hint="pq init makes one")
    found = queue.open_queue(root, series_name=series_name)
    worktree = checkout.linked_worktree(start, root)
    if worktree is not None and worktree.resolve() != found.checkout.resolve():
        found = _in_worktree(found, worktree, series_name)
    _require_this_checkout(start, found)
    return Workspace(found, title, trusted=trusted)


def _in_worktree(found: Queue, worktree: Path, series_name: str | None) -> Queue:
    """The queue with a linked worktree of its checkout for its checkout, and the series whose branch that is on."""
    on = checkout.open_checkout(worktree, queue=found.root).series_on
    name = found.series_name if series_name is not None or on is None else on
    return replace(found, worktree=worktree, series_name=queue.require_name(name))


def _require_this_checkout(start: Path, found: Queue) -> None:
    """Raise PqError in a folder of another checkout that the queue had once."""
    above = [folder for folder in (start.resolve(), *start.resolve().parents) if folder.is_relative_to(found.root.resolve())]
    inside = next((folder for folder in above[:-1] if (folder / ".git" / "pq").is_dir()), None)
    if inside is not None and inside != found.checkout.resolve():
        raise PqError(
            f"{inside} is not the checkout of this queue, which is {found.relative(found.checkout)}",
            hint="set [upstream] checkout in pq.toml, or go there",
        )
