"""Patches as commits (design, section 6): the same parent and the same patch give the same commit id everywhere.

The message is the patch's description and, as its last paragraph, the trailers::

    Pq-Patch: <name>
    Pq-Digest: sha256:<of the patch file>
    Pq-Options: <-p and -R, where the series says other than -p1>
    Pq-Fuzz: <how many context lines had to differ, where that was allowed and needed>
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pq.core import paths
from pq.core.series import Entry
from pq.repo.objects import Objects
from pq.repo.refs import readable

if TYPE_CHECKING:
    from pq.core.header import Description

IDENTITY = ("pq", "pq@localhost")
_OWN = b"%s <%s> " % (IDENTITY[0].encode(), IDENTITY[1].encode())
_TRAILER = re.compile(rb"Pq-(Patch|Digest|Options|Fuzz): ([^\n]*)")


@dataclass(frozen=True, slots=True)
class Commit:
    """What pq reads of a commit. `date` is the author's: seconds since 1970, minutes east of UTC; `own`: pq made it, and nobody since.

    `author` is name and address.
    """

    oid: str
    tree: str
    parents: tuple[str, ...]
    date: tuple[int, int]
    message: bytes
    own: bool = True
    author: tuple[str, str] = IDENTITY

    @property
    def text(self) -> str:
        """The message without pq's trailers, wherever a squash has put them."""
        lines = (line for line in self.message.split(b"\n") if not _TRAILER.match(line))
        return paths.text(b"\n".join(lines)).strip()


@dataclass(frozen=True, slots=True)
class PatchCommit:
    """A commit that stands for an applied patch."""

    commit: Commit
    patch: str
    identity: str
    fuzz: int = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the patch file that was applied."""
        return self.identity.partition(" ")[0]


def identity(content: bytes, entry: Entry) -> str:
    """What tells one application of a patch file from another: its digest, and how the series applies it."""
    return f"{hashlib.sha256(content).hexdigest()} {_options(entry)}".strip()


def read(objects: Objects, oid: str) -> Commit:
    """Read a commit. Raises PqError for another object."""
    with readable(f"commit {oid[:12]}"):
        return _read(objects, oid)


def _read(objects: Objects, oid: str) -> Commit:
    head, _, message = objects.read(oid).partition(b"\n\n")
    fields = [line.split(b" ", 1) for line in head.split(b"\n") if b" " in line]
    author = next(value for key, value in fields if key == b"author")
    who, seconds, zone = author.rsplit(b" ", 2)
    name, _, address = who.rpartition(b" <")
    return Commit(
        oid=oid,
        tree=next(value.decode() for key, value in fields if key == b"tree"),
        parents=tuple(value.decode() for key, value in fields if key == b"parent"),
        date=(int(seconds), _minutes(zone.decode())),
        message=message,
        own=next(value for key, value in fields if key == b"committer").startswith(_OWN),
        author=(paths.text(name), paths.text(address.removesuffix(b">"))),
    )


def as_patch(commit: Commit) -> PatchCommit | None:
    """The patch a commit stands for; None for a commit that pq did not make."""
    last = commit.message.rstrip(b"\n").rpartition(b"\n\n")[2]
    trailers = {key.decode(): paths.text(value) for key, value in _TRAILER.findall(last)}
    if "Patch" not in trailers or not trailers.get("Digest", "").startswith("sha256:"):
        return None
    digest = trailers["Digest"].removeprefix("sha256:")
    fuzz = trailers.get("Fuzz", "0")
    return PatchCommit(
        commit, trailers["Patch"], f"{digest} {trailers.get('Options', '')}".strip(), int(fuzz) if fuzz.isdecimal() else 0
    )


def write_patch(
    objects: Objects, *, tree: str, parent: Commit, entry: Entry, digest: str, described: Description, fuzz: int = 0
) -> Commit:
    """Make the commit of a patch. Author and date come from the patch, or are pq's identity and the parent's date."""
    trailers = [f"Pq-Patch: {entry.name}", f"Pq-Digest: sha256:{digest}"]
    if options := _options(entry):
        trailers.append(f"Pq-Options: {options}")
    if fuzz:
        trailers.append(f"Pq-Fuzz: {fuzz}")
    message = f"{described.message or entry.name}\n\n" + "\n".join(trailers) + "\n"
    author = (described.name or described.address, described.address) if described.name or described.address else IDENTITY
    return write(objects, tree=tree, parents=(parent.oid,), author=author, date=described.date or parent.date, message=message)


def write(
    objects: Objects, *, tree: str, parents: tuple[str, ...], author: tuple[str, str], date: tuple[int, int], message: str
) -> Commit:
    """Make a commit whose committer is pq, at the author's date."""
    stamp = f"{date[0]} {'-' if date[1] < 0 else '+'}{abs(date[1]) // 60:02}{abs(date[1]) % 60:02}"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {author[0]} <{author[1]}> {stamp}", f"committer {IDENTITY[0]} <{IDENTITY[1]}> {stamp}"]
    content = paths.raw("\n".join(lines) + "\n\n" + message)
    return Commit(objects.write("commit", content), tree, parents, date, paths.raw(message), author=author)


def _options(entry: Entry) -> str:
    level = [] if entry.strip == 1 else [f"-p{entry.strip}"]
    return " ".join([*level, *(["-R"] if entry.reverse else [])])


def _minutes(zone: str) -> int:
    digits = zone[1:5]
    if len(digits) < 4 or not digits.isdecimal():
        return 0  # git reads such a zone as UTC, too
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return -minutes if zone.startswith("-") else minutes
