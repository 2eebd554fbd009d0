"""A disk that is full, or that can't be written: the reason in one line, and the old state, whole."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Result, World, git
from tests.laws import nothing_changed, stands_at

_LIMITS = (0, 100, 300, 4000)
_PR_CAPBSET_DROP = 24
_CAPABILITIES = (0, 1, 2, 3)
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: what lets root write where the mode says no."""


def _run(world: World, *words: str, first: Callable[[], None]) -> Result:
    """Run pq in a process in which `first` is done before."""
    done = subprocess.run(
        [sys.executable, "-m", "pq", "--trust", *words],
        cwd=world.queue,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=first,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


def _limit(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", _LIMITS)
def test_a_file_that_cant_grow_leaves_the_old_state(stacked: World, size: int) -> None:
    """As a full disk does: some small file, then a bigger one, then the index can't be written."""
    pushed = _run(stacked, "push", "-a", "--no-check", first=_limit(size))
    settled = stacked.pq("status")

    assert settled.code == 0, settled
    stands_at(stacked, "two.patch" if pushed.code == 0 else None)
    if pushed.code:
        assert pushed.code == 1, pushed
        assert pushed.err.startswith("pq: "), pushed
        assert "File too large" in pushed.err or "could not store" in pushed.err or "can't be written" in pushed.err, pushed
        assert "Now at" not in pushed.out
    assert stacked.pq("pop" if pushed.code == 0 else "push", "-a").code == 0


def test_pop_on_a_full_disk_keeps_the_stack(stacked: World) -> None:
    stacked.pq("push", "-a")

    popped = _run(stacked, "pop", "-a", first=_limit(300))

    assert (popped.code, popped.out) == (1, "")
    assert stacked.pq("status").code == 0
    stands_at(stacked, "two.patch")


def test_the_many_objects_of_a_long_push_need_room_too(world: World) -> None:
    """From 100 objects on git writes a pack; git dies of the limit, and says little."""
    for number in range(1, 40):
        world.add(
            f"{number}.patch",
            b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -%d +%d @@\n-line %d\n+LINE\n" % (number, number, number),
        )

    pushed = _run(world, "push", "-a", "--no-check", first=_limit(2000))

    assert pushed.code == 1
    assert "pq: git could not store the new objects" in pushed.err
    assert "hint: is the disk full?" in pushed.err
    stands_at(world, None)


def _can_mount() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not _can_mount(), reason="no mount namespaces here")
@pytest.mark.parametrize("free", [0, 9])
def test_no_page_left_on_the_device(stacked: World, free: int) -> None:
    """ENOSPC for real: a small tmpfs, filled up but for some pages."""
    pq = f'"{sys.executable}" -m pq'
    steps = f"""
        mv .checkout kept; mkdir .checkout; mount -t tmpfs -o size=2m tmpfs .checkout; cp -a kept/. .checkout/
        dd if=/dev/zero of=.checkout/.git/room bs=4k count={free} status=none
        dd if=/dev/zero of=.checkout/.git/filled bs=4k status=none 2>/dev/null; rm .checkout/.git/room
        {pq} push -a --no-check >said 2>&1; echo "push $?"; rm .checkout/.git/filled
        {pq} status >/dev/null 2>&1; echo "status $?"; git -C .checkout status --porcelain; {pq} top 2>&1; grep -c 'line five' .checkout/numbers.txt
    """

    done = subprocess.run(["unshare", "-rm", "sh", "-c", steps], cwd=stacked.queue, capture_output=True, text=True, check=False)

    said = (stacked.queue / "said").read_text()
    assert done.stdout in ("push 0\nstatus 0\ntwo.patch\n1\n", "push 1\nstatus 0\npq: No patches applied\n0\n"), (done, said)
    assert "Traceback" not in said
    assert "No space left on device" in said or done.stdout.startswith("push 0"), said


@pytest.fixture
def read_only(stacked: World) -> Iterator[Path]:
    """A checkout in which nobody may write."""
    places = [stacked.checkout, *stacked.checkout.rglob("*")]
    modes = {place: place.lstat().st_mode for place in places if not place.is_symlink()}
    for place, mode in modes.items():
        place.chmod(mode & ~0o222)
    yield stacked.checkout
    for place, mode in modes.items():
        place.chmod(mode)


def _drop_power() -> None:
    """root obeys modes, too, without these capabilities; anybody else has none of them."""
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0:
        for capability in _CAPABILITIES:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_a_read_only_checkout_is_said_to_be_one(stacked: World, read_only: Path) -> None:
    fact = f"pq: {read_only}/.git/pq/lock: Permission denied\nhint: see who owns the file\n"

    for words in (("push", "-a"), ("pop", "-a"), ("setup",)):
        with nothing_changed(stacked):
            said = _run(stacked, *words, first=_drop_power)

        assert (said.code, said.out, said.err) == (1, "", fact)


def test_one_may_look_at_a_read_only_checkout(stacked: World, read_only: Path) -> None:
    assert read_only.is_dir()

    codes = [_run(stacked, *words, first=_drop_power).code for words in (("status",), ("top",), ("series", "-v"))]

    assert codes == [0, 2, 0]


def test_a_single_folder_that_is_read_only_takes_nothing_else_along(stacked: World) -> None:
    """The second of two files can't be written: the first is taken back."""
    folder = stacked.checkout / "pkg"
    folder.chmod(0o555)
    try:
        pushed = _run(stacked, "push", "-a", "--no-check", first=_drop_power)
    finally:
        folder.chmod(0o755)

    assert pushed.code == 1
    assert "pkg/module.py: Permission denied" in pushed.err
    assert stacked.pq("top").code == 2
    assert git(stacked.checkout, "status", "--porcelain") == ""
