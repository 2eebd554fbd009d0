"""git's binary hunks, literal and delta. Real git is asked in tests/property."""

from __future__ import annotations

import base64
import zlib

import pytest

from pq.core import binary
from pq.core.binary import BinaryHunk


def _lines(data: bytes) -> list[bytes]:
    packed = zlib.compress(data)
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    chunks = [packed[at : at + 52] for at in range(0, len(packed), 52)]
    return [letters[len(chunk) - 1 : len(chunk)] + base64.b85encode(chunk, pad=True) for chunk in chunks]


def test_an_empty_file_as_git_writes_it() -> None:
    assert binary.decode(literal=True, size=0, lines=[b"HcmV?d00001"]) == BinaryHunk(literal=True, payload=b"")


def test_lines_are_52_bytes_long_at_most() -> None:
    encoded = binary.encode(bytes(range(256)))

    first, *lines = encoded.split(b"\n")
    assert first == b"literal 256"
    assert lines[-2:] == [b"", b""]
    assert {line[:1] for line in lines[:-3]} == {b"z"}
    assert binary.decode(literal=True, size=256, lines=lines[:-2]).payload == bytes(range(256))


def test_a_literal_is_the_content() -> None:
    hunk = binary.decode(literal=True, size=5, lines=_lines(b"\0\1\2\xff\n"))

    assert hunk.apply(b"whatever was there") == b"\0\1\2\xff\n"


def test_a_delta_copies_and_inserts() -> None:
    """gitformat-pack: sizes 10 and 8; copy 3 bytes from 7; insert 2; copy 3 from 0."""
    delta = bytes([10, 8, 0x80 | 1 | 16, 7, 3, 2]) + b"--" + bytes([0x80 | 16, 3])

    assert BinaryHunk(literal=False, payload=delta).apply(b"0123456789") == b"789--012"


def test_a_copy_without_a_size_is_64_kilobytes() -> None:
    old = bytes(range(256)) * 256
    delta = bytes([0x80, 0x80, 4, 0x80, 0x80, 4, 0x80])

    assert BinaryHunk(literal=False, payload=delta).apply(old) == old


@pytest.mark.parametrize(
    ("delta", "fact"),
    [
        (bytes([9, 1, 1, 65]), "made for a file of another length"),
        (bytes([10, 1, 0]), "an instruction that git does not have"),
        (bytes([10, 1, 0x80 | 1 | 16, 9, 2]), "copies from behind the end"),
        (bytes([10, 2, 1, 65]), "does not make as many bytes"),
        (bytes([10, 1, 2, 65, 66]), "does not make as many bytes"),
        (bytes([10, 1, 3, 65]), "ends early"),
        (bytes([10, 1, 0x80 | 1]), "ends early"),
        (bytes([10]), "ends early"),
        (bytes([0x80]), "ends early"),
        (b"", "ends early"),
    ],
)
def test_a_delta_that_does_not_belong_is_refused(delta: bytes, fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        BinaryHunk(literal=False, payload=delta).apply(b"0123456789")


@pytest.mark.parametrize(
    ("size", "lines", "fact"),
    [
        (0, [b"AcmV?d00001"], "length letter"),
        (0, [b"0cmV?d00001"], "length letter"),
        (0, [b"H"], "length letter"),
        (0, [b""], "length letter"),
        (0, [b"Hcm V?d0000"], "bad base85 character"),
        (0, [b"D~~~~~"], "overflow"),
        (0, [b"D00000"], "can't be inflated"),
        (1, [b"HcmV?d00001"], "not 1 bytes long"),
        (4, _lines(b"12345"), "not 4 bytes long"),
        (100, _lines(b"x" * 100)[:-1], "not 100 bytes long"),
    ],
)
def test_what_git_does_not_write_is_refused(size: int, lines: list[bytes], fact: str) -> None:
    with pytest.raises(ValueError, match=fact):
        binary.decode(literal=True, size=size, lines=lines)
