"""Every field of ServerArgs can be set from the command line.

Runs after `sglang.srt.server_args` was imported. Builds the parser, parses a minimal command line and looks at what
`from_cli_args` passes on: neither __init__ nor __post_init__ of ServerArgs runs. Errors of argparse pass through.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, NoReturn

from sglang.srt.server_args import ServerArgs


class MissingArgumentError(Exception):
    """A field that no argument fills. Shows the place of the field."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the field {name} of ServerArgs has no argument: add_cli_args lacks it")
        if found := place(name):
            self.filename, self.lineno = found


def place(name: str) -> tuple[str, int] | None:
    """File and line of the field's definition."""
    for owner in owners():
        with contextlib.suppress(OSError, TypeError):  # a class made up at run time has no source
            lines, start = inspect.getsourcelines(owner)
            nodes = [
                node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.AnnAssign)
            ]  # the outermost first
            for node in nodes:
                if ast.unparse(node.target) == name:
                    return str(inspect.getsourcefile(owner)), start - 1 + node.lineno
    return None


def owners() -> Iterator[type]:
    """ServerArgs and its bases; then the classes that later releases put it together from, which say so by `_NS_PATH`."""
    yield from ServerArgs.__mro__
    for module in [module for name, module in sys.modules.items() if name.startswith("sglang.srt.arg_groups.fields.")]:
        yield from (thing for thing in vars(module).values() if isinstance(thing, type) and "_NS_PATH" in vars(thing))


class Parser(argparse.ArgumentParser):
    """Raises where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise ValueError(message)


class Keeps(type(ServerArgs)):  # type: ignore[misc]
    """Of a class that gives back what it is called with. A Struct, as ServerArgs is from 0.5.23 on, may have no __init__ of its own."""

    def __call__(cls, **values: object) -> types.SimpleNamespace:
        """What from_cli_args passes on, instead of acting on it."""
        return types.SimpleNamespace(values=values)


class Received(ServerArgs, metaclass=Keeps):  # type: ignore[misc]
    """Makes no ServerArgs."""


class Lacking(argparse.Namespace):
    """Gives itself for what it lacks. So the field shows, even one that is filled from another name, as tp_size is."""

    def __getattr__(self, _name: str) -> Lacking:
        return self


def wants_argument(hint: Any) -> bool:
    """Later releases leave out fields that say so (`no_cli`) or that hold what no command line can spell, such as a callable."""
    if notes := getattr(hint, "__metadata__", ()):
        return not any(getattr(note, "no_cli", False) for note in notes) and wants_argument(hint.__origin__)
    if typing.get_origin(hint) is typing.Literal:
        return True
    parts = typing.get_args(hint)
    return all(map(wants_argument, parts)) if parts else hint in (str, int, float, bool, list, type(None))


def names() -> tuple[str, ...]:
    """Of the fields: of a dataclass, or of a Struct."""
    if dataclasses.is_dataclass(ServerArgs):
        return tuple(field.name for field in dataclasses.fields(ServerArgs))
    return tuple(ServerArgs.__struct_fields__)


parser = Parser()
ServerArgs.add_cli_args(parser)
arguments = parser.parse_args(["--model-path", "x"])
try:
    received = Received.from_cli_args(arguments).values
except AttributeError as error:
    shown = Received.from_cli_args(Lacking(**vars(arguments))).values if error.obj is arguments else {}
    if lacking := [name for name, value in shown.items() if isinstance(value, Lacking)]:
        raise MissingArgumentError(lacking[0]) from None
    raise
hints = typing.get_type_hints(ServerArgs, include_extras=True)
for name in names():
    if name not in received and wants_argument(hints[name]):
        raise MissingArgumentError(name)
