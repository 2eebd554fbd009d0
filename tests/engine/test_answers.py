"""Answers that have to be true: what a dry run, a verdict, a name and a hint promise."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import MODULE, NUMBERS, World, git
from tests.laws import nothing_changed, stands_at


def test_goto_tries_without_moving_too(stacked: World) -> None:
    """Law 11, downwards."""
    stacked.pq("push", "-a")

    with nothing_changed(stacked):
        tried = stacked.pq("goto", "--dry-run", "one")

    assert tried.out == "Removing patch two.patch\nWould be at patch one.patch; nothing was changed\n"
    assert stacked.pq("goto", "one").out == "Removing patch two.patch\nNow at patch one.patch\n"


def test_what_took_fuzz_takes_it_again(stacked: World) -> None:
    """A push or verify without --fuzz says the same wherever it runs, whatever was pushed here before."""
    place = stacked.queue / "patches" / "one.patch"
    lines = [line for line in place.read_bytes().splitlines(keepends=True) if not line.startswith(b"index ")]
    at = next(number for number, line in enumerate(lines) if line.startswith(b" "))
    place.write_bytes(b"".join([*lines[:at], b" something else\n", *lines[at + 1 :]]))
    assert stacked.pq("verify").code == 1
    assert stacked.pq("push", "--fuzz", "1").code == 0
    assert stacked.pq("pop").code == 0

    assert [stacked.pq(*words).code for words in (("verify",), ("push",), ("push", "--fuzz", "1"))] == [1, 1, 0]


def test_temporary_names_are_not_the_users(stacked: World) -> None:
    for name in (".numbers.txt.pq-new", ".module.py.pq-new"):
        (stacked.checkout / name).write_bytes(b"mine\n")
        (stacked.checkout / "pkg" / name).write_bytes(b"mine\n")

    assert stacked.pq("push", "-a").code == 0

    assert [place.read_bytes() for place in sorted(stacked.checkout.rglob("*.pq-new"))] == [b"mine\n"] * 4


def test_setup_does_not_write_over_ignored_files(stacked: World) -> None:
    git(stacked.checkout, "switch", "-q", "--orphan", "other")
    git(stacked.checkout, "rm", "-rqf", "--ignore-unmatch", ".")
    (stacked.checkout / ".git" / "info" / "exclude").write_text("*.txt\n")
    (stacked.checkout / "numbers.txt").write_bytes(b"precious\n")

    said = stacked.pq("setup")

    assert said.code == 1
    assert (stacked.checkout / "numbers.txt").read_bytes() == b"precious\n"


def test_setup_moves_an_empty_checkout_to_a_changed_pin(stacked: World) -> None:
    stacked.release("v2", {"numbers.txt": NUMBERS, "pkg/module.py": MODULE, "more.txt": b"more\n"})
    stacked.series.write_bytes(
        stacked.series.read_bytes().replace(b"# pq-pin: v1", b"# pq-pin: v2").split(b" ")[0]
        + b" pq-pin: v2\none.patch\ntwo.patch\n"
    )
    before = stacked.pq("push")

    assert (before.code, "pq setup" in before.err) == (5, True)
    assert stacked.pq("setup").code == 0
    assert (stacked.checkout / "more.txt").exists()
    assert stacked.pq("push", "-a").code == 0


def test_a_checkout_with_patches_is_not_moved_to_a_changed_pin(stacked: World) -> None:
    stacked.pq("push")
    stacked.release("v2", {"numbers.txt": NUMBERS, "pkg/module.py": MODULE})
    written = stacked.series.read_bytes()
    stacked.series.write_bytes(b"# pq-pin: v2\none.patch\ntwo.patch\n")
    assert stacked.pq("setup").code == 0

    said = stacked.pq("push")

    assert said.code == 5
    assert "put the old pq-pin line back, pq pop -a" in said.err
    stacked.series.write_bytes(written)
    assert stacked.pq("pop", "-a").code == 0


@pytest.mark.parametrize("lost", ["series/v1", "hooks/pre-apply", "patches/"])
def test_init_puts_back_what_its_hint_says(stacked: World, lost: str) -> None:
    place = stacked.queue / lost
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()

    said = stacked.pq("init")

    assert (said.code, said.out) == (0, f"Made {lost}\n")
    assert place.exists()


@pytest.mark.parametrize("command", ["next", "previous", "files", "show"])
def test_questions_about_the_top_say_that_the_series_changed_under_it(stacked: World, command: str) -> None:
    stacked.pq("push", "-a")
    stacked.series.write_bytes(stacked.series.read_bytes().replace(b"two.patch\n", b""))

    said = stacked.pq(command)

    assert (said.code, said.err.split("\n")[0]) == (5, "pq: Applied patch two.patch is no longer in the series")


def test_a_patch_file_that_is_gone_is_not_called_changed(stacked: World) -> None:
    stacked.pq("push")
    (stacked.queue / "patches" / "one.patch").unlink()

    said = stacked.pq("status")

    assert "In the series, but without a file: one.patch\n" in said.out
    assert "Changed since" not in said.out


@pytest.mark.parametrize("output", ["|", "> /dev/full"])
def test_what_is_done_is_done_though_nobody_reads_of_it(stacked: World, output: str) -> None:
    stacked.pq("push", "-a")
    command = f"{sys.executable} -m pq pop -a {output + ' true; exit ${PIPESTATUS[0]}' if output == '|' else output}"

    done = subprocess.run(["bash", "-c", command], cwd=stacked.queue, capture_output=True, text=True, check=False)

    assert done.returncode == (0 if output == "|" else 1)
    assert ("what the command did is done" in done.stderr) == (output != "|")
    stands_at(stacked, None)


def test_what_a_hook_started_ends_with_it(stacked: World) -> None:
    """A signal to pq alone, as a job runner sends it."""
    pid = stacked.root / "pid"
    (stacked.queue / "hooks" / "pre-apply").write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    process = subprocess.Popen([sys.executable, "-m", "pq", "--trust", "push"], cwd=stacked.queue, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while not pid.exists() or not pid.read_text().strip():
        assert time.monotonic() < end
        time.sleep(0.01)

    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err.strip()) == (130, b"pq: interrupted")
    while Path(f"/proc/{pid.read_text().strip()}").exists() and not _is_zombie(pid.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.01)


def _is_zombie(pid: str) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_a_nohup_is_respected(stacked: World) -> None:
    (stacked.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\nkill -HUP $PPID\n")

    done = subprocess.run(
        ["nohup", sys.executable, "-m", "pq", "--trust", "push"], cwd=stacked.queue, capture_output=True, check=False
    )

    assert done.returncode == 0


def test_a_patch_cut_in_a_line_is_cut(stacked: World) -> None:
    """Missing context lines may be blank ones that an editor trimmed, but then the file ends with a newline."""
    stacked.add("cut.patch", b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1,4 +1,5 @@\n line 1\n+bc")

    said = stacked.pq("push", "-a")

    assert (said.code, said.out) == (1, "")
    assert "patches/cut.patch:3: the hunk is cut" in said.err


def test_a_patch_turns_a_folder_into_a_symlink(stacked: World) -> None:
    swap = (
        b"diff --git a/pkg/module.py b/pkg/module.py\ndeleted file mode 100644\n--- a/pkg/module.py\n+++ /dev/null\n@@ -1,%d +0,0 @@\n%s"
        b"diff --git a/pkg b/pkg\nnew file mode 120000\n--- /dev/null\n+++ b/pkg\n@@ -0,0 +1 @@\n+elsewhere\n\\ No newline at end of file\n"
    )
    lines = MODULE.splitlines(keepends=True)
    stacked.series.write_bytes(b"# pq-pin: v1\nswap.patch\n")
    (stacked.queue / "patches" / "swap.patch").write_bytes(swap % (len(lines), b"".join(b"-" + line for line in lines)))

    assert stacked.pq("push").code == 0
    assert os.readlink(stacked.checkout / "pkg") == "elsewhere"
    assert stacked.pq("pop").code == 0
    assert (stacked.checkout / "pkg" / "module.py").read_bytes() == MODULE
