"""Commands that only look."""

from __future__ import annotations

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings
from pq.engine import status
from pq.errors import NothingToDo


@click.command("files", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def files_command(settings: Settings, patch: str | None) -> None:
    """Print the files that PATCH, or the top patch, touches; with -v, + and - mark new files and those that go."""
    files = status.touched(settings.workspace(), patch)
    paths = sorted({file.path for file in files})
    settings.report.result("files", paths, sentences.file_lines(files, marks=settings.report.verbose))


@click.command("patches", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.pass_obj
def patches_command(settings: Settings, files: tuple[str, ...]) -> None:
    """Print the patches that touch FILE; with -v, = marks the top and + the others that are applied."""
    workspace = settings.workspace()
    names = status.touching(workspace, tuple(status.in_checkout(workspace, settings.start, file) for file in files))
    if not names:
        raise NothingToDo(f"No patch touches {', '.join(files)}", hint="pq files PATCH lists the files of a patch")
    states = [state for state in status.patches(workspace, verdicts=settings.report.as_json) if state.name in names]
    settings.report.result("patches", states, sentences.series_lines(states, marks=settings.report.verbose))


@click.command("show", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def show_command(settings: Settings, patch: str | None) -> None:
    """Print PATCH, or the top patch, byte for byte."""
    content = status.shown(settings.workspace(), patch)
    if settings.report.as_json:
        settings.report.result("patch", content, ())
    else:
        settings.report.raw(content)


@click.command("status", cls=Command)
@click.pass_obj
def status_command(settings: Settings) -> None:
    """Say what is applied, what was checked, and what differs from what it should be."""
    found = status.read(settings.workspace())
    settings.report.result("status", found, sentences.status_lines(found))
