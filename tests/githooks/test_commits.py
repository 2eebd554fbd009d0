"""A commit on the branch of a series is a patch, and an amended one a refresh."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.githooks.conftest import commit
from tests.laws import stands_at


def _is_one(world: World, top: str) -> None:
    """Nothing is left to repair, and the series makes the same of the release."""
    assert world.pq("repair").code == 2
    stands_at(world, top)
    full = world.files()
    assert world.pq("pop", "-a").code == 0
    assert world.pq("push", "-a").code == 0
    assert world.files() == full


def test_edit_and_commit_and_the_patch_appears(desk: World) -> None:
    change(desk, 5, "five")

    said = commit(desk.checkout, "commit", "-am", "f: five\n\nBecause.")

    assert (said.code, "Patch f-five.patch was made of a commit\n" in said.err + said.out) == (0, True)
    assert listed(desk) == ["f-five.patch"]
    text = patch(desk, "f-five.patch")
    assert text.startswith("From: Ada <ada@example.org>\nDate: ")
    assert "Subject: f: five\n\nBecause.\n\ndiff --git" in text
    _is_one(desk, "f-five.patch")


@pytest.mark.parametrize("words", [("--no-edit",), ("-m", "f: another title")])
def test_amend_refreshes_the_top(two: World, words: tuple[str, ...]) -> None:
    """Also with a message of its own, in which nothing says any more which patch it was."""
    change(two, 16, "sixteen")

    said = commit(two.checkout, "commit", "-a", "--amend", *words)

    assert "Patch f-fifteen.patch was written from its commit\n" in said.err + said.out
    assert listed(two) == ["f-five.patch", "f-fifteen.patch"]
    assert "+sixteen\n" in patch(two, "f-fifteen.patch")
    assert ("Subject: f: another title\n" in patch(two, "f-fifteen.patch")) == (words[0] == "-m")
    _is_one(two, "f-fifteen.patch")


def test_amended_twice_with_new_messages_is_the_same_patch(two: World) -> None:
    for title in ("f: one", "f: two"):
        assert commit(two.checkout, "commit", "-q", "--amend", "-m", title, "--no-verify").code == 0

    assert listed(two) == ["f-five.patch", "f-fifteen.patch"]
    assert "Subject: f: two\n" in patch(two, "f-fifteen.patch")


def test_reset_is_explained_and_repair_settles_it(two: World) -> None:
    git(two.checkout, "reset", "-q", "--hard", "HEAD~1")

    status = two.pq("status")
    assert "1 of 2 patches applied, now at patch f-five.patch\n" in status.out
    assert (
        "Not applied any more, since git took its commit off: f-fifteen.patch\n"
        "hint: pq push applies it again; pq repair takes it as it stands\n"
    ) in status.out
    assert two.pq("repair").out == "Patch f-fifteen.patch is not applied any more: it has no commit\n"

    assert "took its commit off" not in two.pq("status").out
    stands_at(two, "f-five.patch")
    assert two.pq("undo").code == 0
    stands_at(two, "f-fifteen.patch")


def test_a_reset_that_is_reset_is_as_before(two: World) -> None:
    head = git(two.checkout, "rev-parse", "HEAD").strip()
    git(two.checkout, "reset", "-q", "--hard", "HEAD~1")
    two.pq("repair")
    git(two.checkout, "reset", "-q", "--hard", head)

    assert two.pq("repair").out == "Patch f-fifteen.patch is applied again: its commit is there\n"

    stands_at(two, "f-fifteen.patch")


def test_what_is_not_staged_stays_where_it_is(desk: World) -> None:
    change(desk, 5, "five")
    git(desk.checkout, "add", "f.txt")
    change(desk, 30, "thirty")
    (desk.checkout / "new.txt").write_text("not known to git\n")
    (desk.checkout / "m.py").write_text("x = 2\n")
    git(desk.checkout, "add", "m.py")

    assert commit(desk.checkout, "commit", "-qm", "f: five").code == 0

    assert "+five\n" in patch(desk, "f-five.patch")
    assert "thirty" not in patch(desk, "f-five.patch")
    assert git(desk.checkout, "status", "--porcelain") == " M f.txt\n?? new.txt\n"
    assert desk.pq("refresh").code == 0
    assert "+thirty\n" in patch(desk, "f-five.patch")


def test_what_is_staged_beside_the_files_of_the_commit_stays_staged(desk: World) -> None:
    """git commit FILE has an index of its own for the commit."""
    change(desk, 5, "five")
    (desk.checkout / "m.py").write_text("x = 2\n")
    git(desk.checkout, "add", "m.py")

    assert commit(desk.checkout, "commit", "-qm", "f: five", "f.txt").code == 0

    assert listed(desk) == ["f-five.patch"]
    assert git(desk.checkout, "status", "--porcelain") == "M  m.py\n"


def test_the_staged_content_is_checked_and_not_the_file(desk: World) -> None:
    (desk.checkout / "m.py").write_text("x = (\n")
    git(desk.checkout, "add", "m.py")
    (desk.checkout / "m.py").write_text("x = 2\n")

    said = commit(desk.checkout, "commit", "-m", "broken")

    assert (said.code, git(desk.checkout, "status", "--porcelain"), listed(desk)) == (1, "MM m.py\n", [])
    assert said.err.startswith("pq: the commit is rejected by hooks/pre-apply\n  m.py:1: SyntaxError: '(' was never closed")
    assert "hint: git commit --no-verify commits it all the same; pq status keeps saying that it was not checked\n" in said.err


def test_what_is_rejected_can_be_committed_all_the_same(desk: World) -> None:
    (desk.checkout / "m.py").write_text("x = (\n")

    assert commit(desk.checkout, "commit", "-qam", "broken", "--no-verify").code == 0

    assert listed(desk) == ["broken.patch"]
    assert "Not checked as it stands: broken.patch\n" in desk.pq("status").out
    assert desk.pq("check").code == 4


def test_what_was_checked_before_the_commit_counts_as_checked(desk: World) -> None:
    change(desk, 5, "five")

    commit(desk.checkout, "commit", "-qam", "f: five")
    assert "Not checked" not in desk.pq("status").out

    change(desk, 6, "six")
    commit(desk.checkout, "commit", "-qa", "--amend", "--no-edit")
    assert "Not checked" not in desk.pq("status").out


def test_an_amended_patch_is_asked_about_as_a_whole(desk: World) -> None:
    """Each step may pass a hook that the patch does not."""
    text = '#!/bin/sh\nread -r patch before after\ntest "$(git diff "$before" "$after" | grep -c "^+line")" -lt 2\n'
    (desk.queue / "hooks" / "pre-apply").write_text(text)
    desk.pq("status")  # trusts it
    for number, words in ((5, ()), (6, ("--amend",))):
        change(desk, number, f"line of mine {number}")
        assert commit(desk.checkout, "commit", "-qam", "f: mine", *words).code == 0

    assert "Not checked as it stands: f-mine.patch\n" in desk.pq("status").out


def test_hooks_of_the_queue_run_only_if_they_are_trusted(desk: World) -> None:
    (desk.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\ntouch ../ran\n")
    change(desk, 5, "five")

    said = commit(desk.checkout, "commit", "-qam", "f: five")

    assert (said.code, "not trusted yet" in said.err, (desk.root / "ran").exists()) == (1, True, False)


@pytest.mark.parametrize("words", [("-c", "mine"), ("--detach",)])
def test_a_commit_elsewhere_is_left_alone(two: World, words: tuple[str, ...]) -> None:
    git(two.checkout, "switch", "-q", *words)
    (two.checkout / "m.py").write_text("x = (\n")

    said = commit(two.checkout, "commit", "-am", "mine")

    assert (said.code, "pq" in said.err, listed(two)) == (0, False, ["f-five.patch", "f-fifteen.patch"])


def test_an_amended_release_is_no_patch(desk: World) -> None:
    change(desk, 5, "five")

    said = commit(desk.checkout, "commit", "-qa", "--amend", "--no-edit")

    assert "no patch is made of it: the commit of the release itself was amended\nhint: git -C" in said.err
    pin = git(desk.checkout, "rev-parse", "refs/pq/releases/v1").strip()
    assert f"reset --soft {pin[:12]}" in said.err
    git(desk.checkout, "reset", "-q", "--soft", pin)
    assert commit(desk.checkout, "commit", "-qm", "f: five").code == 0
    _is_one(desk, "f-five.patch")


def test_a_merge_is_no_patch(two: World) -> None:
    git(two.checkout, "switch", "-q", "-c", "mine", "HEAD~1")
    (two.checkout / "m.py").write_text("x = 2\n")
    git(two.checkout, "commit", "-qam", "mine")
    git(two.checkout, "switch", "-q", "pq/v1")

    said = commit(two.checkout, "merge", "-q", "mine")
    assert (said.code, "pq: a merge is no patch\nhint: git merge --abort" in said.err) == (1, True)
    assert commit(two.checkout, "commit", "-qm", "merged").code == 1
    assert (two.pq("push").code, two.pq("status").code) == (5, 5)
    said = commit(two.checkout, "commit", "--no-verify", "-qm", "merged")
    assert (said.code, "no patch is made of it" in said.err, "is a merge" in said.err) == (0, True, True)


def test_in_the_midst_of_a_conflict_nothing_is_committed(two: World) -> None:
    change(two, 15, "five and more")
    change(two, 16, "next")
    assert two.pq("refresh", "f-five").code == 3

    said = commit(two.checkout, "commit", "-qam", "mine")

    assert (said.code, "stopped at a conflict" in said.err, "pq continue" in said.err) == (1, True, True)
    assert two.pq("abort").code == 0


def test_an_edited_patch_file_is_not_written_over(two: World) -> None:
    place = two.queue / "patches" / "f-fifteen.patch"
    place.write_text(f"A text of mine.\n{place.read_text()}")
    edited = place.read_text()
    change(two, 16, "sixteen")

    said = commit(two.checkout, "commit", "-qa", "--amend", "--no-edit")

    assert "no patch is made of it: Both the commit and the file of patch f-fifteen.patch were changed\nhint: git -C" in said.err
    assert place.read_text() == edited


def test_a_program_with_little_around_it_commits_as_well(desk: World) -> None:
    """An editor that was started from a menu has hardly a PATH, and names the repository by variables."""
    change(desk, 5, "five")
    variables = {"GIT_DIR": str(desk.checkout / ".git"), "GIT_WORK_TREE": str(desk.checkout), "GIT_CONFIG_NOSYSTEM": "1"}

    said = commit(desk.checkout / "d", "commit", "-qam", "f: five", PATH="/usr/bin:/bin", **variables)

    assert (said.code, listed(desk)) == (0, ["f-five.patch"]), said


def test_from_a_folder_below_and_from_elsewhere(desk: World) -> None:
    for number, (folder, words) in enumerate([(desk.checkout / "d", ()), (desk.root, ("-C", str(desk.checkout)))]):
        change(desk, 5 + number, "other")
        assert commit(folder, *words, "commit", "-qam", f"f: {number}").code == 0

    assert listed(desk) == ["f-0.patch", "f-1.patch"]


def test_undo_takes_back_what_the_hook_did(two: World) -> None:
    """The commit stays, and repair makes the patch again."""
    assert two.pq("log", "-n", "1").out.endswith(" git commit\n")
    assert two.pq("undo").out == (
        "Took back: git commit\nhint: git's own commits stand; pq repair makes patches of them again, git reset takes them back\n"
    )

    assert listed(two) == ["f-five.patch"]
    assert two.pq("repair").out == "Patch f-fifteen.patch was made of a commit\n"
    _is_one(two, "f-fifteen.patch")


def test_a_linked_worktree_has_the_series_of_its_branch(two: World) -> None:
    tree = two.root / "tree"
    pin = git(two.checkout, "rev-parse", "refs/pq/releases/v1").strip()
    git(two.checkout, "worktree", "add", "-q", "-b", "pq/other", str(tree), pin)
    (two.queue / "series" / "other").write_text(f"# pq-pin: v1 {pin}\n")
    (tree / "m.py").write_text("x = 2\n")

    said = commit(tree, "commit", "-qam", "m: two")

    assert said.code == 0, said
    assert (two.queue / "series" / "other").read_text().endswith("m-two.patch\n")
    assert two.pq("top", cwd=tree).out == "m-two.patch\n"
    assert two.pq("pop", cwd=tree).code == 0
    assert (tree / "m.py").read_text() == "x = 1\n"
    stands_at(two, "f-fifteen.patch")


def test_imports_have_a_budget(desk: World) -> None:
    with (desk.queue / "pq.toml").open("a") as toml:
        toml.write(f'[check]\nmodules = ["m"]\npython = "{sys.executable}"\nbudget = 1\n')
    desk.pq("status")  # trusts it
    (desk.checkout / "m.py").write_text("import time\ntime.sleep(3)\n")

    said = commit(desk.checkout, "commit", "-qam", "m: slow")

    assert (said.code, "pq: checked in part: the modules were not imported within 1 s\n" in said.err) == (0, True), said
    assert "Not checked as it stands: m-slow.patch\n" in desk.pq("status").out
    (desk.checkout / "m.py").write_text("x = 1 / 0\n")
    assert "ZeroDivisionError" in commit(desk.checkout, "commit", "-qam", "m: wrong").err


def test_a_pq_that_is_gone_is_said(desk: World) -> None:
    hook = desk.checkout / ".git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text().replace(sys.executable, "/nowhere/python"))
    change(desk, 5, "five")

    said = commit(desk.checkout, "commit", "-qam", "f: five", PATH="/usr/bin:/bin")

    assert (said.code, "the pq that this hook was made by is gone" in said.err) == (1, True)


def _mails(world: World) -> Path:
    """Two commits of somebody else as mails."""
    other = world.root / "other"
    git(world.root, "clone", "-q", str(world.upstream), str(other))
    for number in (25, 35):
        lines = (other / "f.txt").read_text().splitlines()
        lines[number - 1] = f"line of mine {number}"
        (other / "f.txt").write_text("\n".join(lines) + "\n")
        git(other, "commit", "-qam", f"f: mine {number}")
    return other


def test_mails_that_git_am_applies_become_patches(two: World) -> None:
    other = _mails(two)
    git(other, "format-patch", "-q", "-2", "-o", str(two.root / "mails"))

    said = commit(two.checkout, "am", "-q", *map(str, sorted((two.root / "mails").iterdir())))

    assert said.code == 0, said
    assert listed(two) == ["f-five.patch", "f-fifteen.patch", "f-mine-25.patch", "f-mine-35.patch"]
    assert not (two.checkout / ".git" / "rebase-apply").exists()
    _is_one(two, "f-mine-35.patch")


def test_a_rebase_that_reorders_and_rewords_is_taken_in(two: World) -> None:
    """By git's own list: the second first, and the other one with another message."""
    editor = two.root / "editor"
    editor.write_text(
        '#!/bin/sh\ncase $1 in *todo) sed -i -n "1{s/pick/reword/;h};2{p;x;p}" $1;; *) sed -i "1s/.*/f: reworded/" $1;; esac\n'
    )
    editor.chmod(0o755)

    said = commit(two.checkout, "rebase", "-q", "-i", "HEAD~2", GIT_EDITOR=str(editor), GIT_SEQUENCE_EDITOR=str(editor))

    assert said.code == 0, said
    assert listed(two) == ["f-fifteen.patch", "f-five.patch"]
    assert "Subject: f: reworded\n" in patch(two, "f-five.patch")
    _is_one(two, "f-five.patch")


@pytest.mark.parametrize("how", ["fixup", "squash"])
def test_what_a_rebase_made_one_commit_of_is_one_patch(two: World, how: str) -> None:
    """The first of them; the other is gone, from the series and as a file."""
    sequence = f'sed -i "2s/pick/{how}/"'

    said = commit(two.checkout, "rebase", "-q", "-i", "HEAD~2", GIT_SEQUENCE_EDITOR=sequence, GIT_EDITOR="true")

    assert "Patch f-five.patch has taken in f-fifteen.patch\n" in said.out + said.err, said
    assert listed(two) == ["f-five.patch"]
    assert not (two.queue / "patches" / "f-fifteen.patch").exists()
    assert ("+five\n" in patch(two, "f-five.patch"), "+fifteen\n" in patch(two, "f-five.patch")) == (True, True)
    assert "Pq-" not in patch(two, "f-five.patch")
    _is_one(two, "f-five.patch")


def test_while_git_is_at_work_on_the_branch_pq_does_not_move_it(two: World) -> None:
    """am and cherry-pick refuse to go back once somebody else has."""
    git(two.checkout, "switch", "-q", "-c", "mine", "HEAD~2")
    change(two, 5, "another five")
    git(two.checkout, "commit", "-qam", "mine")
    git(two.checkout, "switch", "-q", "pq/v1")
    before = two.files()
    for words in (("cherry-pick", "mine"), ("am", str(_mailed(two, "mine")))):
        assert commit(two.checkout, *words).code != 0
        said = two.pq("pop")
        assert (said.code, f"git {words[0]} is under way in the checkout" in said.err) == (5, True)
        assert two.pq("repair").code == 5
        assert commit(two.checkout, words[0], "--abort").code == 0
        assert two.files() == before
    assert two.pq("pop").code == 0


def _mailed(world: World, branch: str) -> Path:
    """The last commit of a branch, as a mail."""
    place = world.root / "mail"
    place.write_text(git(world.checkout, "format-patch", "--stdout", "-1", branch))
    return place


def test_mails_that_are_broken_are_said_to_be(two: World) -> None:
    """No hook is asked before git applies a mail."""
    git(two.checkout, "switch", "-q", "-c", "mine")
    (two.checkout / "m.py").write_text("x = (\n")
    git(two.checkout, "commit", "-qam", "broken")
    git(two.checkout, "switch", "-q", "pq/v1")

    said = commit(two.checkout, "am", "-q", str(_mailed(two, "mine")))

    assert "Patch broken.patch is rejected by hooks/pre-apply; it stands in the checkout" in said.out + said.err
    assert "Not checked as it stands: broken.patch" in two.pq("status").out


def test_an_empty_commit_counts_as_checked(two: World) -> None:
    assert commit(two.checkout, "commit", "-q", "--allow-empty", "-m", "empty").code == 0

    assert "Not checked" not in two.pq("status").out


def test_an_expectation_that_comes_with_a_message_is_not_passed_unseen(two: World) -> None:
    """The tree was let through, but not what the patch says now."""
    with (two.queue / "pq.toml").open("a") as file:
        file.write(f'[check]\nmodules = ["m"]\npython = "{sys.executable}"\n')
    change(two, 1, "raise RuntimeError('never imports')", name="d/g.txt")
    (two.checkout / "n.py").write_text("raise RuntimeError('never imports')\n")
    git(two.checkout, "add", "n.py")
    assert commit(two.checkout, "commit", "-q", "-m", "n", PQ_TRUST=_digest(two)).code == 0

    commit(two.checkout, "commit", "-q", "--amend", "-m", "n\n\nPq-Expect: import n", PQ_TRUST=_digest(two))

    assert "Not checked as it stands: n.patch" in two.pq("status").out
    assert two.pq("check").code == 4


def test_a_branch_of_the_user_s_own_is_left_alone(two: World) -> None:
    git(two.checkout, "switch", "-q", "-c", "pq/mine")
    (two.checkout / "m.py").write_text("x = (\n")

    assert commit(two.checkout, "commit", "-qam", "mine").code == 0
    assert listed(two) == ["f-five.patch", "f-fifteen.patch"]


def test_cherry_picks_become_patches_at_the_latest_by_repair(two: World) -> None:
    other = _mails(two)
    git(two.checkout, "fetch", "-q", str(other), "HEAD")

    said = commit(two.checkout, "cherry-pick", "FETCH_HEAD~1", "FETCH_HEAD")

    assert said.code == 0, said
    two.pq("repair")
    assert listed(two) == ["f-five.patch", "f-fifteen.patch", "f-mine-25.patch", "f-mine-35.patch"]
    _is_one(two, "f-mine-35.patch")


def _digest(world: World) -> str:
    found = json.loads(World(world.root, trusting=False).pq("trust", "--json").out.partition("\n{")[0])["trust"]["digest"]
    return str(found)
