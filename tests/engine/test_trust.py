"""Hooks and probes of a queue run only after the user has trusted exactly these bytes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.laws import nothing_changed, stands_at


@pytest.fixture
def guest(stacked: World) -> World:
    """A queue whose hook leaves a mark, and whose user has trusted nothing yet."""
    _hook(stacked, "#!/bin/sh\ntouch ../ran\n")
    stacked.trusting = False
    return stacked


def _hook(world: World, text: str) -> None:
    place = world.queue / "hooks" / "pre-apply"
    place.write_text(text)
    place.chmod(0o755)


def _digest(world: World) -> str:
    trust = json.loads(world.pq("trust", "--json").out)["trust"]
    return str(trust["digest"])


def test_what_is_not_trusted_is_not_run_and_nothing_is_pushed_unchecked(guest: World) -> None:
    with nothing_changed(guest):
        pushed = guest.pq("push", "-a")

    assert (pushed.code, pushed.out) == (4, "")
    assert pushed.err == (
        "pq: The hooks and checks of this queue are not trusted yet, so nothing of them is run\n"
        "hint: pq trust shows them and asks; --trust takes them as they are\n"
    )
    for words in (("check", "one"), ("verify",), ("goto", "two"), ("push", "--dry-run")):
        assert guest.pq(*words).code == 4, words
    assert not (guest.root / "ran").exists()
    assert "The hooks and checks of this queue are not trusted\n" in guest.pq("status").out


def test_no_check_runs_no_hook_and_says_so(guest: World) -> None:
    pushed = guest.pq("push", "-a", "--no-check")

    assert (pushed.code, "NOT CHECKED" in pushed.err) == (0, True)
    assert not (guest.root / "ran").exists()


def test_without_a_terminal_trust_shows_all_and_takes_the_digest(guest: World) -> None:
    shown = guest.process("trust")

    assert shown.code == 4
    assert "hooks/pre-apply (23 bytes)\n    #!/bin/sh\n    touch ../ran\n" in shown.out
    assert '[upstream] source = "../upstream"\n' in shown.out
    assert shown.err.splitlines()[-1] == f"hint: pq trust {_digest(guest)}"

    assert guest.pq("trust", _digest(guest)).code == 0
    assert guest.pq("push", "-a").code == 0
    assert (guest.root / "ran").exists()
    assert guest.pq("trust").code == 2


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 4), ("\n", 4)])
def test_on_a_terminal_trust_asks(guest: World, answer: str, code: int) -> None:
    mine, its = pty.openpty()
    os.write(mine, answer.encode())

    done = subprocess.run([sys.executable, "-m", "pq", "trust"], cwd=guest.queue, stdin=its, capture_output=True, check=False)

    assert (done.returncode, b"Trust these? [y/N]" in done.stderr) == (code, True)
    assert guest.pq("push", "-a").code == (0 if code == 0 else 4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hooks/pre-apply", "#!/bin/sh\ntouch ../ran # and more\n"),
        ("hooks/probes/new.py", "open('../ran', 'w')\n"),
        ("hooks/requirements/v1.txt", "evil\n"),
        ("pq.toml", '[upstream]\nsource = "../upstream"\nseries = "v1"\n[check]\npython = "./mine"\n'),
        ("pq.toml", '[upstream]\nsource = "../other"\nseries = "v1"\n'),
    ],
)
def test_any_change_asks_again_and_shows_what_changed(guest: World, name: str, text: str) -> None:
    guest.pq("trust", _digest(guest))
    place = guest.queue / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)

    pushed = guest.pq("push", "-a")

    assert pushed.code == 4
    assert "not what was trusted: they were changed since" in pushed.err
    shown = guest.pq("trust").out
    assert f"{name} (" in shown
    assert ("hooks/pre-apply (" in shown) == (name == "hooks/pre-apply")
    assert not (guest.root / "ran").exists()


def test_a_digest_in_the_environment_is_for_exactly_these_bytes(guest: World) -> None:
    digest = _digest(guest)
    guest.environment = {"PQ_TRUST": digest}

    assert guest.process("push").code == 0
    _hook(guest, "#!/bin/sh\n")
    assert guest.process("push").code == 4
    assert guest.process("trust", digest).code == 1
    assert guest.pq("push", "--trust").code == 0


def test_the_digest_is_that_of_every_clone(guest: World) -> None:
    digest = _digest(guest)
    guest.queue.rename(guest.root / "elsewhere")
    moved = guest.root / "elsewhere"

    assert json.loads(guest.pq("trust", "--json", cwd=moved).out)["trust"]["digest"] == digest


def test_trust_of_one_clone_is_none_of_another(guest: World, tmp_path: Path) -> None:
    guest.pq("trust", _digest(guest))
    guest.queue.rename(tmp_path / "elsewhere")

    assert guest.pq("push", cwd=tmp_path / "elsewhere").code == 4


def test_revoked_is_not_trusted(guest: World) -> None:
    guest.pq("trust", _digest(guest))

    assert guest.pq("trust", "--revoke").code == 0

    assert guest.pq("push").code == 4
    assert guest.pq("trust", "--revoke").code == 2


def test_the_shipped_hook_alone_takes_no_trust(guest: World) -> None:
    (guest.queue / "hooks" / "pre-apply").unlink()
    guest.pq("init")

    assert guest.pq("push", "-a").code == 0
    stands_at(guest, "two.patch")
    assert guest.pq("trust").code == 2


def test_what_is_shown_can_not_hide(guest: World) -> None:
    """An escape that deletes the line, one that turns the text round, and bytes that are no text."""
    _hook(guest, "#!/bin/sh\nrm -rf ~ #\x1b[1A\x1b[2K\u202e harmless\r\n")
    (guest.queue / "hooks" / "tool").write_bytes(b"\x7fELF\0\0")

    shown = guest.pq("trust").out

    assert "    rm -rf ~ #\\x1b[1A\\x1b[2K\\u202e harmless\\r\n" in shown
    assert "hooks/tool (6 bytes)\n    a compiled program; sha256 " in shown


def test_a_null_byte_hides_no_script(guest: World) -> None:
    _hook(guest, "#!/bin/sh\ntouch ../ran\nexit\n\0")

    assert "    touch ../ran\n    exit\n    \\x00\n" in guest.pq("trust").out


def test_a_queue_below_a_folder_of_any_name_is_not_trusted(guest: World) -> None:
    """Such as one that is left out of the digest elsewhere."""
    moved = guest.root / "__pycache__" / "queue"
    moved.parent.mkdir()
    guest.queue.rename(moved)
    git(moved / ".checkout", "config", "pq.queue", str(moved))

    assert guest.pq("push", "-a", cwd=moved).code == 4
    assert not (guest.root / "ran").exists()


def test_what_is_compiled_is_not_trusted(guest: World) -> None:
    guest.pq("trust", _digest(guest))
    (guest.queue / "hooks" / "probes" / "__pycache__").mkdir(parents=True)

    said = guest.pq("push")

    assert (said.code, "hooks/probes/__pycache__ is there" in said.err, "remove it" in said.err) == (4, True, True)


@pytest.mark.parametrize("name", ["hooks/probes", "hooks/pre-apply"])
def test_what_a_symlink_leads_to_is_not_trusted(guest: World, name: str) -> None:
    outside = guest.root / "outside"
    outside.write_text("#!/bin/sh\ntouch ../ran\n")
    outside.chmod(0o755)
    (guest.queue / name).unlink(missing_ok=True)
    (guest.queue / name).symlink_to(outside)

    for words in (("push", "--trust"), ("trust",), ("push",)):
        refused = guest.pq(*words)
        assert (refused.code, "can't be trusted" in refused.err) == (4, True), words

    assert not (guest.root / "ran").exists()


def test_status_asks_no_interpreter_that_is_not_trusted(guest: World) -> None:
    guest.pq("push", "-a", "--no-check")
    mine = guest.queue / "mine"
    mine.write_text("#!/bin/sh\ntouch ../ran ran\n")
    mine.chmod(0o755)
    with (guest.queue / "pq.toml").open("a") as toml:
        toml.write('[check]\npython = "./mine"\nmodules = ["pkg.module"]\n')

    for words in (("status",), ("series", "-v"), ("undo",), ("redo",), ("setup",), ("top",), ("status", "--json")):
        assert guest.pq(*words).code in (0, 2), words

    assert not list(guest.root.rglob("ran"))
