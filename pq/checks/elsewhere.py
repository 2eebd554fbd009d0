"""What a patch takes away, and files that it does not change still import: a name of a module, or the module.

The import check finds it too, in the files that it imports; these are few of a large tree, and it takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pq.checks import names
from pq.checks.findings import Finding
from pq.checks.names import Modules
from pq.checks.sources import Source
from pq.core.lines import split_lines

_TOP = re.compile(rb"[A-Za-z_]|[ \t]+\w+(?: as \w+)?,?[ \t]*(?:#.*)?$")
"""A line that may bind a name of its module: one that is not indented, or an entry of a list of imports."""


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
            package = path.rpartition("/")[0].replace("/", ".")
            yield from names.findings(Source(path, (content,), content), modules, before, package=package)


def _lost(old: bytes | None, new: bytes | None) -> frozenset[str]:
    """The names that a module had and has no more; `*` for the whole module."""
    if old is None:
        return frozenset()
    if new is None:
        return frozenset("*")
    removed = set(split_lines(old)) - set(split_lines(new))
    if not any(_TOP.match(line) for line in removed):
        return frozenset()
    had, has = names.defined(old), names.defined(new)
    return had - has if had is not None and has is not None else frozenset()


def _may_ask(content: bytes, path: str, lost: Iterable[str]) -> bool:
    """Whether a file names a module and something that this lost."""
    module = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2].encode()
    return b"import" in content and module in content and any(name == "*" or name.encode() in content for name in lost)
