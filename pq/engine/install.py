"""git's hooks in the two repositories of a workspace: the queue's, if it is in one, and the checkout's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pq.engine.workspace import Workspace
from pq.errors import NothingToDo
from pq.repo import shims
from pq.repo.shims import Shims


@dataclass(frozen=True, slots=True)
class HookState:
    """A hook of git's in a repository; `other` is another tool's hook that runs before it."""

    place: str
    name: str
    there: bool
    other: str | None = None


def install(workspace: Workspace, *, wanted: bool = False) -> tuple[HookState, ...]:
    """Put the hooks there; those that changed. Where the user took them out, only if they are `wanted` again."""
    return tuple(
        HookState(place, name, there=True)
        for place, found in _repositories(workspace)
        if wanted or found.are_wanted
        for name in found.install()
    )


def uninstall(workspace: Workspace) -> tuple[HookState, ...]:
    """Take the hooks out; those that went. Raises NothingToDo where there are none."""
    gone = tuple(HookState(place, name, there=False) for place, found in _repositories(workspace) for name in found.uninstall())
    if not gone:
        raise NothingToDo("No hooks of pq are installed")
    return gone


def installed(workspace: Workspace) -> tuple[HookState, ...]:
    """The hooks, there or not."""
    return tuple(
        HookState(place, each.name, each.there, each.other)
        for place, found in _repositories(workspace)
        for each in found.installed()
    )


def _repositories(workspace: Workspace) -> Iterator[tuple[str, Shims]]:
    """Where there are to be hooks, as it is shown, and which: in one repository that is both, all of them."""
    queue = workspace.queue
    outer = shims.shims_of(queue.root, shims.QUEUE_HOOKS, everywhere=True)
    inner = shims.shims_of(queue.checkout, shims.CHECKOUT_HOOKS, everywhere=False)
    if inner is not None and outer is not None and inner.folder == outer.folder:
        inner, outer = replace(inner, everywhere=True), None
    if outer is not None:
        yield "the queue", outer
    if inner is not None:
        yield queue.relative(queue.checkout), inner
