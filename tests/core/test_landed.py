"""What a patch adds and upstream has got meanwhile, in other words or at another place of the same scope, is not added a second time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pq.core.place import place
from pq.core.placement import Placed, Reason, Refused
from tests.core.diffs import only, recorded

BASE = """\
import os

LIMIT = 1


class A(Base):
    one: int = 1
    two: int = 2

    def first(self, a):
        self.a = a
        return a

    def second(
        self,
        b,
        c=1,
    ):
        if b == 1:
            return one
        elif b == 2:
            return two
        else:
            return three

    class Inner:
        x: int = 1


TABLE = {
    "a": 1,
    "b": 2,
    "c": 3,
    "d": 4,
}


def add(parser):
    parser.add_argument("--alpha", type=int)
    parser.add_argument(
        "--beta",
        type=int,
        default=1,
        help="beta",
    )
    parser.add_argument("--gamma", type=int)
    parser.add_argument("--delta", type=int)
    register("a", A)
    register("b", A)
    register("c", A)
"""


def _put(base: str, theirs: str, ours: str) -> Placed | Refused:
    file = only(recorded(base.encode(), theirs.encode()))
    return place(replace(file, old_path="f.py", new_path="f.py"), ours.encode(), base=base.encode())


def _with(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


ADDED: dict[str, tuple[tuple[str, str], tuple[str, str], str]] = {
    "method": (
        ("    def second(", "    def mine(self):\n        return 1\n\n    def second("),
        ("    one: int = 1\n", "    def mine(self):\n        return 2  # better\n\n    one: int = 1\n"),
        "def mine stands in A already",
    ),
    "async method": (
        ("    def second(", "    async def mine(self):\n        return 1\n\n    def second("),
        ("    one: int = 1\n", "    async def mine(self): pass\n\n    one: int = 1\n"),
        "def mine stands in A already",
    ),
    "field": (
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 0\n"),
        ("class A(Base):\n", "class A(Base):\n    mine: float = 0.0\n"),
        "field mine stands in A already",
    ),
    "field of a nested class": (
        ("        x: int = 1\n", "        x: int = 1\n        mine: int = 0\n"),
        ("    class Inner:\n", "    class Inner:\n        mine: int = 1\n"),
        "field mine stands in A.Inner already",
    ),
    "branch": (
        ("        else:\n", "        elif b == 3:\n            return mine\n        else:\n"),
        ("        elif b == 2:\n", "        elif b == 3:\n            return ours\n        elif b == 2:\n"),
        "elif b == 3 of if b == 1 stands in A.second already",
    ),
    "option": (
        ('    parser.add_argument("--delta"', '    parser.add_argument("--mine", type=int)\n    parser.add_argument("--delta"'),
        ('    parser.add_argument("--alpha"', '    parser.add_argument("--mine")\n    parser.add_argument("--alpha"'),
        "parser.add_argument('--mine') stands in add already",
    ),
    "argument": (
        ('        help="beta",\n', '        help="beta",\n        choices=[1],\n'),
        ('        "--beta",\n', '        "--beta",\n        choices=[1, 2],\n'),
        "choices= of parser.add_argument('--beta') stands in add already",
    ),
    "parameter": (
        ("        c=1,\n", "        c=1,\n        mine=2,\n"),
        ("        self,\n", "        self,\n        mine,\n"),
        "parameter mine of second stands in A already",
    ),
    "key": (
        ('    "d": 4,\n', '    "d": 4,\n    "mine": 5,\n'),
        ('    "a": 1,\n', '    "mine": 6,\n    "a": 1,\n'),
        "key 'mine' of TABLE stands in the module already",
    ),
    "registration": (
        ('    register("c", A)\n', '    register("c", A)\n    register("mine", A)\n'),
        ('    parser.add_argument("--alpha"', '    register("mine", B)\n    parser.add_argument("--alpha"'),
        "register('mine') stands in add already",
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_what_is_there_already_is_not_added_a_second_time(name: str) -> None:
    mine, upstream, said = ADDED[name]
    theirs, ours = _with(BASE, *mine), _with(BASE, *upstream)

    found = _put(BASE, theirs, ours)

    assert isinstance(found, Refused), found
    assert (found.reason, found.detail) == (Reason.THERE, f"{said}, as it did not where the patch was made")
    assert b"".join(ours.encode().splitlines(keepends=True)[found.lines[0] - 1 : found.lines[0]]).strip() != b""
    assert isinstance(_put(BASE, theirs, BASE.replace("import os", "import sys")), Placed)


def test_the_same_name_in_another_scope_is_another_thing() -> None:
    mine, _, _ = ADDED["method"]
    ours = _with(BASE, "        x: int = 1\n", "        x: int = 1\n\n        def mine(self): pass\n")

    assert isinstance(_put(BASE, _with(BASE, *mine), ours), Placed)


def test_what_was_there_from_the_beginning_is_no_news() -> None:
    """A second overload, a branch that asks the same in another chain: the patch was made beside it."""
    base = _with(BASE, "    def first(", "    @overload\n    def mine(self): ...\n\n    def first(")
    theirs = _with(base, "    def second(", "    def mine(self, b): pass\n\n    def second(")

    assert isinstance(_put(base, theirs, base.replace("import os", "import sys")), Placed)


def test_a_part_that_is_there_refuses_the_whole() -> None:
    """Partly landed: the rest alone may be worse than nothing."""
    theirs = _with(_with(BASE, *ADDED["method"][0]), *ADDED["option"][0])
    ours = _with(BASE, *ADDED["option"][1])

    found = _put(BASE, theirs, ours)

    assert isinstance(found, Refused), found
    assert (found.reason, found.hunk is not None and found.hunk.number) == (Reason.THERE, 2)


def test_an_expression_that_nests_deeper_than_python_recurses() -> None:
    deep = BASE + "\n\nx = " + " + ".join(["y"] * 1500) + "\n"
    mine, upstream, _ = ADDED["method"]

    assert isinstance(_put(deep, _with(deep, *mine), _with(deep, "import os", "import sys")), Placed)
    assert isinstance(_put(deep, _with(deep, *mine), _with(deep, *upstream)), Refused)
