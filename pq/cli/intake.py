"""Commands that take patches in."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import intake
from pq.engine.intake import Incoming
from pq.engine.workspace import Workspace
from pq.errors import PqError

_RANGE = re.compile(r"[^.\s][^\s]*\.\.[^\s]+")
_STRIP = click.option(
    "-p", "strip", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Take N components off the paths."
)
_REVERSE = click.option("-R", "reverse", is_flag=True, help="It is applied in reverse.")


@click.command("import", cls=Command)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@_STRIP
@_REVERSE
@click.option("-P", "name", metavar="NAME", help="Under this name; for a single patch.")
@click.option("-f", "force", is_flag=True, help="Over a file that is there.")
@click.pass_obj
def import_command(settings: Settings, sources: tuple[str, ...], strip: int, reverse: bool, name: str | None, force: bool) -> int:
    """Take patches into the series behind the top one: patch files, mailboxes, - for standard input, or REV..REV of the checkout."""
    given = sys.stdin.buffer.read() if "-" in sources else b""  # before anything of the queue is read
    workspace = settings.workspace()
    incoming = [
        each for source in sources for each in _incoming(settings, workspace, source, given, strip=strip, reverse=reverse)
    ]
    if name is not None:
        if len(incoming) != 1:
            raise click.UsageError(f"-P names a single patch; there are {len(incoming)}")
        incoming = [Incoming(name, incoming[0].content)]
    return EXIT_CODES[intake.import_patches(workspace, incoming, settings.report, strip=strip, reverse=reverse, force=force)]


@click.command("fold", cls=Command)
@_STRIP
@_REVERSE
@click.option("--no-check", is_flag=True, help="Do not ask hooks/pre-apply.")
@click.pass_obj
def fold_command(settings: Settings, strip: int, reverse: bool, no_check: bool) -> int:
    """Put the patch on standard input into the top patch."""
    content = sys.stdin.buffer.read()
    return EXIT_CODES[
        intake.fold(settings.workspace(), content, settings.report, strip=strip, reverse=reverse, check=not no_check)
    ]


@click.command("fork", cls=Command)
@click.argument("name", required=False)
@click.pass_obj
def fork_command(settings: Settings, name: str | None) -> int:
    """Go on with a copy of the top patch under NAME, or under its own with a number; the old file stays."""
    return EXIT_CODES[intake.fork(settings.workspace(), name, settings.report)]


def _incoming(
    settings: Settings, workspace: Workspace, source: str, given: bytes, *, strip: int, reverse: bool
) -> tuple[Incoming, ...]:
    """What a SOURCE holds. New names stand in the folder of the top patch."""
    folder, slash, _ = (workspace.stack.top or "").rpartition("/")
    prefix = folder + slash
    if source == "-":
        return intake.split_mails(given, prefix, None, strip=strip)
    place = settings.start / source
    if place.is_dir():
        raise PqError(f"{source} is a folder", hint="name the patches in it")
    if place.exists():
        name = prefix + Path(source).name if place.is_file() else None  # a pipe has no name that says anything
        return intake.split_mails(place.read_bytes(), prefix, name, strip=strip)
    if _RANGE.fullmatch(source):
        return intake.from_commits(workspace, source, prefix, reverse=reverse)
    raise PqError(f"{source}: there is no such file", hint="a range of commits is written REV..REV")
