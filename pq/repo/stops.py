"""A stop: a command that came to a conflict, and waits for the user to settle it (design, section 9).

It is a commit under `refs/pq/stopped/<series>`, whose parents are the commits that it names, and whose tree holds `stop.json` and, in
`trees/`, the trees that it names, so that nothing of it is collected::

    {"title": <the command as it was typed>, "command": <its function>, "arguments": {…},
     "settled": [[<tree before>, <tree>, <ground>, <settled tree>], …],
     "patch": <that does not fit; null: the edits>, "carried": [<tree before>, <tree>, <ground>],
     "files": {<path with a conflict>: [<mode>, <id>] or null},
     "before": [<commit>, <tree of the files>, <series or null>], "laid": [<the same>], "answer": <tree> or null,
     "decided": [<path that was settled as "files" has it>, …], "renamed": {<path>: <path where the patch was made>}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pq.core.patch import REGULAR
from pq.repo import commits
from pq.repo.objects import FOLDER, Node, Objects
from pq.repo.operations import State
from pq.repo.refs import readable

STOPPED = "refs/pq/stopped/"

Carried = tuple[str, str, str]
"""What was to be carried where: the tree below a patch and the one with it, and the tree that it is to stand on."""
Nodes = Mapping[str, Node | None]


@dataclass(frozen=True, slots=True)
class Call:
    """A command: as it was typed, and the function that it is, with its arguments."""

    title: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Stop:
    """A command that waits at a conflict of a patch (None: of the edits), and what was settled before it came to that.

    `files` are those with a conflict, as they were laid. `before` is where the command began, `laid` what it waits in. `answer` is the
    tree that the user made of the conflict; while there is one, the checkout is as before the command. `decided` are files of
    which somebody has said that they are to be as they are laid. `renamed` says what files were called where the patch was made.
    """

    call: Call
    settled: Mapping[Carried, str]
    patch: str | None
    carried: Carried
    files: Nodes
    before: State
    laid: State
    answer: str | None = None
    decided: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[Carried, str]:
        """All that was settled."""
        return self.settled if self.answer is None else {**self.settled, self.carried: self.answer}


def write(objects: Objects, stop: Stop) -> str:
    """Keep a stop; its commit."""
    said = {
        "title": stop.call.title,
        "command": stop.call.name,
        "arguments": stop.call.arguments,
        "settled": [[*carried, tree] for carried, tree in stop.settled.items()],
        "patch": stop.patch,
        "carried": stop.carried,
        "files": stop.files,
        "before": [stop.before.head, stop.before.files, stop.before.series],
        "laid": [stop.laid.head, stop.laid.files, stop.laid.series],
        "answer": stop.answer,
        "decided": sorted(stop.decided),
        "renamed": dict(stop.renamed),
    }
    trees = {tree for carried, settled in stop.known.items() for tree in (*carried, settled)}
    trees |= {*stop.carried, stop.before.files, stop.laid.files}
    tree = objects.write_tree(
        {
            "stop.json": (REGULAR, objects.write("blob", json.dumps(said).encode())),
            "trees": (FOLDER, objects.write_tree({tree: (FOLDER, tree) for tree in trees})),
        }
    )
    heads = tuple(dict.fromkeys((stop.before.head, stop.laid.head)))
    return commits.write(objects, tree=tree, parents=heads, author=commits.IDENTITY, date=(0, 0), message="stopped\n").oid


def read(objects: Objects, oid: str) -> Stop:
    """Read a stop."""
    with readable(f"what is kept of the command that waits at a conflict ({oid[:12]})"):
        return _read(json.loads(objects.read(objects.tree(commits.read(objects, oid).tree)["stop.json"][1])))


def _read(said: Mapping[str, Any]) -> Stop:
    return Stop(
        Call(said["title"], said["command"], said["arguments"]),
        {(before, tree, ground): settled for before, tree, ground, settled in said["settled"]},
        said["patch"],
        tuple(said["carried"]),
        {path: (int(node[0]), str(node[1])) if node else None for path, node in said["files"].items()},
        _state(*said["before"]),
        _state(*said["laid"]),
        said["answer"],
        frozenset(said["decided"]),
        said.get("renamed", {}),
    )


def _state(head: str, files: str, series: str | None = None) -> State:
    return State(head, files, series=series)
