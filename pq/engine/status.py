"""Where everything stands: the applied patches, what was checked, and what differs."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, replace
from pathlib import Path

from pq.core import ledger
from pq.core.ledger import Ledger
from pq.core.patch import FilePatch
from pq.core.series import Entry
from pq.engine import history, trust
from pq.engine.gate import Gate
from pq.engine.workspace import Workspace
from pq.errors import NotClean, PqError
from pq.repo import commits
from pq.repo.stops import Stop


@dataclass(frozen=True, slots=True)
class PatchState:
    """One patch of the series. `checked`: the gate let it through as it stands; None while it is not applied."""

    name: str
    applied: bool
    top: bool
    checked: bool | None


@dataclass(frozen=True, slots=True)
class StoppedAt:
    """A command that waits at a conflict of a patch (None: of the edits), in these files; `settled`: but for its end it is over.

    `towards` is the series that it makes, if it makes one.
    """

    command: str
    patch: str | None
    files: tuple[str, ...]
    settled: bool
    towards: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a workspace. `edited` are applied patches whose files changed since; `unrefreshed` are files of the checkout.

    `reworked` are applied patches whose commits were changed by other means; `off` are those whose commits git
    took off the branch; `way_out` is the command that takes off the lowest edited
    one; `disorder` says where the applied patches are not the first of the series; `stopped` is the command that waits at a conflict;
    `ledger` is what became of the patches that the series was made of; `trusted`: its hooks may run.
    """

    series: str
    release: str
    pin: str
    checkout: str
    patches: tuple[PatchState, ...]
    unrefreshed: tuple[str, ...]
    edited: tuple[str, ...]
    way_out: str | None
    reworked: tuple[str, ...]
    off: tuple[str, ...]
    missing: tuple[str, ...]
    unlisted: tuple[str, ...]
    disorder: str | None
    stopped: StoppedAt | None
    ledger: Ledger | None
    trusted: bool


def read(workspace: Workspace) -> Status:
    """Look, without changing anything."""
    queue = workspace.queue
    stop = workspace.stop
    if stop is not None:  # whatever was committed since
        workspace = replace(workspace, at=stop.laid.head if stop.answer is None else stop.before.head)
    elsewhere = stop is not None and stop.answer is None and stop.laid.series is not None
    missing = tuple(entry.name for entry in workspace.series.entries if not queue.patch_file(entry.name).is_file())
    edited = tuple(name for name in workspace.edited() if name not in missing) if stop is None else ()
    return Status(
        series=queue.series_name,
        release=workspace.pin.release,
        pin=workspace.pin_commit,
        checkout=queue.relative(queue.checkout),
        patches=_on_the_way(workspace, stop) if stop is not None and elsewhere else patches(workspace),
        unrefreshed=workspace.checkout.unrefreshed(),
        edited=edited,
        reworked=() if elsewhere else tuple(applied.patch for applied in workspace.applied if not applied.commit.own),
        off=_off(workspace) if stop is None else (),
        way_out=workspace.stack.taking_off(edited[0]) if edited else None,
        missing=missing,
        unlisted=queue.unlisted(),
        disorder=_disorder(workspace) if stop is None else None,
        stopped=StoppedAt(stop.call.title, stop.patch, tuple(stop.files), stop.answer is not None, stop.laid.series)
        if stop is not None
        else None,
        ledger=ledger.read(workspace.series),
        trusted=trust.is_trusted(workspace),
    )


def _on_the_way(workspace: Workspace, stop: Stop) -> tuple[PatchState, ...]:
    """The patches that stand on another release already, and those that are not carried there yet."""
    carried: list[str] = []
    commit = workspace.checkout.read_commit(stop.laid.head)
    while (applied := commits.as_patch(commit)) is not None:
        carried.insert(0, applied.patch)
        commit = workspace.checkout.read_commit(commit.parents[0])
    names = [entry.name for entry in workspace.stack_order]
    left = names[names.index(stop.patch) :] if stop.patch in names else []
    return tuple(PatchState(name, name in carried, name in carried[-1:], None) for name in (*carried, *left))


def _off(workspace: Workspace) -> tuple[str, ...]:
    """The patches that git took off, as with `git reset`."""
    before = history.applied_last(workspace) or ()
    return tuple(name for name in before if name in workspace.series.names and name not in workspace.stack.applied)


def _disorder(workspace: Workspace) -> str | None:
    try:
        workspace.stack.require_order()
    except NotClean as error:
        amended = any(not applied.commit.own for applied in workspace.applied)
        return error.fact if amended else f"{error.fact}; {error.hint}"  # else repair is the way out, which is said by itself
    return None


def patches(workspace: Workspace, *, verdicts: bool = True) -> tuple[PatchState, ...]:
    """The state of every patch, in the order of the series; what was checked only on request, since it may take an interpreter."""
    checked = _checked(workspace) if verdicts else {}
    applied, top = workspace.stack.applied, workspace.stack.top
    names = [*applied, *(entry.name for entry in workspace.stack.unapplied)]
    return tuple(PatchState(name, name in applied, name == top, checked.get(name)) for name in names)


def touched(workspace: Workspace, given: str | None) -> tuple[FilePatch, ...]:
    """The file patches of a patch, or of the top one."""
    entry = _entry(workspace, given)
    return workspace.read_patch(entry).files


def shown(workspace: Workspace, given: str | None) -> bytes:
    """The bytes of a patch, or of the top one."""
    return workspace.queue.read_patch(_entry(workspace, given).name)


def in_checkout(workspace: Workspace, start: Path, given: str) -> str:
    """A path as patches name it, from what a user in the folder `start` writes: below the checkout, or from its root."""
    place = Path(os.path.abspath(start / given))
    root = Path(os.path.abspath(workspace.queue.checkout))
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else posixpath.normpath(given)


def touching(workspace: Workspace, files: tuple[str, ...]) -> tuple[str, ...]:
    """The patches of the series that touch one of the files."""
    wanted = set(files)
    found = []
    for entry in workspace.series.entries:
        paths = {path for file in workspace.read_patch(entry).files for path in (file.old_path, file.new_path)}
        if paths & wanted:
            found.append(entry.name)
    return tuple(found)


def _entry(workspace: Workspace, given: str | None) -> Entry:
    if given:
        return workspace.series.entry(workspace.series.find(given))
    top = workspace.stack.require_top()
    workspace.require_order()
    return workspace.series.entry(top)


def _checked(workspace: Workspace) -> dict[str, bool]:
    """For every applied patch whether the gate let it through, the top one as a final tree."""
    if not workspace.applied:
        return {}
    gate = Gate(workspace, lambda _: None)
    before = workspace.checkout.read_commit(workspace.pin_commit).tree
    found: dict[str, bool] = {}
    try:
        for each in workspace.applied:
            found[each.patch] = gate.passed(before, each.commit, final=each.patch == workspace.stack.top)
            before = each.commit.tree
    except PqError:  # what the verdicts depend on is not to be had
        return dict.fromkeys((each.patch for each in workspace.applied), False)
    return found
