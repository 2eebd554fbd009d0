"""Paths as patches write them: git's quoting, the strip level, and what no patch may name (law 9)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(rb'\\(?:([0-7]{3})|([abtnvfr"\\]))')
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_STAMP = re.compile(rb"\s+(?:\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [+-]\d{4})?|\((?:revision \d+|working copy)\))$")
_DOT_GIT = re.compile(r"(?:\.git|git~\d+)[ .]*(?::.*)?", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # HFS+ leaves them out of names


def text(path: bytes) -> str:
    """A path as pq holds it."""
    return path.decode("utf-8", "surrogateescape")


def raw(path: str) -> bytes:
    """A path as the file system and git have it."""
    return path.encode("utf-8", "surrogateescape")


def unquote(name: bytes) -> tuple[bytes, bytes]:
    """Split a name that may be in git's quotes from the text behind it. Without quotes, all of it is the name."""
    found = _QUOTED.match(name)
    if found is None:
        return name, b""
    return _ESCAPE.sub(_unescape, found[1]), name[found.end() :]


def quote(path: str) -> bytes:
    """A path as git writes it: in quotes, with escapes, if it holds control characters, quotes, backslashes or non-ASCII bytes."""
    data = raw(path)
    letters = {code: letter for letter, code in _ESCAPES.items()}
    parts = [
        b"\\" + letters[byte].encode() if byte in letters else b"%c" % byte if 32 <= byte < 127 else b"\\%03o" % byte
        for byte in data
    ]
    quoted = b"".join(parts)
    return data if quoted == data else b'"' + quoted + b'"'


def named(said: bytes, *, git: bool) -> bytes:
    """The name that stands behind `---` or `+++`, without quotes or a stamp. `git` says that git wrote it, and no blanks behind it."""
    name, _ = unquote(said)
    if name != said:
        return name
    name = said.partition(b"\t")[0] if b"\t" in said else _STAMP.sub(b"", said)
    return name if git else name.rstrip(b" ")


def named_twice(said: bytes, level: int) -> bytes | None:
    """The one name that a `diff --git` line says twice, without its first `level` components; None where it does not."""
    quoted, behind = unquote(said)
    splits = [(quoted, behind[1:])] if behind else [(said[: at.start()], said[at.end() :]) for at in re.finditer(rb" ", said)]
    for left, right in splits:
        old, new = strip(left, level), strip(unquote(right)[0], level)
        if old is not None and old == new:
            return old
    return None


def strip(name: bytes, level: int) -> bytes | None:
    """The name without its first `level` components; None where it has no more than these. Runs of slashes count once, `./` is dropped."""
    for _ in range(level):
        head, slash, name = name.partition(b"/")
        name = name.lstrip(b"/")
        if not slash or (not head and not name):
            return None
    root = name[:1] if name.startswith(b"/") else b""
    return root + b"/".join(part for part in name.split(b"/") if part not in (b"", b".")) or None


def above(path: str) -> Iterator[str]:
    """The folders that a path leads through, outermost first."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def fault(path: str) -> str | None:
    """Why a patch may not name this path (law 9), or None."""
    parts = re.split(r"[/\\]", path)  # a backslash is a slash on some systems
    if "\0" in path:
        return "it holds a NUL byte"
    if path.startswith("/"):
        return "it is absolute"
    if ".." in parts:
        return "it leads out of the checkout"
    if "" in path.split("/") or "." in parts:
        return "it has an empty component"
    if any(_DOT_GIT.fullmatch(_UNSEEN.sub("", part)) for part in parts):
        return "it leads into git's own folder"
    return None


def _unescape(found: re.Match[bytes]) -> bytes:
    octal, letter = found.groups()
    return bytes([int(octal, 8) & 0xFF if octal else _ESCAPES[letter.decode()]])
