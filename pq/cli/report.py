"""Every sentence a user can see, and the JSON form of the same."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from pq.core.rules import CODES
from pq.engine import events
from pq.engine.events import Edited, Event
from pq.errors import ParseError, PqError

if TYPE_CHECKING:
    from pq.core.patch import FilePatch
    from pq.core.placement import Placed
    from pq.engine.apply import Failed
    from pq.engine.setup import SetUp
    from pq.engine.status import PatchState, Status

_NAMED = 4


@dataclass
class Report:
    """Where a command's events go: sentences as they come, or one JSON document at the end."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    said: list[Mapping[str, object]] = field(default_factory=list)
    lost: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Tell one event."""
        if self.as_json:
            if not isinstance(event, events.Progress):
                self.said.append({"event": type(event).__name__.lower(), **_plain(event)})
            return
        if isinstance(event, events.Progress):
            self.progress(event.text)
        elif isinstance(event, events.Problem):
            for line in sentences(event, verbose=self.verbose):
                self._say(line, err=True)
        elif not self.quiet:
            for line in sentences(event, verbose=self.verbose):
                self._say(line)

    def progress(self, text: str) -> None:
        """Tell a step of something long, on a terminal only."""
        if sys.stderr.isatty() and not self.quiet and not self.as_json:
            self._say(f"  {text}", err=True)

    def result(self, name: str, value: object, lines: Sequence[str]) -> None:
        """What a command that only reports has found."""
        if self.as_json:
            self.said.append({name: _jsonable(value)})
        else:
            for line in lines:
                self._say(line)

    def done(self, name: str, value: object, lines: Sequence[str]) -> None:
        """What a command has done; nothing when quiet."""
        self.result(name, value, () if self.quiet else lines)

    def problem(self, lines: Sequence[str]) -> None:
        """What went wrong, where the JSON form says it already."""
        if not self.as_json:
            for line in lines:
                self._say(line, err=True)

    def raw(self, content: bytes) -> None:
        """Bytes as they are."""
        self._write(content)

    def error(self, error: PqError) -> None:
        """A refusal: the fact, the place, the way out."""
        if self.as_json:
            self.said.append(
                {"event": "error", "fact": error.fact, "hint": error.hint, "exit_code": error.exit_code, **_place(error)}
            )
            return
        for line in error_lines(error):
            self._say(line, err=True)

    def ended(self, fact: str, exit_code: int) -> None:
        """How a command ended that was not refused in its own words, for the JSON document."""
        self.said.append({"event": "error", "fact": fact, "hint": None, "exit_code": exit_code})

    def _say(self, line: str, *, err: bool = False) -> None:
        self._write(line.encode("utf-8", "surrogateescape") + b"\n", err=err)

    def _write(self, content: bytes, *, err: bool = False) -> None:
        """Once nobody listens any more, the work goes on in silence; any other failure is kept, to be said at the end."""
        try:
            click.echo(content, nl=False, err=err)
        except OSError as error:
            self.lost = None if isinstance(error, BrokenPipeError) else error
            setattr(sys, "stderr" if err else "stdout", open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good

    def close(self) -> None:
        """Print the JSON document."""
        if self.as_json:
            merged: dict[str, object] = {}
            told: list[Mapping[str, object]] = []
            for item in self.said:
                if "event" in item:
                    told.append(item)
                else:
                    merged.update(item)
            if told:
                merged["events"] = told
            self._say(json.dumps(merged, indent=2, ensure_ascii=True))


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
        case events.Recovered(_, _, True):
            return [
                "pq: an interrupted command is left as it stands, since the branch was moved by other means",
                "hint: pq status says where it stands",
            ]
        case events.Recovered(back, left):
            lines = [f"pq: an interrupted command was {'taken back' if back else 'finished'}"]
            return lines + [f"pq: {path} was changed meanwhile and is left as it is" for path in left]
        case events.Applying(patch, known, placed, empty, text):
            lines = [f"Applying patch {patch}"]
            if empty:
                return [
                    *lines,
                    f"Patch {patch} holds text, but no diff, applied" if text else f"Patch {patch} appears to be empty, applied",
                ]
            if verbose:
                lines += ["  its commit exists already"] if known else [f"  patching file {path}" for path, _ in placed]
            return lines + _moved(placed)
        case events.Refused(patch, file, failed):
            return _refused(patch, file, failed)
        case events.Unfit():
            return _unfit(event)
        case events.NotFolded(failed):
            return _not_folded(failed)
        case events.Stopped():
            return _stopped(event)
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
        case events.Rejected(patch, reasons, findings):
            codes = dict.fromkeys(code for each in findings if (code := each.get("code")) in CODES)
            return [
                f"pq: Patch {patch} is rejected by hooks/pre-apply; the checkout is not changed by it",
                *(f"  {line}" for line in reasons),
                *(
                    [f"hint: where that is meant, Pq-Allow: {', '.join(map(str, codes))} above the patch's diff says so"]
                    if codes
                    else []
                ),
            ]
        case events.Noted(text):
            return [f"Checked: {text}"]
        case events.Passed(patches):
            return [f"All checks passed: {_names(patches)}"]
        case events.Unchecked(patches, asked):
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
        case events.Stale(patches):
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
        case _:
            return _edited(event)


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
        case events.Repaired(adopted, refreshed, again_applied, dropped, left):
            lines = [f"Patch {name} was made of a commit" for name in adopted]
            lines += [f"Patch {name} was written from its commit" for name in refreshed]
            lines += [f"Patch {name} was applied anew from its file" for name in again_applied]
            lines += [f"Patch {name} was taken off; the series no longer has it" for name in dropped]
            lines += [f"Patch {name} is not applied any more: it has no commit" for name in left]
            return lines or ["Commits and series have the same order"]
        case events.Carried(patch, outcome, note):
            return [f"{patch}: {outcome}" + (f" ({note})" if note else "")]
        case events.Rebased(old, new, count, every, dry_run):
            how = "would be made" if dry_run else "is made"
            return [f"Series {new} {how} of {old}, with {count} of {every} patches" + (", all applied" if count else "")]
        case events.Undone(title, again):
            return [f"{'Did again' if again else 'Took back'}: pq {title}"]
        case events.Aborted(title):
            return [f"Took back: pq {title}"]


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
    lines += [status.disorder] if status.disorder else []
    lines += [f"In the series, but without a file: {name}" for name in status.missing]
    lines += [f"In no series: {name}" for name in status.unlisted]
    return lines


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


def _place(error: PqError) -> dict[str, object]:
    if not isinstance(error, ParseError):
        return {}
    return {"file": error.file, "line": error.line, "column": error.column, "text": error.text}


def _plain(event: object) -> dict[str, object]:
    plain = _jsonable(event)
    return plain if isinstance(plain, dict) else {}


def _jsonable(value: object) -> object:
    """A value as JSON has it: file contents are left out, bytes become text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {each.name: _jsonable(getattr(value, each.name)) for each in fields if each.name not in ("content", "binary")}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    return value


def _names(patches: Sequence[str]) -> str:
    return ", ".join(patches) if len(patches) <= _NAMED else f"{len(patches)} patches"
