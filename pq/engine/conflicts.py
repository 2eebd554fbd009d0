"""Conflicts as people settle them: in files of the checkout, between markers, and unmerged in git's index (design, section 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.core import merge, paths
from pq.core.lines import Lines, is_binary, split_lines
from pq.core.merge import Labels
from pq.core.patch import SYMLINK, Action, Edit, FilePatch
from pq.core.placement import Reason, Refused
from pq.engine import carry
from pq.engine.apply import Failed, apply_patch
from pq.engine.carry import Conflict
from pq.engine.workspace import Workspace
from pq.repo.objects import FOLDER, GitTree, Node, Objects
from pq.repo.stops import Stop
from pq.repo.worktree import Unmerged


@dataclass(frozen=True, slots=True)
class Marked:
    """A tree with conflicts in some of its files, and what the sides have there; `marked` are those with markers, the others are of one side."""

    tree: str
    files: Mapping[str, Unmerged]
    marked: frozenset[str]


def mark(workspace: Workspace, conflict: Conflict) -> Marked | None:
    """The ground with what fits of the change, and with the rest of it as conflicts; None where files can't say that."""
    if conflict.change is None or conflict.failed is None:
        return None
    objects, renamed = workspace.checkout.objects, conflict.renamed
    fitting = carry.without(conflict.change, conflict.failed)
    ground, known = GitTree(objects, conflict.ground), carry.bases(objects, conflict.before, renamed)
    outcome = apply_patch(ground, fitting, base=known, prove=conflict.prove)
    if isinstance(outcome, Failed):
        return None
    tree = ground.with_changes(outcome.changes).oid
    refused = {refusal.path: refusal.refused for refusal in conflict.failed.refusals}
    files: dict[str, Unmerged] = {}
    changes: dict[str, Node | None] = {}
    for file in conflict.change.files:
        if file in fitting.files:
            continue
        source = file.old_path if file.action is Action.RENAME and file.old_path is not None else file.path
        sides = [
            objects.node(conflict.before, renamed.get(source, source)),
            objects.node(conflict.ground, source),
            objects.node(conflict.tree, renamed.get(file.path, file.path)),
        ]
        if not _can_stand(objects, conflict.ground, source, file.path, sides):
            return None
        files[file.path] = Unmerged(*sides)
        laid = _laid(objects, file, files[file.path], labels(conflict.patch), _doubtful(refused.get(source), file))
        changes |= {source: None, file.path: laid}
    marked = frozenset(path for path, sides in files.items() if changes[path] not in (sides.ours, sides.theirs))
    return Marked(objects.edit(tree, changes), files, marked)


def labels(patch: str | None) -> Labels:
    """What stands behind the markers of a conflict with a patch, or with the edits."""
    theirs = b"the edits" if patch is None else b"patch " + paths.raw(patch)
    return Labels(b"what stands here", b"what %s changed" % theirs, theirs)


def is_marked(objects: Objects, stop: Stop, path: str, now: Node | None) -> bool:
    """Whether a marker of the conflict stands in a file still, which is not the file's own."""
    before, tree, ground = stop.carried
    said = labels(stop.patch)
    own = (merge.markers(_lines(objects, objects.node(each, path)), said) for each in (before, tree, ground))
    return merge.markers(_lines(objects, now), said) > max(own)


def _can_stand(objects: Objects, ground: str, source: str, path: str, sides: Sequence[Node | None]) -> bool:
    """Whether the file can stand at its path: no folder, and no other file, is there or above."""
    if any(node is not None and node[0] == FOLDER for node in sides):
        return False
    if source != path and objects.node(ground, path) is not None:
        return False
    above = (objects.node(ground, folder) for folder in paths.above(path))
    return all(node is None or node[0] == FOLDER for node in above)


def _doubtful(refused: Refused | None, file: FilePatch) -> frozenset[int]:
    """The hunks that would find a place, which is not theirs: all of a file, where it is not said which."""
    if refused is None or refused.reason not in (Reason.MOVED, Reason.THERE):
        return frozenset()
    return frozenset(hunk.number for hunk in file.hunks if refused.hunk is None or hunk.number == refused.hunk.number)


def _laid(objects: Objects, file: FilePatch, sides: Unmerged, labels: Labels, doubtful: frozenset[int]) -> Node | None:
    """What stands in the file for the user to settle: where one side has none the other one's, of what is no text ours."""
    base, ours, theirs = sides.base, sides.ours, sides.theirs
    if ours is None or theirs is None:
        return ours or theirs
    contents = [b"" if node is None else objects.read(node[1]) for node in (base, ours, theirs)]
    if SYMLINK in (ours[0], theirs[0]) or any(is_binary(content) for content in contents):
        return ours
    was, mine, _ = (split_lines(content) for content in contents)
    text = b"".join(merge.marked(was, mine, tuple(_edits(file)), labels, doubtful=doubtful))
    return (theirs[0] if base is not None and theirs[0] != base[0] else ours[0], objects.write("blob", text))


def _lines(objects: Objects, node: Node | None) -> Lines:
    return split_lines(objects.read(node[1])) if node is not None and node[0] not in (SYMLINK, FOLDER) else ()


def _edits(file: FilePatch) -> Iterator[Edit]:
    for hunk in file.hunks:
        yield from hunk.edits(hunk.position)
