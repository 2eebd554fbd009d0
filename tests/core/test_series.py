"""The series file: quilt's grammar, and what quilt reads wrongly."""

from __future__ import annotations

import pytest

from pq.core import series
from pq.core.series import Entry, Guard, Pin
from pq.errors import ParseError, PqError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _entries(data: bytes) -> tuple[Entry, ...]:
    return series.read(data, file="series").entries


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (b"a.patch\n", Entry("a.patch", 1)),
        (b"a.patch", Entry("a.patch", 1)),
        (b"a.patch\r\n", Entry("a.patch", 1)),
        (b"\ta.patch \n", Entry("a.patch", 1)),
        (b"sub/a.patch -p0\n", Entry("sub/a.patch", 1, strip=0, options=("-p0",))),
        (b"a.patch -pab\n", Entry("a.patch", 1, strip=1, options=("-pab",))),
        (b"a.patch -R\n", Entry("a.patch", 1, reverse=True, options=("-R",))),
        (b"a.patch -p1 -F3\n", Entry("a.patch", 1, options=("-p1", "-F3"))),
        (b"a.patch -p2 -R # why -p0\n", Entry("a.patch", 1, strip=2, reverse=True, options=("-p2", "-R"))),
        (b"a.patch --reverse --strip=0\n", Entry("a.patch", 1, strip=0, reverse=True, options=("--reverse", "--strip=0"))),
        (b"a.patch -Rp2\n", Entry("a.patch", 1, strip=2, reverse=True, options=("-Rp2",))),
        (b"p#1.diff # note\n", Entry("p#1.diff", 1)),
        (b"a.patch #+x #-y # z\n", Entry("a.patch", 1, guards=(Guard("x", positive=True), Guard("y", positive=False)))),
        (b"a.patch ## #+ #++x #-a#b\n", Entry("a.patch", 1, guards=(Guard("a#b", positive=False),))),
        (b"gr\xc3\xb6\xc3\x9fe\n", Entry("größe", 1)),
        (b"\xff.patch\n", Entry("\udcff.patch", 1)),
        (b"\xef\xbb\xbfa.patch\n", Entry("a.patch", 1)),
    ],
)
def test_a_line_names_a_patch(line: bytes, entry: Entry) -> None:
    """M18: options are not part of the name, nor is a leading tab."""
    assert _entries(line) == (entry,)


@pytest.mark.parametrize(
    "line", [b"", b"\n", b" \t\n", b"\f\n", b"\v\f\r\n", b"# a\n", b" # indented\n", b"\t#\n", b"\xef\xbb\xbf# a\n", b"#\0\n"]
)
def test_a_line_names_none(line: bytes) -> None:
    """W52: a form feed is blank. M18: an indented comment is one."""
    assert _entries(line + b"a.patch\n" if line.endswith(b"\n") else line) == ((Entry("a.patch", 2),) if line else ())


@pytest.mark.parametrize(
    ("data", "line", "column", "fact"),
    [
        (b"a.patch b.patch\n", 1, 9, "expected an option such as -p1 or -R, or a # comment"),
        (b"\n  a.patch -p1 x\n", 2, 15, "expected an option"),
        ("größe x\n".encode(), 1, 7, "expected an option"),
        (b"a.patch -p\n", 1, 9, "expected a number after -p"),
        (b"a.patch -p1x\n", 1, 9, "expected a number after -p"),
        (b"a.patch --strip 1\n", 1, 9, "expected a number after -p"),
        (b"a.patch -p" + b"9" * 5000 + b"\n", 1, 9, "expected a number after -p"),
        (b"a\0b\n", 1, 2, "can't hold a NUL byte"),
        (b"a.patch\n# x\n a.patch -R\n", 3, 2, "Patch a.patch is listed twice, on lines 1 and 3"),
        (b"# pq-pin: v1\n# pq-pin: v2\n", 2, 1, "a second pin"),
        (b"# pq-pin:\n", 1, 10, "expected # pq-pin: RELEASE"),
        (b"# pq-pin: v1 0123abc\n", 1, 10, "expected # pq-pin: RELEASE"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(data: bytes, line: int, column: int, fact: str) -> None:
    """W54: a patch listed twice, both lines named."""
    with pytest.raises(ParseError) as caught:
        series.read(data, file="series/v1")

    assert fact in caught.value.fact
    assert (caught.value.file, caught.value.line, caught.value.column) == ("series/v1", line, column)
    assert caught.value.text == data.split(b"\n")[line - 1].decode()


def test_bytes_are_kept() -> None:
    """Law 10: reading then writing a series gives the same bytes."""
    data = b"\xef\xbb\xbf# pq-pin: v1\r\n\f\n\ta.patch  -p1\t# \xff\n #x\n\nb.patch"

    assert series.read(data, file="series").render() == data


@pytest.mark.parametrize(
    ("line", "pin"),
    [
        (b"# pq-pin: v0.5.9\n", Pin("v0.5.9")),
        (b"#pq-pin:v0.5.9\r\n", Pin("v0.5.9")),
        (b"  # pq-pin: v0.5.9 " + COMMIT.encode() + b"\n", Pin("v0.5.9", COMMIT)),
        (b"# pq-pin: " + COMMIT.encode() + b"\n", Pin(COMMIT)),
        (b"a.patch # pq-pin: v1\n", None),
        (b"# my pq-pin: v1\n", None),
    ],
)
def test_the_pin(line: bytes, pin: Pin | None) -> None:
    assert series.read(line, file="series").pin == pin


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"# pq-pin: v2\n"),
        (b"a.patch", b"# pq-pin: v2\na.patch"),
        (b"# why\n# pq-pin: v1 " + COMMIT.encode() + b"\na.patch\n", b"# why\n# pq-pin: v2\na.patch\n"),
        (b"\xef\xbb\xbfa.patch\n", b"\xef\xbb\xbf# pq-pin: v2\na.patch\n"),
    ],
)
def test_a_pin_is_set(before: bytes, after: bytes) -> None:
    pinned = series.read(before, file="series").with_pin(Pin("v2"))

    assert pinned.render() == after
    assert pinned == series.read(after, file="series")


def test_guards_select() -> None:
    """mq: a negative guard that is selected holds back; with positive ones, one of them has to be."""
    (entry,) = _entries(b"a.patch #+x #+y #-z\n")

    assert [entry.selected(frozenset(said)) for said in ("", "x", "y", "xz", "z")] == [False, True, True, False, False]
    assert Entry("b.patch", 1).selected(frozenset("x"))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a.patch", "a.patch"),
        ("a", "a.patch"),
        ("patches/a.patch", "a.patch"),
        ("patches/a", "a.patch"),
        ("b", "sub/b.diff"),
        ("b.diff", "sub/b.diff"),
        ("sub/b", "sub/b.diff"),
        ("c", "c"),
    ],
)
def test_a_patch_is_found_by_part_of_its_name(given: str, name: str) -> None:
    listed = series.read(b"a.patch\nsub/b.diff\nc\nx/c.patch\n", file="series")

    assert listed.find(given) == name


def test_a_patch_that_is_not_there_or_twice() -> None:
    listed = series.read(b"a.patch\nx/a.diff\n", file="series")

    with pytest.raises(PqError, match=r"a is ambiguous: a\.patch, x/a\.diff"):
        listed.find("a")
    with pytest.raises(PqError, match="Patch b is not in series"):
        listed.find("b")
    with pytest.raises(PqError, match="Patch x is not in series"):
        listed.entry("x")
    with pytest.raises(PqError) as missed:
        listed.find("a.pach")
    assert missed.value.hint == "did you mean a.patch?"
    assert listed.entry("x/a.diff").line == 2
    assert listed.names == ("a.patch", "x/a.diff")
