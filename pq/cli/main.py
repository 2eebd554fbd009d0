"""The group of commands, the options that all of them have, and exit codes."""

from __future__ import annotations

import datetime
import errno
import importlib
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import pq
from pq.cli.report import Report
from pq.errors import PqError

if TYPE_CHECKING:
    from pq.engine.workspace import Workspace

USAGE, BUG, INTERRUPTED = 64, 70, 130

_MODULES = {
    "pq.cli.move": ("push", "pop", "goto"),
    "pq.cli.names": ("top", "next", "previous", "series", "applied", "unapplied"),
    "pq.cli.look": ("files", "patches", "show", "status"),
    "pq.cli.checks": ("check", "verify", "lint"),
    "pq.cli.prepare": ("init", "setup", "trust"),
    "pq.cli.folder": ("apply",),
    "pq.cli.edit": ("new", "refresh", "diff", "delete", "rename", "header", "revert", "add", "edit", "remove", "snapshot"),
    "pq.cli.reorder": ("float", "sink", "squash", "spill", "split"),
    "pq.cli.intake": ("import", "fold", "fork"),
    "pq.cli.mail": ("mail",),
    "pq.cli.origins": ("annotate", "graph", "absorb", "grep"),
    "pq.cli.upstream": ("fetch", "releases", "rebase", "outcomes", "forecast", "range-diff", "why"),
    "pq.cli.hooks": ("hooks",),
    "pq.cli.history": ("undo", "redo", "log", "repair", "continue", "abort"),
}
COMMANDS = {name: module for module, names in _MODULES.items() for name in names}


@dataclass
class Settings:
    """What the common options and the environment say."""

    directory: Path = field(default_factory=Path)
    queue: Path | None = None
    series: str | None = None
    report: Report = field(default_factory=Report)
    words: Sequence[str] = ()
    trust: bool = False

    @property
    def start(self) -> Path:
        """The folder that pq works from."""
        return Path.cwd() / self.directory

    @property
    def title(self) -> str:
        """The command without the options that all have."""
        words, found = iter(self.words), list[str]()
        for word in words:
            if word in ("-C", "--directory", "--queue", "--series"):
                next(words, None)
            elif word not in ("-q", "--quiet", "-v", "--verbose", "--json", "--no-daemon", "--trust"):
                found.append(word)
        return " ".join(found)

    @property
    def trusted(self) -> str | None:
        """The digest that the user trusts for this command."""
        return os.environ.get("PQ_TRUST")

    def workspace(self) -> Workspace:
        """The workspace around that folder."""
        from pq.engine.workspace import open_workspace

        named = self.queue or (Path(os.environ["PQ_QUEUE"]) if os.environ.get("PQ_QUEUE") else None)
        series = self.series or os.environ.get("PQ_SERIES") or None
        workspace = open_workspace(
            self.start,
            queue_root=self.start / named if named else None,
            series_name=series,
            title=self.title,
            trusted=self.trusted,
        )
        if self.trust:
            from pq.engine import trust

            trust.ensure(workspace)
        workspace.settle(self.report)
        return workspace


def today() -> datetime.date:
    """The day that it is."""
    return datetime.datetime.now(tz=datetime.UTC).date()


def _common() -> list[click.Parameter]:
    """The options that stand before or behind any command."""

    def setting(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
            settings = context.ensure_object(Settings)
            if not value:
                return
            if name == "no_daemon":
                os.environ["PQ_NO_DAEMON"] = "1"  # the hook asks, and it may be anyone's
                return
            target = settings.report if name in ("quiet", "verbose", "as_json") else settings
            setattr(target, name, value)

        return keep

    folder = click.Path(path_type=Path)
    options: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
        (("-q", "--quiet"), "quiet", {"is_flag": True, "help": "Say nothing but what went wrong."}),
        (("-v", "--verbose"), "verbose", {"is_flag": True, "help": "Say more."}),
        (("--json",), "as_json", {"is_flag": True, "help": "Print one JSON document on standard output."}),
        (
            ("-C", "--directory"),
            "directory",
            {
                "type": click.Path(path_type=Path, exists=True, file_okay=False),
                "metavar": "DIR",
                "help": "Work as if started in DIR.",
            },
        ),
        (
            ("--queue",),
            "queue",
            {"type": folder, "metavar": "DIR", "help": "The queue; else the nearest pq.toml upwards, or PQ_QUEUE."},
        ),
        (("--series",), "series", {"metavar": "NAME", "help": "The series; else pq.toml's, or PQ_SERIES."}),
        (
            ("--trust",),
            "trust",
            {"is_flag": True, "help": "Trust the hooks and checks of the queue as they are now; see pq trust."},
        ),
        (("--no-daemon",), "no_daemon", {"is_flag": True, "help": "Import in a fresh process, and leave none behind."}),
    ]
    return [
        click.Option([*names, f"common_{target}"], expose_value=False, callback=setting(target), **keywords)
        for names, target, keywords in options
    ]


class Command(click.Command):
    """A command with the common options."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += _common()


class Group(click.Group):
    """Loads the module of a command when it is asked for, and knows a command by any unique prefix."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += _common()

    def list_commands(self, _: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, or with this beginning of one."""
        matches = [cmd_name] if cmd_name in COMMANDS else sorted(name for name in COMMANDS if name.startswith(cmd_name))
        if len(matches) > 1:
            ctx.fail(f"'{cmd_name}' is ambiguous: {', '.join(matches)}")
        if not matches:
            return None
        found = getattr(importlib.import_module(COMMANDS[matches[0]]), f"{matches[0].replace('-', '_')}_command")
        assert isinstance(found, click.Command)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click, with the whole name of the command."""
        _, command, rest = super().resolve_command(ctx, args)
        return command.name if command else None, command, rest


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pq.__version__, prog_name="pq", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A patch queue in the style of quilt, with git under it."""
    context.ensure_object(Settings)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code."""
    settings = Settings(words=arguments)
    code = _run(arguments, settings)
    settings.report.close()
    if (lost := settings.report.lost) is not None:
        click.echo(f"pq: the output could not be written: {lost.strerror or lost}; what the command did is done", err=True)
        return code or 1
    return code


def _run(arguments: Sequence[str], settings: Settings) -> int:
    try:
        code = cli.main(list(arguments), prog_name="pq", standalone_mode=False, obj=settings)
        return code if isinstance(code, int) else 0
    except PqError as error:
        settings.report.error(error)
        return error.exit_code
    except click.UsageError as error:
        error.show()
        settings.report.as_json = settings.report.as_json or "--json" in arguments
        settings.report.ended(error.format_message(), USAGE)
        return USAGE
    except click.ClickException as error:
        error.show()
        return 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("pq: interrupted", err=True)
        settings.report.ended("interrupted", INTERRUPTED)
        return INTERRUPTED
    except OSError as error:
        settings.report.error(PqError(_os_fact(error), hint=_OS_HINTS.get(error.errno or 0)))
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug is said to be one
        if (fact := _git_fact(error)) is not None:
            settings.report.error(PqError(fact, hint="git fsck in the checkout says more"))
            return 1
        traceback.print_exc()
        click.echo("pq: this is a bug in pq; nothing that it had not finished was kept", err=True)
        settings.report.ended(f"a bug in pq: {type(error).__name__}: {error}", BUG)
        return BUG


_OS_HINTS = {
    errno.ENOSPC: "make room on the disk and run the command again",
    errno.EROFS: "the place can't be written; is it mounted read-only?",
    errno.EACCES: "see who owns the file",
    errno.EFBIG: "a limit on file sizes is in force (ulimit -f)",
}


def _git_fact(error: Exception) -> str | None:
    """What libgit2 says of a broken repository; None for any other error."""
    from pq.repo.git import LibraryError

    return f"git: {error}" if isinstance(error, LibraryError) else None


def _os_fact(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what
