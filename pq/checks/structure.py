"""What a patch newly brings into a Python file though no file means it: what compiles, and fails or is dead when it runs.

It comes from patches that were applied where they had landed already, or a few lines beside the place. Only what the file did not have
before is found; what it had is not the patch's fault.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pq.checks.findings import Finding
from pq.checks.sources import Source

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
    found = list(_oddities(source.tree)) if source.tree is not None else []
    if not found or source.old_trees is None:
        return []
    had = [Counter((odd.code, odd.key) for odd in _oddities(old)) for old in source.old_trees]
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    new: list[Finding] = []
    for odd in found:
        seen[odd.code, odd.key] += 1
        if all(seen[odd.code, odd.key] > old[odd.code, odd.key] for old in had):
            shown = source.line(odd.line)
            new.append(Finding(odd.code, odd.reason, source.path, odd.line, len(shown) - len(shown.lstrip()) + 1, (shown,)))
    return new


def _oddities(tree: ast.Module) -> Iterator[Oddity]:
    for rule in _RULES:
        yield from rule(tree)


def _repeated_options(tree: ast.Module) -> Iterator[Oddity]:
    """An option string that one parser gets twice: argparse raises when the parser is built."""
    functions = {node.name: node for _, node in _scopes(tree) if isinstance(node, _FUNCTIONS)}
    told: set[tuple[str, int]] = set()
    for name, scope in [("the module", tree), *_scopes(tree)]:
        added: dict[tuple[str, str], list[_Option]] = {}
        for option in _options(scope, functions, ()):
            others = added.setdefault((option.parser, option.text), [])
            if any(not _exclude(option, other) for other in others) and (option.text, option.line) not in told:
                told.add((option.text, option.line))
                first = others[0].line
                yield Oddity(
                    "option-twice",
                    (option.text,),
                    option.line,
                    f"option {option.text} is added twice in {name}, first in line {first}",
                )
            others.append(option)


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
    for node, branches in _own(scope, ()):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            parsers[node.targets[0].id] = _parser_of(node.value, parsers, node.lineno)
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            owner = ast.unparse(node.func.value)
            for text in node.args:
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.startswith("-"):
                    yield _Option(parser or parsers.get(owner, owner), text.value, node.lineno, branches)
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        handed = next((ast.unparse(given) for given in node.args if isinstance(given, ast.Name) and "pars" in given.id), None)
        if handed and called in functions and called not in inside:
            for option in _options(functions[called], functions, (*inside, called), parsers.get(handed, handed)):
                yield _Option(option.parser, option.text, option.line, branches + option.branches)


def _parser_of(call: ast.Call, parsers: Mapping[str, str], line: int) -> str:
    """A group belongs to its parser; anything else is a parser of its own."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_argument_group", "add_mutually_exclusive_group"):
        owner = ast.unparse(call.func.value)
        return parsers.get(owner, owner)
    return f"line {line}"


def _exclude(one: _Option, other: _Option) -> bool:
    """Whether only one of the two is ever added, since they stand in different branches."""
    return any((number, not branch) in other.branches for number, branch in one.branches)


def _repeated_definitions(tree: ast.Module) -> Iterator[Oddity]:
    """A method, a field or an enum's member that one class has twice: the first is lost."""
    for name, scope in [("the module", tree), *_scopes(tree)]:
        if isinstance(scope, _FUNCTIONS):
            continue
        seen: dict[tuple[str, str], int] = {}
        for node in scope.body if isinstance(scope, (ast.ClassDef, ast.Module)) else ():
            key = _defined(node, scope)
            if key is not None and key in seen:
                yield Oddity(
                    "defined-twice",
                    (name, *key),
                    node.lineno,
                    f"{' '.join(key)} is defined twice in {name}, first in line {seen[key]}",
                )
            elif key is not None:
                seen[key] = node.lineno


def _defined(node: ast.stmt, scope: ast.AST) -> tuple[str, str] | None:
    match node:
        case ast.FunctionDef(name=name, decorator_list=decorators) | ast.AsyncFunctionDef(name=name, decorator_list=decorators):
            words = {part for each in decorators for part in ast.unparse(each).replace("(", ".").split(".")}
            return None if words & _ALTERNATIVES or name == "_" else ("def", name)
        case ast.ClassDef(name=name):
            return ("class", name)
        case ast.AnnAssign(target=ast.Name(id=name)) if isinstance(scope, ast.ClassDef):
            return ("field", name)
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(scope, ast.ClassDef) and _is_enum(scope):
            return ("member", name)
    return None


def _is_enum(scope: ast.ClassDef) -> bool:
    return any("Enum" in ast.unparse(base) for base in scope.bases)


def _repeated_branches(tree: ast.Module) -> Iterator[Oddity]:
    """An `elif` that asks what an earlier branch asks: it is never taken."""
    inner = {id(node.orelse[0]) for node in ast.walk(tree) if isinstance(node, ast.If) and len(node.orelse) == 1}
    for node in ast.walk(tree):
        if not isinstance(node, ast.If) or id(node) in inner:
            continue
        seen: dict[str, int] = {}
        here: ast.If | None = node
        while here is not None:
            asked = ast.unparse(here.test)
            if asked in seen:
                yield Oddity(
                    "branch-twice", (asked,), here.lineno, f"this branch asks what the one in line {seen[asked]} asks: {asked}"
                )
            seen.setdefault(asked, here.lineno)
            here = here.orelse[0] if len(here.orelse) == 1 and isinstance(here.orelse[0], ast.If) else None


def _repeated_keys(tree: ast.Module) -> Iterator[Oddity]:
    """A key that one literal has twice: the first is lost."""
    for node in ast.walk(tree):
        seen: set[str] = set()
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant):
                text = repr(key.value)
                if text in seen:
                    yield Oddity("key-twice", (text,), key.lineno, f"key {text} stands twice in one dict")
                seen.add(text)


def _unreachable(tree: ast.Module) -> Iterator[Oddity]:
    """What stands behind a return, raise, continue or break in its block."""
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for above, below in itertools.pairwise(block) if isinstance(block, list) else ():
                makes_a_generator = isinstance(below, ast.Expr) and isinstance(below.value, (ast.Yield, ast.YieldFrom))
                if isinstance(above, _ENDS) and not makes_a_generator:
                    yield Oddity(
                        "unreachable",
                        (ast.unparse(below),),
                        below.lineno,
                        f"this is never reached: line {above.lineno} leaves the block",
                    )


def _nested_calls(tree: ast.Module) -> Iterator[Oddity]:
    """A call among the arguments of a call of the same function that elsewhere is a statement of its own."""
    statements = {
        ast.unparse(node.value.func) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in statements:
            for given in (*node.args, *(keyword.value for keyword in node.keywords)):
                if isinstance(given, ast.Call) and ast.unparse(given.func) == name:
                    yield Oddity(
                        "call-nested",
                        (ast.unparse(given),),
                        given.lineno,
                        f"this call of {name} stands among the arguments of another one",
                    )


_RULES: Sequence[Callable[[ast.Module], Iterator[Oddity]]] = (
    _repeated_options,
    _repeated_definitions,
    _repeated_branches,
    _repeated_keys,
    _unreachable,
    _nested_calls,
)


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All classes and functions, by their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            yield f"{prefix}{child.name}", child
            yield from _scopes(child, f"{prefix}{child.name}.")
        else:
            yield from _scopes(child, prefix)


def _own(node: ast.AST, branches: tuple[tuple[int, bool], ...]) -> Iterator[tuple[ast.AST, tuple[tuple[int, bool], ...]]]:
    """The nodes below one that are in no inner scope, in the order of the file, with the branches of `if` around each."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            continue
        yield child, branches
        if isinstance(child, ast.If):
            yield from _own(child.test, branches)
            for part, taken in ((child.body, True), (child.orelse, False)):
                for each in part:
                    yield each, (*branches, (child.lineno, taken))
                    yield from _own(each, (*branches, (child.lineno, taken)))
        else:
            yield from _own(child, branches)
