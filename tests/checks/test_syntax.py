"""The syntax check: one answer a file, whoever compiles and in however many processes; no answer lets nothing through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pq.checks import syntax
from pq.checks.environment import Interpreter
from pq.errors import NotChecked

GOOD, BROKEN, TORN = b"x = 1\n", b"def f(:\n    pass\n", b"x = (\n"
LARGE = b"y = 2\n" * 100_000


def _nothing(_: int) -> tuple[bytes, ...]:
    return ()


@pytest.mark.parametrize("filling", [b"", LARGE], ids=["in this process", "in several"])
@pytest.mark.parametrize("version", [sys.version_info[:2], (3, 0)], ids=["own version", "another"])
def test_every_file_has_its_own_answer(filling: bytes, version: tuple[int, int]) -> None:
    python = Interpreter(Path(sys.executable), version, "")
    sources = [(f"{number}.py", content + filling) for number, content in enumerate([GOOD, BROKEN, GOOD, TORN, GOOD])]

    found = syntax.new_findings(sources, _nothing, python)

    assert {number: (finding.path, finding.line) for number, finding in found.items()} == {1: ("1.py", 1), 3: ("3.py", 1)}


def test_what_was_broken_before_in_the_same_way_is_not_new() -> None:
    sources = [("a.py", BROKEN + GOOD), ("b.py", BROKEN), ("c.py", BROKEN)]
    before = {0: (BROKEN,), 1: (TORN,), 2: (GOOD, BROKEN)}

    assert set(syntax.new_findings(sources, before.__getitem__)) == {1}


@pytest.mark.parametrize("command", ["/bin/false", "/bin/true", "/nowhere/python"])
def test_an_interpreter_that_gives_no_answer_lets_nothing_through(command: str) -> None:
    """A worker that the system killed for its memory is one."""
    with pytest.raises(NotChecked, match="ended without an answer while it compiled the files"):
        syntax.new_findings([("a.py", GOOD)], _nothing, Interpreter(Path(command), (3, 0), ""))
