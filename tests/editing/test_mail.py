"""mail: what leaves as a mailbox comes in again as it was, with git am and with pq import."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch

HEADER = "From: Zoë <zoe@example.org>\nDate: Tue, 03 Nov 2026 10:00:00 +0100\nSubject: größer\n\nWhy not.\n\nFrom here on.\n\n"
ENVELOPE = re.compile(rb"^From [0-9a-f]{40} .*$", re.MULTILINE)


def _mailed(world: World, *words: str) -> bytes:
    box = world.root / "box"
    done = world.pq("mail", "--mbox", str(box), "--from", "Ada <ada@example.org>", *words)
    assert (done.code, done.err) == (0, "")
    return box.read_bytes()


def test_git_am_and_import_make_the_same_of_it(three: World) -> None:
    assert three.process("header", "-r", "b", given=HEADER.encode()).code == 0
    full = three.files()
    made = _mailed(three)

    assert made.count(b"\nSubject: [PATCH ") == 3
    git(three.upstream, "am", "-q", "--keep-cr", str(three.root / "box"))
    assert (three.upstream / "f.txt").read_bytes() == (three.checkout / "f.txt").read_bytes()
    assert git(three.upstream, "log", "-3", "--format=%an|%s|%aI").splitlines()[1] == "Zoë|größer|2026-11-03T10:00:00+01:00"
    assert "Why not.\n\n>From here on.\n" in git(three.upstream, "log", "-1", "--format=%b", "HEAD~1")

    three.pq("pop", "-a")
    for name in ("a", "b", "c"):
        three.pq("delete", "-r", name)
    assert three.pq("import", str(three.root / "box")).code == 0
    assert listed(three) == ["a.patch", "gr-er.patch", "c.patch"]
    assert three.pq("push", "-a").code == 0
    assert three.files() == full
    assert ENVELOPE.sub(b"", _mailed(three)) == ENVELOPE.sub(b"", made)


@pytest.mark.parametrize(
    "name", ["with blank.txt", 'quo"te.txt', "ünïcode.txt", os.fsdecode(b"l\xe4tin.txt"), "new\nline.txt"], ids=ascii
)
@pytest.mark.parametrize("content", [b"", b"no newline", b"a\r\nb\r\n", b"caf\xe9\n", b"\0\1\2", b"-- \nFrom x\n"], ids=repr)
def test_every_name_and_content_comes_back_byte_for_byte(desk: World, name: str, content: bytes) -> None:
    Path(desk.checkout, name).write_bytes(content)
    desk.pq("add", "--", f".checkout/{name}")
    assert desk.pq("refresh", "-z", "a.patch").code == 0
    change(desk, 3, "three")
    assert desk.pq("refresh", "-z", "b.patch").code == 0
    wanted, texts = desk.files(), [(desk.queue / "patches" / each).read_bytes() for each in ("a.patch", "b.patch")]
    _mailed(desk)
    desk.pq("pop", "-a")
    for each in ("a", "b"):
        desk.pq("delete", "-r", each)

    assert desk.pq("import", str(desk.root / "box")).code == 0
    assert desk.pq("push", "-a").code == 0

    assert desk.files() == wanted
    again = [(desk.queue / "patches" / each).read_bytes() for each in ("a.patch", "b.patch")]
    assert [text[text.index(b"diff --git") :].rstrip(b"\n") for text in again] == [text.rstrip(b"\n") for text in texts]
    git(desk.upstream, "am", "-q", "--keep-cr", str(desk.root / "box"))
    assert Path(desk.upstream, name).read_bytes() == content


def test_a_part_of_the_series_and_a_first_mail(three: World) -> None:
    one = _mailed(three, "b")
    assert (one.count(b"\nSubject: "), b"\nSubject: [PATCH] b\n" in one) == (1, True)
    assert _mailed(three, "-", "b").count(b"\nSubject: ") == 2
    said = _mailed(
        three,
        "b",
        "-",
        "--prefix",
        "RFC",
        "--subject",
        "Two",
        "-m",
        "About them.",
        "--to",
        "x@example.org",
        "--reply-to",
        "<1@x>",
    )

    assert [line for line in said.decode().splitlines() if line.startswith(("Subject", "To", "In-Reply-To"))][:3] == [
        "To: x@example.org",
        "In-Reply-To: <1@x>",
        "Subject: [RFC 0/2] Two",
    ]
    assert said.count(b"\nTo: x@example.org\n") == 3
    git_am = subprocess.run(
        ["git", "mailinfo", "-k", "msg", "patch"], input=said, cwd=three.root, capture_output=True, check=True
    )
    assert b"Subject: [RFC 0/2] Two\n" in git_am.stdout


def test_what_can_t_be_mailed_is_said(three: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert three.pq("mail", "--mbox", "-", "c", "a").code == 1
    assert three.pq("mail").code == 64
    assert three.pq("mail", "--mbox", "-", "--to", "a\nb").code == 64
    git(three.checkout, "config", "--unset", "user.name")
    git(three.checkout, "config", "--unset", "user.email")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("HOME", str(three.root))
    said = three.process("mail", "--mbox", "-", "a")
    assert (said.code, said.err.splitlines()) == (
        1,
        [
            "pq: Nobody is named as the author of patch a.patch",
            "hint: --from NAME <ADDRESS>, or git config user.name and user.email",
        ],
    )
    assert "a.patch" in listed(three)
    assert patch(three, "a.patch").startswith("diff --git")
