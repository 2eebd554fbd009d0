"""git's hooks: put into a repository, taken out, and what they call."""

from __future__ import annotations

import os
import sys

import click

from pq.cli.main import Command, Settings, today
from pq.cli.move import EXIT_CODES
from pq.engine import install


@click.group("hooks")
def hooks_command() -> None:
    """Put git's hooks into the queue's repository and into the checkout, and take them out."""


@click.command("install", cls=Command)
@click.pass_obj
def install_command(settings: Settings) -> None:
    """Put the hooks there: what is committed is checked, and a commit in the checkout becomes a patch. pq setup does it, too."""
    done = install.install(settings.workspace(), wanted=True)
    settings.report.done(
        "hooks", done, [f"Hook {each.name} is installed in {each.place}" for each in done] or ["All hooks were there"]
    )


@click.command("uninstall", cls=Command)
@click.pass_obj
def uninstall_command(settings: Settings) -> None:
    """Take the hooks out; what stood in their place before comes back. pq setup does not put them there again."""
    done = install.uninstall(settings.workspace())
    settings.report.done("hooks", done, [f"Hook {each.name} is gone from {each.place}" for each in done])


@click.command("status", cls=Command)
@click.pass_obj
def status_command(settings: Settings) -> None:
    """Say which hooks are there, and which of other tools they run first."""
    found = install.installed(settings.workspace())
    lines = [
        f"{'+' if each.there else ' '} {each.name} in {each.place}" + (f", behind {each.other}" if each.other else "")
        for each in found
    ]
    settings.report.result("hooks", found, lines)


@click.command("run", cls=Command, hidden=True)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def run_command(settings: Settings, name: str, arguments: tuple[str, ...]) -> int:
    """Do what the hook NAME does; git calls it in the top folder of a worktree."""
    from pq.engine import githooks

    named = os.environ.get("GIT_INDEX_FILE")
    call = githooks.Call(
        name,
        settings.start,
        argument=arguments[0] if arguments else "",
        index=settings.start / named if named else None,
        told=sys.stdin.read() if name == "post-rewrite" else "",
        trusted=settings.trusted,
    )
    return EXIT_CODES[githooks.run(call, today(), settings.report)]


for _each in (install_command, uninstall_command, status_command, run_command):
    hooks_command.add_command(_each)
