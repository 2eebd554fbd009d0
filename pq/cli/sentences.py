"""Every sentence about what commands do and find. What is said of refusals stands beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pq.core import ledger
from pq.core.rules import CODES
from pq.engine import check_events, events
from pq.engine.events import Edited, Event
from pq.errors import ParseError, PqError

if TYPE_CHECKING:
    from pq.core.ledger import Ledger
    from pq.core.lint import Fault
    from pq.core.patch import FilePatch
    from pq.core.placement import Placed
    from pq.engine.apply import Failed
    from pq.engine.lint import Linted
    from pq.engine.releases import Fetched, Release
    from pq.engine.setup import SetUp
    from pq.engine.status import PatchState, Status
    from pq.engine.verify import Verified
    from pq.engine.why import Why

_NAMED = 4


def error_lines(error: PqError) -> list[str]:
    """A refusal as people read it."""
    if isinstance(error, ParseError):
        lines = [f"pq: {error.file}:{error.line}: {error.fact}", f"    {error.text}"]
        if error.column is not None:
            lines.append("    " + " " * (error.column - 1) + "^")
    else:
        lines = [f"pq: {error.fact}"]
    return lines + ([f"hint: {error.hint}"] if error.hint else [])


def sentences(event: Event, *, verbose: bool) -> list[str]:
    """What is said of an event."""
    match event:
        case events.Recovered():
            return _recovered(event)
        case events.Applying():
            return _applying(event, verbose=verbose)
        case events.Refused(patch, file, failed):
            return _refused(patch, file, failed)
        case events.Unfit():
            return _unfit(event)
        case events.NotFolded(failed):
            return _not_folded(failed)
        case events.Stopped():
            return _stopped(event)
        case check_events.Rejected():
            return _rejected(event)
        case check_events.Faulty(faults):
            hint = "hint: pq lint, and pq verify, say more; git commit --no-verify commits it all the same"
            return ["pq: what is to be committed has faults", *(f"  {fault_line(each)}" for each in faults), hint]
        case check_events.NotVerified(series, because, hint):
            return [f"pq: Series {series} is not verified: {because}", *([f"hint: {hint}"] if hint else [])]
        case check_events.Verifying(series):
            return [f"Series {series}"]
        case check_events.CommitRejected(reasons):
            hint = "hint: git commit --no-verify commits it all the same; pq status keeps saying that it was not checked"
            return ["pq: the commit is rejected by hooks/pre-apply", *(f"  {line}" for line in reasons), hint]
        case check_events.CheckedInPart(left_out):
            return [f"pq: checked in part: {text}" for text in left_out]
        case check_events.NotTakenIn(because, hint):
            return [f"pq: the commit stands, but no patch is made of it: {because}", f"hint: {hint}"]
        case check_events.Noted(text):
            return [f"Checked: {text}"]
        case check_events.Passed(patches, whole):
            return [f"{'All checks' if whole else 'The checks that were made'} passed: {_names(patches)}"]
        case check_events.Unchecked(patches, asked):
            return [
                f"pq: NOT CHECKED{', as asked for' if asked else ' as it stands now'}: {_names(patches)}",
                "hint: pq check asks the hook about them",
            ]
        case events.BaseUnknown():
            return [
                "pq: --base holds none of the files of the patches, so it says nothing",
                "hint: is it the right folder, and -p the right number?",
            ]
        case events.Empty(patches):
            return [f"pq: there is no diff in {_names(patches)}"]
        case check_events.Stale(patches):
            return [
                f"pq: changed since it was pushed, and checked as it was then: {_names(patches)}",
                "hint: pq check PATCH checks the files as they are now",
            ]
        case events.Removing(patch):
            return [f"Removing patch {patch}"]
        case events.NowAt(patch, dry_run):
            words = f"at patch {patch}" if patch else None
            if dry_run:
                return [f"Would be {words}; nothing was changed" if words else "No patches would be applied; nothing was changed"]
            return [f"Now {words}" if words else "No patches applied"]
        case events.Progress(text):
            return [text]
        case events.Open() | events.NothingLeft() | events.WaitsAgain():
            return _waiting(event)
        case _:
            return _edited(event)


def _recovered(event: events.Recovered) -> list[str]:
    if event.moved:
        return [
            "pq: an interrupted command is left as it stands, since the branch was moved by other means",
            "hint: pq status says where it stands",
        ]
    lines = [f"pq: an interrupted command was {'taken back' if event.back else 'finished'}"]
    return lines + [f"pq: {path} was changed meanwhile and is left as it is" for path in event.left]


def _applying(event: events.Applying, *, verbose: bool) -> list[str]:
    lines = [f"Applying patch {event.patch}"]
    if event.empty:
        what = "holds text, but no diff" if event.text else "appears to be empty"
        return [*lines, f"Patch {event.patch} {what}, applied"]
    if verbose:
        lines += ["  its commit exists already"] if event.known else [f"  patching file {path}" for path, _ in event.placed]
    return lines + _moved(event.placed)


_STANDS = {True: "; it stands in the checkout", False: "; the checkout is not changed by it"}


def _rejected(event: check_events.Rejected) -> list[str]:
    codes = dict.fromkeys(str(code) for each in event.findings if (code := each.get("code")) in CODES)
    lines = [f"pq: Patch {event.patch} is rejected by hooks/pre-apply{_STANDS[event.applied]}"]
    lines += [f"  {line}" for line in event.reasons]
    if codes:
        lines.append(f"hint: where that is meant, Pq-Allow: {', '.join(codes)} above the patch's diff says so")
    return lines


def _waiting(event: events.Open | events.NothingLeft | events.WaitsAgain) -> list[str]:
    """What is said where a conflict waits still."""
    match event:
        case events.Open(marked, whole):
            lines = [f"pq: markers of the conflict stand in {path} still" for path in marked]
            lines += [f"pq: nobody has said what {path} is to be" for path in whole]
            return [*lines, *_one_side(whole), f"hint: {events.GO_ON}"]
        case events.NothingLeft(patch):
            what = f"patch {patch}" if patch else "the edits"
            return [
                f"pq: Nothing is left of {what}, as the files stand",
                "hint: pq continue --allow-empty, if that is meant; else pq abort",
            ]
        case events.WaitsAgain(title):
            return [f"pq: pq {title} waits again at its conflict, as you settled it", f"hint: {events.GO_ON}"]


def _edited(event: Edited) -> list[str]:
    """What is said where patches were edited, or an operation taken back."""
    match event:
        case events.Refreshed(patch, _, True):
            return [f"Nothing in patch {patch}"]
        case events.Refreshed(patch, changed):
            return [f"Refreshed patch {patch}" if changed else f"Patch {patch} is unchanged"]
        case events.CarriedOver(patch, empty):
            return [
                f"Patch {patch} was carried over"
                + ("; nothing is left of it, since all it did is there already" if empty else "")
            ]
        case events.Deleted(patch, file):
            return [f"Removed patch {patch}" + ("" if file else f" from the series; its file is still there: patches/{patch}")]
        case events.Renamed(patch, name):
            return [f"Patch {patch} renamed to {name}"]
        case events.HeaderReplaced(patch, appended):
            return [f"{'Appended text to' if appended else 'Replaced'} header of patch {patch}"]
        case events.Reverted(files):
            return [f"Changes to {file} reverted" for file in files]
        case events.Squashed(patch, others):
            return [f"Patch {patch} has taken in {_names(others)}"]
        case events.Spilled(patch, files):
            return [f"Changes to {file} are no longer in patch {patch}" for file in files]
        case events.Split(patch, name):
            return [f"Patch {name} was split off, below {patch}"]
        case events.Imported(patch):
            return [f"Importing patch {patch}"]
        case events.LeftOut(patch):
            return [f"Left out, since there is no diff in it: {patch}"]
        case events.Forked(patch, name):
            return [f"Fork of patch {patch} created as {name}"]
        case events.Left(files):
            return [f"Unrefreshed still: {file}" for file in files]
        case events.Repaired(adopted, refreshed, again_applied, dropped, left, taken_in):
            lines = [f"Patch {name} was made of a commit" for name in adopted]
            lines += [f"Patch {name} was written from its commit" for name in refreshed]
            lines += [f"Patch {name} was applied anew from its file" for name in again_applied]
            lines += [f"Patch {name} was taken off; the series no longer has it" for name in dropped]
            lines += [f"Patch {name} has taken in {other}" for name, other in taken_in]
            lines += [f"Patch {name} is not applied any more: it has no commit" for name in left]
            lines += ["hint: pq push applies it again, pq delete -r takes it out for good" for _ in left[:1]]
            return lines or ["Commits and series have the same order"]
        case events.Moved(off, on):
            lines = [f"Patch {name} is not applied any more: it has no commit" for name in off]
            return lines + [f"Patch {name} is applied again: its commit is there" for name in on]
        case events.Carried(patch, outcome, note):
            return [f"{patch}: {outcome}" + (f" ({note})" if note else "")]
        case events.Rebased(old, new, count, every, dry_run):
            how = "would be made" if dry_run else "is made"
            return [f"Series {new} {how} of {old}, with {count} of {every} patches" + (", all applied" if count else "")]
        case events.Undone(title, again):
            lines = [f"{'Did again' if again else 'Took back'}: {called(title)}"]
            if title.startswith("git ") and not again:
                lines.append("hint: git's own commits stand; pq repair makes patches of them again, git reset takes them back")
            return lines
        case events.Aborted(title):
            return [f"Took back: {called(title)}"]


def called(title: str) -> str:
    """What the command of an operation is called: pq's, or git's whose hook it was made by."""
    return title if title.startswith("git ") else f"pq {title}"


def _unfit(unfit: events.Unfit) -> list[str]:
    from pq.cli import refusals

    return refusals.unfit_lines(unfit)


def _not_folded(failed: Failed) -> list[str]:
    from pq.cli import refusals

    lines = refusals.misfit_lines("on standard input", failed, "nothing was changed", evidence=True)
    return [*lines, "hint: pq import - takes it in as a patch of its own"]


def _stopped(stopped: events.Stopped) -> list[str]:
    from pq.cli import refusals

    then = f"pq stopped there, with the conflict in {', '.join(stopped.marked + stopped.whole)}"
    lines = refusals.misfit_lines(stopped.patch, stopped.failed, then, release=stopped.release, lost=stopped.lost)
    leave = "" if stopped.release is None else "; pq rebase --skip leaves the patch out"
    return [*lines, *_one_side(stopped.whole), f"hint: {events.GO_ON}{leave}"]


def _one_side(paths: Sequence[str]) -> list[str]:
    said = "pq add, or git rm in the checkout, says that it is to be so; git checkout --ours or --theirs puts a side there that has one"
    return [f"  {path} holds one side of it: {said}" for path in paths]


def _moved(placed: Sequence[tuple[str, Placed]]) -> list[str]:
    from pq.cli import refusals  # loads the engine: not for commands that only pop or print names

    return [line for path, place in placed for line in refusals.moved_lines(path, place)]


def _refused(patch: str, file: str, failed: Failed) -> list[str]:
    from pq.cli import refusals

    return refusals.refusal_lines(patch, file, failed)


def status_lines(status: Status) -> list[str]:
    """The state of a workspace."""
    applied = [patch for patch in status.patches if patch.applied]
    lines = [
        f"Series {status.series} on {status.release} ({status.pin[:12]}), checkout {status.checkout}",
        f"{len(applied)} of {len(status.patches)} patches applied" + (f", now at patch {applied[-1].name}" if applied else ""),
    ]
    if status.ledger is not None:
        outcomes = Counter(line.outcome for line in status.ledger.lines)
        lines.append(f"Made of {status.ledger.origin}: {', '.join(f'{count} {outcome}' for outcome, count in outcomes.items())}")
    if (stopped := status.stopped) is not None:
        what = "the edits" if stopped.patch is None else f"patch {stopped.patch}"
        lines.append(f"Stopped at a conflict: pq {stopped.command}, of {what} in {', '.join(stopped.files)}")
        leave = "; pq rebase --skip leaves the patch out" if stopped.towards is not None else ""
        lines.append(f"hint: {events.SETTLED if stopped.settled else events.GO_ON}{leave}")
    unchecked = [patch.name for patch in applied if not patch.checked] if stopped is None else []
    if stopped is None and applied and not unchecked:
        lines.append("All applied patches passed the checks")
    lines += [f"Not checked as it stands: {name}" for name in unchecked]
    lines += [f"Unrefreshed: {path}" for path in status.unrefreshed]
    lines += [f"Changed since it was pushed: {name}" for name in status.edited]
    if status.edited:
        lines.append(f"hint: pq repair applies the files as they are now; so does {status.way_out}, then push")
    lines += [f"Commit changed by other means: {name}" for name in status.reworked]
    lines += ["hint: pq repair takes that into the files"] if status.reworked else []
    lines += [f"Not applied any more, since git took its commit off: {name}" for name in status.off]
    lines += ["hint: pq push applies it again; pq repair takes it as it stands"] if status.off else []
    lines += [status.disorder] if status.disorder else []
    lines += (
        [] if status.trusted else ["The hooks and checks of this queue are not trusted", "hint: pq trust shows them and asks"]
    )
    lines += [f"In the series, but without a file: {name}" for name in status.missing]
    lines += [f"In no series: {name}" for name in status.unlisted]
    return lines


def fault_line(fault: Fault) -> str:
    """A fault at its place."""
    at = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
    return f"{at}: {fault.severity}: {fault.fact} [{fault.code}]"


def lint_lines(found: Linted) -> list[str]:
    """The faults, each at its place, and how many there are."""
    lines = [f"Mended {file}" for file in found.fixed]
    if found.unfixed:
        lines.append(f"Not mended, for what they make can't be proven: {', '.join(found.unfixed)}")
        lines.append("hint: pq fetch gets a release that is missing; pq verify says which patch below does not apply")
    lines += map(fault_line, found.faults)
    if found.unproven:
        lines.append(f"Not compared with its release, which is not in the checkout: {', '.join(found.unproven)}")
    counted = f"{_count(found.patches, 'patch', 'patches')} of {found.series} series"
    warnings = len(found.faults) - found.errors
    lines.append(
        f"{_count(found.errors, 'error')}, {_count(warnings, 'warning')} in {counted}"
        if found.faults
        else f"No faults in {counted}"
    )
    fixable = sum(each.fixable for each in found.faults)
    return [*lines, f"hint: pq lint --fix mends {fixable} of them"] if fixable else lines


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def verified_lines(found: Verified) -> list[str]:
    """How each series ended."""
    words = {
        "done": "proven",
        "refused": "refused",
        "rejected": "rejected",
        "in part": "proven, but for the checks that were left out",
    }
    lines = [f"{each.series}: {words[each.ending]}, {_count(each.patches, 'patch', 'patches')}" for each in found.series]
    return [*lines, *(f"lint: {_count(found.errors, 'error')}" for _ in range(bool(found.errors)))]


def series_lines(patches: Sequence[PatchState], *, marks: bool) -> list[str]:
    """The patches, with quilt's marks if asked for: = top, + applied."""
    if not marks:
        return [patch.name for patch in patches]
    return [f"{'=' if patch.top else '+' if patch.applied else ' '} {patch.name}" for patch in patches]


def file_lines(files: Sequence[FilePatch], *, marks: bool) -> list[str]:
    """The files that a patch touches; with marks, what it does to them."""
    letters = {"create": "+", "delete": "-"}
    found = sorted({(file.path, letters.get(file.action, " ")) for file in files})
    return [f"{letter} {path}" if marks else path for path, letter in found]


def init_lines(made: Sequence[str]) -> list[str]:
    """What init made, and what comes next of a new queue."""
    return [*(f"Made {name}" for name in made), *(["Now pq setup fetches the release"] if "pq.toml" in made else [])]


def setup_lines(done: SetUp, workspace: str) -> list[str]:
    """What setup did."""
    lines = [f"Checkout {workspace} {'is ready' if done.checkout else 'was ready'}"]
    return [*lines, "The environment of the import check is built"] if done.environment else lines


def fetched_lines(found: Sequence[Fetched]) -> list[str]:
    """Which releases were fetched, and which were there."""
    return [f"Release {each.name} ({each.commit[:12]}) {'is fetched' if each.new else 'was there'}" for each in found]


def release_lines(found: Sequence[Release]) -> list[str]:
    """Releases, with marks: = the pin, + fetched."""
    return [f"{'=' if each.pin else '+' if each.commit else ' '} {each.name}" for each in found]


def why_lines(found: Why) -> list[str]:
    """What upstream did to what a patch stands on and uses."""
    from pq.cli import refusals

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


def _names(patches: Sequence[str]) -> str:
    return ", ".join(patches) if len(patches) <= _NAMED else f"{len(patches)} patches"
