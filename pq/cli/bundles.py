"""What a queue would have run, for people to look at before they trust it."""

from __future__ import annotations

import difflib
import hashlib
import unicodedata

from pq.engine.trust import Bundle

_PROGRAM = b"\x7fELF"
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Unicode's categories of what a terminal obeys or does not show."""


def bundle_lines(found: Bundle) -> list[str]:
    """What a queue would have run: what changed since it was trusted, or all of it. Nothing in it can hide from the terminal."""
    lines: list[str] = []
    before = found.before or {}
    for name in sorted(found.parts.keys() | before.keys()):
        old, new = before.get(name, b""), found.parts.get(name, b"")
        if old == new and found.before is not None:
            continue
        gone = "" if name in found.parts else ", is gone"
        lines.append(f"{name}{gone} ({len(new)} bytes)")
        if new.startswith(_PROGRAM):
            lines.append(f"    a compiled program; sha256 {hashlib.sha256(new).hexdigest()}")
        elif found.before is None:
            lines += [f"    {line}" for line in _visible(new)]
        else:
            lines += [f"    {line}" for line in difflib.unified_diff(_visible(old), _visible(new), lineterm="", n=2)][2:]
    return [*lines, f"Digest: {found.digest}"]


def _visible(content: bytes) -> list[str]:
    """The lines of a file, with everything that a terminal would not show written out."""
    text = content.decode("utf-8", "backslashreplace")
    shown = (each if each in "\n\t" or unicodedata.category(each) not in _HIDDEN else ascii(each)[1:-1] for each in text)
    return "".join(shown).removesuffix("\n").split("\n")
