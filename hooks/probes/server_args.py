"""Every field of ServerArgs can be set from the command line.

Runs after `sglang.srt.server_args` was imported. Builds the parser, parses a minimal command line and looks at what
`from_cli_args` passes on: neither __init__ nor __post_init__ of ServerArgs runs. Errors of argparse pass through.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from typing import Any, NoReturn

from sglang.srt.server_args import ServerArgs


class MissingArgumentError(Exception):
    """A field that no argument fills. Shows the place of the field."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the field {name} of ServerArgs has no argument: add_cli_args lacks it")
        self.filename, self.lineno = place(name)


def place(name: str) -> tuple[str, int]:
    """File and line of the field's definition, in ServerArgs or the base class that defines it."""
    owner = next(owner for owner in ServerArgs.__mro__ if name in inspect.get_annotations(owner))
    lines, start = inspect.getsourcelines(owner)
    nodes = [node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.AnnAssign)]  # the outermost first
    return str(inspect.getsourcefile(owner)), start - 1 + next(node.lineno for node in nodes if ast.unparse(node.target) == name)


class Parser(argparse.ArgumentParser):
    """Raises where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise ValueError(message)


class Received(ServerArgs):  # type: ignore[misc]
    """Keeps what from_cli_args passes on, instead of acting on it."""

    def __init__(self, **values: object) -> None:
        self.__dict__["values"] = values  # past a __setattr__ that guards fields


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
for field in dataclasses.fields(ServerArgs):
    if field.name not in received and wants_argument(typing.get_type_hints(ServerArgs, include_extras=True)[field.name]):
        raise MissingArgumentError(field.name)
