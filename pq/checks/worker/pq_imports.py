"""Imports the modules of a candidate tree for real, and runs the probes.

An order is JSON: `root` (first on sys.path), `modules`, `stand_ins`, `probes`, and `loaded`, a file for the names of all modules
that are not below root. The answer is JSON: `modules` (how many came from root), `stood_in`, `network`; or `failed` ("import" | "probe" |
"origin"), `reason`, `file`, `line` and `text`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import runpy
import socket
import sys
import traceback
from types import ModuleType
from typing import Any

_FRAMES = 6
_LONGEST = 2000
"""Characters of a reason: the answer has to fit into a pipe that is read when this process has ended."""


class StandInType(type):
    """So that a stand-in's attributes can be used as classes: as bases, in annotations, with `[]` and `|`."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)

    def __getitem__(cls, item: object) -> Any:
        return cls

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__

    def __iter__(cls) -> Any:
        return iter(())


def _thing(name: str) -> Any:
    """A class that can be called, decorated with, subclassed and asked for attributes."""

    def new(cls: type, *args: object, **kwargs: object) -> object:
        if len(args) == 1 and not kwargs and callable(args[0]) and cls is thing:
            return args[0]
        return object.__new__(cls)

    thing = StandInType(name, (), {"__new__": new, "__init__": lambda *_, **__: None})
    return thing


class StandInModule(ModuleType):
    """A module that cannot exist on this machine. Every attribute is there and does nothing."""

    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _thing(name)
        setattr(self, name, value)
        return value


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds only the listed modules, and what is below them."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for a listed name or one below it."""
        if fullname.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The stand-in."""
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs."""
        module.__path__ = []


_FINDER = StandIns()


def stand_in(names: list[str]) -> list[str]:
    """Stand in for those of the listed modules that can't be imported; the names of all that are stood in for."""
    for name in names:
        if name in _FINDER.names:
            continue
        try:
            importlib.import_module(name)
        except Exception:
            for loaded in [key for key in sys.modules if key.partition(".")[0] == name]:
                del sys.modules[loaded]
            _FINDER.names.add(name)
            if _FINDER not in sys.meta_path:
                sys.meta_path.insert(0, _FINDER)
    return sorted(_FINDER.names)


def take_back(names: set[str]) -> None:
    """Stand in no longer for what the tree has itself."""
    _FINDER.names -= names
    for loaded in [key for key, module in sys.modules.items() if isinstance(module, StandInModule)]:
        if loaded.partition(".")[0] in names:
            del sys.modules[loaded]


def tops(root: str) -> set[str]:
    """The names that can be imported from root itself."""
    return {entry.partition(".")[0] for entry in os.listdir(root)}


def strangers(root: str) -> tuple[list[tuple[str, str]], int]:
    """Modules of the packages below root that came from elsewhere, as (name, origin), and how many did not."""
    names = tops(root)
    foreign: list[tuple[str, str]] = []
    own = 0
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] not in names or isinstance(module, StandInModule) or module is None:
            continue
        origin = getattr(module, "__file__", None)
        places = [origin] if origin else list(getattr(module, "__path__", ()))
        if places and all(os.path.realpath(place).startswith(root + os.sep) for place in places):
            own += 1
        elif places:
            foreign.append((name, places[0]))
    return foreign, own


def failure(kind: str, error: BaseException, root: str) -> dict[str, Any]:
    """What went wrong, and the innermost place below root."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if os.path.realpath(frame.filename).startswith(root + os.sep)]
    file, line = (inside[-1].filename, inside[-1].lineno) if inside else (None, None)
    said = [getattr(error, name, None) for name in ("filename", "lineno")]
    if all(said):
        file, line = said
    text = [
        f"{os.path.relpath(frame.filename, root)}:{frame.lineno} in {frame.name}: {frame.line}"[:_LONGEST]
        for frame in inside[-_FRAMES:]
    ]
    return {"failed": kind, "reason": f"{type(error).__name__}: {error}"[:_LONGEST], "file": file, "line": line, "text": text}


def attempt(order: dict[str, Any]) -> dict[str, Any]:
    """Import, look where the modules came from, run the probes: the answer."""
    root = os.path.realpath(order["root"])
    sys.path.insert(0, root)
    names = tops(root)
    take_back(names)
    stood_in = stand_in([name for name in order["stand_ins"] if name not in names])
    for module in order["modules"]:
        try:
            importlib.import_module(module)
        except BaseException as error:
            return failure("import", error, root)
    foreign, own = strangers(root)
    if foreign or not own:
        what = ", ".join(f"{name} from {place}" for name, place in foreign[:3]) or "no module"
        return {"failed": "origin", "reason": f"not imported from the candidate tree: {what}", "text": []}
    note_loaded(order["loaded"], root)
    for probe in order["probes"]:
        try:
            runpy.run_path(probe, run_name="__main__")
        except BaseException as error:
            answer = failure("probe", error, root)
            answer["reason"] = f"probe {os.path.basename(probe)}: {answer['reason']}"
            return answer
    return {"modules": own, "stood_in": stood_in, "network": has_network()}


def has_network() -> bool:
    """Whether this process sees more than a loopback."""
    return any(name != "lo" for _, name in socket.if_nameindex())


def note_loaded(place: str, root: str) -> None:
    """Write down the modules that are not of the tree, in the order in which they were begun."""
    names = tops(root)
    with open(place, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{name}\n" for name in list(sys.modules) if name.partition(".")[0] not in names)
