"""Faults of the text of a patch, and the text without those that have one right answer. What takes a tree to see is in `pq.engine.lint`.

Codes, of errors: `unreadable`, `unsafe-path`, `counts`, `crlf`, `stripped-context`, `left-behind`, `review-date`; and, of series and queue,
`series-line`, `listed-twice`, `missing`, `unlisted`, `does-not-apply`. Of warnings: `no-description`, `no-diff`, `overdue`, `stale-base`, `scope-line`.
"""

from __future__ import annotations

import contextlib
import datetime
import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pq.core import header, patch_reader, paths
from pq.core.lines import Lines, split_lines
from pq.core.patch import Patch
from pq.errors import ParseError

_HUNK = re.compile(rb"(@@ -)(\d{1,18})(?:,(\d{1,18}))?( \+)(\d{1,18})(?:,(\d{1,18}))?( @@)")
_ENDS_A_HUNK = (b"@@ -", b"diff --git ", b"Index: ", b"-- \n")
_REVIEW = re.compile(rb"^Pq-Review-By:[ \t]*([^\r\n]*?)[ \t\r]*$", re.MULTILINE)
_LEFT = (".orig", ".rej")


class Severity(enum.StrEnum):
    """An error makes a patch, or a series, something else than what was meant; a warning is to be looked at."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: where it stands (`line` counts from 1), and whether there is one right answer to it (`fixable`)."""

    code: str
    fact: str
    file: str
    line: int | None = None
    severity: Severity = Severity.ERROR
    fixable: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """The faults of a patch file, what it says as far as it can be read, and its text without those that are fixable."""

    faults: tuple[Fault, ...]
    patch: Patch | None
    fixed: bytes


def look(data: bytes, *, file: str, strip: int, today: datetime.date) -> Looked:
    """Look at a patch file. `file` names it, `strip` is the -p of its paths."""
    faults: list[Fault] = []
    fixed = data
    if first := _crlf(data):
        fixed = data.replace(b"\r\n", b"\n")
        whole = all(line.endswith(b"\r\n") for line in split_lines(data)) and not _crlf(fixed)
        fact = "the diff's own lines end in CRLF" + ("" if whole else ", but not all of the file's do")
        faults.append(Fault("crlf", fact, file, first, fixable=whole))
        fixed = fixed if whole else data
    try:
        patch, wrong = _read(fixed, file, strip)
    except ParseError as error:
        unfixed = (replace(each, fixable=False) for each in faults)
        return Looked((*unfixed, Fault(error.code, error.fact, file, error.line)), None, data)
    faults += [Fault("counts", "the @@ line counts other lines than there are", file, number, fixable=True) for number in wrong]
    fixed = patch.raw
    if stripped := _stripped(fixed, patch):
        fact = f"{len(stripped)} empty context {'line has' if len(stripped) == 1 else 'lines have'} lost the space"
        faults.append(Fault("stripped-context", fact, file, min(stripped), fixable=True))
        lines = split_lines(fixed)
        last = len(lines) + 1
        fixed = b"".join(b" \n" if number in stripped else line for number, line in enumerate(lines, 1))
        fixed += b" \n" * sum(number >= last for number in stripped)
    faults += _metadata(patch, file, today)
    if data.strip() and not patch.files:
        faults.append(Fault("no-diff", "it holds text, but no diff", file, severity=Severity.WARNING))
    faults += [
        Fault("left-behind", f"it adds {each.path}, which a tool has left behind", file, each.line)
        for each in patch.files
        if each.path.endswith(_LEFT)
    ]
    return Looked(tuple(faults), patch, fixed)


def with_headings(data: bytes, headings: Mapping[int, str]) -> bytes:
    """A patch with another text behind `@@ … @@` at these lines, which count from 1."""
    lines = list(split_lines(data))
    for number, text in headings.items():
        found = _HUNK.match(lines[number - 1])
        assert found is not None
        ending = b"\r\n" if lines[number - 1].endswith(b"\r\n") else b"\n"
        lines[number - 1] = found[0] + (b" " + paths.raw(text) if text else b"") + ending
    return b"".join(lines)


def _read(data: bytes, file: str, strip: int) -> tuple[Patch, tuple[int, ...]]:
    """The patch, with the counts in its @@ lines made right where it can't be read otherwise; the lines with those. Raises ParseError."""
    try:
        return patch_reader.read(data, file=file, strip=strip), ()
    except ParseError:
        lines = split_lines(data)
        counted = _recounted(lines)
        wrong = tuple(number for number, line in counted.items() if line != lines[number - 1])
        with contextlib.suppress(ParseError):
            return patch_reader.read(b"".join(counted.values()), file=file, strip=strip), wrong
        raise


def _crlf(data: bytes) -> int | None:
    """The first of the diff's own lines that ends in CRLF."""
    lines = split_lines(data)
    numbers = (number for number, line in enumerate(lines, 1) if line.endswith(b"\r\n") and _HUNK.match(line))
    return next(numbers, None)


def _recounted(lines: Lines) -> dict[int, bytes]:
    """The lines by number, with the counts in @@ lines as there are lines below them.

    Where lines are missing on both sides, or at the end of the file, the hunk may have been cut: what it counts is the truth then.
    """
    found = dict(enumerate(lines, 1))
    for number, line in found.items():
        if (hunk := _HUNK.match(line)) is None:
            continue
        body = _body(lines, number)
        old, new = (sum(each[:1] in (mark, b" ", b"\n") for each in body) for mark in (b"-", b"+"))
        sides = [b"%s,%d" % (start, count) for start, count in ((hunk[2], old), (hunk[5], new))]
        missing = [counted < int(said or 1) for counted, said in ((old, hunk[3]), (new, hunk[6]))]
        cut = all(missing) or (any(missing) and number + len(body) == len(lines))
        if not cut and (old, new) != (int(hunk[3] or 1), int(hunk[6] or 1)):
            found[number] = hunk[1] + sides[0] + hunk[4] + sides[1] + hunk[7] + line[hunk.end() :]
    return found


def _body(lines: Lines, number: int) -> Lines:
    """The lines of the hunk whose @@ line has this number. Empty lines at its end are those between it and what follows."""
    end = number
    while end < len(lines):
        line = lines[end]
        starts_file = line.startswith(b"--- ") and end + 1 < len(lines) and lines[end + 1].startswith(b"+++ ")
        if starts_file or line.startswith(_ENDS_A_HUNK) or line[:1] not in (b" ", b"+", b"-", b"\\", b"\n"):
            break
        end += 1
    while end > number and lines[end - 1] == b"\n":
        end -= 1
    return lines[number:end]


def _stripped(data: bytes, patch: Patch) -> set[int]:
    """The numbers of the context lines whose space is gone; behind the last line, of those that were trimmed."""
    lines = split_lines(data)
    found: set[int] = set()
    for hunk in (hunk for file in patch.files for hunk in file.hunks):
        old, new, at = len(hunk.old), len(hunk.new), hunk.line
        while old > 0 or new > 0:
            line = lines[at] if at < len(lines) else b"\n"
            mark = b" " if line in (b"\n", b"\r\n") else line[:1]
            old -= mark in (b" ", b"-")
            new -= mark in (b" ", b"+")
            at += 1
            if line == b"\n":
                found.add(at)
    return found


def _metadata(patch: Patch, file: str, today: datetime.date) -> Iterator[Fault]:
    if not header.read(patch.header).subject:
        yield Fault("no-description", "nothing above the diff says what it is for", file, 1, Severity.WARNING)
    for found in _REVIEW.finditer(patch.header):
        line = patch.header[: found.start()].count(b"\n") + 1
        said = paths.text(found[1])
        try:
            date = datetime.date.fromisoformat(said)
        except ValueError:
            yield Fault("review-date", f"Pq-Review-By takes a date such as 2026-12-31, not {said!r}", file, line)
            continue
        if date < today:
            yield Fault("overdue", f"it was to be reviewed by {date}", file, line, Severity.WARNING)
