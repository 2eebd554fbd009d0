"""What stands behind `@@ … @@`: pq writes the scope of the hunk's first change; git, diff -p and quilt a line above the hunk.

Where nothing else is known of the file that a hunk was made for, it is the only word about where the hunk belongs.
"""

from __future__ import annotations

import re

from pq.core import paths, scope
from pq.core.lines import Lines
from pq.core.patch import Hunk
from pq.core.scope import Scope

_NAME = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SCOPE = re.compile(rb"\s*(class|(?:async\s+)?def)\s+(\w+)")
_RULES = (re.compile(rb"[A-Za-z_$]"), _SCOPE)
"""The first is git's own and diff's, the second what git takes for Python files if it is told so: which lines are headings."""


def contradicts(hunk: Hunk, lines: Lines, start: int, scopes: tuple[Scope, ...]) -> str | None:
    """What the heading would be at line `start` (0-based), if the hunk has another one; None where that says nothing."""
    said = hunk.section.strip()
    if not said:
        return None
    if _NAME.fullmatch(said):
        found = scope.enclosing(scopes, start + hunk.leading + 1)
        return None if not scopes or found == paths.text(said) else found or "the module"
    if not _SCOPE.match(said):
        return None  # whatever statement stood at the margin above
    if any(_SCOPE.match(line) and not line[:1].isspace() for line in hunk.old[: hunk.leading]):
        return None  # the change is in what begins at the margin below the heading, which the hunk shows
    headings = [next((line.strip() for line in reversed(lines[:start]) if rule.match(line)), b"") for rule in _RULES]
    if any(_called(heading) == _called(said) for heading in headings):
        return None
    return paths.text(headings[0]) or "nothing"


def _called(heading: bytes) -> tuple[bytes, bytes]:
    """What a heading is about: its parameters and base classes may be others by now."""
    found = _SCOPE.match(heading)
    return (found[1].split()[-1], found[2]) if found is not None else (heading, b"")
