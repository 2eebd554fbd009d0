"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a candidate tree. Line and column count from 1; None where there is no place.

    `text` is what stands there or what the interpreter said, in lines; `scope` the qualified name of the class or function there, `hunk` the
    number of the hunk that did it, and `patched` where that begins, as file and line of the patch. `suggestion` is what may have been meant.
    """

    code: str
    reason: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    text: tuple[str, ...] = ()
    scope: str = ""
    hunk: int | None = None
    patched: str = ""
    suggestion: str = ""

    def lines(self) -> tuple[str, ...]:
        """The finding as people read it: place and reason, then the text with a caret under the column."""
        place = f"{self.path}:{self.line}: " if self.path and self.line else f"{self.path}: " if self.path else ""
        shown = [f"    {line.expandtabs(4)}" for line in self.text]
        if self.column is not None and len(self.text) == 1:
            before = self.text[0][: self.column - 1].expandtabs(4)
            shown.append(f"    {' ' * len(before)}^")
        by = f", by hunk {self.hunk} ({self.patched})" if self.hunk is not None else ""
        return (f"{place}{self.reason}{by} [{self.code}]", *shown, *([f"    {self.suggestion}"] if self.suggestion else []))


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something that no file means. `key` tells it from others of its rule, whatever line (from 1) it stands at."""

    code: str
    key: tuple[str, ...]
    line: int
    reason: str
