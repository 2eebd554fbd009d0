"""Command lines that mean nothing, and places where there is nothing to work on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Result, World, git
from tests.laws import nothing_changed

USAGE = [
    (("bogus",), "No such command 'bogus'."),
    (("push", "--bogus"), "No such option '--bogus'."),
    (("--bogus", "push"), "No such option '--bogus'."),
    (("p",), "'p' is ambiguous: patches, pop, previous, push"),
    (("push", "-a", "2"), "-a goes without a patch or a number"),
    (("push", "0"), "the number of patches has to be above 0"),
    (("push", "one.patch", "two.patch"), "Got unexpected extra argument"),
    (("push", "--fuzz", "4"), "Invalid value for '--fuzz'"),
    (("push", "--fuzz", "x"), "Invalid value for '--fuzz'"),
    (("goto",), "Missing argument 'PATCH'."),
    (("patches",), "Missing argument 'FILE...'."),
    (("apply",), "Missing argument 'PATCH...'."),
    (("apply", "nowhere.patch"), "nowhere.patch"),
    (("apply", "patches"), "patches"),
    (
        ("init", "new", "--pin", "v1"),
        "a new queue takes --source, such as pypi:NAME or a git URL or path, and --pin, such as v0.5.9",
    ),
    (("-C", "nowhere", "push"), "nowhere"),
    (("-C", "pq.toml", "push"), "pq.toml"),
]


def test_a_command_line_that_means_nothing_is_64(stacked: World) -> None:
    with nothing_changed(stacked):
        for words, fact in USAGE:
            said = stacked.pq(*words)
            document = json.loads(stacked.pq(*words, "--json").out)

            assert (said.code, said.out) == (64, "")
            assert fact in said.err
            assert document["events"][-1]["exit_code"] == 64
            assert fact in document["events"][-1]["fact"]


@pytest.mark.parametrize("words", [(), ("-q",)])
def test_pq_alone_says_how_it_is_used(stacked: World, words: tuple[str, ...]) -> None:
    said = stacked.pq(*words)

    assert said.code == 64
    assert "Usage: pq [OPTIONS] COMMAND [ARGS]..." in said.err


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("push", "--help"), ("pu", "-h"), ("--version",)])
def test_help_is_asked_for_and_done(stacked: World, words: tuple[str, ...]) -> None:
    said = stacked.pq(*words)

    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(("Usage: pq", "pq "))


def _refused(said: Result, fact: str, hint: str) -> None:
    assert (said.code, said.out, said.err) == (1, "", f"pq: {fact}\nhint: {hint}\n")


def test_without_a_queue_there_is_a_way_out(tmp_path: Path) -> None:
    said = World(tmp_path).pq("push", "-a", cwd=tmp_path)

    _refused(said, f"No queue found from {tmp_path} upwards", "pq init makes one")


def test_a_queue_that_is_named_has_to_be_one(stacked: World) -> None:
    said = stacked.pq("push", "--queue", "..")

    _refused(said, f"No queue at {stacked.queue}/..", "pq init makes one")


def test_without_a_checkout_there_is_a_way_out(stacked: World) -> None:
    shutil.rmtree(stacked.checkout)

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    _refused(said, f"No checkout at {stacked.checkout}", "pq setup makes it")


def test_a_folder_that_is_no_repository_is_no_checkout(stacked: World) -> None:
    """The queue itself may lie in a repository: that one is not to be patched."""
    git(stacked.root, "init", "-q")
    shutil.rmtree(stacked.checkout / ".git")

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    _refused(said, f"No checkout at {stacked.checkout}", "pq setup makes it")


def test_a_bare_repository_is_no_checkout(stacked: World) -> None:
    shutil.rmtree(stacked.checkout)
    git(stacked.root, "clone", "-q", "--bare", str(stacked.upstream), str(stacked.checkout))

    said = stacked.pq("push", "-a")

    _refused(
        said, f"The repository at {stacked.checkout} has no worktree", "name a worktree under [upstream] checkout in pq.toml"
    )


@pytest.mark.parametrize("broken", ["HEAD", "refs/heads/pq/v1", "index", "config"])
def test_a_broken_repository_is_no_bug_of_pq(stacked: World, broken: str) -> None:
    (stacked.checkout / ".git" / broken).write_bytes(b"[garbage\n")

    said = stacked.pq("push", "-a")

    assert said.code == 1, said
    assert said.err.startswith("pq: ")
    assert "\nhint: " in said.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a checkout away")
def test_a_checkout_of_another_user_is_said_to_be_one(stacked: World) -> None:
    """As in a container that is built by root and run by somebody: git's safe.directory."""
    for place in (stacked.checkout, *stacked.checkout.rglob("*")):
        os.chown(place, 65534, 65534, follow_symlinks=False)

    said = stacked.pq("push", "-a")

    assert said.code == 1
    assert said.err.startswith(f"pq: The checkout at {stacked.checkout} can't be opened: ")
    assert "is not owned by current user" in said.err


def test_a_repository_that_lost_objects_is_no_bug_of_pq(stacked: World) -> None:
    blob = git(stacked.checkout, "rev-parse", "HEAD:numbers.txt").strip()
    shutil.rmtree(stacked.checkout / ".git" / "objects" / "pack", ignore_errors=True)
    for loose in (stacked.checkout / ".git" / "objects").rglob(blob[2:]):
        loose.unlink()

    said = stacked.pq("push", "-a")

    assert said.code == 1, said
    assert "is missing in" in said.err


def test_a_patch_that_has_no_file_is_said_before_the_first_is_tried(stacked: World) -> None:
    """Debian #940043: a missing patch gave a traceback."""
    (stacked.queue / "patches" / "two.patch").unlink()

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    _refused(said, "Patch two.patch has no file patches/two.patch", "put the file there, or take the line out of the series")
    assert "In the series, but without a file: two.patch\n" in stacked.pq("status").out


def test_a_patch_listed_twice_is_refused_with_both_lines(stacked: World) -> None:
    """W54: the same patch twice corrupted the state."""
    stacked.series.write_bytes(stacked.series.read_bytes() + b"\n one.patch -p1\n")

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert said.err.startswith(
        "pq: series/v1:5: Patch one.patch is listed twice, on lines 2 and 5\n     one.patch -p1\n     ^\nhint: "
    )


@pytest.mark.parametrize("name", ["../../pq.toml", "/etc/passwd", "sub/../../x.patch"])
def test_a_patch_name_that_leads_out_of_the_folder_is_refused(stacked: World, name: str) -> None:
    stacked.series.write_bytes(stacked.series.read_bytes() + name.encode() + b"\n")

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert said.err == (
        "pq: series/v1:4: the name of a patch may not lead out of the patches folder\n"
        f"    {name}\n    ^\nhint: edit line 4 of series/v1\n"
    )


def test_a_name_that_two_patches_answer_to_is_ambiguous(stacked: World) -> None:
    stacked.add("sub/one.patch", b"")

    with nothing_changed(stacked):
        said = stacked.pq("push", "one")

    _refused(said, "one is ambiguous: one.patch, sub/one.patch", "write the whole name")


@pytest.mark.parametrize(
    "words",
    [("push", "nix"), ("pop", "nix"), ("goto", "nix"), ("files", "nix"), ("show", "nix"), ("next", "nix"), ("check", "nix")],
)
def test_a_patch_that_is_not_there_is_named(stacked: World, words: tuple[str, ...]) -> None:
    stacked.pq("push")

    with nothing_changed(stacked):
        said = stacked.pq(*words)

    _refused(said, "Patch nix is not in series", "pq series lists the patches")
