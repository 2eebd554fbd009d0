"""Law 5 for `pq apply`: killed anywhere, the next one finds the folder as it was, or as it is to be."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import NUMBERS, World, snapshot
from tests.proof.stopper import deaths

PATCH = (
    b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line five\n line 6\n"
    b"diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    b"diff --git a/new/deep/er b/new/deep/er\nnew file mode 100755\n--- /dev/null\n+++ b/new/deep/er\n@@ -0,0 +1 @@\n+new\n"
    b"diff --git a/run.sh b/bin/run\nold mode 100644\nnew mode 100755\nrename from run.sh\nrename to bin/run\n"
    b"diff --git a/other.txt b/other.txt\nold mode 100644\nnew mode 100755\n"
    b"diff --git a/plain b/plain\ndeleted file mode 100644\n--- a/plain\n+++ /dev/null\n@@ -1 +0,0 @@\n-plain\n"
    b"diff --git a/plain/now b/plain/now\nnew file mode 100644\n--- /dev/null\n+++ b/plain/now\n@@ -0,0 +1 @@\n+now\n"
)
FILES = {"numbers.txt": NUMBERS, "gone.txt": b"gone\n", "run.sh": b"#!/bin/sh\n", "plain": b"plain\n", "other.txt": b"other\n"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of files, and the patch beside it."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o640)
    (tmp_path / "a.patch").write_bytes(PATCH)
    return folder


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("words", [("apply", "../a.patch"), ("apply", "-R", "../a.patch")])
def test_kill_apply_anywhere_and_it_is_whole(site: Path, words: tuple[str, ...], number: signal.Signals) -> None:
    world = World(site.parent)
    bare = snapshot(site)
    assert world.pq("apply", "../a.patch", cwd=site).code == 0
    full = snapshot(site)
    back, there = ("apply", "-R", "../a.patch"), ("apply", "../a.patch")
    if words == there:
        assert world.pq(*back, cwd=site).code == 0
    before = snapshot(site)
    seen = set()

    for point in deaths(words, site, number, step=2):
        code = world.pq("apply", "--check", *words[1:], cwd=site).code
        said = world.pq(*words, cwd=site)

        assert snapshot(site) == _other(before, bare, full), (point, said)
        assert code == (5 if "taken back" in said.err else 2 if said.code == 2 else 0), (point, code, said)
        seen.add(said.code)
        shutil.rmtree(site)
        _lay(site, before)
        if words == back:
            _rewind(world, site, bare)

    assert 0 in seen


def _other(before: dict[str, bytes], bare: dict[str, bytes], full: dict[str, bytes]) -> dict[str, bytes]:
    return full if before == bare else bare


def _lay(site: Path, files: dict[str, bytes]) -> None:
    """The files of a snapshot."""
    for name, content in files.items():
        mode, _, text = content.partition(b" ")
        place = site / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)
        place.chmod(int(mode, 8) & 0o777)


def _rewind(world: World, site: Path, bare: dict[str, bytes]) -> None:
    """Apply the patch anew, so that there is something to take back exactly."""
    shutil.rmtree(site)
    _lay(site, bare)
    assert world.pq("apply", "../a.patch", cwd=site).code == 0
