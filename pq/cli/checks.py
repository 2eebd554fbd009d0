"""Commands that ask hooks/pre-apply and change nothing."""

from __future__ import annotations

import datetime

import click

from pq.cli import sentences
from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import lint, verify
from pq.engine.move import Ending


@click.command("check", cls=Command)
@click.argument("patch", required=False)
@click.pass_obj
def check_command(settings: Settings, patch: str | None) -> int:
    """Check the applied patches, or the series up to PATCH, anew."""
    return EXIT_CODES[verify.check(settings.workspace(), patch, settings.report)]


@click.command("verify", cls=Command)
@click.pass_obj
def verify_command(settings: Settings) -> int:
    """Prove that the whole series applies to its pin and passes; the checkout is not touched."""
    return EXIT_CODES[verify.verify(settings.workspace(), settings.report)]


@click.command("lint", cls=Command)
@click.option("--fix", is_flag=True, help="Mend what has one right answer, as one operation.")
@click.option("--strict", is_flag=True, help="Warnings count as errors, too.")
@click.pass_obj
def lint_command(settings: Settings, fix: bool, strict: bool) -> int:
    """Say what is wrong with the queue, its series and patches. Exit code 1 if there are errors."""
    workspace, today = settings.workspace(), datetime.datetime.now(tz=datetime.UTC).date()
    found = lint.fix(workspace, today, settings.report) if fix else lint.run(workspace, today)
    settings.report.result("lint", found, sentences.lint_lines(found))
    return EXIT_CODES[Ending.REFUSED if found.errors or (strict and found.faults) else Ending.DONE]
