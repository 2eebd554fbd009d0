"""Commands that make a queue and its checkout."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pq.cli import bundles, sentences
from pq.cli.main import Command, Settings
from pq.engine import init, setup, trust
from pq.errors import NotChecked, NothingToDo
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


@click.command("trust", cls=Command)
@click.argument("digest", required=False)
@click.option("--revoke", is_flag=True, help="Trust nothing of this queue any more.")
@click.pass_obj
def trust_command(settings: Settings, digest: str | None, revoke: bool) -> None:
    """Show what the queue would have run, its hooks, probes and checks, and trust exactly these bytes.

    On a terminal it asks. Elsewhere it takes the DIGEST that it prints.
    """
    workspace = settings.workspace()
    if revoke:
        if digest is not None:
            raise click.UsageError("--revoke goes without a digest")
        trust.take_back(workspace.queue)
        settings.report.done("revoked", str(workspace.queue.root), ["Nothing of this queue is trusted any more"])
        return
    found = trust.read(workspace.queue)
    if trust.is_trusted(workspace):
        what = "trusted already" if found.own else "nothing but pq's own checks, which take no trust"
        raise NothingToDo(f"The hooks and checks of this queue are {what}")
    if digest is not None:
        trust.give_by_digest(workspace.queue, digest)
    else:
        settings.report.result("trust", {"digest": found.digest, "parts": sorted(found.parts)}, bundles.bundle_lines(found))
        if not sys.stdin.isatty():
            raise NotChecked("Nothing is trusted: there is no terminal to ask on", hint=f"pq trust {found.digest}")
        if not click.confirm("Trust these?", err=True):
            raise NotChecked("Nothing is trusted", hint=f"pq trust asks again, pq trust {found.digest} does not")
        trust.give(workspace.queue, found)
    settings.report.done("trusted", found.digest, [f"Trusted: {found.digest}"])
