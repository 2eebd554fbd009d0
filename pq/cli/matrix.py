"""The matrix of a forecast: as a table in a terminal, and as a page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from html import escape

from pq.cli import refusals
from pq.core.ledger import Outcome
from pq.engine.forecast import Cell, Forecast

SIGNS = {
    Outcome.IDENTICAL: "=",
    Outcome.MOVED: "·",
    Outcome.MERGED: "m",
    Outcome.STRUCTURED: "s",
    Outcome.REMEMBERED: "r",
    Outcome.LANDED: "L",
    Outcome.SKIPPED: "-",
    Outcome.CHANGED: "C",
    Outcome.CONFLICT: "X",
}
_NEWLINE = "\n"


def lines(forecast: Forecast) -> list[str]:
    """The table, what its signs mean, and why patches do not fit, each at the first release where it is so."""
    width = max(len(patch) for patch in forecast.patches)
    heads = [release.removeprefix("v") for release in forecast.releases]
    found = [" " * width + "".join(f"  {head}" for head in heads)]
    for patch in forecast.patches:
        cells = forecast.of(patch)
        signs = "".join(f"  {SIGNS[cell.outcome]:<{len(head)}}" for cell, head in zip(cells, heads, strict=True))
        found.append(f"{patch:<{width}}{signs}".rstrip())
    used = {cell.outcome for cell in forecast.cells}
    found.append("  ".join(f"{sign} {outcome}" for outcome, sign in SIGNS.items() if outcome in used))
    for patch in forecast.patches:
        for reasons, span in _spans(forecast.of(patch)):
            first, last = span[0].release, span[-1].release
            found += [f"{patch}, {first if first == last else f'{first} to {last}'}:", *(f"  {line}" for line in reasons)]
    return found


def why(cell: Cell) -> list[str]:
    """Why a patch does not fit, or what else there is to say."""
    if cell.failed is None:
        return [cell.note] if cell.note else []
    return refusals.misfit_lines(None, cell.failed, "", lost=cell.lost)[1:]


def _spans(cells: tuple[Cell, ...]) -> Iterator[tuple[list[str], list[Cell]]]:
    """Neighbouring releases on which a patch does not fit for the same reason. Lines move; what is gone does not."""
    looked = [(_reason(cell), cell) for cell in cells if cell.outcome.stops]
    for _, group in itertools.groupby(looked, key=lambda each: each[0]):
        span = [each for _, each in group]
        yield why(span[0]), span


def _reason(cell: Cell) -> object:
    refused = cell.failed.refusals if cell.failed is not None else ()
    return cell.outcome, cell.lost, tuple((each.path, each.refused.reason) for each in refused)


_STYLE = """
:root { color-scheme: light dark; --fg: #1d2126; --bg: #fff; --line: #d5d9de; --good: #d9f0dd; --look: #fbe7b2; --bad: #f6c9c4; --gone: #e3e6ea }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e4e7eb; --bg: #16191d; --line: #3a4048; --good: #1d4427; --look: #574616; --bad: #6b241d; --gone: #333941 } }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg) }
h1 { font-size: 1.25rem } h2 { font-size: 1rem; overflow-wrap: anywhere }
.scroll { overflow-x: auto; border: 1px solid var(--line) }
table { border-collapse: collapse; font-size: .85rem }
th, td { padding: .3rem .5rem; border: 1px solid var(--line); white-space: nowrap }
th[scope=row] { position: sticky; left: 0; background: var(--bg); text-align: left; font-weight: 400; max-width: 45vw; overflow: hidden; text-overflow: ellipsis }
td { text-align: center } td a { color: inherit; text-decoration: none; display: block }
.good { background: var(--good) } .look { background: var(--look) } .bad { background: var(--bad) } .gone { background: var(--gone) }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0 1rem; font-size: .85rem }
"""
_CLASSES = {Outcome.CONFLICT: "bad", Outcome.CHANGED: "bad", Outcome.STRUCTURED: "look", Outcome.LANDED: "gone"}


def html(forecast: Forecast) -> str:
    """One page that needs nothing else: the matrix, and below it why, patch by patch."""
    title = escape(f"Series {forecast.series} on later releases")
    used = [outcome for outcome in SIGNS if outcome in {cell.outcome for cell in forecast.cells}]
    legend = ", ".join(f"<b>{SIGNS[outcome]}</b> {outcome}" for outcome in used)
    heads = "".join(f'<th scope="col">{escape(release)}</th>' for release in forecast.releases)
    rows = "".join(_row(number, patch, forecast) for number, patch in enumerate(forecast.patches))
    reasons = "".join(_section(number, patch, forecast) for number, patch in enumerate(forecast.patches))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{title}</h1><p>Made for {escape(forecast.pin)}. {legend}.</p>\n"
        f'<div class="scroll"><table><thead><tr><th scope="row">patch</th>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n'
        f"{reasons}</body></html>\n"
    )


def _row(number: int, patch: str, forecast: Forecast) -> str:
    cells = "".join(
        f'<td class="{_CLASSES.get(cell.outcome, "good")}" title="{escape(_NEWLINE.join([str(cell.outcome), *why(cell)]))}">'
        + (
            f'<a href="#p{number}-{escape(cell.release)}">{SIGNS[cell.outcome]}</a></td>'
            if why(cell)
            else f"{SIGNS[cell.outcome]}</td>"
        )
        for cell in forecast.of(patch)
    )
    return f'<tr><th scope="row" title="{escape(patch)}">{escape(patch)}</th>{cells}</tr>\n'


def _section(number: int, patch: str, forecast: Forecast) -> str:
    told = [(cell, why(cell)) for cell in forecast.of(patch) if why(cell)]
    texts = "".join(
        f'<h3 id="p{number}-{escape(cell.release)}">{escape(cell.release)}: {cell.outcome}</h3><pre>{escape(_NEWLINE.join(lines))}</pre>\n'
        for cell, lines in told
    )
    return f"<h2>{escape(patch)}</h2>\n{texts}" if told else ""
