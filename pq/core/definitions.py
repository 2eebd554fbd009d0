"""What a merge of lines made of the definitions of a Python file: those that one side changed have to be that side's, whole.

Lines of two sides may part a definition that neither touched: a decorator that the one wrote above it comes to stand above what the
other put between them. No line is wrong then, and the meaning is.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from pq.core import surroundings
from pq.core.lines import Lines

_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Definition:
    """All definitions of one qualified name: what each is (of a class, without its body), and the line of the first, from 1."""

    said: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)


_NONE = _Definition()


def torn(base: Lines, ours: Lines, theirs: Lines, merged: Lines) -> tuple[str, int] | None:
    """The qualified name of a definition that one side left alone and that is not what the other side has, and its line (from 1) in
    ours or else in the merge; None also where a file does not parse.
    """
    found = [_all(b"".join(lines)) for lines in (base, ours, theirs, merged)]
    if None in found:
        return None
    was, mine, other, made = (each for each in found if each is not None)
    for name in dict.fromkeys((*mine, *other, *made)):
        before, here, there = was.get(name, _NONE), mine.get(name, _NONE), other.get(name, _NONE)
        wanted = here if there == before else there if here in (before, there) else None
        is_new_name = here != _NONE and before == there == _NONE  # perhaps of an old one, which the patch changed
        if wanted is not None and not is_new_name and made.get(name, _NONE).said != wanted.said:
            return name, here.line or made.get(name, _NONE).line
    return None


@functools.lru_cache(maxsize=32)
def _all(source: bytes) -> Mapping[str, _Definition] | None:
    """The definitions of a file; None where it does not parse."""
    tree = surroundings.parse(source)
    return None if tree is None else _definitions(tree)


def _definitions(tree: ast.Module) -> Mapping[str, _Definition]:
    found: dict[str, _Definition] = {}
    below: list[tuple[ast.AST, str]] = [(tree, "")]
    while below:
        node, prefix = below.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, _SCOPES):
                name = f"{prefix}{child.name}"
                known = found.get(name, _Definition(line=child.lineno))
                found[name] = _Definition((*known.said, _said(child)), known.line)
                name += "."
            below.append((child, name))
    return found


def _said(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if not isinstance(node, ast.ClassDef):
        return ast.dump(node)
    return "\n".join(ast.dump(part) for part in (*node.decorator_list, *node.bases, *node.keywords))
