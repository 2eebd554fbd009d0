"""The rules of the shipped hook in a push: named with place and hunk, as text and as values, and switched off by queue or patch."""

from __future__ import annotations

import json
import re

import pytest

from pq.core.rules import CODES
from tests.conftest import PROJECT, World
from tests.laws import nothing_changed, stands_at

ARGS = b"""\
import os


class Args:
    @staticmethod
    def add(parser):
        parser.add_argument("--alpha", type=int)
        parser.add_argument("--beta", type=int)
        return os.sep
"""
PATCHES = {
    "option-twice": ARGS.replace(b"        return", b'        parser.add_argument("--alpha")\n        return'),
    "defined-twice": ARGS + b"\n    def add(parser): pass\n",
    "branch-twice": ARGS + b"\nif os:\n    a = 1\nelif os:\n    a = 2\n",
    "key-twice": ARGS + b'\nD = {"a": 1, "a": 2}\n',
    "unreachable": ARGS + b"        return 2\n",
    "call-nested": ARGS.replace(b'"--beta", type=int', b'"--beta",\n            parser.add_argument("--mine"),\n        '),
    "undefined-name": ARGS.replace(b"import os\n", b""),
    "no-module": ARGS + b"from pkg.nowhere import x\n",
    "no-name": ARGS + b"from pkg.there import x\n",
    "no-parameter": ARGS + b"\n\ndef mine(a): pass\n\n\nmine(b=1)\n",
}


@pytest.fixture
def rules(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A package, and no patch."""
    world = World(tmp_path_factory.mktemp("world"))
    world.release("v1", {"pkg/__init__.py": b"", "pkg/there.py": b"y = 1\n", "pkg/args.py": ARGS})
    world.init()
    return world


def test_every_rule_is_told_of() -> None:
    told = re.findall(r"^## (\S+)$", (PROJECT / "docs" / "checks.md").read_text(), re.MULTILINE)

    assert told == ["syntax", "import", "origin", "probe", "expect", *CODES]
    assert set(PATCHES) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_each_rule_rejects_and_can_be_switched_off(rules: World, code: str) -> None:
    rules.patch("p.patch", {"pkg/args.py": PATCHES[code]})

    with nothing_changed(rules):
        said = rules.pq("push")
    assert (said.code, f"[{code}]\n" in said.err, ", by hunk " in said.err) == (4, True, True), said.err

    config = rules.queue / "pq.toml"
    text = config.read_text()
    config.write_text(f'{text.partition("[check]")[0]}[check]\noff = ["{code}"]\n')
    assert rules.pq("push").code == 0
    stands_at(rules, "p.patch")
    rules.pq("pop")
    config.write_text(text)
    place = rules.queue / "patches" / "p.patch"
    place.write_bytes(f"Why.\n\nPq-Allow: no-name, {code}\n\n".encode() + place.read_bytes())
    assert rules.pq("push").code == 0


def test_a_finding_as_values(rules: World) -> None:
    rules.patch("p.patch", {"pkg/args.py": PATCHES["option-twice"]})

    (event,) = [each for each in json.loads(rules.pq("push", "--json").out)["events"] if each["event"] == "rejected"]

    assert event["findings"] == [
        {
            "patch": "p.patch",
            "code": "option-twice",
            "reason": "option --alpha is added twice in Args.add, first in line 7",
            "path": "pkg/args.py",
            "line": 9,
            "column": 9,
            "text": ['        parser.add_argument("--alpha")'],
            "scope": "Args.add",
            "hunk": 1,
            "patched": "patches/p.patch:5",
            "suggestion": "",
        }
    ]


def test_a_module_that_a_later_patch_brings(rules: World) -> None:
    rules.patch("p.patch", {"pkg/args.py": PATCHES["no-module"]})
    (rules.queue / "patches" / "q.patch").write_text("--- /dev/null\n+++ b/pkg/nowhere.py\n@@ -0,0 +1 @@\n+x = 1\n")
    with rules.series.open("a") as series:
        series.write("q.patch\n")

    assert rules.pq("push").code == 4
    assert rules.pq("push", "-a").code == 0


@pytest.mark.parametrize("root", [".src", "src/py", "."])
def test_modules_are_looked_for_below_the_root(tmp_path_factory: pytest.TempPathFactory, root: str) -> None:
    world = World(tmp_path_factory.mktemp("world"))
    below = "" if root == "." else f"{root}/"
    world.release("v1", {f"{below}pkg/__init__.py": b"", f"{below}pkg/there.py": b"y = 1\n", f"{below}pkg/args.py": ARGS})
    world.init()
    config = world.queue / "pq.toml"
    config.write_text(f'{config.read_text().partition("[check]")[0]}[check]\nroot = "{root}"\n')
    world.patch("p.patch", {f"{below}pkg/args.py": ARGS + b"from pkg import y\n"}, header=b"Pq-Expect: symbol pkg.there:y\n\n")

    said = world.pq("push")

    assert (said.code, "module pkg has no y" in said.err, "    y is in pkg.there\n" in said.err) == (4, True, True), said.err
    assert "[expect]" not in said.err


def test_the_patch_to_blame_is_the_one_that_takes_the_name_away(rules: World) -> None:
    """The first one touches the file that imports it, the second the file that has it."""
    rules.patch("use.patch", {"pkg/args.py": ARGS + b"from pkg.there import y\n"})
    assert rules.pq("push").code == 0
    rules.patch("touch.patch", {"pkg/args.py": ARGS.replace(b"--alpha", b"--omega") + b"from pkg.there import y\n"})
    rules.patch("away.patch", {"pkg/there.py": b"z = 1\n"})

    said = rules.pq("push", "-a")

    assert (said.code, said.out.splitlines()[-1]) == (4, "Now at patch touch.patch"), said
    assert "Patch away.patch is rejected" in said.err
    assert "pkg/args.py:10: module pkg.there has no y" in said.err


@pytest.mark.parametrize("code", ["syntax", "nothing", "no-name no-module"])
def test_what_a_patch_can_t_allow(rules: World, code: str) -> None:
    rules.patch("p.patch", {"pkg/args.py": ARGS + b"x = 1\n"}, header=f"Pq-Allow: {code}\n\n".encode())

    said = rules.pq("push")

    assert (said.code, f"the patch allows {code}, which is none of option-twice, " in said.err) == (4, True), said.err


def test_what_a_patch_says_of_itself_is_a_part_of_the_verdict(rules: World) -> None:
    """The trees are the same, and were let through."""
    rules.patch("p.patch", {"pkg/args.py": ARGS + b"x = 1\n"}, header=b"Why.\n\n")
    assert (rules.pq("push").code, rules.pq("pop").code) == (0, 0)
    place = rules.queue / "patches" / "p.patch"
    place.write_bytes(place.read_bytes().replace(b"Why.\n", b"Why.\n\nPq-Expect: import pkg.nowhere\n"))

    said = rules.pq("push")

    assert (said.code, "the patch expects import pkg.nowhere" in said.err) == (4, True), said


def test_a_rule_that_is_none(rules: World) -> None:
    config = rules.queue / "pq.toml"
    config.write_text(f'{config.read_text().partition("[check]")[0]}[check]\noff = ["syntax"]\n')

    said = rules.pq("status")

    assert (said.code, said.err.splitlines()[0].endswith("[check] off names syntax, which is none of " + ", ".join(CODES))) == (
        1,
        True,
    ), said


def test_what_a_patch_expects_is_written_and_checked(rules: World) -> None:
    new = ARGS.replace(b"    @staticmethod", b"    mine: int = 1\n\n    @staticmethod").replace(
        b"        return", b'        parser.add_argument("--mine")\n        return'
    )
    rules.patch("p.patch", {"pkg/args.py": new, "pkg/more.py": b"def f(): pass\n"})
    assert rules.pq("push").code == 0

    assert rules.pq("header", "--expect").code == 0
    assert rules.pq("header").out.splitlines() == [
        "Pq-Expect: symbol pkg.args:Args.mine",
        "Pq-Expect: option --mine once",
        "Pq-Expect: symbol pkg.more:f",
        "",
    ]
    assert rules.pq("header", "--expect").code == 2
    assert (rules.pq("pop").code, rules.pq("push").code) == (0, 0)


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ("symbol pkg.args:Args.nothing", "symbol pkg.args:Args.nothing, and the tree does not have it"),
        ("symbol pkg.nowhere:f", "symbol pkg.nowhere:f, and the tree does not have it"),
        ("option --mine once", "option --mine once, and it is added 0 times"),
        ("import pkg.nowhere", "import pkg.nowhere, and the tree does not have it"),
        ("wonders", "'wonders', which is neither symbol MODULE:NAME, option NAME once nor import MODULE"),
    ],
)
def test_an_expectation_that_does_not_hold_rejects(rules: World, said: str, because: str) -> None:
    rules.patch(
        "p.patch", {"pkg/args.py": ARGS + b"x = 1\n"}, header=f"Pq-Expect: {said}\nPq-Expect: import pkg.there\n\n".encode()
    )

    pushed = rules.pq("push")

    assert (pushed.code, f"the patch expects {because} [expect]\n" in pushed.err) == (4, True), pushed.err
