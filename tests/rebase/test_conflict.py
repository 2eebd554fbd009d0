"""A rebase that stops: what stands in the files and in the index, what is said, and every way on and back."""

from __future__ import annotations

import shutil
import signal

import pytest

from tests.conftest import World, git
from tests.editing.conftest import content, patch, set_back, settle
from tests.laws import nothing_changed, stands_at
from tests.proof.stopper import deaths
from tests.rebase.conftest import make, outcomes

MARKED = """\
line 9
<<<<<<< what stands here
ten
||||||| what patch b.patch changed
line 10
=======
b 10
>>>>>>> patch b.patch
line 11
"""


def test_a_conflict_waits_in_the_files_of_the_new_release(clashing: World) -> None:
    stopped = clashing.pq("rebase", "v3")

    assert (stopped.code, stopped.out) == (3, "")
    assert stopped.err == (
        "pq: Patch b.patch does not fit on v3; pq stopped there, with the conflict in f.txt\n"
        "  f.txt:11: these lines were changed since the patch was made\n"
        "    gone since v2: line 10\n"
        "hint: settle it in the files, then pq continue; pq abort takes the command back; pq rebase --skip leaves the patch out\n"
    )
    assert MARKED in (clashing.checkout / "f.txt").read_text()
    assert (clashing.checkout / "n.py").exists()
    assert git(clashing.checkout, "status", "--porcelain") == "UU f.txt\n"
    sides = [git(clashing.checkout, "show", f":{side}:f.txt").splitlines() for side in (1, 2, 3)]
    assert [sides[0][9], sides[1][10], sides[2][9]] == ["line 10", "ten", "b 10"]
    assert git(clashing.checkout, "log", "--format=%s", "-2") == "v3/a.patch\nv3\n"
    assert not (clashing.queue / "series" / "v3").exists()


def test_it_says_where_the_name_stands_now(moving: World) -> None:
    make(moving, "acc.patch", "m.py", "def threshold_acc():\n", "def threshold_acc(x=1):\n")

    stopped = moving.pq("rebase", "v3")

    assert stopped.code == 3
    assert (
        "  n.py:14: these lines were changed since the patch was made\n"
        "    gone since v3: def threshold_acc():\n"
        "    threshold_acc is named now at acc.py:1\n"
    ) in stopped.err


def test_status_says_how_far_it_came(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3

    said = clashing.pq("status").out

    assert "1 of 3 patches applied, now at patch v2/a.patch\n" in said
    assert "Stopped at a conflict: pq rebase v2, of patch b.patch in f.txt\n" in said


@pytest.mark.parametrize("words", [("continue",), ("rebase", "--continue")])
def test_settled_it_goes_on(clashing: World, words: tuple[str, ...]) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    assert clashing.pq(*words).err.startswith("pq: markers of the conflict stand in f.txt still\n")
    settle(clashing, "b ten\n")

    done = clashing.pq(*words)

    assert (done.code, done.err) == (0, "")
    assert outcomes(clashing, "v2") == {"a.patch": "moved", "b.patch": "resolved by hand", "c.patch": "moved"}
    assert "-ten\n+b ten\n" in patch(clashing, "v2/b.patch")
    stands_at(clashing, "v2/c.patch")


def test_a_patch_can_be_left_out_for_a_reason(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3

    done = clashing.pq("rebase", "--skip", "-m", "upstream says ten")

    assert done.code == 0
    assert outcomes(clashing, "v2")["b.patch"] == "left out; upstream says ten"
    assert "b.patch" not in (clashing.queue / "series" / "v2").read_text().splitlines()[-2:]
    assert (clashing.checkout / "f.txt").read_text().splitlines()[10] == "ten"
    stands_at(clashing, "v2/c.patch")


def test_nothing_left_of_a_patch_leaves_it_out(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "ten\n")
    assert clashing.pq("continue").code == 3

    assert clashing.pq("rebase", "--continue", "--allow-empty").code == 0

    assert outcomes(clashing, "v2")["b.patch"] == "left out; nothing was left of it"


@pytest.mark.parametrize("words", [("abort",), ("rebase", "--abort")])
def test_abort_gives_everything_back(clashing: World, words: tuple[str, ...]) -> None:
    old = content(clashing)
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")

    assert clashing.pq(*words).out == "Took back: pq rebase v2\n"

    assert {key: value for key, value in content(clashing).items() if key != "refs"} == {
        key: value for key, value in old.items() if key != "refs"
    }
    assert git(clashing.checkout, "branch", "--format=%(refname:short)") == "pq/v1\n"


def test_continued_it_is_one_operation(clashing: World) -> None:
    old = content(clashing)
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")
    assert clashing.pq("continue").code == 0
    kept = clashing.queue / "patches" / ".resolutions"
    kept.rename(clashing.root / "kept")
    new = content(clashing)
    (clashing.root / "kept").rename(kept)

    assert clashing.pq("undo").out == "Took back: pq rebase v2\n"
    shutil.rmtree(clashing.queue / "patches" / ".resolutions")  # what was settled is not forgotten
    assert content(clashing) == old
    assert clashing.pq("redo").code == 0
    shutil.rmtree(clashing.queue / "patches" / ".resolutions", ignore_errors=True)
    assert content(clashing) == new


def test_other_commands_wait(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3

    for words in (("push",), ("top",), ("rebase", "v3"), ("undo",)):
        refused = clashing.pq(*words)
        assert refused.code == 5, words
        assert refused.err.startswith("pq: pq rebase v2 stopped at a conflict\n")


def test_an_addition_that_is_there_in_other_words_waits_between_markers(moving: World) -> None:
    """Upstream has a field of that name by now: both are shown, and neither is taken."""
    make(moving, "field.patch", "m.py", "    one: int = 1\n", "    one: int = 1\n    ours: int = 4\n")

    stopped = moving.pq("rebase", "v2")

    assert stopped.code == 3, stopped
    text = (moving.checkout / "m.py").read_text()
    assert "=======\n    ours: int = 4\n>>>>>>> patch field.patch\n" in text
    assert "    ours: int = 3\n" in text


BY_HAND = {
    "switched back": ["switch", "-q", "-f", "pq/v1"],
    "detached": ["checkout", "-q", "-f", "--detach"],
    "another branch": ["switch", "-q", "-f", "-c", "mine"],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_was_moved_with_git_is_noticed(clashing: World, name: str) -> None:
    """W35: the way back is said, and it works."""
    assert clashing.pq("rebase", "v2").code == 3
    git(clashing.checkout, "reset", "-q", "--hard")
    git(clashing.checkout, *BY_HAND[name])

    for words in (("continue",), ("abort",)):
        with nothing_changed(clashing):
            refused = clashing.pq(*words)
        assert refused.code == 5, refused
        assert refused.err.splitlines()[-1].endswith("switch pq/v2"), refused.err

    git(clashing.checkout, "switch", "-q", "-f", "pq/v2")
    assert clashing.pq("abort").code == 0
    stands_at(clashing, "c.patch")


def test_settled_by_a_commit_of_git_it_goes_on(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")
    git(clashing.checkout, "commit", "-qam", "by hand")

    assert clashing.pq("continue").code == 0

    assert outcomes(clashing, "v2")["b.patch"] == "resolved by hand"
    stands_at(clashing, "v2/c.patch")


@pytest.mark.parametrize("command", ["rebase", "continue", "abort", "undo", "skip"])
def test_killed_anywhere_it_goes_on_or_back(clashing: World, command: str) -> None:
    words = {"rebase": ("rebase", "v2"), "skip": ("rebase", "--skip")}.get(command, (command,))
    if command != "rebase":
        assert clashing.pq("rebase", "v2").code == 3
    if command in ("continue", "undo"):
        settle(clashing, "b ten\n")
    if command == "undo":
        assert clashing.pq("continue").code == 0
    kept = clashing.root / "kept"
    shutil.copytree(clashing.queue, kept, symlinks=True)
    ends = set()

    for _ in deaths(words, clashing.queue, signal.SIGKILL, step=14):
        if clashing.pq("status").out.count("Stopped at a conflict"):
            settle(clashing, "b ten\n")
            ended = clashing.pq("continue")
            assert ended.code == 0, ended
        ends.add(clashing.pq("top").out)
        assert git(clashing.checkout, "status", "--porcelain") == ""
        series = {path.name for path in (clashing.queue / "series").iterdir()}
        assert series == ({"v1", "v2"} if clashing.pq("top").out.startswith("v2/") else {"v1"})
        set_back(kept, clashing.queue)

    assert ends <= {"c.patch\n", "v2/c.patch\n"}


def test_a_folder_in_the_place_of_a_file_is_no_edit(clashing: World) -> None:
    """Upstream made a folder of a file that no patch is about: the stop can be left in every way."""
    files = {"f.txt": b"ten\n".join((b"line 9\n", b"line 11\n")), "m.py": b"", "same.txt/inner": b"inner\n"}
    clashing.release("v4", files)

    for words in (("abort",), ("rebase", "--skip")):
        assert clashing.pq("rebase", "v4", "--without", "a", "--without", "c").code == 3
        left = clashing.pq(*words)
        assert left.code == 0, left

    stands_at(clashing, None)


def test_a_branch_that_is_gone_can_be_put_back(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    git(clashing.checkout, "switch", "-q", "-f", "pq/v1")
    git(clashing.checkout, "branch", "-q", "-D", "pq/v2")

    refused = clashing.pq("abort")
    way = refused.err.splitlines()[1].removeprefix("hint: git ").removesuffix(" puts it back").split()

    assert (refused.code, refused.err.splitlines()[0]) == (5, "pq: Branch pq/v2, on which the conflict waits, is gone")
    git(clashing.root, *way)
    assert clashing.pq("abort").code == 0
    stands_at(clashing, "c.patch")


def test_what_a_check_rejects_behind_a_conflict_can_go_on_unchecked(clashing: World) -> None:
    (clashing.queue / "hooks" / "pre-apply").write_text(
        "#!/bin/sh\nread patch _\nprintf 'reject\\t%s\\tno\\n' \"$patch\"\nexit 1\n"
    )
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")
    assert clashing.pq("continue").code == 4

    done = clashing.pq("rebase", "--continue", "--no-check")

    assert done.code == 0, done.err
    assert "NOT CHECKED, as asked for: v2/a.patch" in done.err
    stands_at(clashing, "v2/c.patch")


def test_a_rejected_skip_keeps_what_was_settled(clashing: World) -> None:
    (clashing.queue / "hooks" / "pre-apply").write_text(
        "#!/bin/sh\nread patch _\nprintf 'reject\\t%s\\tno\\n' \"$patch\"\nexit 1\n"
    )
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")

    assert clashing.pq("rebase", "--skip").code == 4

    assert (clashing.checkout / "f.txt").read_text().splitlines()[10] == "b ten"


def test_left_out_after_a_settlement_that_was_killed(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    settle(clashing, "b ten\n")
    states = []
    for _ in deaths(("continue",), clashing.queue, signal.SIGKILL, step=30):
        states.append(clashing.pq("status").out)
        if "it is settled" in states[-1]:
            break
    assert "it is settled" in states[-1]

    done = clashing.pq("rebase", "--skip", "-m", "not wanted")

    assert done.code == 0
    assert outcomes(clashing, "v2")["b.patch"] == "left out; not wanted"


def test_a_patch_that_deletes_what_upstream_changed_stops(moving: World) -> None:
    assert moving.pq("new", "gone.patch").code == 0
    (moving.checkout / "f.txt").unlink()
    assert moving.pq("refresh").code == 0

    stopped = moving.pq("rebase", "v2")

    assert stopped.code == 3
    assert "f.txt:1: these lines were changed since the patch was made\n" in stopped.err
    assert moving.pq("rebase", "--skip", "-m", "kept").code == 0


def test_a_conflict_that_no_file_can_show_can_be_gone_around(moving: World) -> None:
    assert moving.pq("new", "inner.patch").code == 0
    (moving.checkout / "acc.py").mkdir()
    (moving.checkout / "acc.py" / "x.txt").write_text("x\n")
    assert moving.pq("add", "acc.py/x.txt").code == 0
    assert moving.pq("refresh").code == 0

    refused = moving.pq("rebase", "v3")

    assert (refused.code, refused.err.splitlines()[-1]) == (
        3,
        "hint: no file can show that; --without inner.patch leaves the patch out",
    )
    assert moving.pq("rebase", "v3", "--without", "inner", "-m", "acc.py is a file").code == 0
    assert outcomes(moving, "v3")["inner.patch"] == "left out; acc.py is a file"
