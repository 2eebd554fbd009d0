"""Whether the order of two statements or entries means something, which both sides of a merge put at the same place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pq.core import surroundings
from pq.core.landed import REGISTERS
from pq.core.pytree import Listing, Unit

_FREE = {"def", "ClassDef", "import"}
"""Kinds of statements whose order among their like means nothing, if they have no name in common."""


def is_same(one: Unit, other: Unit) -> bool:
    """Whether two units would define one name, or register one word, twice."""
    if not one.key or (one.kind, one.key) != (other.kind, other.key):
        return False
    return one.kind in ("def", "ClassDef", "AnnAssign", "entry") or (one.kind == "Expr" and one.key.endswith(("')", '")')))


def is_free(one: Unit, other: Unit, listing: Listing, *, is_class: bool) -> bool:
    """Whether the order of two units that both sides put at the same place means nothing; the other one comes first then."""
    if listing.entries:
        return bool(one.key and other.key)
    if one.node is None or other.node is None or _bound(one.node) & _bound(other.node):
        return False
    if one.kind in _FREE and other.kind in _FREE:
        return True
    if isinstance(one.node, ast.AnnAssign) and isinstance(other.node, ast.AnnAssign) and is_class:
        return _is_field(one.node) and _is_field(other.node) and (one.node.value is not None or other.node.value is None)
    if _registered(one) is not None and _registered(one) == _registered(other):
        return True
    return not (_stored(one.node) & _named(other.node) or _stored(other.node) & _named(one.node)) and _is_plain(
        one.node, other.node
    )


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement gives to something."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=given) | ast.ImportFrom(names=given):
            return {each.asname or each.name.partition(".")[0] for each in given}
    return _stored(node)


def _is_field(node: ast.AnnAssign) -> bool:
    """Whether nothing is called for the value of a field but what says how it is to be made."""
    calls = [each for each in ast.walk(node.value) if isinstance(each, ast.Call)] if node.value is not None else []
    return all(surroundings.callee(each.func).rpartition(".")[2] in ("field", "Field") for each in calls[:1])


def _registered(unit: Unit) -> str | None:
    """What a call registers its first word with; None for any other statement."""
    match unit.node:
        case ast.Expr(value=ast.Call(func=func, args=[ast.Constant(value=str()), *_])):
            called = surroundings.callee(func)
            return called if REGISTERS.search(called) else None
    return None


def leaves(units: Sequence[Unit], place: int) -> bool:
    """Whether the unit in front of a place leaves the block, so that nothing behind it is reached."""
    return 0 < place <= len(units) and isinstance(units[place - 1].node, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _is_plain(*nodes: ast.stmt) -> bool:
    """Whether all of them do no more than give names, `x = …`, `self.x = …`, and call nothing twice for that."""
    called = [{surroundings.callee(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)} for node in nodes]
    return all(isinstance(node, (ast.Assign, ast.AnnAssign)) for node in nodes) and not set.intersection(*called)


def _stored(node: ast.AST) -> set[str]:
    return {
        surroundings.words(each)
        for each in ast.walk(node)
        if isinstance(each, (ast.Name, ast.Attribute)) and isinstance(each.ctx, ast.Store)
    }


def _named(node: ast.AST) -> set[str]:
    return {surroundings.words(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))}
