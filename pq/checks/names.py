"""Names that a patch newly uses and nobody defines: in its own file, and in the modules of the candidate tree that it imports from.

Nothing is imported for that: third-party packages need not be there, and are not asked about.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import re
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from pyflakes import checker, messages

from pq.checks import sources, tree_modules
from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.checks.tree_modules import Modules
from pq.core import surroundings

_SHOWN = 3
_ASKS = re.compile(r"\bhasattr\(|TYPE_CHECKING|sys\.(?:platform|version_info)|find_spec\(")
"""Conditions under which something may not be there."""
_GUARDS = ("ImportError", "ModuleNotFoundError", "Exception", "AttributeError")
_ALWAYS = {*dir(builtins), "__file__", "__path__", "__module__", "__qualname__", "__class__", "__annotations__", "WindowsError"}


@dataclass(frozen=True, slots=True)
class _Use:
    """A name that a file imports from a module, or takes from one that it has imported as `alias`, if it is one."""

    module: str
    name: str
    line: int
    column: int
    alias: str = ""


def findings(source: Source, modules: Modules, before: Modules, *, package: str) -> list[Finding]:
    """What is undefined in a file and was not so in any of the contents before, in the tree of then. `package`: the one that the file is in."""
    if source.tree is None:
        return []
    found = [*_undefined(source), *_missing(source, modules, package, before)]
    if not found or source.old_trees is None:
        return []
    olds = [(content, sources.whole(content, tree)) for content, tree in zip(source.before, source.old_trees, strict=True)]
    had = {
        each.key
        for content, old in olds
        for each in (*_flakes(old, source.path, unresolved(content, *_annotated(old))), *_missing(old, before, package))
    }
    new = (each for each in sorted(found, key=lambda each: (each.line, each.column)) if each.key not in had)
    return [
        Finding(
            each.code,
            each.reason,
            source.path,
            each.line,
            each.column + 1,
            (source.line(each.line),),
            suggestion=_suggestion(each, modules),
        )
        for each in new
    ]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Something that is not there: a `name`, or a module that ends with it. The column counts from 0."""

    code: str
    reason: str
    line: int
    column: int
    name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others, wherever it stands."""
        return self.code, self.reason


def _undefined(source: Source) -> Iterator[_Fault]:
    """The names of a file that nothing defines. pyflakes knows; it is asked only where Python's own tables leave a new name open."""
    known = unresolved(source.after)
    left = known - unresolved(source.before[0]) if known and len(source.before) == 1 else known
    left = left | (unresolved(source.after, *_annotated(source)) - known)
    yield from _flakes(source, source.path, left)


def _flakes(source: Source, path: str, left: set[str]) -> Iterator[_Fault]:
    if not left or source.tree is None:
        return
    try:
        found = checker.Checker(source.tree, filename=path).messages
    except RecursionError:  # an expression that nests deeper than Python's limit
        return
    for each in found:
        if isinstance(each, messages.UndefinedName) and str(each.message_args[0]) in left:
            yield _Fault("undefined-name", f"name {each.message_args[0]} is not defined", each.lineno, each.col)


def _annotated(source: Source) -> Iterator[str]:
    """The names in annotations that changed. Python's tables do not have those of a file that puts their evaluation off."""
    for node in source.touched():
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            yield from (each.id for each in ast.walk(part) if isinstance(each, ast.Name)) if part is not None else ()


def unresolved(content: bytes, *more: str) -> set[str]:
    """The names that a file takes from its module or from Python (these, `more`, too), and neither has; some of a file with a star
    import are there all the same.
    """
    used, own = _tables(content)
    return {*used, *more} - own - _ALWAYS if own is not None else set()


@functools.lru_cache(maxsize=8)
def _tables(content: bytes) -> tuple[frozenset[str], frozenset[str] | None]:
    """The names that a file takes from its module or from Python, and those that its module has; None where it does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(content, "", "exec")  # type: ignore[arg-type]  # bytes may say how they are encoded
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(), None
    own = {
        symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }
    used = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    below = list(top.get_children())
    while below:
        table = below.pop()
        below += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global():
                (own if symbol.is_declared_global() and symbol.is_assigned() else used).add(symbol.get_name())
    return frozenset(used), frozenset(own)


def _missing(source: Source, modules: Modules, package: str, before: Modules | None = None) -> Iterator[_Fault]:
    """What is imported from modules of the tree, or asked of them, that these do not have.

    With `before`, only what may be new is looked at: what stands in a changed line, or is of a module that is another one now.
    """
    told: set[str] = set()
    for use in _uses(source, package):
        path = tree_modules.path_of(use.module, modules)
        if (
            before is not None
            and not source.is_new(use.line)
            and tree_modules.id_of(path, modules) == tree_modules.id_of(tree_modules.path_of(use.module, before), before)
        ):
            continue
        names = tree_modules.names_of(use.module, path, modules)
        if names is None or use.name in names or tree_modules.path_of(f"{use.module}.{use.name}", modules) is not None:
            continue
        if (use.name == "*" and path is not None) or tree_modules.is_compiled(use.module, use.name, modules):
            continue
        if use.alias and (use.alias in _rebound(source) or tree_modules.is_hidden(use.module, modules)):
            continue
        if names or path is not None:
            yield _Fault("no-name", f"module {use.module} has no {use.name}", use.line, use.column, use.name)
        elif not use.alias and use.module not in told:
            told.add(use.module)
            last = use.module.rpartition(".")[2]
            yield _Fault("no-module", f"the tree has no module {use.module}", use.line, use.column, last)


def _uses(source: Source, package: str) -> Iterator[_Use]:
    """The names that a file takes from modules, except where it is ready for their absence; what it asks of them only where it changed."""
    guarded = [sources.span(part) for part in _guarded(source)]

    def is_guarded(node: ast.stmt | ast.expr) -> bool:
        return any(first <= node.lineno <= last for first, last in guarded)

    aliases: dict[str, set[str]] = {}
    for node in source.statements:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or is_guarded(node):
            continue
        match node:
            case ast.ImportFrom(module=name, level=level, names=given):
                origin = absolute(name, level, package)
                for each in given if origin is not None else ():
                    yield _Use(origin or "", each.name, each.lineno, each.col_offset)
                    if each.name != "*":
                        aliases.setdefault(each.asname or each.name, set()).add(f"{origin}.{each.name}")
            case ast.Import(names=given):
                for each in given:
                    if "." in each.name:
                        yield _Use(each.name, "*", each.lineno, each.col_offset)
                    aliases.setdefault(each.asname or each.name.partition(".")[0], set()).update(
                        [each.name] if each.asname else ()
                    )
    asked = [
        node
        for node in source.touched()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and len(aliases.get(node.value.id, ())) == 1
    ]
    for node in asked:
        alias = node.value.id if isinstance(node.value, ast.Name) else ""
        if isinstance(node.ctx, ast.Load) and not is_guarded(node):
            (module,) = aliases[alias]
            yield _Use(module, node.attr, node.lineno, node.col_offset, alias)


def _rebound(source: Source) -> set[str]:
    """The names that are given something else somewhere: no module, perhaps."""
    found: set[str] = set()
    for node in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        else:
            found.update(tree_modules.bound(node))
    return found


def _guarded(source: Source) -> Iterator[ast.stmt]:
    """The statements in a `try` that catches that something is not there, and in what it does then."""
    for node in source.statements:
        if isinstance(node, ast.Try):
            caught = [handler for handler in node.handlers if _catches(handler)]
            yield from (*(node.body if caught else ()), *(part for handler in caught for part in handler.body))
        elif (
            isinstance(node, ast.With) and any("suppress(" in surroundings.words(item.context_expr) for item in node.items)
        ) or (isinstance(node, ast.If) and _ASKS.search(surroundings.words(node.test))):
            yield from node.body


def _catches(handler: ast.ExceptHandler) -> bool:
    said = surroundings.words(handler.type) if handler.type is not None else "Exception"
    return any(guard in said for guard in _GUARDS)


def absolute(name: str | None, level: int, package: str) -> str | None:
    """The module that an import names, from a file of a package; None for one that leads out of it."""
    if not level:
        return name
    parts = package.split(".") if package else []
    above = parts[: len(parts) - level + 1]
    return ".".join([*above, *([name] if name else [])]) if above else None


def _suggestion(fault: _Fault, modules: Modules) -> str:
    """Where in the tree something of this name is now; empty where nothing is."""
    if not fault.name:
        return ""
    defines = re.compile(rb"^(?:(?:async )?def|class) %b\b|^%b\b[^=\n]*=[^=]" % ((fault.name.encode(),) * 2), re.MULTILINE)
    ends = (f"/{fault.name}.py", f"/{fault.name}/__init__.py")
    found = (
        path
        for path in modules.files()
        if f"/{path}".endswith(ends)
        or (fault.code == "no-name" and path.endswith(".py") and defines.search(modules.read(path) or b""))
    )
    names = [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in itertools.islice(found, _SHOWN)]
    return f"{fault.name} is in {', '.join(names)}" if names else ""
