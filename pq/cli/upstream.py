"""Commands about upstream's releases: which there are, and the series on another one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pq.cli import matrix, sentences
from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.core import ledger
from pq.engine import compare, forecast, rebase, releases, resume, why
from pq.engine.move import Ending
from pq.errors import NothingToDo


@click.command("fetch", cls=Command)
@click.argument("version", required=False)
@click.option("--all-since", metavar="VERSION", help="This release and all later ones.")
@click.pass_obj
def fetch_command(settings: Settings, version: str | None, all_since: str | None) -> None:
    """Fetch a release into the checkout's repository: VERSION, or the newest."""
    if version is not None and all_since is not None:
        raise click.UsageError("VERSION and --all-since exclude each other")
    found = releases.fetch(settings.workspace(), version, all_since, settings.report)
    settings.report.done("fetched", found, sentences.fetched_lines(found))


@click.command("releases", cls=Command)
@click.option("-a", "--all", "every", is_flag=True, help="Those before the pin, too.")
@click.pass_obj
def releases_command(settings: Settings, every: bool) -> None:
    """Print upstream's releases from the pin on: = marks the pin, + those that are fetched."""
    found = releases.known(settings.workspace(), every=every)
    settings.report.result("releases", found, sentences.release_lines(found))


@click.command("rebase", cls=Command)
@click.argument("version", required=False)
@click.option("--step", is_flag=True, help="Go through all releases on the way, one by one.")
@click.option("-n", "--dry-run", is_flag=True, help="Do everything but change the checkout and the queue.")
@click.option("--no-check", is_flag=True, help="Do not ask hooks/pre-apply. pq status keeps saying so.")
@click.option("--continue", "go_on", is_flag=True, help="Go on, once a conflict is settled in the files.")
@click.option("--skip", is_flag=True, help="Go on without the patch that does not fit.")
@click.option("-m", "reason", metavar="TEXT", help="With --skip: why. The ledger of the new series says so.")
@click.option("--abort", is_flag=True, help="Take it back.")
@click.option("--allow-empty", is_flag=True, help="With --continue: even if nothing is left of the patch.")
@click.option("--without", multiple=True, metavar="PATCH", help="Leave this patch out, from the beginning.")
@click.option("--ask-again", is_flag=True, help="Do not take what was made of the same conflicts before.")
@click.pass_obj
def rebase_command(
    settings: Settings,
    version: str | None,
    step: bool,
    dry_run: bool,
    no_check: bool,
    go_on: bool,
    skip: bool,
    reason: str | None,
    abort: bool,
    allow_empty: bool,
    without: tuple[str, ...],
    ask_again: bool,
) -> int:
    """Carry the series to release VERSION, as a new series; the old one stays."""
    if (version is not None) + go_on + skip + abort != 1:
        raise click.UsageError("it takes a VERSION, or one of --continue, --skip, --abort")
    if (reason is not None and not (skip or without)) or (allow_empty and not go_on) or (no_check and abort):
        raise click.UsageError("-m goes with --skip and --without, --allow-empty with --continue, --no-check not with --abort")
    if version is None and (step or dry_run or without or ask_again):
        raise click.UsageError("--step, -n, --without and --ask-again go with VERSION")
    workspace = settings.workspace()
    if abort:
        resume.abort(workspace, settings.report)
        return 0
    if version is None:
        leave = None if not skip else reason or ""
        return EXIT_CODES[resume.resume(workspace, settings.report, allow_empty=allow_empty, leave_out=leave, unchecked=no_check)]
    through = rebase.steps(workspace, version, every=step)
    ending = rebase.rebase(
        workspace,
        settings.report,
        through=through,
        check=not no_check,
        dry_run=dry_run,
        skipped={workspace.series.find(each): reason or "" for each in without},
        ask_again=ask_again,
    )
    return EXIT_CODES[ending]


@click.command("forecast", cls=Command)
@click.argument("versions", nargs=-1, metavar="[VERSION...]")
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page of it, too.")
@click.pass_obj
def forecast_command(settings: Settings, versions: tuple[str, ...], page: Path | None) -> int:
    """Say what would become of all patches on VERSIONs, or on all fetched releases. Exit code 3 if somebody has to look."""
    found = forecast.forecast(settings.workspace(), versions)
    if page is not None:
        (settings.start / page).write_text(matrix.html(found), encoding="utf-8", errors="replace")
    settings.report.result("forecast", found, matrix.lines(found))
    return EXIT_CODES[Ending.CONFLICT if found.conflicts else Ending.DONE]


@click.command("outcomes", cls=Command)
@click.option("--markdown", is_flag=True, help="As a table for a pull request.")
@click.pass_obj
def outcomes_command(settings: Settings, markdown: bool) -> None:
    """Print what became of the patches that the series was made of by a rebase."""
    workspace = settings.workspace()
    found = ledger.read(workspace.series)
    if found is None:
        raise NothingToDo(f"Series {workspace.queue.series_name} was not made by a rebase")
    lines = sentences.outcome_lines(found, workspace.queue.series_name, markdown=markdown)
    settings.report.result("outcomes", found, lines)


@click.command("range-diff", cls=Command)
@click.argument("old", metavar="SERIES")
@click.argument("new", metavar="SERIES")
@click.pass_obj
def range_diff_command(settings: Settings, old: str, new: str) -> None:
    """Show what became of each patch from one series to another, patch by patch, as git range-diff does."""
    said = compare.range_diff(settings.workspace(), old, new, color=sys.stdout.isatty() and not settings.report.as_json)
    settings.report.result("range_diff", said, said.splitlines())


@click.command("why", cls=Command)
@click.argument("patch")
@click.argument("version")
@click.pass_obj
def why_command(settings: Settings, patch: str, version: str) -> int:
    """Say which of upstream's changes, up to VERSION, touched what PATCH stands on and uses, even where it still applies."""
    found = why.why(settings.workspace(), patch, version)
    settings.report.result("why", found, sentences.why_lines(found))
    return EXIT_CODES[Ending.CONFLICT if found.is_conflict else Ending.DONE]
