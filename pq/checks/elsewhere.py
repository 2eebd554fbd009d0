"""What a patch takes away, and files that it does not change still import: a name of a module, or the module.

The import check finds it too, in the files that it imports; these are few of a large tree, and it takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pq.checks import names, tree_modules
from pq.checks.findings import Finding
from pq.checks.sources import Source
from pq.checks.tree_modules import Modules
from pq.core.lines import split_lines

_TOP = re.compile(rb"(?: {0,4}|\t)\S|[ \t]+[\w, ]+\s*(?:#.*)?$")
"""A line that may bind a name of its module: at the margin, in an `if` or a `try` there, or an entry of a list of imports."""


def findings(changed: Mapping[str, bytes | None], modules: Modules, before: Modules) -> Iterator[Finding]:
    """What the files that did not change no longer find. `changed`: the Python files of a patch by path, with what they are now."""
    gone = {path: lost for path, content in changed.items() if (lost := _lost(before.read(path), content))}
    if not gone:
        return
    for path in modules.files():
        if not path.endswith(".py") or path in changed:
            continue
        content = modules.read(path) or b""
        if any(_may_ask(content, module, lost) for module, lost in gone.items()):
            source, package = Source(path, (), content), path.rpartition("/")[0].replace("/", ".")
            had = {(each.code, each.reason) for each in names.findings(source, before, before, package=package)}
            found = names.findings(source, modules, modules, package=package)
            yield from (each for each in found if (each.code, each.reason) not in had)


def _lost(old: bytes | None, new: bytes | None) -> frozenset[str]:
    """The names that a module had and has no more; `*` for the whole module."""
    if old is None:
        return frozenset()
    if new is None:
        return frozenset("*")
    removed = set(split_lines(old)) - set(split_lines(new))
    if not any(_TOP.match(line) for line in removed):
        return frozenset()
    had, has = tree_modules.defined(old), tree_modules.defined(new)
    if had is None or has is None:
        return frozenset("*" if had is None and has is not None else ())
    return had - has


def _may_ask(content: bytes, path: str, lost: Iterable[str]) -> bool:
    """Whether a file names something that a module lost, or the module."""
    module = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
    return b"import" in content and any((module if name == "*" else name).encode() in content for name in lost)
