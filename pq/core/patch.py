"""What a patch says: a description, and file patches made of hunks. Values only; `patch_reader` makes them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property

from pq.core.binary import BinaryHunk
from pq.core.lines import Lines, blob_id
from pq.errors import PqError

CONTEXT, REMOVED, ADDED = b" ", b"-", b"+"
REGULAR, EXECUTABLE, SYMLINK = 0o100644, 0o100755, 0o120000


class Action(enum.StrEnum):
    """What a file patch does to its file."""

    MODIFY = "modify"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `start` to `stop` (0-based, stop excluded) of a file are replaced by `lines`."""

    start: int
    stop: int
    lines: Lines
    hunk: int = 0


@dataclass(frozen=True)
class Hunk:
    """One hunk. `lines` are pairs of mark and text; a text without newline is the last line of a file without one."""

    number: int
    line: int
    old_start: int
    new_start: int
    section: bytes
    lines: tuple[tuple[bytes, bytes], ...]

    @cached_property
    def old(self) -> Lines:
        """The lines that have to be there."""
        return tuple(text for mark, text in self.lines if mark != ADDED)

    @cached_property
    def new(self) -> Lines:
        """The lines that stand there afterwards."""
        return tuple(text for mark, text in self.lines if mark != REMOVED)

    @property
    def position(self) -> int:
        """The 0-based index of the first old line as stated; with no old lines, git names the line before."""
        return max(self.old_start - 1, 0) if self.old else self.old_start

    @property
    def leading(self) -> int:
        """How many context lines stand before the first change."""
        return next((i for i, (mark, _) in enumerate(self.lines) if mark != CONTEXT), len(self.lines))

    @property
    def trailing(self) -> int:
        """How many context lines stand behind the last change."""
        return next((i for i, (mark, _) in enumerate(reversed(self.lines)) if mark != CONTEXT), len(self.lines))

    def edits(self, at: int) -> tuple[Edit, ...]:
        """The changes alone, for a hunk whose first old line is line `at` (0-based)."""
        found: list[Edit] = []
        line, start, added = at, at, list[bytes]()
        for mark, text in (*self.lines, (CONTEXT, b"")):
            if mark == ADDED:
                added.append(text)
            elif mark == CONTEXT and (added or line > start):
                found.append(Edit(start, line, tuple(added), self.number))
                added = []
            if mark != ADDED:
                line += 1
            if mark == CONTEXT:
                start = line
        return tuple(found)

    def reversed(self) -> Hunk:
        """The hunk that takes this one back."""
        swap = {ADDED: REMOVED, REMOVED: ADDED, CONTEXT: CONTEXT}
        lines = tuple((swap[mark], text) for mark, text in self.lines)
        return replace(self, old_start=self.new_start, new_start=self.old_start, lines=lines)

    def without_cr(self) -> Hunk:
        """The same hunk without the CR at the end of its lines."""
        lines = tuple((mark, text[:-2] + b"\n" if text.endswith(b"\r\n") else text) for mark, text in self.lines)
        return replace(self, lines=lines)


@dataclass(frozen=True, slots=True)
class BinaryChange:
    """A git binary patch: the change, and the change back if the patch carries it."""

    forward: BinaryHunk
    backward: BinaryHunk | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a patch does to one file.

    Paths are stripped and safe; where both are set and differ without a rename, the file is the one that exists.
    Modes are git's (None: not said), ids hexadecimal as written (empty: not said). `line` is where it begins in the patch.
    `git` is set when a `diff --git` line leads it, `crlf` when its own header lines end in CR LF.
    """

    line: int
    action: Action
    old_path: str | None
    new_path: str | None
    old_mode: int | None = None
    new_mode: int | None = None
    old_id: str = ""
    new_id: str = ""
    hunks: tuple[Hunk, ...] = ()
    binary: BinaryChange | None = None
    git: bool = False
    crlf: bool = False

    @property
    def path(self) -> str:
        """The path afterwards, or of the file that goes."""
        path = self.new_path or self.old_path
        assert path is not None
        return path

    @property
    def lacks_hunks(self) -> bool:
        """Whether it can't be whole: without hunks it changes nothing, or its ids say that the content changes."""
        if self.hunks or self.binary is not None or self.action is Action.DELETE:
            return False
        if self.action is Action.CREATE:
            return not blob_id(b"").startswith(self.new_id)
        return self.old_id != self.new_id or (self.action is Action.MODIFY and self.old_mode == self.new_mode)

    def reversed(self) -> FilePatch:
        """The file patch that takes this one back."""
        if self.action is Action.COPY:
            raise PqError(f"{self.path}: a copy can't be applied in reverse", hint="write it as a new file")
        action = {Action.CREATE: Action.DELETE, Action.DELETE: Action.CREATE}.get(self.action, self.action)
        binary = self.binary
        if binary is not None:
            if binary.backward is None:
                raise PqError(
                    f"{self.path}: this binary patch does not say what was there before",
                    hint="make it again with git diff --binary",
                )
            binary = BinaryChange(binary.backward, binary.forward)
        return replace(
            self,
            action=action,
            old_path=self.new_path,
            new_path=self.old_path,
            old_mode=self.new_mode,
            new_mode=self.old_mode,
            old_id=self.new_id,
            new_id=self.old_id,
            hunks=tuple(hunk.reversed() for hunk in self.hunks),
            binary=binary,
        )

    @property
    def ends_in_cr(self) -> bool:
        """Whether all of its lines have a CR in front of their LF, as those of a file from another system."""
        lines = [text for hunk in self.hunks for _, text in hunk.lines]
        return bool(lines) and all(text.endswith(b"\r\n") for text in lines)

    def without_cr(self) -> FilePatch:
        """The same file patch for a file whose lines end in LF."""
        return replace(self, hunks=tuple(hunk.without_cr() for hunk in self.hunks), crlf=False)


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch: `raw` is the file byte for byte, `header` all of it above the first file patch."""

    raw: bytes
    header: bytes
    files: tuple[FilePatch, ...]

    def reversed(self) -> Patch:
        """The patch that takes this one back, its file patches in the opposite order."""
        return replace(self, files=tuple(file.reversed() for file in reversed(self.files)))
