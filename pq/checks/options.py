"""The rule option-twice: an option string that one parser of argparse gets twice, which raises when the parser is built."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.checks import sources
from pq.checks.findings import Oddity
from pq.checks.sources import Source
from pq.core import surroundings

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.ClassDef, *_FUNCTIONS)
_MAKES = re.compile(r"[Pp]arser$|group$")
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_Branches = tuple[tuple[int, int], ...]
"""The statements, by line, that something stands in an alternative of, and in which."""


@dataclass(frozen=True, slots=True)
class _Option:
    """An option string that a parser gets."""

    parser: str
    text: str
    line: int
    branches: _Branches

    def excludes(self, other: _Option) -> bool:
        """Whether only one of the two is ever added, since they stand in different alternatives."""
        chosen = dict(other.branches)
        return any(chosen.get(line, which) != which for line, which in self.branches)


def repeated(source: Source) -> Iterator[Oddity]:
    """The options that a parser gets twice, where the file adds one in a changed line."""
    tree = source.tree
    if tree is None or b"conflict_handler" in source.after or not any(_adds_an_option(node) for node in source.touched()):
        return
    scopes = dict(_scopes(tree))
    told: set[tuple[str, int]] = set()
    for name, scope in (("", tree), *scopes.items()):
        added: dict[tuple[str, str], list[_Option]] = {}
        for option in _options(name, scope, scopes, ()):
            others = added.setdefault((option.parser, option.text), [])
            second = next((other for other in others if other.line != option.line and not option.excludes(other)), None)
            if second is not None and (option.text, option.line) not in told:
                told.add((option.text, option.line))
                reason = f"option {option.text} is added twice in {name or 'the module'}, first in line {second.line}"
                yield Oddity("option-twice", (option.text,), option.line, reason)
            others.append(option)


def _adds_an_option(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"


def _options(
    name: str, scope: ast.AST, scopes: Mapping[str, ast.AST], inside: tuple[str, ...], parser: str = ""
) -> Iterator[_Option]:
    """The options that a function adds, itself or by functions of the file that it hands a parser to."""
    parsers: dict[str, str] = {}
    made: set[str] = set()
    for node, branches in _own(getattr(scope, "body", ()), ()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            parsers[node.targets[0].id] = _parser_of(node.value, parsers, node.lineno)
            if _MAKES.search(surroundings.callee(node.value.func)):
                made.add(node.targets[0].id)
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            owner = surroundings.words(node.func.value)
            for text in map(_spelled, node.args):
                if text.startswith("-"):
                    yield _Option(parser or parsers.get(owner, owner), text, node.lineno, branches)
            continue
        called = _called(node.func, name, scopes)
        values = (*node.args, *(keyword.value for keyword in node.keywords))
        names = (given.id for given in values if isinstance(given, ast.Name))
        handed = next((each for each in names if "pars" in each or "group" in each or each in made), None)
        if handed and called is not None and called not in inside:
            for option in _options(called, scopes[called], scopes, (*inside, called), parsers.get(handed, handed)):
                yield _Option(option.parser, option.text, option.line, branches + option.branches)


def _spelled(node: ast.expr) -> str:
    """An option string as it is told from others; one that is made of parts is spelled by these."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr():
            return surroundings.words(node)[2:-1]
    return ""


def _called(func: ast.expr, name: str, scopes: Mapping[str, ast.AST]) -> str | None:
    """The qualified name of the function of this file that is called from the scope with this name; None where it may be another one."""
    match func:
        case ast.Name(id=called):
            found = called
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=called):
            found = f"{name.rpartition('.')[0]}.{called}"
        case ast.Attribute(value=ast.Name(id=owner), attr=called):
            found = f"{owner}.{called}"
        case _:
            return None
    return found if isinstance(scopes.get(found), _FUNCTIONS) else None


def _parser_of(call: ast.Call, parsers: Mapping[str, str], line: int) -> str:
    """A group belongs to its parser; anything else is a parser of its own."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_argument_group", "add_mutually_exclusive_group"):
        owner = surroundings.words(call.func.value)
        return parsers.get(owner, owner)
    return f"line {line}"


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """All classes and functions, by their qualified names."""
    for block in sources.blocks(node):
        for child in block:
            if isinstance(child, _SCOPES):
                yield f"{prefix}{child.name}", child
                yield from _scopes(child, f"{prefix}{child.name}.")
            else:
                yield from _scopes(child, prefix)


def _own(block: Sequence[ast.AST], branches: _Branches) -> Iterator[tuple[ast.AST, _Branches]]:
    """The statements of a block and what is in them, but for inner scopes, in the order of the file, each with what it is an alternative of."""
    for node in block:
        if isinstance(node, _SCOPES):
            continue
        yield node, branches
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from ((each, branches) for each in ast.walk(child))
        alternatives = _alternatives(node)
        for which, inner in enumerate(alternatives):
            yield from _own(inner, (*branches, (_line(node), which)))
        if not alternatives:
            for inner in sources.blocks(node):
                yield from _own(inner, branches)
        if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES):
            branches = (*branches, (_line(node), 1))  # what follows is as good as its else


def _alternatives(node: ast.AST) -> list[Sequence[ast.AST]]:
    """The blocks of a statement of which one is run; a handler runs where its `try` did not get to the end."""
    match node:
        case ast.If(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Match(cases=cases):
            return [case.body for case in cases]
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=[]) if handlers:
            return [[*body, *orelse], *(handler.body for handler in handlers)]
    return []


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
