"""Commands that move along the series."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from pq.cli.main import Command, Settings
from pq.engine.move import Ending, Goal, PushOptions, pop
from pq.engine.workspace import Workspace

EXIT_CODES = {Ending.DONE: 0, Ending.REFUSED: 1, Ending.CONFLICT: 3, Ending.REJECTED: 4}


def _push_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of push and goto, passed on as PushOptions."""

    @click.option("--atomic", is_flag=True, help="Push all of the patches or none.")
    @click.option("-n", "--dry-run", is_flag=True, help="Do everything but change the checkout.")
    @click.option("--no-check", is_flag=True, help="Do not ask hooks/pre-apply. pq status keeps saying so.")
    @click.option(
        "--fuzz",
        type=click.IntRange(0, 3),
        default=0,
        metavar="N",
        help="Let N context lines differ where nothing better is known.",
    )
    @functools.wraps(function)
    def wrapped(*, atomic: bool, dry_run: bool, no_check: bool, fuzz: int, **keywords: Any) -> Any:
        return function(options=PushOptions(atomic=atomic, dry_run=dry_run, check=not no_check, fuzz=fuzz), **keywords)

    return wrapped


def _goal(workspace: Workspace, given: str | None, everything: bool) -> Goal:
    """What a user means by -a, a number or a patch. A number that is the name of a patch is that patch."""
    if everything:
        if given is not None:
            raise click.UsageError("-a goes without a patch or a number")
        return -1
    if given is None or given in workspace.series.names:
        return given
    if given.isdecimal():
        if int(given) == 0:
            raise click.UsageError("the number of patches has to be above 0")
        return int(given)
    return given


@click.command("push", cls=Command)
@click.argument("goal", required=False, metavar="[N | PATCH]")
@click.option("-a", "--all", "everything", is_flag=True, help="Push all patches of the series.")
@_push_options
@click.pass_obj
def push_command(settings: Settings, goal: str | None, everything: bool, options: PushOptions) -> int:
    """Apply the next patch, the next N, all up to PATCH, or all with -a."""
    from pq.engine import push

    workspace = settings.workspace()
    outcome = push.push(workspace, _goal(workspace, goal, everything), options, settings.report)
    return EXIT_CODES[outcome]


@click.command("pop", cls=Command)
@click.argument("goal", required=False, metavar="[N | PATCH]")
@click.option("-a", "--all", "everything", is_flag=True, help="Pop all patches.")
@click.pass_obj
def pop_command(settings: Settings, goal: str | None, everything: bool) -> int:
    """Take off the top patch, the top N, all above PATCH, or all with -a."""
    workspace = settings.workspace()
    return EXIT_CODES[pop(workspace, _goal(workspace, goal, everything), settings.report)]


@click.command("goto", cls=Command)
@click.argument("patch")
@_push_options
@click.pass_obj
def goto_command(settings: Settings, patch: str, options: PushOptions) -> int:
    """Push or pop until PATCH is on top."""
    from pq.engine import push

    return EXIT_CODES[push.goto(settings.workspace(), patch, options, settings.report)]
