"""The files of the checkout: what stands in the way of a switch, and the switch itself, one rename a file."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.core.lines import blob_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK
from pq.errors import NotClean, PqError
from pq.repo.objects import Node, Objects

Changes = Mapping[str, tuple[Node | None, Node | None]]
"""Paths, with what a switch finds there and what it puts there."""

_SUFFIX = ".pq-new"


@dataclass(frozen=True, slots=True)
class Worktree:
    """The files below `root`, and git's index of them."""

    root: Path
    objects: Objects

    def in_the_way(self, changes: Changes) -> tuple[str, ...]:
        """The paths that are not, in the files or in the index, what the switch has to find there."""
        index = self._index()
        links = self._links(changes)
        folders = {above for path in changes for above in _above(path)} - changes.keys()
        found = {above for above in folders if above in links or os.path.isfile(self._at(above))}
        for path, (old, new) in changes.items():
            if found.isdisjoint(_above(path)) and (
                self._there(path, links) != old or _indexed(index, path) != old or (new and self._holds_others(path, changes))
            ):
                found.add(path)
        return tuple(sorted(found))

    def node(self, path: str) -> Node | None:
        """Mode and blob id of what stands at a path, read from the file itself."""
        place = self._at(path)
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return SYMLINK, blob_id(os.fsencode(os.readlink(place)))
        if not stat.S_ISREG(status.st_mode):
            return None if stat.S_ISDIR(status.st_mode) else (stat.S_IFMT(status.st_mode), "")  # a pipe or device is no patch's
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
        with open(place, "rb") as file:
            return mode, blob_id(file.read())

    def switch_files(self, changes: Changes) -> None:
        """Make the files what the switch puts there, which is something else than what is there."""
        for path, (old, new) in sorted(changes.items(), reverse=True):
            if new is None:
                self._require(path, old)
                self._remove(path)
        for path, (old, new) in changes.items():
            if new is not None:
                self._require(path, old)
                self._write(path, new)

    def switch_index(self, changes: Changes) -> None:
        """Make the index what the switch puts there, as the files are."""
        try:
            index = self._index()
            for path, (_, new) in changes.items():
                if new is not None:
                    index.add(path)
                    if _indexed(index, path) != new:  # a filter of .gitattributes made something else of the file
                        index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=new[1]), pygit2.enums.FileMode(new[0])))
                elif path in index:
                    index.remove(path)
            index.write()
        except pygit2.GitError as error:
            raise PqError(
                f"git's index can't be written: {error}", hint="is the disk full, or git at work in the checkout?"
            ) from None

    def switch_back(self, changes: Changes) -> tuple[str, ...]:
        """Undo a switch that was interrupted; the paths that are neither old nor new, which are left alone."""
        back: dict[str, tuple[Node | None, Node | None]] = {}
        strange = []
        links = self._links(changes)
        foreign = {link for link in links if link not in changes or self.node(link) != changes[link][1]}
        for path, (old, new) in changes.items():
            if links.isdisjoint(_above(path)):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    self._at(path).with_name(_temporary(path)).unlink()
            now = self._there(path, links)
            if now in (old, new) and foreign.isdisjoint(_above(path)):
                back[path] = (now, old)
            else:
                strange.append(path)
        self.switch_files({path: (now, old) for path, (now, old) in back.items() if now != old})
        self.switch_index(back)
        return tuple(strange)

    def _require(self, path: str, old: Node | None) -> None:
        """Look once more, right before a file is replaced: an editor may have saved, or a folder become a symlink, meanwhile."""
        linked = any(self._at(above).is_symlink() for above in _above(path))
        if linked or self.node(path) != old:
            raise NotClean(f"{path} was changed meanwhile", hint="run the command again")

    def _at(self, path: str) -> Path:
        return self.root / os.fsencode(path).decode("utf-8", "surrogateescape")

    def _links(self, changes: Changes) -> set[str]:
        """Of the folders that the paths lead through, those that are symlinks."""
        return {above for above in {above for path in changes for above in _above(path)} if self._at(above).is_symlink()}

    def _there(self, path: str, links: set[str]) -> Node | None:
        """What stands at a path; what stands behind a symlink does not stand there."""
        return self.node(path) if links.isdisjoint(_above(path)) else None

    def _holds_others(self, path: str, changes: Changes) -> bool:
        """Whether a folder stands where a file has to go, with something in it that the switch does not take away."""
        place = self._at(path)
        if place.is_symlink() or not place.is_dir():
            return False
        below = (
            Path(folder, name).relative_to(self.root).as_posix()
            for folder, folders, files in os.walk(place)
            for name in (*files, *(each for each in folders if os.path.islink(os.path.join(folder, each))))
        )
        return any(changes.get(name, (None, name))[1] is not None for name in below)

    def _remove(self, path: str) -> None:
        place = self._at(path)
        place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == self.root:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    def _write(self, path: str, node: Node) -> None:
        mode, oid = node
        place = self._at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            _prune(place)
        temporary = place.with_name(_temporary(path))
        content = self.objects.read(oid)
        try:
            if mode == SYMLINK:
                temporary.unlink(missing_ok=True)
                os.symlink(content, os.fsencode(temporary))
            else:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                with open(os.open(temporary, flags, 0o777 if mode == EXECUTABLE else 0o666), "wb") as file:
                    file.write(content)
            os.replace(temporary, place)
        except BaseException as error:
            temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                error.filename = error.filename or str(place)
            raise

    def _index(self) -> pygit2.Index:
        index: pygit2.Index = self.objects.repository.index
        index.read()
        return index


def _indexed(index: pygit2.Index, path: str) -> Node | None:
    try:
        entry = index[path]
    except KeyError:
        return None
    return int(entry.mode), str(entry.id)


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _temporary(path: str) -> str:
    return f".{path.rpartition('/')[2][:200]}{_SUFFIX}"


def _prune(folder: Path) -> None:
    """Remove a folder that holds nothing but folders."""
    for below in sorted(folder.rglob("*"), reverse=True):
        below.rmdir()
    folder.rmdir()
