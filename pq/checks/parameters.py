"""Keywords of calls that a patch newly writes, and that what is called does not take: a function, or a class with its fields.

A merge may carry a call whole while upstream has given the field another name: the file compiles and imports, and dies when the call is made.
Only what can be told for sure is said: functions and classes of the tree, called by the name that they were defined or imported by.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.checks import names, sources, tree_modules
from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.checks.tree_modules import Modules
from pq.core import surroundings

_STEPS = 5
"""Modules, one importing from the next, through which a name is followed."""
_CLASS_VARIABLE = re.compile(r"\s*(?:\w+\s*\.)?\s*ClassVar\b")
_WITHOUT_FIELDS = {"ABC", "Generic", "Protocol", "object"}


@dataclass(frozen=True, slots=True)
class _Place:
    """A file of the tree, and the package that it is in."""

    tree: ast.Module
    package: str


def findings(source: Source, modules: Modules, before: Modules, *, package: str) -> list[Finding]:
    """The keywords that nothing takes, and that were not so in the contents before, in the tree of then."""
    if source.tree is None:
        return []
    found = list(_unknown(source, source.touched(), modules, package))
    if not found or source.old_trees is None:
        return []
    olds = [sources.whole(content, tree) for content, tree in zip(source.before, source.old_trees, strict=True)]
    had = {each.reason for old in olds if old.tree for each in _unknown(old, ast.walk(old.tree), before, package)}
    return [each for each in found if each.reason not in had]


def _unknown(source: Source, nodes: Iterator[ast.AST], modules: Modules, package: str) -> Iterator[Finding]:
    assert source.tree is not None
    look = _Looking(modules)
    here = _Place(source.tree, package)
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.keywords:
            continue
        given = [keyword for keyword in node.keywords if keyword.arg is not None]
        takes = look.parameters(here, node.func.id) if given else None
        for keyword in given if takes is not None else ():
            if takes is not None and keyword.arg not in takes:
                reason = f"{node.func.id} takes no {keyword.arg}"
                text = (source.line(keyword.lineno),)
                yield Finding("no-parameter", reason, source.path, keyword.lineno, keyword.col_offset + 1, text)


@dataclass(frozen=True, slots=True)
class _Looking:
    """Follows names through the modules of a tree."""

    modules: Modules

    def parameters(self, place: _Place, name: str) -> frozenset[str] | None:
        """What a function or class of that name takes by keyword; None where that can't be told."""
        found = self._definition(place, name, _STEPS)
        if found is None:
            return None
        there, node = found
        if isinstance(node, ast.ClassDef):
            return self._of_class(there, node)
        return _of_function(node) if not node.decorator_list else None

    def _definition(
        self, place: _Place, name: str, steps: int
    ) -> tuple[_Place, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """The one definition that a name of a module has, in the module that it comes from; None where there are several, or none."""
        bound = _bindings(place.tree).get(name, ())
        if len(bound) != 1 or not steps or bound[0] not in place.tree.body:
            return None
        match bound[0]:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() as node if node.name == name:
                return place, node
            case ast.ImportFrom(module=module, level=level, names=given):
                origin = names.absolute(module, level, place.package)
                inside = next(each.name for each in given if (each.asname or each.name) == name)
                there = self._module(origin) if origin is not None else None
                return self._definition(there, inside, steps - 1) if there is not None else None
        return None

    def _module(self, module: str) -> _Place | None:
        path = tree_modules.path_of(module, self.modules)
        content = self.modules.read(path) if path is not None and path.endswith(".py") else None
        tree = surroundings.parse(content) if content is not None else None
        if tree is None or path is None:
            return None
        return _Place(tree, module if path.endswith("/__init__.py") else module.rpartition(".")[0])

    def _of_class(self, place: _Place, node: ast.ClassDef) -> frozenset[str] | None:
        """What the __init__ of a class takes: its own, or that which its fields make."""
        if not self._is_plain(place, node):
            return None
        own = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        if own is not None:
            return _of_function(own)
        return self._fields(place, node) if node.decorator_list else None

    def _is_plain(self, place: _Place, node: ast.ClassDef) -> bool:
        """Whether nothing but its __init__ says what makes an object of a class: no metaclass, no __new__, in no base either."""
        if node.keywords or not all(_is_dataclass(each) for each in node.decorator_list):
            return False
        if any(name == "__new__" for each in node.body for name in _binds(each)):
            return False
        for base in node.bases:
            if _called(base) in _WITHOUT_FIELDS:
                continue
            there = self._definition(place, base.id, _STEPS) if isinstance(base, ast.Name) else None
            if there is None or not isinstance(there[1], ast.ClassDef) or not self._is_plain(there[0], there[1]):
                return False
        return True

    def _fields(self, place: _Place, node: ast.ClassDef) -> frozenset[str] | None:
        """The fields of a dataclass, with those of its bases."""
        found: set[str] = set()
        for base in node.bases:
            if _called(base) in _WITHOUT_FIELDS:
                continue
            there = self._definition(place, base.id, _STEPS) if isinstance(base, ast.Name) else None
            if there is None or not isinstance(there[1], ast.ClassDef):
                return None
            fields = self._fields(*_of_class(there))
            if fields is None:
                return None
            found |= fields
        return frozenset(found | set(_own_fields(node)))


def _of_class(found: tuple[_Place, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]) -> tuple[_Place, ast.ClassDef]:
    place, node = found
    assert isinstance(node, ast.ClassDef)
    return place, node


def _own_fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields that a class itself adds, if it is a dataclass: annotated ones that are no class variables."""
    if not node.decorator_list:
        return
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                is_kept_out = isinstance(value, ast.Call) and _called(value.func) == "field" and _says_no_init(value)
                if not is_kept_out and not _is_class_variable(annotation):
                    yield name


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str] | None:
    if node.args.kwarg is not None or node.decorator_list:
        return None
    return frozenset(each.arg for each in (*node.args.args, *node.args.kwonlyargs))


def _is_dataclass(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return _called(called) == "dataclass" and not (isinstance(node, ast.Call) and _says_no_init(node))


def _says_no_init(node: ast.Call) -> bool:
    return any(each.arg == "init" for each in node.keywords)


def _is_class_variable(annotation: ast.expr) -> bool:
    """As `dataclasses` tells it, which looks into texts, too."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _CLASS_VARIABLE.match(annotation.value) is not None
    return _called(annotation) == "ClassVar"


def _called(node: ast.expr) -> str:
    """The last name of what a node names: `C` of `C`, `m.C` and `m.C[int]`."""
    match node:
        case ast.Subscript(value=value):
            return _called(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@functools.lru_cache(maxsize=16)
def _bindings(tree: ast.Module) -> Mapping[str, Sequence[ast.AST]]:
    """The nodes of a file, wherever they are, that give something a name, by name."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        for name in _binds(node):
            found.setdefault(name, []).append(node)
    return found


def _binds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Import(names=given) | ast.ImportFrom(names=given):
            yield from (each.asname or each.name.partition(".")[0] for each in given)
        case _:
            yield from tree_modules.bound(node)
