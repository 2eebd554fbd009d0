"""Patches that can't be read, or may not be written: said with file and line before anything is touched, the good ones before them too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import MODULE, World, snapshot
from tests.laws import nothing_changed

HEAD = b"--- a/numbers.txt\n+++ b/numbers.txt\n"
LINK = b"diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+%s\n\\ No newline at end of file\n"
UNREADABLE = {
    "truncated": (HEAD + b"@@ -1,3 +1,3 @@\n line 1\n-line 2\n", "3: the hunk is cut: 1 old and 2 new lines are missing"),
    "nothing behind the names": (HEAD, "2: expected a hunk"),
    "count too small": (
        HEAD + b"@@ -1,2 +1,2 @@\n line 1\n-line 2\n+line two\n line 3\n+more\n",
        "8: a line of a hunk, but the hunk above is complete",
    ),
    "count too great": (
        HEAD + b"@@ -1,4 +1,4 @@\n line 1\n-line 2\n+line two\n line 3\n" + b"diff --git a/x b/x\n" + HEAD,
        "8: expected a line that begins with",
    ),
    "no counts": (HEAD + b"@@ nonsense @@\n line 1\n", "3: expected @@ -START,COUNT +START,COUNT @@"),
    "a line without a mark": (HEAD + b"@@ -1,2 +1,2 @@\n line 1\nline 2\n", "5: expected a line that begins with"),
    "no names": (b"@@ -1 +1 @@\n-line 1\n+line one\n", "1: this looks like a diff, but no file patch begins here"),
    "half a name": (b"--- a/numbers.txt\n@@ -1 +1 @@\n-line 1\n+line one\n", "2: a hunk without a file above it"),
    "garbage": (bytes(range(256)) * 8, "1: not a patch: it holds a NUL byte"),
    "context diff": (b"*** a/x\n--- b/x\n***************\n*** 1 ****\n", "1: a context diff; pq reads unified diffs"),
    "binary left out": (
        b"diff --git a/x b/x\nindex 1234567..89abcde 100644\nBinary files a/x and b/x differ\n",
        "3: this patch says that a binary file",
    ),
    "broken binary": (
        b"diff --git a/x b/x\nindex 1234567..89abcde\nGIT binary patch\nliteral 5\nzzz\n\n",
        "4: a broken binary hunk",
    ),
    "submodule": (
        b"diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n",
        "1: a submodule can't be patched",
    ),
    "nothing left of the name": (
        b"--- numbers.txt\n+++ numbers.txt\n@@ -1 +1 @@\n-line 1\n+line one\n",
        "1: no file name is left after -p1",
    ),
    "half a rename": (b"diff --git a/x b/y\nrename from x\n", "1: a rename needs both"),
}
PATHS = {
    b"../out.txt": "it leads out of the checkout",
    b"pkg/../../out.txt": "it leads out of the checkout",
    b".git/config": "it leads into git's own folder",
    b".GIT/config": "it leads into git's own folder",
    b"pkg/.gIt/hooks/post-checkout": "it leads into git's own folder",
    b".git./config": "it leads into git's own folder",
    b"git~1/config": "it leads into git's own folder",
    b".git::$INDEX_ALLOCATION/config": "it leads into git's own folder",
    b".g\xe2\x80\x8cit/config": "it leads into git's own folder",
    b'"..\\057out.txt"': "it leads out of the checkout",
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_patch_that_cant_be_read_is_shown_at_its_line(stacked: World, kind: str) -> None:
    """W7: parse every patch before touching the checkout."""
    content, fact = UNREADABLE[kind]
    stacked.add("bad.patch", content)

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert said.err.startswith(f"pq: patches/bad.patch:{fact}"), said.err
    assert "Now at" not in said.out


@pytest.mark.parametrize("path", PATHS)
def test_no_patch_may_name_such_a_path(stacked: World, path: bytes) -> None:
    """Law 9: no patch writes outside the checkout or into `.git`."""
    quoted = path.startswith(b'"')
    new = b'"b/' + path[1:] if quoted else b"b/" + path
    stacked.add("bad.patch", b"--- /dev/null\n+++ " + new + b"\n@@ -0,0 +1 @@\n+x\n")
    outside = snapshot(stacked.root)

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert PATHS[path] in said.err
    assert _without_checkout(snapshot(stacked.root)) == _without_checkout(outside)


def test_no_patch_may_name_an_absolute_path(stacked: World) -> None:
    outside = stacked.root / "out.txt"
    stacked.add("bad.patch", b"--- /dev/null\n+++ %s\n@@ -0,0 +1 @@\n+x\n" % bytes(outside))
    stacked.series.write_bytes(stacked.series.read_bytes().replace(b"bad.patch", b"bad.patch -p0"))

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert f"a patch may not name {outside}: it is absolute" in said.err
    assert not outside.exists()


def test_a_rename_may_not_lead_out_either(stacked: World) -> None:
    stacked.add(
        "bad.patch",
        b"diff --git a/numbers.txt b/../out.txt\nsimilarity index 100%\nrename from numbers.txt\nrename to ../out.txt\n",
    )

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert "a patch may not name ../out.txt: it leads out of the checkout" in said.err


@pytest.mark.parametrize("target", ["pkg", ".."])
def test_no_patch_writes_through_a_symlink_of_the_tree(world: World, target: str) -> None:
    world.add("link.patch", LINK % target.encode())
    world.add("through.patch", b"--- /dev/null\n+++ b/link/new.txt\n@@ -0,0 +1 @@\n+x\n")

    pushed = world.pq("push", "-a")

    assert (pushed.code, pushed.out.splitlines()[-1]) == (1, "Now at patch link.patch")
    assert "link/new.txt: the patch: link is a symlink, and no patch writes through one" in pushed.err
    assert os.readlink(world.checkout / "link") == target


def test_a_patch_reaches_no_file_behind_a_symlink(world: World) -> None:
    """An edit, not only a new file."""
    world.add("link.patch", LINK % b"pkg")
    world.add("edit.patch", b"--- a/link/module.py\n+++ b/link/module.py\n@@ -5 +5 @@\n-    return 1\n+    return 10\n")

    pushed = world.pq("push", "-a")

    assert pushed.code == 1
    assert "link is a symlink" in pushed.err
    assert world.files()["pkg/module.py"].endswith(MODULE)


@pytest.mark.parametrize(
    ("content", "what"), [(b"", "appears to be empty, applied"), (b"Only words.\n", "holds text, but no diff, applied")]
)
def test_an_empty_patch_is_a_note_of_its_own(world: World, content: bytes, what: str) -> None:
    world.add("empty.patch", content)

    pushed = world.pq("push")
    verified = world.pq("verify")

    assert pushed.code == 0
    assert pushed.out == f"Applying patch empty.patch\nPatch empty.patch {what}\nNow at patch empty.patch\n"
    assert (verified.out, verified.err) == ("All checks passed: empty.patch\n", "pq: there is no diff in empty.patch\n")


def _without_checkout(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not Path(name).is_relative_to("queue/.checkout")}
