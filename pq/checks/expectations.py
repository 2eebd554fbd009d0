"""What a patch says of the tree that it makes, in its own text: `Pq-Expect: …`, checked whenever it is pushed.

Pq-Expect: symbol pkg.module:Class.name      a class, function, field or name that is there
Pq-Expect: option --name once                the option is added by exactly one call, in the files that the patch touches
Pq-Expect: import pkg.module                 the tree has the module, and the import check imports it, too
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pq.checks.findings import Finding
from pq.core import paths, surroundings

Read = Callable[[str], bytes | None]
"""The content of a file of the candidate tree by its path below `[check] root`; None where there is none."""

_LINE = re.compile(rb"^Pq-Expect:[ \t]*([^\r\n]*)", re.MULTILINE)
_SYMBOL = re.compile(r"symbol ([\w.]+):([\w.]+)")
_OPTION = re.compile(r"option (-\S+) once")
_IMPORT = re.compile(r"import ([\w.]+)")


@dataclass(frozen=True, slots=True)
class Touched:
    """A Python file that a patch touches: its module, its content before (None: it is new) and after."""

    module: str
    before: bytes | None
    after: bytes


def read(header: bytes) -> tuple[str, ...]:
    """What the text above a diff expects, in its own words."""
    return tuple(" ".join(paths.text(said).split()) for said in _LINE.findall(header))


def imports(expected: Iterable[str]) -> Iterator[str]:
    """The modules that are to be imported."""
    yield from (found[1] for said in expected if (found := _IMPORT.fullmatch(said)) is not None)


def findings(expected: Iterable[str], tree: Read, touched: Sequence[Touched]) -> Iterator[Finding]:
    """What of it does not hold."""
    for said in expected:
        if (found := _SYMBOL.fullmatch(said)) is not None:
            content = _module(found[1], tree)
            holds = content is not None and found[2] in dict(_symbols(content))
        elif (found := _OPTION.fullmatch(said)) is not None:
            count = sum(list(_options(file.after)).count(found[1]) for file in touched)
            if count != 1:
                yield Finding("expect", f"the patch expects {said}, and it is added {count} times")
            continue
        elif (found := _IMPORT.fullmatch(said)) is not None:
            holds = _module(found[1], tree) is not None
        else:
            yield Finding(
                "expect", f"the patch expects {said!r}, which is neither symbol MODULE:NAME, option NAME once nor import MODULE"
            )
            continue
        if not holds:
            yield Finding("expect", f"the patch expects {said}, and the tree does not have it")


def made_of(touched: Sequence[Touched]) -> tuple[str, ...]:
    """What a patch may well expect: the names and options that it brings in."""
    found: list[str] = []
    for file in touched:
        had = dict(_symbols(file.before)) if file.before is not None else {}
        found += [f"symbol {file.module}:{name}" for name, _ in _symbols(file.after) if name not in had and file.module]
        options = list(_options(file.before)) if file.before is not None else []
        now = list(_options(file.after))
        found += [f"option {name} once" for name in now if name not in options and now.count(name) == 1]
    return tuple(dict.fromkeys(found))


def _module(name: str, tree: Read) -> bytes | None:
    path = name.replace(".", "/")
    content = tree(f"{path}.py")
    return content if content is not None else tree(f"{path}/__init__.py")


def _symbols(content: bytes) -> Iterator[tuple[str, int]]:
    tree = surroundings.parse(content)
    return _below(tree, "") if tree is not None else iter(())


def _below(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    """Classes, functions, and what is assigned in a module or a class; not what is inside of functions."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield f"{prefix}{name}", child.lineno
                yield from _below(child, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{prefix}{name}", child.lineno
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield f"{prefix}{name}", child.lineno
            case ast.If() | ast.Try() | ast.With():
                yield from _below(child, prefix)


def _options(content: bytes) -> Iterator[str]:
    tree = surroundings.parse(content)
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=given):
                texts = (each.value for each in given if isinstance(each, ast.Constant))
                yield from (text for text in texts if isinstance(text, str) and text.startswith("-"))
