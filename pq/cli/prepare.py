"""Commands that make a queue and its checkout."""

from __future__ import annotations

from pathlib import Path

import click

from pq.cli import report
from pq.cli.main import Command, Settings
from pq.engine import setup


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path, file_okay=False), metavar="[DIR]")
@click.option("--source", required=True, help="Where releases come from: pypi:NAME, or a git URL or path.")
@click.option("--pin", required=True, metavar="RELEASE", help="The release to start from, such as v0.5.9.")
@click.option("--checkout", default=".checkout", show_default=True, metavar="PATH", help="Where the patched files stand.")
@click.pass_obj
def init_command(settings: Settings, folder: Path, source: str, pin: str, checkout: str) -> None:
    """Make a queue in DIR: pq.toml, an empty series, hooks/pre-apply."""
    made = setup.init(settings.start / folder, source=source, pin=pin, checkout_path=checkout)
    settings.report.done("made", made, [*(f"Made {name}" for name in made), "Now pq setup fetches the release"])


@click.command("setup", cls=Command)
@click.pass_obj
def setup_command(settings: Settings) -> None:
    """Make what is missing: the checkout on its pin, and the environment of the import check."""
    workspace = settings.workspace()
    done = setup.setup(workspace, settings.report.progress)
    settings.report.done("setup", done, report.setup_lines(done, workspace.queue.relative(workspace.queue.checkout)))
