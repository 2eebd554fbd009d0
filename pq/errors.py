"""The refusals of pq. An expected outcome (conflict, landed, rejected) is a value, not one of these."""

from __future__ import annotations


class PqError(Exception):
    """A refusal: one fact, and the way out in `hint`. The exit code belongs to the class."""

    exit_code = 1

    def __init__(self, fact: str, *, hint: str | None = None) -> None:
        super().__init__(fact)
        self.fact = fact
        self.hint = hint


class NothingToDo(PqError):
    """quilt's meaning: not a failure, but the command changed nothing."""

    exit_code = 2


class NotClean(PqError):
    """The checkout is dirty, drifted from its stack, or locked by another pq."""

    exit_code = 5


class NotChecked(PqError):
    """A check could not be made, so nothing is let through."""

    exit_code = 4


class ParseError(PqError):
    """A file that pq can't read, with the place: line and column count from 1. `code` is what `pq lint` calls the fault."""

    def __init__(
        self,
        fact: str,
        *,
        file: str,
        line: int,
        text: str = "",
        column: int | None = None,
        hint: str | None = None,
        code: str = "unreadable",
    ) -> None:
        super().__init__(fact, hint=hint)
        self.file = file
        self.line = line
        self.text = text
        self.column = column
        self.code = code
