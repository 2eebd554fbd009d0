"""Law 8 for Python: a hunk whose lines fit stands in the class, function and call, and between the statements, that it was made for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pq.core import surroundings
from pq.core.place import place
from pq.core.placement import How, Placed, Reason, Refused
from tests.core.diffs import only, plain, recorded


def _put(base: bytes, theirs: bytes, ours: bytes, *, known: bool = True) -> Placed | Refused:
    """Carry what makes theirs of base over to ours; without `known`, by the text of the patch alone."""
    file = only(recorded(base, theirs) if known else plain(base, theirs))
    return place(replace(file, old_path="f.py", new_path="f.py"), ours, base=base if known else None)


SOURCES = {
    "nested class": b"class A:\n    class B:\n        x = 1\n        y = 2\n",
    "decorator between": b"class A:\n    @first\n    @second\n    def f(self):\n        y = 2\n",
    "async def": b"async def f():\n    async with a() as b:\n        x = 1\n        y = 2\n",
    "match": b"def f(a):\n    match a:\n        case {'k': [1, *rest]} if rest:\n            x = 1\n            y = 2\n",
    "f-string with braces": b"def f(a):\n    s = f'''{a!r:>{len(a)}} {{\n    y\n    }}'''\n",
    "tabs": b"class A:\n\tdef f(self):\n\t\tx = 1\n\t\ty = 2\n",
    "form feed": b"x = 1\n\x0c\ndef f():\n    x = 1\n    y = 2\n",
    "call": b"f(\n    'a',\n    x=1,\n    y=2,\n)\n",
    "dict": b"D = {\n    'x': 1,\n    'y': 2,\n}\n",
    "parameters": b"def f(\n    x,\n    y=2,\n):\n    pass\n",
    "else": b"if a:\n    x = 1\nelse:\n    y = 2\n",
    "except": b"try:\n    x = 1\nexcept (A, B):\n    y = 2\n",
}
WANTED = {
    "nested class": ("A.B", (), "x =", None),
    "decorator between": ("A.f", (), "self", None),
    "async def": ("f", (), "x =", None),
    "match": ("f", ("case {'k': [1, *rest]}",), "x =", None),
    "f-string with braces": ("f", ("s =", "a string"), None, None),
    "tabs": ("A.f", (), "x =", None),
    "form feed": ("f", (), "x =", None),
    "call": ("", ("f('a')",), "x=", None),
    "dict": ("", ("D =",), "'x':", None),
    "parameters": ("f", (), "x", "pass"),
    "else": ("", (), "x =", None),
    "except": ("", (), "(A, B)", None),
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_surrounds_the_line_with_y(name: str) -> None:
    tree = surroundings.parse(SOURCES[name])
    assert tree is not None
    lines = SOURCES[name].split(b"\n")  # a form feed ends no line
    line = max(number for number, text in enumerate(lines, 1) if text.strip().startswith((b"y", b"'y'")))

    found = surroundings.around(tree, line, line)

    assert (found.scope, found.within, found.above, found.below) == WANTED[name]


def test_a_file_that_does_not_parse_has_no_tree() -> None:
    """Upstream ships such files, too: templates, and those for other versions of Python."""
    assert surroundings.parse(b"def f(:\n") is None
    assert isinstance(_put(b"def f(:\n1\n2\n3\n4\n", b"def f(:\n1\n2\nx\n3\n4\n", b"new\ndef f(:\n1\n2\n3\n4\n"), Placed)


def _class(name: str, *, method: str = "def forward(self, x):", mine: str = "") -> str:
    return f"class {name}:\n    {method}\n        x = first(x)\n        x = x + 1\n        x = x * 2\n{mine}        x = x - 3\n        x = last(x)\n        return x\n\n\n"


BASE = _class("C0") + _class("C1")
THEIRS = _class("C0") + _class("C1", mine="        self.mine = x\n")
SCOPES = {
    "another class": (BASE.replace("        return x\n\n\nclass C1:\n", "        return x\n\n", 1), "C1.forward", "C0.forward"),
}


@pytest.mark.parametrize("name", SCOPES)
def test_another_scope_is_refused_with_both_places(name: str) -> None:
    ours, made, found = SCOPES[name]
    assert surroundings.parse(ours.encode()) is not None

    refused = _put(BASE.encode(), THEIRS.encode(), ours.encode())

    assert isinstance(refused, Refused), refused
    assert refused.reason is Reason.MOVED
    assert (f"it was made for {made} between" in refused.detail, f"would stand in {found} between" in refused.detail) == (
        True,
        True,
    )


RENAMED = [
    BASE.replace("class C1:\n    def forward(", "class C1:\n    def backward("),
    BASE.replace("class C1:", "class Other:"),
    BASE.replace("class C1:\n    def forward(self, x):\n", "class C1:\n  def outer(self):\n    def forward(self, x):\n"),
]


@pytest.mark.parametrize("ours", RENAMED)
def test_a_scope_that_was_renamed_is_the_same(ours: str) -> None:
    """It is not there any more, and the other was not there."""
    assert surroundings.parse(ours.encode()) is not None
    assert isinstance(_put(BASE.encode(), THEIRS.encode(), ours.encode()), Placed)


def test_the_same_scope_at_another_line_is_no_other_place() -> None:
    for ours in (
        _class("New") + BASE,
        BASE.replace("class C1:", "@decorated\nclass C1(Base):"),
        BASE.replace("first(x)", "one(x)"),
    ):
        assert isinstance(_put(BASE.encode(), THEIRS.encode(), ours.encode()), Placed)


CALLS = 'add(\n    "--alpha",\n    type=int,\n    help="a",\n)\nadd(\n    "--beta",\n    type=float,\n    default=1,\n    help="b",\n    group=g,\n    metavar="B",\n)\n'


def test_another_call_is_refused() -> None:
    """M1: upstream dropped the call and left some of its lines to the one above."""
    theirs = CALLS.replace('    default=1,\n    help="b",\n', '    default=1,\n    choices=[1, 2],\n    help="b",\n')
    ours = CALLS.replace('    help="a",\n)\nadd(\n    "--beta",\n    type=float,\n', "")

    refused = _put(CALLS.encode(), theirs.encode(), ours.encode())

    assert isinstance(refused, Refused), refused
    assert (refused.reason, "in add('--beta') between" in refused.detail, "in add('--alpha') between" in refused.detail) == (
        Reason.MOVED,
        True,
        True,
    )


def test_between_other_statements_is_refused_and_beside_a_new_one_is_not() -> None:
    base = "def f():\n    one()\n    # c\n    # d\n    # e\n    # g\n    two()\n    three()\n"
    theirs = base.replace("    # d\n    # e\n", "    # d\n    mine()\n    # e\n")
    both = base.replace("one()", "other()").replace("two()", "another()")
    beside = base.replace("one()", "other()")

    refused = _put(base.encode(), theirs.encode(), both.encode())

    assert isinstance(refused, Refused), refused
    assert refused.detail == "it was made for f between one() and two(), and would stand in f between other() and another()"
    assert isinstance(_put(base.encode(), theirs.encode(), beside.encode()), Placed)


def test_what_is_taken_away_is_compared_as_well() -> None:
    theirs = BASE[: BASE.rindex("        x = x * 2\n")] + BASE[BASE.rindex("        x = x * 2\n") + len("        x = x * 2\n") :]

    refused = _put(BASE.encode(), theirs.encode(), SCOPES["another class"][0].encode())

    assert isinstance(refused, Refused), refused
    assert refused.reason is Reason.MOVED


def test_code_that_has_become_a_text_is_no_place_for_code() -> None:
    base = b"def first(x):\n    a = x + 1\n    return a\n\n\nz = 1\n"
    theirs = base.replace(b"    return", b"    a = a * 2\n    return")
    ours = b'NOTE = """\n' + base + b'"""\nz = 2\n'

    found = _put(base, theirs, ours)

    assert isinstance(found, Refused), found
    assert "would stand in the module in a string" in found.detail


HEADINGS = {
    "pq's own": b"C1.forward",
    "git's": b"class C1:",
    "git's for Python": b"def forward(self, x):",
}


@pytest.mark.parametrize("name", HEADINGS)
def test_a_heading_is_believed_where_nothing_else_is_known(name: str) -> None:
    """M2: upstream put one more such class on top, and the stated lines are now another one's."""
    file = only(plain(BASE.encode(), THEIRS.encode()))
    hunk = replace(file.hunks[0], section=HEADINGS[name])
    file = replace(file, old_path="f.py", new_path="f.py", hunks=(hunk,))
    ours = (_class("New") + BASE).replace("class New:\n    def forward", "class New:\n    def other").encode()

    assert isinstance(place(file, BASE.encode()), Placed)
    refused = place(file, ours)

    if name == "git's for Python":  # it names the function only, and there are two of that name
        assert isinstance(refused, Placed)
        return
    assert isinstance(refused, Refused), refused
    assert (refused.reason, refused.lines) == (Reason.MOVED, (hunk.old_start,))
    assert refused.detail == f"it says that it was made for {HEADINGS[name].decode()}, and its lines stand in " + (
        "C0.forward" if name == "pq's own" else "class C0:"
    )


def test_crs_of_all_sides_are_left_out_of_a_merge_of_statements() -> None:
    """As it stands in a release that was packed on another system."""
    base = b"A = 1\r\nB = 2\r\nC = 3\r\n"
    file = only(plain(base, base.replace(b"B = 2", b"B = 20")))
    file = replace(file, old_path="f.py", new_path="f.py")

    placed = place(file, base.replace(b"C = 3", b"C = 30"), base=base)

    assert isinstance(placed, Placed)
    assert (placed.content, placed.how) == (b"A = 1\r\nB = 20\r\nC = 30\r\n", How.STRUCTURED)


def test_crs_that_upstream_dropped_are_dropped_from_a_patch() -> None:
    base = b"A = 1\r\nB = 2\r\nC = 3\r\nD = 4\r\nE = 5\r\n"
    file = only(plain(base, base.replace(b"B = 2", b"B = 20")))
    file = replace(file, old_path="f.py", new_path="f.py")

    placed = place(file, base.replace(b"\r\n", b"\n").replace(b"E = 5", b"E = 50"), base=base)

    assert isinstance(placed, Placed)
    assert placed.content == b"A = 1\nB = 20\nC = 3\nD = 4\nE = 50\n"


def test_a_heading_above_a_function_that_the_hunk_shows_says_nothing() -> None:
    """Upstream put another function above, and what the heading names is not what the change is in."""
    base = b"def first():\n    one()\n    two()\n    return 1\n\ndef second():\n    old()\n"
    file = only(plain(base, base.replace(b"old", b"new")))
    hunk = replace(file.hunks[0], section=b"def first():")
    file = replace(file, old_path="f.py", new_path="f.py", hunks=(hunk,))
    ours = base.replace(b"def second", b"def more():\n    return 1\n\ndef second")

    assert b"".join(hunk.old[: hunk.leading]) == b"    return 1\n\ndef second():\n"
    assert isinstance(place(file, ours), Placed)


def test_a_heading_that_is_no_class_and_no_function_says_nothing() -> None:
    file = only(plain(BASE.encode(), THEIRS.encode()))
    file = replace(file, old_path="f.py", new_path="f.py", hunks=(replace(file.hunks[0], section=b"import time"),))

    assert isinstance(place(file, BASE.encode()), Placed)
