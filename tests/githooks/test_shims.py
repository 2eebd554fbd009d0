"""The scripts that git calls: beside the hooks of other tools, wherever these are, and gone without a trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed
from tests.githooks.conftest import commit


def _script(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def _commits(world: World, number: int = 5) -> bool:
    """Whether a commit becomes a patch."""
    change(world, number, f"text {number}")
    assert commit(world.checkout, "commit", "-qam", f"f: {number}").code == 0
    return f"f-{number}.patch" in listed(world)


def _hooks(folder: Path) -> dict[str, bytes]:
    """All of a repository that tells which hooks run."""
    places = [place for place in (folder / ".git" / "hooks").iterdir() if place.suffix != ".sample"]
    config = git(folder, "config", "--local", "--list").encode()
    return {place.name: place.read_bytes() for place in places} | {"config": config.replace(b"pq.hooks=false\n", b"")}


def test_setup_installs_them_and_says_where(desk: World) -> None:
    assert desk.pq("hooks", "status").out == (
        "+ pre-commit in the queue\n"
        "+ pre-commit in .checkout\n+ post-commit in .checkout\n+ post-rewrite in .checkout\n+ post-applypatch in .checkout\n"
    )
    assert desk.pq("hooks", "install").out == "All hooks were there\n"


def test_taken_out_they_stay_out_until_they_are_wanted(desk: World) -> None:
    assert desk.pq("hooks", "uninstall").out.splitlines()[0] == "Hook pre-commit is gone from the queue"

    assert desk.pq("hooks", "uninstall").code == 2
    assert desk.pq("setup").code == 0
    assert not _commits(desk)
    assert desk.pq("hooks", "install").out.splitlines()[-1] == "Hook post-applypatch is installed in .checkout"
    assert desk.pq("repair").code == 0
    assert _commits(desk, 6)


def test_another_tools_hook_is_kept_still_runs_and_comes_back(desk: World) -> None:
    desk.pq("hooks", "uninstall")
    mine = _script(desk.checkout / ".git" / "hooks" / "pre-commit", 'basename "$GIT_INDEX_FILE" >> ../ran; test ! -e ../no')
    before = _hooks(desk.checkout)

    desk.pq("hooks", "install")
    desk.pq("hooks", "install")

    assert f"behind {mine}.before-pq" in desk.pq("hooks", "status").out
    assert _commits(desk)
    assert (desk.queue / "ran").read_text() == "index.lock\n"
    (desk.queue / "no").touch()
    change(desk, 9, "nine")
    assert commit(desk.checkout, "commit", "-qam", "no").code == 1
    desk.pq("hooks", "uninstall")
    assert _hooks(desk.checkout) == before


@pytest.mark.parametrize("level", ["--local", "--global"])
@pytest.mark.parametrize("said", ["{root}/theirs", "../../theirs", "~/theirs"])
def test_a_folder_of_others_is_not_written_into(desk: World, level: str, said: str) -> None:
    """It may be tracked, or that of all repositories of the user. Every hook in it goes on, also those that pq has no use for."""
    desk.process("hooks", "uninstall")
    theirs = Path(os.environ["HOME"] if said.startswith("~") else desk.root) / "theirs"
    for name in ("pre-commit", "commit-msg"):
        _script(theirs / name, f'echo {name} "$(basename "$1")" >> {desk.root}/ran')
    _script(theirs / "pre-push.sample", "exit 1")
    git(desk.checkout, "config", level, "core.hooksPath", said.format(root=desk.root))
    before, files = _hooks(desk.checkout), sorted(theirs.iterdir())

    assert desk.process("hooks", "install").code == 0
    assert desk.process("setup").code == 0

    assert _commits(desk)
    assert (desk.root / "ran").read_text() == "pre-commit \ncommit-msg COMMIT_EDITMSG\n"
    assert sorted(theirs.iterdir()) == files
    assert f"behind {theirs}/pre-commit" in desk.process("hooks", "status").out.replace(f"{desk.checkout}/../..", str(desk.root))
    desk.process("hooks", "uninstall")
    assert _hooks(desk.checkout) == before
    assert commit(desk.checkout, "config", "core.hooksPath").out == f"{said.format(root=desk.root)}\n"


def test_two_tools_that_keep_each_other_do_not_go_round(desk: World) -> None:
    """Another tool moves pq's aside and calls it; then pq's is put in its place, and keeps that one."""
    hooks = desk.checkout / ".git" / "hooks"
    os.replace(hooks / "pre-commit", hooks / "pre-commit.legacy")
    _script(hooks / "pre-commit", 'echo theirs >> ../ran; exec "$(dirname "$0")/pre-commit.legacy" "$@"')
    assert _commits(desk, 5)

    desk.pq("setup")

    assert _commits(desk, 6)
    assert (desk.queue / "ran").read_text() == "theirs\n" * 2


def test_a_path_with_quotes_and_blanks(desk: World) -> None:
    theirs = desk.root / "it's a $HOME `x`"
    _script(theirs / "pre-commit", f"echo ran >> '{desk.root}/ran'")
    git(desk.checkout, "config", "core.hooksPath", str(theirs))

    desk.pq("hooks", "install")

    assert _commits(desk)
    assert (desk.root / "ran").read_text() == "ran\n"
    assert not (desk.root / "x").exists()


def test_a_queue_inside_of_the_checkouts_repository_has_both_in_one(desk: World) -> None:
    inner = World(desk.root / "inner")
    inner.release("v1", {"f.txt": b"1\n"})
    git(inner.root, "clone", "-q", str(inner.upstream), str(inner.root / "all"))
    queue = inner.root / "all" / "patches"
    queue.mkdir()
    made = inner.pq("init", "--source", str(inner.upstream), "--pin", "v1", "--checkout", "..", cwd=queue)
    assert made.code == 0, made.err

    assert inner.pq("setup", cwd=queue).code == 0

    names = inner.pq("hooks", "status", cwd=queue).out.splitlines()
    assert [line.split()[1] for line in names] == ["pre-commit", "post-commit", "post-rewrite", "post-applypatch"]
