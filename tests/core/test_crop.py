"""What a merge does not touch makes no difference to it, whatever upstream made of it."""

from __future__ import annotations

import pytest

from pq.core import crop, pymerge
from pq.core.lines import split_lines
from tests.core.test_pymerge import BASE, CARRIED

ASIDE = '''\


class Aside:
    """Text at the margin:
def no_function():
    more text.
    """

    def one(self, a):
        b = a + 1
        c = b + 1
        return c

    def two(self):
        return 2


def aside(
    a,
    b,
):
    first(a)
    second(b)
    return a
'''
UPSTREAM = ASIDE.replace("        c = b + 1\n", "        c = b + 2  # upstream's\n").replace(
    "    second(b)\n", "    third(b)\n    second(b)\n"
)


@pytest.mark.parametrize("name", CARRIED)
def test_a_merge_is_the_same_beside_what_it_does_not_touch(name: str) -> None:
    upstream, mine, _ = CARRIED[name]
    ours, theirs = BASE.replace(*upstream), BASE.replace(*mine)
    alone = pymerge.merge(BASE.encode(), ours.encode(), theirs.encode())[0]

    beside = pymerge.merge((BASE + ASIDE).encode(), (ours + UPSTREAM).encode(), (theirs + ASIDE).encode())[0]

    assert beside == alone + UPSTREAM.encode()


def test_lines_keep_their_numbers_and_definitions_their_names() -> None:
    plain = [text.replace("def no_function():\n", "") for text in (ASIDE, UPSTREAM)]
    base, ours = (split_lines((text + "x = 1\n").encode()) for text in plain)
    theirs = (*base[:-1], b"x = 2\n")

    found = crop.cropped((base, theirs), (ours, ours))

    assert [len(lines) for lines in found] == [len(lines) for lines in (base, theirs, ours, ours)]
    assert [lines[-1] for lines in found] == [b"x = 1\n", b"x = 2\n", b"x = 1\n", b"x = 1\n"]
    bare = b"".join(found[2])
    assert b"def aside(): " + crop.MARK in bare
    assert b"third" not in bare


def test_a_file_that_would_not_parse_without_is_left_whole() -> None:
    """A line at the margin in a text ends what looks like a function."""
    text = 'def f():\n    a = """\nmargin\n    """\n    b = 1\n    c = 2\n    d = 3\n    return a\n'
    lines, changed = split_lines((text + "x = 1\n").encode()), split_lines((text + "x = 2\n").encode())

    assert crop.cropped((lines, changed), (lines, lines)) == (lines, changed, lines, lines)
