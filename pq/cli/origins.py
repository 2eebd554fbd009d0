"""Commands about where lines come from."""

from __future__ import annotations

import click

from pq.cli.edit import named_paths
from pq.cli.main import Command, Settings
from pq.cli.move import EXIT_CODES
from pq.engine import origins


@click.command("annotate", cls=Command)
@click.argument("file")
@click.option("-P", "patch", metavar="PATCH", help="As the patches up to this one make it.")
@click.pass_obj
def annotate_command(settings: Settings, file: str, patch: str | None) -> None:
    """Print FILE, each line with the number of the applied patch that it comes from, or with ! if it is not refreshed."""
    workspace = settings.workspace()
    (path,) = named_paths(settings, workspace, (file,))
    found = origins.annotate(workspace, path, patch)
    numbers = {name: number for number, name in enumerate(workspace.stack.applied, 1)}
    used = sorted({numbers[each.patch] for each in found if each.patch is not None})
    lines = []
    for each in found:
        number = "!" if each.unrefreshed else "" if each.patch is None else numbers[each.patch]
        lines.append(f"{number}\t{each.line.decode('utf-8', 'surrogateescape')}".removesuffix("\n"))
    legend = [f"{number}\t{workspace.stack.applied[number - 1]}" for number in used]
    settings.report.result("lines", found, [*lines, *(["", *legend] if legend else [])])


@click.command("graph", cls=Command)
@click.option(
    "--lines",
    "context",
    is_flag=False,
    flag_value=2,
    type=click.IntRange(0),
    metavar="[N]",
    help="By lines at most N (2) apart, not by files.",
)
@click.option("--reduce", is_flag=True, help="Leave out what follows from the rest.")
@click.option("--edge-labels", "labels", type=click.Choice(["files"]), help="Write the files beside the arrows.")
@click.pass_obj
def graph_command(settings: Settings, context: int | None, reduce: bool, labels: str | None) -> None:
    """Print which applied patch needs which, for dot: an arrow leads to the patch that is needed."""
    workspace = settings.workspace()
    found = origins.dependencies(workspace, by_lines=context is not None, context=context or 0)
    found = origins.reduced(found) if reduce else found
    nodes = {name: f"n{number}" for number, name in enumerate(workspace.stack.applied)}
    lines = ["digraph dependencies {", *(f"\t{node} [label={_quoted(name)}];" for name, node in nodes.items())]
    for each in found:
        label = f" [label={_quoted(', '.join(each.files))}]" if labels else ""
        lines.append(f"\t{nodes[each.patch]} -> {nodes[each.needs]}{label};")
    settings.report.result("dependencies", found, [*lines, "}"])


@click.command("absorb", cls=Command)
@click.argument("files", nargs=-1, metavar="[FILE...]")
@click.pass_obj
def absorb_command(settings: Settings, files: tuple[str, ...]) -> int:
    """Put each unrefreshed change into the applied patch that its lines come from; the rest stays."""
    workspace = settings.workspace()
    return EXIT_CODES[origins.absorb(workspace, named_paths(settings, workspace, files), settings.report)]


@click.command("grep", cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[OPTIONS] PATTERN [FILE...]")
@click.pass_obj
def grep_command(settings: Settings, words: tuple[str, ...]) -> int:
    """Search the files of the checkout, as git grep does; its options pass through."""
    return settings.workspace().checkout.grep(words)


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
