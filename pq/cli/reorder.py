"""Commands that put the same changes into another order or into other patches."""

from __future__ import annotations

import click

from pq.cli.edit import named_paths
from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import reorder


@click.command("float", cls=Command)
@click.argument("patch")
@click.pass_obj
def float_command(settings: Settings, patch: str) -> int:
    """Move PATCH above all others that are applied."""
    return EXIT_CODES[reorder.float_up(settings.workspace(), settings.report, patch=patch)]


@click.command("sink", cls=Command)
@click.argument("patch", required=False)
@click.option("-t", "--to", "below", metavar="PATCH", help="Below this one; else below all.")
@click.pass_obj
def sink_command(settings: Settings, patch: str | None, below: str | None) -> int:
    """Move PATCH, or the top patch, down."""
    return EXIT_CODES[reorder.sink(settings.workspace(), settings.report, patch=patch, below=below)]


@click.command("squash", cls=Command)
@click.argument("patches", nargs=-1, required=True, metavar="PATCH...")
@click.pass_obj
def squash_command(settings: Settings, patches: tuple[str, ...]) -> int:
    """Make one of several applied PATCHes, under the name of the lowest."""
    return EXIT_CODES[reorder.squash(settings.workspace(), settings.report, patches=patches)]


@click.command("spill", cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.pass_obj
def spill_command(settings: Settings, files: tuple[str, ...]) -> int:
    """Make unrefreshed changes of what the top patch changes, in FILEs or in all."""
    workspace = settings.workspace()
    return EXIT_CODES[reorder.spill(workspace, named_paths(settings, workspace, files), settings.report)]


@click.command("split", cls=Command)
@click.argument("name")
@click.argument("parts", nargs=-1, required=True, metavar="FILE[:HUNK,...]...")
@click.option("-P", "patch", metavar="PATCH", help="This applied patch instead of the top one.")
@click.pass_obj
def split_command(settings: Settings, name: str, parts: tuple[str, ...], patch: str | None) -> int:
    """Cut the changes of FILEs, or hunks of them by number, out of a patch into a new patch NAME below it."""
    workspace = settings.workspace()
    chosen = {}
    for part in parts:
        file, _, numbers = part.rpartition(":")
        hunks = numbers.split(",") if file and all(number.isdecimal() for number in numbers.split(",")) else None
        (path,) = named_paths(settings, workspace, (file if hunks else part,))
        chosen[path] = frozenset(int(number) for number in hunks or ())
    return EXIT_CODES[reorder.split(workspace, patch, name, chosen, settings.report)]
