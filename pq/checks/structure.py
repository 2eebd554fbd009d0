"""What a patch newly brings into a Python file though no file means it: what compiles, and fails or is dead when it runs.

It comes from patches that were applied where they had landed already, or a few lines beside the place. Only what the file did not have
before is found; what it had is not the patch's fault.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.checks import sources
from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.core import surroundings

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.ClassDef, *_FUNCTIONS)
_ALTERNATIVES = {"setter", "getter", "deleter", "overload", "register", "dispatch", "typing"}
"""Decorators of definitions that have the same name on purpose."""


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something that no file means. `key` tells it from others of its rule, whatever line it stands at."""

    code: str
    key: tuple[str, ...]
    line: int
    reason: str


def findings(source: Source) -> list[Finding]:
    """What is odd in a file and was not in any of the contents before."""
    try:
        found = list(dict.fromkeys(_oddities(source))) if source.tree is not None else []
    except RecursionError:  # a chain of branches that nests deeper than Python's limit
        return []
    if not found or source.tree is None or source.old_trees is None:
        return []
    had, now = [_counted(old) for old in source.old_trees], _counted(source.tree)
    new: list[Finding] = []
    for odd in found:
        if all(now[odd.code, odd.key] > old[odd.code, odd.key] for old in had):
            shown = source.line(odd.line)
            new.append(Finding(odd.code, odd.reason, source.path, odd.line, len(shown) - len(shown.lstrip()) + 1, (shown,)))
    return new


def _counted(tree: ast.Module) -> Counter[tuple[str, tuple[str, ...]]]:
    """How often each thing is odd in a whole file."""
    return Counter((odd.code, odd.key) for odd in dict.fromkeys(_oddities(sources.whole(tree))))


def _oddities(source: Source) -> Iterator[Oddity]:
    """What is odd in a file where it changed."""
    for node in (source.tree, *source.touched()):
        assert node is not None
        for rule in _RULES:
            yield from rule(node, source)
    yield from _repeated_options(source)


def _repeated_options(source: Source) -> Iterator[Oddity]:
    """An option string that one parser gets twice: argparse raises when the parser is built."""
    tree = source.tree
    if tree is None or not any(_adds_an_option(node) for node in source.touched()):
        return
    functions = {node.name: node for _, node in _scopes(tree) if isinstance(node, _FUNCTIONS)}
    told: set[tuple[str, int]] = set()
    for name, scope in [("the module", tree), *_scopes(tree)]:
        added: dict[tuple[str, str], list[_Option]] = {}
        for option in _options(scope, functions, ()):
            others = added.setdefault((option.parser, option.text), [])
            if any(not _exclude(option, other) for other in others) and (option.text, option.line) not in told:
                told.add((option.text, option.line))
                first = others[0].line
                reason = f"option {option.text} is added twice in {name}, first in line {first}"
                yield Oddity("option-twice", (option.text,), option.line, reason)
            others.append(option)


def _adds_an_option(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"


@dataclass(frozen=True, slots=True)
class _Option:
    """An option string that a parser gets; `branches` are the branches of `if` that it stands in."""

    parser: str
    text: str
    line: int
    branches: tuple[tuple[int, bool], ...]


def _options(scope: ast.AST, functions: Mapping[str, ast.AST], inside: tuple[str, ...], parser: str = "") -> Iterator[_Option]:
    """The options that a function adds, itself or by functions of the file that it hands a parser to."""
    parsers: dict[str, str] = {}
    for node, branches in _own(ast.iter_child_nodes(scope), ()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            parsers[node.targets[0].id] = _parser_of(node.value, parsers, node.lineno)
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            owner = surroundings.words(node.func.value)
            for text in node.args:
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.startswith("-"):
                    yield _Option(parser or parsers.get(owner, owner), text.value, node.lineno, branches)
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        handed = next(
            (surroundings.words(given) for given in node.args if isinstance(given, ast.Name) and "pars" in given.id), None
        )
        if handed and called in functions and called not in inside:
            for option in _options(functions[called], functions, (*inside, called), parsers.get(handed, handed)):
                yield _Option(option.parser, option.text, option.line, branches + option.branches)


def _parser_of(call: ast.Call, parsers: Mapping[str, str], line: int) -> str:
    """A group belongs to its parser; anything else is a parser of its own."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_argument_group", "add_mutually_exclusive_group"):
        owner = surroundings.words(call.func.value)
        return parsers.get(owner, owner)
    return f"line {line}"


def _exclude(one: _Option, other: _Option) -> bool:
    """Whether only one of the two is ever added, since they stand in different branches."""
    return any((number, not branch) in other.branches for number, branch in one.branches)


def _repeated_definitions(scope: ast.AST, _: Source) -> Iterator[Oddity]:
    """A method, a field or an enum's member that one class has twice: the first is lost."""
    name = scope.name if isinstance(scope, ast.ClassDef) else "the module"
    seen: dict[tuple[str, str], int] = {}
    for node in scope.body if isinstance(scope, (ast.ClassDef, ast.Module)) else ():
        key = _defined(node, scope)
        if key is not None and key in seen:
            reason = f"{' '.join(key)} is defined twice in {name}, first in line {seen[key]}"
            yield Oddity("defined-twice", (name, *key), node.lineno, reason)
        elif key is not None:
            seen[key] = node.lineno


def _defined(node: ast.stmt, scope: ast.AST) -> tuple[str, str] | None:
    match node:
        case ast.FunctionDef(name=name, decorator_list=decorators) | ast.AsyncFunctionDef(name=name, decorator_list=decorators):
            words = {part for each in decorators for part in surroundings.words(each).replace("(", ".").split(".")}
            return None if words & _ALTERNATIVES or name == "_" else ("def", name)
        case ast.ClassDef(name=name):
            return ("class", name)
        case ast.AnnAssign(target=ast.Name(id=name)) if isinstance(scope, ast.ClassDef):
            return ("field", name)
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(scope, ast.ClassDef) and _is_enum(scope):
            return ("member", name)
    return None


def _is_enum(scope: ast.ClassDef) -> bool:
    return any("Enum" in surroundings.words(base) for base in scope.bases)


def _repeated_branches(node: ast.AST, _: Source) -> Iterator[Oddity]:
    """An `elif` that asks what an earlier branch asks: it is never taken."""
    seen: dict[str, int] = {}
    while isinstance(node, ast.If) and (seen or len(node.orelse) == 1):
        asked = surroundings.words(node.test)
        if asked in seen:
            reason = f"this branch asks what the one in line {seen[asked]} asks: {asked}"
            yield Oddity("branch-twice", (asked,), node.lineno, reason)
        seen.setdefault(asked, node.lineno)
        node = node.orelse[0] if len(node.orelse) == 1 else node.test


def _repeated_keys(node: ast.AST, _: Source) -> Iterator[Oddity]:
    """A key that one literal has twice: the first is lost."""
    seen: set[str] = set()
    for key in node.keys if isinstance(node, ast.Dict) else ():
        if isinstance(key, ast.Constant):
            text = repr(key.value)
            if text in seen:
                yield Oddity("key-twice", (text,), key.lineno, f"key {text} stands twice in one dict")
            seen.add(text)


def _unreachable(node: ast.AST, source: Source) -> Iterator[Oddity]:
    """What was put behind a return, raise, continue or break in its block. One that is put in front switches code off, and is meant."""
    for block in sources.blocks(node):
        for above, below in itertools.pairwise(block):
            makes_a_generator = isinstance(below, ast.Expr) and isinstance(below.value, (ast.Yield, ast.YieldFrom))
            if isinstance(above, _ENDS) and not makes_a_generator and source.touches(below):
                reason = f"this is never reached: line {above.lineno} leaves the block"
                yield Oddity("unreachable", (surroundings.words(below),), below.lineno, reason)


def _nested_calls(node: ast.AST, source: Source) -> Iterator[Oddity]:
    """A call among the arguments of a call of the same function that elsewhere is a statement of its own."""
    if not isinstance(node, ast.Call):
        return
    for given in (*node.args, *(keyword.value for keyword in node.keywords)):
        if isinstance(given, ast.Call) and surroundings.words(given.func) == surroundings.words(node.func):
            name = surroundings.words(node.func)
            if name in _called(source):
                yield Oddity(
                    "call-nested",
                    (surroundings.words(given),),
                    given.lineno,
                    f"this call of {name} stands among the arguments of another one",
                )


def _called(source: Source) -> set[str]:
    """What is called by statements of their own."""
    found = sources.statements(source.tree) if source.tree is not None else ()
    return {
        surroundings.words(each.value.func) for each in found if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
    }


_RULES: Sequence[Callable[[ast.AST, Source], Iterator[Oddity]]] = (
    _repeated_definitions,
    _repeated_branches,
    _repeated_keys,
    _unreachable,
    _nested_calls,
)


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All classes and functions, by their qualified names."""
    for block in sources.blocks(node):
        for child in block:
            if isinstance(child, _SCOPES):
                yield f"{prefix}{child.name}", child
                yield from _scopes(child, f"{prefix}{child.name}.")
            else:
                yield from _scopes(child, prefix)


def _own(
    nodes: Iterable[ast.AST], branches: tuple[tuple[int, bool], ...]
) -> Iterator[tuple[ast.AST, tuple[tuple[int, bool], ...]]]:
    """These nodes and those below them that are in no inner scope, in the order of the file, with the branches of `if` around each."""
    for node in nodes:
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.If):
            yield node, branches
            yield from _own([node.test], branches)
            yield from _own(node.body, (*branches, (node.lineno, True)))
            yield from _own(node.orelse, (*branches, (node.lineno, False)))
        elif isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield node, branches
            yield from _own(ast.iter_child_nodes(node), branches)
        else:
            yield from ((each, branches) for each in ast.walk(node))
