r"""git's binary hunks: base 85 text, zlib, and either the whole content or a delta.

On disk, each hunk is::

    "literal" | "delta"  SIZE
    { LENGTH BASE85 }          LENGTH is A..Z for 1..26 and a..z for 27..52 bytes
    (an empty line)

SIZE counts the inflated bytes. A delta is git's pack delta: two sizes, then copy and insert instructions.
Source: git's Documentation/gitformat-pack, and base85 as in RFC 1924's alphabet.
"""

from __future__ import annotations

import base64
import string
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

_LENGTHS = {letter: n for n, letter in enumerate(string.ascii_uppercase + string.ascii_lowercase, 1)}
_PER_LINE = 52


@dataclass(frozen=True, slots=True)
class BinaryHunk:
    """The whole content (literal), or a delta against what is there."""

    literal: bool
    payload: bytes

    def apply(self, old: bytes) -> bytes:
        """The content afterwards. Raises ValueError where the delta does not belong to `old`."""
        return self.payload if self.literal else _apply_delta(self.payload, old)


def decode(*, literal: bool, size: int, lines: Iterable[bytes]) -> BinaryHunk:
    """Read the base 85 lines of a hunk. Raises ValueError where they are not what git writes."""
    packed = bytearray()
    for line in lines:
        length = _LENGTHS.get(line[:1].decode("latin-1"), 0)
        decoded = base64.b85decode(line[1:])
        if not 0 < length <= len(decoded) < length + 4:
            raise ValueError("a line's length letter and its text disagree")
        packed += decoded[:length]
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(bytes(packed), size + 1)
    except zlib.error as error:
        raise ValueError(f"the data can't be inflated ({error})") from None
    if len(payload) != size or not inflater.eof:
        raise ValueError(f"the data is not {size} bytes long")
    return BinaryHunk(literal, payload)


def encode(content: bytes) -> bytes:
    """A literal hunk with this content, as git writes it, the empty line behind it included."""
    packed = zlib.compress(content)
    lines = [b"literal %d\n" % len(content)]
    letters = {n: letter.encode() for letter, n in _LENGTHS.items()}
    for start in range(0, len(packed), _PER_LINE):
        chunk = packed[start : start + _PER_LINE]
        lines.append(letters[len(chunk)] + base64.b85encode(chunk, pad=True) + b"\n")
    return b"".join(lines) + b"\n"


def _apply_delta(delta: bytes, old: bytes) -> bytes:
    stream = iter(delta)
    if _size(stream) != len(old):
        raise ValueError("the delta was made for a file of another length")
    length = _size(stream)
    new = bytearray()
    for op in stream:
        if op & 0x80:
            start = sum(_byte(stream) << shift for bit, shift in ((1, 0), (2, 8), (4, 16), (8, 24)) if op & bit)
            count = sum(_byte(stream) << shift for bit, shift in ((16, 0), (32, 8), (64, 16)) if op & bit) or 0x10000
            if start + count > len(old):
                raise ValueError("the delta copies from behind the end of the file")
            new += old[start : start + count]
        elif op:
            new += bytes(_byte(stream) for _ in range(op))
        else:
            raise ValueError("the delta holds an instruction that git does not have")
        if len(new) > length:
            break
    if len(new) != length:
        raise ValueError("the delta does not make as many bytes as it says")
    return bytes(new)


def _size(stream: Iterable[int]) -> int:
    size = shift = 0
    for byte in stream:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size
    raise ValueError("the delta ends early")


def _byte(stream: Iterable[int]) -> int:
    for byte in stream:
        return byte
    raise ValueError("the delta ends early")
