"""Commands that edit the queue."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import diffs, edit
from pq.engine.status import in_checkout
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError

_DEP3 = b"""\
Description: <short summary>
 <long description>
Origin: <upstream, backport, vendor or other>
Bug: <where it is reported>
Forwarded: <no, not-needed or where to>
Author: <name and address>
Last-Update: <YYYY-MM-DD>
"""


def named_paths(settings: Settings, workspace: Workspace, files: tuple[str, ...]) -> tuple[str, ...]:
    """Paths as patches name them, from what the user wrote."""
    return tuple(in_checkout(workspace, settings.start, file) for file in files)


@click.command("new", cls=Command)
@click.argument("name")
@click.pass_obj
def new_command(settings: Settings, name: str) -> int:
    """Put an empty patch on top of the applied ones. NAME starts at patches/."""
    return EXIT_CODES[edit.new(settings.workspace(), name, settings.report)]


@click.command("refresh", cls=Command)
@click.argument("patch", required=False)
@click.option("-i", "--only", "files", multiple=True, metavar="FILE", help="Take the edits of FILE, or below it, alone.")
@click.option("-z", "name", metavar="NAME", help="Put the edits into a new patch on top.")
@click.pass_obj
def refresh_command(settings: Settings, patch: str | None, files: tuple[str, ...], name: str | None) -> int:
    """Put the edits of the checkout into PATCH, or into the top patch; those above are carried over."""
    workspace = settings.workspace()
    if name is None:
        return EXIT_CODES[edit.refresh(workspace, settings.report, patch=patch, paths=named_paths(settings, workspace, files))]
    if patch is not None:
        raise click.UsageError("-z makes a new patch; it goes without PATCH")
    return EXIT_CODES[edit.refresh_new(workspace, name, named_paths(settings, workspace, files), settings.report)]


class _ColorCommand(Command):
    """A command whose --color may stand without a word, as quilt's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click, with --color for --color=always."""
        return super().parse_args(ctx, ["--color=always" if word == "--color" else word for word in args])


@click.command("diff", cls=_ColorCommand)
@click.argument("files", nargs=-1)
@click.option("-z", "unrefreshed", is_flag=True, help="Only what is not refreshed yet.")
@click.option("-P", "patch", metavar="PATCH", help="Of this applied patch; else of the top one with what is not refreshed.")
@click.option("--combine", metavar="PATCH", help="Of all from PATCH on together; - is the lowest.")
@click.option("--snapshot", is_flag=True, help="From what pq snapshot remembered.")
@click.option("-R", "reverse", is_flag=True, help="The other way round.")
@click.option("--color", type=click.Choice(["always", "auto", "never"]), default="auto", show_default=True)
@click.pass_obj
def diff_command(
    settings: Settings,
    files: tuple[str, ...],
    unrefreshed: bool,
    patch: str | None,
    combine: str | None,
    snapshot: bool,
    reverse: bool,
    color: str,
) -> None:
    """Print what the top patch changes as the checkout stands, in FILEs or in all."""
    if unrefreshed and patch:
        raise click.UsageError("-z shows what is not refreshed, whatever the patch; it goes without -P")
    workspace = settings.workspace()
    asked = diffs.Asked(patch, combine, unrefreshed, snapshot, reverse, named_paths(settings, workspace, files))
    content = diffs.diff(workspace, asked)
    if settings.report.as_json:
        settings.report.result("diff", content, ())
    else:
        shown = color == "always" or (color == "auto" and sys.stdout.isatty())
        settings.report.raw(_colored(content) if shown else content)


@click.command("snapshot", cls=Command)
@click.option("-d", "drop", is_flag=True, help="Drop it.")
@click.pass_obj
def snapshot_command(settings: Settings, drop: bool) -> None:
    """Remember the files of the checkout as they stand, for pq diff --snapshot."""
    diffs.snapshot(settings.workspace(), drop=drop, tell=settings.report)


@click.command("delete", cls=Command)
@click.argument("patch", required=False)
@click.option("-r", "remove", is_flag=True, help="Remove its file, too.")
@click.option("--no-check", is_flag=True, help="Do not ask hooks/pre-apply about what is left.")
@click.pass_obj
def delete_command(settings: Settings, patch: str | None, remove: bool, no_check: bool) -> int:
    """Take PATCH, or the top patch, out of the series; those above are carried over."""
    return EXIT_CODES[edit.delete(settings.workspace(), settings.report, patch=patch, remove=remove, check=not no_check)]


@click.command("rename", cls=Command)
@click.argument("name")
@click.option("-P", "patch", metavar="PATCH", help="This patch instead of the top one.")
@click.pass_obj
def rename_command(settings: Settings, name: str, patch: str | None) -> int:
    """Give the top patch another NAME."""
    return EXIT_CODES[edit.rename(settings.workspace(), patch, name, settings.report)]


@click.command("header", cls=Command)
@click.argument("patch", required=False)
@click.option("-a", "append", is_flag=True, help="Append standard input.")
@click.option("-r", "replace", is_flag=True, help="Replace it by standard input.")
@click.option("-e", "editor", is_flag=True, help="Edit it.")
@click.option("--expect", is_flag=True, help="Add what the patch brings in as Pq-Expect lines, which every push checks.")
@click.option("--dep3", is_flag=True, help="With -e: begin an empty one with DEP-3 fields.")
@click.pass_obj
def header_command(
    settings: Settings, patch: str | None, append: bool, replace: bool, editor: bool, expect: bool, dep3: bool
) -> int:
    """Print or change the text above the diff of PATCH, or of the top patch."""
    workspace = settings.workspace()
    if append + replace + editor + expect > 1:
        raise click.UsageError("-a, -r, -e and --expect exclude each other")
    if expect:
        return EXIT_CODES[edit.expect(workspace, patch, settings.report)]
    if append:
        given = sys.stdin.buffer.read()
        return EXIT_CODES[edit.set_header(workspace, patch, lambda old: _ended(old) + given, settings.report)]
    if replace:
        given = sys.stdin.buffer.read()
        return EXIT_CODES[edit.set_header(workspace, patch, lambda _: given, settings.report)]
    if editor:
        return _edit_header(settings, patch, _DEP3 if dep3 else b"")
    header = edit.header(workspace, patch)
    if settings.report.as_json:
        settings.report.result("header", header, ())
    else:
        settings.report.raw(header)
    return 0


@click.command("revert", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.pass_obj
def revert_command(settings: Settings, files: tuple[str, ...]) -> int:
    """Take back what is not refreshed in FILEs. pq undo brings it back."""
    workspace = settings.workspace()
    return EXIT_CODES[edit.revert(workspace, named_paths(settings, workspace, files), settings.report)]


@click.command("add", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.pass_obj
def add_command(settings: Settings, files: tuple[str, ...]) -> None:
    """Have the next refresh take new FILEs, too. Files that git knows need no add."""
    workspace = settings.workspace()
    added = edit.add(workspace, named_paths(settings, workspace, files), settings.report)
    settings.report.done("added", added, [f"File {path} added" for path in added])


@click.command("edit", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.pass_obj
def edit_command(settings: Settings, files: tuple[str, ...]) -> None:
    """Open FILEs in your editor, and have the next refresh take those that are new."""
    workspace = settings.workspace()
    paths = named_paths(settings, workspace, files)
    for path in paths:
        click.edit(filename=str(workspace.queue.checkout / path))
    there = tuple(path for path in paths if (workspace.queue.checkout / path).exists())
    edit.add(workspace, there, settings.report)


@click.command("remove", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-P", "patch", metavar="PATCH", help="Out of this applied patch instead of the top one.")
@click.pass_obj
def remove_command(settings: Settings, files: tuple[str, ...], patch: str | None) -> int:
    """Take FILEs out of the top patch: in the checkout they are again what they were below it."""
    workspace = settings.workspace()
    return EXIT_CODES[edit.remove(workspace, settings.report, patch=patch, paths=named_paths(settings, workspace, files))]


def _ended(text: bytes) -> bytes:
    return text if not text or text.endswith(b"\n") else text + b"\n"


def _edit_header(settings: Settings, patch: str | None, template: bytes) -> int:
    """Have the user's editor change the text, outside of any lock; what was written is kept where it is refused."""
    import tempfile

    workspace = settings.workspace()
    workspace.require_no_stop()  # before anybody types
    old = edit.header(workspace, patch)
    handle, name = tempfile.mkstemp(prefix="pq-header-", suffix=".txt")
    place = Path(name)
    with os.fdopen(handle, "wb") as file:
        file.write(old or template)
    try:
        click.edit(filename=name)
        new = place.read_bytes()
        code = EXIT_CODES[edit.set_header(settings.workspace(), patch, lambda _: new, settings.report, old=old)]
    except NothingToDo:
        place.unlink()
        raise
    except (PqError, click.ClickException) as error:
        if isinstance(error, PqError):
            error.hint = f"what you wrote is in {place}"
        raise
    place.unlink()
    return code


def _colored(content: bytes) -> bytes:
    """The colours of git."""
    shown = {b"diff --git": "1", b"index ": "1", b"--- ": "1", b"+++ ": "1", b"@@ ": "36", b"+": "32", b"-": "31"}
    lines = []
    for line in content.splitlines(keepends=True):
        code = next((code for mark, code in shown.items() if line.startswith(mark)), None)
        bare = line.removesuffix(b"\n")
        lines.append(line if code is None else b"\x1b[" + code.encode() + b"m" + bare + b"\x1b[0m" + line[len(bare) :])
    return b"".join(lines)
