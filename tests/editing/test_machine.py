"""Law 1 over random sequences: whatever is edited, refreshed, moved, popped and undone, the content is accounted for.

Every edit writes a line that nobody else writes. The model knows which of these lines the user has, and that is all it knows: each stands
in the checkout or in a patch file until the user overwrites, reverts or deletes it. Besides: a command that is refused, or stops at a
conflict and is taken back, changes nothing; one that only moves content about leaves the files as they are, also where it went on from
a conflict; undo brings back what was. At the end of a sequence `git apply` and quilt make the same of the patches, and popping and
pushing them all does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.conftest import Result, World, git, snapshot

FILES = ("f.txt", "d/g.txt")
LINES = 12
EXAMPLES, STEPS = 50, 40
NUMBERS = st.integers(0, 7)
PLACES = st.integers(0, LINES - 1)
HOW = st.sampled_from(["replace", "insert"])
_TOKEN = re.compile(rb"token \d+\.")


class Machine(RuleBasedStateMachine):
    """A user at random."""

    template: Path
    typed_text: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="pq-machine-"))
        shutil.copytree(self.template, self.folder, symlinks=True, dirs_exist_ok=True)
        self.world = World(self.folder)
        self.written: set[str] = set()
        self.dropped: set[str] = set()
        self.described: set[str] = set()
        self.before: list[tuple[dict[str, bytes], dict[str, bytes]]] = []
        self.typed = False
        self.count = 0

    # what a user does with an editor

    @initialize(edits=st.lists(st.tuples(st.sampled_from(FILES), PLACES, HOW), min_size=3, max_size=6))
    def begin(self, edits: list[tuple[str, int, str]]) -> None:
        """A stack to work on."""
        for name, at, how in edits:
            self.write(name, at, how)
            self.refresh_as_new()

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW)
    def write(self, name: str, at: int, how: str) -> None:
        place = self.world.checkout / name
        lines = place.read_text().splitlines(keepends=True) if place.exists() else []
        self.count += 1
        token = f"token {self.count}.\n"
        if how == "replace" and at < len(lines):
            self.dropped |= {lines[at]}
            lines[at] = token
        else:
            lines.insert(at, token)
        place.parent.mkdir(exist_ok=True)
        place.write_text("".join(lines))
        assert self.world.pq("add", name).code == 0
        self.written.add(token)
        self.typed = True

    @rule()
    def write_new_file(self) -> None:
        self.count += 1
        token = f"token {self.count}.\n"
        (self.world.checkout / f"new{self.count}.txt").write_text(token)
        assert self.world.pq("add", f"new{self.count}.txt").code == 0
        if self.count % 2:
            (self.world.checkout / f"new{self.count}.txt").write_text(f"{token}and more\n")
        self.written.add(token)
        self.typed = True

    @rule(name=st.sampled_from(FILES))
    def change_mode(self, name: str) -> None:
        place = self.world.checkout / name
        if place.exists():
            place.chmod(place.stat().st_mode ^ 0o111)
            self.typed = True

    @rule()
    def write_link(self) -> None:
        self.count += 1
        (self.world.checkout / f"link{self.count}").symlink_to(f"token {self.count}.")
        assert self.world.pq("add", f"link{self.count}").code == 0
        self.written.add(f"token {self.count}.\n")
        self.typed = True

    @rule(name=st.sampled_from(FILES))
    def move_file(self, name: str) -> None:
        self.count += 1
        if (self.world.checkout / name).exists() and name in git(self.world.checkout, "ls-files", "--", name):
            git(self.world.checkout, "mv", name, f"moved{self.count}.txt")
            self.typed = True

    # what only moves content about

    @rule(number=NUMBERS)
    def refresh(self, number: int) -> None:
        if self._moves("refresh", *self._one_of(self._applied(), number)).code == 0:
            assert not [line for line in self._git_status() if not line.startswith("??") and " aside" not in line]

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW)
    def commit_with_git(self, name: str, at: int, how: str) -> None:
        """What plain git commits, repair makes a patch of; that much is not to be undone here."""
        self.write(name, at, how)
        git(self.world.checkout, "-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qam", f"by hand {self.count}")
        assert self._moves("repair").code == 0
        self.before = []

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW, number=NUMBERS)
    def write_and_refresh(self, name: str, at: int, how: str, number: int) -> None:
        self.write(name, at, how)
        self.refresh(number)

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW)
    def write_and_absorb(self, name: str, at: int, how: str) -> None:
        self.write(name, at, how)
        self.absorb()

    @rule()
    def refresh_as_new(self) -> None:
        self._moves("refresh", "-z", self._name())

    @rule()
    def new(self) -> None:
        self._moves("new", self._name())

    @rule(number=NUMBERS)
    def float_up(self, number: int) -> None:
        self._moves("float", *self._one_of(self._applied(), number))

    @rule(number=NUMBERS, below=NUMBERS)
    def sink(self, number: int, below: int) -> None:
        to = self._one_of(self._applied(), below)
        self._moves("sink", *self._one_of(self._applied(), number), *(["--to", *to] if below % 2 and to else []))

    @rule(one=NUMBERS, other=NUMBERS)
    def squash(self, one: int, other: int) -> None:
        self._moves("squash", *self._one_of(self._applied(), one), *self._one_of(self._applied(), other))

    @rule(number=NUMBERS, name=st.sampled_from(FILES), hunk=st.integers(0, 2))
    def split(self, number: int, name: str, hunk: int) -> None:
        chosen = self._one_of(self._applied(), number)
        self._moves("split", *(["-P", *chosen] if chosen else []), self._name(), f"{name}:{hunk}" if hunk else name)

    @rule()
    def spill(self) -> None:
        self._moves("spill")

    @rule()
    def absorb(self) -> None:
        self._moves("absorb")

    @rule(number=NUMBERS)
    def rename(self, number: int) -> None:
        chosen = self._one_of(self._listed(), number)
        self._moves("rename", *(["-P", *chosen] if chosen else []), self._name())

    @rule(number=NUMBERS)
    def describe(self, number: int) -> None:
        """The user's editor writes a line into the text of a patch."""
        self.count += 1
        if chosen := self._one_of(self._listed(), number):
            before = self.world.pq("header", *chosen).out
            self.typed_text.write_text(f"{before}token {self.count}.\n")
            if self._moves("header", "-e", *chosen).code == 0:
                self.written.add(f"token {self.count}.\n")
                self.described.add(f"token {self.count}.\n")

    @rule()
    def fork(self) -> None:
        self._moves("fork", self._name())

    @rule()
    def repair(self) -> None:
        self._moves("repair")

    # what changes what stands in the checkout

    @rule(count=st.integers(1, 3))
    def pop(self, count: int) -> None:
        self._runs("pop", str(count))

    @rule(count=st.integers(1, 3))
    def push(self, count: int) -> None:
        self._runs("push", "--atomic", str(count))

    @rule(number=NUMBERS)
    def goto(self, number: int) -> None:
        self._runs("goto", "--atomic", *self._one_of(self._listed(), number))

    @rule(number=NUMBERS)
    def delete(self, number: int) -> None:
        chosen = self._one_of(self._listed(), number)
        tokens = self._tokens()
        if self._runs("delete", "-r", *chosen).code == 0:
            self.dropped |= tokens - self._tokens()

    @rule(name=st.sampled_from(FILES))
    def revert(self, name: str) -> None:
        tokens = self._tokens()
        if self._runs("revert", name).code == 0:
            self.dropped |= tokens - self._tokens()

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW, reverse=st.booleans())
    def write_and_import(self, name: str, at: int, how: str, reverse: bool) -> None:
        """What the user wrote comes back as somebody's patch, which may be made the other way round."""
        self.write(name, at, how)
        words = ["-R"] if reverse else []
        (self.folder / "their.patch").write_bytes(self.world.pq("diff", "-z", *words).out.encode())
        patch = self._name()
        if self._moves("import", *words, "-P", patch, str(self.folder / "their.patch")).code == 0:
            self.revert(name)
            if self._runs("goto", "--atomic", patch).code:
                self.delete(self._listed().index(patch))

    @rule(name=st.sampled_from(FILES), at=PLACES, how=HOW)
    def write_and_fold(self, name: str, at: int, how: str) -> None:
        self.write(name, at, how)
        given = self.world.pq("diff", "-z").out.encode()
        self.revert(name)
        if given:
            self._runs("fold", given=given)

    @rule(number=NUMBERS)
    def delete_against_a_check(self, number: int) -> None:
        hook = self.world.queue / "hooks" / "pre-apply"
        hook.write_text("#!/bin/sh\nexit 1\n")
        try:
            self.delete(number)
        finally:
            hook.write_text("#!/bin/sh\n")

    @precondition(lambda self: self.before)
    @rule()
    def undo(self) -> None:
        """Undo brings back what was, or says that edits are in the way; then nothing has changed."""
        files, now = self._files(aside=False), self._queue()
        said = self.world.pq("undo")
        assert said.code == 0 or (said.code == 5 and self.typed), said
        if said.code:
            assert (self._files(aside=False), self._queue()) == (files, now), said
            return
        before_files, before_queue = self.before.pop()
        assert self._queue() == before_queue
        touched = {name for name in files.keys() | before_files.keys() if files.get(name) != before_files.get(name)}
        after = self._files(aside=False)
        assert all(after.get(name) in (files.get(name), before_files.get(name)) for name in touched)
        assert self.typed or after == before_files
        self.dropped |= self.described - self._tokens()  # a text goes with its undo, an edit stays one
        self.typed = True  # what an earlier operation left is not known any more

    @precondition(lambda self: self.before)
    @rule()
    def undo_and_redo(self) -> None:
        """There and back again."""
        before = self._files(aside=False), self._queue()
        if self.world.pq("undo").code == 0:
            assert self.world.pq("redo").code == 0
        assert (self._files(aside=False), self._queue()) == before

    # what always holds

    @invariant()
    def nothing_is_lost(self) -> None:
        missing = self.written - self.dropped - self._tokens()
        assert not missing, missing

    def teardown(self) -> None:
        try:
            self._witnesses()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _witnesses(self) -> None:
        world = self.world
        if "Unrefreshed" in world.pq("status").out:
            assert world.pq("refresh", "-z", "last.patch").code == 0
        applied, full = self._applied(), self._files(aside=True)
        for name in applied:
            assert world.pq("refresh", name).code == 0  # so that one that was merged says where it stands
        for name in ("apply", "quilt"):
            git(world.upstream, "checkout", "-q", "-f", "v1")
            git(world.upstream, "clean", "-qfdx")
            if name == "apply":
                for entry in self._entries():
                    patch, *options = entry.split()
                    if patch in applied and (world.queue / "patches" / patch).stat().st_size:
                        git(world.upstream, "apply", "--allow-empty", *options, str(world.queue / "patches" / patch))
            elif applied:
                self._quilt(applied)
            assert _contents(world.upstream) == full, name
        if applied:
            assert world.pq("pop", "-a").code == 0
            assert world.pq("goto", applied[-1]).code == 0
        assert self._files(aside=True) == full

    def _quilt(self, applied: list[str]) -> None:
        series = self.folder / "series"
        filled = [
            entry
            for entry in self._entries()
            if entry.split()[0] in applied and b"diff --git" in (self.world.queue / "patches" / entry.split()[0]).read_bytes()
        ]
        series.write_text("".join(f"{name}\n" for name in filled))
        command = [
            "env",
            f"QUILT_PATCHES={self.world.queue}/patches",
            f"QUILT_SERIES={series}",
            "quilt",
            "--quiltrc",
            "-",
            "push",
            "-a",
            "-q",
        ]
        if filled:
            done = subprocess.run(command, cwd=self.world.upstream, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done
        shutil.rmtree(self.world.upstream / ".pc", ignore_errors=True)

    # how it is asked

    def _runs(self, *words: str, given: bytes | None = None) -> Result:
        """Run a command; refused, it has changed nothing. From a conflict it goes on, or it is taken back."""
        before = self._files(aside=False), self._queue()
        said = self.world.pq(*words) if given is None else self.world.process(*words, given=given)
        assert said.code in (0, 1, 2, 3, 4, 5, 64), said
        while said.code == 3 and "pq stopped there" in said.err:
            self._write_aside()
            if self.count % 3 == 0:
                assert self.world.pq("abort").code == 0
                break
            self._settle()
            if self.count % 4 == 0:
                git(
                    self.world.checkout,
                    "-c",
                    "user.name=Ada",
                    "-c",
                    "user.email=a@b",
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-am",
                    "settled",
                )
            said = self.world.pq("continue")
            assert said.code in (0, 3, 4), said
            if said.code == 4:
                assert self.world.pq("abort").code == 0
        if said.code:
            assert (self._files(aside=False), self._queue()) == before, said
        elif not said.out.startswith("Patch ") or "is unchanged" not in said.out:
            self.before.append(before)
            self.typed = False
        return said

    def _write_aside(self) -> None:
        """What the user writes while a command waits."""
        self.count += 1
        (self.world.checkout / f"aside{self.count}.txt").write_text(f"token {self.count}.\n")
        assert self.world.pq("add", f"aside{self.count}.txt").code == 0
        self.written.add(f"token {self.count}.\n")
        self.typed = True

    def _settle(self) -> None:
        """The user keeps all lines of a conflict."""
        marks = ("<<<<<<< what", "||||||| what", "=======", ">>>>>>> ")
        for name in set(git(self.world.checkout, "diff", "--name-only", "--diff-filter=U").splitlines()):
            place = self.world.checkout / name
            if place.is_file() and not place.is_symlink():
                lines = place.read_text().splitlines(keepends=True)
                place.write_text("".join(line for line in lines if not line.startswith(marks)))
            if os.path.lexists(place):
                assert self.world.pq("add", name).code == 0
            else:
                git(self.world.checkout, "rm", "-q", "--", name)

    def _moves(self, *words: str) -> Result:
        """Run a command that leaves the files as they are."""
        before = self._files(aside=False)
        said = self._runs(*words)
        assert self._files(aside=False) == before, said
        return said

    def _git_status(self) -> list[str]:
        return git(self.world.checkout, "status", "--porcelain").splitlines()

    def _name(self) -> str:
        self.count += 1
        return f"p{self.count}.patch"

    def _applied(self) -> list[str]:
        log = git(self.world.checkout, "log", "--format=%(trailers:key=Pq-Patch,valueonly)", "refs/pq/releases/v1..HEAD")
        return log.split()[::-1]

    def _listed(self) -> list[str]:
        return [line.split()[0] for line in self._entries()]

    def _entries(self) -> list[str]:
        return [line for line in self.world.series.read_text().splitlines() if not line.startswith("#")]

    def _one_of(self, names: list[str], number: int) -> list[str]:
        return [names[number % len(names)]] if names else []

    def _files(self, *, aside: bool) -> dict[str, bytes]:
        """The files of the checkout; those that were written while a command waited are another matter."""
        return {name: text for name, text in _contents(self.world.checkout).items() if aside or not name.startswith("aside")}

    def _queue(self) -> dict[str, bytes]:
        kept = {"series": self.world.queue / "series", "patches": self.world.queue / "patches"}
        return {f"{name}/{path}": content for name, place in kept.items() for path, content in snapshot(place).items()}

    def _tokens(self) -> set[str]:
        """The user's lines that stand in the checkout, in the text of a patch, or that one adds or takes away."""
        said = [line for text in self._queue().values() for line in text.split(b"\n") if not line.startswith(b" ")]
        return {token.decode() + "\n" for text in (*self._files(aside=True).values(), *said) for token in _TOKEN.findall(text)}


def _contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but git's: whether it may be executed and what it holds, or where it leads."""
    found: dict[str, bytes] = {}
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        if name.startswith(".git") or (place.is_dir() and not place.is_symlink()):
            continue
        if place.is_symlink():
            found[name] = b"-> " + os.fsencode(os.readlink(place))
        else:
            found[name] = (b"x " if os.access(place, os.X_OK) else b"- ") + place.read_bytes()
    return found


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A world that is set up, to be copied for each sequence."""
    world = World(tmp_path / "template")
    text = "".join(f"line {number}\n" for number in range(LINES))
    world.release("v1", {name: text.encode() for name in FILES})
    world.queue.mkdir()
    assert world.pq("init", "--source", "../upstream", "--pin", "v1").code == 0
    assert world.pq("setup").code == 0
    (world.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\n")
    return world.root


def test_the_content_is_accounted_for(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    Machine.template, Machine.typed_text = template, template / "typed"
    monkeypatch.setenv("EDITOR", f"cp {Machine.typed_text}")
    asked = settings.get_current_profile_name() == "long"
    run: Callable[..., None] = run_state_machine_as_test
    checked = list(HealthCheck)
    run(
        Machine,
        settings=settings(max_examples=2000 if asked else EXAMPLES, stateful_step_count=STEPS, suppress_health_check=checked),
    )
