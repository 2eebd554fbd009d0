r"""The series file: which patches, in which order, made for which release.

Grammar, line by line (quilt's, with mq's guards; patch names are bytes up to the first blank)::

    file    = [ byte order mark ] { line }
    line    = blanks | blanks comment | blanks NAME { blanks option } [ blanks comment ]
    option  = "-p0" | "-p1" | "-p" DIGITS | "-pab" | "-R" | OTHER     (OTHER begins with "-" and is kept, not used;
              "--strip=" is "-p", "--reverse" is "-R", and "-Rp1" is both)
    comment = "#" anything          a comment word "#+NAME" or "#-NAME" behind a patch is a guard
    blanks  = { SPACE | TAB | FORM FEED | VERTICAL TAB | CR }

A `#` inside a word belongs to the word. The pin stands in a header comment, once: `# pq-pin: v0.5.9 <commit id>`.
What is not edited keeps its bytes: `Series.render` of `read` is the identity.
"""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pq.core.lines import split_lines
from pq.errors import ParseError, PqError

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\f\v\r"
_WORD = re.compile(rb"[^ \t\f\v\r\n]+")
_PIN = re.compile(rb"#\s*pq-pin:\s*(?P<release>\S+)(?:\s+(?P<commit>[0-9a-f]{40}))?\s*$")
_PIN_LINE = re.compile(rb"#\s*pq-pin:")
_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]*")
_STRIP = re.compile(r"(?:-R?p|--strip=)([0-9]{1,3}|ab)")


@dataclass(frozen=True, slots=True)
class Guard:
    """mq's `#+name` (apply only if selected) or `#-name` (apply unless selected)."""

    name: str
    positive: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One patch of the series, as its line says. `line` counts from 1; `strip` is patch's -p."""

    name: str
    line: int
    strip: int = 1
    reverse: bool = False
    options: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()

    def forward(self) -> Entry:
        """The entry of the patch written anew: as it stands, with -p1."""
        return replace(self, strip=1, reverse=False)

    def selected(self, selected: frozenset[str]) -> bool:
        """True when the guards let the patch through: no negative one is selected, and a positive one if there are any."""
        positive = [guard.name for guard in self.guards if guard.positive]
        if any(guard.name in selected for guard in self.guards if not guard.positive):
            return False
        return not positive or any(name in selected for name in positive)


@dataclass(frozen=True, slots=True)
class Pin:
    """The release a series is made for: its name, and the commit where the series says one."""

    release: str
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A series file: its lines with their endings, and what they mean."""

    lines: tuple[bytes, ...]
    entries: tuple[Entry, ...]
    pin: Pin | None

    def render(self) -> bytes:
        """The bytes of the file."""
        return b"".join(self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        """The patch names in order."""
        return tuple(entry.name for entry in self.entries)

    def entry(self, name: str) -> Entry:
        """The entry of a patch; PqError where the series does not list it."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise PqError(f"Patch {name} is not in series", hint="pq series lists the patches")

    def find(self, given: str) -> str:
        """The patch a user means: `patches/` in front, folders and the suffix may be left out, if that is unambiguous."""
        wanted = given.removeprefix("./").removeprefix("patches/")
        if wanted in self.names:
            return wanted
        endings = tuple(f"/{wanted}{suffix}" for suffix in ("", ".patch", ".diff", ".dif"))
        matches = [name for name in self.names if f"/{name}".endswith(endings)]
        if len(matches) > 1:
            raise PqError(f"{given} is ambiguous: {', '.join(matches)}", hint="write the whole name")
        if not matches:
            near = difflib.get_close_matches(wanted, self.names, n=1, cutoff=0.75)
            raise PqError(
                f"Patch {given} is not in series", hint=f"did you mean {near[0]}?" if near else "pq series lists the patches"
            )
        return matches[0]

    def inserted(self, name: str, *, behind: str | None, options: Sequence[str] = ()) -> Series:
        """The same series with a patch behind another one, or before all patches. Raises PqError for a name that it has, or can't have."""
        require_name(name)
        if name in self.names:
            raise PqError(f"Patch {name} exists already", hint="take another name")
        line = " ".join([name, *options]).encode("utf-8", "surrogateescape") + b"\n"
        return _with_line(self, line, behind)

    def moved(self, name: str, *, behind: str | None) -> Series:
        """The same series with a patch behind another one, or before all; its line stays as it is."""
        line = self.lines[self.entry(name).line - 1].removeprefix(_BOM)
        return _with_line(self.without(name), line if line.endswith(b"\n") else line + b"\n", behind)

    def ordered(self, applied: Sequence[str]) -> Series:
        """The same series with these patches first, in this order. As few lines as possible are moved, so that comments stay with patches."""
        target = [*applied, *(name for name in self.names if name not in applied)]
        places = [self.names.index(name) for name in target]
        kept = _longest_rising(places)
        series = self
        for number, name in enumerate(target):
            if places[number] not in kept:
                series = series.moved(name, behind=target[number - 1] if number else None)
        return series

    def without(self, *names: str) -> Series:
        """The same series without some patches."""
        gone = {self.entry(name).line for name in names}
        mark = _BOM if 1 in gone and self.lines[0].startswith(_BOM) else b""
        return read(mark + b"".join(line for number, line in enumerate(self.lines, 1) if number not in gone), file="series")

    def renamed(self, name: str, new: str) -> Series:
        """The same series with another name for a patch; its options and comments stay."""
        require_name(new)
        if new in self.names:
            raise PqError(f"Patch {new} exists already", hint="take another name")
        return self._replaced(self.entry(name), new.encode("utf-8", "surrogateescape"), 1)

    def forward(self, name: str) -> Series:
        """The same series with a patch applied as it stands, with -p1: what a patch takes that was written anew."""
        entry = self.entry(name)
        if entry.strip == 1 and not entry.reverse:
            return self
        kept = [option for option in entry.options if not _STRIP.fullmatch(option) and option not in ("-R", "--reverse")]
        words = [entry.name, *kept]
        return self._replaced(entry, " ".join(words).encode("utf-8", "surrogateescape"), 1 + len(entry.options))

    def _replaced(self, entry: Entry, text: bytes, count: int) -> Series:
        """The same series with the first words of a line replaced."""
        line = self.lines[entry.line - 1]
        words = list(_WORD.finditer(line, len(_BOM) if line.startswith(_BOM) and entry.line == 1 else 0))
        changed = line[: words[0].start()] + text + line[words[count - 1].end() :]
        return read(b"".join((*self.lines[: entry.line - 1], changed, *self.lines[entry.line :])), file="series")

    def with_pin(self, pin: Pin) -> Series:
        """The same series with its pin line set: replaced where it stands, else put first."""
        line = f"# pq-pin: {pin.release}{' ' + pin.commit if pin.commit else ''}\n".encode("utf-8", "surrogateescape")
        for number, old in enumerate(self.lines):
            if _PIN.match(_bare(old)):
                return replace(self, lines=(*self.lines[:number], line, *self.lines[number + 1 :]), pin=pin)
        moved = tuple(replace(entry, line=entry.line + 1) for entry in self.entries)
        mark = _BOM if self.lines and self.lines[0].startswith(_BOM) else b""
        first = tuple(bare for old in self.lines[:1] if (bare := old.removeprefix(_BOM)))
        return Series(lines=(mark + line, *first, *self.lines[1:]), entries=moved, pin=pin)


def require_name(name: str) -> None:
    """Raise PqError for what can't be the name of a patch: a series line, a path below `patches/` and a commit's trailer have to hold it."""
    parts = name.split("/")
    faults = (
        ("it is empty", not name),
        ("it holds a blank or a control character", any(char <= " " or char == "\x7f" for char in name)),
        ("it begins with # or -", name.startswith(("#", "-"))),
        ("it leads out of the patches folder", ".." in parts),
        ("it has an empty component", "" in parts or "." in parts),
    )
    for fact, holds in faults:
        if holds:
            raise PqError(f"{name!r} can't be the name of a patch: {fact}", hint="take another name")


def can_be_ref(name: str) -> bool:
    """Whether git takes a name for a ref, behind a folder, and no command takes it for an option. Source: git-check-ref-format(1)."""
    odd = any(each in name for each in ("..", "//", "/.", ".lock/", "@{")) or name.endswith((".lock", "/", "."))
    return _REF.fullmatch(name) is not None and not odd


def read(data: bytes, *, file: str) -> Series:
    """Read a series file. `file` names it in errors.

    Raises ParseError for a line that is not in the grammar, and for a patch or a pin given twice.
    """
    lines = split_lines(data)
    entries: list[Entry] = []
    pin = None
    for number, line in enumerate(lines, 1):
        if _PIN_LINE.match(_bare(line)):
            if pin is not None:
                raise _error("a second pin; a series is made for one release", file, number, line, 0)
            pin = _pin(line, number, file)
        entry = _entry(line, number, file)
        if entry is None:
            continue
        _refuse_double(entry, entries, line, file)
        entries.append(entry)
    return Series(lines=lines, entries=tuple(entries), pin=pin)


def without_repeated(data: bytes) -> bytes:
    """A series file without lines that list a patch in the very words in which it is listed above."""
    kept: list[bytes] = []
    for line in split_lines(data):
        bare = _bare(line)
        if not bare or bare.startswith(b"#") or bare not in map(_bare, kept):
            kept.append(line)
    return b"".join(kept)


def _with_line(series: Series, line: bytes, behind: str | None) -> Series:
    first = series.entries[0].line - 1 if series.entries else len(series.lines)
    at = first if behind is None else series.entry(behind).line
    lines, mark = [*series.lines], b""
    if at == 0 and lines and lines[0].startswith(_BOM):
        lines[0], mark = lines[0].removeprefix(_BOM), _BOM
    if at and not lines[at - 1].endswith(b"\n"):
        lines[at - 1] += b"\n"
    lines.insert(at, mark + line)
    return read(b"".join(lines), file="series")


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """The most of these numbers, all different, that rise from left to right."""
    ends: list[int] = []
    below: dict[int, int | None] = {}
    for number in numbers:
        at = bisect.bisect(ends, number)
        below[number] = ends[at - 1] if at else None
        ends[at:] = [number] if at == len(ends) else [number, *ends[at + 1 :]]
    found: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        found.add(last)
        last = below[last]
    return found


def _pin(line: bytes, number: int, file: str) -> Pin:
    found = _PIN.match(_bare(line))
    if found is None:
        raise _error(
            "expected # pq-pin: RELEASE, and behind it at most a whole commit id", file, number, line, line.index(b":") + 1
        )
    release = _text(found["release"])
    if not can_be_ref(release):
        raise _error("this can't be the name of a release", file, number, line, line.index(found["release"]))
    return Pin(release, _text(found["commit"] or b"") or None)


def _entry(line: bytes, number: int, file: str) -> Entry | None:
    words = list(_WORD.finditer(line, len(_BOM) if number == 1 and line.startswith(_BOM) else 0))
    if not words or words[0].group().startswith(b"#"):
        return None
    name = _text(words[0].group())
    if name.startswith("/") or ".." in name.split("/"):
        fact = "the name of a patch may not lead out of the patches folder"
        raise _error(fact, file, number, line, words[0].start(), code="unsafe-path")
    if b"\0" in line:
        raise _error("a series line can't hold a NUL byte", file, number, line, line.index(b"\0"))
    strip, reverse = 1, False
    options: list[str] = []
    guards: list[Guard] = []
    comment = False
    for word in words[1:]:
        text = _text(word.group())
        comment = comment or text.startswith("#")
        if comment:
            guards += [Guard(text[2:], text[1] == "+")] if re.fullmatch(r"#[+-][^+\-#].*", text) else []
            continue
        if not text.startswith("-"):
            raise _error("expected an option such as -p1 or -R, or a # comment", file, number, line, word.start())
        options.append(text)
        reverse = reverse or text == "--reverse" or text.startswith("-R")
        if level := _STRIP.fullmatch(text):
            strip = 1 if level[1] == "ab" else int(level[1])
        elif text.startswith(("-p", "-Rp", "--strip")):
            raise _error("expected a number after -p", file, number, line, word.start())
    return Entry(name, number, strip, reverse, tuple(options), tuple(guards))


def _refuse_double(entry: Entry, before: Sequence[Entry], line: bytes, file: str) -> None:
    for other in before:
        if other.name == entry.name:
            raise _error(
                f"Patch {entry.name} is listed twice, on lines {other.line} and {entry.line}",
                file,
                entry.line,
                line,
                len(line) - len(line.lstrip(_BLANKS)),
                code="listed-twice",
            )


def _bare(line: bytes) -> bytes:
    """A line without its ending, the blanks around it, and a byte order mark."""
    return line.removeprefix(_BOM).strip(_BLANKS + b"\n")


def _error(fact: str, file: str, number: int, line: bytes, column: int, *, code: str = "series-line") -> ParseError:
    text, before = _text(line.rstrip(b"\r\n")), _text(line[:column])
    hint = f"edit line {number} of {file}"
    return ParseError(fact, file=file, line=number, text=text, column=len(before) + 1, hint=hint, code=code)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
