"""Where what a command has to say goes: sentences for people, or one JSON document."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from pq.cli.sentences import error_lines, sentences
from pq.engine import events
from pq.engine.events import Event
from pq.errors import ParseError, PqError


@dataclass
class Report:
    """Where a command's events go: sentences as they come, or one JSON document at the end."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    said: list[Mapping[str, object]] = field(default_factory=list)
    lost: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Tell one event."""
        if self.as_json:
            if not isinstance(event, events.Progress):
                self.said.append({"event": type(event).__name__.lower(), **_plain(event)})
            return
        if isinstance(event, events.Progress):
            self.progress(event.text)
        elif isinstance(event, events.Problem):
            for line in sentences(event, verbose=self.verbose):
                self._say(line, err=True)
        elif not self.quiet:
            for line in sentences(event, verbose=self.verbose):
                self._say(line)

    def progress(self, text: str) -> None:
        """Tell a step of something long, on a terminal only."""
        if sys.stderr.isatty() and not self.quiet and not self.as_json:
            self._say(f"  {text}", err=True)

    def result(self, name: str, value: object, lines: Sequence[str]) -> None:
        """What a command that only reports has found."""
        if self.as_json:
            self.said.append({name: _jsonable(value)})
        else:
            for line in lines:
                self._say(line)

    def done(self, name: str, value: object, lines: Sequence[str]) -> None:
        """What a command has done; nothing when quiet."""
        self.result(name, value, () if self.quiet else lines)

    def problem(self, lines: Sequence[str]) -> None:
        """What went wrong, where the JSON form says it already."""
        if not self.as_json:
            for line in lines:
                self._say(line, err=True)

    def raw(self, content: bytes) -> None:
        """Bytes as they are."""
        self._write(content)

    def error(self, error: PqError) -> None:
        """A refusal: the fact, the place, the way out."""
        if self.as_json:
            self.said.append(
                {"event": "error", "fact": error.fact, "hint": error.hint, "exit_code": error.exit_code, **_place(error)}
            )
            return
        for line in error_lines(error):
            self._say(line, err=True)

    def ended(self, fact: str, exit_code: int) -> None:
        """How a command ended that was not refused in its own words, for the JSON document."""
        self.said.append({"event": "error", "fact": fact, "hint": None, "exit_code": exit_code})

    def _say(self, line: str, *, err: bool = False) -> None:
        self._write(line.encode("utf-8", "surrogateescape") + b"\n", err=err)

    def _write(self, content: bytes, *, err: bool = False) -> None:
        """Once nobody listens any more, the work goes on in silence; any other failure is kept, to be said at the end."""
        try:
            click.echo(content, nl=False, err=err)
        except OSError as error:
            self.lost = None if isinstance(error, BrokenPipeError) else error
            setattr(sys, "stderr" if err else "stdout", open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good

    def close(self) -> None:
        """Print the JSON document."""
        if self.as_json:
            merged: dict[str, object] = {}
            told: list[Mapping[str, object]] = []
            for item in self.said:
                if "event" in item:
                    told.append(item)
                else:
                    merged.update(item)
            if told:
                merged["events"] = told
            self._say(json.dumps(merged, indent=2, ensure_ascii=True))


def _place(error: PqError) -> dict[str, object]:
    if not isinstance(error, ParseError):
        return {}
    return {"file": error.file, "line": error.line, "column": error.column, "text": error.text}


def _plain(event: object) -> dict[str, object]:
    plain = _jsonable(event)
    return plain if isinstance(plain, dict) else {}


def _jsonable(value: object) -> object:
    """A value as JSON has it: file contents are left out, bytes become text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {each.name: _jsonable(getattr(value, each.name)) for each in fields if each.name not in ("content", "binary")}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    return value
