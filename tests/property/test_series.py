"""Law 10: reading then writing a series gives the same bytes."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from pq.core import series
from pq.core.series import Entry, Guard, Pin
from pq.errors import ParseError

PIECES = [
    b" ",
    b"\t",
    b"\f",
    b"\r",
    b"\n",
    b"#",
    b"+",
    b"-",
    b"-p1",
    b"-R",
    b"a",
    b"b.patch",
    b"\xff",
    b"\0",
    b"# pq-pin: v1\n",
    b"\xef\xbb\xbf",
]
BLANKS = st.text(" \t\f", min_size=1, max_size=2)
WORDS = st.text("ab#-+.é", min_size=1, max_size=4)


@given(st.one_of(st.binary(), st.lists(st.sampled_from(PIECES)).map(b"".join)))
def test_whatever_is_read_is_written_back(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        assert series.read(data, file="series").render() == data


@st.composite
def _lines(draw: st.DrawFn) -> tuple[list[str], list[Entry]]:
    lines, entries = [], []
    for number in range(1, draw(st.integers(1, 6))):
        if draw(st.booleans()):
            lines.append(draw(st.sampled_from(["", " ", "\f", "#", " # x y", "#+g", "\t\r"])))
            continue
        name = f"{number}{draw(WORDS)}"
        options = draw(st.lists(st.sampled_from(["-p0", "-p12", "-pab", "-R", "-F3", "-l"]), max_size=2, unique=True))
        guards = [
            Guard(text, positive)
            for text, positive in draw(st.lists(st.tuples(st.text("abé", min_size=1), st.booleans()), max_size=2))
        ]
        words = [name, *options, *("#" + "-+"[guard.positive] + guard.name for guard in guards)]
        strip = [0 if option == "-p0" else 12 if option == "-p12" else 1 for option in options if option.startswith("-p")]
        entries.append(Entry(name, len(lines) + 1, strip[-1] if strip else 1, "-R" in options, tuple(options), tuple(guards)))
        lines.append(
            draw(st.sampled_from(["", " ", "\t"]))
            + "".join(word + draw(BLANKS) for word in words)
            + draw(st.sampled_from(["", "# -p9 x"]))
        )
    return lines, entries


@given(_lines(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_series_says_what_its_lines_say(drawn: tuple[list[str], list[Entry]], ending: str, last: bool) -> None:
    lines, entries = drawn
    data = (ending.join(lines) + (ending if last else "")).encode()

    read = series.read(data, file="series")

    assert read.entries == tuple(entries)
    assert read.render() == data


@given(
    st.lists(st.sampled_from([b"a\n", b"b -R\n", b"# pq-pin: v1\n", b"#\n", b"\xef\xbb\xbf", b"c"]), unique=True).map(b"".join),
    st.booleans(),
)
def test_a_pin_that_is_set_is_read(data: bytes, whole: bool) -> None:
    """And nothing else changes."""
    with contextlib.suppress(ParseError):
        before = series.read(data, file="series")
        pinned = before.with_pin(Pin("v2", "0123456789" * 4 if whole else None))

        assert series.read(pinned.render(), file="series") == pinned
        assert pinned.names == before.names


@given(st.permutations(range(6)), st.integers(0, 6))
def test_an_order_is_made_by_few_moves(order: list[int], count: int) -> None:
    """The patches asked for come first, the others stay in their order, and so does every line that can."""
    before = series.read(b"".join(b"# about %d\np%d\n" % (number, number) for number in range(6)), file="series")
    applied = [f"p{number}" for number in order[:count]]

    after = before.ordered(applied)

    assert after.names == (*applied, *(name for name in before.names if name not in applied))
    assert sorted(after.lines) == sorted(before.lines)
    assert before.ordered(before.names[:count]) == before
