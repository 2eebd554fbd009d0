"""The sentences about places: where hunks came to stand, and why a patch is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pq.core.placement import How, Landed, Placed, Reason, Refused
from pq.engine.apply import Failed, Refusal
from pq.engine.events import Ending, PatchEnding, Unfit
from pq.engine.lost import Lost

_SHOWN_LINES = 8
_SHOWN_WIDTH = 100


def refusal_lines(patch: str, file: str, failed: Failed, *, reverse: bool = False) -> list[str]:
    """Why a patch does not belong there."""
    if failed.landed:
        return [
            f"pq: Patch {patch} has landed: all it does is in the tree already (it can be reverse-applied)",
            "hint: take its line out of the series",
        ]
    lines = [f"pq: Patch {patch} does not apply; none of its files was changed"]
    for refusal in failed.refusals:
        lines += [f"  {line}" for line in _refused(refusal, file, reverse=reverse)]
    if failed.fitting:
        lines.append(f"  ({failed.fitting} other {'file fits' if failed.fitting == 1 else 'files fit'})")
    if all(refusal.refused.reason is Reason.MISSING for refusal in failed.refusals):
        lines.append("hint: -p says how many leading folders the paths of a patch lose; a series has it behind the patch's name")
    return lines


def unfit_lines(unfit: Unfit) -> list[str]:
    """Why a patch, or the edits, can't be put where a command would put them."""
    patch, failed = unfit.patch, unfit.failed
    lines = misfit_lines(patch, failed, "nothing was changed", evidence=True, release=unfit.release, lost=unfit.lost)
    lines += ["  together the patches would make something else of the files"] if failed is None else []
    if unfit.release is not None:
        way = "without -n, pq rebase stops there, with the conflict in the files" if unfit.dry_run else "no file can show that"
        return [*lines, f"hint: {way}; --without {patch} leaves the patch out"]
    way = "refresh that one" if patch is None else "pq squash makes one of two that belong together"
    return [*lines, f"hint: pq annotate FILE says which patch made the lines; {way}"]


def misfit_lines(
    patch: str | None,
    failed: Failed | None,
    then: str,
    *,
    evidence: bool = False,
    release: str | None = None,
    lost: Sequence[Lost] = (),
) -> list[str]:
    """That a patch, or the edits, do not fit (on a release), what came of it, and why."""
    where = "where it would stand" if release is None else f"on {release}"
    what = "The edits do not fit there" if patch is None else f"Patch {patch} does not fit {where}"
    lines = [f"pq: {what}; {then}"]
    for refusal in failed.refusals if failed is not None else ():
        at = f"{refusal.path}:{refusal.refused.lines[0]}" if refusal.refused.lines else refusal.path
        lines.append(f"  {at}: {_because(refusal.refused)}")
        lines += [f"    {line}" for line in lost_lines(each for each in lost if each.path == refusal.path)]
        shows = evidence or refusal.refused.reason is Reason.THERE
        lines += [f"  {line}" for line in _evidence(refusal.refused)] if shows else []
    return lines


def lost_lines(lost: Iterable[Lost]) -> list[str]:
    """What a patch does not find any more, since when, and where the same name stands."""
    lines = []
    for each in lost:
        if not each.text:
            lines.append(f"{each.path} is gone since {each.release}")
            continue
        text = each.text if len(each.text) <= _SHOWN_WIDTH else f"{each.text[: _SHOWN_WIDTH - 1]}…"
        lines.append(f"gone since {each.release}: {text}")
        lines += [f"{each.name} is named now at {', '.join(each.now)}"] if each.now else []
    return lines


def moved_lines(path: str, placed: Placed) -> list[str]:
    """quilt's words for hunks that do not stand at their stated lines."""
    lines = []
    for hunk in placed.hunks:
        if hunk.landed is Landed.WHOLE:
            lines.append(f"  {path}: hunk {hunk.hunk} is there already")
            continue
        if hunk.landed is Landed.PARTLY:
            lines.append(f"  {path}: a part of hunk {hunk.hunk} is there already; the rest is applied")
        remarks = [f"offset {hunk.offset} {'line' if abs(hunk.offset) == 1 else 'lines'}"] if hunk.offset else []
        remarks += [f"FUZZ {hunk.fuzz}"] if hunk.fuzz else []
        remarks += ["merged three-way"] if placed.how is How.MERGED and hunk.offset else []
        remarks += ["merged by structure"] if placed.how is How.STRUCTURED else []
        if remarks:
            lines.append(f"  {path}: hunk {hunk.hunk} succeeded at {hunk.line} ({', '.join(remarks)})")
    return lines


def ending_lines(endings: Sequence[PatchEnding], *, reverse: bool) -> list[str]:
    """Which patches of `pq apply` are in the folder, or would be."""
    done = "taken back" if reverse else "applied"
    all_fit = all(ending.ending in (Ending.FITS, Ending.ALREADY) for ending in endings)
    words = {
        Ending.APPLIED: done,
        Ending.FITS: f"would be {done}" if all_fit else f"fits, but is not {done}",
        Ending.ALREADY: f"already {done}",
    }
    lines: list[str] = []
    for ending in endings:
        lines += [f"{ending.patch}: {words[ending.ending]}"] if ending.ending in words else []
        lines += [line for path, placed in ending.placed for line in moved_lines(path, placed)]
    return lines


def problem_lines(endings: Sequence[PatchEnding], *, based: bool, reverse: bool) -> list[str]:
    """Why `pq apply` changed nothing."""
    lines: list[str] = []
    for ending in endings:
        if ending.ending is Ending.CONFLICT and ending.failed is not None:
            lines += refusal_lines(ending.patch, ending.patch, ending.failed, reverse=reverse)
            lines += [] if based else _base_hint(ending.failed)
        elif ending.ending is Ending.REJECTED:
            lines.append(f"pq: Patch {ending.patch} is rejected; nothing was changed")
            lines += [f"  {line}" for finding in ending.findings for line in finding.lines()]
    return lines


def _base_hint(failed: Failed) -> list[str]:
    """The way out where hunks were searched for because nothing was known."""
    searched = (Reason.NO_PLACE, Reason.AMBIGUOUS, Reason.NO_CONTEXT)
    if not any(refusal.refused.reason in searched for refusal in failed.refusals):
        return []
    return ["hint: --base says what the patch was made against, so that it is carried over"]


def _refused(refusal: Refusal, patch_file: str, *, reverse: bool) -> list[str]:
    refused = refusal.refused
    hunk = refused.hunk
    where = f"hunk {hunk.number} ({patch_file}:{hunk.line})" if hunk else "the patch"
    at = f"{refusal.path}:{refused.lines[0]}" if refused.lines else refusal.path
    because = "it is not there" if reverse and refused.reason is Reason.LANDED else _because(refused)
    return [f"{at}: {where}: {because}", *_evidence(refused)]


def _because(refused: Refused) -> str:
    detail = refused.detail
    match refused.reason:
        case Reason.CONFLICT:
            return "these lines were changed since the patch was made"
        case Reason.NO_PLACE:
            return detail or "its lines stand nowhere in this file; the nearest place differs"
        case Reason.AMBIGUOUS:
            return f"its lines stand at {len(refused.lines)} places, and nothing says which is meant: lines {', '.join(map(str, refused.lines))}{f'; {detail}' if detail else ''}"
        case Reason.NO_CONTEXT:
            return "it has no line that could say where it belongs"
        case Reason.WRONG_RESULT:
            return f"the result is not the file that its index line names ({detail[:12]}): the patch was edited or cut after it was written; if the edit is meant, take its index line out"
        case Reason.LANDED:
            return "it is there already"
        case Reason.EXISTS:
            return f"{detail} stands in the way"
        case Reason.MISSING:
            return "there is no such file"
        case Reason.THERE:
            return f"{detail}; take it out of the patch if it is the same, or what is left of it"
        case Reason.DIFFERS | Reason.MOVED:
            return detail
        case Reason.UNSAFE:
            return f"{detail}, and no patch writes through one"


def _evidence(refused: Refused) -> list[str]:
    """Expected lines beside found ones, where both are known."""
    if refused.reason is Reason.THERE and refused.found:
        return [*_block("the patch adds", refused.expected), *_block("there is", refused.found)]
    if refused.reason not in (Reason.CONFLICT, Reason.NO_PLACE) or not (refused.expected or refused.found):
        return []
    pairs = zip(refused.expected, refused.found, strict=False)
    same = next((number for number, (one, other) in enumerate(pairs) if one != other), 0)
    start = max(same - _SHOWN_LINES // 2, 0)  # what differs is to be seen
    return [*_block("expected", refused.expected[start:]), *_block("found", refused.found[start:])]


def _block(title: str, lines: Sequence[bytes]) -> list[str]:
    shown = [f"    | {line.decode('utf-8', 'replace')}".rstrip() for line in lines[:_SHOWN_LINES]]
    more = [f"    | … {len(lines) - _SHOWN_LINES} more"] if len(lines) > _SHOWN_LINES else []
    return [f"  {title}:", *(shown or ["    | (nothing)"]), *more]
