"""Python files without what a merge does not touch: functions and classes that are on either side what they were before.

What is proven about a merge is proven by comparing syntax trees, and a file of ten thousand lines takes its time to be parsed for a patch of
two. A function that the patch leaves alone, and the merge as well, can't make a difference; so it becomes, in all files, a function of the
same name over the same lines with nothing in it, whatever upstream made of it. Lines keep their numbers.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patiencediff import PatienceSequenceMatcher

from pq.core import surroundings
from pq.core.lines import Lines

MARK = b'"""pq left this out'
_OPENING = re.compile(rb"([ \t]*)((?:async[ \t]+)?def|class)[ \t]+(\w+)")
_CLOSING = (b")", b"]", b"}")
_Key = tuple[bytes, bytes, bool]
_LEAST = 4
"""Lines that are worth it."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Lines `start` to `stop` (0-based) of a function or a class, which is what `said` says, in a class (`scope`) or not."""

    start: int
    stop: int
    indent: bytes
    name: bytes
    is_class: bool
    scope: bytes
    said: Lines

    @property
    def key(self) -> _Key:
        """What tells it from the others."""
        return self.scope, self.name, self.is_class


def cropped(
    patched: tuple[Lines, Lines], merged: tuple[Lines, Lines], *, everywhere: bool = False
) -> tuple[Lines, Lines, Lines, Lines]:
    """What a patch was made for and made of it, and what the merge begins with and makes of it, without what is the same in both.

    `everywhere`: only of what stands in all of them, or in the merge alone, where that can't be what the patch changes. All four are as
    they are where one of them would not parse so.
    """
    files = (*patched, *merged)
    found = [_outer(lines) for lines in files]
    same = _untouched(found, everywhere=everywhere)
    inner = [
        [part for chunk in chunks if chunk.is_class and chunk.key not in same for part in _inside(lines, chunk)]
        for chunks, lines in zip(found, files, strict=True)
    ]
    same |= _untouched(inner, everywhere=everywhere)
    one, two, three, four = (
        _without(lines, [chunk for chunk in (*chunks, *parts) if chunk.key in same])
        for lines, chunks, parts in zip(files, found, inner, strict=True)
    )
    if any(surroundings.parse(b"".join(lines)) is None for lines in (one, two, three, four)):
        return files
    return one, two, three, four


def _untouched(found: Sequence[Sequence[_Chunk]], *, everywhere: bool) -> set[_Key]:
    """What is the same in both of either pair, once and in the same order; or is in one of the pairs only."""
    (one_same, one_all), (other_same, other_all) = (_same(*found[:2]), _same(*found[2:]))
    if everywhere:
        is_known = one_all - one_same <= other_all  # else what the patch changes may have another name in the merge
        return (one_same & other_same) | (other_same - one_all if is_known else set())
    return (one_same & other_same) | (one_same - other_all) | (other_same - one_all)


def _same(one: Sequence[_Chunk], other: Sequence[_Chunk]) -> tuple[set[_Key], set[_Key]]:
    """What is the same in both, once and in the same order; and what is in either."""
    counts = [Counter(chunk.key for chunk in chunks) for chunks in (one, other)]
    said = [[(chunk.key, chunk.said) for chunk in chunks] for chunks in (one, other)]
    blocks = [(0, 0, len(one))] if said[0] == said[1] else PatienceSequenceMatcher(None, said[0], said[1]).get_matching_blocks()
    same = {key for start, _, length in blocks for key, _ in said[0][start : start + length]}
    return {key for key in same if counts[0][key] == counts[1][key] == 1}, {*counts[0], *counts[1]}


@functools.lru_cache(maxsize=64)
def _outer(lines: Lines) -> Sequence[_Chunk]:
    return tuple(_chunks(lines, 0, len(lines), b"", b""))


def _chunks(lines: Lines, first: int, last: int, indent: bytes, scope: bytes) -> Iterator[_Chunk]:
    """The functions and classes that begin with this indent."""
    at = first
    while at < last:
        opening = _OPENING.match(lines[at]) if lines[at].startswith(indent) else None
        if opening is None or opening[1] != indent:
            at += 1
            continue
        stop = _end(lines, at + 1, last, len(indent))
        yield _Chunk(at, stop, indent, opening[3], opening[2] == b"class", scope, lines[at:stop])
        at = stop


def _end(lines: Lines, at: int, last: int, depth: int) -> int:
    """The line behind the last one that is deeper, or closes the brackets of the head."""
    stop = at
    while at < last:
        bare = lines[at].lstrip(b" \t")
        if bare.strip():
            if len(lines[at]) - len(bare) <= depth and not bare.startswith(_CLOSING):
                break
            stop = at + 1
        at += 1
    return stop


def _inside(lines: Lines, chunk: _Chunk) -> Iterator[_Chunk]:
    """The functions and classes in a class."""
    for line in lines[chunk.start + 1 : chunk.stop]:
        bare = line.lstrip(b" \t")
        if bare.strip() and not bare.startswith((b"#", *_CLOSING)):
            indent = line[: len(line) - len(bare)]
            if len(indent) > len(chunk.indent):
                yield from _chunks(lines, chunk.start + 1, chunk.stop, indent, chunk.name)
            return


def _without(lines: Lines, chunks: Sequence[_Chunk]) -> Lines:
    out = list(lines)
    for chunk in chunks:
        if chunk.stop - chunk.start < _LEAST:
            continue
        head = b"class %b:" if chunk.is_class else b"def %b():"
        out[chunk.start] = chunk.indent + head % chunk.name + b" " + MARK + b"\n"
        out[chunk.start + 1 : chunk.stop] = [b"\n"] * (chunk.stop - chunk.start - 2) + [b'"""\n']
    return tuple(out)
