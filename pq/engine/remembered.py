"""Resolutions of conflicts, in `patches/.resolutions/` of the queue: git keeps and shares them, and what was settled once is not asked again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pq.core import resolutions
from pq.core.ledger import Outcome
from pq.core.lines import Lines, split_lines
from pq.engine import conflicts
from pq.engine.carry import Conflict
from pq.engine.onto import Carried
from pq.engine.workspace import Workspace
from pq.repo.files import write_synced
from pq.repo.objects import Node
from pq.repo.stops import Stop

FOLDER = ".resolutions"


@dataclass(frozen=True, slots=True)
class Remembered:
    """The resolutions of one queue."""

    workspace: Workspace

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.workspace.queue.root / "patches" / FOLDER

    def settle(self, conflict: Conflict) -> Carried | None:
        """What becomes of a patch whose conflicts were all settled before."""
        if not self.folder.is_dir():
            return None
        objects = self.workspace.checkout.objects
        marked = conflicts.mark(self.workspace, conflict)
        if marked is None or marked.files.keys() != marked.marked:
            return None
        changes: dict[str, Node | None] = {}
        for path in marked.marked:
            node = objects.node(marked.tree, path)
            assert node is not None
            name, labels = conflict.renamed.get(path, path), conflicts.labels(conflict.patch)
            lines = resolutions.settled(split_lines(objects.read(node[1])), name, labels, self._answer)
            if lines is None:
                return None
            changes[path] = (node[0], objects.write("blob", b"".join(lines)))
        tree = objects.edit(marked.tree, changes)
        if tree == conflict.ground:
            return None  # that a patch is left out is decided each time
        return Carried(tree, Outcome.REMEMBERED, f"{', '.join(sorted(marked.marked))} as in patches/{FOLDER}", conflict.renamed)

    def learn(self, stop: Stop, answer: str) -> None:
        """Keep what the user made of the conflicts of a stop, at once and for good."""
        objects = self.workspace.checkout.objects
        if answer == stop.carried[2]:
            return
        for path, laid in stop.files.items():
            now = objects.node(answer, path)
            if laid is None or now is None:
                continue
            marked, made = (split_lines(objects.read(node[1])) for node in (laid, now))
            for found in resolutions.learned(marked, made, stop.renamed.get(path, path), conflicts.labels(stop.patch)):
                place = self.folder / found.key
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.is_file() or place.read_bytes() != resolutions.render(found):
                    write_synced(place, resolutions.render(found))

    def _answer(self, key: str) -> Lines | None:
        place = self.folder / key
        found = resolutions.read(place.read_bytes()) if place.is_file() else None
        return found.answer if found is not None and found.key == key else None


def carried(workspace: Workspace, found: Carried | Conflict) -> Carried | Conflict:
    """What became of a patch, with what was settled before."""
    return (Remembered(workspace).settle(found) or found) if isinstance(found, Conflict) else found
