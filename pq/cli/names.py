"""Commands that print names: where the series stands."""

from __future__ import annotations

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings
from pq.core.stack import Stack
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
    names, at, stack = _around(settings, patch)
    end = f"No patch stands behind {names[at]}" if patch and at >= 0 else _end(stack)
    _print_one(settings, "next", next(iter(names[at + 1 :]), None), end)


@click.command("previous", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def previous_command(settings: Settings, patch: str | None) -> None:
    """Print the name of the patch before PATCH, or before the top."""
    names, at, _ = _around(settings, patch)
    nothing = f"No patch stands before {names[at]}" if at >= 0 else "No patches applied"
    _print_one(settings, "previous", names[at - 1] if at > 0 else None, nothing)


@click.command("series", cls=Command)
@click.pass_obj
def series_command(settings: Settings) -> None:
    """Print the patches of the series; with -v, = marks the top and + the others that are applied."""
    from pq.engine import status

    workspace = settings.workspace()
    marks = settings.report.verbose or settings.report.as_json
    states = (
        status.patches(workspace, verdicts=settings.report.as_json)
        if marks
        else tuple(status.PatchState(name, applied=False, top=False, checked=None) for name in workspace.series.names)
    )
    settings.report.result("series", states, sentences.series_lines(states, marks=settings.report.verbose))


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
    end = f"No patch stands behind {stack.series.find(patch)}" if patch else _end(stack)
    _print_all(settings, "unapplied", names, end)


def _around(settings: Settings, patch: str | None) -> tuple[list[str], int, Stack]:
    """The names in order, and where among them PATCH or the top is; -1 where it is not."""
    workspace = settings.workspace()
    stack = workspace.stack
    if not patch:
        workspace.require_order()
    names = [entry.name for entry in stack.order]
    here = stack.series.find(patch) if patch else stack.top
    return names, names.index(here) if here in names else -1, stack


def _end(stack: Stack) -> str:
    return f"File series fully applied, ends at patch {stack.top}" if stack.top else "No patches in series"


def _print_one(settings: Settings, key: str, name: str | None, otherwise: str) -> None:
    if name is None:
        raise NothingToDo(otherwise)
    settings.report.result(key, name, [name])


def _print_all(settings: Settings, key: str, names: list[str], otherwise: str) -> None:
    if not names:
        raise NothingToDo(otherwise)
    settings.report.result(key, names, names)
