"""A merge by statements and entries: what it answers, what it leaves alone, and what it is not sure of."""

from __future__ import annotations

import ast
import random

import pytest

from pq.core import pymerge, pytree
from pq.core.pytree import Listing, Text, Unit

BASE = """\
import os
from lib import (
    alpha,
    beta,
)


class Args:
    one: int = 1
    two: int = 2

    # what comes first
    def first(self, a, b=1):
        x = go(
            a,
            b=b,
        )
        check(x)
        return x

    def second(self, a):
        register("a", a)
        return [a]


def late():
    return {"a": 1, "b": 2}
"""
Case = tuple[tuple[str, str], tuple[str, str], str]
"""What upstream made of a text of BASE, what the patch made of one, and a text that the merge has then."""

CARRIED: dict[str, Case] = {
    "fields at one place": (
        ("    two: int = 2\n", "    two: int = 2\n    ours: int = 3\n"),
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 3\n"),
        "    two: int = 2\n    ours: int = 3\n    mine: int = 3\n\n",
    ),
    "a statement that upstream has only written anew": (
        ("from lib import (\n    alpha,\n    beta,\n)\n", "from lib import alpha, beta\n"),
        ("    beta,\n", "    beta,\n    mine,\n"),
        "from lib import alpha, beta, mine\n",
    ),
    "an entry that stood in one line with the others": (
        ('        register("a", a)\n', '        register(\n            "a",\n            a,  # why\n        )\n'),
        ('register("a", a)', 'register("a", a, mine=1)'),
        '        register(\n            "a",\n            a,  # why\n            mine=1,\n        )\n',
    ),
    "words of a statement whose comment upstream changed": (
        ("        check(x)\n", "        check(x)  # upstream's\n"),
        ("        check(x)\n", "        check(x, 1)\n"),
        "        check(x, 1)  # upstream's\n",
    ),
    "in a statement that is in an if now": (
        (
            "        x = go(\n            a,\n            b=b,\n        )\n",
            "        if a:\n            x = go(\n                a,\n                b=b,\n            )\n",
        ),
        ("            b=b,\n        )\n", "            b=b,\n            mine=1,\n        )\n"),
        "        if a:\n            x = go(\n                a,\n                b=b,\n                mine=1,\n            )\n",
    ),
    "in a statement that upstream has put elsewhere": (
        ('        register("a", a)\n        return [a]\n', '        first(a)\n        register("a", a)\n        return [a]\n'),
        ('        register("a", a)\n', '        register("a", a, 1)\n'),
        '        first(a)\n        register("a", a, 1)\n        return [a]\n',
    ),
    "parameters": (
        ("a, b=1)", "a, b=1, ours=2)"),
        ("a, b=1)", "a, b=1, mine=3)"),
        "def first(self, a, b=1, ours=2, mine=3):",
    ),
    "keywords": (
        ("            b=b,\n", "            b=b,\n            ours=1,\n"),
        ("            b=b,\n", "            b=b,\n            mine=2,\n"),
        "            ours=1,\n            mine=2,\n        )\n",
    ),
    "entries of a dict in one line": (
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "ours": 3}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "mine": 4}'),
        '{"a": 1, "b": 2, "ours": 3, "mine": 4}',
    ),
    "between statements of which one changed": (
        ("        check(x)\n", "        check(x, 2)\n"),
        ("        check(x)\n", "        check(x)\n        mine(x)\n"),
        "        check(x, 2)\n        mine(x)\n        return x\n",
    ),
    "a blank line of the patch below what it puts in": (
        ("        check(x)\n", "        check(x, 2)\n"),
        ("        return x\n", "\n        def mine():\n            pass\n\n        return x\n"),
        "        check(x, 2)\n\n        def mine():\n            pass\n\n        return x\n",
    ),
    "behind a call that a formatter has written anew": (
        ("        x = go(\n            a,\n            b=b,\n        )\n", "        x = go(a, b=b)\n"),
        ("            b=b,\n        )\n", "            b=b,\n            mine=1,\n        )\n"),
        "        x = go(a, b=b, mine=1)\n",
    ),
    "in front of what is in an if now": (
        ("        check(x)\n", "        # only then\n        if a:\n            check(x)\n"),
        ("        check(x)\n", "        mine = x\n        check(x)\n"),
        "        mine = x\n        # only then\n        if a:\n            check(x)\n",
    ),
    "what upstream has done as well": (
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 3\n\n"),
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 3\n"),
        "    mine: int = 3\n",
    ),
    "a method at the end of a class that grew": (
        ("        return [a]\n", "        return [a]\n\n    def ours(self):\n        pass\n"),
        ("        return [a]\n", "        return [a]\n\n    def mine(self):\n        pass\n"),
        "    def ours(self):\n        pass\n\n    def mine(self):\n        pass\n",
    ),
    "what is taken out beside a change": (
        ("        return x\n", "        return x + 1\n"),
        ("        check(x)\n", ""),
        "        )\n        return x + 1\n",
    ),
}
UNSURE: dict[str, tuple[tuple[str, str], tuple[str, str], str]] = {
    "both changed one word": (("one: int = 1", "one: int = 10"), ("one: int = 1", "one: int = 11"), "which was changed"),
    "the order may matter": (
        ("        check(x)\n", "        check(x)\n        ours(x)\n"),
        ("        check(x)\n", "        check(x)\n        x = mine(x)\n"),
        "the order may matter",
    ),
    "arguments that their position names": (
        ("return [a]", "return [a, 1]"),
        ("return [a]", "return [a, 2]"),
        "something else stands",
    ),
    "what is there already": (
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 3\n"),
        ("    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n"),
        "where such a one is already",
    ),
    "what it changes is gone": (('        register("a", a)\n', ""), ('("a", a)', '("a", a, 1)'), "which is gone"),
    "what it takes out was changed": (
        ("        check(x)\n", "        check(y)\n"),
        ("        check(x)\n", ""),
        "which was changed",
    ),
    "what it takes out is in an if now": (
        ("        check(x)\n", "        if x:\n            check(x)\n"),
        ("        check(x)\n", ""),
        "in whose place something else stands",
    ),
    "what it takes out became something else": (
        ("        check(x)\n", "        look_at(x, 1, 2)\n"),
        ("        check(x)\n", ""),
        "in whose place something else stands",
    ),
    "both neighbours are gone": (
        ("        check(x)\n        return x\n", "        give(x)\n"),
        ("        check(x)\n", "        check(x)\n        mine(x)\n"),
        "between two others that were changed",
    ),
    "behind what leaves the block": (
        ("        check(x)\n        return x\n", "        return check(x)\n"),
        ("        check(x)\n        return x\n", "        check(x)\n        return x\n        mine(x)\n"),
        "between two others that were changed",
    ),
    "behind what is in a loop now": (
        ("        check(x)\n        return x\n", "        while x:\n            check(x)\n            give(x)\n"),
        ("        check(x)\n", "        check(x)\n        mine(x)\n"),
        "between two others that were changed",
    ),
    "calls that do something": (
        ("        check(x)\n", "        check(x)\n        x.close(1)\n"),
        ("        check(x)\n", "        check(x)\n        x.send(2)\n"),
        "the order may matter",
    ),
    "a field without a default behind one with": (
        ("    two: int = 2\n", "    two: int = 2\n    ours: int = 3\n"),
        ("    two: int = 2\n", "    two: int = 2\n    mine: int\n"),
        "the order may matter",
    ),
    "two imports of one name": (
        ("import os\n", "import os\nfrom one import load\n"),
        ("import os\n", "import os\nfrom other import load\n"),
        "the order may matter",
    ),
    "a comment of the patch": (
        ("        x = go(\n            a,\n            b=b,\n        )\n", "        x = go(a, b=b)\n"),
        ("            a,\n            b=b,\n", "            a,  # first\n            b=b,\n            mine=1,\n"),
        "a comment would be lost",
    ),
    "a file that does not parse": (("import os", "import os (:"), ("import os", "import os, sys"), "can't be taken apart"),
}


def _with(pair: tuple[str, str]) -> bytes:
    assert BASE.count(pair[0]) == 1, pair
    return BASE.replace(*pair).encode()


@pytest.mark.parametrize("name", CARRIED)
def test_what_lines_can_t_settle(name: str) -> None:
    upstream, mine, wanted = CARRIED[name]
    ours = _with(upstream)

    merged, splices = pymerge.merge(BASE.encode(), ours, _with(mine))

    assert wanted in merged.decode(), merged.decode()
    assert pymerge.merge(BASE.encode(), merged, _with(mine))[0] == merged  # what has landed is not done again
    kept = b""
    here = 0
    for splice in splices:
        kept += ours[here : splice.start]
        here = splice.stop
    assert len(kept) + len(ours[here:]) == len(ours) - sum(splice.stop - splice.start for splice in splices)


@pytest.mark.parametrize("name", UNSURE)
def test_what_it_is_not_sure_of(name: str) -> None:
    upstream, mine, because = UNSURE[name]

    with pytest.raises(pymerge.Unsure, match=because):
        pymerge.merge(BASE.encode(), _with(upstream), _with(mine))


def test_units_tile_their_file() -> None:
    file = pytree.read(BASE.encode())

    def tile(listing: Listing) -> None:
        here = listing.start
        for unit in listing.units:
            if not listing.entries:
                assert unit.start == here
                here = unit.stop
            _parts(unit)

    def _parts(unit: Unit) -> None:
        here = unit.code
        for part in unit.parts:
            assert part.start == here
            here = part.stop
            if not isinstance(part, Text):
                tile(part)
        assert here == unit.stop

    tile(file.listing)
    assert file.listing.units[-1].stop == len(BASE)


def _module(chance: random.Random, names: list[str]) -> str:
    return "".join(_definition(chance, name) for name in names)


def _definition(chance: random.Random, name: str) -> str:
    lines = [
        f"    {chance.choice('abcd')} = go({chance.choice('abcd')}, k{number}={chance.randint(0, 9)})\n" for number in range(3)
    ]
    return f"# on {name}\ndef {name}(a, b=1):\n{''.join(lines)}    return a\n\n\n"


@pytest.mark.parametrize("seed", range(200))
def test_each_definition_is_that_of_the_side_that_changed_it(seed: int) -> None:
    """The law: with nothing from upstream it is the patch, with nothing from the patch it is upstream, byte for byte; else each has its own."""
    chance = random.Random(seed)
    names = [f"f{number}" for number in range(6)]
    parts = {name: _definition(chance, name) for name in names}
    mine, upstream = dict(parts), dict(parts)
    for side, owned, prefix in ((mine, names[::2], "m"), (upstream, names[1::2], "u")):
        for name in owned:
            action = chance.choice(["keep", "change", "drop", "add"])
            if action == "change":
                side[name] = _definition(chance, name)
            elif action == "drop" and prefix == "u":
                side[name] = ""
            elif action == "add":
                side[name] += _definition(chance, f"{prefix}{name}")
    base, ours, theirs = ("".join(side.values()).encode() for side in (parts, upstream, mine))

    assert pymerge.merge(base, ours, base) == (ours, ())
    assert ast.dump(ast.parse(pymerge.merge(base, base, theirs)[0])) == ast.dump(ast.parse(theirs))
    try:
        merged = pymerge.merge(base, ours, theirs)[0].decode()
    except pymerge.Unsure:
        return
    for name in names:
        changed = mine if mine[name] != parts[name] else upstream
        assert merged.count(changed[name].strip()) == 1 if changed[name] else f"def {name}(" not in merged, name
