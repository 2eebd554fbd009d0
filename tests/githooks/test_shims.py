"""The scripts that git calls: beside the hooks of other tools, wherever these are, and gone without a trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
        "+ pre-commit in the queue\n+ pre-merge-commit in the queue\n"
        "+ pre-commit in .checkout\n+ pre-merge-commit in .checkout\n+ post-commit in .checkout\n+ post-rewrite in .checkout\n+ post-applypatch in .checkout\n"
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
    _script(theirs / "post-checkout.sample", "exit 1")
    git(desk.checkout, "config", level, "core.hooksPath", said.format(root=desk.root))
    before, files = _hooks(desk.checkout), sorted(theirs.iterdir())

    assert desk.process("hooks", "install").code == 0
    assert desk.process("setup").code == 0

    assert _commits(desk)
    assert (desk.root / "ran").read_text() == "pre-commit \ncommit-msg COMMIT_EDITMSG\n"
    assert sorted(theirs.iterdir()) == files
    _script(theirs / "pre-rebase", "exit 7")  # one that comes later
    assert commit(desk.checkout, "rebase", "-f", "HEAD~1").code != 0
    (theirs / "pre-rebase").unlink()
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


def test_a_hook_that_another_tool_put_over_pq_s_is_not_lost(desk: World) -> None:
    """The first one is kept already; pq has one place for it, and says so."""
    hooks = desk.checkout / ".git" / "hooks"
    desk.pq("hooks", "uninstall")
    _script(hooks / "pre-commit", "echo A")
    desk.pq("hooks", "install")
    _script(hooks / "pre-commit", "echo B")

    said = desk.pq("hooks", "install")

    assert (said.code, "is another tool's hook, and so is" in said.err, "then pq hooks install" in said.err) == (5, True, True)
    assert desk.pq("setup").code == 5
    desk.pq("hooks", "uninstall")
    assert ["echo" in (hooks / name).read_text() for name in ("pre-commit", "pre-commit.before-pq")] == [True, True]
    (hooks / "pre-commit").unlink()
    assert desk.pq("hooks", "install").code == 0
    assert "echo A" in (hooks / "pre-commit.before-pq").read_text()


def test_the_pre_commit_framework_over_and_below(desk: World) -> None:
    """It keeps what it finds as `pre-commit.legacy`, and refuses to be started by that."""
    tool = [sys.executable, "-m", "pre_commit", "install"]
    (desk.checkout / ".pre-commit-config.yaml").write_text("repos: []\n")
    for _ in range(2):
        subprocess.run(tool, cwd=desk.checkout, check=True, capture_output=True)
        assert "+ pre-commit in .checkout" in desk.pq("hooks", "status").out
        assert _commits(desk, 5 + _)
        desk.pq("hooks", "install")
        assert _commits(desk, 8 + _)

    subprocess.run(tool, cwd=desk.checkout, check=True, capture_output=True)
    assert desk.pq("hooks", "uninstall").code == 0
    assert [name for name in _hooks(desk.checkout) if name.startswith("pre-commit")] == ["pre-commit"]
    assert not _commits(desk, 12)


def test_what_post_rewrite_is_told_both_read(desk: World) -> None:
    _script(desk.checkout / ".git" / "hooks" / "post-rewrite", 'cat >> "$(dirname "$0")/../told"')
    desk.pq("hooks", "install")
    assert _commits(desk, 5)
    assert _commits(desk, 15)

    said = commit(desk.checkout, "rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR='sed -i "2s/pick/fixup/"')

    assert "Patch f-5.patch has taken in f-15.patch\n" in said.out + said.err
    assert len((desk.checkout / ".git" / "told").read_text().splitlines()) == 3  # one of git's amending, two of the rebase


def test_a_hook_that_commits_elsewhere_keeps_no_other_hook_from_running(desk: World) -> None:
    other = desk.root / "other"
    git(desk.root, "init", "-q", str(other))
    _script(other / ".git" / "hooks" / "pre-commit", "echo ran >> ran")
    variables = "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX"
    text = f"{variables}; cd {other} && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m other"
    hooks = desk.checkout / ".git" / "hooks"
    kept = _script(desk.root / "kept", text)
    os.replace(kept, hooks / "pre-commit.before-pq")
    shutil.copy(hooks / "pre-commit", other / ".git" / "hooks" / "pre-commit.pq")
    os.replace(other / ".git" / "hooks" / "pre-commit", other / ".git" / "hooks" / "pre-commit.before-pq")
    os.replace(other / ".git" / "hooks" / "pre-commit.pq", other / ".git" / "hooks" / "pre-commit")

    assert _commits(desk)

    assert (other / "ran").read_text() == "ran\n"


@pytest.mark.parametrize("way", ["GIT_CONFIG_GLOBAL", "worktree", "symlink"])
def test_the_folder_that_git_looks_into_is_found_by_git(desk: World, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = desk.root / "theirs"
    _script(theirs / "pre-commit", f"echo ran >> {desk.root}/ran")
    desk.process("hooks", "uninstall")
    if way == "GIT_CONFIG_GLOBAL":
        (desk.root / "config").write_text(f"[core]\nhooksPath = {theirs}\n")
        monkeypatch.setenv(way, str(desk.root / "config"))
    elif way == "worktree":
        git(desk.checkout, "config", "extensions.worktreeConfig", "true")
        git(desk.checkout, "config", "--worktree", "core.hooksPath", str(theirs))
    else:
        hooks = desk.checkout / ".git" / "hooks"
        shutil.rmtree(hooks)
        hooks.symlink_to(theirs)
    files = sorted(theirs.iterdir())

    said = desk.process("hooks", "install")

    assert sorted(theirs.iterdir()) == files
    if way == "worktree":  # whose config comes before the one that pq writes
        assert (said.code, "git looks for hooks in" in said.err) == (5, True)
    else:
        assert _commits(desk)
        assert (desk.root / "ran").read_text() == "ran\n"


def test_uninstalled_where_another_tool_took_the_folder_since(desk: World) -> None:
    desk.process("hooks", "uninstall")
    before = _hooks(desk.checkout)
    git(desk.checkout, "config", "core.hooksPath", str(desk.root / "one"))
    desk.process("hooks", "install")
    git(desk.checkout, "config", "core.hooksPath", str(desk.root / "two"))

    desk.process("hooks", "uninstall")

    assert not (desk.checkout / ".git" / "pq" / "hooks").exists()
    git(desk.checkout, "config", "--unset", "core.hooksPath")
    assert _hooks(desk.checkout) == before


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
    assert [line.split()[1] for line in names] == [
        "pre-commit",
        "pre-merge-commit",
        "post-commit",
        "post-rewrite",
        "post-applypatch",
    ]
