"""Law 5: killed at any point, the next command finds the old state or the new one."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import NUMBERS, World, git
from tests.proof.stopper import deaths

HOOK = "#!/bin/sh\nexit 0\n"
SIGNALS = [signal.SIGKILL, signal.SIGINT]


@pytest.fixture
def crowded(world: World) -> World:
    """A world whose patches do all that a patch can do: edit, make, remove, rename, change modes, swap file, folder and symlink."""
    world.release(
        "v1x",
        {
            "a.txt": NUMBERS,
            "gone.txt": b"gone\n",
            "dir/file": b"1\n",
            "plain": b"2\n",
            "run.sh": b"#!/bin/sh\n",
            "other/b": b"3\n",
        },
    )
    git(world.checkout, "fetch", "-q", str(world.upstream), "+refs/tags/v1x:refs/pq/releases/v1")
    git(world.checkout, "reset", "-q", "--hard", "refs/pq/releases/v1")
    world.series.write_bytes(b"# pq-pin: v1 " + git(world.checkout, "rev-parse", "HEAD").encode())
    (world.queue / "hooks" / "pre-apply").write_text(HOOK)
    world.patch("edit.patch", {"a.txt": NUMBERS.replace(b"line 7\n", b"seven\n"), "gone.txt": None, "new/deep/er": b"new\n"})
    world.add(
        "rename.patch",
        b"diff --git a/run.sh b/bin/run\nold mode 100644\nnew mode 100755\nrename from run.sh\nrename to bin/run\n",
    )
    world.add("folder.patch", _removal("plain", b"2") + _creation("plain/now", b"folder", 0o100644))
    world.add("room.patch", _removal("dir/file", b"1"))
    world.add("link.patch", _creation("dir", b"other", 0o120000))
    return world


def _removal(path: str, line: bytes) -> bytes:
    name = path.encode()
    return b"diff --git a/%s b/%s\ndeleted file mode 100644\n--- a/%s\n+++ /dev/null\n@@ -1 +0,0 @@\n-%s\n" % (
        name,
        name,
        name,
        line,
    )


def _creation(path: str, line: bytes, mode: int) -> bytes:
    name = path.encode()
    end = b"" if mode != 0o120000 else b"\\ No newline at end of file\n"
    return b"diff --git a/%s b/%s\nnew file mode %o\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+%s\n%s" % (
        name,
        name,
        mode,
        name,
        line,
        end,
    )


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [("push", "-a"), ("pop", "-a")])
def test_killed_anywhere_a_move_leaves_the_old_state_or_the_new(
    crowded: World, words: tuple[str, ...], number: signal.Signals
) -> None:
    bare = crowded.files()
    assert crowded.pq("push", "-a", "--no-check").code == 0
    full = crowded.files()
    states: Mapping[str, dict[str, bytes]] = {"": bare, "link.patch\n": full}
    before = full if words[0] == "pop" else bare
    if before is bare:
        assert crowded.pq("pop", "-a").code == 0
    kept = crowded.root / "kept"
    shutil.copytree(crowded.checkout, kept, symlinks=True)
    ends = set()

    for point in deaths(words, crowded.queue, number, step=5):
        looked = crowded.pq("status")
        top = crowded.pq("top").out
        assert crowded.files() == states[top], (point, looked)
        assert "Unrefreshed" not in looked.out, (point, looked)
        assert git(crowded.checkout, "status", "--porcelain", "--ignored") == "", point
        assert crowded.pq("push" if top == "" else "pop", "-a").code == 0, point
        ends.add(top)
        _set_back(kept, crowded.checkout)

    assert ends == {"", "link.patch\n"}
    assert crowded.files() == (bare if before is full else full)


def _set_back(kept: Path, checkout: Path) -> None:
    """The checkout as it was, its file times too, so that git's index is true."""
    shutil.rmtree(checkout)
    shutil.copytree(kept, checkout, symlinks=True)
