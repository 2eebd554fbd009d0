"""Candidates: patches on top of a commit, as commits in memory. Nothing is changed by making them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pq.core.patch import FilePatch
from pq.core.series import Entry
from pq.engine import events
from pq.engine.apply import Failed, apply_patch
from pq.engine.workspace import Workspace
from pq.repo import commits
from pq.repo.commits import Commit


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch as the commit that it would be, and the tree below it."""

    patch: str
    before: str
    commit: Commit


@dataclass(frozen=True, slots=True)
class Built:
    """The candidates, bottom first, up to the first patch that does not belong there, and what there is to tell of them."""

    candidates: tuple[Candidate, ...]
    applying: tuple[events.Applying, ...]
    refused: events.Refused | None


def build(workspace: Workspace, parent: Commit, entries: Sequence[Entry], *, fuzz: int = 0) -> Built:
    """Make the commits of `entries` on `parent`, taking those that exist already. Raises PqError for a patch that can't be read."""
    contents = [workspace.queue.read_patch(entry.name) for entry in entries]  # a missing one is said before the first is tried
    known = workspace.checkout.known(workspace.queue.series_name, workspace.pin_commit)
    made: list[Candidate] = []
    told: list[events.Applying] = []
    for entry, content in zip(entries, contents, strict=True):
        identity = commits.identity(content, entry)
        existing = known.get((parent.oid, entry.name, identity))
        if existing is not None and existing.fuzz <= fuzz:
            commit, empty = existing.commit, existing.commit.tree == parent.tree
            applying = events.Applying(entry.name, known=True, placed=(), empty=empty, text=empty and bool(content.strip()))
        else:
            outcome = _apply(workspace, parent, entry, content, fuzz)
            if isinstance(outcome, events.Refused):
                return Built(tuple(made), tuple(told), outcome)
            commit, applying = outcome
        told.append(applying)
        made.append(Candidate(entry.name, parent.tree, commit))
        parent = commit
    return Built(tuple(made), tuple(told), None)


def _apply(
    workspace: Workspace, parent: Commit, entry: Entry, content: bytes, fuzz: int
) -> tuple[Commit, events.Applying] | events.Refused:
    from pq.core import header  # loads email: not for patches whose commits exist

    patch = workspace.parse(entry, content)
    objects = workspace.checkout.objects
    tree = workspace.checkout.tree_of(parent)

    def base(file: FilePatch) -> bytes | None:
        return objects.find_blob(file.old_id) if file.old_id else None

    outcome = apply_patch(tree, patch, base=base, fuzz=fuzz)
    if isinstance(outcome, Failed):
        return events.Refused(entry.name, workspace.queue.relative(workspace.queue.patch_file(entry.name)), outcome)
    commit = commits.write_patch(
        objects,
        tree=tree.with_changes(outcome.changes).oid,
        parent=parent,
        entry=entry,
        digest=commits.identity(content, entry).partition(" ")[0],
        described=header.read(patch.header),
        fuzz=max((hunk.fuzz for _, placed in outcome.placed for hunk in placed.hunks), default=0),
    )
    empty = not outcome.changes
    return commit, events.Applying(
        entry.name, known=False, placed=outcome.placed, empty=empty, text=empty and bool(content.strip())
    )
