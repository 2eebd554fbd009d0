"""structure: what compiles, and is not meant: applied twice, or a few lines beside the place. Expected places are written out."""

from __future__ import annotations

import pytest

from pq.checks import structure
from pq.checks.sources import Source

PARSER = """\
def add_args(parser):
    parser.add_argument("--alpha", type=int)
    parser.add_argument("--beta", "-b", type=int)
"""


def _found(before: str, after: str) -> list[tuple[str, int]]:
    return [(each.code, each.line or 0) for each in structure.findings(Source("f.py", [before.encode()], after.encode()))]


TWICE = {
    "in one function": (PARSER + '    parser.add_argument("--alpha")\n', [("option-twice", 4)]),
    "the short form": (PARSER + '    parser.add_argument("--gamma", "-b")\n', [("option-twice", 4)]),
    "by way of a group": (
        PARSER + '    group = parser.add_argument_group("g")\n    group.add_argument("--alpha")\n',
        [("option-twice", 5)],
    ),
    "in a helper that gets the parser": (
        PARSER + "    more(parser)\n\n\ndef more(parser):\n    parser.add_argument('--alpha')\n",
        [("option-twice", 8)],
    ),
    "in a function that gets what was made": (
        "def f():\n    p = ArgumentParser()\n    p.add_argument('--alpha')\n    more(given=p)\n\n\ndef more(given):\n    given.add_argument('--alpha')\n",
        [("option-twice", 8)],
    ),
    "spelled by parts": (
        "def f(parser, x):\n    parser.add_argument(f'--{x}-a')\n    parser.add_argument(f'--{x}-a')\n",
        [("option-twice", 3)],
    ),
    "in a method": (
        "class A:\n    @staticmethod\n    async def args(p_parser):\n        p_parser.add_argument('--a')\n        p_parser.add_argument('--a')\n",
        [("option-twice", 5)],
    ),
}
APART = {
    "another parser": 'def f(sub):\n    one = sub.add_parser("one")\n    one.add_argument("--a")\n    one = sub.add_parser("two")\n    one.add_argument("--a")\n',
    "either or": 'def f(parser):\n    if a:\n        parser.add_argument("--a")\n    else:\n        parser.add_argument("--a", type=int)\n',
    "a function in a branch": 'if a:\n    def f(parser):\n        parser.add_argument("--a")\nif b:\n    def g(parser):\n        parser.add_argument("--a")\n',
    "cases": 'def f(parser):\n    match a:\n        case 1:\n            parser.add_argument("--a")\n        case 2:\n            parser.add_argument("--a")\n',
    "a try": 'def f(parser):\n    try:\n        parser.add_argument("--a", type=x)\n    except E:\n        parser.add_argument("--a")\n',
    "what is left": 'def f(parser):\n    if a:\n        parser.add_argument("--a")\n        return\n    parser.add_argument("--a")\n',
    "methods of two classes": "def f(parser):\n    A.add(parser)\n    B.add(parser)\n    super().add(parser)\n\n\nclass A:\n    def add(parser):\n        parser.add_argument('--a')\n",
    "of which the second holds": "parser = ArgumentParser(conflict_handler='resolve')\nparser.add_argument('--a')\nparser.add_argument('--a')\n",
    "another function": PARSER + '\n\ndef other(parser):\n    parser.add_argument("--alpha")\n',
}


@pytest.mark.parametrize("name", TWICE)
def test_an_option_that_a_parser_gets_twice(name: str) -> None:
    """M3: it imports, and dies when the parser is built."""
    after, wanted = TWICE[name]

    assert _found(PARSER, after) == wanted
    assert _found(after, after + "\nx = 1\n") == []


@pytest.mark.parametrize("name", APART)
def test_options_of_two_parsers(name: str) -> None:
    assert _found("", APART[name]) == []


DEFINED = {
    "method": (
        "class A:\n    def f(self): pass\n    def g(self): pass\n",
        "    async def f(self): pass\n",
        [("defined-twice", 4)],
    ),
    "field": ("class A:\n    x: int = 1\n    y: int = 2\n", "    x: float = 3\n", [("defined-twice", 4)]),
    "member": ("class A(str, Enum):\n    X = 1\n    Y = 2\n", "    X = 3\n", [("defined-twice", 4)]),
    "nested class": ("class O:\n    class A:\n        x: int = 1\n", "        x: int = 2\n", [("defined-twice", 4)]),
    "function": ("def f(): pass\n\n\n", "def f(): pass\n", [("defined-twice", 4)]),
    "key": ("D = {\n    'a': 1,\n    'b': 2,\n", "    'a': 3,\n}\n", [("key-twice", 4)]),
    "property": ("class A:\n    @property\n    def f(self): pass\n", "    @f.setter\n    def f(self, v): pass\n", []),
    "overload": ("class A:\n    @overload\n    def f(self): ...\n", "    @typing.overload\n    def f(self, v): ...\n", []),
    "registered": ("@f.register(int)\ndef _(a): pass\n\n", "@f.register(str)\ndef _(a): pass\n", []),
    "flag": ("class A(IntFlag):\n    X = 1\n    Y = 2\n", "    X = 3\n", [("defined-twice", 4)]),
    "attribute key": ("D = {\n    K.A: 1,\n    K.B: 2,\n", "    K.A: 3,\n}\n", [("key-twice", 4)]),
    "handed on": ("@app.get('/a')\ndef f(): pass\n\n", "@app.get('/b')\ndef f(): pass\n", []),
    "wrapped": ("@lru_cache(1)\ndef f(): pass\n\n", "@lru_cache(2)\ndef f(): pass\n", [("defined-twice", 5)]),
    "otherwise": ("if a:\n    def f(): pass\nelse:\n", "    def f(): pass\n", []),
}


@pytest.mark.parametrize("name", DEFINED)
def test_what_is_defined_twice(name: str) -> None:
    before, more, wanted = DEFINED[name]
    whole = before if not name.endswith(("key", "otherwise")) else before + ("    pass\n" if name == "otherwise" else "}\n")

    assert _found(whole, before + more) == wanted


def test_a_branch_that_is_there_already() -> None:
    before = "def f(a):\n    if a == 1:\n        g()\n    elif a == 2:\n        h()\n    else:\n        i()\n"
    after = before.replace("    else:\n", "    elif a == 1:\n        j()\n    else:\n")

    assert _found(before, after) == [("branch-twice", 6)]
    assert _found(before, before.replace("        i()\n", "        if a == 1:\n            j()\n        i()\n")) == []


def test_a_condition_that_may_be_another_when_it_is_asked_again() -> None:
    before = "if q.get():\n    a()\nelif b:\n    c()\n"

    assert _found(before, before + "elif q.get():\n    d()\n") == []
    assert _found(before, before + "elif b:\n    d()\n") == [("branch-twice", 5)]


def test_a_call_in_a_call_that_is_meant() -> None:
    before = "add(1)\nx = add(\n    1,\n    2,\n)\n"

    assert _found(before, before + "y = add(add(1, 2), 3)\n") == []
    assert _found(before, before.replace("    2,\n", "    add(3),\n")) == [("call-nested", 4)]


def test_a_case_that_is_there_already() -> None:
    before = "def f(a):\n    match a:\n        case 1:\n            g()\n        case 2 if b:\n            h()\n"

    assert _found(before, before + "        case 1:\n            j()\n") == [("branch-twice", 7)]
    assert _found(before, before + "        case 2:\n            j()\n") == []


def test_a_chain_that_nests_deeper_than_python_recurses() -> None:
    before = "if a == 0:\n    pass\n" + "".join(f"elif a == {number}:\n    pass\n" for number in range(1, 1100))

    assert _found(before, before + "elif a == 1100:\n    pass\n") == []


def test_dead_code_that_is_changed_was_dead() -> None:
    before = "def f():\n    raise E\n    if a:\n        g()\n"

    assert _found(before, before + "        h()\n") == []


UNREACHABLE = {
    "return": "def f():\n    return 1\n",
    "raise": "def f(a):\n    if a:\n        raise E\n",
    "continue": "for a in b:\n    continue\n",
    "match": "def f(a):\n    match a:\n        case 1:\n            return 2\n",
}


@pytest.mark.parametrize("name", UNREACHABLE)
def test_what_is_never_reached(name: str) -> None:
    before = UNREACHABLE[name]
    line = before.splitlines()[-1]
    after = before + " " * (len(line) - len(line.lstrip())) + "mine()\n"

    found = _found(before, after)

    assert found == [("unreachable", after.count("\n"))]
    assert _found(after, after) == []
    assert _found(before, before + "x = f\n") == []


def test_what_is_switched_off_by_a_raise_in_front_is_meant() -> None:
    before = "class A:\n    def check(self):\n        if a:\n            return 1\n        return b\n"

    assert _found(before, before.replace("        if a:\n", "        raise Skipped\n        if a:\n")) == []


def test_a_return_that_makes_a_generator_is_meant() -> None:
    assert _found("", "def f():\n    return\n    yield\n") == []


def test_a_call_among_the_arguments_of_another_one() -> None:
    after = PARSER.replace("type=int)\n", 'type=int,\n    parser.add_argument("--mine"))\n', 1).replace(
        'add_argument("--alpha", type=int,\n    parser.add_argument("--mine"))',
        'add_argument("--alpha",\n    parser.add_argument("--mine"))',
    )

    assert _found(PARSER, after) == [("call-nested", 3)]
    assert _found("", "x = max(1, max(2, 3))\n") == []


def test_what_does_not_parse_is_another_check_s() -> None:
    assert _found("def f(:\n", "def f(): pass\ndef f(): pass\n") == []
    assert _found("x = 1\n", "def f(:\n") == []


def test_the_finding_says_where_and_what() -> None:
    (found,) = structure.findings(Source("f.py", [PARSER.encode()], (PARSER + '    parser.add_argument("--alpha")\n').encode()))

    assert found.lines() == (
        "f.py:4: option --alpha is added twice in add_args, first in line 2 [option-twice]",
        '        parser.add_argument("--alpha")',
        "        ^",
    )


def test_a_new_file_is_the_patch_s_own() -> None:
    assert [each.code for each in structure.findings(Source("f.py", [], b"def f(): pass\ndef f(): pass\n"))] == ["defined-twice"]


def test_an_expression_that_nests_deeper_than_python_recurses() -> None:
    """Generated tables are such files."""
    deep = "x = " + " + ".join(["y"] * 1500) + "\n"

    assert _found("x = 1\n", deep + PARSER + '    parser.add_argument("--alpha")\n') == [("option-twice", 5)]
