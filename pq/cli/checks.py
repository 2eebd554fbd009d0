"""Commands that ask hooks/pre-apply and change nothing."""

from __future__ import annotations

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings, today
from pq.cli.move import EXIT_CODES
from pq.engine import lint, verify
from pq.engine.move import Ending

_budget = click.option(
    "--budget",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="Let through what can't be imported in that time, and say so; 0 imports nothing.",
)


@click.command("check", cls=Command)
@click.argument("patch", required=False)
@_budget
@click.pass_obj
def check_command(settings: Settings, patch: str | None, budget: int | None) -> int:
    """Check the applied patches, or the series up to PATCH, anew."""
    return EXIT_CODES[verify.check(settings.workspace(), patch, settings.report, budget=budget)]


@click.command("verify", cls=Command)
@click.option(
    "-a",
    "--all",
    "every",
    is_flag=True,
    help="Every series, and lint; fetches releases and builds environments that are missing.",
)
@_budget
@click.pass_obj
def verify_command(settings: Settings, every: bool, budget: int | None) -> int:
    """Prove that the whole series applies to its pin and passes; the checkout is not touched."""
    if not every:
        return EXIT_CODES[verify.verify(settings.workspace(), settings.report, budget=budget)]
    found = verify.verify_all(settings.workspace(), today(), settings.report, budget=budget)
    settings.report.result("verified", found.series, sentences.verified_lines(found))
    return EXIT_CODES[found.ending]


@click.command("lint", cls=Command)
@click.option("--fix", is_flag=True, help="Mend what has one right answer, as one operation.")
@click.option("--strict", is_flag=True, help="Warnings count as errors, too.")
@click.pass_obj
def lint_command(settings: Settings, fix: bool, strict: bool) -> int:
    """Say what is wrong with the queue, its series and patches. Exit code 1 if there are errors."""
    workspace = settings.workspace()
    found = lint.fix(workspace, today(), settings.report) if fix else lint.run(workspace, today())
    settings.report.result("lint", found, sentences.lint_lines(found))
    return EXIT_CODES[Ending.REFUSED if found.errors or (strict and found.faults) else Ending.DONE]
