"""Commands that ask hooks/pre-apply and change nothing."""

from __future__ import annotations

import click

from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import verify


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
