"""How long push and pop take beside quilt, git am, StGit and guilt, and whether the targets hold (`--patches N`, `--rounds R`).

The patches are real: what a release of sglang changed in N files, one patch a file. All tools get the same patch files and the
same series. Every round gives every tool a fresh copy; after every step all files are compared, and a wrong result ends the
bench. Other work on the machine slows a whole round, so a ratio is taken within its round, and the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pq.core.patch import EXECUTABLE
from pq.core.rules import CODES
from pq.engine import checking
from pq.upstream import pypi

OLD, NEW = "0.5.9", "0.5.10.post1"
TAG = f"v{OLD}"
PQ = str(Path(sys.executable).parent / "pq")
CALLS = 30

Tree = Mapping[str, tuple[bool, bytes]]
"""The files of a release by path: whether it is executable, and the content."""


class Case(NamedTuple):
    """So many patches: the repository at the release, a queue that is set up, and the files without and with the patches."""

    upstream: Path
    queue: Path
    before: Tree
    after: Tree


class Step(NamedTuple):
    """A timed command: its row in the table, and whether the patches are applied behind it."""

    row: str
    command: tuple[str, ...]
    applied: bool = True


class Tool(NamedTuple):
    """What one fresh copy is used for. `init` prepares it; `patches` is where the tool wants them; pq has them in its queue."""

    executable: str
    case: Case
    steps: tuple[Step, ...]
    patches: str | None = None
    init: tuple[str, ...] = ()


class Target(NamedTuple):
    """How many times as long as `against` a row has to take at least, or may take at most."""

    text: str
    row: str
    against: str
    least: float = 0
    most: float = math.inf


NO_CHECK, CHECKED, POP, AGAIN = "pq push -a --no-check", "pq push -a (syntax check)", "pq pop -a", "pq push -a, again"
QUILT_PUSH, QUILT_POP, STG_AGAIN, AM = "quilt push -a", "quilt pop -a", "stg push -a", "git am"
TWICE_NO_CHECK, TWICE_CHECKED = "pq push -a --no-check, twice the patches", "pq push -a (syntax check), twice the patches"
TOP, BARE = "pq top", "python -c pass"

TARGETS = (
    Target("push with the syntax check, beside quilt", QUILT_PUSH, CHECKED, least=4),
    Target("push with the syntax check, beside git am", AM, CHECKED, least=4),
    Target("push without checks, beside quilt", QUILT_PUSH, NO_CHECK, least=6),
    Target("push without checks, beside git am", AM, NO_CHECK, least=6),
    Target("pop, beside quilt", QUILT_POP, POP, least=50),
    Target("push again, beside stg", STG_AGAIN, AGAIN, least=1),
    Target("pq top, in python -c pass", TOP, BARE, most=3),
    Target("twice the patches, without checks", TWICE_NO_CHECK, NO_CHECK, most=2.3),
    Target("twice the patches, with the syntax check", TWICE_CHECKED, CHECKED, most=2.3),
)


# -- what is measured -------------------------------------------------------------------------------------------


def tools(case: Case, twice: Case) -> tuple[Tool, ...]:
    """All that is measured in a round, pq first."""
    mails = [f".git/mails/{patch.name}" for patch in sorted((case.queue / "patches").iterdir())]
    push, pop = (PQ, "push", "-a"), (PQ, "pop", "-a")
    quilt = Step(QUILT_PUSH, ("quilt", "push", "-a")), Step(QUILT_POP, ("quilt", "pop", "-a"), applied=False)
    stg = Step("stg pop -a", ("stg", "pop", "-a"), applied=False), Step(STG_AGAIN, ("stg", "push", "-a"))
    guilt = Step("guilt push -a", ("guilt", "push", "-a")), Step("guilt pop -a", ("guilt", "pop", "-a"), applied=False)
    return (
        Tool(PQ, case, (Step(NO_CHECK, (*push, "--no-check")),)),
        Tool(PQ, case, (Step(CHECKED, push), Step(POP, pop, applied=False), Step(AGAIN, push))),
        Tool(PQ, twice, (Step(TWICE_NO_CHECK, (*push, "--no-check")),)),
        Tool(PQ, twice, (Step(TWICE_CHECKED, push),)),
        Tool("git", case, (Step("git apply, all in one call", ("git", "apply", *mails)),), ".git/mails"),
        Tool("git", case, (Step(AM, ("git", "am", "--quiet", *mails)),), ".git/mails"),
        Tool("quilt", case, quilt, "patches", ("rm", "-r", "-f", ".git")),
        Tool(
            "stg",
            case,
            (Step("stg import -s", ("stg", "import", "-s", ".git/mails/series")), *stg),
            ".git/mails",
            ("stg", "init"),
        ),
        Tool("guilt", case, guilt, ".git/patches/main", ("guilt", "init")),
    )


def copy(tool: Tool, place: Path) -> Path:
    """Make a copy for a tool in which it never pushed; the folder with the files to be patched."""
    case = tool.case
    shutil.copytree(case.queue if tool.patches is None else case.upstream, place, symlinks=True)
    files = place / ".checkout" if tool.patches is None else place
    call("git", "config", "pq.queue", str(place), cwd=files)
    call("git", "update-index", "--refresh", cwd=files)
    if tool.init:
        call(*tool.init, cwd=place)
    if tool.patches is not None:
        shutil.copytree(case.queue / "patches", place / tool.patches, dirs_exist_ok=True)
        shutil.copyfile(case.queue / "series" / TAG, place / tool.patches / "series")
    return files


# -- the patches ------------------------------------------------------------------------------------------------


def release(version: str) -> dict[str, tuple[bool, bytes]]:
    """The files of a release of sglang."""
    wheel = pypi.fetch("sglang", version, checking.cache() / "wheels", progress=print)
    return {path: (mode == EXECUTABLE, content) for path, mode, content in wheel.files("python")}


def choose(old: Tree, new: Tree, count: int) -> tuple[list[str], list[str]]:
    """`count` files that both releases have and that differ, and twice as many: with half the bytes each, in a mixed order."""
    changed = [path for path in old.keys() & new.keys() if path.endswith(".py") and old[path] != new[path]]
    # git am takes CRs off, and an empty file has no place to search
    changed = [path for path in changed if all(content and b"\r" not in content for _, content in (old[path], new[path]))]
    if len(changed) < 2 * count:
        raise SystemExit(f"only {len(changed)} files changed, --patches can be {len(changed) // 2} at most")
    by_size = sorted(changed, key=lambda path: (len(old[path][1]), path))
    twice = [by_size[number * len(by_size) // (2 * count)] for number in range(2 * count)]
    once = [path for number, path in enumerate(twice) if number % 4 in (0, 3)]
    for paths in (once, twice):
        random.Random(0).shuffle(paths)
    return once, twice


def make_upstream(folder: Path, tree: Tree) -> None:
    """A git repository with the release as its one tag."""
    write(folder, tree)
    for words in (("init", "-q", "-b", "main"), ("add", "-A", "-f"), ("commit", "-q", "-m", TAG), ("tag", TAG), ("gc", "-q")):
        call("git", *words, cwd=folder)


def make_case(upstream: Path, queue: Path, old: Tree, new: Tree, paths: Sequence[str]) -> Case:
    """A queue, set up, with the patches that git makes of these files."""
    changed = {path: new[path] for path in paths}
    write(upstream, changed)
    diffs = {path: call("git", "diff", "--full-index", "--", path, cwd=upstream) for path in paths}
    call("git", "checkout", "--quiet", "--", ".", cwd=upstream)
    queue.mkdir()
    call(PQ, "init", "--source", str(upstream), "--pin", TAG, cwd=queue)
    call(PQ, "setup", cwd=queue)
    # A part of a release's changes imports what the other part brings: only the syntax check means something.
    (queue / "pq.toml").write_text(
        f"{(queue / 'pq.toml').read_text().partition('[check]')[0]}[check]\noff = {json.dumps(CODES)}\n"
    )
    with (queue / "series" / TAG).open("a", encoding="utf-8") as series:
        for number, path in enumerate(paths, 1):
            name = f"{number:04}-{Path(path).stem}.patch"
            head = f"From: Ada <ada@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: [PATCH] {path}\n\n"
            (queue / "patches" / name).write_bytes(head.encode() + diffs[path])
            series.write(f"{name}\n")
    return Case(upstream, queue, old, {**old, **changed})


def write(folder: Path, tree: Tree) -> None:
    """Write files below a folder."""
    for path, (executable, content) in tree.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755 if executable else 0o644)


def read(folder: Path) -> Tree:
    """The files of the release below a folder."""
    places = [place for place in (folder / "python").rglob("*") if not place.is_dir()]
    return {place.relative_to(folder).as_posix(): (os.access(place, os.X_OK), place.read_bytes()) for place in places}


# -- running ----------------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """Nothing of the user's configuration; no gc in the background of what is timed next; Python may keep bytecode, as it does for users."""
    dropped = ("GIT_", "QUILT", "PQ_", "GUILT", "STGIT", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto", "GIT_CONFIG_VALUE_0": "0"}
    return (
        kept
        | identity
        | settings
        | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "QUILTRC": os.devnull, "LC_ALL": "C.UTF-8"}
    )


def call(*command: str, cwd: Path) -> bytes:
    """What a command prints; one that fails ends the bench."""
    done = subprocess.run(command, cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).decode("utf-8", "replace")[-2000:]
        raise SystemExit(f"{' '.join(command)[:200]} exited with {done.returncode}:\n{said}")
    return done.stdout


def timed(*command: str, cwd: Path) -> float:
    """The seconds that a command takes."""
    begin = time.perf_counter()
    call(*command, cwd=cwd)
    return time.perf_counter() - begin


def measure(tool: Tool, folder: Path, times: dict[str, list[float]]) -> None:
    """Time the steps of one tool in a fresh copy, and compare all files behind each."""
    if shutil.which(tool.executable) is None:
        return
    files = copy(tool, folder)
    for step in tool.steps:
        os.sync()  # what was written before is not paid for by the first fsync in the command
        times.setdefault(step.row, []).append(timed(*step.command, cwd=folder))
        found, expected = read(files), tool.case.after if step.applied else tool.case.before
        if wrong := sorted(path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path)):
            raise SystemExit(f"{step.row}: a wrong result in {len(wrong)} files, first {wrong[0]}")
    shutil.rmtree(folder)


def measure_top(folder: Path, times: dict[str, list[float]]) -> None:
    """Time `pq top` and an interpreter that does nothing, in turns; the median of each."""
    calls = {TOP: (PQ, "top"), BARE: (sys.executable, "-c", "pass")}
    taken = [{row: timed(*command, cwd=folder) for row, command in calls.items()} for _ in range(CALLS)]
    for row in calls:
        times.setdefault(row, []).append(median(one[row] for one in taken))


# -- the table --------------------------------------------------------------------------------------------------


def table(rows: Sequence[tuple[str, str]], times: Mapping[str, list[float]]) -> list[str]:
    """The medians, with the least and the most; `rows` are names and the executables that they take."""
    lines = [f"{'':46} {'median':>9} {'least':>9} {'most':>9}   seconds"]
    for row, executable in rows:
        found = times.get(row)
        cells = (
            " ".join(f"{value:9.3f}" for value in (median(found), min(found), max(found)))
            if found
            else f"missing: {executable} is not installed"
        )
        lines.append(f"{row:46} {cells}")
    return lines


def judgement(times: Mapping[str, list[float]]) -> list[str]:
    """The ratios beside the targets."""
    lines = [f"{'target':46} {'ratio':>9} {'wanted':>14}"]
    for target in TARGETS:
        wanted = f"at least {target.least:g}" if target.least else f"at most {target.most:g}"
        ratio, verdict = math.nan, "not measured: a tool is missing"
        if target.row in times and target.against in times:
            ratio = median(one / other for one, other in zip(times[target.row], times[target.against], strict=True))
            verdict = "holds" if target.least <= ratio <= target.most else "DOES NOT HOLD"
        lines.append(f"{target.text:46} {ratio:9.2f} {wanted:>14}   {verdict}")
    return lines


def main() -> None:
    """Build the queues, measure, print."""
    asked = argparse.ArgumentParser(description="Time pq beside quilt, git am, StGit and guilt.")
    asked.add_argument("--patches", type=int, default=200, help="how many patches (200)")
    asked.add_argument("--rounds", type=int, default=3, help="how often everything is measured (3)")
    options = asked.parse_args()
    times: dict[str, list[float]] = {}
    old, new = release(OLD), release(NEW)
    once, twice = choose(old, new, options.patches)
    with tempfile.TemporaryDirectory(prefix="pq-bench-") as name:
        folder = Path(name).resolve()
        make_upstream(folder / "upstream", old)
        case, doubled = (
            make_case(folder / "upstream", folder / f"queue-{len(paths)}", old, new, paths) for paths in (once, twice)
        )
        every = tools(case, doubled)
        copy(every[0], folder / "pushed")
        call(PQ, "push", cwd=folder / "pushed")  # for pq top, and so that no round pays for compiling pq itself
        for number in range(options.rounds):
            for tool in every:
                if sys.stderr.isatty():
                    print(f"  round {number + 1}: {tool.steps[0].row} …\033[K", end="\r", file=sys.stderr)
                measure(tool, folder / "copy", times)
            measure_top(folder / "pushed", times)
    counts = " and ".join(
        f"{len(paths)} patches on {sum(len(old[path][1]) for path in paths) / 1e6:.1f} MB" for paths in (once, twice)
    )
    print(f"{counts} of sglang {OLD} ({len(old)} files); {options.rounds} rounds, pq top {CALLS} times in each\n")
    rows = [(step.row, tool.executable) for tool in every for step in tool.steps]
    print("\n".join([*table([*rows, (TOP, PQ), (BARE, "python")], times), "", *judgement(times)]))


if __name__ == "__main__":
    main()
