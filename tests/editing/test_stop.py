"""Stops at a conflict: what could not be carried over waits in the files, and the command goes on or is taken back (exit code 3)."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.laws import stands_at, state
from tests.repo.dying import deaths

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


def settle(world: World, text: str, *, name: str = "f.txt") -> None:
    """Put text in the place of each conflict of a file."""
    before, _, rest = (world.checkout / name).read_text().partition("<<<<<<<")
    while rest:
        before += text
        inside, _, rest = rest.partition(">>>>>>> ")[2].partition("\n")[2].partition("<<<<<<<")
        before += inside
    (world.checkout / name).write_text(before)


def content(world: World) -> dict[str, object]:
    """All of a world but the times of files."""
    return {key: value for key, value in state(world).items() if key != "times"}


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
        "pq: there is a conflict in f.txt still\n"
        "hint: edit it until no marker is left, or tell git add or git rm what it is to be; pq abort takes the command back\n"
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
    assert "Stopped at a conflict: pq float a\nhint: settle it, then pq continue; pq abort takes the command back\n" in status.out
    assert json.loads(four.pq("status", "--json").out)["status"]["stopped"] == "float a"
    assert four.pq("log", "-n", "1").out.endswith("pq float a (stopped)\n")


def test_what_else_was_edited_since_belongs_to_the_patch_and_what_was_before_does_not(four: World) -> None:
    (four.checkout / "d" / "g.txt").write_text("edited before\n")
    four.pq("delete", "a")
    settle(four, "d alone\n")
    change(four, 1, "x = 2", name="m.py")
    (four.checkout / "new.txt").write_text("new\n")
    assert four.pq("add", "new.txt").code == 0

    assert four.pq("continue").code == 0

    assert ("+x = 2\n" in patch(four, "d.patch"), "+new\n" in patch(four, "d.patch")) == (True, True)
    assert git(four.checkout, "status", "--porcelain") == " M d/g.txt\n"


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
        1,
        "pq: Nothing is left of patch d.patch, as the files stand\nhint: pq continue --allow-empty, if that is meant; else pq abort\n",
    )
    assert four.pq("continue", "--allow-empty").code == 0
    assert patch(four, "d.patch") == ""
    stands_at(four, "d.patch")


def test_a_branch_that_was_moved_is_put_back_first(four: World) -> None:
    four.pq("delete", "a")
    settle(four, "d alone\n")
    stood = git(four.checkout, "rev-parse", "HEAD").strip()
    git(four.checkout, "reset", "-q", "--hard", "HEAD~1")

    for command in ("continue", "abort"):
        said = four.pq(command)
        assert (said.code, said.err.splitlines()[0]) == (5, "pq: The branch was moved by other means since the conflict")
        assert f"reset --soft {stood[:12]}" in said.err
    git(four.checkout, "reset", "-q", "--soft", stood[:12])

    assert four.pq("abort").code == 0
    stands_at(four, "d.patch")


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

    assert four.pq("continue").code == 5
    (four.queue / "patches" / "b.patch").write_text(text)
    assert four.pq("continue").code == 0

    stands_at(four, "d.patch")


def test_it_goes_on_from_anywhere(four: World) -> None:
    assert four.pq("-C", "queue/.checkout/d", "remove", "-P", "a", "../f.txt", cwd=four.root).code == 3
    settle(four, "d alone\n")

    assert four.pq("continue", cwd=four.checkout).code == 0

    stands_at(four, "d.patch")


KINDS: dict[str, tuple[bytes | None, bytes | None, bytes | None]] = {
    "modify/delete": (b"one\n", b"two\n", None),
    "delete/modify": (b"one\n", None, b"two\n"),
    "binary": (b"\0one", b"\0two", b"\0three"),
    "add/add": (None, b"one\n", b"two\n"),
    "no newline": (b"one", b"two", b"three"),
    "CRLF": (b"one\r\n", b"two\r\n", b"three\r\n"),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_conflict_waits_and_is_settled(desk: World, name: str) -> None:
    """`low` makes base of ours, `high` makes theirs of base; without low, high meets ours."""
    base, ours, theirs = KINDS[name]
    place = desk.checkout / "k é.txt"

    def step(now: bytes | None, patch: str) -> None:
        git(desk.checkout, "rm", "-q", "--cached", "--ignore-unmatch", "k é.txt")
        place.unlink(missing_ok=True)
        if now is not None:
            place.write_bytes(now)
            git(desk.checkout, "add", "k é.txt")
        assert desk.pq("refresh", "-z", patch).code == 0

    if ours is not None:
        step(ours, "first.patch")
    step(base, "low.patch")
    step(theirs, "high.patch")

    assert desk.pq("delete", "low").code == 3
    assert desk.pq("continue").code == 3
    if theirs is None:
        git(desk.checkout, "rm", "-q", "k é.txt")
    else:
        place.write_bytes(theirs)
    git(desk.checkout, "add", "-A")
    assert desk.pq("continue").code == 0

    assert (place.read_bytes() if place.exists() else None) == theirs
    stands_at(desk, "high.patch")


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


@pytest.mark.parametrize("words", [("continue",), ("abort",), ("float", "a")])
def test_killed_anywhere_it_can_be_gone_on_with(four: World, words: tuple[str, ...]) -> None:
    """Killed in a stop, in going on or in taking back: the same words bring it to the same end."""
    if words[0] != "float":
        assert four.pq("float", "a").code == 3
        settle(four, "d alone\n")
    kept = four.root / "kept"
    shutil.copytree(four.queue, kept, symlinks=True)
    assert four.pq(*words).code == (3 if words[0] == "float" else 0)
    wanted = content(four)
    points = 0
    _set_back(kept, four.queue)

    for point in deaths(words, four.queue, signal.SIGKILL, step=3):
        points += 1
        if words[0] == "float":
            four.pq("status")
            if git(four.checkout, "for-each-ref", "refs/pq/stopped") == "":
                assert four.pq(*words).code == 3, point
        elif four.pq(*words).code != 0:
            assert content(four) == wanted, point  # it was done already
        now = content(four)
        assert now == wanted, point
        _set_back(kept, four.queue)
    assert points > 10


def _set_back(kept: Path, queue: Path) -> None:
    shutil.rmtree(queue)
    shutil.copytree(kept, queue, symlinks=True)
