"""Every field of ServerArgs can be set from the command line.

Runs after `sglang.srt.server_args` was imported. Builds the parser, parses a minimal command line and looks at what
`from_cli_args` passes on, so neither __init__ nor __post_init__ of ServerArgs runs. Errors of argparse pass through.
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

    def __init__(self, field: str) -> None:
        super().__init__(f"the field {field} of ServerArgs has no argument: add_cli_args lacks it")
        self.filename, self.lineno = place(field)


def place(field: str) -> tuple[str, int]:
    """File and line of the field's definition, in ServerArgs or the base class that defines it."""
    for owner in ServerArgs.__mro__:
        if field in inspect.get_annotations(owner):
            file = str(inspect.getsourcefile(owner))
            with open(file, encoding="utf-8") as source:
                tree = ast.parse(source.read())
            for parent in ast.walk(tree):
                if isinstance(parent, ast.ClassDef) and parent.name == owner.__name__:
                    for node in parent.body:
                        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == field:
                            return file, node.lineno
    return str(inspect.getsourcefile(ServerArgs)), inspect.getsourcelines(ServerArgs)[1]


class Parser(argparse.ArgumentParser):
    """Raises where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise ValueError(message)


class Received(ServerArgs):  # type: ignore[misc]
    """Keeps what from_cli_args passes on, instead of acting on it."""

    def __init__(self, **values: object) -> None:
        self.__dict__["values"] = values  # past a __setattr__ that guards fields


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
fields = [field.name for field in dataclasses.fields(ServerArgs)]
try:
    received = Received.from_cli_args(arguments).values
except AttributeError as error:
    if error.obj is arguments and error.name in fields:
        raise MissingArgumentError(error.name) from None
    raise
for name in fields:
    if name not in received and wants_argument(typing.get_type_hints(ServerArgs, include_extras=True)[name]):
        raise MissingArgumentError(name)
