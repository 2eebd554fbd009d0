"""Whether what a patch adds to a Python file is there already, though in other words or at another place of the same scope.

A merge of lines sees only the same lines at the same place. What is compared here is what the lines define, in the class or function that they
stand in: upstream may have taken the patch over, or have something of the same name; either way a second one is never meant.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pq.core import surroundings
from pq.core.lines import Lines
from pq.core.merge import Landing, Merged, edited

_WORD = re.compile(r"\w")
REGISTERS = re.compile(r"(?:regist\w*|option|argument|command|route|get|post|put|delete)$", re.IGNORECASE)
_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a line defines, in words, in which scope; the same in two files if both are."""

    scope: str
    what: str


def find_landed(base: Lines, ours: Lines, merged: Merged) -> tuple[Landing, Definition, int] | None:
    """The first edit that adds what ours has got since base, with the line (from 1) at which it is there; None where there is none."""
    adding = [landing for landing in merged.landings if landing.edit.lines and not landing.landed]
    texts = (base, ours, edited(base, [landing.edit for landing in merged.landings])) if adding else ()
    found = [_all(b"".join(lines)) for lines in texts]
    if not found or None in found:
        return None
    had, has, adds = (each for each in found if each is not None)
    known = {definition for definition, _ in had}
    new = {definition: line for definition, line in has if definition not in known}
    if not new:
        return None
    for landing, first, last in _spans(merged.landings):
        for definition, line in adds:
            if first <= line <= last and definition in new and not landing.landed:
                return landing, definition, new[definition]
    return None


def _spans(landings: Sequence[Landing]) -> Iterator[tuple[Landing, int, int]]:
    """The lines, from 1, that each edit adds to the file that it was made for."""
    grown = 0
    for landing in landings:
        edit = landing.edit
        yield landing, edit.start + grown + 1, edit.start + grown + len(edit.lines)
        grown += len(edit.lines) - (edit.stop - edit.start)


@functools.lru_cache(maxsize=32)
def _all(source: bytes) -> Sequence[tuple[Definition, int]] | None:
    """What a file defines; None where it does not parse."""
    tree = surroundings.parse(source)
    return None if tree is None else tuple(_definitions(tree))


def _definitions(tree: ast.Module) -> Iterator[tuple[Definition, int]]:
    """What the file defines, each with its line. Without recursion, since expressions nest deeper than Python's limit."""
    below: list[tuple[ast.AST, str]] = [(tree, "")]
    while below:
        node, scope = below.pop()
        for child in ast.iter_child_nodes(node):
            inner = f"{scope}.{child.name}".strip(".") if isinstance(child, _SCOPES) else scope
            is_top = isinstance(node, (ast.Module, ast.ClassDef))
            is_head = isinstance(child, ast.If) and not (isinstance(node, ast.If) and node.orelse == [child])
            for what, line in (*_of(child, scope, is_top=is_top), *_registered(child), *(_branches(child) if is_head else ())):
                yield Definition(scope, what), line
            below.append((child, inner))


def _of(node: ast.AST, scope: str, *, is_top: bool) -> Iterator[tuple[str, int]]:
    yield from _keys(node)
    match node:
        case ast.ClassDef(name=name):
            yield f"class {name}", node.lineno
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield f"def {name}", node.lineno
            for arg in ast.walk(node.args):
                if isinstance(arg, ast.arg):
                    yield f"parameter {arg.arg} of {name}", arg.lineno
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]) if is_top:
            yield f"field {name}", node.lineno
        case ast.Expr(value=ast.Call(func=func, args=[(ast.Constant() | ast.JoinedStr()) as word, *_])) if _is_word(word):
            yield f"{surroundings.callee(func)}({surroundings.words(word)})", node.lineno
        case ast.Expr(value=ast.Call(func=func, args=[(ast.Name() | ast.Attribute()) as thing])) if not scope:
            yield f"{surroundings.callee(func)}({surroundings.words(thing)})", node.lineno
        case ast.Call(func=func, args=[(ast.Constant() | ast.JoinedStr()) as word, *_], keywords=keywords) if _is_word(word):
            for keyword in keywords:
                if keyword.arg is not None:
                    yield f"{keyword.arg}= of {surroundings.callee(func)}({surroundings.words(word)})", keyword.lineno
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                if case.guard is None:
                    yield f"case {surroundings.words(case.pattern)} of {surroundings.words(subject)}", case.pattern.lineno


def _branches(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The `elif`s of a chain that begins with this `if`."""
    first = surroundings.words(node.test) if isinstance(node, ast.If) else ""
    while isinstance(node, ast.If) and len(node.orelse) == 1:
        node = node.orelse[0]
        if isinstance(node, ast.If):
            yield f"elif {surroundings.words(node.test)} of if {first}", node.test.lineno


def _registered(node: ast.AST) -> Iterator[tuple[str, int]]:
    """What a decorator registers a class or function as: a second one of that word takes the place of the first."""
    for decorator in getattr(node, "decorator_list", ()):
        match decorator:
            case ast.Call(func=func, args=[(ast.Constant() | ast.JoinedStr()) as word, *_]) if _is_word(word):
                called = surroundings.callee(func)
                if REGISTERS.search(called):
                    yield f"@{called}({surroundings.words(word)})", decorator.lineno


def _is_word(node: ast.expr) -> bool:
    """Whether a literal may name something: one that says nothing does not."""
    return not isinstance(node, ast.Constant) or (isinstance(node.value, str) and _WORD.search(node.value) is not None)


def _keys(node: ast.AST) -> Iterator[tuple[str, int]]:
    match node:
        case ast.Assign(targets=[target], value=ast.Dict(keys=keys)) | ast.AnnAssign(target=target, value=ast.Dict(keys=keys)):
            for key in keys:
                if isinstance(key, (ast.Constant, ast.Attribute)):
                    yield f"key {surroundings.words(key)} of {surroundings.words(target)}", key.lineno
