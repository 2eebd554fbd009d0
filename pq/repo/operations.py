"""Operations: what a command did to the checkout and to the queue, kept so that it can be taken back (design, section 10).

An operation is a commit. Its tree holds `before/` and `after/`, each with `files`, the tree of the checkout's files, and `queue/`, the
files of the queue that the operation changed, as far as they were there. Its parents are the operation before it, if there is one,
and the commits at the branch before and after, so that nothing of it is ever collected. The message is the command, and the trailers::

    Pq-Previous: <operation, if there is one>
    Pq-Before: <commit at the branch>
    Pq-After: <commit at the branch>
    Pq-From: <series, where the operation leads to another one>
    Pq-To: <series>

`refs/pq/operations/<series>` is the last operation that stands, `refs/pq/undone/<series>` the last one of the line that was undone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pq.core import paths
from pq.core.patch import REGULAR
from pq.repo import commits
from pq.repo.objects import FOLDER, Node, Objects
from pq.repo.refs import readable
from pq.repo.worktree import Unmerged

OPERATIONS, UNDONE = "refs/pq/operations/", "refs/pq/undone/"
_TRAILER = re.compile(rb"Pq-(Previous|Before|After|From|To): (\S+)")


@dataclass(frozen=True, slots=True)
class State:
    """Where an operation begins or ends.

    `head` is the commit at the branch, `files` the tree of the checkout's files with those edits that the operation takes or gives back.
    `queue` has the bytes of queue files by path from the queue's folder; None: there is none. Both states of an operation name the same.
    `conflicts` are the files that the index has in conflict; what it had is kept by no operation, but by the journal while it is made.
    `series` is the one whose branch it is, where an operation leads from one to another.
    """

    head: str
    files: str
    queue: Mapping[str, bytes | None] = field(default_factory=dict)
    conflicts: Mapping[str, Unmerged] = field(default_factory=dict)
    series: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """What a command did. `date` is in seconds since 1970."""

    title: str
    before: State
    after: State
    date: int


@dataclass(frozen=True, slots=True)
class Logged:
    """An operation as it is kept: its commit, and the one before it."""

    oid: str
    previous: str | None
    operation: Operation


def write(objects: Objects, operation: Operation, previous: str | None) -> str:
    """Keep an operation; its commit."""
    states = {"before": operation.before, "after": operation.after}
    tree = objects.write_tree({name: (FOLDER, _write_state(objects, state)) for name, state in states.items()})
    said = [("Previous", previous), ("Before", operation.before.head), ("After", operation.after.head)]
    series = [("From", operation.before.series), ("To", operation.after.series)]
    trailers = [f"Pq-{key}: {value}" for key, value in (*said, *series) if value is not None]
    made = commits.write(
        objects,
        tree=tree,
        parents=tuple(dict.fromkeys(oid for _, oid in said if oid is not None)),
        author=commits.IDENTITY,
        date=(operation.date, 0),
        message=f"{operation.title}\n\n" + "\n".join(trailers) + "\n",
    )
    return made.oid


def read(objects: Objects, oid: str) -> Logged:
    """Read an operation. Raises PqError for a commit that is none."""
    with readable(f"operation {oid[:12]}"):
        return _read(objects, oid)


def _read(objects: Objects, oid: str) -> Logged:
    commit = commits.read(objects, oid)
    title, _, last = commit.message.rpartition(b"\n\n")
    said = {key.decode(): paths.text(value) for key, value in _TRAILER.findall(last)}
    folders = objects.tree(commit.tree)
    queues = [_read_queue(objects, folders[name][1]) for name in ("before", "after")]
    changed = queues[0].keys() | queues[1].keys()
    before, after = (
        State(
            said[key],
            objects.tree(folders[name][1])["files"][1],
            {path: queue.get(path) for path in changed},
            series=said.get(series),
        )
        for key, series, name, queue in (("Before", "From", "before", queues[0]), ("After", "To", "after", queues[1]))
    )
    return Logged(oid, said.get("Previous"), Operation(paths.text(title), before, after, commit.date[0]))


def _write_state(objects: Objects, state: State) -> str:
    nodes: dict[str, Node | None] = {
        path: (REGULAR, objects.write("blob", content)) for path, content in state.queue.items() if content is not None
    }
    names: dict[str, Node] = {"files": (FOLDER, state.files)}
    if nodes:
        names["queue"] = (FOLDER, objects.edit(objects.write("tree", b""), nodes))
    return objects.write_tree(names)


def _read_queue(objects: Objects, tree: str) -> dict[str, bytes]:
    queue = objects.tree(tree).get("queue")
    if queue is None:
        return {}
    found = objects.difference(objects.write("tree", b""), queue[1])
    return {path: objects.read(new[1]) for path, (_, new) in found.items() if new is not None}
