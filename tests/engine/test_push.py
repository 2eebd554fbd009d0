"""push and pop: the laws that hold for every queue."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import MODULE, NUMBERS, World, git, snapshot, times


def test_push_applies_the_series_and_pop_restores_the_pin(stacked: World) -> None:
    """Law 4: pop after push gives the same bytes, modes and symlinks."""
    before = stacked.files()

    pushed = stacked.pq("push", "-a")
    patched = stacked.files()
    popped = stacked.pq("pop", "-a")

    assert (pushed.code, pushed.out) == (0, "Applying patch one.patch\nApplying patch two.patch\nNow at patch two.patch\n")
    assert b"line five\n" in patched["numbers.txt"]
    assert b"return 20\n" in patched["pkg/module.py"]
    assert (popped.code, popped.out) == (0, "Removing patch two.patch\nRemoving patch one.patch\nNo patches applied\n")
    assert stacked.files() == before
    assert git(stacked.checkout, "status", "--porcelain") == ""


def test_commit_ids_are_the_same_everywhere(stacked: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Law 6: same pin and same files give the same commit ids."""
    other = World(tmp_path_factory.mktemp("other"), environment={"TZ": "Asia/Tokyo", "GIT_AUTHOR_NAME": "Bob", "LC_ALL": "C"})
    git(other.root, "clone", "-q", str(stacked.upstream), str(other.upstream))
    other.init()
    for name in ("one.patch", "two.patch"):
        other.add(name, (stacked.queue / "patches" / name).read_bytes())

    assert stacked.process("push", "-a").code == other.process("push", "-a").code == 0

    assert git(stacked.checkout, "rev-parse", "HEAD") == git(other.checkout, "rev-parse", "HEAD")


def test_a_patch_that_does_not_apply_leaves_everything_as_it_was(stacked: World) -> None:
    """Law 2: a patch is applied whole or not at all; those below it stay."""
    fits = b"--- a/pkg/module.py\n+++ b/pkg/module.py\n@@ -5 +5 @@\n-    return 1\n+    return 10\n"
    stacked.add("bad.patch", fits + b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-not there\n+x\n")

    pushed = stacked.pq("push", "-a")

    assert pushed.code == 1
    assert pushed.out.endswith("Now at patch two.patch\n")
    assert "numbers.txt:1: hunk 1 (patches/bad.patch:8): its lines stand nowhere in this file" in pushed.err
    assert "(1 other file fits)" in pushed.err
    assert stacked.files()["pkg/module.py"].endswith(MODULE.replace(b"return 2", b"return 20"))


def test_atomic_pushes_all_or_none(stacked: World) -> None:
    stacked.add("bad.patch", b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-not there\n+x\n")
    before, stamps = stacked.files(), times(stacked.checkout)

    pushed = stacked.pq("push", "-a", "--atomic")

    assert (pushed.code, pushed.out.splitlines()[-1]) == (1, "No patches applied")
    assert stacked.files() == before
    assert times(stacked.checkout) == stamps


def test_dry_run_says_what_push_does(stacked: World) -> None:
    """Law 11: what --dry-run says is what happens."""
    before, stamps = stacked.files(), times(stacked.checkout)

    tried = stacked.pq("push", "-a", "--dry-run")
    assert (stacked.files(), times(stacked.checkout)) == (before, stamps)
    pushed = stacked.pq("push", "-a")

    assert tried.code == pushed.code == 0
    assert tried.out.splitlines()[:-1] == pushed.out.splitlines()[:-1]
    assert tried.out.splitlines()[-1] == "Would be at patch two.patch; nothing was changed"


def test_unrefreshed_edits_elsewhere_are_kept(stacked: World) -> None:
    """Law 1: no byte the user wrote is lost."""
    (stacked.checkout / "pkg" / "module.py").write_bytes(MODULE + b"# mine\n")

    pushed = stacked.pq("push")

    assert pushed.code == 0
    assert (stacked.checkout / "pkg" / "module.py").read_bytes() == MODULE + b"# mine\n"
    assert "Unrefreshed: pkg/module.py" in stacked.pq("status").out


def test_unrefreshed_edits_in_the_way_are_named(stacked: World) -> None:
    (stacked.checkout / "numbers.txt").write_bytes(NUMBERS + b"mine\n")
    before = stacked.files()

    pushed = stacked.pq("push", "-a")

    assert pushed.code == 5
    assert "pq: unrefreshed changes are in the way: numbers.txt" in pushed.err
    assert stacked.files() == before


def test_pushing_again_takes_the_known_commit(stacked: World) -> None:
    stacked.pq("push", "-a")
    first = git(stacked.checkout, "rev-parse", "HEAD")
    stacked.pq("pop", "-a")

    again = stacked.pq("push", "-a", "-v")

    assert again.out.count("its commit exists already") == 2
    assert git(stacked.checkout, "rev-parse", "HEAD") == first


def test_an_edited_patch_is_applied_anew(stacked: World) -> None:
    stacked.pq("push", "-a")
    stacked.pq("pop", "-a")
    place = stacked.queue / "patches" / "one.patch"
    place.write_bytes(place.read_bytes().replace(b"+line five\n", b"+line V\n").replace(b"index ", b"x-index "))

    assert stacked.pq("push").code == 0

    assert b"line V\n" in stacked.files()["numbers.txt"]


def test_quilt_applies_the_same_files(stacked: World) -> None:
    """Law 7: others' tools read what pq reads, from the same series file."""
    stacked.pq("push", "-a")
    patched = stacked.files()
    work = stacked.root / "quilt"
    git(stacked.root, "clone", "-q", str(stacked.upstream), str(work))
    (work / "patches").symlink_to(stacked.queue / "patches")

    environment = {
        "QUILT_PATCHES": "patches",
        "QUILT_SERIES": str(stacked.series),
        "PATH": "/usr/bin:/bin",
        "HOME": str(stacked.root),
    }
    subprocess.run(["quilt", "--quiltrc", "-", "push", "-a"], cwd=work, env=environment, check=True, capture_output=True)

    theirs = {name: content for name, content in snapshot(work).items() if not name.startswith((".pc/", "patches"))}
    assert theirs == patched
