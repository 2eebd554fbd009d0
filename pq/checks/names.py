"""Names that a patch newly uses and nobody defines: in its own file, and in the modules of the candidate tree that it imports from.

Nothing is imported for that: third-party packages need not be there, and are not asked about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyflakes import checker, messages

from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.core import surroundings

Read = Callable[[str], bytes | None]
"""The content of a file of the candidate tree by its path below `[check] root`; None where there is none."""

_UNDEFINED = (messages.UndefinedName, messages.UndefinedLocal, messages.UndefinedExport)
_GUARDS = ("ImportError", "ModuleNotFoundError", "Exception", "AttributeError")
_OF_EVERY_MODULE = {
    "__name__",
    "__file__",
    "__doc__",
    "__path__",
    "__dict__",
    "__package__",
    "__spec__",
    "__loader__",
    "__version__",
}


@dataclass(frozen=True, slots=True)
class _Use:
    """A name that a file imports from a module, or (`asked`) takes from one that it has imported, if it is one."""

    module: str
    name: str
    line: int
    column: int
    asked: bool = False


def findings(source: Source, read: Read, read_before: Read, *, package: str) -> list[Finding]:
    """What is undefined in a file and was not so in any of the contents before, in the tree of then. `package`: the one that the file is in."""
    if source.tree is None:
        return []
    found = [*_undefined(source.tree, source.path), *_missing(source.tree, read, package)]
    if not found or source.old_trees is None:
        return []
    had = {each.key for old in source.old_trees for each in (*_undefined(old, source.path), *_missing(old, read_before, package))}
    new = [each for each in found if each.key not in had]
    return [
        Finding(each.code, each.reason, source.path, each.line, each.column + 1, (source.line(each.line),))
        for each in sorted(new, key=lambda each: (each.line, each.column))
    ]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Something that is not there. The column counts from 0."""

    code: str
    reason: str
    line: int
    column: int

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others, wherever it stands."""
        return self.code, self.reason


def _undefined(tree: ast.Module, path: str) -> Iterator[_Fault]:
    for name, line, column in _flakes(tree, path):
        yield _Fault("undefined-name", f"name {name} is not defined", line, column)


def _flakes(tree: ast.Module, path: str) -> list[tuple[str, int, int]]:
    found = checker.Checker(tree, filename=path).messages
    return [(str(each.message_args[0]), each.lineno, each.col) for each in found if isinstance(each, _UNDEFINED)]


def _missing(tree: ast.Module, read: Read, package: str) -> Iterator[_Fault]:
    """What is imported from modules of the tree, or asked of them, that these do not have."""
    known: dict[str, set[str] | None] = {}
    told: set[str] = set()
    for use in _uses(tree, package):
        if use.module not in known:
            known[use.module] = _names_of(use.module, read)
        names = known[use.module]
        if names is None or use.name in names or _is_there(f"{use.module}.{use.name}", read):
            continue
        if names or _is_there(use.module, read):
            yield _Fault("no-name", f"module {use.module} has no {use.name}", use.line, use.column)
        elif not use.asked and use.module not in told:
            told.add(use.module)
            yield _Fault("no-module", f"the tree has no module {use.module}", use.line, use.column)


def _uses(tree: ast.Module, package: str) -> Iterator[_Use]:
    """The names that a file takes from modules, except where it is ready for their absence."""
    aliases: dict[str, str] = {}
    rebound: set[str] = set()
    for node in _unguarded(tree):
        match node:
            case ast.ImportFrom(module=name, level=level, names=given):
                source = _absolute(name, level, package)
                for each in given if source is not None else ():
                    if each.name != "*":
                        yield _Use(source or "", each.name, node.lineno, node.col_offset)
                        aliases[each.asname or each.name] = f"{source}.{each.name}"
            case ast.Import(names=given):
                for each in given:
                    above, _, last = each.name.rpartition(".")
                    if above:
                        yield _Use(above, last, node.lineno, node.col_offset)
                    if each.asname:
                        aliases[each.asname] = each.name
            case ast.Name(id=name, ctx=ast.Store()):
                rebound.add(name)
    rebound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in _unguarded(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if (
                name in aliases and name not in rebound
            ):
                yield _Use(aliases[name], attribute, node.lineno, node.col_offset, asked=True)


def _unguarded(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try) and any(_catches(handler) for handler in child.handlers):
            for each in (*child.handlers, *child.orelse, *child.finalbody):
                yield from _unguarded(each)
            continue
        yield child
        yield from _unguarded(child)


def _catches(handler: ast.ExceptHandler) -> bool:
    said = ast.unparse(handler.type) if handler.type is not None else "Exception"
    return any(guard in said for guard in _GUARDS)


def _absolute(name: str | None, level: int, package: str) -> str | None:
    """The module that an import names, from a file of a package; None for one that leads out of it."""
    if not level:
        return name
    parts = package.split(".") if package else []
    above = parts[: len(parts) - level + 1]
    return ".".join([*above, *([name] if name else [])]) if above else None


def _names_of(module: str, read: Read) -> set[str] | None:
    """The names that a module of the tree has; None where that can't be told, or where the tree has no such package at all."""
    if not _is_there(module.partition(".")[0], read):
        return None
    path = module.replace(".", "/")
    content = read(f"{path}/__init__.py")
    content = content if content is not None else read(f"{path}.py")
    if content is None:
        return set()
    tree = surroundings.parse(content)
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
            case ast.Call(func=ast.Name(id="globals" | "setattr" | "exec")):
                return None
            case ast.Global(names=given):
                found |= set(given)
    return found


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported, and `global` statements wherever they stand."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from (each for each in ast.walk(child) if isinstance(each, ast.Global))
        else:
            yield from _top_level(child)


def _is_there(module: str, read: Read) -> bool:
    path = module.replace(".", "/")
    return read(f"{path}.py") is not None or read(f"{path}/__init__.py") is not None or read(f"{path}/") is not None
