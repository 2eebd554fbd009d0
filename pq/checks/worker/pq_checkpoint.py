"""Copies of a run, kept at points of its imports, from which the imports of another tree go on.

A copy is a fork in the middle of an import, with its whole stack. It is exact, not a guess at what depends on what: a tree is
imported from a copy only if all that the run had read up to there reads the same in that tree; so the run would have come to the same
point. To make that useful for a file that imports first and defines then, as most do, watched modules are executed in two parts:
what stands above their first definition, and the rest. Between the two a copy is kept, for which only the upper part was read.
"""

from __future__ import annotations
import __future__

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from pq_reading import Reading

_DEFINITION = re.compile(r"^(?:class |def |async def |@)", re.MULTILINE)
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

Keep = Callable[[int, "Watch"], None]
"""Keep a copy of this process, under a number that counts the copies of a run; it serves trees for which the watch is `still` right."""
_MOST = 9
"""Copies of one run."""


class Watch(importlib.abc.MetaPathFinder):
    """Finds the watched modules as Python does, and has them executed in two parts."""

    def __init__(self, names: set[str], reading: Reading, keep: Keep) -> None:
        self.names = names
        self.reading = reading
        self.keep = keep
        self.begun: dict[str, str] = {}
        self.kept = 0
        self.open = _descriptors()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Python's own spec, with another loader."""
        if fullname not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Watched(spec.loader.name, spec.loader.path, self)
        return spec

    def still(self) -> bool:
        """Whether the tree of now would have been read and executed in the same way up to here."""
        same = all(text == upper_part(self.source(place) or "") for place, text in self.begun.items())
        return same and self.reading.holds()

    def go_on(self, names: list[str]) -> None:
        """Watch these from now on, in a process that has just gone on from a copy."""
        self.names = set(names)
        self.open = _descriptors()
        self.reading.is_blind = False  # the fork was this copy's own

    def can_be_kept(self) -> bool:
        """Whether a copy would be exact: this process has one thread, no file that it may read on in, and nobody else reads for it."""
        return self.kept < _MOST and is_alone() and not self.reading.is_blind and _descriptors() <= self.open

    def source(self, place: str) -> str | None:
        """The text of a file; None where it can't be read."""
        content = self.reading.look(place)
        try:
            return None if content is None else importlib.util.decode_source(content)
        except (SyntaxError, UnicodeDecodeError):
            return None


class Watched(importlib.machinery.SourceFileLoader):
    """Executes a module in two parts, with a copy kept between them."""

    def __init__(self, fullname: str, path: str, watch: Watch) -> None:
        super().__init__(fullname, path)
        self.watch = watch

    def exec_module(self, module: ModuleType) -> None:
        """As Python does, in two parts where the file has two."""
        watch, place = self.watch, os.path.abspath(self.path)
        whole = watch.source(place) or ""
        text = upper_part(whole)
        upper = _compiled(text, place) if text and _compiled(whole, place) else None
        if text is None or upper is None or not watch.reading.is_undisturbed():
            super().exec_module(module)
            return
        watch.reading.apart = upper
        watch.begun[place] = text
        exec(upper, module.__dict__)  # noqa: S102
        if watch.can_be_kept() and watch.reading.is_undisturbed():
            watch.kept += 1
            watch.keep(watch.kept, watch)
            importlib.invalidate_caches()  # this may be another process now, and another tree
        del watch.begun[place]
        whole = watch.source(place) or ""
        if _compiled(whole, place) is None:
            os._exit(1)  # a process of its own would not have executed the upper part
        rest = "\n" * text.count("\n") + whole[len(text) :]
        lower = compile(rest, place, "exec", upper.co_flags & _FUTURE, dont_inherit=True)
        exec(lower, module.__dict__)  # noqa: S102


def upper_part(text: str) -> str | None:
    """What stands above the first definition of a module; None where that is nothing."""
    found = _DEFINITION.search(text)
    return text[: found.start()] if found is not None and found.start() > 0 else None


def _compiled(text: str, place: str) -> CodeType | None:
    """The code of a file or of its upper part; None where it is no whole one, or where what it says of annotations would be lost."""
    try:
        code = compile(text, place, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return None if "__annotate__" in code.co_names else code


def is_alone() -> bool:
    """Whether this process has one thread: a fork takes no other with it."""
    return len(os.listdir("/proc/self/task")) == 1


def _descriptors() -> set[str]:
    """What is open. A copy shares how far it was read."""
    with os.scandir("/proc/self/fd") as entries:
        return {entry.name for entry in entries if os.path.lexists(entry.path)}


def watch(names: list[str], root: str, mark: str, keep: Keep, *own: str) -> Watch:
    """Have these modules watched from now on; what is read below `own` is not the tree's."""
    reading = Reading(root, mark, *own)
    finder = Watch(set(names), reading, keep)
    at = next((number for number, each in enumerate(sys.meta_path) if each is importlib.machinery.PathFinder), 0)
    sys.meta_path.insert(at, finder)
    sys.addaudithook(reading.audit)
    return finder
