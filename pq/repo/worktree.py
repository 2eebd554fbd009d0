"""The files of the checkout: what stands in the way of a switch, and the switch itself, one rename a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.core.paths import above
from pq.core.tree import File
from pq.errors import NotClean, PqError
from pq.repo import files
from pq.repo.capabilities import Capabilities
from pq.repo.objects import Node, Objects

Changes = Mapping[str, tuple[Node | None, Node | None]]
"""Paths, with what a switch finds there and what it puts there."""


@dataclass(frozen=True, slots=True)
class Unmerged:
    """An entry of the index in conflict: what base, ours and theirs have at the path."""

    base: Node | None
    ours: Node | None
    theirs: Node | None


_EMPTY = blob_id(b"")
Entry = Node | Unmerged | None
"""What the index holds at a path."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """The files below `root`, on a file system with these capabilities, and git's index of them."""

    root: Path
    objects: Objects
    capabilities: Capabilities

    def in_the_way(self, changes: Changes, indexed: Mapping[str, Entry]) -> tuple[str, ...]:
        """The paths that are not, in the files or in the index, what the switch has to find there.

        `indexed` is what the index has to hold at those of them where that counts.
        """
        index = self._index()
        links = self._links(changes)
        folders = {folder for path in changes for folder in above(path)} - changes.keys()
        found = {folder for folder in folders if folder in links or os.path.isfile(files.at(self.root, folder))}
        for path, (old, new) in changes.items():
            if found.isdisjoint(above(path)) and (
                self._there(path, links, old) != old
                or (path in indexed and _indexed(index, path) != indexed[path])
                or (new and self._holds_others(path, changes))
            ):
                found.add(path)
        return tuple(sorted(found))

    def require_told_apart(self, changes: Changes) -> None:
        """Raise PqError where a switch makes a file that the file system takes for another one that git knows."""
        made = [path for path, (old, new) in changes.items() if old is None and new is not None]
        if self.capabilities.case or not made:
            return
        known: dict[str, str] = {}
        for path in (*(entry.path for entry in self._index()), *changes):
            known.setdefault(path.casefold(), path)
        for path in made:
            if (other := known[path.casefold()]) != path:
                raise PqError(
                    f"{other} and {path} are one file here: the file system does not tell them apart",
                    hint="name a folder on another file system under [upstream] checkout in pq.toml",
                )

    def node(self, path: str, *likely: Node | None) -> Node | None:
        """Mode and blob id of what stands at a path, read from the file itself.

        A mode that the file system can't hold is that of what is likely there, if its bytes are, and else that of the index.
        """
        found = files.read(files.at(self.root, path))
        if found is None:
            return None
        ident = blob_id(found.content)
        return self._mode(path, found, *(node[0] for node in likely if node is not None and node[1] == ident)), ident

    def _mode(self, path: str, found: File, *likely: int) -> int:
        if self.capabilities.tells(found.mode):
            return found.mode
        entry = _indexed(self._index(), path)
        known = (*likely, entry[0]) if isinstance(entry, tuple) else likely
        return next((mode for mode in known if self.capabilities.may_be(found.mode, mode)), self.capabilities.plain(found.mode))

    def edited(self, paths: Iterable[str]) -> dict[str, Node | None]:
        """What stands at these paths, its contents among the objects; None where nothing does. Raises NotClean for what git can't hold."""
        found: dict[str, Node | None] = {}
        for path in paths:
            file = None if files.symlink_above(self.root, path) else files.read(files.at(self.root, path))
            if file is not None and file.mode not in (REGULAR, EXECUTABLE, SYMLINK):
                raise NotClean(f"{path} is neither a file nor a symlink", hint="move it away")
            found[path] = None if file is None else (self._mode(path, file), self.objects.write("blob", file.content))
        return found

    def entries(self, paths: Iterable[str]) -> dict[str, Entry]:
        """What the index holds at these paths."""
        index = self._index()
        return {path: _indexed(index, path) for path in paths}

    def make_known(self, nodes: Mapping[str, Node]) -> tuple[str, ...]:
        """Put files into the index that it does not have, or has in conflict; which these were."""
        new = tuple(path for path, entry in self.entries(nodes).items() if entry is None or isinstance(entry, Unmerged))
        self.switch_index({path: nodes[path] for path in new})
        return new

    def unmerged(self) -> set[str]:
        """The files that the index has in conflict."""
        found = self._index().conflicts or ()
        return {side.path for sides in found for side in sides if side is not None}

    def switch_files(self, changes: Changes, token: str) -> None:
        """Make the files what the switch puts there, which is something else than what is there."""
        for path, (old, new) in sorted(changes.items(), reverse=True):
            if new is None:
                self._require(path, old)
                files.remove(self.root, path)
        for path, (old, new) in changes.items():
            if new is not None:
                self._require(path, old)
                files.put(files.at(self.root, path), File(self.capabilities.held(new[0]), self.objects.read(new[1])), token)

    def switch_index(self, entries: Mapping[str, Entry]) -> None:
        """Make the index hold these entries."""
        try:
            index = self._index()
            conflicts = index.conflicts
            for path, new in entries.items():
                if conflicts is not None and path in conflicts:
                    del conflicts[path]
                if isinstance(new, Unmerged):
                    sides = (None if node is None else _entry(path, node) for node in (new.base, new.ours, new.theirs))
                    index.add_conflict(*sides)  # type: ignore[arg-type]  # None: a side has none
                elif new is not None:
                    index.add(_entry(path, new))
                elif path in index:
                    index.remove(path)
            index.write()
            self._note_times(index)
            files.sync(self._index_file)
        except pygit2.GitError as error:
            raise PqError(
                f"git's index can't be written: {error}", hint="is the disk full, or git at work in the checkout?"
            ) from None

    def mend_files(self, changes: Changes, token: str) -> None:
        """Write anew what a switch has put there and the power has cut."""
        links = self._links(changes)
        torn = [path for path, (_, new) in changes.items() if self.node(path, new) != new and self._is_torn(path, new, links)]
        self.switch_files({path: (self.node(path), changes[path][1]) for path in torn}, token)

    def mend_index(self, tree: str) -> None:
        """Make an index that can't be read, since the power went while it was written, that of a tree."""
        try:
            self._index()
        except pygit2.GitError:
            self._index_file.unlink()
            index = self._index()
            index.read_tree(pygit2.Oid(hex=tree))
            index.write()

    @property
    def _index_file(self) -> Path:
        return Path(self.objects.repository.path, "index")

    def switch_back(self, changes: Changes, indexed: Mapping[str, Entry], token: str) -> tuple[str, ...]:
        """Undo a switch of files and index that was interrupted; the paths that are neither old nor new, which are left alone."""
        back: dict[str, tuple[Node | None, Node | None]] = {}
        strange = []
        links = self._links(changes)
        foreign = {link for link in links if link not in changes or self.node(link, changes[link][1]) != changes[link][1]}
        for path, (old, new) in changes.items():
            if links.isdisjoint(above(path)):
                files.drop_temporary(files.at(self.root, path), token)
            now = self._there(path, links, old, new)
            if (now in (old, new) or self._is_torn(path, new, links)) and foreign.isdisjoint(above(path)):
                back[path] = (now, old)
            else:
                strange.append(path)
        self.switch_files({path: (now, old) for path, (now, old) in back.items() if now != old}, token)
        self.switch_index({path: entry for path, entry in indexed.items() if path not in strange})
        return tuple(strange)

    def _is_torn(self, path: str, new: Node | None, links: set[str]) -> bool:
        """Whether a file holds the beginning of what was put there: the power went before the rest was on the disk."""
        if new is None or not links.isdisjoint(above(path)):
            return False
        found = files.read(files.at(self.root, path))
        return (
            found is not None
            and self.capabilities.may_be(found.mode, new[0])
            and self.objects.read(new[1]).startswith(found.content)
        )

    def _note_times(self, index: pygit2.Index) -> None:
        """Write the files' times into the index, so that git need not read them again; of files with edits it has to.

        git goes by whole seconds: an edit in the second in which the file was written, to the same size, it would never see once the
        index is written later than that. git clears the times of such entries whenever it writes the index; libgit2 does not.
        """
        edited = index.diff_to_workdir(pygit2.enums.DiffOption.UPDATE_INDEX).deltas
        modified = (delta.old_file for delta in edited if delta.status == pygit2.enums.DeltaStatus.MODIFIED)
        kept = [index[os.fsdecode(file.raw_path)] for file in modified if str(file.id) != _EMPTY]  # of size 0: seen anyway
        for entry in kept:
            index.add(pygit2.IndexEntry(entry.path, entry.id, entry.mode))
        if kept:
            index.write()

    def _require(self, path: str, old: Node | None) -> None:
        """Look once more, right before a file is replaced: an editor may have saved, or a folder become a symlink, meanwhile."""
        if files.symlink_above(self.root, path) is not None or self.node(path, old) != old:
            raise NotClean(f"{path} was changed meanwhile", hint="run the command again")

    def _links(self, changes: Changes) -> set[str]:
        """Of the folders that the paths lead through, those that are symlinks."""
        folders = {folder for path in changes for folder in above(path)}
        return {folder for folder in folders if os.path.islink(files.at(self.root, folder))}

    def _there(self, path: str, links: set[str], *likely: Node | None) -> Node | None:
        """What stands at a path; what stands behind a symlink does not stand there."""
        return self.node(path, *likely) if links.isdisjoint(above(path)) else None

    def _holds_others(self, path: str, changes: Changes) -> bool:
        """Whether a folder stands where a file has to go, with something in it that the switch does not take away."""
        place = Path(files.at(self.root, path))
        if place.is_symlink() or not place.is_dir():
            return False
        below = (
            Path(folder, name).relative_to(self.root).as_posix()
            for folder, folders, names in os.walk(place)
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(folder, each))))
        )
        return any(changes.get(name, (None, name))[1] is not None for name in below)

    def _index(self) -> pygit2.Index:
        index: pygit2.Index = self.objects.repository.index
        index.read()
        return index


def _entry(path: str, node: Node) -> pygit2.IndexEntry:
    return pygit2.IndexEntry(path, pygit2.Oid(hex=node[1]), pygit2.enums.FileMode(node[0]))


def _indexed(index: pygit2.Index, path: str) -> Entry:
    if index.conflicts is not None and path in index.conflicts:
        return Unmerged(*(None if side is None else (int(side.mode), str(side.id)) for side in index.conflicts[path]))
    try:
        entry = index[path]
    except KeyError:
        return None
    return int(entry.mode), str(entry.id)
