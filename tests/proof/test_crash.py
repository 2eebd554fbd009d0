"""Law 5, by the system calls: every command that changes something, stopped before each of them, is found done or not begun."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pq.cli import main
from tests.conftest import Result, World, git, snapshot
from tests.editing.conftest import change, content, patched, set_back, settle
from tests.proof.conftest import PATCHES, Tally
from tests.proof.stopper import Run, stopped
from tests.rebase.conftest import CODE, LINES, with_line

DIFF = b"--- a/f.txt\n+++ b/f.txt\n@@ -37,3 +37,3 @@\n line 37\n-line 38\n+folded\n line 39\n"


Prepare = Callable[[World], object]
State = dict[str, object]


@dataclass(frozen=True)
class Scene:
    """A command, and what is done to the world before it: three applied patches, and edits. `given` is its standard input.

    `goes_on` is what finishes a command that keeps the answer to a conflict as a state of its own, before it goes on from there.
    """

    words: tuple[str, ...]
    prepare: Prepare = lambda _: None
    given: bytes = b""
    goes_on: tuple[str, ...] = ()


def _did(*commands: str) -> Prepare:
    """Other commands before it."""

    def prepare(world: World) -> None:
        for command in commands:
            said = world.pq(*command.split())
            assert said.code in (0, 3), said

    return prepare


def _edit(world: World) -> None:
    """Edits on top: of a patched file, of another one, and a new file."""
    change(world, 35, "edited")
    change(world, 1, "y = 2", name="m.py")
    (world.checkout / "new.txt").write_text("new\n")
    assert world.pq("add", "new.txt").code == 0


def _edit_two(world: World) -> None:
    for number in (5, 25):
        change(world, number, "absorbed")


def _refreshed(world: World) -> None:
    _edit(world)
    assert world.pq("refresh", "a").code == 0


def _undone(world: World) -> None:
    _refreshed(world)
    assert world.pq("undo").code == 0


def _empty(world: World) -> None:
    shutil.rmtree(world.queue)
    world.queue.mkdir()


def _stop_refresh(world: World) -> None:
    """A refresh of the lowest patch that stops at a conflict with the ones above."""
    change(world, 15, "clash")
    assert world.pq("refresh", "a").code == 3


def _settled(world: World) -> None:
    _stop_refresh(world)
    settle(world, "settled\n")


def _stop_rebase(world: World) -> None:
    world.pq("pop", "-a")
    assert world.pq("rebase", "v3").code == 3


def _rebase_settled(world: World) -> None:
    _stop_rebase(world)
    settle(world, "settled\n")


def _commit(world: World) -> None:
    """A commit of plain git's on the branch, and a patch file edited by hand."""
    change(world, 38, "committed")
    git(world.checkout, "commit", "-qam", "plain")


def _lint(world: World) -> None:
    place = world.queue / "patches" / "a.patch"
    place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    world.pq("pop", "-a")


SCENES = {
    "push -a": Scene(("push", "-a"), _did("pop -a")),
    "push": Scene(("push",), _did("pop -a")),
    "pop": Scene(("pop",)),
    "pop -a": Scene(("pop", "-a")),
    "goto": Scene(("goto", "a")),
    "new": Scene(("new", "d.patch"), _edit),
    "refresh": Scene(("refresh",), _edit),
    "refresh PATCH": Scene(("refresh", "a"), _edit),
    "refresh, to a conflict": Scene(("refresh", "a"), lambda world: change(world, 15, "clash")),
    "refresh -z": Scene(("refresh", "-z", "d.patch"), _edit),
    "add": Scene(("add", "other.txt"), lambda world: (world.checkout / "other.txt").write_text("other\n")),
    "remove": Scene(("remove", "f.txt")),
    "revert": Scene(("revert", "f.txt", "m.py"), _edit),
    "delete -r": Scene(("delete", "-r", "b")),
    "rename": Scene(("rename", "new-name.patch")),
    "fork": Scene(("fork",)),
    "fold": Scene(("fold",), given=DIFF),
    "import": Scene(("import", "-P", "in.patch", "-"), given=DIFF),
    "header -r": Scene(("header", "-r"), given=b"Subject: said\n\nanew\n"),
    "float": Scene(("float", "a")),
    "sink": Scene(("sink",)),
    "split": Scene(("split", "-P", "a", "m.patch", "m.py"), _refreshed),
    "squash": Scene(("squash", "a", "c")),
    "spill": Scene(("spill",)),
    "absorb": Scene(("absorb",), _edit_two),
    "snapshot": Scene(("snapshot",), _edit),
    "undo": Scene(("undo",), _refreshed),
    "redo": Scene(("redo",), _undone),
    "continue": Scene(("continue",), _settled, goes_on=("continue",)),
    "abort": Scene(("abort",), _settled),
    "rebase": Scene(("rebase", "v2")),
    "rebase, to a conflict": Scene(("rebase", "v3")),
    "rebase --continue": Scene(("rebase", "--continue"), _rebase_settled, goes_on=("rebase", "--continue")),
    "rebase --skip": Scene(("rebase", "--skip"), _stop_rebase, goes_on=("rebase", "--continue")),
    "rebase --abort": Scene(("rebase", "--abort"), _rebase_settled),
    "repair": Scene(("repair",), _commit),
    "lint --fix": Scene(("lint", "--fix"), _lint),
}
"""One for every command that changes something and is undone or done by the next one."""

AGAIN = {
    "init": Scene(("init", "--source", "../upstream", "--pin", "v1"), _empty),
    "setup": Scene(("setup",), lambda world: shutil.rmtree(world.checkout)),
    "fetch": Scene(("fetch", "v3"), lambda world: git(world.checkout, "update-ref", "-d", "refs/pq/releases/v3")),
    "hooks install": Scene(("hooks", "install"), _did("hooks uninstall")),
    "hooks uninstall": Scene(("hooks", "uninstall")),
    "mail": Scene(("mail", "--mbox", "out.mbox", "-", "-")),
}
"""Commands that are made good by being said again."""


@pytest.fixture
def scene_world(tmp_path: Path) -> World:
    """Three applied patches on v1; v2 moves their lines, v3 changes what one of them changes."""
    world = World(tmp_path)
    upstream = {"f.txt": LINES, "m.py": CODE, "same.txt": "same\n"}
    world.release("v1", {name: text.encode() for name, text in upstream.items()})
    upstream["f.txt"] = LINES.replace("line 1\n", "line 0\nline 1\n", 1)
    world.release("v2", {name: text.encode() for name, text in upstream.items()})
    upstream["f.txt"] = with_line(upstream["f.txt"], 16, "fifteen\n")
    world.release("v3", {name: text.encode() for name, text in upstream.items()})
    world.init()
    for name in ("name", "email"):
        git(world.checkout, "config", f"user.{name}", "ada@example.org")
    assert world.pq("fetch", "--all-since", "v1").code == 0
    return patched(world, **PATCHES)


def _command(world: World, scene: Scene) -> Callable[[], int]:
    given = world.root / "given"
    given.write_bytes(scene.given)

    def command() -> int:
        os.chdir(world.queue)
        sys.stdin = given.open()
        return main.run(("--trust", *scene.words))

    return command


@dataclass(frozen=True)
class _Rehearsal:
    """A command that was run whole once, and can be from the same world again: with the same times of files, so that it makes the same calls."""

    world: World
    command: Callable[[], int]
    kept: Path
    whole: Run

    def stops(self, *, every: bool) -> Iterator[tuple[int, Run]]:
        """Stop it before all of its calls; or before some, and each of the last ones, where refs are set."""
        calls = self.whole.calls
        few = {*range(1, calls + 1, max(1, calls // 10)), *range(max(1, calls - 7), calls + 1)}
        for at in range(1, calls + 1) if every else sorted(few):
            run = self.again(at)
            if run.calls >= at:  # else an object of this moment's needed no folder of its own
                assert run.code == -signal.SIGKILL, (at, run)
                yield at, run

    def ends(self) -> Iterator[tuple[int, Run]]:
        """Let it come to its end."""
        yield 0, self.again()

    def again(self, at: int = 0) -> Run:
        """From the beginning, to a call or to the end."""
        set_back(self.kept, self.world.queue)
        return stopped(self.command, self.world.queue, at=at)


def _rehearsed(world: World, command: Callable[[], int], codes: Sequence[int] = (0,)) -> _Rehearsal:
    kept = world.root / "kept"
    shutil.copytree(world.queue, kept, symlinks=True)
    set_back(kept, world.queue)
    whole = stopped(command, world.queue)
    assert whole.code in codes, whole
    return _Rehearsal(world, command, kept, whole)


@pytest.mark.parametrize("name", SCENES)
def test_stopped_anywhere_it_is_the_old_state_or_the_new(scene_world: World, name: str, tally: Tally, every: bool) -> None:
    world, scene = scene_world, SCENES[name]
    scene.prepare(world)
    old = content(world)
    rehearsal = _rehearsed(world, _command(world, scene), (0, 3))
    new = content(world)
    assert new != old
    wrong, seen = [], set[str]()

    for at, run in rehearsal.stops(every=every):
        said = world.pq("status")
        now = content(world)
        if now not in (old, new) and scene.goes_on:
            said = world.pq(*scene.goes_on)
            now = content(world)
        state = "old" if now == old else "new" if now == new else "else"
        tally.add(name, state)
        seen.add(state)
        if state == "else":
            wrong.append(_told(at, run, said, old, new, now))

    assert not wrong, "\n".join(wrong)
    assert seen == {"old", "new"}  # points on both sides of the commit point


def _told(at: int, run: Run, said: Result, old: State, new: State, now: State) -> str:
    lines = [f"{at}: {run.last}: {said}"]
    for key in now:
        if now[key] not in (old[key], new[key]) or (now[key] == old[key]) != (now == old):
            lines += [f"  {key}: old {old[key]!r}", f"  {key}: new {new[key]!r}", f"  {key}: now {now[key]!r}"]
    return "\n".join(lines)


@pytest.mark.parametrize("name", AGAIN)
def test_stopped_anywhere_it_is_made_good_by_saying_it_again(scene_world: World, name: str, tally: Tally, every: bool) -> None:
    world, scene = scene_world, AGAIN[name]
    scene.prepare(world)
    rehearsal = _rehearsed(world, _command(world, scene))
    new = _all(world)
    wrong = []

    for at, run in rehearsal.stops(every=every):
        between = world.pq("status").code
        said = world.pq(*scene.words)
        now = _all(world)
        tally.add(name, "new" if now == new else "else")
        if now != new or between == 70:
            wrong.append(_told(at, run, said, new, new, now))

    assert not wrong, "\n".join(wrong)


def test_git_stopped_in_a_commit_leaves_a_commit_or_none(scene_world: World, tally: Tally, every: bool) -> None:
    """git, its hooks, and pq in them: what they leave, the user removes git's lock files of, as git says, and `pq repair` settles."""
    world = scene_world
    change(world, 35, "committed")
    old = content(world)

    def command() -> int:
        return subprocess.run(["git", "commit", "-qam", "f: thirty-five"], cwd=world.checkout, check=False).returncode

    rehearsal = _rehearsed(world, command)
    new = content(world)
    assert new != old

    for at, run in rehearsal.stops(every=every):
        for lock in (world.checkout / ".git").rglob("*.lock"):
            lock.unlink()
        world.pq("status")
        world.pq("repair")
        now = content(world)
        if _without_index(now) == _without_index(new):  # git moves the branch, and then its index
            git(world.checkout, "reset", "-q")
            now = content(world)
        state = "old" if _without_index(now) == _without_index(old) else "new" if now == new else "else"
        tally.add("git commit", state)
        assert state != "else", _told(at, run, world.pq("status"), old, new, now)


def _without_index(state: State) -> State:
    """git commit -a puts files into the index before it asks whether it may."""
    return {key: value for key, value in state.items() if key not in ("index", "status")}


def _all(world: World) -> State:
    """What a world is, and the hooks of its checkout."""
    hooks = world.checkout / ".git" / "hooks"
    if not hooks.is_dir():
        return {"queue": snapshot(world.queue)}
    return content(world) | {
        "hooks": {place.name: place.read_bytes() for place in sorted(hooks.glob("*")) if place.suffix != ".sample"}
    }


def _is_kept_by_nobody(world: World, place: Path) -> bool:
    of_git = world.checkout / ".git"
    return not place.is_relative_to(world.checkout) or place.is_relative_to(of_git) or (of_git / "pq" / "journal.json").exists()


LOSSES = ("push -a", "pop -a", "refresh PATCH", "undo", "rebase", "float")


@pytest.mark.parametrize("part", [0.0, 0.5])
@pytest.mark.parametrize("name", LOSSES)
def test_the_power_goes_and_what_was_not_synced_is_cut(
    scene_world: World, name: str, part: float, tally: Tally, every: bool
) -> None:
    """Of every file that was written and not synced, there is nothing on the disk, or a part.

    Files of the checkout are not synced, as git does not: what they are to hold is among the objects, which are. While the journal is there
    they are brought back, too; behind it `git status` shows what was cut, and `git restore` has it.
    """
    world, scene = scene_world, SCENES[name]
    scene.prepare(world)
    old = content(world)
    rehearsal = _rehearsed(world, _command(world, scene), (0, 3))
    new = content(world)
    wrong = []

    for at, run in itertools.chain(rehearsal.stops(every=every), rehearsal.ends()):
        cut = [place for place in map(Path, run.unsynced) if place.is_file() and _is_kept_by_nobody(world, place)]
        for place in cut:
            os.truncate(place, int(place.stat().st_size * part))
        said = world.pq("status")
        now = content(world)
        state = "old" if now == old else "new" if now == new else "else"
        tally.add(f"{name}, power lost", state)
        if state == "else":
            wrong.append(f"{[place.name for place in cut]} {_told(at, run, said, old, new, now)}")

    assert not wrong, "\n".join(wrong)
