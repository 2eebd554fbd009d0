"""diff: what a patch changes as it stands in the checkout, what is not refreshed yet, or what several patches change together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pq.core import stack
from pq.engine import carry, edit, rewrite
from pq.engine.workspace import Workspace
from pq.errors import PqError


@dataclass(frozen=True, slots=True)
class Asked:
    """What to show: of a `patch`, or of all from `combine` up to it (`-`: the lowest); of neither: of the top one, edits included."""

    patch: str | None = None
    combine: str | None = None
    unrefreshed: bool = False
    reverse: bool = False
    paths: Collection[str] = ()


def diff(workspace: Workspace, asked: Asked) -> bytes:
    """The diff, of these paths or of all."""
    if asked.unrefreshed and (asked.patch or asked.combine):
        raise PqError("-z shows what is not refreshed, whatever the patch", hint="leave out -P and --combine")
    applied = workspace.applied
    top = len(applied)
    last = workspace.stack.applied.index(stack.find_applied(workspace.stack, asked.patch)) + 1 if asked.patch else top
    first = max(last - 1, 0)
    if asked.combine:
        first = 0 if asked.combine == "-" else workspace.stack.applied.index(stack.find_applied(workspace.stack, asked.combine))
        if first >= last:
            raise PqError(f"Patch {asked.combine} stands above {asked.patch}", hint="name the lower one with --combine")
    edits = edit.edits(workspace, asked.paths) if last == top else None
    before = rewrite.ground(workspace, top if asked.unrefreshed else first)
    after = edits or rewrite.ground(workspace, last)
    if asked.reverse:
        before, after = after, before
    objects = workspace.checkout.objects
    only = edit.among(objects.difference(before, after), asked.paths) if asked.paths else None
    return carry.diff(objects, before, after, only=only)
