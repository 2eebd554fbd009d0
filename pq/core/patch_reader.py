r"""Reads patch files. pq finds where file patches and hunks begin and end; unidiff reads the hunks' lines.

Grammar, line by line. Only LF ends a line; a CR before it is dropped from header lines and kept in hunks::

    patch     = { prose } { section | prose }
    section   = { preamble } ( git | plain )
    preamble  = "Index: " … | "====" … | "diff -" …
    git       = "diff --git " NAME " " NAME  extended+  [ names hunk+ | binary ]
    extended  = "old mode " | "new mode " | "new file mode " | "deleted file mode " | "copy from " | "copy to "
              | "rename from " | "rename to " | "similarity index " | "dissimilarity index " | "index " ID ".." ID [" " MODE]
    plain     = names hunk+
    names     = "--- " NAME [TAB stamp]   "+++ " NAME [TAB stamp]
    hunk      = "@@ -" START [","COUNT] " +" START [","COUNT] " @@" [" " section]  body
    body      = as many lines as COUNT says, each " " | "-" | "+" | empty (a stripped context line); "\ …" = no newline;
                at the end of the file up to three empty context lines may have been trimmed behind the last change
    binary    = "GIT binary patch"  literal-or-delta  [ literal-or-delta ]

What libgit2 or unidiff refuse but people have is read: no `diff --git` line, `Index:` lines, stamps, CRLF, a byte order
mark, bytes that are not UTF-8, `---`/`+++` paths unlike the `diff --git` line, stripped context lines, mode-only,
rename-only, empty new files, symlinks. Everything else raises ParseError with the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from unidiff.patch import Hunk as ReadHunk
from unidiff.patch import PatchSet

from pq.core import binary, paths
from pq.core.lines import Lines, split_lines, telling_id
from pq.core.patch import EXECUTABLE, REGULAR, SYMLINK, Action, BinaryChange, FilePatch, Hunk, Patch
from pq.errors import ParseError

_BOM = b"\xef\xbb\xbf"
_HUNK = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@(?: (.*))?$")
_EXTENDED = re.compile(
    rb"(?P<key>old mode|new mode|new file mode|deleted file mode|copy from|copy to|rename from|rename to|rename old"
    rb"|rename new|similarity index|dissimilarity index|index) (?P<value>.*)"
)
_INDEX = re.compile(r"(?P<old>[0-9a-f]{4,64})\.\.(?P<new>[0-9a-f]{4,64})(?: (?P<mode>[0-7]{6}))?")
_PREAMBLE = re.compile(rb"Index: |={10,}$|diff -|Property changes on: |RCS file: |retrieving revision ")
_MODE = re.compile(r"100[0-7]{3}")
_DIFFER = re.compile(rb"(?:Binary files|Files) .* differ$|Cannot display: file marked as a binary type\.$")
_LIKE_A_DIFF = re.compile(rb"@@ -|--- \S|\+\+\+ \S|diff --git |Index: |\*{15}\s*$")
_LEADS_A_HUNK = re.compile(rb"--- |\+\+\+ |diff --git |index |Index: ")
_NORMAL = re.compile(rb"\d+(?:,\d+)?[acd]\d+(?:,\d+)?$")
_ENCODED = re.compile(rb"Content-Transfer-Encoding:\s*base64\s*$", re.IGNORECASE)
_BINARY = re.compile(rb"(literal|delta) (\d{1,18})$")
_ENDED = {" ": " -+", "-": " -", "+": " +"}
_NULL = b"/dev/null"
_CONTEXT = 3
_CUT = "the patch may have been cut"


def read(data: bytes, *, file: str, strip: int = 1) -> Patch:
    """Read a patch. `file` names it in errors; `strip` is the -p of its paths. Raises ParseError."""
    return _Reader(split_lines(data), file, strip).patch(data)


@dataclass(slots=True)
class _Section:
    """What the header lines of one file patch said so far."""

    line: int
    names: tuple[bytes | None, bytes | None] = (None, None)
    named: int | None = None
    said: dict[str, str] = field(default_factory=dict)
    git: bool = False
    crlf: bool = False


class _Reader:
    """One pass over the lines; `at` is the index of the next one."""

    def __init__(self, lines: Lines, file: str, strip: int) -> None:
        self.lines = lines
        self.file = file
        self.strip = strip
        self.at = 0
        self.behind = -1  # the line behind the last hunk

    def patch(self, data: bytes) -> Patch:
        files: list[FilePatch] = []
        header_end = None
        while self.at < len(self.lines):
            begin = self.at
            section = self._section()
            if section is not None:
                header_end = self._preamble(begin) if header_end is None else header_end
                files.append(section)
                continue
            self._refuse_stray(begin, inside=bool(files))
            self.at = begin + 1
        if not files:
            self._refuse_broken()
            header_end = len(self.lines)
        return Patch(data, b"".join(self.lines[:header_end]), tuple(files))

    def _section(self) -> FilePatch | None:
        line = self._peek(self.at)
        if line.startswith(b"diff --git ") and self._git_goes_on():
            return self._git_section(line)
        if line.startswith(b"--- ") and self._peek(self.at + 1).startswith(b"+++ "):
            return self._plain_section()
        if (
            line.startswith(b"*** ")
            and self._peek(self.at + 1).startswith(b"--- ")
            and self._peek(self.at + 2).startswith(b"*****")
        ):
            raise self._error(
                "a context diff; pq reads unified diffs",
                self.at,
                hint="make it again with diff -u, or convert it with filterdiff",
            )
        if _NORMAL.match(line) and self._peek(self.at + 1).startswith((b"< ", b"> ")):
            raise self._error(
                "a diff without names and context; pq reads unified diffs", self.at, hint="make it again with diff -u"
            )
        return None

    def _git_goes_on(self) -> bool:
        following = self._peek(self.at + 1)
        return bool(_EXTENDED.match(following)) or following.startswith((b"--- ", b"GIT binary patch"))

    def _preamble(self, begin: int) -> int:
        while begin and _PREAMBLE.match(self._peek(begin - 1)):
            begin -= 1
        return begin

    def _refuse_stray(self, at: int, *, inside: bool) -> None:
        """Refuse what is left of a file patch that did not begin, or went on: it would be passed over as prose."""
        line, above = self._peek(at), self._peek(at - 1)
        if _DIFFER.match(line) and (inside or above.startswith((b"diff ", b"====")) or line.startswith(b"Binary files ")):
            raise self._binary_missing(at)
        if _HUNK.match(line) and (inside or _LEADS_A_HUNK.match(above)):
            raise self._error("a hunk without a file above it", at, hint="it takes a --- and a +++ line")
        if at == self.behind and line[:1] in (b"+", b"-") and line.rstrip() not in (b"--", b"---"):
            raise self._error("a line of a hunk, but the hunk above is complete", at, column=1)
        self.behind += at == self.behind and line.startswith(b" ")  # one context line more than counted changes nothing
        if inside and at == len(self.lines) - 1 and line.startswith((b"--- ", b"+++ ", b"diff --git ")):
            raise self._error("a file patch begins here, but nothing follows", at, hint=_CUT)

    def _refuse_broken(self) -> None:
        for number, line in enumerate(self.lines):
            if b"\0" in line:
                raise self._error("not a patch: it holds a NUL byte", number)
            if _ENCODED.match(line):
                raise self._error("a mail whose text is encoded", number, hint="git mailinfo decodes it")
            if _LIKE_A_DIFF.match(line):
                raise self._error("this looks like a diff, but no file patch begins here", number)

    def _git_section(self, first: bytes) -> FilePatch:
        section = _Section(self.at, git=True, crlf=self.lines[self.at].endswith(b"\r\n"))
        self.at += 1
        while found := _EXTENDED.match(self._peek(self.at)):
            section.said[found["key"].decode()] = paths.text(found["value"])
            self.at += 1
        if self._peek(self.at).startswith(b"--- ") and self._peek(self.at + 1).startswith(b"+++ "):
            self._names(section)
            return self._file(section, first, hunks=self._hunks(section))
        if self._peek(self.at).startswith(b"--- "):
            raise self._error("expected a +++ line behind this one", self.at, hint=_CUT)
        if self._peek(self.at) == b"GIT binary patch":
            self.at += 1
            return self._file(section, first, change=self._binary())
        if _DIFFER.match(self._peek(self.at)):
            raise self._binary_missing(self.at)
        return self._file(section, first)

    def _plain_section(self) -> FilePatch:
        section = _Section(self.at, crlf=self.lines[self.at].endswith(b"\r\n"))
        self._names(section)
        return self._file(section, b"", hunks=self._hunks(section))

    def _names(self, section: _Section) -> None:
        old, new = (paths.named(self._peek(self.at + offset)[4:], git=section.git) for offset in (0, 1))
        section.names, section.named = (old, new), self.at
        self.at += 2

    def _hunks(self, section: _Section) -> tuple[Hunk, ...]:
        begins: list[int] = []
        text = ["--- a\n", "+++ b\n"]
        while self._peek(self.at).startswith(b"@@"):
            begins.append(self.at)
            text += self._hunk()
        if not begins:
            raise self._error("expected a hunk (@@ -…)", self.at, hint=_CUT)
        read = PatchSet(text)[0]
        return tuple(
            _own(hunk, number, begin + 1, crlf=section.crlf)
            for number, (hunk, begin) in enumerate(zip(read, begins, strict=True), 1)
        )

    def _hunk(self) -> list[str]:
        """The lines of the next hunk as unidiff reads them: counted, stripped context lines put back, one character a byte."""
        found = _HUNK.match(self._peek(self.at))
        if found is None:
            raise self._error("expected @@ -START,COUNT +START,COUNT @@", self.at, column=1)
        begin = self.at
        old, new = int(found[2] or 1), int(found[4] or 1)
        if not old and not new:
            raise self._error("a hunk of no lines", self.at)
        text = [self._peek(self.at).decode("latin-1") + "\n"]
        ended = ""
        self.at += 1
        while old or new:
            if self.at == len(self.lines):
                trimmed = _trailing(
                    text
                )  # only empty context lines behind the last change were trimmed, of a file that ends whole
                whole = self.lines[-1].endswith(b"\n")
                if whole and old == new and old + trimmed <= _CONTEXT and trimmed < len(text) - 1:
                    text += [" \n"] * old
                    break
                raise self._error(f"the hunk is cut: {old} old and {new} new lines are missing", begin, hint=_CUT)
            line = self.lines[self.at]
            mark = b" " if line in (b"\n", b"\r\n") else line[:1]
            old -= mark in (b" ", b"-")
            new -= mark in (b" ", b"+")
            if mark not in (b" ", b"+", b"-") and not line.startswith(b"\\ "):
                raise self._error("expected a line that begins with a space, +, - or \\", self.at, column=1)
            if old < 0 or new < 0:
                raise self._error("one line more than the hunk's @@ line says", self.at, column=1)
            if mark.decode() in ended:
                raise self._error("a line behind the last one, which ends without a newline", self.at, column=1)
            ended += self._ended(text) if mark == b"\\" else ""
            text.append(self._body(line, mark))
            self.at += 1
        if self._peek(self.at).startswith(b"\\ "):
            text.append(self._body(b"\\", b"\\"))
            self.at += 1
        self.behind = self.at
        return text

    def _ended(self, text: list[str]) -> str:
        """The marks that can't follow any more, since the line before has no newline."""
        above = text[-1][:1]
        if above not in _ENDED:
            raise self._error("no line above this one that could be without a newline", self.at, column=1)
        return _ENDED[above]

    def _body(self, line: bytes, mark: bytes) -> str:
        if mark == b"\\":
            return "\\ No newline at end of file\n"
        padded = line if line[:1] == mark else mark + line
        return (padded if padded.endswith(b"\n") else padded + b"\n").decode("latin-1")

    def _binary(self) -> BinaryChange:
        forward = self._binary_hunk()
        if forward is None:
            raise self._error("expected literal SIZE or delta SIZE", self.at)
        return BinaryChange(forward, self._binary_hunk())

    def _binary_hunk(self) -> binary.BinaryHunk | None:
        found = _BINARY.match(self._peek(self.at))
        if found is None:
            return None
        begin = self.at
        self.at += 1
        lines = []
        while self._peek(self.at):
            lines.append(self._peek(self.at))
            self.at += 1
        self.at += 1
        try:
            return binary.decode(literal=found[1] == b"literal", size=int(found[2]), lines=lines)
        except ValueError as error:
            raise self._error(f"a broken binary hunk: {error}", begin) from None

    def _file(
        self, section: _Section, first: bytes, *, hunks: tuple[Hunk, ...] = (), change: BinaryChange | None = None
    ) -> FilePatch:
        action = self._action(section, hunks)
        old, new = self._paths(section, first, action)
        index = _INDEX.fullmatch(section.said.get("index", ""))
        both = index["mode"] if index else None
        made = FilePatch(
            line=section.line + 1,
            action=action,
            old_path=old,
            new_path=new,
            old_mode=self._mode(section, section.said.get("old mode") or section.said.get("deleted file mode") or both),
            new_mode=self._mode(section, section.said.get("new mode") or section.said.get("new file mode") or both),
            old_id=telling_id(index["old"]) if index else "",
            new_id=telling_id(index["new"]) if index else "",
            hunks=hunks,
            binary=change,
            git=section.git,
            crlf=section.crlf,
        )
        if made.lacks_hunks:
            raise self._error("this file patch says no change, or its hunks are missing", section.line, hint=_CUT)
        return made

    def _action(self, section: _Section, hunks: tuple[Hunk, ...]) -> Action:
        said, (old, new) = section.said, section.names
        plain = hunks[0] if not section.git and len(hunks) == 1 else None  # diff -N without git says it by the @@ line alone
        comes = plain is not None and not plain.old and not plain.old_start
        goes = plain is not None and not plain.new and not plain.new_start
        claims = {
            Action.CREATE: "new file mode" in said or old == _NULL or comes,
            Action.DELETE: "deleted file mode" in said or new == _NULL or goes,
            Action.RENAME: any(key.startswith("rename ") for key in said),
            Action.COPY: any(key.startswith("copy ") for key in said),
        }
        claimed = [action for action, claim in claims.items() if claim]
        if len(claimed) > 1:
            raise self._error(f"one file patch can't both {claimed[0]} and {claimed[1]} a file", section.line)
        return claimed[0] if claimed else Action.MODIFY

    def _paths(self, section: _Section, first: bytes, action: Action) -> tuple[str | None, str | None]:
        said = section.said
        if action in (Action.RENAME, Action.COPY):
            word = "rename" if action is Action.RENAME else "copy"
            old = said.get(f"{word} from") or said.get("rename old")
            new = said.get(f"{word} to") or said.get("rename new")
            if old is None or new is None:
                raise self._error(f"a {word} needs both '{word} from' and '{word} to'", section.line)
            pair = tuple(paths.unquote(paths.raw(name))[0] for name in (old, new))
            stripped = [paths.strip(name, max(self.strip - 1, 0)) for name in pair]
        elif section.names != (None, None):
            stripped = [None if name in (None, _NULL) else paths.strip(name or b"", self.strip) for name in section.names]
        else:
            stripped = [paths.named_twice(first.removeprefix(b"diff --git "), self.strip)] * 2
            if stripped == [None, None]:
                raise self._error(f"the diff --git line does not name one file with -p{self.strip}", section.line)
        if stripped == [None, None]:
            raise self._error(
                f"no file name is left after -p{self.strip}",
                section.line,
                hint=f"-p{max(self.strip - 1, 0)} leaves more of it; a series has it behind the patch's name",
            )
        lines = (section.line, section.line) if section.named is None else (section.named, section.named + 1)
        old_path, new_path = (self._safe(name, line) for name, line in zip(stripped, lines, strict=True))
        if action is Action.CREATE:
            return None, new_path or old_path
        if action is Action.DELETE:
            return old_path or new_path, None
        return old_path, new_path

    def _safe(self, name: bytes | None, line: int) -> str | None:
        if name is None:
            return None
        path = paths.text(name)
        if reason := paths.fault(path):
            raise self._error(f"a patch may not name {path}: {reason}", line, code="unsafe-path")
        return path

    def _mode(self, section: _Section, mode: str | None) -> int | None:
        if mode is None:
            return None
        if _MODE.fullmatch(mode):
            return EXECUTABLE if int(mode, 8) & 0o100 else REGULAR
        if mode == "120000":
            return SYMLINK
        what = "a submodule" if mode == "160000" else f"mode {mode}"
        raise self._error(f"{what} can't be patched; pq knows files and symlinks", section.line)

    def _peek(self, at: int) -> bytes:
        """Line `at` without its ending; empty behind the end."""
        if not 0 <= at < len(self.lines):
            return b""
        line = self.lines[at].rstrip(b"\n").removesuffix(b"\r")
        return line.removeprefix(_BOM) if at == 0 else line

    def _binary_missing(self, at: int) -> ParseError:
        fact = "this patch says that a binary file changed, but not how"
        return self._error(fact, at, hint="make it again with git diff --binary")

    def _error(
        self, fact: str, at: int, *, column: int | None = None, hint: str | None = None, code: str = "unreadable"
    ) -> ParseError:
        at = min(at, max(len(self.lines) - 1, 0))
        text = paths.text(self._peek(at))
        return ParseError(fact, file=self.file, line=at + 1, text=text, column=column, hint=hint, code=code)


def _own(hunk: ReadHunk, number: int, line: int, *, crlf: bool) -> Hunk:
    """Copy unidiff's hunk into a value. In a patch that was made CRLF, the CR of a line without a newline is the patch's."""
    lines: list[tuple[bytes, bytes]] = []
    for read in hunk:
        if read.line_type == "\\":
            mark, text = lines[-1]
            text = text.removesuffix(b"\n")
            lines[-1] = (mark, text.removesuffix(b"\r") if crlf else text)
        else:
            lines.append((read.line_type.encode(), read.value.encode("latin-1")))
    return Hunk(number, line, hunk.source_start, hunk.target_start, hunk.section_header.encode("latin-1"), tuple(lines))


def _trailing(text: list[str]) -> int:
    return next((n for n, line in enumerate(reversed(text)) if not line.startswith(" ")), 0)
