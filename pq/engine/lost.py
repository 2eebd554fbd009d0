"""What a patch stood on and does not find any more: which statement, since which release, and where the same name stands now."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.core.lines import Lines, split_lines
from pq.core.placement import Reason, Refused
from pq.engine.apply import Failed
from pq.repo.objects import GitTree, Objects

_WORD = re.compile(rb"[A-Za-z_]\w*(?:-\w+)*")
_PLACES = 3
_LONG_ENOUGH = 3

Trees = Sequence[tuple[str, str]]
"""Releases and their trees, the oldest first."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A line of a file that is gone, or a file that is (`text` is empty): since which release; and what is named so now, as `path:line`."""

    path: str
    text: str
    release: str
    name: str = ""
    now: tuple[str, ...] = ()


def lost(objects: Objects, failed: Failed, releases: Trees, renamed: Mapping[str, str], *, search: bool) -> tuple[Lost, ...]:
    """What became of what the refused hunks stood on. The last of the releases is the one that they do not fit on.

    `renamed` says what files of it were called before; `search`: for the same name in all of it.
    """
    tree = releases[-1][1]
    found = []
    for refusal in failed.refusals:
        path, refused = refusal.path, refusal.refused
        names = (path, renamed.get(path, path))
        if refused.reason is Reason.MISSING:
            found.append(Lost(path, "", _first_without(objects, releases, names, None)))
        elif refused.reason in (Reason.CONFLICT, Reason.NO_PLACE) and (line := _gone(objects, tree, path, refused)) is not None:
            name = _name(line)
            now = tuple(_named(objects, tree, path, name)) if search and name else ()
            since = _first_without(objects, releases, names, line)
            found.append(Lost(path, line.decode(errors="replace"), since, name.decode() if now else "", now))
    return tuple(found)


def _gone(objects: Objects, tree: str, path: str, refused: Refused) -> bytes | None:
    """The line nearest to the change that the file does not have any more, and that says something."""
    there = {line.strip() for line in _lines(objects, tree, path)}
    gone = (line.strip() for line in _around(refused) if line.strip() not in there)
    return next((line for line in gone if _WORD.search(line) or line.isalnum()), None)


def _around(refused: Refused) -> Lines:
    """What a hunk takes out, what stands above its change, and what stands below, the nearest first."""
    hunk = refused.hunk
    if hunk is None:
        return refused.expected
    old, first, last = hunk.old, hunk.leading, len(hunk.old) - hunk.trailing
    return (*old[first:last], *reversed(old[:first]), *old[last:])


def _first_without(objects: Objects, releases: Trees, names: Sequence[str], line: bytes | None) -> str:
    """The first of the releases whose file, which may have several names, has no such line; None: that has no such file."""
    for name, tree in releases:
        there = [path for path in names if objects.node(tree, path) is not None]
        if not there or (line is not None and line not in {each.strip() for each in _lines(objects, tree, there[0])}):
            return name
    return releases[-1][0]


def _name(line: bytes) -> bytes:
    """The longest name in a line, which says most of what it is about."""
    words = [word for word in _WORD.findall(line) if not keyword.iskeyword(word.decode()) and len(word) >= _LONG_ENOUGH]
    return max(words, key=len, default=b"")


def _named(objects: Objects, tree: str, path: str, name: bytes) -> Iterator[str]:
    """Where something of that name is defined in the tree: in the same file first."""
    form = rb"^\s*(?:(?:async\s+)?def|class)\s+%b\b|^\s*%b\s*[:=][^=]|[\"']-*%b[\"']" % ((re.escape(name),) * 3)
    definition = re.compile(form, re.MULTILINE)
    empty = objects.write("tree", b"")
    every = (each for each in objects.difference(empty, tree) if each.endswith(".py"))
    count = 0
    for each in sorted(every, key=lambda other: (other != path, other)):
        file = GitTree(objects, tree).get(each)
        if file is None or name not in file.content:
            continue
        for match in definition.finditer(file.content):
            begin = match.start() + len(match[0]) - len(match[0].lstrip())
            line = file.content.count(b"\n", 0, begin) + 1
            yield f"{each}:{line}"
            count += 1
            if count == _PLACES:
                return


def _lines(objects: Objects, tree: str, path: str) -> Lines:
    file = GitTree(objects, tree).get(path)
    return split_lines(file.content) if file is not None else ()
