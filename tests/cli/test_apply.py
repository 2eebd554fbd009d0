"""`pq apply` as scripts call it: exit codes, all or none, and back again."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pq.core.lines import blob_id
from pq.core.patch import REGULAR
from pq.core.tree import File
from pq.engine import kept
from pq.errors import NotClean
from tests.conftest import NUMBERS, Result, World, git, snapshot

SETTINGS = b"def limit():\n    return 1\n\n\ndef other():\n    return 2\n"
LIMIT = b"--- a/pkg/settings.py\n+++ b/pkg/settings.py\n@@ -1,4 +1,4 @@\n def limit():\n-    return 1\n+    return 10\n \n \n"
OTHER = b"--- a/pkg/settings.py\n+++ b/pkg/settings.py\n@@ -3,4 +3,4 @@\n \n \n def other():\n-    return 2\n+    return 20\n"
FIVE = b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line five\n line 6\n"
BOTH = LIMIT + FIVE
CONFLICT = LIMIT + b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -4,3 +4,3 @@\n line 4\n-line V\n+line five\n line 6\n"
BROKEN = b"--- a/pkg/settings.py\n+++ b/pkg/settings.py\n@@ -1,4 +1,4 @@\n-def limit():\n+def limit(:\n     return 1\n \n \n"
MANY = (
    b"diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+new\n"
    b"diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    b"diff --git a/old.txt b/deep/er.txt\nrename from old.txt\nrename to deep/er.txt\n"
    b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    b"diff --git a/link b/link\nindex 0000001..0000002 120000\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-run.sh\n\\ No newline at end of file\n"
    b"+new.sh\n\\ No newline at end of file\n"
)


@pytest.fixture
def site(tmp_path: Path) -> World:
    """A plain folder `site` of files, patches beside it, and pq started there."""
    world = World(tmp_path)
    world.queue.mkdir()
    folder = world.queue / "site"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "settings.py").write_bytes(SETTINGS)
    (folder / "numbers.txt").write_bytes(NUMBERS)
    for name, content in (("gone.txt", b"gone\n"), ("old.txt", b"old\n"), ("run.sh", b"#!/bin/sh\n")):
        (folder / name).write_bytes(content)
    (folder / "link").symlink_to("run.sh")
    for name in ("LIMIT", "OTHER", "FIVE", "BOTH", "CONFLICT", "BROKEN", "MANY"):
        (world.queue / f"{name.lower()}.patch").write_bytes(globals()[name])
    return world


def _site(world: World) -> dict[str, bytes]:
    return snapshot(world.queue / "site")


def _apply(world: World, *words: str) -> Result:
    return world.pq("apply", "--onto", "site", *words)


def _unchanged(world: World, said: Result, code: int) -> Result:
    assert said.code == code, said
    assert _site(world)["pkg/settings.py"].endswith(SETTINGS)
    assert not list((world.queue / "site").rglob("*.pq-new"))
    assert not (world.queue / "site" / ".pq").exists()
    return said


def test_0_applied(site: World) -> None:
    said = _apply(site, "both.patch")

    assert (said.code, said.out, said.err) == (0, "both.patch: applied\n", "")
    assert _site(site)["pkg/settings.py"].endswith(SETTINGS.replace(b"return 1\n", b"return 10\n"))
    assert b"line five\n" in _site(site)["numbers.txt"]


def test_2_already_applied(site: World) -> None:
    _apply(site, "both.patch")
    before = _site(site)

    said = _apply(site, "both.patch")

    assert (said.code, said.out, said.err) == (2, "both.patch: already applied\n", "")
    assert _site(site) == before


def test_3_conflict_says_what_was_expected(site: World) -> None:
    said = _unchanged(site, _apply(site, "conflict.patch"), 3)

    assert said.out == ""
    assert said.err.startswith("pq: Patch conflict.patch does not apply; none of its files was changed\n")
    assert "    | line V\n" in said.err
    assert "    | line 5\n" in said.err
    assert said.err.endswith("hint: --base says what the patch was made against, so that it is carried over\n")
    assert "hint" not in _apply(site, "--base", "site", "conflict.patch").err


def test_paths_that_are_nowhere_are_answered_with_p(site: World) -> None:
    said = _unchanged(site, _apply(site, "-p", "0", "limit.patch"), 3)

    assert "  b/pkg/settings.py: the patch: there is no such file\nhint: -p says how many leading folders" in said.err


def test_4_rejected_shows_the_line(site: World) -> None:
    said = _unchanged(site, _apply(site, "broken.patch"), 4)

    assert said.err.startswith("pq: Patch broken.patch is rejected; nothing was changed\n  pkg/settings.py:1: SyntaxError: ")
    assert "    def limit(:\n" in said.err


def test_a_python_file_that_is_broken_before_may_be_patched(site: World) -> None:
    """The fix of a syntax error, or an edit of a file that is a template."""
    (site.queue / "site" / "pkg" / "settings.py").write_bytes(SETTINGS + b"{{ template }\n")

    assert _apply(site, "limit.patch").code == 0


@pytest.mark.parametrize("content", [b"no diff\n", b"", b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n cut\n", b"\0garbage"])
def test_1_a_patch_that_cant_be_read(site: World, content: bytes) -> None:
    (site.queue / "bad.patch").write_bytes(content)

    said = _unchanged(site, _apply(site, "limit.patch", "bad.patch"), 1)

    assert "bad.patch" in said.err


def test_64_a_command_line_that_means_nothing(site: World) -> None:
    for words in (
        ("nowhere.patch",),
        ("site",),
        ("limit.patch", "-p", "x"),
        ("limit.patch", "--base", "pypi:x"),
        ("limit.patch", "--onto", "nowhere"),
    ):
        _unchanged(site, _apply(site, *words), 64)


def test_several_patches_are_applied_in_order_or_not_at_all(site: World) -> None:
    said = _unchanged(site, _apply(site, "limit.patch", "other.patch", "conflict.patch"), 3)
    assert said.out == "limit.patch: fits, but is not applied\nother.patch: fits, but is not applied\n"

    said = _apply(site, "limit.patch", "other.patch")

    assert (said.code, said.out) == (0, "limit.patch: applied\nother.patch: applied\n")


def test_one_of_several_may_be_there_already(site: World) -> None:
    _apply(site, "limit.patch")

    said = _apply(site, "limit.patch", "five.patch")

    assert (said.code, said.out) == (0, "limit.patch: already applied\nfive.patch: applied\n")


def test_check_says_the_same_and_changes_nothing(site: World) -> None:
    """Law 11; W4: check mode and apply mode use one matcher."""
    before = _site(site)
    codes = [_apply(site, "--check", f"{name}.patch").code for name in ("both", "conflict", "broken", "many")]

    assert codes == [0, 3, 4, 0]
    assert _apply(site, "--check", "both.patch").out == "both.patch: would be applied\n"
    assert _site(site) == before
    _apply(site, "both.patch")
    assert _apply(site, "--check", "both.patch").code == 2


def test_json_tells_the_endings(site: World) -> None:
    said = _apply(site, "--json", "limit.patch", "conflict.patch")

    document = json.loads(said.out)
    assert (said.code, said.err) == (3, "")
    assert [patch["ending"] for patch in document["patches"]] == ["fits", "conflict"]
    assert _endings(site, "--check", "limit.patch") == ["fits"]
    assert _endings(site, "limit.patch") == ["applied"]
    assert _endings(site, "limit.patch", "five.patch") == ["already applied", "applied"]


def _endings(site: World, *words: str) -> list[str]:
    return [patch["ending"] for patch in json.loads(_apply(site, "--json", *words).out)["patches"]]


def test_back_is_said_to_be_back(site: World) -> None:
    _apply(site, "limit.patch")

    assert _apply(site, "-R", "--check", "limit.patch").out == "limit.patch: would be taken back\n"
    assert _apply(site, "-R", "limit.patch").out == "limit.patch: taken back\n"
    assert _apply(site, "-R", "limit.patch").out == "limit.patch: already taken back\n"


def test_two_at_once_in_a_folder_are_one_too_many(site: World) -> None:
    before = _site(site)
    with kept.locked(site.queue / "site"):
        said = _apply(site, "limit.patch")

    assert said.code == 5
    assert said.err == f"pq: another pq is at work in {site.queue}/site\nhint: wait for it, and run the command again\n"
    assert _site(site) == before
    assert _apply(site, "limit.patch").code == 0


def test_what_was_saved_after_it_was_read_is_not_replaced(site: World) -> None:
    folder, before = site.queue / "site", _site(site)
    read = File(REGULAR, SETTINGS + b"# as it was\n")

    with pytest.raises(NotClean, match=r"pkg/settings\.py was changed meanwhile"):
        kept.replace(folder, {"new.py": (None, read), "pkg/settings.py": (read, None)}, "0" * 16)

    assert _site(site) == before


def test_names_as_long_as_the_file_system_takes_them(site: World) -> None:
    name = "é" * 127
    (site.queue / "long.patch").write_text(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+new\n", encoding="utf-8")

    assert _apply(site, "long.patch").code == 0
    assert (site.queue / "site" / name).read_bytes() == b"new\n"
    assert _apply(site, "-R", "long.patch").code == 0


def test_back_restores_exactly(site: World) -> None:
    """Law 4, with modes, symlinks, folders, and what the patch could not bring back: other permissions."""
    folder = site.queue / "site"
    (folder / "numbers.txt").chmod(0o640)
    (folder / "gone.txt").chmod(0o600)
    before, folders = _site(site), sorted(place for place in folder.rglob("*") if place.is_dir())

    there = _apply(site, "many.patch", "five.patch", "limit.patch")
    patched = _site(site)
    back = _apply(site, "-R", "many.patch", "five.patch", "limit.patch")

    assert (there.code, back.code) == (0, 0), (there, back)
    assert {"new.sh", "deep/er.txt"} <= patched.keys()
    assert not {"gone.txt", "old.txt"} & patched.keys()
    assert patched["run.sh"].startswith(b"100755 ")
    assert patched["link"].endswith(b"new.sh")
    assert patched["numbers.txt"].startswith(b"100640 ")
    assert _site(site) == before
    assert sorted(place for place in folder.rglob("*") if place.is_dir()) == folders
    assert _apply(site, "-R", "five.patch").code == 2


def test_back_is_placed_by_proof_where_the_files_went_on(site: World) -> None:
    _apply(site, "both.patch")
    with (site.queue / "site" / "pkg" / "settings.py").open("ab") as file:
        file.write(b"# mine\n")

    said = _apply(site, "-R", "both.patch")

    assert said.code == 0, said
    assert _site(site)["pkg/settings.py"].endswith(SETTINGS + b"# mine\n")
    assert _site(site)["numbers.txt"].endswith(NUMBERS)


def test_what_was_kept_is_no_ones_to_read_who_could_not_read_the_file(site: World, sealed: Path) -> None:
    secret = site.queue / "site" / "numbers.txt"
    secret.chmod(0o600)

    assert _apply(site, "five.patch").code == 0

    copies = [place for root in (sealed, site.queue / "site") for place in root.rglob("numbers.txt") if place != secret]
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert copies
    assert all(_private(place, sealed) for place in copies)


def _private(place: Path, root: Path) -> bool:
    """Whether only the owner gets to a file: by its mode, or by that of a folder above."""
    chain = [place, *(above for above in place.parents if above.is_relative_to(root))]
    return any(not stat.S_IMODE(each.stat().st_mode) & 0o077 for each in chain if each != root)


def test_stale_bytecode_goes_with_its_file(site: World) -> None:
    """The times of the new file may be those of the old one; an unchecked pyc would be run for ever."""
    folder = site.queue / "site" / "pkg"
    subprocess.run([sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(folder)], check=True)
    (folder / "__pycache__" / "settings_more.cpython-311.pyc").touch()

    for words, value in ((("limit.patch",), "10"), (("-R", "limit.patch"), "1")):
        assert _apply(site, *words).code == 0
        done = subprocess.run(
            [sys.executable, "-c", "import settings; print(settings.limit())"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == value
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", str(folder)], check=True
        )

    assert (folder / "__pycache__" / "settings_more.cpython-311.pyc").exists()


def test_inside_another_git_repository_nothing_is_skipped(site: World) -> None:
    """`git apply` in a subfolder of a repository silently skips what lies elsewhere, and exits 0."""
    git(site.root, "init", "-q")
    (site.root / ".gitignore").write_bytes(b"site/\n")

    said = site.pq("apply", "../limit.patch", cwd=site.queue / "site")

    assert said.code == 0
    assert b"return 10" in _site(site)["pkg/settings.py"]
    assert git(site.root, "status", "--porcelain", "--ignored", "queue/site") == "!! queue/site/\n"


@pytest.mark.parametrize(
    "words", [("-C", "site", "apply", "../limit.patch"), ("-C", "..", "apply", "queue/limit.patch", "--onto", "queue/site")]
)
def test_paths_are_from_where_pq_is_told_to_start(site: World, words: tuple[str, ...]) -> None:
    assert site.pq(*words).code == 0

    assert b"return 10" in _site(site)["pkg/settings.py"]


@pytest.mark.parametrize("strip", [0, 1, 2, 3])
def test_p_takes_components_off(site: World, strip: int) -> None:
    """`-p2` for site-packages, where patches say a/python/sglang/…"""
    prefix = b"/".join([b"a", b"python", b"x"][:strip])
    path = prefix + (b"/" if prefix else b"") + b"pkg/settings.py"
    (site.queue / "p.patch").write_bytes(LIMIT.replace(b"a/pkg/settings.py", path).replace(b"b/pkg/settings.py", path))

    assert _apply(site, "-p", str(strip), "p.patch").code == 0
    assert _apply(site, f"-p{strip}", "-R", "p.patch").code == 0


# -- with a base ----------------------------------------------------------------------------------------------------

CLASSES = b"".join(
    b"class C%d:\n    def forward(self):\n        a = 1\n        b = 2\n        c = 3\n        d = 4\n        return a\n\n\n" % n
    for n in range(3)
)
SHIFTED = b"# moved\n" + CLASSES.partition(b"class C1")[0].replace(b"C0", b"CX") + CLASSES


@pytest.fixture
def similar(site: World) -> World:
    """M2: three classes that look alike; upstream put one more on top; the patch edits C1."""
    for name, content in (("base", CLASSES), ("site", SHIFTED)):
        place = site.queue / name / "pkg" / "model.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    hunk = b"@@ -13,4 +13,5 @@\n         b = 2\n         c = 3\n+        new = 5\n         d = 4\n         return a\n"
    (site.queue / "model.patch").write_bytes(b"--- a/pkg/model.py\n+++ b/pkg/model.py\n" + hunk)
    return site


def _edited(world: World) -> list[bytes]:
    """The classes that got the new line."""
    return [part[:1] for part in _site(world)["pkg/model.py"].split(b"class C") if b"new = 5" in part]


def test_without_a_base_a_place_of_several_is_not_guessed(similar: World) -> None:
    said = _apply(similar, "model.patch")

    assert said.code == 3
    assert "its lines stand at 4 places, and nothing says which is meant" in said.err


def test_a_folder_as_base_finds_the_class_that_was_meant(similar: World) -> None:
    said = _apply(similar, "model.patch", "--base", "base")

    assert said.code == 0, said
    assert _edited(similar) == [b"1"]
    assert "hunk 1 succeeded at 23 (offset 10 lines, merged three-way)" in said.out
    assert _apply(similar, "model.patch", "--base", "base").code == 2
    assert _apply(similar, "-R", "model.patch", "--base", "base").code == 0
    assert _edited(similar) == []


@pytest.mark.parametrize("inside", ["pkg/model.py", "python/pkg/model.py"])
def test_a_wheel_as_base_does_too(similar: World, inside: str) -> None:
    """Wheels have no `python/`; patches of a checkout do."""
    wheel = similar.queue / "pkg-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/model.py", CLASSES)
        archive.writestr("pkg-1.dist-info/METADATA", "Name: pkg\n")
    if inside.startswith("python/"):
        (similar.queue / "site" / "python").mkdir()
        shutil.move(similar.queue / "site" / "pkg", similar.queue / "site" / "python" / "pkg")
        patch = similar.queue / "model.patch"
        patch.write_bytes(patch.read_bytes().replace(b"pkg/model.py", b"python/pkg/model.py"))

    said = _apply(similar, "model.patch", "--base", wheel.name)

    assert said.code == 0, said
    assert [part[:1] for part in _site(similar)[inside].split(b"class C") if b"new = 5" in part] == [b"1"]


@pytest.mark.parametrize("base", ["nowhere", "nowhere.whl", "numbers.txt"])
def test_a_base_that_is_none_is_named(similar: World, base: str) -> None:
    said = _apply(similar, "model.patch", "--base", base)

    assert said.code == 64
    assert base in said.err
    assert _edited(similar) == []


def test_fuzz_is_only_on_request_and_said(site: World) -> None:
    """W2: default fuzz put a change into another function."""
    (site.queue / "fuzzy.patch").write_bytes(FIVE.replace(b" line 4\n", b" line IV\n"))

    assert _apply(site, "fuzzy.patch").code == 3
    said = _apply(site, "fuzzy.patch", "--fuzz", "1")

    assert (said.code, said.out) == (0, "fuzzy.patch: applied\n  numbers.txt: hunk 1 succeeded at 4 (FUZZ 1)\n")


# -- what stands in the way -----------------------------------------------------------------------------------------


def test_a_symlink_in_the_way_is_not_followed(site: World) -> None:
    """Law 9."""
    outside = site.root / "outside"
    shutil.move(site.queue / "site" / "pkg", outside)
    (site.queue / "site" / "pkg").symlink_to(outside)

    said = _apply(site, "limit.patch")

    assert said.code == 3
    assert "pkg is a symlink" in said.err
    assert (outside / "settings.py").read_bytes() == SETTINGS


def test_files_whose_names_look_like_temporary_ones_come_back(site: World) -> None:
    """What pq names its own temporary files, a user may name a file of hers."""
    names = ("a", "a.new", ".a.pq-new", "record.json")
    for name in names:
        (site.queue / "site" / name).write_bytes(name.encode() + b"\n")
    before = _site(site)
    patch = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{name}\n+changed\n" for name in reversed(names))
    (site.queue / "names.patch").write_text(patch)

    applied, changed = _apply(site, "names.patch"), _site(site)
    back = _apply(site, "-R", "names.patch")

    assert (applied.code, back.code) == (0, 0)
    assert all(changed[name].endswith(b" changed\n") for name in names)
    assert _site(site) == before


@pytest.mark.parametrize("state", ["applied", "pending"])
def test_a_record_that_came_with_the_folder_leads_nowhere(site: World, state: str) -> None:
    """Law 9: an archive can bring a `.pq/` that says, under the digest of a known patch, what to put back where."""
    key = hashlib.sha256(hashlib.sha256(LIMIT).digest() + (1).to_bytes(2)).hexdigest()[:16]
    kept = site.queue / "site" / ".pq" / key
    (kept / "before").mkdir(parents=True)
    (kept / "before" / "evil").write_bytes(b"evil\n")
    said_of = {"before": [REGULAR, blob_id(b"evil\n")], "after": None}
    record = {"state": state, "token": "ab12", "folders": [], "files": {"before/../../../../evil": said_of}}
    (kept / "record.json").write_text(json.dumps(record))

    said = _apply(site, "-R", "limit.patch")

    assert said.code == 5
    assert "record.json can't be read" in said.err
    assert not (site.queue / "evil").exists()


def test_a_file_that_is_a_symlink_is_not_patched_through(site: World) -> None:
    """uv can link a site-packages into its cache."""
    cached = site.root / "cached.py"
    shutil.move(site.queue / "site" / "pkg" / "settings.py", cached)
    (site.queue / "site" / "pkg" / "settings.py").symlink_to(cached)

    said = _apply(site, "limit.patch")

    assert said.code == 3
    assert cached.read_bytes() == SETTINGS


def test_a_hard_link_elsewhere_keeps_its_content(site: World) -> None:
    """uv and pnpm hard-link files from a cache that other environments share."""
    place = site.queue / "site" / "pkg" / "settings.py"
    os.link(place, site.root / "cached.py")

    assert _apply(site, "limit.patch").code == 0

    assert (site.root / "cached.py").read_bytes() == SETTINGS
    assert b"return 10" in place.read_bytes()


@pytest.mark.parametrize("path", [b"../out.txt", b".git/config", b"pkg/../../out.txt"])
def test_no_patch_leads_out_of_the_folder(site: World, path: bytes) -> None:
    (site.queue / "out.patch").write_bytes(b"--- /dev/null\n+++ b/" + path + b"\n@@ -0,0 +1 @@\n+x\n")

    said = _apply(site, "limit.patch", "out.patch")

    assert said.code == 1
    assert not (site.queue / "out.txt").exists()
    _unchanged(site, said, said.code)


def test_a_folder_that_cant_be_written_stays_whole(site: World) -> None:
    """The second of two files can't be written: the first is taken back, and the error says which."""
    big = b"diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,1000 @@\n" + b"+12345678\n" * 1000
    (site.queue / "two.patch").write_bytes(LIMIT + big)
    before = _site(site)
    command = f"ulimit -f 4; exec {sys.executable} -m pq apply --onto site two.patch"

    done = subprocess.run(["bash", "-c", command], cwd=site.queue, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"site/big: {os.strerror(errno.EFBIG)}" in done.stderr
    assert _site(site) == before
