"""The sentences about upstream's releases, and about what patches make of them."""

from __future__ import annotations

from collections.abc import Sequence

from pq.cli import refusals
from pq.core import ledger
from pq.core.ledger import Ledger
from pq.engine.releases import Fetched, Release
from pq.engine.why import Why


def fetched_lines(found: Sequence[Fetched]) -> list[str]:
    """Which releases were fetched, and which were there."""
    return [f"Release {each.name} ({each.commit[:12]}) {'is fetched' if each.new else 'was there'}" for each in found]


def release_lines(found: Sequence[Release]) -> list[str]:
    """Releases, with marks: = the pin, + fetched."""
    return [f"{'=' if each.pin else '+' if each.commit else ' '} {each.name}" for each in found]


def why_lines(found: Why) -> list[str]:
    """What upstream did to what a patch stands on and uses."""
    note = f" ({found.note})" if found.note else ""
    lines = [f"{found.patch} on {found.release}: {found.outcome}{note}"]
    lines += [f"  {old} is {new} now" for new, old in found.renamed.items() if not note]
    lines += [f"  {each.path}: {line}" for each in found.lines for line in refusals.lost_lines([each])]
    for each in found.touched:
        what = "uses" if each.uses else "stands in"
        at = each.now or f"{each.path}, where it is no more"
        lines.append(f"  it {what} {each.name} ({at}), changed in {', '.join(each.releases)}")
    return lines if len(lines) > 1 else [*lines, "  upstream changed nothing that it stands in or uses"]


def outcome_lines(found: Ledger, series: str, *, markdown: bool) -> list[str]:
    """What became of the patches that a series was made of."""
    if markdown:
        return list(ledger.markdown(found, f"{found.origin} to {series}"))
    return [f"{line.patch}: {line.outcome}" + (f" ({line.note})" if line.note else "") for line in found.lines]
