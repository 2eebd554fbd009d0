"""Python scopes: which class and function a line stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pq.core import surroundings

_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Scope:
    """A class or function: its qualified name (`Class.method`), and its lines, decorators included, from 1, both ends in it."""

    name: str
    first: int
    last: int


def scopes(source: bytes) -> tuple[Scope, ...]:
    """All scopes of a file, outer before inner; none where it does not parse."""
    tree = surroundings.parse(source)
    return tuple(_below(tree, "")) if tree is not None else ()


def enclosing(found: tuple[Scope, ...], line: int) -> str:
    """The qualified name of the innermost scope around a line; empty at module level."""
    return next((scope.name for scope in reversed(found) if scope.first <= line <= scope.last), "")


def _below(node: ast.AST, prefix: str) -> Iterator[Scope]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            name = f"{prefix}{child.name}"
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield Scope(name, first, child.end_lineno or child.lineno)
            yield from _below(child, f"{name}.")
        else:
            yield from _below(child, prefix)
