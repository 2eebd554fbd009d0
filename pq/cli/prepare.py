"""Commands that make a queue and its checkout."""

from __future__ import annotations

from pathlib import Path

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings
from pq.engine import init, setup
from pq.queue import FILE


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path, file_okay=False), metavar="[DIR]")
@click.option("--source", help="Where releases come from: pypi:NAME, or a git URL or path.")
@click.option("--pin", metavar="RELEASE", help="The release to start from, such as v0.5.9.")
@click.option("--checkout", metavar="PATH", help="Where the patched files stand; .checkout where nothing is said.")
@click.pass_obj
def init_command(settings: Settings, folder: Path, source: str | None, pin: str | None, checkout: str | None) -> None:
    """Make a queue in DIR: pq.toml, an empty series, hooks/pre-apply. In a queue, put back what is missing of these."""
    place = settings.start / folder
    if (place / FILE).is_file():
        made = init.complete(place, source=source, pin=pin, checkout_path=checkout)
    elif source is None or pin is None:
        raise click.UsageError("a new queue takes --source, such as pypi:NAME or a git URL or path, and --pin, such as v0.5.9")
    else:
        made = init.init(place, source=source, pin=pin, checkout_path=checkout)
    settings.report.done("made", made, sentences.init_lines(made))


@click.command("setup", cls=Command)
@click.pass_obj
def setup_command(settings: Settings) -> None:
    """Make what is missing: the checkout on its pin, and the environment of the import check."""
    workspace = settings.workspace()
    done = setup.setup(workspace, settings.report)
    settings.report.done("setup", done, sentences.setup_lines(done, workspace.queue.relative(workspace.queue.checkout)))
