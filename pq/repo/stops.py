"""A stop: a command that came to a conflict, and waits for the user to settle it (design, section 9).

It is a commit under `refs/pq/stopped/<series>`, so that what it names is not collected. Its tree holds `stop.json` and, in `trees/`, the
trees that it names. Once the conflict is settled and until the command has ended, `conflict` is null::

    {"words": [<the command as it was typed>], "folder": <where>, "settled": [[<tree before>, <tree>, <ground>, <settled tree>], …],
     "conflict": {"patch": <its name; null: the edits>, "trees": [<before>, <tree>, <ground>], "files": {<path>: [<mode>, <id>] or null},
                  "left": {<path>: [<mode>, <id>] or null}} or null}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pq.core.patch import REGULAR
from pq.repo import commits
from pq.repo.objects import FOLDER, Node, Objects

STOPPED = "refs/pq/stopped/"

Carried = tuple[str, str, str]
"""What was to be carried where: the tree below a patch and the one with it, and the tree that it is to stand on."""
Nodes = Mapping[str, Node | None]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A conflict: the patch that does not fit (None: the edits), the files with conflicts as they were left, and what was edited before."""

    patch: str | None
    carried: Carried
    files: Nodes
    left: Nodes


@dataclass(frozen=True, slots=True)
class Stop:
    """A command that stopped: its words, where it was started, what was settled since, and the conflict that it waits at."""

    words: tuple[str, ...]
    folder: str
    settled: Mapping[Carried, str] = field(default_factory=dict)
    conflict: Unsettled | None = None

    @property
    def title(self) -> str:
        """The command as people read it."""
        return " ".join(self.words)


def write(objects: Objects, stop: Stop) -> str:
    """Keep a stop; its commit."""
    conflict = stop.conflict
    said = {
        "words": stop.words,
        "folder": stop.folder,
        "settled": [[*carried, tree] for carried, tree in stop.settled.items()],
        "conflict": None
        if conflict is None
        else {"patch": conflict.patch, "trees": conflict.carried, "files": conflict.files, "left": conflict.left},
    }
    trees = {tree for carried, settled in stop.settled.items() for tree in (*carried, settled)}
    trees |= set(conflict.carried) if conflict is not None else set()
    names: dict[str, Node] = {"stop.json": (REGULAR, objects.write("blob", json.dumps(said).encode()))}
    if trees:
        names["trees"] = (FOLDER, objects.write_tree({tree: (FOLDER, tree) for tree in trees}))
    made = commits.write(
        objects, tree=objects.write_tree(names), parents=(), author=commits.IDENTITY, date=(0, 0), message="stopped\n"
    )
    return made.oid


def read(objects: Objects, oid: str) -> Stop:
    """Read a stop."""
    said = json.loads(objects.read(objects.tree(commits.read(objects, oid).tree)["stop.json"][1]))
    conflict = said["conflict"]
    return Stop(
        words=tuple(said["words"]),
        folder=said["folder"],
        settled={(before, tree, ground): settled for before, tree, ground, settled in said["settled"]},
        conflict=conflict
        and Unsettled(conflict["patch"], tuple(conflict["trees"]), _nodes(conflict["files"]), _nodes(conflict["left"])),
    )


def _nodes(said: Mapping[str, list[int | str] | None]) -> dict[str, Node | None]:
    return {path: (int(node[0]), str(node[1])) if node else None for path, node in said.items()}
