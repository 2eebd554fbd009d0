"""`pq apply` where a folder is not what it seems: what is pq's own, what is the user's, and what has really landed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pq.core.lines import blob_id
from pq.core.patch import REGULAR
from tests.cli.test_apply import SETTINGS, _apply, _site, site
from tests.conftest import NUMBERS, World

__all__ = ["site"]


def _write(world: World, name: str, patch: bytes) -> str:
    (world.queue / name).write_bytes(patch)
    return name


def test_a_dot_pq_that_leads_elsewhere_is_not_followed(site: World) -> None:
    """Law 9: recovery and clean-up would delete there."""
    victim = site.root / "victim"
    for name in ("back", "0123456789abcdef"):
        (victim / name).mkdir(parents=True)
        (victim / name / "precious").write_bytes(b"mine\n")
    (site.queue / "site" / ".pq").symlink_to(victim)

    said = _apply(site, "limit.patch")

    assert (said.code, said.err.split("\n")[0]) == (5, f"pq: {site.queue}/site/.pq is a symlink")
    assert sorted(place.name for place in victim.rglob("precious")) == ["precious", "precious"]


def test_folders_in_dot_pq_that_are_not_pqs_are_left(site: World) -> None:
    place = site.queue / "site" / ".pq" / "0123456789abcdef" / "notes.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"mine\n")

    assert _apply(site, "limit.patch").code == 0

    assert place.read_bytes() == b"mine\n"


def test_a_patch_that_writes_where_pq_keeps_things_is_refused(site: World) -> None:
    patch = b"--- /dev/null\n+++ b/.pq/back/notes\n@@ -0,0 +1 @@\n+mine\n"

    said = _apply(site, _write(site, "own.patch", patch))

    assert said.code == 1
    assert "a patch may not change .pq/back/notes" in said.err


def test_files_that_are_named_like_temporary_ones_are_the_users(site: World) -> None:
    """Law 1: names of temporary files have a token in them that nobody else has."""
    folder = site.queue / "site"
    names = (".x.pq-new", ".numbers.txt.pq-new")
    for name in names:
        (folder / name).write_bytes(b"mine\n")
    made = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"

    assert _apply(site, _write(site, "x.patch", made), "five.patch").code == 0

    assert [(folder / name).read_bytes() for name in names] == [b"mine\n"] * 2


def test_what_the_user_edited_since_an_apply_died_is_named_and_kept(site: World) -> None:
    """Law 1: neither the old content nor the new one. The copy of what was there stays."""
    kept = site.queue / "site" / ".pq" / "back"
    (kept / "before").mkdir(parents=True)
    (kept / "before" / "numbers.txt").write_bytes(NUMBERS)
    new = NUMBERS.replace(b"line 5\n", b"line five\n")
    said_of = {"before": [REGULAR, blob_id(NUMBERS)], "after": [REGULAR, blob_id(new)]}
    record = {"state": "pending", "token": "ab12", "folders": [], "files": {"numbers.txt": said_of}}
    (kept / "record.json").write_text(json.dumps(record))
    (site.queue / "site" / "numbers.txt").write_bytes(new + b"mine\n")

    said = _apply(site, "limit.patch")

    assert said.code == 5
    assert said.err.startswith("pq: an interrupted apply can't be taken back in numbers.txt\nhint: what was there before is in ")
    assert (kept / "before" / "numbers.txt").read_bytes() == NUMBERS
    assert (site.queue / "site" / "numbers.txt").read_bytes() == new + b"mine\n"


def test_a_pipe_is_not_nothing(site: World) -> None:
    pipe = site.queue / "site" / "pipe"
    os.mkfifo(pipe)
    made = _write(site, "pipe.patch", b"--- /dev/null\n+++ b/pipe\n@@ -0,0 +1 @@\n+x\n")

    said = _apply(site, made)

    assert (said.code, pipe.is_fifo()) == (3, True)


@pytest.mark.parametrize("name", ["folder", "link"])
def test_a_folder_becomes_a_file_or_a_symlink_and_comes_back(site: World, name: str) -> None:
    """And what --check says is what happens (law 11)."""
    folder = site.queue / "site"
    mode, text = ("120000", b"run.sh\n\\ No newline at end of file\n") if name == "link" else ("100644", b"now a file\n")
    gone = b"diff --git a/d/f b/d/f\ndeleted file mode 100644\n--- a/d/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-f\n"
    come = b"diff --git a/d b/d\nnew file mode %s\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+%s" % (mode.encode(), text)
    (folder / "d").mkdir()
    (folder / "d" / "f").write_bytes(b"f\n")
    before, patch = _site(site), _write(site, "swap.patch", come + gone)

    assert [_apply(site, *words, patch).code for words in (("--check",), (), ("-R", "--check"), ("-R",))] == [0, 0, 0, 0]

    assert _site(site) == before


def test_a_symlink_becomes_a_folder(site: World) -> None:
    gone = b"diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-run.sh\n\\ No newline at end of file\n"
    come = b"diff --git a/link/x b/link/x\nnew file mode 100644\n--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n"
    patch = _write(site, "swap.patch", gone + come)

    assert [_apply(site, *words, patch).code for words in (("--check",), ())] == [0, 0]

    assert (site.queue / "site" / "link" / "x").read_bytes() == b"x\n"


LANDED = {
    "an unrelated file under the new name": (
        b"diff --git a/old.py b/x\nrename from old.py\nrename to x\n--- a/old.py\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n",
        b"unrelated\n",
        3,
    ),
    "the new name, and what it should hold": (
        b"diff --git a/old.py b/x\nrename from old.py\nrename to x\n--- a/old.py\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n",
        b"two\n",
        2,
    ),
    "the content without the mode": (
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n",
        b"y\n",
        0,
    ),
    "a file where a symlink is meant": (
        b"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+run.sh\n\\ No newline at end of file\n",
        b"run.sh",
        3,
    ),
    "an edited patch whose index line is the old one's": (
        b"diff --git a/x b/x\nindex %s..%s 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+z\n"
        % (blob_id(b"x\n").encode(), blob_id(b"y\n").encode()),
        b"y\n",
        3,
    ),
}


@pytest.mark.parametrize(("patch", "there", "code"), LANDED.values(), ids=LANDED)
def test_landed_is_claimed_of_what_is_there_alone(site: World, patch: bytes, there: bytes, code: int) -> None:
    """Exit code 2 counts as success in scripts."""
    (site.queue / "site" / "x").write_bytes(there)

    said = _apply(site, _write(site, "x.patch", patch))

    assert said.code == code, said


def test_what_was_there_before_an_apply_is_not_taken_back_with_it(site: World) -> None:
    """Kept is what one apply changed; a patch that was there already takes its own way back."""
    _apply(site, "limit.patch")
    _apply(site, "limit.patch", "five.patch")

    said = _apply(site, "-R", "limit.patch", "five.patch")

    assert (said.code, said.out) == (0, "five.patch: taken back\nlimit.patch: taken back\n")
    assert (site.queue / "site" / "pkg" / "settings.py").read_bytes() == SETTINGS
    assert (site.queue / "site" / "numbers.txt").read_bytes() == NUMBERS


def test_another_strip_level_is_another_patch(site: World) -> None:
    patch = _write(site, "deep.patch", b"--- a/a/x\n+++ b/a/x\n@@ -0,0 +1 @@\n+x\n".replace(b"a/a/x", b"/dev/null", 1))
    _apply(site, patch)

    said = _apply(site, "-R", "-p", "2", patch)

    assert said.code == 2
    assert (site.queue / "site" / "a" / "x").exists()


def test_a_stack_that_is_there_is_known_by_taking_it_back(site: World) -> None:
    """The lower of two patches on one line can't be seen any more."""
    hunk = b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -4,3 +4,3 @@\n line 4\n-%s\n+%s\n line 6\n"
    first = _write(site, "1.patch", hunk % (b"line 5", b"line five"))
    second = _write(site, "2.patch", hunk % (b"line five", b"line V"))
    assert _apply(site, first, second).code == 0

    again = _apply(site, first, second)

    assert (again.code, again.out) == (2, "1.patch: already applied\n2.patch: already applied\n")


def test_a_base_of_other_files_is_said_to_say_nothing(site: World) -> None:
    (site.queue / "empty").mkdir()

    said = _apply(site, "--base", "empty", "limit.patch")

    assert (said.code, said.err.split("\n")[0]) == (0, "pq: --base holds none of the files of the patches, so it says nothing")
    assert _apply(site, "--base", "nowhere", "five.patch").code == 64


def test_a_patch_that_does_not_fit_the_base_tells_nothing_of_it(site: World) -> None:
    """Law 8: behind a patch that fails there, what a file was is not known; stated lines of look-alikes prove nothing."""
    look_alikes = b"".join(b"class C%d:\n    x = 1\n    y = 2\n    z = 3\n\n\n" % number for number in range(4))
    folder, base = site.queue / "site", site.queue / "base"
    base.mkdir()
    (base / "c.py").write_bytes(look_alikes)
    (folder / "c.py").write_bytes(b"head = 1\n" + b"# more\n" * 8 + look_alikes)
    adapted = b"--- a/c.py\n+++ b/c.py\n@@ -1,2 +1,2 @@\n-head = 1\n+head = 2\n # more\n"
    meant = b"--- a/c.py\n+++ b/c.py\n@@ -14,3 +14,4 @@\n     x = 1\n     y = 2\n     z = 3\n+    new = 4\n"

    said = _apply(site, "--base", "base", _write(site, "1.patch", adapted), _write(site, "2.patch", meant))

    assert said.code == 3
    assert "its lines stand at" in said.err or "its lines stand here" in said.err or "stand nowhere" in said.err


def test_a_renamed_template_that_never_compiled_is_let_through(site: World) -> None:
    (site.queue / "site" / "a.py").write_bytes(b"{{ template }\n")
    patch = _write(site, "r.patch", b"diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n")

    assert _apply(site, patch).code == 0


def test_a_failed_apply_leaves_no_folders(site: World) -> None:
    before = sorted(Path(site.queue / "site").rglob("*"))
    made = b"--- /dev/null\n+++ b/new/deep/er\n@@ -0,0 +1 @@\n+x\n"

    assert _apply(site, _write(site, "new.patch", made), "conflict.patch").code == 3

    assert sorted(Path(site.queue / "site").rglob("*")) == before
