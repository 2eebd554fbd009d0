"""Several at once: pq beside pq, and git beside pq. Each is done whole or refused, and what they leave is whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, patched
from tests.laws import stands_at
from tests.proof.conftest import PATCHES

PQ = [sys.executable, "-m", "pq", "--trust"]
COMMANDS = (
    *(["push"], ["push", "-a"], ["pop"], ["pop", "-a"], ["goto", "b.patch"], ["float", "a.patch"], ["sink"]),
    *(["undo"], ["redo"], ["refresh"], ["status"], ["top"], ["series", "-v"], ["check"], ["log"], ["repair"]),
)


def _start(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def _is_whole(world: World) -> None:
    """The queue can be pushed and popped, to the same bytes as ever."""
    assert world.pq("status").code == 0, world.pq("status")
    world.pq("pop", "-a")
    assert world.pq("push", "-a").code in (0, 2)
    stands_at(world, world.pq("top").out.strip())
    text = world.files()["f.txt"]
    assert [line for line in ("a 5", "b 15", "c 25") if f"{line}\n".encode() not in text] == []
    assert git(world.checkout, "fsck", "--no-dangling", "--no-progress") == ""


def test_ten_processes_on_one_checkout(three: World, every: bool) -> None:
    chance = random.Random(7)
    codes: dict[int, int] = {}

    for _ in range(20 if every else 3):
        running = [_start([*PQ, *chance.choice(COMMANDS)], three.queue) for _ in range(10)]
        for process in running:
            _, err = process.communicate(timeout=120)
            assert process.returncode in (0, 1, 2, 5), (process.args, err)
            assert b"Traceback" not in err, err
            codes[process.returncode] = codes.get(process.returncode, 0) + 1

    assert codes.get(0)
    _is_whole(three)


def test_git_beside_pq(three: World, every: bool) -> None:
    """git takes its own locks: pq waits for none, and says which one is in the way."""
    chance = random.Random(7)
    words = (
        ["status"],
        ["add", "m.py"],
        ["gc", "-q"],
        ["pack-refs", "--all"],
        ["stash", "list"],
        ["reset", "-q"],
        ["diff", "--stat"],
    )

    for _ in range(40 if every else 6):
        running = [_start(["git", *chance.choice(words)], three.checkout) for _ in range(3)]
        running += [_start([*PQ, *chance.choice(COMMANDS[:9])], three.queue) for _ in range(2)]
        for process in running:
            _, err = process.communicate(timeout=120)
            assert b"Traceback" not in err, (process.args, err)
            assert process.returncode in (0, 1, 2, 5, 128), (process.args, err)

    git(three.checkout, "reset", "-q")
    _is_whole(three)


@pytest.mark.parametrize("commits", [True, False])
def test_a_commit_of_git_s_meanwhile_is_not_lost(three: World, commits: bool) -> None:
    """Ten times a push or a pop at the moment of a commit: both are there, or one of them is refused."""
    made = 0
    for number in range(10):
        change(three, 30 + number % 3, f"text {number}")
        pq = _start([*PQ, *(["pop"] if number % 2 else ["push"])], three.queue)
        time.sleep(0.05 * number if commits else 0)
        done = subprocess.run(["git", "commit", "-qam", f"f: {number}"], cwd=three.checkout, capture_output=True, check=False)
        _, err = pq.communicate(timeout=120)
        assert b"Traceback" not in err + done.stderr
        three.pq("status")
        three.pq("repair")
        if done.returncode == 0:
            made += 1
            series = three.series.read_text()
            assert f"f-{number}.patch\n" in series, (number, series, err, done)
        git(three.checkout, "checkout", "-q", ".")
    assert made
    _is_whole(three)


def test_the_lock_of_a_dead_process_holds_nobody_up(three: World) -> None:
    """And that of a living one is said, with its number."""
    hook = three.queue / "hooks" / "pre-apply"
    hook.write_text('#!/bin/sh\ntouch "$PQ_QUEUE/../started"\nsleep 5\n')
    assert three.pq("pop").code == 0
    pushing = _start([*PQ, "check"], three.queue)
    while not (three.root / "started").exists():
        assert pushing.poll() is None
        time.sleep(0.02)

    said = three.pq("pop")
    assert (said.code, said.err) == (
        5,
        f"pq: another pq is at work here (process {pushing.pid})\nhint: wait for it, or end it and run the command again\n",
    )
    os.kill(pushing.pid, signal.SIGKILL)
    pushing.communicate()

    assert three.pq("pop").code == 0
    hook.write_text("#!/bin/sh\n")
    _is_whole(three)


@pytest.fixture
def three(tmp_path: Path) -> World:
    """Three applied patches on a file of sixty lines."""
    world = World(tmp_path)
    world.release("v1", {"f.txt": "".join(f"line {number}\n" for number in range(1, 61)).encode(), "m.py": b"x = 1\n"})
    world.init()
    for name in ("name", "email"):
        git(world.checkout, "config", f"user.{name}", "ada@example.org")
    return patched(world, **PATCHES)
