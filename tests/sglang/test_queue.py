"""This repository's own queue: it gets in, and the worker does what the patches say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pq.core.series import Pin
from pq.engine import checking
from pq.queue import open_queue
from tests.conftest import PROJECT, git, snapshot
from tests.sglang.test_failures import SGLang, start

pytestmark = [pytest.mark.sglang, pytest.mark.usefixtures("user_cache")]


def test_the_queue_gets_in_and_its_worker_is_right(tmp_path: Path) -> None:
    """`worker_path.py` runs on fakes, on the CPU, in the interpreter of the import check."""
    world: SGLang = start(tmp_path, "v0.5.9")
    pin = snapshot(world.checkout)
    shutil.copytree(PROJECT / "patches", world.queue / "patches", dirs_exist_ok=True)
    shutil.copy(PROJECT / "series" / "v0.5.9", world.series)

    pushed = world.pq("push", "-a")
    python = checking.interpreter(open_queue(world.queue), Pin("v0.5.9")).path
    tested = subprocess.run(
        [python, PROJECT / "tests" / "sglang" / "worker_path.py", world.checkout / "python"],
        capture_output=True,
        text=True,
        check=False,
    )
    popped = world.pq("pop", "-a")

    assert pushed.code == 0, pushed.err
    assert "all probes passed" in pushed.out
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert popped.code == 0
    assert {name: content for name, content in snapshot(world.checkout).items() if "__pycache__" not in name} == pin


def test_the_series_is_made_for_the_commit_that_setup_makes(tmp_path: Path) -> None:
    """Law 6, for a release: the id in the committed series is the one that any machine arrives at."""
    world = start(tmp_path, "v0.5.9")

    made = git(world.checkout, "rev-parse", "HEAD").strip()

    assert (PROJECT / "series" / "v0.5.9").read_text(encoding="utf-8").splitlines()[0] == f"# pq-pin: v0.5.9 {made}"
