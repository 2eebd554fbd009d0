"""Libraries that are loaded once, for all trees, and that a tree has only from when it imports them, as in a process of its own.

While they are loaded it is written down what the loading of each module asked for. Then all of them are hidden: taken out of
`sys.modules`, and off their packages. When a tree imports one, it comes back, with what its loading asked for, and what that did.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any


class Libraries(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The hidden modules by name, and for each what its loading asked for."""

    def __init__(self) -> None:
        self.hidden: dict[str, ModuleType] = {}
        self.needs: dict[str, set[str]] = {}

    def load(self, names: Iterable[str]) -> None:
        """Load what can be loaded of these, and hide all that came with it."""
        before = set(sys.modules)
        with self._noted() as found:
            for name in names:
                with contextlib.suppress(BaseException):
                    importlib.import_module(name)
        self.hidden = {name: module for name, module in sys.modules.items() if name not in before and module is not None}
        for name in self.hidden.keys() - found:  # nobody imported it: its package has put it there
            self.needs.setdefault(name.rpartition(".")[0], set()).add(name)
        for name, module in self.hidden.items():
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if vars_of(self.hidden.get(parent) or sys.modules.get(parent)).get(child) is module:
                with contextlib.suppress(AttributeError):
                    delattr(self.hidden.get(parent) or sys.modules[parent], child)
        sys.meta_path.insert(0, self)

    def forget(self, tops: Iterable[str]) -> None:
        """Hide packages with these names no longer: the tree has its own."""
        names = set(tops)
        for name in [each for each in self.hidden if each.partition(".")[0] in names]:
            del self.hidden[name]

    @contextlib.contextmanager
    def _noted(self) -> Iterator[set[str]]:
        """Note, for each module that is being loaded, what is imported meanwhile; the names of all that were looked for."""
        loading: list[str] = []
        noticing = _Noticing(self.needs, loading)
        by_statement, by_call = builtins.__import__, importlib.import_module

        def load(name: str) -> None:
            """Load a module, and what it is in, each noted by itself."""
            parent = name.rpartition(".")[0]
            if parent and parent not in sys.modules:
                load(parent)
            loading.append(name)
            try:
                by_call(name)
            finally:
                loading.pop()

        def noted(name: str, others: Iterable[str]) -> None:
            if name not in sys.modules:
                load(name)
            package = sys.modules.get(name)
            for other in others:
                if "__path__" in vars_of(package) and f"{name}.{other}" not in sys.modules and not hasattr(package, other):
                    with contextlib.suppress(ModuleNotFoundError):
                        load(f"{name}.{other}")
            if loading:
                found = {name, *(f"{name}.{other}" for other in others)} & sys.modules.keys()
                self.needs.setdefault(loading[-1], set()).update(found)

        def statement(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
            package = (globals or {}).get("__package__")
            noted(importlib.util.resolve_name("." * level + name, package), [other for other in fromlist or () if other != "*"])
            return by_statement(name, globals, locals, fromlist, level)

        def call(name: str, package: str | None = None) -> Any:
            noted(importlib.util.resolve_name(name, package), ())
            return by_call(name, package)

        builtins.__import__, importlib.import_module = statement, call
        sys.meta_path.insert(0, noticing)
        try:
            yield noticing.found
        finally:
            sys.meta_path.remove(noticing)
            builtins.__import__, importlib.import_module = by_statement, by_call

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:  # noqa: ARG002
        """A spec for a hidden module."""
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in self.hidden else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module, as it was."""
        module = self.hidden[spec.name]
        self.spec = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed again; all that its loading asked for is back, and the spec that the import system has just replaced."""
        spec = getattr(module, "__spec__", None)
        with contextlib.suppress(AttributeError):
            module.__spec__ = self.spec
        self._bring_back(spec.name if spec is not None else module.__name__)

    def _bring_back(self, name: str) -> None:
        below = [name]
        while below:
            each = below.pop()
            module = self.hidden.pop(each, None)
            if module is None:
                continue
            sys.modules[each] = module
            parent, _, child = each.rpartition(".")
            if parent:
                below.append(parent)
                with contextlib.suppress(AttributeError):
                    setattr(self.hidden.get(parent) or sys.modules[parent], child, module)
            below += self.needs.get(each, ())


class _Noticing(importlib.abc.MetaPathFinder):
    """Finds nothing, and notes what is looked for by whom: also by what imports in C."""

    def __init__(self, needs: dict[str, set[str]], loading: list[str]) -> None:
        self.needs = needs
        self.loading = loading
        self.found: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        """No spec."""
        self.found.add(fullname)
        if self.loading:
            self.needs.setdefault(self.loading[-1], set()).add(fullname)


def vars_of(module: object) -> dict[str, Any]:
    """What a module has of its own."""
    return getattr(module, "__dict__", {})
