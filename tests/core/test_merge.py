"""The edits of a patch, carried to another file: expected texts are written out, real git is asked in tests/property."""

from __future__ import annotations

import pytest

from pq.core.lines import Lines, split_lines
from pq.core.merge import Conflict, Landing, Merged, merge
from pq.core.patch import Edit


def _lines(text: str) -> Lines:
    """One line a letter."""
    return tuple(f"{letter}\n".encode() for letter in text)


def _text(lines: Lines) -> str:
    return "".join(line.decode().removesuffix("\n") for line in lines)


def _merged(base: str, ours: str, *edits: tuple[int, int, str]) -> Merged:
    found = merge(
        _lines(base),
        _lines(ours),
        [Edit(start, stop, _lines(text), number) for number, (start, stop, text) in enumerate(edits, 1)],
    )
    assert isinstance(found, Merged), found
    return found


def _conflicts(base: str, ours: str, *edits: tuple[int, int, str]) -> tuple[Conflict, ...]:
    found = merge(
        _lines(base),
        _lines(ours),
        [Edit(start, stop, _lines(text), number) for number, (start, stop, text) in enumerate(edits, 1)],
    )
    assert isinstance(found, tuple), found
    return found


@pytest.mark.parametrize(
    ("ours", "edit", "result"),
    [
        ("abcdef", (2, 3, "C"), "abCdef"),
        ("xyabcdef", (2, 3, "C"), "xyabCdef"),
        ("cdef", (3, 4, "DD"), "cDDef"),
        ("abcdxef", (2, 2, "+"), "ab+cdxef"),
        ("abXdef", (4, 6, ""), "abXd"),
        ("abcdef", (0, 0, "+"), "+abcdef"),
        ("abcdef", (6, 6, "+"), "abcdef+"),
        ("abcdefx", (0, 6, ""), None),
    ],
)
def test_edits_are_carried_over(ours: str, edit: tuple[int, int, str], result: str | None) -> None:
    if result is None:
        assert _conflicts("abcdef", ours, edit)
        return

    assert _text(_merged("abcdef", ours, edit).lines) == result


def test_where_edits_came_to_stand() -> None:
    found = _merged("abcdefgh", "xxabCdefgh", (2, 3, "C"), (6, 7, "G"))

    assert _text(found.lines) == "xxabCdefGh"
    assert found.landings == (
        Landing(Edit(2, 3, _lines("C"), 1), 4, landed=True),
        Landing(Edit(6, 7, _lines("G"), 2), 8, landed=False),
    )


def test_where_edits_stand_that_ours_has_all_of() -> None:
    found = _merged("abcdef", "aBBcdeF", (1, 2, "BB"), (5, 6, "F"))

    assert [(landing.line, landing.landed) for landing in found.landings] == [(1, True), (6, True)]


@pytest.mark.parametrize(
    ("ours", "edit"),
    [
        ("abXdef", (2, 3, "C")),  # the same line
        ("abXdef", (1, 2, "B")),  # the line below
        ("abXdef", (3, 4, "D")),  # the line above
        ("abXcdef", (2, 2, "+")),  # the same gap
        ("abdef", (2, 2, "+")),  # a line that is gone
        ("aXf", (3, 4, "D")),
        ("", (2, 3, "C")),
    ],
)
def test_changes_that_touch_are_a_conflict(ours: str, edit: tuple[int, int, str]) -> None:
    """git's rule: without a common line between them, nothing says in which order or whether both are meant."""
    (conflict,) = _conflicts("abcdef", ours, edit)

    assert (conflict.hunk, conflict.other) == (1, None)
    assert _text(conflict.ours) in ours


def test_a_conflict_shows_three_sides() -> None:
    assert _conflicts("abcdef", "xabCCdef", (1, 3, "-")) == (Conflict(1, 2, _lines("bc"), _lines("bCC"), _lines("-")),)


def test_all_conflicts_are_returned() -> None:
    found = _conflicts("abcdefgh", "aXcdefYh", (1, 2, "B"), (4, 5, "E"), (6, 7, "G"))

    assert [(conflict.hunk, conflict.line) for conflict in found] == [(1, 1), (3, 6)]


@pytest.mark.parametrize(("ours", "edit"), [("abCdef", (2, 3, "C")), ("abdef", (2, 3, "")), ("ab+cdef", (2, 2, "+"))])
def test_what_ours_has_already_has_landed(ours: str, edit: tuple[int, int, str]) -> None:
    found = _merged("abcdef", ours, edit)

    assert _text(found.lines) == ours
    assert [landing.landed for landing in found.landings] == [True]


def test_of_three_look_alikes_the_right_one_is_edited() -> None:
    """M2: upstream inserted one more such block on top."""
    block = "{x}pqrs"
    base = "".join(block.format(x=x) for x in "ABC")

    found = _merged(base, block.format(x="N") + base, (7, 8, "!"))

    assert _text(found.lines) == "NpqrsApqrsBp!rsCpqrs"


@pytest.mark.parametrize(
    ("base", "ours", "edit", "places"),
    [
        ("(pqrs)(pqrs)", "(pqrs)(pqrs)(pqrs)", (2, 3, "!"), (2, 8)),
        ("(pqrs)(pqrs)", "(pqrs)(pqrs)(pqrs)", (8, 8, "!"), (8, 14)),
        ("(pqrs)(pqrs)(pqrs)", "(pqrs)(pqrs)", (8, 9, "!"), (8, 2)),
        ("aaaa", "aaaaa", (2, 2, "!"), (2, 3)),
        ("aaaa", "aaaaa", (1, 2, "!"), (1, 2)),
        ("zu(pqrs)(pqrs)vy", "Zu(pqrs)(pqrs)(pqrs)vY", (4, 5, "!"), (4, 10)),
    ],
)
def test_of_equal_blocks_nobody_can_tell(base: str, ours: str, edit: tuple[int, int, str], places: tuple[int, int]) -> None:
    """Law 8. Upstream has one block more or less, and a diff may say as well that it stands above the edit as below it."""
    conflicts = _conflicts(base, ours, edit)

    assert sorted((conflicts[0].line, conflicts[0].other)) == sorted(places)  # type: ignore[type-var]


def test_a_block_that_both_inserted_leaves_it_open_where_the_next_edit_belongs() -> None:
    """It was taken over above the edit, or another one like it was put in below."""
    conflicts = _conflicts("(pqrs)(pqrs)", "(pqrs)(pqrs)(pqrs)", (0, 0, "(pqrs)"), (2, 3, "!"))

    assert [(conflict.hunk, conflict.line, conflict.other) for conflict in conflicts] == [(2, 8, 2)]


def test_a_change_that_touches_in_one_way_of_saying_it_only_is_none() -> None:
    """An empty line may be the first or the last of what upstream inserted; the edit is before it in both."""
    found = _merged("ab-cd-e", "ab-xy-cd-e", (1, 2, "B"))

    assert _text(found.lines) == "aB-xy-cd-e"


def test_a_change_taken_over_among_others_is_not_made_twice() -> None:
    """Between two calls, `)` and `f(` may be the last lines of what upstream inserted or its first."""
    base, ours = "f(1)f(2)", "f(1)f(3)f(4)f(2)"

    found = merge(_lines(base), _lines(ours), [Edit(3, 3, _lines(")f(3"), 1)])

    assert isinstance(found, tuple)


@pytest.mark.parametrize("ours", [b"a\nb", b"a\nb\n"])
def test_the_last_line_may_lack_its_newline(ours: bytes) -> None:
    found = merge(split_lines(b"a\nb"), split_lines(ours), [Edit(0, 1, (b"A\n",), 1)])

    assert isinstance(found, Merged) == (ours == b"a\nb")
