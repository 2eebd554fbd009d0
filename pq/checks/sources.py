"""A changed Python file as the checks read it: parsed once, and what was there before only if somebody asks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pq.core import surroundings


@dataclass(frozen=True)
class Source:
    """A file: its path, the contents that it may have been before, and what it is."""

    path: str
    before: Iterable[bytes]
    after: bytes

    @cached_property
    def tree(self) -> ast.Module | None:
        """What it is, parsed; None where it does not parse."""
        return surroundings.parse(self.after)

    @cached_property
    def old_trees(self) -> Sequence[ast.Module] | None:
        """What it was, parsed; None where one of that does not parse, so that nothing can be said to be new."""
        found = [surroundings.parse(content) for content in self.before]
        known = [tree for tree in found if tree is not None]
        return known if len(known) == len(found) else None

    def line(self, number: int) -> str:
        """A line of it, from 1."""
        lines = self.after.decode("utf-8", "replace").split("\n")
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""
