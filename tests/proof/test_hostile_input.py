"""Hostile and broken input: whatever stands in the files that pq reads, it says what is wrong, ends, and writes nothing outside.

Whole queues are made and then broken by chance: lines taken out, doubled, swapped and cut, bytes changed, and pieces of every grammar put
where they do not belong. A number names an input, so that one that failed can be made again.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import pytest

from tests.conftest import World, snapshot

INPUTS, LONG_INPUTS = 120, 10_000
SECONDS = 60
"""What no command may take for so small a queue."""

_SERIES = [b"one.patch\n", b"two.patch -p0\n", b"-R one.patch\n", b"# pq-pin: v1\n", b"# pq-pin: v1 " + b"0" * 40, b"#+guard\n"]
_SERIES += [
    b"../x.patch\n",
    b"/etc/passwd\n",
    b"a b c\n",
    b"\xff\xfe\n",
    b"one.patch # comment\n",
    b"# pq-outcome: one.patch landed\n",
]
_SERIES += [
    b"one.patch -p99999999999\n",
    b"one.patch -pab --strip=1\n",
    b"\xef\xbb\xbf",
    b"\0",
    b"x" * 300 + b"\n",
    b"\r\n",
    b"#-\n",
]
_PATCH = [b"diff --git a/numbers.txt b/numbers.txt\n", b"--- a/numbers.txt\n", b"+++ b/numbers.txt\n", b"@@ -1,3 +1,3 @@\n"]
_PATCH += [
    b"@@ -0,0 +1 @@\n",
    b"@@ -1 +0,0 @@\n",
    b"@@ -99999999999999999999,1 +1 @@\n",
    b"+x\n",
    b"-line 5\n",
    b" line 4\n",
    b"\n",
]
_PATCH += [b"--- /dev/null\n", b"+++ /dev/null\n", b"new file mode 120000\n", b"old mode 100644\n", b"new mode 160000\n", b"\r\n"]
_PATCH += [
    b"rename from numbers.txt\n",
    b"rename to ../out\n",
    b"rename to .git/config\n",
    b"deleted file mode 100644\n",
    b"\0\xff",
]
_PATCH += [
    b"copy from pkg/module.py\n",
    b"copy to /abs\n",
    b"GIT binary patch\n",
    b"literal 5\n",
    b"delta 9999999999\n",
    b"zcmYdHU|{\n",
]
_PATCH += [
    b"\\ No newline at end of file\n",
    b"Index: pkg/module.py\n",
    b"index 0000000..1111111 100644\n",
    b"similarity index 100%\n",
]
_PATCH += [
    b'--- "a/\\303\\244\\n"\n',
    b"+++ b/" + b"d/" * 300 + b"f\n",
    b"+++ b/pkg\n",
    b"+++ b/numbers.txt/below\n",
    b"-- \n2.39\n",
]
_PATCH += [
    b"Pq-Expect: import x\n",
    b"Pq-Allow: *\n",
    b"From: \xff <\n",
    b"Date: 99999999999999\n",
    b"Subject: =?utf-8?q?=FF?=\n",
    b"@@@ -1 -1 +1 @@@\n",
]
_TOML = [
    b"[upstream]\n",
    b'source = "../upstream"\n',
    b'series = "v1"\n',
    b'series = "../v1"\n',
    b"series = 7\n",
    b"[check]\n",
    b"modules = 1\n",
]
_TOML += [
    b'modules = ["pkg.module"]\n',
    b"timeout = -1\n",
    b'checkout = "../.."\n',
    b'checkout = "/"\n',
    b"[[check]]\n",
    b"\xff\n",
    b"guards = [1]\n",
]
_TOML += [
    b'off = ["x"]\n',
    b'root = "../.."\n',
    b'"" = ""\n',
    b"x = 1e999999\n",
    b"a.b.c = {}\n",
    b'prefix = "/etc"\n',
    b"memory = 99999999999999\n",
]
_STATE = [
    b"{",
    b"[]",
    b"null",
    b'{"refs": [[]]}',
    b"\0" * 40,
    b"\xff",
    b"0" * 40 + b"\n",
    b"ref: refs/heads/pq/v1\n",
    b"ref: ../../x\n",
    b"",
]
_ANSWER = [
    b"reject\tone.patch\tno\n",
    b"reject\n",
    b"reject\t\t\n",
    b"finding\tone.patch\t{}\n",
    b"finding\tone.patch\t[1]\n",
    b"partly\t\n",
]
_ANSWER += [
    b"note\t\xff\n",
    b"\0\n",
    b"finding\tone.patch\t" + b"[" * 5000 + b"\n",
    b"x" * 100_000 + b"\n",
    b"reject\tno-such.patch\tno\n",
]

_COMMANDS = [
    ["status"],
    ["series", "-v"],
    ["push", "-a"],
    ["push", "--dry-run"],
    ["pop", "-a"],
    ["lint"],
    ["verify"],
    ["top"],
    ["files"],
    ["log"],
]
_COMMANDS += [
    ["refresh"],
    ["repair"],
    ["undo"],
    ["redo"],
    ["header"],
    ["show", "one"],
    ["goto", "two"],
    ["setup"],
    ["check"],
    ["outcomes"],
]
_COMMANDS += [
    ["lint", "--fix"],
    ["mail", "--mbox", "-"],
    ["annotate", "numbers.txt"],
    ["graph"],
    ["float", "one"],
    ["hooks", "status"],
    ["continue"],
]


def _broken(chance: random.Random, content: bytes, pieces: Sequence[bytes]) -> bytes:
    """The content with some things done to it."""
    lines = content.splitlines(keepends=True) or [b""]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at] = lines[at][: chance.randint(0, len(lines[at]))]
            case 3:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 4 if lines[at]:
                place = chance.randrange(len(lines[at]))
                lines[at] = lines[at][:place] + bytes([chance.randrange(256)]) + lines[at][place + 1 :]
            case _:
                lines.insert(at, chance.choice(pieces))
        lines = lines or [b""]
    return b"".join(lines)


def _break(world: World, chance: random.Random) -> None:
    """Break one to three files of the queue."""
    git_folder = world.checkout / ".git"
    places = [(world.series, _SERIES), (world.queue / "pq.toml", _TOML)]
    places += [(world.queue / "patches" / f"{name}.patch", _PATCH) for name in ("one", "two")] * 4
    states = [f"pq/{name}" for name in ("journal.json", "verdicts.json", "stack", "staged.json", "lock")]
    states += [f"refs/{name}/v1" for name in ("heads/pq", "pq/operations", "pq/stopped", "pq/known", "pq/releases")]
    states += ["HEAD", "index", "logs/refs/heads/pq/v1"]
    places += [(git_folder / name, _STATE) for name in states]
    for place, pieces in chance.sample(places, chance.randint(1, 3)):
        content = place.read_bytes() if place.is_file() else b""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_broken(chance, content, pieces) if chance.random() < 0.9 else b"".join(chance.choices(pieces, k=8)))
    if chance.random() < 0.3:
        said = b"".join(chance.choices(_ANSWER, k=chance.randint(1, 4)))
        (world.root / "answer").write_bytes(said)
        (world.queue / "hooks" / "pre-apply").write_text(f"#!/bin/sh\ncat ../answer\nexit {chance.randrange(3)}\n")


class TooLongError(Exception):
    """A command has not come to an end."""


def _too_long(_: int, frame: FrameType | None) -> None:
    raise TooLongError(f"in {frame}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In groups, so that all cores have something of them."""
    if "numbers" in metafunc.fixturenames:
        many = LONG_INPUTS if metafunc.config.getoption("--long") else INPUTS
        size = max(30, many // 100)
        metafunc.parametrize("numbers", [range(start, min(start + size, many)) for start in range(0, many, size)], ids=str)


def test_whatever_is_read_ends_in_words(stacked: World, numbers: range) -> None:
    """No traceback and no exit code 70, nothing outside of the queue, and an end."""
    assert stacked.pq("push").code == 0
    (stacked.root / "answer").touch()
    outside = stacked.root / "outside"
    kept = stacked.root / "kept"
    shutil.copytree(stacked.queue, kept, symlinks=True)
    outside.mkdir()
    (outside / "file").write_text("untouched\n")
    before = _outside(stacked)
    signal.signal(signal.SIGALRM, _too_long)

    for number in numbers:
        chance = random.Random(number)
        shutil.rmtree(stacked.queue)
        shutil.copytree(kept, stacked.queue, symlinks=True)
        _break(stacked, chance)
        for words in chance.sample(_COMMANDS, 3):
            signal.alarm(SECONDS)
            said = stacked.pq(*words)
            signal.alarm(0)
            assert said.code in (0, 1, 2, 3, 4, 5), (number, words, said)
            assert said.code in (0, 2) or said.err or said.out, (number, words)
        assert _outside(stacked) == before, number


def _outside(world: World) -> dict[str, bytes]:
    """All but the queue itself, and what the test says."""
    found = snapshot(world.root)
    return {name: content for name, content in found.items() if name.split("/")[0] in ("upstream", "outside")} | _names(
        world.root
    )


def _names(root: Path) -> dict[str, bytes]:
    return {place.name: b"" for place in root.iterdir()}
