"""The lock, the journal and what pq remembers: broken, left over, or held by somebody else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pq.cli.quick import quick_top
from tests.conftest import World, git
from tests.laws import nothing_changed, stands_at

BROKEN = [b"", b"{", b"\xff\xfe", b"[]", b"null", b"7", b"{}", b'{"branch": 1, "old": 2, "new": 3}', b"\n" * 9]
WAITING = "#!/bin/sh\ntouch started\nwhile ! test -e go; do sleep 0.02; done\n"


@pytest.mark.parametrize("name", ["journal.json", "verdicts.json", "stack"])
def test_a_file_of_pq_that_is_broken_costs_nothing(stacked: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """W39: power loss left an empty operation file, every command failed."""
    monkeypatch.chdir(stacked.queue)
    stacked.pq("push")

    for content in BROKEN:
        (stacked.checkout / ".git" / "pq" / name).write_bytes(content)
        assert quick_top() in (None, "one.patch")
        assert stacked.pq("status").code == 0, content
        stands_at(stacked, "one.patch")

    assert stacked.pq("push").code == 0
    stands_at(stacked, "two.patch")


def test_a_journal_of_commits_that_are_not_there_is_said_and_put_away(stacked: World) -> None:
    head = git(stacked.checkout, "rev-parse", "HEAD").strip()
    journal = {"operation": "2" * 40, "reverse": False, "token": "x", "index": {}, "refs": [["refs/heads/pq/v1", head, "1" * 40]]}
    journal["head"] = ["refs/heads/pq/v1"] * 2
    (stacked.checkout / ".git" / "pq" / "journal.json").write_text(json.dumps(journal))

    said = stacked.pq("push", "-a")
    again = stacked.pq("push", "-a")

    assert (said.code, again.code) == (1, 0)
    assert "pq: an interrupted command can't be taken back: object 2" in said.err
    stands_at(stacked, "two.patch")


def test_a_cut_list_of_applied_names_is_not_believed(stacked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stacked.queue)
    stacked.pq("push", "-a")
    assert quick_top() == "two.patch"
    place = stacked.checkout / ".git" / "pq" / "stack"
    whole = place.read_bytes()

    for length in range(len(whole)):
        place.write_bytes(whole[:length])
        assert quick_top() is None, whole[:length]


@pytest.fixture
def halfway(stacked: World) -> World:
    """A push that died behind the first of two files: what git and pq had in hand lies around."""
    stacked.pq("push", "-a")
    patched = (stacked.checkout / "numbers.txt").read_bytes()
    journal = _journal_of_the_last_push(stacked)
    stacked.pq("pop", "-a")
    (stacked.checkout / ".git" / "pq" / "journal.json").write_text(journal)
    (stacked.checkout / "numbers.txt").write_bytes(patched)
    (stacked.checkout / "pkg" / ".module.py.ab12.pq-new").write_bytes(b"ha")
    return stacked


def _entries(world: World, commit: str) -> dict[str, tuple[int, str]]:
    """The index as it was at a commit."""
    lines = (line.split("\t") for line in git(world.checkout, "ls-tree", "-r", commit).splitlines())
    return {path: (int(said.split()[0], 8), said.split()[2]) for said, path in lines}


def _journal_of_the_last_push(world: World) -> str:
    """What the push had written before it began to change files."""
    new, old, operation = git(world.checkout, "rev-parse", "HEAD", "refs/pq/releases/v1", "refs/pq/operations/v1").split()
    refs = [["refs/heads/pq/v1", old, new], ["refs/pq/undone/v1", None, None], ["refs/pq/operations/v1", None, operation]]
    head = ["refs/heads/pq/v1"] * 2
    said = {"operation": operation, "reverse": False, "refs": refs, "head": head, "token": "ab12", "index": _entries(world, old)}
    return json.dumps(said)


@pytest.mark.parametrize("command", ["status", "top", "push", "pop", "setup", "applied", "check", "verify"])
def test_whatever_comes_next_takes_an_interrupted_push_back(halfway: World, command: str) -> None:
    said = halfway.pq(command)

    assert said.err.startswith("pq: an interrupted command was taken back\n")
    assert "Unrefreshed" not in said.out
    if command != "push":
        stands_at(halfway, None)


def test_so_it_does_in_a_linked_worktree(stacked: World) -> None:
    shutil.rmtree(stacked.checkout)
    git(stacked.upstream, "worktree", "add", "-q", "--detach", str(stacked.checkout), "v1")
    assert stacked.pq("setup").code == 0
    assert stacked.pq("push", "-a").code == 0
    new, journal = git(stacked.checkout, "rev-parse", "HEAD").strip(), _journal_of_the_last_push(stacked)
    assert stacked.pq("pop", "-a").code == 0
    folder = git(stacked.checkout, "rev-parse", "--absolute-git-dir").strip()
    Path(folder, "pq", "journal.json").write_text(journal)
    (stacked.checkout / "numbers.txt").write_bytes(git(stacked.checkout, "show", f"{new}:numbers.txt").encode())
    locks = Path(folder, "index.lock"), stacked.upstream / ".git" / "refs" / "heads" / "pq" / "v1.lock"
    for lock in locks:
        lock.touch()

    said = stacked.pq("status")

    assert said.err == "pq: an interrupted command was taken back\n"
    assert "Unrefreshed" not in said.out
    assert not any(lock.exists() for lock in locks)


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/pq/v1.lock"])
def test_a_lock_that_the_dead_command_took_goes_with_it(halfway: World, lock: str) -> None:
    (halfway.checkout / ".git" / lock).write_bytes(b"half an index")

    assert halfway.pq("status").code == 0

    stands_at(halfway, None)


@pytest.mark.parametrize("ref", ["refs/pq/moving", "refs/pq/known/v1", "refs/pq/releases/v1"])
def test_a_dead_lock_of_a_ref_of_pqs_own_is_no_obstacle(stacked: World, ref: str) -> None:
    """A command that dies inside such a write has no journal yet, or no longer."""
    lock = stacked.checkout / ".git" / f"{ref}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()

    assert stacked.pq("push", "-a").code == 0
    assert stacked.pq("pop", "-a").code == 0

    stands_at(stacked, None)
    assert not lock.exists()


def test_a_lock_that_git_took_since_is_left_to_git(halfway: World) -> None:
    lock = halfway.checkout / ".git" / "index.lock"
    lock.touch()
    later = time.time() + 60
    os.utime(lock, (later, later))

    pushed = halfway.pq("push")

    assert lock.exists()
    assert pushed.code == 1, pushed
    assert "index" in pushed.err
    lock.unlink()
    assert halfway.pq("push", "-a").code == 0
    stands_at(halfway, "two.patch")


def test_what_the_user_changed_since_the_death_is_left(halfway: World) -> None:
    """Law 1."""
    (halfway.checkout / "numbers.txt").write_bytes(b"mine\n")

    said = halfway.pq("status")

    assert "pq: numbers.txt was changed meanwhile and is left as it is\n" in said.err
    assert "Unrefreshed: numbers.txt\n" in said.out
    assert (halfway.checkout / "numbers.txt").read_bytes() == b"mine\n"


def test_what_the_user_committed_since_the_death_is_left(halfway: World) -> None:
    git(halfway.checkout, "commit", "-qam", "by hand")
    before = (halfway.checkout / "numbers.txt").read_bytes()

    said = halfway.pq("push")

    assert said.code == 5
    assert said.err.startswith("pq: an interrupted command is left as it stands, since the branch was moved by other means\n")
    assert "(by hand) is not a patch of the series" in said.err
    assert (halfway.checkout / "numbers.txt").read_bytes() == before


@pytest.fixture
def busy(stacked: World) -> subprocess.Popen[bytes]:
    """A real pq that holds the lock: it waits for its hook."""
    (stacked.queue / "hooks" / "pre-apply").write_text(WAITING)
    process = subprocess.Popen(
        [sys.executable, "-m", "pq", "--trust", "push", "-a"],
        cwd=stacked.queue,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    _wait_for(stacked.queue / "started")
    return process


def _wait_for(place: Path) -> None:
    end = time.monotonic() + 20
    while not place.exists():
        assert time.monotonic() < end, f"{place} did not come"
        time.sleep(0.01)


def test_a_second_pq_is_kept_out(stacked: World, busy: subprocess.Popen[bytes]) -> None:
    fact = f"pq: another pq is at work here (process {busy.pid})\nhint: "
    try:
        with nothing_changed(stacked):
            said = [
                stacked.pq(*words)
                for words in (("push", "-a"), ("pop",), ("goto", "one.patch"), ("setup",), ("check",), ("verify",))
            ]
            other = stacked.process("push")
    finally:
        (stacked.queue / "go").touch()
        first = busy.wait()

    assert first == 0
    assert {each.code for each in (*said, other)} == {5}
    assert all(each.err.startswith(fact) for each in (*said, other))
    stands_at(stacked, "two.patch")


def test_one_may_look_while_another_works(stacked: World, busy: subprocess.Popen[bytes]) -> None:
    try:
        looks = [stacked.pq(command).code for command in ("status", "series", "unapplied", "top")]
    finally:
        (stacked.queue / "go").touch()
        busy.wait()

    assert looks == [0, 0, 0, 2]


def test_the_lock_goes_with_its_holder(stacked: World, busy: subprocess.Popen[bytes]) -> None:
    os.killpg(busy.pid, signal.SIGKILL)
    busy.wait()
    (stacked.queue / "go").touch()  # the hook, which outlived it, ends
    (stacked.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\n")

    pushed = stacked.pq("push", "-a")

    assert pushed.code == 0, pushed
    stands_at(stacked, "two.patch")


def test_ctrl_c_while_the_hook_runs_changes_nothing(stacked: World, busy: subprocess.Popen[bytes]) -> None:
    with nothing_changed(stacked):
        os.killpg(busy.pid, signal.SIGINT)
        code = busy.wait(10)

    assert code == 130
    stands_at(stacked, None)
