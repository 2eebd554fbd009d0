"""Stops at a conflict: what could not be carried over waits in the files, and the command goes on or is taken back (exit code 3)."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from pq.core.lines import blob_id
from tests.conftest import World, git
from tests.editing.conftest import change, content, listed, patch, set_back, settle
from tests.laws import stands_at
from tests.proof.stopper import deaths

MARKED = """\
line 4
<<<<<<< what stands here
line 5
||||||| what patch d.patch changed
a 5
=======
d on a
>>>>>>> patch d.patch
line 6
"""


@pytest.fixture
def four(three: World) -> World:
    """Three patches, and d, which changes the line that a made."""
    change(three, 5, "d on a")
    assert three.pq("refresh", "-z", "d.patch").code == 0
    return three


def test_a_patch_moves_over_one_that_needs_it_once_that_is_settled(four: World) -> None:
    full = four.files()

    stopped = four.pq("float", "a")

    assert (stopped.code, stopped.err) == (
        3,
        (
            "pq: Patch d.patch does not fit where it would stand; pq stopped there, with the conflict in f.txt\n"
            "  f.txt:5: these lines were changed since the patch was made\n"
            "hint: settle it in the files, then pq continue; pq abort takes the command back\n"
        ),
    )
    assert MARKED in (four.checkout / "f.txt").read_text()
    assert git(four.checkout, "status", "--porcelain") == "UU f.txt\n"
    assert [git(four.checkout, "show", f":{side}:f.txt").splitlines()[4] for side in (1, 2, 3)] == ["a 5", "line 5", "d on a"]
    assert patch(four, "d.patch").count("d on a") == 1  # not written before it is settled

    assert four.pq("continue").err == (
        "pq: markers of the conflict stand in f.txt still\n"
        "hint: settle it in the files, then pq continue; pq abort takes the command back\n"
    )
    settle(four, "d alone\n")
    done = four.pq("continue")

    assert (done.code, done.err) == (0, "")
    assert listed(four) == ["b.patch", "c.patch", "d.patch", "a.patch"]
    assert "-line 5\n+d alone\n" in patch(four, "d.patch")
    assert "-d alone\n+d on a\n" in patch(four, "a.patch")  # what is left, since the files stay
    assert four.files() == full
    stands_at(four, "a.patch")
    assert four.pq("continue").code == four.pq("abort").code == 2
    assert four.pq("undo").out == "Took back: pq float a\n"
    assert listed(four) == ["a.patch", "b.patch", "c.patch", "d.patch"]
    stands_at(four, "d.patch")


COMMANDS = {
    "float": ("float", "a"),
    "sink": ("sink", "d"),
    "delete": ("delete", "-r", "a"),
    "remove": ("remove", "-P", "a", "f.txt"),
    "squash": ("squash", "b", "d"),
    "refresh": ("refresh", "a"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_abort_takes_all_back(four: World, words: tuple[str, ...]) -> None:
    if words[0] == "refresh":
        change(four, 5, "edited")
    if words[0] == "squash":
        change(four, 5, "e on d")
        assert four.pq("refresh", "-z", "e.patch").code == 0
        words = ("squash", "b", "e")
    before = content(four)

    assert four.pq(*words).code == 3
    assert content(four) != before
    (four.checkout / "f.txt").write_text("half settled\n")
    said = four.pq("abort")

    assert (said.code, said.out) == (0, f"Took back: pq {' '.join(words)}\n")
    assert content(four) == before
    assert git(four.checkout, "ls-files", "--unmerged") == ""


def test_what_fits_of_the_patch_is_taken_back_as_well(four: World) -> None:
    (four.checkout / "new.txt").write_text("new\n")
    four.pq("add", "new.txt")
    assert four.pq("refresh", "d").code == 0
    before = content(four)

    assert four.pq("float", "a").code == 3
    assert (four.checkout / "new.txt").exists()
    assert four.pq("abort").code == 0

    assert content(four) == before


@pytest.mark.parametrize("commit", [False, True], ids=["", "commit"])
@pytest.mark.parametrize("ending", ["continue", "abort"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_what_stands_beside_the_conflict_stays_as_it_is(four: World, words: tuple[str, ...], ending: str, commit: bool) -> None:
    """Edits from before the stop and since, files that are untracked, added, and committed with the answer: none is lost, none refreshed."""
    beside = {
        "d/g.txt": "edited before\n",
        "u.txt": "untracked before\n",
        "m.py": "x = 2\n",
        "v.txt": "untracked\n",
        "new.txt": "added\n",
    }
    if words[0] == "refresh":
        words = ("refresh", "-i", "f.txt", "a")
    for name in ("d/g.txt", "u.txt"):
        (four.checkout / name).write_text(beside[name])
    if words[0] == "squash":
        change(four, 5, "e on d")
        assert four.pq("refresh", "-i", "f.txt", "-z", "e.patch").code == 0
        words = ("squash", "b", "e")
    if words[0] == "refresh":
        change(four, 5, "edited")
    assert four.pq(*words).code == 3

    settle(four, "settled\n")
    for name in ("m.py", "v.txt", "new.txt"):
        (four.checkout / name).write_text(beside[name])
    assert four.pq("add", "new.txt").code == 0
    if commit:
        git(four.checkout, "commit", "-q", "-a", "-m", "settled")
    done = four.pq(ending)
    while ending == "continue" and done.code == 3:
        settle(four, "settled again\n")
        done = four.pq(ending)

    assert done.code == 0, done
    assert {name: (four.checkout / name).read_text() for name in beside} == beside
    assert not [name for name in listed(four) for text in beside.values() if text in patch(four, name)]
    status = git(four.checkout, "status", "--porcelain").splitlines()
    assert sorted(line for line in status if not line.endswith("f.txt")) == [
        " M d/g.txt",
        " M m.py",
        "?? u.txt",
        "?? v.txt",
        "A  new.txt",
    ]
    assert four.pq("refresh", "-z", "rest.patch").code == 0
    assert {name for name, text in beside.items() if text in patch(four, "rest.patch")} == {"d/g.txt", "m.py", "new.txt"}


def test_an_edit_in_a_file_of_the_patch_is_refused_before_it_stops(four: World) -> None:
    """What is the patch's there, and what is not, could not be told any more: neither when it goes on nor when it is taken back."""
    (four.checkout / "d" / "g.txt").write_text("g by d\n")
    assert four.pq("refresh", "d").code == 0
    (four.checkout / "d" / "g.txt").write_text("precious\n")
    before = content(four)

    said = four.pq("float", "a")

    assert (said.code, said.err.splitlines()[0]) == (5, "pq: unrefreshed changes are in the way: d/g.txt")
    assert content(four) == before


@pytest.mark.parametrize("ending", ["continue", "abort"])
def test_a_file_of_the_user_s_where_another_patch_has_one_is_not_written_over(four: World, ending: str) -> None:
    (four.checkout / "n.txt").write_text("a's\n")
    four.pq("add", "n.txt")
    assert four.pq("refresh", "a").code == 0
    assert four.pq("delete", "a").code == 3
    assert not (four.checkout / "n.txt").exists()
    settle(four, "d alone\n")
    (four.checkout / "n.txt").write_text("mine\n")

    said = four.pq(ending)

    stood = git(four.checkout, "rev-parse", "HEAD")[:12]
    assert (said.code, said.err.splitlines()) == (
        5,
        [
            "pq: n.txt: changed since the conflict, and the command that waits changes that as well",
            f"hint: copy it elsewhere, and git -C {four.checkout} restore -s {stood} n.txt, or remove what git does not know",
        ],
    )
    assert (four.checkout / "n.txt").read_text() == "mine\n"
    (four.checkout / "n.txt").unlink()
    assert four.pq(ending).code == 0
    stands_at(four, "d.patch")


def test_a_patch_is_deleted_that_others_need(four: World) -> None:
    assert four.pq("delete", "-r", "a").code == 3
    settle(four, "d alone\n")
    git(four.checkout, "add", "f.txt")

    done = four.pq("continue")

    assert (
        done.out
        == "Removed patch a.patch\nPatch b.patch was carried over\nPatch c.patch was carried over\nPatch d.patch was carried over\n"
    )
    assert (listed(four), (four.queue / "patches" / "a.patch").exists()) == (["b.patch", "c.patch", "d.patch"], False)
    assert "d alone\n" in (four.checkout / "f.txt").read_text()
    stands_at(four, "d.patch")


def test_an_edit_of_what_a_higher_patch_changed_goes_below_it(four: World) -> None:
    """The files stay as they were edited; so nobody is asked what the top patch is then."""
    change(four, 5, "edited")
    full = four.files()

    stopped = four.pq("refresh", "a")

    assert "The edits do not fit there; pq stopped there" in stopped.err
    assert ">>>>>>> the edits\n" in (four.checkout / "f.txt").read_text()
    settle(four, "a 5, better\n")
    assert four.pq("continue").code == 0
    assert "+a 5, better\n" in patch(four, "a.patch")
    assert "-a 5, better\n+edited\n" in patch(four, "d.patch")
    assert four.files() == full
    stands_at(four, "d.patch")


def test_one_conflict_after_the_other(four: World) -> None:
    change(four, 5, "e on d")
    four.pq("refresh", "-z", "e.patch")

    assert four.pq("delete", "a").code == 3
    settle(four, "d alone\n")
    again = four.pq("continue")
    assert (again.code, "Patch e.patch does not fit where it would stand" in again.err) == (3, True)
    assert "d alone\n||||||| what patch e.patch changed\nd on a\n" in (four.checkout / "f.txt").read_text()
    settle(four, "e alone\n")

    assert four.pq("continue").code == 0
    assert "-d alone\n+e alone\n" in patch(four, "e.patch")
    stands_at(four, "e.patch")
    assert four.pq("undo").code == 0
    assert len(listed(four)) == 5
    stands_at(four, "e.patch")


def test_what_has_landed_is_no_conflict(three: World) -> None:
    """Without b, which takes it back, c does what a does already."""
    for name, text in (("x", "x"), ("y", "line 30"), ("z", "x")):
        change(three, 30, text)
        assert three.pq("refresh", "-z", f"{name}.patch").code == 0

    said = three.pq("delete", "y")

    assert said.out.endswith("Patch z.patch was carried over; nothing is left of it, since all it did is there already\n")
    assert "x\n" in (three.checkout / "f.txt").read_text()


def test_while_a_command_waits_others_do_not_begin(four: World) -> None:
    four.pq("float", "a")
    before = content(four)

    for words in (("push",), ("pop",), ("undo",), ("redo",), ("new", "x.patch"), ("refresh",), ("repair",), ("snapshot",)):
        said = four.pq(*words)
        assert (said.code, said.err.partition("\n")[0]) == (5, "pq: pq float a stopped at a conflict"), words

    assert content(four) == before
    status = four.pq("status")
    assert (
        "Stopped at a conflict: pq float a, of patch d.patch in f.txt\n"
        "hint: settle it in the files, then pq continue; pq abort takes the command back\n"
    ) in status.out
    stopped = json.loads(four.pq("status", "--json").out)["status"]["stopped"]
    assert stopped == {"command": "float a", "patch": "d.patch", "files": ["f.txt"], "settled": False, "towards": None}


def test_a_commit_settles_it(four: World) -> None:
    """As in a git rebase."""
    four.pq("delete", "a")
    settle(four, "d alone\n")
    git(four.checkout, "commit", "-q", "-a", "-m", "settled")

    assert four.pq("continue").code == 0

    assert "+d alone\n" in patch(four, "d.patch")
    stands_at(four, "d.patch")


def test_a_reset_is_not_taken_for_an_answer(four: World) -> None:
    four.pq("delete", "a")
    git(four.checkout, "reset", "-q", "--hard")

    said = four.pq("continue")

    assert (said.code, said.err) == (
        3,
        "pq: Nothing is left of patch d.patch, as the files stand\nhint: pq continue --allow-empty, if that is meant; else pq abort\n",
    )
    assert four.pq("continue", "--allow-empty").code == 0
    assert patch(four, "d.patch") == ""
    stands_at(four, "d.patch")


@pytest.mark.parametrize("moved", ["reset --hard HEAD~1", "commit --amend -qm x", "reset -q --hard refs/pq/releases/v1"])
def test_a_branch_that_was_moved_is_no_answer_and_abort_takes_it_back(four: World, moved: str) -> None:
    four.pq("delete", "a")
    settle(four, "d alone\n")
    stood = git(four.checkout, "rev-parse", "HEAD").strip()
    if "amend" in moved:
        git(four.checkout, "add", "f.txt")
    git(four.checkout, *moved.split())

    said = four.pq("continue")

    assert (said.code, said.err.splitlines()[0]) == (5, "pq: The branch was moved by other means since the conflict")
    assert f"pq abort takes the command back; git -C {four.checkout} reset --soft {stood[:12]} puts the branch back" in said.err
    assert "Stopped at a conflict" in four.pq("status").out
    assert four.pq("abort").code == 0
    stands_at(four, "d.patch")


def test_several_commits_settle_it_too(four: World) -> None:
    four.pq("delete", "a")
    settle(four, "d almost\n")
    git(four.checkout, "commit", "-q", "-a", "-m", "settled")
    change(four, 5, "d alone")
    git(four.checkout, "commit", "-q", "-a", "-m", "settled, really")

    assert four.pq("continue").code == 0

    assert "+d alone\n" in patch(four, "d.patch")
    stands_at(four, "d.patch")


def test_a_file_that_is_gone_is_gone_once_git_is_told(four: World) -> None:
    four.pq("delete", "a")
    (four.checkout / "f.txt").unlink()

    said = four.pq("continue")

    assert (said.code, said.err.splitlines()[0]) == (3, "pq: nobody has said what f.txt is to be")
    git(four.checkout, "rm", "-q", "f.txt")
    assert four.pq("continue").code == 0
    assert "deleted file mode" in patch(four, "d.patch")


def test_what_a_check_rejects_waits_again_as_it_was_settled(four: World) -> None:
    four.pq("delete", "a")
    settle(four, "d alone\n")
    hook = four.queue / "hooks" / "pre-apply"
    shipped = hook.read_text()
    hook.write_text("#!/bin/sh\nexit 1\n")

    assert four.pq("continue").code == 4

    assert "d alone\n" in (four.checkout / "f.txt").read_text()
    assert four.pq("push").code == 5
    hook.write_text(shipped)
    assert four.pq("continue").code == 0
    stands_at(four, "d.patch")


def test_a_queue_that_was_edited_meanwhile_is_said_and_it_waits_on(four: World) -> None:
    four.pq("delete", "a")
    settle(four, "d alone\n")
    text = patch(four, "b.patch")
    (four.queue / "patches" / "b.patch").write_text(text.replace("b 15", "bb 15"))

    said = four.pq("continue")
    assert (said.code, said.err.splitlines()) == (
        5,
        [
            "pq: pq delete a waits again at its conflict, as you settled it",
            "hint: settle it in the files, then pq continue; pq abort takes the command back",
            "pq: Patch b.patch was changed since it was pushed",
            "hint: put its file back as it was",
        ],
    )
    (four.queue / "patches" / "b.patch").write_text(text)
    assert four.pq("continue").code == 0

    stands_at(four, "d.patch")


def test_it_goes_on_from_anywhere(four: World) -> None:
    assert four.pq("-C", "queue/.checkout/d", "remove", "-P", "a", "../f.txt", cwd=four.root).code == 3
    settle(four, "d alone\n")

    assert four.pq("continue", cwd=four.checkout).code == 0

    stands_at(four, "d.patch")


def test_what_files_can_t_say_changes_nothing(desk: World) -> None:
    """A file where the patch needs a folder."""
    (desk.checkout / "p").write_text("a file\n")
    desk.pq("add", "p")
    desk.pq("refresh", "-z", "file.patch")
    git(desk.checkout, "rm", "-q", "-f", "p")
    desk.pq("refresh", "-z", "gone.patch")
    (desk.checkout / "p").mkdir()
    (desk.checkout / "p" / "q").write_text("below\n")
    desk.pq("add", "p/q")
    desk.pq("refresh", "-z", "folder.patch")
    before = content(desk)

    said = desk.pq("delete", "gone")

    assert (said.code, "Patch folder.patch does not fit where it would stand; nothing was changed" in said.err) == (3, True)
    assert content(desk) == before


KINDS: dict[str, tuple[bytes | None, bytes | None, bytes | None, bytes | None]] = {
    "modify/delete": (b"one\n", b"two\n", None, b"two\n"),
    "delete/modify": (b"one\n", None, b"two\n", b"two\n"),
    "binary": (b"\0one", b"\0two", b"\0three", b"\0two"),
    "add/add": (None, b"one\n", b"two\n", b"<one\n|=two\n>"),
    "no newline": (b"one", b"two", b"three", b"<two\n|one\n=three\n>"),
    "CRLF": (b"one\r\n", b"two\r\n", b"three\r\n", b"<two\r\n|one\r\n=three\r\n>"),
}
"""What base, ours and theirs hold, and what is laid for the user; < | = > stand for the lines with markers."""


def _in_conflict(world: World, name: str) -> Path:
    """`low` makes base of ours, `high` makes theirs of base; without low, high meets ours."""
    base, ours, theirs, _ = KINDS[name]
    place = world.checkout / "k é.txt"
    for now, label in ((ours, "first.patch"), (base, "low.patch"), (theirs, "high.patch")):
        git(world.checkout, "rm", "-q", "--cached", "--ignore-unmatch", "k é.txt")
        place.unlink(missing_ok=True)
        if now is not None:
            place.write_bytes(now)
            git(world.checkout, "add", "k é.txt")
        if now is not None or label != "first.patch":
            assert world.pq("refresh", "-z", label).code == 0
    return place


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_conflict_waits_and_is_settled(desk: World, name: str) -> None:
    base, ours, theirs, laid = KINDS[name]
    place = _in_conflict(desk, name)

    stopped = desk.pq("delete", "low")

    ending = b"\r\n" if name == "CRLF" else b"\n"
    marks = {
        b"<": b"<<<<<<< what stands here",
        b"|": b"||||||| what patch high.patch changed",
        b"=": b"=======",
        b">": b">>>>>>> patch high.patch",
    }
    assert laid is not None
    for mark, line in marks.items():
        laid = laid.replace(mark, line + ending)
    assert (stopped.code, place.read_bytes()) == (3, laid)
    sides = [(int(line.split()[2]), line.split()[1]) for line in git(desk.checkout, "ls-files", "--unmerged").splitlines()]
    assert sides == [(number, blob_id(side)) for number, side in enumerate((base, ours, theirs), 1) if side is not None]
    whole = b"<<<<" not in laid
    assert ("k é.txt holds one side of it: pq add, or git rm in the checkout, says" in stopped.err) is whole
    still = desk.pq("continue")
    assert (still.code, "nobody has said what k é.txt is to be" in still.err) == (3, whole)

    if theirs is None:
        git(desk.checkout, "rm", "-q", "k é.txt")
    else:
        place.write_bytes(theirs)
        git(desk.checkout, "add", "-A")
    assert desk.pq("continue").code == 0

    assert (place.read_bytes() if place.exists() else None) == theirs
    stands_at(desk, "high.patch")


def test_a_text_with_markers_of_its_own(four: World) -> None:
    """One that tells of conflicts, as pq's documents do: what counts is what the conflict brought."""
    own = "<<<<<<< what stands here\n>>>>>>> patch d.patch\n"
    change(four, 30, own.rstrip("\n"))
    assert four.pq("refresh", "b").code == 0
    assert four.pq("float", "a").code == 3

    assert four.pq("continue").code == 3
    text = (four.checkout / "f.txt").read_text()
    (four.checkout / "f.txt").write_text(text.replace(MARKED, "line 4\nd alone\nline 6\n"))
    assert four.pq("continue").code == 0

    stands_at(four, "a.patch")


def test_add_says_that_a_file_is_settled(four: World) -> None:
    """Whatever stands in it."""
    assert four.pq("delete", "a").code == 3
    change(four, 30, "more")

    assert four.pq("add", "f.txt").out == "File f.txt added\n"
    assert git(four.checkout, "ls-files", "--unmerged") == ""
    assert four.pq("continue").code == 0

    assert "+<<<<<<< what stands here\n" in patch(four, "d.patch")


def test_what_only_looks_says_that_a_command_waits(four: World) -> None:
    four.pq("float", "a")
    for words in (("files",), ("next",), ("graph",), ("annotate", "f.txt"), ("show",), ("header", "-e")):
        said = four.pq(*words)
        assert (said.code, said.err.splitlines()[0]) == (5, "pq: pq float a stopped at a conflict"), words
    settle(four, "d alone\n")
    git(four.checkout, "commit", "-q", "-a", "-m", "settled")

    assert four.pq("status").code == 0
    assert four.pq("top").err.splitlines()[0] == "pq: pq float a stopped at a conflict"
    assert four.pq("continue").code == 0
    stands_at(four, "a.patch")


@pytest.mark.parametrize("kind", ["text", "binary", "modify/delete"])
@pytest.mark.parametrize("command", ["stop", "continue", "abort"])
def test_killed_anywhere_it_can_be_gone_on_with(four: World, command: str, kind: str) -> None:
    """The same words bring it to the same end, and no conflict is taken for settled that nobody settled."""
    words: tuple[str, ...] = ("float", "a")
    if kind != "text":
        place = _in_conflict(four, kind)
        words = ("float", "low")
    (four.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\n")
    if command != "stop":
        assert four.pq(*words).code == 3
        words = (command,)
    if command == "continue" and kind == "text":
        settle(four, "d alone\n")
    elif command == "continue":
        place.write_bytes(b"\0settled")
    kept = four.root / "kept"
    shutil.copytree(four.queue, kept, symlinks=True)
    assert four.pq(*words).code == (3 if command == "stop" else 0)
    wanted, points = content(four), 0
    set_back(kept, four.queue)

    for point in deaths(words, four.queue, signal.SIGKILL, step=10):
        points += 1
        assert four.pq("status").code == 0
        if content(four) != wanted:
            assert four.pq(*words).code == (3 if command == "stop" else 0), point
        assert content(four) == wanted, point
        if command == "stop":
            assert four.pq("continue").code == 3, point
        set_back(kept, four.queue)
    assert points > 5


def test_killed_behind_the_conflict_and_rejected_then_it_waits_again(four: World) -> None:
    """The answer can be changed still."""
    assert four.pq("delete", "a").code == 3
    settle(four, "d alone\n")
    kept = four.root / "kept"
    shutil.copytree(four.queue, kept, symlinks=True)
    reached = False
    for _ in deaths(("continue",), four.queue, signal.SIGKILL, step=7):
        said = four.pq("status").out
        if "it is settled: pq continue goes on" in said:
            reached = True
            (four.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\nexit 1\n")
            rejected = four.pq("continue")
            assert (rejected.code, "pq delete a waits again at its conflict, as you settled it" in rejected.err) == (4, True)
            assert "d alone\n" in (four.checkout / "f.txt").read_text()
            (four.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\n")
            change(four, 5, "d, better")
            assert four.pq("continue").code == 0
            assert "+d, better\n" in patch(four, "d.patch")
            break
        set_back(kept, four.queue)
    assert reached


def test_the_options_of_the_command_hold_behind_the_conflict(three: World) -> None:
    """An answer to one conflict is none to another question."""
    change(three, 5, "d on a")
    three.pq("refresh", "-z", "d.patch")
    change(three, 30, "e")
    three.pq("refresh", "-z", "e.patch")
    change(three, 30, "by commit")
    git(three.checkout, "commit", "-q", "-a", "--amend", "--no-edit")
    for name, old, new in (("a", "+a 5", "+a five"), ("e", "+e", "+by file")):
        text = patch(three, f"{name}.patch")
        (three.queue / "patches" / f"{name}.patch").write_text(
            text.replace(old, new).replace(text.splitlines()[1], "index 1..2 100644")
        )
    assert three.pq("repair", "--prefer", "file").code == 3
    settle(three, "d on a five\n")

    assert three.pq("continue").code == 0

    assert "+by file\n" in patch(three, "e.patch")
    stands_at(three, "e.patch")


def test_edits_made_while_a_refresh_waits_do_not_change_what_it_was_asked(four: World) -> None:
    change(four, 5, "edited")
    assert four.pq("refresh", "a").code == 3
    settle(four, "my answer\n")
    change(four, 1, "x = 2", name="m.py")

    assert four.pq("continue").code == 0

    assert "+my answer\n" in patch(four, "a.patch")
    assert git(four.checkout, "status", "--porcelain") == " M m.py\n"


def test_what_was_amended_into_the_branch_stays_an_edit(four: World) -> None:
    four.pq("float", "a")
    settle(four, "d alone\n")
    change(four, 1, "precious", name="m.py")
    (four.checkout / "new.txt").write_text("new\n")
    git(four.checkout, "add", "-A")
    git(four.checkout, "commit", "-q", "--amend", "--no-edit")
    assert four.pq("continue").code == 5

    assert four.pq("abort").code == 0

    assert git(four.checkout, "status", "--porcelain") == " M m.py\nA  new.txt\n"
    assert (four.checkout / "m.py").read_text() == "precious\n"


@pytest.mark.parametrize("when", ["before", "since"])
@pytest.mark.parametrize("ending", ["continue", "abort"])
def test_a_conflict_of_git_s_own_stays_one(four: World, ending: str, when: str) -> None:
    change(four, 1, "x = 2", name="m.py")
    git(four.checkout, "stash", "-q")
    change(four, 1, "x = 3", name="m.py")
    four.pq("refresh", "-z", "m.patch")
    four.pq("sink", "m")

    def pop() -> None:
        subprocess.run(["git", "stash", "pop"], cwd=four.checkout, capture_output=True, check=False)
        assert "UU m.py" in git(four.checkout, "status", "--porcelain")

    if when == "before":
        pop()
    assert four.pq("float", "a").code == 3
    settle(four, "d alone\n")
    git(four.checkout, "add", "f.txt")
    if when == "since":
        pop()

    assert four.pq(ending).code == 0

    assert git(four.checkout, "status", "--porcelain") == "UU m.py\n"
    assert four.pq("refresh", "-z", "x.patch").code == 5


def test_a_reset_of_the_index_tells_nothing(desk: World) -> None:
    """What stands there is what the branch has: that may be meant, and may not."""
    place = _in_conflict(desk, "binary")
    change(desk, 3, "three")
    assert desk.pq("refresh", "high").code == 0
    desk.pq("delete", "low")
    git(desk.checkout, "reset", "-q")

    assert desk.pq("continue").code == 3
    git(desk.checkout, "add", place.name)
    assert desk.pq("continue").code == 3
    assert desk.pq("add", f".checkout/{place.name}").out == "File k é.txt added\n"
    assert desk.pq("continue").code == 0

    assert ("k é" in patch(desk, "high.patch"), "+three\n" in patch(desk, "high.patch")) == (False, True)
    stands_at(desk, "high.patch")


def test_what_the_command_changes_itself_can_t_be_committed_meanwhile(four: World) -> None:
    (four.checkout / "p").write_text("p\n")
    four.pq("add", "p")
    change(four, 1, "x = 2", name="m.py")
    assert four.pq("refresh", "-z", "e.patch").code == 0
    four.pq("delete", "a")
    settle(four, "d alone\n")
    stood = git(four.checkout, "rev-parse", "HEAD")[:12]
    change(four, 1, "x = 3", name="m.py")
    (four.checkout / "p").mkdir()
    (four.checkout / "p" / "q").write_text("q\n")
    git(four.checkout, "add", "-A")
    git(four.checkout, "commit", "-q", "-m", "settled")

    for command in ("continue", "abort"):
        said = four.pq(command)
        assert (said.code, said.err.splitlines()[0]) == (
            5,
            "pq: m.py, p/q: changed since the conflict, and the command that waits changes that as well",
        )
    git(four.checkout, "reset", "-q", "--soft", stood)
    git(four.checkout, "restore", "-S", "-W", "-s", stood, "m.py")
    git(four.checkout, "rm", "-q", "-r", "-f", "p")
    assert four.pq("continue").code == 0
    stands_at(four, "e.patch")


@pytest.mark.parametrize("answer", ["markers", "nothing"])
def test_what_waits_again_was_settled(four: World, answer: str) -> None:
    four.pq("delete", "a")
    words = ["continue"]
    if answer == "markers":
        assert four.pq("add", "f.txt").code == 0
    else:
        git(four.checkout, "reset", "-q", "--hard")
        words += ["--allow-empty"]
    hook = four.queue / "hooks" / "pre-apply"
    hook.write_text("#!/bin/sh\nexit 1\n")
    assert four.pq(*words).code == 4
    hook.write_text("#!/bin/sh\n")

    assert four.pq("continue").code == 0

    assert ("+<<<<<<< what stands here\n" in patch(four, "d.patch")) is (answer == "markers")
    stands_at(four, "d.patch")


def test_markers_are_seen_under_the_old_name_of_a_renamed_file(desk: World) -> None:
    change(desk, 10, "low")
    desk.pq("refresh", "-z", "low.patch")
    git(desk.checkout, "mv", "f.txt", "s.txt")
    change(desk, 10, "high", name="s.txt")
    (desk.root / "high.patch").write_text(git(desk.checkout, "diff", "--full-index", "-M", "HEAD"))
    git(desk.checkout, "reset", "-q", "--hard")
    assert desk.pq("import", "../high.patch").code == 0
    assert desk.pq("push").code == 0
    assert "rename to s.txt\n" in patch(desk, "high.patch")
    assert desk.pq("delete", "low").code == 3
    assert ">>>>>>> patch high.patch\n" in (desk.checkout / "s.txt").read_text()
    git(desk.checkout, "add", "s.txt")
    git(desk.checkout, "mv", "s.txt", "f.txt")

    said = desk.pq("continue")

    assert (said.code, said.err.splitlines()[0]) == (3, "pq: markers of the conflict stand in f.txt still")


def test_a_file_that_git_is_to_expect_stays_so(four: World) -> None:
    four.pq("float", "a")
    (four.checkout / "n.txt").write_text("n\n")
    git(four.checkout, "add", "-N", "n.txt")
    settle(four, "d alone\n")

    assert four.pq("continue").code == 0

    assert git(four.checkout, "status", "--porcelain") == " A n.txt\n"


def test_no_other_series_begins_meanwhile(four: World) -> None:
    (four.queue / "series" / "v2").write_text(four.series.read_text().splitlines()[0] + "\n")
    four.pq("sink", "d")
    settle(four, "d alone\n")
    git(four.checkout, "add", "f.txt")

    said = four.pq("--series", "v2", "setup")

    assert (said.code, said.err.splitlines()[0]) == (5, "pq: pq sink d stopped at a conflict")


def test_diff_names_the_command_that_waits(four: World) -> None:
    four.pq("float", "a")

    for words in (("diff",), ("diff", "-z")):
        assert four.pq(*words).err.splitlines()[0] == "pq: pq float a stopped at a conflict"


def test_a_commit_behind_the_conflict_is_said(four: World) -> None:
    """Interrupted between the answer and the end, the branch stands where the command began."""
    four.pq("float", "a")
    settle(four, "d alone\n")
    kept = four.root / "kept"
    shutil.copytree(four.queue, kept, symlinks=True)
    for _ in deaths(("continue",), four.queue, signal.SIGKILL, step=7):
        if "it is settled: pq continue goes on" in four.pq("status").out:
            break
        set_back(kept, four.queue)
    else:
        raise AssertionError("it never died there")
    stood = git(four.checkout, "rev-parse", "HEAD")[:12]
    change(four, 1, "x = 2", name="m.py")
    git(four.checkout, "commit", "-q", "-a", "-m", "mine")

    said = four.pq("continue")

    assert (said.code, said.err.splitlines()[0]) == (5, "pq: The branch was moved by other means since the conflict was settled")
    assert four.pq("status").code == 0
    git(four.checkout, "reset", "-q", "--soft", stood)
    assert four.pq("continue").code == 0
