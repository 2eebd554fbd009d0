"""git's object store, with what pq is about to write kept in memory until `flush` puts it down at once.

A push makes some eight objects a patch. As loose files they cost most of the push, and a killed push would leave some of them;
so many are written as one pack (git's own rule for fetched objects, fetch.unpackLimit), few as loose files.
"""

from __future__ import annotations

import hashlib
import struct
import subprocess
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pygit2

from pq.core import paths
from pq.core.tree import File
from pq.errors import PqError
from pq.repo.git import environment, run

FOLDER = 0o040000
_UNPACK_LIMIT = 100
_KINDS = {"commit": 1, "tree": 2, "blob": 3}

Node = tuple[int, str]
"""What a tree says of a name: mode and object id."""


@dataclass(slots=True)
class Objects:
    """Reads and writes objects of one repository. Ids are 40 hexadecimal digits."""

    repository: pygit2.Repository
    _pending: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _trees: dict[str, dict[str, Node]] = field(default_factory=dict)

    def read(self, oid: str) -> bytes:
        """The bytes of an object."""
        if oid in self._pending:
            return self._pending[oid][1]
        try:
            return self.repository.odb.read(pygit2.Oid(hex=oid))[1]
        except (KeyError, ValueError):
            raise PqError(f"object {oid} is missing in {self.repository.path}", hint="git fsck says what else is") from None

    def find_blob(self, prefix: str) -> bytes | None:
        """The content whose id begins so, if the store has exactly one."""
        found = {oid: content for oid, (kind, content) in self._pending.items() if kind == "blob" and oid.startswith(prefix)}
        try:
            stored = self.repository.get(prefix)
        except ValueError:
            return None
        if isinstance(stored, pygit2.Blob):
            found[str(stored.id)] = stored.data
        return next(iter(found.values())) if len(found) == 1 else None

    def write(self, kind: str, content: bytes) -> str:
        """Keep an object for `flush`; its id."""
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).hexdigest()
        if oid not in self._pending and oid not in self.repository.odb:
            self._pending[oid] = (kind, content)
        return oid

    def flush(self) -> None:
        """Put down everything that is kept, at once or not at all where it is much."""
        if len(self._pending) < _UNPACK_LIMIT:
            try:
                for kind, content in self._pending.values():
                    self.repository.odb.write(getattr(pygit2.enums.ObjectType, kind.upper()), content)
            except (pygit2.GitError, OSError) as error:
                raise PqError(f"git could not store the new objects: {error}", hint="is the disk full?") from None
        else:
            done = subprocess.run(
                ["git", "index-pack", "--stdin"],
                input=_pack(list(self._pending.values())),
                capture_output=True,
                check=False,
                cwd=self.repository.path,
                env=environment(GIT_DIR=self.repository.path),
            )
            if done.returncode:
                raise PqError(
                    f"git could not store the new objects: {done.stderr.decode(errors='replace').strip()}",
                    hint="is the disk full?",
                )
        self._pending.clear()

    def tree(self, oid: str) -> dict[str, Node]:
        """The names in a folder. Not to be changed by the caller."""
        if oid not in self._trees:
            self._trees[oid] = _parse_tree(self.read(oid))
        return self._trees[oid]

    def node(self, tree: str, path: str) -> Node | None:
        """What stands at a path of a tree."""
        node: Node | None = (FOLDER, tree)
        for part in path.split("/"):
            if node is None or node[0] != FOLDER:
                return None
            node = self.tree(node[1]).get(part)
        return node

    def file(self, tree: str, path: str) -> Node | None:
        """The file that stands at a path of a tree; a folder is none."""
        node = self.node(tree, path)
        return None if node is None or node[0] == FOLDER else node

    def edit(self, tree: str, changes: dict[str, Node | None]) -> str:
        """The tree with these paths set, or taken out where None. Folders that get empty go."""
        return self._edit(tree, {tuple(path.split("/")): node for path, node in changes.items()}) or self.write("tree", b"")

    def _edit(self, tree: str | None, changes: dict[tuple[str, ...], Node | None]) -> str | None:
        names = dict(self.tree(tree)) if tree is not None else {}
        below: dict[str, dict[tuple[str, ...], Node | None]] = {}
        for (first, *rest), node in sorted(changes.items(), key=lambda change: change[1] is not None):
            if rest:
                below.setdefault(first, {})[tuple(rest)] = node
            elif node is None:
                names.pop(first, None)
            else:
                names[first] = node
        for name, inner in below.items():
            mode, oid = names.get(name, (FOLDER, None))
            folder = self._edit(oid if mode == FOLDER else None, inner)
            if folder is not None:
                names[name] = (FOLDER, folder)
            elif mode == FOLDER:
                names.pop(name, None)
        return self.write_tree(names) if names else None

    def write_tree(self, names: dict[str, Node]) -> str:
        """Keep a folder; its id."""
        ordered = sorted(names.items(), key=lambda item: paths.raw(item[0]) + (b"/" if item[1][0] == FOLDER else b""))
        oid = self.write(
            "tree", b"".join(b"%o %s\0%s" % (mode, paths.raw(name), bytes.fromhex(sha)) for name, (mode, sha) in ordered)
        )
        self._trees[oid] = names
        return oid

    def difference(self, old: str, new: str) -> dict[str, tuple[Node | None, Node | None]]:
        """The paths at which two trees differ: what was there and what is."""
        found: dict[str, tuple[Node | None, Node | None]] = {}
        self._differ((FOLDER, old), (FOLDER, new), "", found)
        return found

    def renames(self, old: str, new: str, among: Collection[str]) -> dict[str, str]:
        """What some files of one stored tree are called in another one, which has them under another name: git's own judgement of likeness.

        Asked about are files that came under the same name elsewhere, and those in the same folder, or in one that is called as the file.
        """
        changes = self.difference(old, new)
        lost = [PurePosixPath(path) for path in among if path in changes and changes[path][1] is None]
        names, folders = {path.name for path in lost}, {place for path in lost for place in (path.parent, path.with_suffix(""))}
        arrived = (PurePosixPath(path) for path, (was, _) in changes.items() if was is None) if lost else ()
        come = [path for path in arrived if path.name in names or path.parent in folders]
        if not come:
            return {}
        words = ("diff", "-M", "-l0", "-z", "--name-status", "--diff-filter=R", old, new, "--", *map(str, (*lost, *come)))
        said = run("--literal-pathspecs", *words, cwd=Path(self.repository.path)).split("\0")
        return dict(zip(said[1::3], said[2::3], strict=False))

    def _differ(self, old: Node | None, new: Node | None, path: str, found: dict[str, tuple[Node | None, Node | None]]) -> None:
        if old == new:
            return
        before = self.tree(old[1]) if old and old[0] == FOLDER else {}
        after = self.tree(new[1]) if new and new[0] == FOLDER else {}
        leaf_before, leaf_after = (node if node and node[0] != FOLDER else None for node in (old, new))
        if leaf_before or leaf_after:
            found[path] = (leaf_before, leaf_after)
        for name in sorted(before.keys() | after.keys()):
            self._differ(before.get(name), after.get(name), f"{path}/{name}" if path else name, found)


@dataclass(frozen=True, slots=True)
class GitTree:
    """A tree of git, as `pq.core.tree.Tree`."""

    objects: Objects
    oid: str

    def get(self, path: str) -> File | None:
        """The file at a path."""
        node = self.objects.node(self.oid, path)
        return None if node is None or node[0] == FOLDER else File(node[0], self.objects.read(node[1]))

    def below(self, path: str) -> Iterable[str]:
        """The paths of all files below a folder."""
        node = self.objects.node(self.oid, path)
        if node is None or node[0] != FOLDER:
            return ()
        return (f"{path}/{name}" for name in self.objects.difference(self.objects.write("tree", b""), node[1]))

    def with_changes(self, changes: dict[str, File | None]) -> GitTree:
        """The tree after a patch."""
        nodes = {
            path: None if file is None else (file.mode, self.objects.write("blob", file.content))
            for path, file in changes.items()
        }
        return GitTree(self.objects, self.objects.edit(self.oid, nodes))


def _parse_tree(content: bytes) -> dict[str, Node]:
    names: dict[str, Node] = {}
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        names[paths.text(name)] = (int(mode, 8), content[end + 1 : end + 21].hex())
        at = end + 21
    return names


def _pack(objects: list[tuple[str, bytes]]) -> bytes:
    """A pack (version 2) with whole objects. Source: git's Documentation/gitformat-pack."""
    parts = [b"PACK" + struct.pack(">II", 2, len(objects))]
    for kind, content in objects:
        parts += [_pack_header(_KINDS[kind], len(content)), zlib.compress(content, 1)]
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _pack_header(kind: int, size: int) -> bytes:
    header = bytearray()
    byte = kind << 4 | size & 0x0F
    size >>= 4
    while size:
        header.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    header.append(byte)
    return bytes(header)
