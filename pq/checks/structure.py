"""What a patch newly brings into a Python file though no file means it: what compiles, and fails or is dead when it runs.

It comes from patches that were applied where they had landed already, or a few lines beside the place. Only what the file did not have
before is found; what it had is not the patch's fault.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pq.checks import options, sources
from pq.checks.findings import Finding, Oddity
from pq.checks.sources import Source
from pq.core import surroundings

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_ALTERNATIVES = {"setter", "getter", "deleter", "overload", "register", "dispatch", "typing"}
"""Decorators of definitions that have the same name on purpose."""
_KEEPING = {"wraps", "lru_cache", "no_grad", "inference_mode", "compile", "jit", "fixture", "dataclass"}
"""Decorators with arguments that leave the definition where it is."""


def findings(source: Source) -> list[Finding]:
    """What is odd in a file and was not in any of the contents before."""
    try:
        found = list(dict.fromkeys(_oddities(source))) if source.tree is not None else []
    except RecursionError:  # a chain of branches that nests deeper than Python's limit
        return []
    if not found or source.tree is None or source.old_trees is None:
        return []
    had = [_counted(content, tree) for content, tree in zip(source.before, source.old_trees, strict=True)]
    now = _counted(source.after, source.tree)
    new: list[Finding] = []
    for odd in found:
        if all(now[odd.code, odd.key] > old[odd.code, odd.key] for old in had):
            shown = source.line(odd.line)
            new.append(Finding(odd.code, odd.reason, source.path, odd.line, len(shown) - len(shown.lstrip()) + 1, (shown,)))
    return new


def _counted(content: bytes, tree: ast.Module) -> Counter[tuple[str, tuple[str, ...]]]:
    """How often each thing is odd in a whole file."""
    return Counter((odd.code, odd.key) for odd in dict.fromkeys(_oddities(sources.whole(content, tree))))


def _oddities(source: Source) -> Iterator[Oddity]:
    """What is odd in a file where it changed."""
    for node in (source.tree, *source.touched()):
        assert node is not None
        for rule in _RULES:
            yield from rule(node, source)
    yield from options.repeated(source)


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
            return None if name == "_" or any(map(_registers, decorators)) else ("def", name)
        case ast.ClassDef(name=name):
            return ("class", name)
        case ast.AnnAssign(target=ast.Name(id=name)) if isinstance(scope, ast.ClassDef):
            return ("field", name)
        case ast.Assign(targets=[ast.Name(id=name)]) if isinstance(scope, ast.ClassDef) and _is_enum(scope):
            return ("member", name)
    return None


def _registers(decorator: ast.expr) -> bool:
    """Whether a decorator may hand the definition on to others, so that its name is not what it is found by."""
    words = set(surroundings.words(decorator).replace("(", ".").split("."))
    return bool(words & _ALTERNATIVES) or (isinstance(decorator, ast.Call) and not words & _KEEPING)


def _is_enum(scope: ast.ClassDef) -> bool:
    return any(surroundings.words(base).endswith(("Enum", "Flag")) for base in scope.bases)


def _repeated_branches(node: ast.AST, _: Source) -> Iterator[Oddity]:
    """An `elif` or a case that asks what an earlier one asks: it is never taken."""
    seen: dict[str, int] = {}
    for case in node.cases if isinstance(node, ast.Match) else ():
        asked = surroundings.words(case.pattern)
        if asked in seen and case.guard is None:
            reason = f"this case is for what the one in line {seen[asked]} is for: {asked}"
            yield Oddity("branch-twice", (asked,), case.pattern.lineno, reason)
        elif case.guard is None:
            seen[asked] = case.pattern.lineno
    while isinstance(node, ast.If) and (seen or len(node.orelse) == 1):
        asked = surroundings.words(node.test)
        if asked in seen and not _may_differ(node.test):
            reason = f"this branch asks what the one in line {seen[asked]} asks: {asked}"
            yield Oddity("branch-twice", (asked,), node.lineno, reason)
        seen.setdefault(asked, node.lineno)
        node = node.orelse[0] if len(node.orelse) == 1 else node.test


def _may_differ(test: ast.expr) -> bool:
    """Whether a condition may be another one when it is asked again."""
    return any(isinstance(each, (ast.Call, ast.NamedExpr, ast.Await)) for each in ast.walk(test))


def _repeated_keys(node: ast.AST, _: Source) -> Iterator[Oddity]:
    """A key that one literal has twice: the first is lost."""
    seen: set[str] = set()
    for key in node.keys if isinstance(node, ast.Dict) else ():
        if isinstance(key, (ast.Constant, ast.Attribute)):
            text = surroundings.words(key)
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
                yield Oddity("unreachable", (surroundings.words(below).partition("\n")[0],), below.lineno, reason)


def _nested_calls(node: ast.AST, source: Source) -> Iterator[Oddity]:
    """A call among the arguments of a call of the same function that elsewhere is a statement of its own."""
    if not isinstance(node, ast.Call):
        return
    for given in map(_awaited, (*node.args, *(keyword.value for keyword in node.keywords))):
        if isinstance(given, ast.Call) and surroundings.words(given.func) == surroundings.words(node.func):
            name = surroundings.words(node.func)
            if source.line(given.lineno)[: given.col_offset].strip():
                continue  # written inside of it, on its line
            if name in _called(source):
                yield Oddity(
                    "call-nested",
                    (surroundings.words(given),),
                    given.lineno,
                    f"this call of {name} stands among the arguments of another one",
                )


def _called(source: Source) -> set[str]:
    """What is called by statements of their own."""
    values = (_awaited(each.value) for each in source.statements if isinstance(each, ast.Expr))
    return {surroundings.words(value.func) for value in values if isinstance(value, ast.Call)}


def _awaited(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Await) else node


_RULES: Sequence[Callable[[ast.AST, Source], Iterator[Oddity]]] = (
    _repeated_definitions,
    _repeated_branches,
    _repeated_keys,
    _unreachable,
    _nested_calls,
)
