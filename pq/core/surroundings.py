"""Where lines stand in a Python file: in which class, function and call, and between which siblings.

A hunk whose lines fit may still stand in another place than the one that it was made for: the look-alike class above, the call before, the
next field. What says so is not the text around it but what the lines are in; so it is compared, in the file that the hunk was made for
and in the one that it comes to (design, section 7).
"""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from pq.core.lines import Lines
from pq.core.merge import Landing, Merged, edited

_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_SHOWN = 60
_TEXT = "a string"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lines stand in: `scope` is the qualified name of classes and functions, `within` the calls, lists and the like, outer first.

    `above` and `below` are the siblings next to them, as far as they say which they are; None: there is none.
    """

    scope: str
    within: tuple[str, ...]
    above: str | None
    below: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """What it is in."""
        return (self.scope, *self.within)

    def __str__(self) -> str:
        inside = f" in {self.within[-1]}" if self.within else ""
        siblings = f" between {_short(self.above)} and {_short(self.below)}" if self.above or self.below else ""
        return f"{self.scope or 'the module'}{inside}{siblings}"


@functools.lru_cache(maxsize=16)
def parse(source: bytes) -> ast.Module | None:
    """The tree of a file, not to be changed by the caller; None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def around(tree: ast.Module, first: int, last: int) -> Surroundings:
    """What surrounds the lines from `first` to `last` (from 1, both in it)."""
    scope: list[str] = []
    within: list[str] = []
    node: ast.AST = tree
    while (inner := _holding(node, first, last)) is not None:
        if isinstance(inner, _SCOPES):
            scope.append(inner.name)
            within = []
        elif (label := _label(inner)) is not None:
            within.append(label)
        node = inner
    above = [child for child in _children(node) if lines_of(child)[1] < first]
    below = [child for child in _children(node) if lines_of(child)[0] > last]
    return Surroundings(".".join(scope), tuple(within), _name(above[-1]) if above else None, _name(below[0]) if below else None)


def differ(made: Surroundings, found: Surroundings) -> bool:
    """Whether the two are different places: another class, function or call, or neither of the siblings is the same."""
    if made.names != found.names:
        return not (_is_rewrapped(made.names, found.names) and (made.above, made.below) == (found.above, found.below))
    return made.above != found.above and made.below != found.below


def _is_rewrapped(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the two are the same but for what becomes of a value: it is returned, given one name, or let go."""
    given = [[name for name in names if name.endswith(" =")] for names in (one, other)]
    inner = [[name for name in names if name != "return" and not name.endswith(" =")] for names in (one, other)]
    return inner[0] == inner[1] and [] in given


def moved(base: Lines, ours: Lines, merged: Merged) -> tuple[Landing, Surroundings, Surroundings] | None:
    """The first edit that stands in another place than the one that it was made for, with both; None also where a file does not parse."""
    taking = [landing for landing in merged.landings if not _told(landing.edit.lines) and landing.edit.stop > landing.edit.start]
    theirs = edited(base, [landing.edit for landing in merged.landings])
    return _first_moved(theirs, merged.lines, _added(merged.landings)) or _first_moved(base, ours, _taken(base, taking))


_Spans = list[tuple[Landing, tuple[int, int], tuple[int, int]]]
"""Edits with their first and last lines, from 1: in the file that they were made for, and in the one that they came to."""


def _first_moved(one: Lines, other: Lines, spans: _Spans) -> tuple[Landing, Surroundings, Surroundings] | None:
    was, now = (parse(b"".join(lines)) if spans else None for lines in (one, other))
    if was is None or now is None:
        return None
    for landing, at, to in spans:
        made, found = around(was, *at), around(now, *to)
        if differ(made, found) and not _is_renamed(made, found, was, now):
            return landing, made, found
    return None


def _is_renamed(made: Surroundings, found: Surroundings, one: ast.Module, other: ast.Module) -> bool:
    """Whether the one place has become the other: it is not there any more, and the other was not there."""
    if made.names == found.names or (_TEXT in made.names) != (_TEXT in found.names):
        return False
    return made.names not in _places(other) and found.names not in _places(one)


def _places(tree: ast.Module) -> set[tuple[str, ...]]:
    """All that lines can stand in."""
    found: set[tuple[str, ...]] = set()
    below: list[tuple[ast.AST, str, tuple[str, ...]]] = [(tree, "", ())]
    while below:
        node, scope, within = below.pop()
        found.add((scope, *within))
        for child in _children(node):
            if isinstance(child, _SCOPES):
                below.append((child, f"{scope}.{child.name}".strip("."), ()))
            else:
                label = _label(child)
                below.append((child, scope, within if label is None else (*within, label)))
    return found


def _added(landings: Sequence[Landing]) -> _Spans:
    found: _Spans = []
    theirs = merged = 0
    for landing in landings:
        edit = landing.edit
        told = _told(edit.lines)
        if told and not landing.landed:
            first, last = told
            found.append(
                (
                    landing,
                    (edit.start + theirs + first, edit.start + theirs + last),
                    (landing.line + merged + first, landing.line + merged + last),
                )
            )
        grown = len(edit.lines) - (edit.stop - edit.start)
        theirs += grown
        merged += 0 if landing.landed else grown
    return found


def _taken(base: Lines, taking: Sequence[Landing]) -> _Spans:
    found: _Spans = []
    for landing in taking:
        told = _told(base[landing.edit.start : landing.edit.stop])
        if told and not landing.landed:
            first, last = told
            found.append(
                (landing, (landing.edit.start + first, landing.edit.start + last), (landing.line + first, landing.line + last))
            )
    return found


def _told(lines: Lines) -> tuple[int, int] | tuple[()]:
    """The first and the last of the lines, counted from 1, that are not blank; nothing where all are."""
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    return (numbers[0], numbers[-1]) if numbers else ()


def _holding(node: ast.AST, first: int, last: int) -> ast.AST | None:
    """The child that the lines are a part of."""
    for child in _children(node):
        start, stop = lines_of(child)
        if start <= first and last <= stop and (start, stop) != (first, last):
            return child
    return None


def _children(node: ast.AST) -> list[ast.AST]:
    """The children that have a place, in the order of the file; of those that have none, theirs. A string is whole."""
    match node:
        case ast.JoinedStr():
            return []
        case ast.Dict(keys=keys, values=values):
            return [_Entry(key, value) for key, value in zip(keys, values, strict=True)]
        case _Entry(key=key, value=value):
            return [each for each in (key, value) if each is not None]
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        found += [child] if hasattr(child, "lineno") or isinstance(child, ast.match_case) else _children(child)
    return sorted(found, key=lines_of)


class _Entry(ast.AST):
    """An entry of a dict, which Python's trees have as two lists."""

    def __init__(self, key: ast.expr | None, value: ast.expr) -> None:
        super().__init__()
        self.key = key
        self.value = value
        self.lineno = (key or value).lineno
        self.end_lineno = value.end_lineno


def lines_of(node: ast.AST) -> tuple[int, int]:
    """First and last line, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, lines_of(node.body[-1])[1]
    first: int = node.lineno  # type: ignore[attr-defined]
    last: int = node.end_lineno  # type: ignore[attr-defined]
    return min([first, *(each.lineno for each in getattr(node, "decorator_list", ()))]), last


def _label(node: ast.AST) -> str | None:
    """What a node is called that lines can stand in; None for one that is no place of its own."""
    match node:
        case ast.Call():
            return _call(node)
        case ast.Assign(targets=[ast.Tuple(elts=[target, *_]), *_]):
            return f"{words(target)}, … ="
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return f"{words(target)} ="
        case ast.keyword(arg=str(name)):
            return f"{name}="
        case _Entry(key=ast.expr() as key):
            return f"{words(key)}:"
        case ast.match_case(pattern=pattern):
            return f"case {words(pattern)}"
        case ast.Return():
            return "return"
        case ast.Constant(value=str()) | ast.JoinedStr():
            return _TEXT
    return None


def _name(node: ast.AST) -> str:
    """What tells a sibling from others, whatever is changed inside of it."""
    match node:
        case ast.ClassDef(name=name):
            return f"class {name}"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return f"def {name}"
        case ast.arg(arg=name) | ast.alias(name=name):
            return name
        case ast.Expr(value=ast.Await(value=value)) | ast.Await(value=value):
            return f"await {_name(value)}"
        case ast.Expr(value=ast.Call() as call) | (ast.Call() as call):
            return _call(call)
        case ast.ImportFrom(module=module, level=level):
            return f"from {'.' * level}{module or ''}"
        case ast.Dict(keys=[ast.expr() as key, *_], values=[value, *_]):
            return f"{{{words(key)}: {words(value)}"
        case ast.Constant():
            return words(node)
        case ast.If(test=test) | ast.While(test=test):
            return f"if {words(test)}"
        case ast.For() | ast.AsyncFor():
            return f"for {words(node.target)}"
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return f"with {', '.join(words(item) for item in items)}"
        case ast.Try() | ast.TryStar():
            return f"try {_name(node.body[0])}"
        case ast.Match(subject=subject):
            return f"match {words(subject)}"
        case ast.ExceptHandler():
            return f"except {words(node.type) if node.type is not None else ''}"
    return _label(node) or words(node)


def _call(node: ast.Call) -> str:
    """A call by what is called, and by its first argument if that is a text or a number."""
    told = node.args[0] if node.args and isinstance(node.args[0], (ast.Constant, ast.JoinedStr)) else None
    return f"{callee(node.func)}({words(told) if told is not None else ''})"


def words(node: ast.AST) -> str:
    """A node as text; one that nests deeper than Python recurses is none."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"


def callee(node: ast.expr) -> str:
    """What is called, whatever stands in the literals and arguments on the way there."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{callee(value)}.{name}"
        case ast.Call(func=func):
            return f"{callee(func)}()"
        case ast.Subscript(value=value):
            return f"{callee(value)}[]"
    return "…"


def _short(name: str | None) -> str:
    if name is None:
        return "the edge"
    line = name.partition("\n")[0]
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
