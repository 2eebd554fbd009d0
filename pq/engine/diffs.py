"""diff: what a patch changes as it stands in the checkout, what is not refreshed yet, or what several patches change together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pq.core import stack
from pq.engine import carry, edit, rewrite
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import PqError
from pq.repo import commits

SNAPSHOT = "refs/pq/snapshot/"


@dataclass(frozen=True, slots=True)
class Asked:
    """What to show: of a `patch`, or of all from `combine` up to it (`-`: the lowest); of neither: of the top one, edits included.

    `unrefreshed`: the edits alone; `snapshot`: from what was remembered.
    """

    patch: str | None = None
    combine: str | None = None
    unrefreshed: bool = False
    snapshot: bool = False
    reverse: bool = False
    paths: Collection[str] = ()


def diff(workspace: Workspace, asked: Asked) -> bytes:
    """The diff, of these paths or of all."""
    if asked.snapshot + asked.unrefreshed + bool(asked.combine) > 1 or (asked.unrefreshed and asked.patch):
        raise PqError("-z, --snapshot and --combine exclude each other, and -z goes without -P", hint="ask one at a time")
    applied = workspace.applied
    top = len(applied)
    last = workspace.stack.applied.index(stack.find_applied(workspace.stack, asked.patch)) + 1 if asked.patch else top
    first = max(last - 1, 0)
    if asked.combine:
        first = 0 if asked.combine == "-" else workspace.stack.applied.index(stack.find_applied(workspace.stack, asked.combine))
        if first >= last:
            raise PqError(f"Patch {asked.combine} stands above {asked.patch}", hint="name the lower one with --combine")
    edits = edit.edits(workspace, asked.paths) if last == top else None
    before = _remembered(workspace) if asked.snapshot else rewrite.ground(workspace, top if asked.unrefreshed else first)
    after = edits or rewrite.ground(workspace, last)
    if asked.reverse:
        before, after = after, before
    objects = workspace.checkout.objects
    only = edit.among(objects.difference(before, after), asked.paths) if asked.paths else None
    shown = rewrite.layers(workspace, first)[: last - first] if not asked.unrefreshed else ()
    moved = [rename for layer in shown for rename in carry.renames(workspace.parse(layer.entry, layer.content))]
    return carry.diff(objects, before, after, only=only, renames=[(new, old) for old, new in moved] if asked.reverse else moved)


def snapshot(workspace: Workspace, *, drop: bool, tell: Tell) -> None:
    """Remember the files of the checkout with all edits, or drop what was remembered."""
    with workspace.locked(tell):
        ref = SNAPSHOT + workspace.queue.series_name
        if drop:
            workspace.checkout.set_ref(ref, None)
            return
        tree = edit.edits(workspace, ())
        parent = workspace.checkout.read_commit(workspace.head)
        made = commits.write(
            workspace.checkout.objects,
            tree=tree,
            parents=(parent.oid,),
            author=commits.IDENTITY,
            date=parent.date,
            message="snapshot\n",
        )
        workspace.checkout.set_ref(ref, made.oid)


def _remembered(workspace: Workspace) -> str:
    found = workspace.checkout.ref(SNAPSHOT + workspace.queue.series_name)
    if found is None:
        raise PqError("There is no snapshot", hint="pq snapshot takes one")
    return workspace.checkout.read_commit(found).tree
