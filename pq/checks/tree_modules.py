"""The modules of a tree and the names that they have, told from their files: nothing is imported."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from pq.checks import sources
from pq.core import surroundings

_ANYTHING = re.compile(rb"globals\(\)|sys\.modules\[__name__\]")
"""A module with one of these may have any name."""
_COMPILED = (".so", ".pyd", ".pyx")
_OF_EVERY_MODULE = {
    "__name__",
    "__file__",
    "__doc__",
    "__path__",
    "__dict__",
    "__package__",
    "__spec__",
    "__loader__",
}


class Modules(Protocol):
    """The files of a tree by their paths below `[check] root`; None where there is none. A path of a folder ends with a slash."""

    def id(self, path: str) -> str | None:
        """What tells one content from another."""

    def read(self, path: str) -> bytes | None:
        """The content of a file."""

    def files(self) -> Iterable[str]:
        """The paths of all files."""


def path_of(module: str, modules: Modules) -> str | None:
    """The file of a module, or the folder of one that is no more than that."""
    path = module.replace(".", "/")
    return next((each for each in (f"{path}/__init__.py", f"{path}.py", f"{path}/") if modules.id(each) is not None), None)


def id_of(path: str | None, modules: Modules) -> str | None:
    """What tells the content of a file from another one; None where there is none."""
    return None if path is None else modules.id(path)


def names_of(module: str, path: str | None, modules: Modules) -> frozenset[str] | None:
    """The names that a module of the tree has; None where that can't be told, or where the tree has no such package at all."""
    if path_of(module.partition(".")[0], modules) is None:
        return None
    content = modules.read(path) if path is not None and not path.endswith("/") else None
    return defined(content) if content is not None else frozenset()


def is_hidden(module: str, modules: Modules) -> bool:
    """Whether a package has something of its own that is called as a module in it: that may be what was imported."""
    package, _, last = module.rpartition(".")
    names = names_of(package, path_of(package, modules), modules) if package else frozenset()
    return names is None or last in names


def is_compiled(module: str, name: str, modules: Modules) -> bool:
    """Whether a module, or what is imported of a package, may be compiled code that nothing can be said of."""
    begins = tuple(f"{name.replace('.', '/')}." for name in (module, f"{module}.{name}"))
    return any(path.startswith(begins) and path.endswith(_COMPILED) for path in modules.files())


@functools.lru_cache(maxsize=1000)
def defined(content: bytes) -> frozenset[str] | None:
    """The names that a module has at its top; None where that can't be told."""
    tree = surroundings.parse(content) if not _ANYTHING.search(content) else None
    if tree is None:
        return None
    found = set(_OF_EVERY_MODULE)
    for node in _top_level(tree):
        match node:
            case ast.FunctionDef(name="__getattr__"):
                return None
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=given) | ast.ImportFrom(names=given):
                if any(each.name == "*" for each in given):
                    return None
                found |= {each.asname or each.name.partition(".")[0] for each in given}
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Call(func=ast.Name(id="setattr" | "exec")):
                return None
            case ast.Global(names=given):
                found |= set(given)
            case _:
                found.update(bound(node))
    return frozenset(found)


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when a module is imported, and `global` statements wherever they stand."""
    below: list[ast.AST] = [tree]
    while below:
        for child in ast.iter_child_nodes(below.pop()):
            yield child
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                yield from (each for each in sources.statements(child) if isinstance(each, ast.Global))
            else:
                below.append(child)


def bound(node: ast.AST) -> Iterator[str]:
    """The names that a pattern or a handler gives what it catches."""
    match node:
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.ExceptHandler(name=str(name)):
            yield name
