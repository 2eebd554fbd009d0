"""`pq apply`: patches onto a plain folder."""

from __future__ import annotations

from pathlib import Path

import click

from pq.cli import refusals
from pq.cli.main import Command, Settings
from pq.core import patch_reader
from pq.core.tree import Tree
from pq.engine import folder
from pq.engine.events import Ending
from pq.engine.folder import Named
from pq.engine.trees import FolderTree, WheelTree
from pq.errors import PqError
from pq.upstream import pypi


@click.command("apply", cls=Command)
@click.argument("patches", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATCH...")
@click.option(
    "-p", "strip", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Take N components off the paths."
)
@click.option("-R", "reverse", is_flag=True, help="Take the patches back.")
@click.option("--base", metavar="WHERE", help="What the patches were made against: a folder, a wheel, or pypi:NAME==VERSION.")
@click.option("--onto", type=click.Path(path_type=Path), metavar="DIR", help="The folder to change; else this one.")
@click.option("--check", "only_check", is_flag=True, help="Say what would happen, change nothing.")
@click.option(
    "--fuzz", type=click.IntRange(0, 3), default=0, metavar="N", help="Let N context lines differ where nothing better is known."
)
@click.pass_obj
def apply_command(
    settings: Settings,
    patches: tuple[Path, ...],
    strip: int,
    reverse: bool,
    base: str | None,
    onto: Path | None,
    only_check: bool,
    fuzz: int,
) -> int:
    """Place PATCHes on a plain folder by the same proof as push: all files change, or none.

    Exit code 0: applied; 2: already applied; 3: conflict; 4: a file would no longer compile; 5: something is in the way.
    """
    named = [_read(settings.start / patch, strip, reverse=reverse) for patch in patches]
    target = settings.start / (onto or Path())
    if not target.is_dir():
        raise click.UsageError(f"--onto {onto}: there is no such folder")
    endings = folder.apply(
        target,
        tuple(reversed(named)) if reverse else tuple(named),
        settings.report,
        base=_base(settings, base),
        fuzz=fuzz,
        only_check=only_check,
        reverse=reverse,
    )
    settings.report.problem(refusals.problem_lines(endings, based=base is not None, reverse=reverse))
    settings.report.done("patches", endings, refusals.ending_lines(endings, reverse=reverse))
    found = {ending.ending for ending in endings}
    if found == {Ending.ALREADY}:
        return 2
    return 3 if Ending.CONFLICT in found else 4 if Ending.REJECTED in found else 0


def _read(place: Path, strip: int, *, reverse: bool) -> Named:
    if not place.exists() or place.is_dir():
        raise click.UsageError(f"{place}: there is no such patch file")
    patch = patch_reader.read(place.read_bytes(), file=str(place), strip=strip)
    if not patch.files:
        raise PqError(f"{place} holds no diff", hint="is it the right file?")
    return Named(place.name, patch.reversed() if reverse else patch, strip)


def _base(settings: Settings, where: str | None) -> Tree | None:
    """The tree that patches were made against."""
    if where is None:
        return None
    if where.startswith("pypi:"):
        name, _, version = where.removeprefix("pypi:").partition("==")
        if not version:
            raise click.UsageError(f"{where}: expected pypi:NAME==VERSION")
        from pq.engine import checking

        return WheelTree(pypi.fetch(name, version, checking.cache() / "wheels", progress=settings.report.progress).path)
    place = settings.start / where
    if place.is_dir():
        return FolderTree(place)
    if not place.exists():
        raise click.UsageError(f"--base {where}: there is no such folder or wheel")
    return WheelTree(place)
