"""Commands that move along the series, and those that say where it stands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from pq.cli import report
from pq.cli.main import Command, Settings
from pq.engine import push, status
from pq.engine.push import Goal, Outcome, PushOptions
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo

EXIT_CODES = {Outcome.DONE: 0, Outcome.REFUSED: 1, Outcome.REJECTED: 4}


def _push_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of push and goto, passed on as PushOptions."""

    @click.option("--atomic", is_flag=True, help="Push all of the patches or none.")
    @click.option("-n", "--dry-run", is_flag=True, help="Do everything but change the checkout.")
    @click.option("--no-check", is_flag=True, help="Do not ask hooks/pre-apply. pq status keeps saying so.")
    @click.option("--fuzz", type=click.IntRange(0, 3), default=0, metavar="N", help="Let N context lines differ where nothing better is known.")
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
    return EXIT_CODES[push.pop(workspace, _goal(workspace, goal, everything), settings.report)]


@click.command("goto", cls=Command)
@click.argument("patch")
@_push_options
@click.pass_obj
def goto_command(settings: Settings, patch: str, options: PushOptions) -> int:
    """Push or pop until PATCH is on top."""
    return EXIT_CODES[push.goto(settings.workspace(), patch, options, settings.report)]


@click.command("top", cls=Command)
@click.pass_obj
def top_command(settings: Settings) -> None:
    """Print the name of the patch applied last."""
    _print_one(settings, "top", settings.workspace().stack.top, "No patches applied")


@click.command("next", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def next_command(settings: Settings, patch: str | None) -> None:
    """Print the name of the patch behind PATCH, or behind the top."""
    stack = settings.workspace().stack
    names = [entry.name for entry in stack.order]
    here = stack.series.find(patch) if patch else stack.top
    following = names[names.index(here) + 1 :] if here in names else names
    _print_one(settings, "next", following[0] if following else None, f"File series fully applied, ends at patch {names[-1]}" if names else "No patches in series")


@click.command("previous", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def previous_command(settings: Settings, patch: str | None) -> None:
    """Print the name of the patch before PATCH, or before the top."""
    stack = settings.workspace().stack
    names = [entry.name for entry in stack.order]
    here = stack.series.find(patch) if patch else stack.top
    before = names[: names.index(here)] if here in names else []
    _print_one(settings, "previous", before[-1] if before else None, "No patch stands before it" if here else "No patches applied")


@click.command("series", cls=Command)
@click.pass_obj
def series_command(settings: Settings) -> None:
    """Print the patches of the series; with -v, = marks the top and + the others that are applied."""
    workspace = settings.workspace()
    marks = settings.report.verbose or settings.report.as_json
    states = status.patches(workspace) if marks else tuple(status.PatchState(name, applied=False, top=False, checked=None) for name in workspace.series.names)
    settings.report.result("series", states, report.series_lines(states, marks=settings.report.verbose))


@click.command("applied", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def applied_command(settings: Settings, patch: str | None) -> None:
    """Print the applied patches, or those of the series up to PATCH."""
    stack = settings.workspace().stack
    names = list(stack.series.names[: stack.series.names.index(stack.series.find(patch)) + 1]) if patch else list(stack.applied)
    _print_all(settings, "applied", names, "No patches applied")


@click.command("unapplied", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def unapplied_command(settings: Settings, patch: str | None) -> None:
    """Print the patches that are not applied, or those of the series behind PATCH."""
    stack = settings.workspace().stack
    names = list(stack.series.names[stack.series.names.index(stack.series.find(patch)) + 1 :]) if patch else [entry.name for entry in stack.unapplied]
    top = stack.top
    _print_all(settings, "unapplied", names, f"File series fully applied, ends at patch {top}" if top else "No patches in series")


def _print_one(settings: Settings, key: str, name: str | None, otherwise: str) -> None:
    if name is None:
        raise NothingToDo(otherwise)
    settings.report.result(key, name, [name])


def _print_all(settings: Settings, key: str, names: list[str], otherwise: str) -> None:
    if not names:
        raise NothingToDo(otherwise)
    settings.report.result(key, names, names)


