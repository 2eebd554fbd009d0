"""Keywords that what is called does not take: told for sure, or not at all."""

from __future__ import annotations

import pytest

from tests.conftest import World

THERE = b"""\
from dataclasses import dataclass, field
from typing import ClassVar


class Base:
    def __init__(self, kind): self.kind = kind


@dataclass
class Mixin:
    done: object = None


@dataclass
class Input(Base, Mixin):
    bonus: object = None
    late: int = field(default=0, init=False)
    count: ClassVar[int] = 0


class Plain:
    def __init__(self, a, *, b=1): pass


class Open:
    def __init__(self, a, **more): pass


class Child(Plain): pass


@dataclass
class Late:
    kind: "list[ClassVariant]" = None
    made: object = field(default_factory=lambda: dict(init=False))


class Meta(type): pass


class Made(metaclass=Meta): pass


class Single(Made):
    def __init__(self, a): pass


def takes(a, b=1): pass


def takes_all(a, **more): pass
"""
BEFORE = b"from pkg import Input as Renamed\nfrom pkg.there import Child, Input, Late, Open, Plain, Single, takes, takes_all\n\n\ndef use(x):\n    pass\n"
REFUSED = {
    "a field that has another name now": ("Input(verified=x)", "Input takes no verified"),
    "through a package, under another name": ("Renamed(verified=x)", "Renamed takes no verified"),
    "a field that no __init__ has": ("Input(late=1)", "Input takes no late"),
    "a class variable": ("Input(count=1)", "Input takes no count"),
    "of a base that is no dataclass": ("Input(kind=1)", "Input takes no kind"),
    "an __init__": ("Plain(1, c=2)", "Plain takes no c"),
    "a function": ("takes(1, c=2)", "takes takes no c"),
}
FINE = {
    "what it takes": "Input(bonus=x, done=1)",
    "by position": "takes(1, 2)",
    "keyword only": "Plain(1, b=2)",
    "any keyword": "Open(1, c=2), takes_all(1, c=2)",
    "given as a whole": "takes(**x)",
    "a class that inherits its __init__": "Child(c=1)",
    "a name that is something else here": "[takes for takes in (use,)], x(c=1)",
    "an attribute": "x.takes(c=1)",
    "a name of a comprehension": "[takes(c=1) for takes in x]",
    "a parameter of a lambda": "(lambda takes: takes(c=1))(x)",
    "a name that is given here": "(takes := x) and takes(c=1)",
    "a field whose type is called nearly so": "Late(kind=1)",
    "a field whose default says init": "Late(made=1)",
    "a class that another one makes": "Single(c=1)",
}


@pytest.fixture
def calls(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A package with something to call."""
    world = World(tmp_path_factory.mktemp("world"))
    world.release("v1", {"pkg/__init__.py": b"from pkg.there import Input\n", "pkg/there.py": THERE, "pkg/use.py": BEFORE})
    world.init()
    return world


@pytest.mark.parametrize("name", REFUSED)
def test_a_keyword_that_nothing_takes(calls: World, name: str) -> None:
    call, reason = REFUSED[name]
    calls.patch("p.patch", {"pkg/use.py": BEFORE.replace(b"    pass\n", f"    {call}\n".encode())})

    said = calls.pq("push")

    assert said.code == 4, said
    assert f"pkg/use.py:6: {reason}, by hunk 1 (patches/p.patch:" in said.err
    assert "[no-parameter]\n" in said.err


@pytest.mark.parametrize("name", FINE)
def test_what_may_be_is_let_through(calls: World, name: str) -> None:
    calls.patch("p.patch", {"pkg/use.py": BEFORE.replace(b"    pass\n", f"    {FINE[name]}\n".encode())})

    assert calls.pq("push").code == 0


def test_what_upstream_calls_so_is_its_own(calls: World) -> None:
    wrong = BEFORE.replace(b"    pass\n", b"    Input(verified=x)\n")
    calls.release("v2", {"pkg/__init__.py": b"", "pkg/there.py": THERE, "pkg/use.py": wrong})
    calls.patch("p.patch", {"pkg/other.py": b"x = 1\n"})
    assert calls.pq("rebase", "v2").code == 0
    calls.patch("v2/q.patch", {"pkg/use.py": wrong.replace(b"(x)", b"(x, y=1)")})
    series = calls.queue / "series" / "v2"
    series.write_text(series.read_text() + "v2/q.patch\n")

    assert calls.pq("push").code == 0


def test_a_rebase_does_not_carry_a_call_to_where_nothing_takes_it(calls: World) -> None:
    calls.patch("p.patch", {"pkg/use.py": BEFORE.replace(b"    pass\n", b"    Input(bonus=x)\n")})
    calls.release("v2", {"pkg/__init__.py": b"", "pkg/there.py": THERE.replace(b"bonus", b"extra"), "pkg/use.py": BEFORE})

    done = calls.pq("rebase", "v2")

    assert done.code == 4
    assert "pkg/use.py:6: Input takes no bonus" in done.err
