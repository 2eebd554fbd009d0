"""Commands that take operations back and make them again."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import history, repair, resume
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo


@click.command("undo", cls=Command)
@click.argument("count", required=False, default=1, type=click.IntRange(1), metavar="[N]")
@click.pass_obj
def undo_command(settings: Settings, count: int) -> None:
    """Take back the last operation, or the last N: checkout, series and patch files together."""
    _repeat(history.undo, settings, count)


@click.command("redo", cls=Command)
@click.argument("count", required=False, default=1, type=click.IntRange(1), metavar="[N]")
@click.pass_obj
def redo_command(settings: Settings, count: int) -> None:
    """Make the operation again that was undone last, or the last N."""
    _repeat(history.redo, settings, count)


@click.command("repair", cls=Command)
@click.option(
    "--prefer",
    type=click.Choice([each.value for each in repair.Prefer]),
    help="Where both the commit and the file of a patch changed, take this one.",
)
@click.pass_obj
def repair_command(settings: Settings, prefer: str | None) -> int:
    """Bring commits and patch files together, after plain git on the branch or an edit of the file of an applied patch."""
    return EXIT_CODES[repair.repair(settings.workspace(), settings.report, prefer=prefer)]


@click.command("continue", cls=Command)
@click.option("--allow-empty", is_flag=True, help="Even if nothing is left of what did not fit.")
@click.pass_obj
def continue_command(settings: Settings, allow_empty: bool) -> int:
    """Go on with the command that stopped at a conflict, once that is settled in the files."""
    return EXIT_CODES[resume.resume(settings.workspace(), settings.report, allow_empty=allow_empty)]


@click.command("abort", cls=Command)
@click.pass_obj
def abort_command(settings: Settings) -> None:
    """Take back the command that stopped at a conflict, with what was made of it in the files."""
    resume.abort(settings.workspace(), settings.report)


@click.command("log", cls=Command)
@click.option("-n", "count", type=click.IntRange(1), metavar="N", help="The last N only.")
@click.pass_obj
def log_command(settings: Settings, count: int | None) -> None:
    """Print the operations that can be undone, the last one first."""
    found = list(itertools.islice(history.log(settings.workspace()), count))
    lines = []
    for each in found:
        when = datetime.datetime.fromtimestamp(each.operation.date).astimezone()
        lines.append(f"{each.oid[:12]} {when:%Y-%m-%d %H:%M:%S} {sentences.called(each.operation.title)}")
    said = [{"operation": each.oid, "date": each.operation.date, "title": each.operation.title} for each in found]
    settings.report.result("log", said, lines)


def _repeat(step: Callable[[Workspace, Tell], None], settings: Settings, count: int) -> None:
    """So many steps, or as many as there are, if there is one."""
    for number in range(count):
        try:
            step(settings.workspace(), settings.report)
        except NothingToDo:
            if number == 0:
                raise
            return
