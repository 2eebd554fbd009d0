"""Commands that print names: where the series stands."""

from __future__ import annotations

import click

from pq.cli import report
from pq.cli.main import Command, Settings
from pq.errors import NothingToDo


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
    _print_one(
        settings,
        "next",
        following[0] if following else None,
        f"File series fully applied, ends at patch {names[-1]}" if names else "No patches in series",
    )


@click.command("previous", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def previous_command(settings: Settings, patch: str | None) -> None:
    """Print the name of the patch before PATCH, or before the top."""
    stack = settings.workspace().stack
    names = [entry.name for entry in stack.order]
    here = stack.series.find(patch) if patch else stack.top
    before = names[: names.index(here)] if here in names else []
    _print_one(
        settings, "previous", before[-1] if before else None, "No patch stands before it" if here else "No patches applied"
    )


@click.command("series", cls=Command)
@click.pass_obj
def series_command(settings: Settings) -> None:
    """Print the patches of the series; with -v, = marks the top and + the others that are applied."""
    from pq.engine import status

    workspace = settings.workspace()
    marks = settings.report.verbose or settings.report.as_json
    states = (
        status.patches(workspace)
        if marks
        else tuple(status.PatchState(name, applied=False, top=False, checked=None) for name in workspace.series.names)
    )
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
    names = (
        list(stack.series.names[stack.series.names.index(stack.series.find(patch)) + 1 :])
        if patch
        else [entry.name for entry in stack.unapplied]
    )
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
