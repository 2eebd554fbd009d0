"""Lines of a file as bytes, and the id git gives a file's content."""

from __future__ import annotations

import hashlib
import re

Lines = tuple[bytes, ...]

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_SHORTEST_ID = 7
_BINARY_WITHIN = 8000


def split_lines(data: bytes) -> Lines:
    """The lines with their endings. Only LF ends a line: a lone CR, a form feed or an ESC is content."""
    return tuple(_LINE.findall(data))


def is_binary(content: bytes) -> bool:
    """Whether there is a NUL byte near the beginning, as git asks."""
    return b"\0" in content[:_BINARY_WITHIN]


def blob_id(content: bytes) -> str:
    """The id (40 hex digits) that git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def telling_id(recorded: str) -> str:
    """An id of an `index` line if it says something: not "no file", and long enough to be believed. Else empty."""
    return recorded if recorded.strip("0") and len(recorded) >= _SHORTEST_ID else ""


def is_blob(content: bytes, recorded: str) -> bool:
    """Whether `recorded`, an id from an `index` line and maybe shortened, names this content."""
    return len(recorded) >= _SHORTEST_ID and blob_id(content).startswith(recorded)
