"""How long a check of a push takes with the worker that stays, beside one without.

The queue is a copy of this repository's, with its checkout and environment (make setup). What is measured is the gate, from the trees to
the verdict: the hook's own start, the cheap checks and the import. The ratios are taken within a round, and the median of the rounds counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pq.engine.candidate import Candidate
from pq.engine.gate import Gate
from pq.engine.workspace import Workspace, open_workspace

PROJECT = Path(__file__).parents[2]
TARGETS = {"warm": 1 / 4, "leaf": 1 / 10, "unchanged": 1 / 100}
CHANGED = {"warm": "environ.py", "leaf": "speculative/eagle_worker_v2.py", "root": "server_args.py"}
"""What is changed for a row, below sglang/srt; `warm` is what the worker does where it has no copy of a run that suits."""


@dataclass(frozen=True)
class Queue:
    """A copy of the queue, with both patches applied."""

    root: Path

    @property
    def workers(self) -> Path:
        """The folder of the workers."""
        return self.root / ".checkout/sglang/.git/pq/worker"

    def workspace(self) -> Workspace:
        """As a command opens it."""
        return open_workspace(self.root, queue_root=self.root, series_name=None, title="bench")

    def change(self, name: str, number: int) -> None:
        """Change a definition of a module in the top patch."""
        with (self.root / ".checkout/sglang/python/sglang/srt" / CHANGED[name]).open("a") as file:
            file.write(f"\n\ndef measured_{name}_{number}():\n    return {number}\n")
        self.pq("refresh", "--no-daemon")

    def pq(self, *words: str) -> None:
        """Run pq in it."""
        subprocess.run([Path(sys.executable).with_name("pq"), *words], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def judge(self, *, daemon: bool, fresh: bool = True) -> None:
        """Ask the gate about the stack."""
        os.environ["PQ_NO_DAEMON"] = "" if daemon else "1"
        workspace = self.workspace()
        before, candidates = workspace.checkout.read_commit(workspace.pin_commit).tree, []
        for each in workspace.applied:
            candidates.append(Candidate(each.patch, before, each.commit))
            before = each.commit.tree
        rejected = Gate(workspace, lambda _: None).judge(candidates, fresh=fresh)
        assert rejected is None, rejected


def measure(rounds: int) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        queue = Queue(Path(folder, "queue"))
        _copy(queue)
        ratios: dict[str, list[float]] = {}
        for number in range(rounds):
            cold = _seconds(lambda: queue.judge(daemon=False))
            _warm(queue)
            row = {"cold": cold}
            for name in CHANGED:
                queue.change(name, number)
                for copy in queue.workers.glob("*/0[1-9]") if name == "warm" else ():
                    copy.unlink()
                row[name] = _seconds(lambda: queue.judge(daemon=True))
            row["unchanged"] = _seconds(lambda: queue.judge(daemon=True, fresh=False))
            print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in row.items()), flush=True)
            for name, seconds in row.items():
                ratios.setdefault(name, []).append(seconds / cold)
        shutil.rmtree(queue.workers)
    for name in ("warm", "leaf", "root", "unchanged"):
        target = f"at most {TARGETS[name]:.3f}" if name in TARGETS else "no target"
        print(f"{name}: {median(ratios[name]):.3f} of cold ({target})")


def _copy(queue: Queue) -> None:
    subprocess.run(["git", "clone", "-q", str(PROJECT), str(queue.root)], check=True)
    queue.pq("setup", "--trust")
    queue.pq("push", "-a", "--no-daemon")


def _warm(queue: Queue) -> None:
    """Until the worker has loaded what it loads, and kept its copies."""
    for _ in range(3):
        queue.judge(daemon=True)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
