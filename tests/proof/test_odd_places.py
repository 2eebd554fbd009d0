"""Odd places: each of them works, or is refused in a line that names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import NUMBERS, Result, World, git
from tests.laws import stands_at

PATCHED = NUMBERS.replace(b"line 5\n", b"line five\n")


def _pushes_and_pops(world: World, *, cwd: Path | None = None) -> None:
    """All of it, as a user does it, and nothing but what the patches say."""
    before = world.files()
    for words in (("push", "-a"), ("status",), ("pop", "-a"), ("push", "-a")):
        said = world.process(*words, cwd=cwd)
        assert said.code == 0, said
    assert world.files()["numbers.txt"] == b"100644 " + PATCHED
    stands_at(world, "two.patch")
    assert world.process("pop", "-a", cwd=cwd).code == 0
    assert world.files() == before


def _autocrlf(world: World) -> None:
    _global(world, "core.autocrlf", "true")


def _global(_: World, key: str, value: str) -> None:
    subprocess.run(["git", "config", "--global", key, value], check=True)


def _attributes(world: World) -> None:
    """A filter of git-lfs, which is not installed, and one of the user's that breaks everything."""
    for key in ("smudge", "clean"):
        _global(world, f"filter.lfs.{key}", "git-lfs-is-not-here")
        _global(world, f"filter.break.{key}", "tr a-z A-Z")
    _global(world, "filter.lfs.required", "true")


def _locale(world: World) -> None:
    world.environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def _no_home(world: World) -> None:
    world.environment = {"HOME": ""}


def _linked(world: World) -> None:
    """The checkout on another disk, with a symlink to it."""
    world.checkout.rename(world.root / "elsewhere")
    world.checkout.symlink_to(world.root / "elsewhere")


def _sparse(world: World) -> None:
    git(world.checkout, "sparse-checkout", "set", "--no-cone", "/numbers.txt", "/pkg/")


def _shallow(world: World) -> None:
    _cloned(world, "--depth=1")


def _partial(world: World) -> None:
    git(world.upstream, "config", "uploadpack.allowFilter", "true")
    _cloned(world, "--filter=blob:none")


def _cloned(world: World, *words: str) -> None:
    """The user's own clone for a checkout."""
    shutil.rmtree(world.checkout)
    git(world.root, "clone", "-q", *words, f"file://{world.upstream}", str(world.checkout))
    git(world.checkout, "switch", "-q", "--detach", "v1")
    said = world.process("setup")
    assert said.code == 0, said


def _packed(world: World) -> None:
    git(world.checkout, "gc", "-q", "--aggressive")
    git(world.checkout, "pack-refs", "--all")


def _spaces(world: World) -> None:
    moved = world.root / "a b'c\"d $e"
    moved.mkdir()
    for place in (world.queue, world.upstream):
        place.rename(moved / place.name)
    world.root = moved
    git(world.checkout, "config", "pq.queue", str(world.queue))


PLACES: dict[str, Callable[[World], None]] = {
    "autocrlf": _autocrlf,
    "filters": _attributes,
    "another locale": _locale,
    "no HOME": _no_home,
    "a symlink for a checkout": _linked,
    "sparse": _sparse,
    "shallow": _shallow,
    "partial": _partial,
    "packed": _packed,
    "quotes and blanks": _spaces,
}


@pytest.mark.parametrize("name", PLACES)
def test_it_works_there(stacked: World, name: str) -> None:
    PLACES[name](stacked)

    _pushes_and_pops(stacked)


def test_a_release_with_attributes_is_laid_byte_for_byte(tmp_path: Path) -> None:
    """CRLF, LFS pointers and encodings: what is in the tree is what stands there, whatever .gitattributes say."""
    files = {
        ".gitattributes": b"* text=auto eol=crlf\n*.bin filter=lfs diff=lfs -text\n*.u16 working-tree-encoding=UTF-16\n",
        "a.txt": b"one\ntwo\n",
        "crlf.txt": b"one\r\ntwo\r\n",
        "big.bin": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "text.u16": b"text\n",
    }
    world = World(tmp_path)
    git_attributes = files.pop(".gitattributes")
    world.release("v0", files)
    (world.upstream / ".gitattributes").write_bytes(git_attributes)
    git(world.upstream, "-c", "core.autocrlf=false", "add", ".gitattributes")
    git(world.upstream, "commit", "-qm", "v1")
    git(world.upstream, "tag", "v1")
    _attributes(world)
    world.init()

    assert {name: content[7:] for name, content in world.files().items()} == {**files, ".gitattributes": git_attributes}
    assert git(world.checkout, "status", "--porcelain") == ""


def test_a_submodule_stays_as_it_is(tmp_path: Path) -> None:
    world = World(tmp_path)
    inner = World(tmp_path / "inner")
    inner.release("v1", {"inner.txt": b"inner\n"})
    world.release("v0", {"numbers.txt": NUMBERS})
    git(world.upstream, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.upstream), "sub")
    git(world.upstream, "commit", "-qm", "v1")
    git(world.upstream, "tag", "v1")
    world.init()
    git(world.checkout, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
    change = b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+line five\n line 6\n"
    world.add("one.patch", change)

    for words, code in ((("push",), 0), (("pop",), 0), (("push",), 0), (("status",), 0)):
        assert world.process(*words).code == code, words
    assert (world.checkout / "sub" / "inner.txt").read_bytes() == b"inner\n"
    assert git(world.checkout, "status", "--porcelain") == ""

    world.add("into.patch", change.replace(b"numbers.txt", b"sub/inner.txt"))
    said = world.process("push")
    assert said.code == 1
    assert (world.checkout / "sub" / "inner.txt").read_bytes() == b"inner\n"


def test_names_that_differ_in_case_alone(world: World) -> None:
    world.patch("case.patch", {"Readme": b"1\n", "README": b"2\n"})

    assert world.process("push").code == 0
    assert (world.files()["Readme"], world.files()["README"]) == (b"100644 1\n", b"100644 2\n")
    assert world.process("pop").code == 0


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A file system that keeps the case of names and does not tell them apart by it, and has no executable bits and no symlinks."""
    image, folder = tmp_path / "image", tmp_path / "volume"
    image.write_bytes(b"")
    os.truncate(image, 64 << 20)
    folder.mkdir()
    script = 'mkfs.exfat "$1" && device=$(losetup --find --show "$1") && mount.exfat-fuse "$device" "$2"'
    done = subprocess.run(["sh", "-c", script, "sh", image, folder], capture_output=True, check=False)
    try:
        if done.returncode != 0:
            pytest.skip(f"exFAT can't be mounted here: {done.stderr.decode(errors='replace').strip()}")
        yield folder
    finally:
        subprocess.run(["umount", folder], capture_output=True, check=False)
        devices = subprocess.run(["losetup", "-n", "-O", "NAME", "-j", image], capture_output=True, check=False).stdout.decode()
        for device in devices.split():
            subprocess.run(["losetup", "-d", device], check=True)


@pytest.fixture
def held(volume: Path) -> World:
    """Release v1 with files of all modes, and an empty series, on that file system."""
    world = World(volume)
    files = {"README.md": b"1\n2\n3\n", "Docs/Guide.md": b"x\n", "numbers.txt": NUMBERS, "run.sh": b"#!/bin/sh\n"}
    world.release("v0", {**files, "link": b"README.md"})
    git(world.upstream, "update-index", "--chmod=+x", "run.sh")
    git(world.upstream, "update-index", "--cacheinfo", f"120000,{git(world.upstream, 'rev-parse', ':link').strip()},link")
    git(world.upstream, "commit", "-qm", "v1")
    git(world.upstream, "tag", "v1")
    world.init()
    return world


def test_a_file_system_that_holds_less(held: World) -> None:
    """What it can't hold is what git knows of it: pushed, popped and refreshed without a change that nobody made."""
    changed = {"README.md": b"1\n2\nthree\n", "Docs/New.md": b"new\n", "run.sh": b"#!/bin/bash\n", "link": b"numbers.txt"}
    before = held.files()
    held.patch("one.patch", changed)
    modes = _modes(held)

    for words in (("push",), ("status",), ("pop",), ("push",)):
        said = held.process(*words)
        assert (said.code, git(held.checkout, "status", "--porcelain")) == (0, ""), said
    assert {name: held.files()[name][7:] for name in changed} == changed
    (held.checkout / "README.md").write_bytes(b"1\n2\nfour\n")
    assert held.process("refresh").code == 0
    assert _modes(held) == modes
    assert git(held.checkout, "ls-tree", "HEAD", "link", "run.sh").split()[::4] == ["120000", "100755"]
    assert held.process("pop", "-a").code == 0
    assert held.files() == before


def test_one_name_in_two_cases_is_refused_there(held: World) -> None:
    """What would be one file is never written over another one."""
    (held.checkout / "NOTES.txt").write_bytes(b"mine\n")
    before = held.files()
    rename = b"diff --git a/README.md b/readme.md\nsimilarity index 100%\nrename from README.md\nrename to readme.md\n"

    untracked, two, renamed = (
        _pushed_alone(held, content) for content in (_creation("notes.txt"), _creation("Two.txt") + _creation("two.txt"), rename)
    )

    assert (untracked.code, "in the way: notes.txt\n" in untracked.err) == (5, True), untracked
    told = "are one file here: the file system does not tell them apart\nhint: name a folder on another file system"
    assert (two.code, f"pq: Two.txt and two.txt {told}" in two.err) == (1, True), two
    assert (renamed.code, f"pq: README.md and readme.md {told}" in renamed.err) == (1, True), renamed
    assert held.files() == before


@pytest.mark.parametrize(("key", "mode"), [("core.fileMode", 0o755), ("core.symlinks", 0o644)])
def test_what_git_does_not_look_at_is_no_edit(stacked: World, key: str, mode: int) -> None:
    """As on such a file system: a mode that changes by itself, a symlink that is a plain file with its target for content."""
    stacked.patch("link.patch", {"link": b"numbers.txt"})
    place = stacked.queue / "patches" / "link.patch"
    place.write_bytes(place.read_bytes().replace(b"100644", b"120000"))
    git(stacked.checkout, "config", key, "false")

    assert stacked.process("push", "-a").code == 0
    is_link = (stacked.checkout / "link").is_symlink()
    (stacked.checkout / "numbers.txt").chmod(mode)
    assert git(stacked.checkout, "status", "--porcelain") == ""
    for words in (("refresh", "one.patch"), ("pop", "-a"), ("push", "-a"), ("undo",), ("redo",)):
        said = stacked.process(*words)
        assert (said.code, git(stacked.checkout, "status", "--porcelain")) == (0, ""), said

    assert is_link == (key == "core.fileMode")
    assert git(stacked.checkout, "ls-tree", "HEAD", "link", "numbers.txt").split()[::4] == ["120000", "100644"]


def test_long_names_and_deep_folders(world: World) -> None:
    """As long as the file system takes them: one that is longer is refused, with nothing changed."""
    longest = "n" * 255
    deep = "/".join(["d" * 200] * 10)
    world.patch("long.patch", {longest: b"1\n", f"{deep}/file": b"2\n"})
    world.add("longer.patch", _creation("n" * 256))
    before = world.files()

    assert world.process("push").code == 0
    assert world.files()[longest] == b"100644 1\n"
    assert world.files()[f"{deep}/file"] == b"100644 2\n"
    said = world.process("push")
    assert (said.code, "File name too long" in said.err or "too long" in said.err) == (1, True), said
    assert world.process("pop", "-a").code == 0
    assert world.files() == before
    stands_at(world, None)


def _modes(world: World) -> list[bytes]:
    """What a patch says of modes."""
    lines = (world.queue / "patches" / "one.patch").read_bytes().splitlines()
    return sorted(line.split()[-1] for line in lines if line.startswith((b"index ", b"new file mode", b"old mode", b"new mode")))


def _pushed_alone(world: World, content: bytes) -> Result:
    world.series.write_bytes(world.series.read_bytes().splitlines(keepends=True)[0])
    world.add("alone.patch", content)
    return world.process("push")


def _creation(path: str) -> bytes:
    name = path.encode()
    return b"diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n" % (name, name, name)


def test_umask_077(stacked: World) -> None:
    """Modes that git does not know are the umask's; the executable bit is the patch's."""
    stacked.patch("run.patch", {"run.sh": b"#!/bin/sh\n"})
    place = stacked.queue / "patches" / "run.patch"
    place.write_bytes(place.read_bytes().replace(b"new file mode 100644", b"new file mode 100755"))
    script = f'umask 077; exec "{sys.executable}" -m pq --trust push -a'

    done = subprocess.run(["sh", "-c", script], cwd=stacked.queue, check=False, capture_output=True)

    assert done.returncode == 0, done.stderr
    assert [oct((stacked.checkout / name).stat().st_mode & 0o777) for name in ("numbers.txt", "run.sh")] == ["0o600", "0o700"]
    stands_at(stacked, "run.patch")


def test_a_queue_that_can_t_be_written(stacked: World) -> None:
    """On a file system that is mounted so. What only looks works; what would change says what is in the way, and nothing is changed."""
    assert stacked.pq("push").code == 0
    before = stacked.files()

    looks = [_read_only(stacked, *words) for words in (("top",), ("series", "-v"), ("status",), ("show",), ("files",))]
    changes = [_read_only(stacked, *words) for words in (("push",), ("pop",), ("refresh", "-z", "x"), ("new", "x"))]

    assert [said.code for said in looks] == [0] * len(looks), looks
    for said in changes:
        assert (said.code, "Read-only file system" in said.err, "Traceback" in said.err) == (1, True, False), said
    assert stacked.files() == before
    stands_at(stacked, "one.patch")


def _read_only(world: World, *words: str) -> Result:
    command = f'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" && exec "{sys.executable}" -m pq --trust "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, "sh", *words], cwd=world.queue, capture_output=True, check=False, env=os.environ
    )
    assert b"unshare" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_repository_of_sha256_is_refused(tmp_path: Path) -> None:
    """libgit2 reads none so far."""
    world = World(tmp_path)
    world.upstream.mkdir()
    git(world.upstream, "init", "-q", "-b", "main", "--object-format=sha256")
    world.release("v1", {"a.txt": b"1\n"})
    world.queue.mkdir()
    assert world.pq("init", "--source", "../upstream", "--pin", "v1").code == 0

    fetched = world.process("setup")
    git(tmp_path, "clone", "-q", str(world.upstream), str(world.checkout))
    opened = world.process("setup")

    for said in (fetched, opened):
        assert (said.code, "has SHA-256 objects, which pq can't read\nhint: " in said.err) == (1, True), said
