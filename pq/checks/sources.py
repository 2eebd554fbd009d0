"""A changed Python file as the checks read it: parsed once, looked at where it changed, and what it was only if somebody asks.

A file of sglang has thousands of lines, a patch changes a few. What a patch newly brings in has a part in a changed line; so only
statements with one are looked into.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from patiencediff import PatienceSequenceMatcher

from pq.core import surroundings
from pq.core.lines import split_lines

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Source:
    """A file: its path, the contents that it may have been before, what it is, and its tree where that was parsed already."""

    path: str
    before: Sequence[bytes]
    after: bytes
    parsed: ast.Module | None = None

    @cached_property
    def tree(self) -> ast.Module | None:
        """What it is, parsed; None where it does not parse."""
        return self.parsed or surroundings.parse(self.after)

    @cached_property
    def statements(self) -> Sequence[ast.AST]:
        """All statements of it, however deep, outer ones first."""
        return list(statements(self.tree)) if self.tree is not None else ()

    @cached_property
    def old_trees(self) -> Sequence[ast.Module] | None:
        """What it was, parsed; None where one of that does not parse, so that nothing can be said to be new."""
        found = [surroundings.parse(content) for content in self.before]
        known = [tree for tree in found if tree is not None]
        return known if len(known) == len(found) else None

    @cached_property
    def changed(self) -> list[tuple[int, int]]:
        """The first and last lines, from 1, of what is new in it; where lines went, of those around. The whole of a file that has no one past."""
        new = split_lines(self.after)
        if len(self.before) != 1:
            return [(1, len(new))]
        codes = PatienceSequenceMatcher(None, split_lines(self.before[0]), new).get_opcodes()
        return [(start + 1, stop) if stop > start else (start, start + 1) for word, _, _, start, stop in codes if word != "equal"]

    def touches(self, node: ast.AST) -> bool:
        """Whether a changed line is one of a node's."""
        first, last = span(node)
        at = bisect.bisect_left(self.changed, (first, 0))
        return any(start <= last and stop >= first for start, stop in self.changed[max(at - 1, 0) : at + 1])

    def is_new(self, line: int) -> bool:
        """Whether a line, from 1, changed."""
        at = bisect.bisect_right(self.changed, (line, len(self.after)))
        return at > 0 and line <= self.changed[at - 1][1]

    def touched(self) -> Iterator[ast.AST]:
        """The nodes of all statements with a changed line, the statements among them; not what stands in blocks without one."""
        below = _children(self.tree) if self.tree is not None else []
        while below:  # a chain of branches may nest deeper than Python's limit
            node = below.pop()
            if not isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from ast.walk(node)
            elif isinstance(node, ast.match_case) or self.touches(node):
                yield node
                below += _children(node)

    def line(self, number: int) -> str:
        """A line of it, from 1."""
        lines = self.after.decode("utf-8", "replace").split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


def whole(content: bytes, tree: ast.Module) -> Source:
    """A file that is parsed already, as if all of it were new."""
    return Source("", (), content, tree)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that a node has."""
    for name in _BLOCKS:
        found = getattr(node, name, None)
        if isinstance(found, list) and found:
            yield found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, however deep, outer ones first; no expression is looked into."""
    below = _inner(node)
    while below:
        each = below.pop()
        yield each
        below += _inner(each)


def _inner(node: ast.AST) -> list[ast.AST]:
    """The statements in the blocks of a node, the last first."""
    found: list[ast.AST] = [each for block in blocks(node) for each in block]
    return found[::-1]


def _children(node: ast.AST) -> list[ast.AST]:
    """The children of a node, the last first."""
    return list(ast.iter_child_nodes(node))[::-1]


def span(node: ast.AST) -> tuple[int, int]:
    """First and last line of a statement, decorators included."""
    first = getattr(node, "lineno", 1)
    return min([first, *(each.lineno for each in getattr(node, "decorator_list", ()))]), getattr(node, "end_lineno", first)
