"""Every series of this repository in the environment of its pin: `make pins`. Each environment takes 3 GB, so `make test` leaves these out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pq.core.series import Pin
from pq.engine import checking
from pq.queue import open_queue
from tests.conftest import PROJECT
from tests.sglang.test_failures import SGLang

pytestmark = [pytest.mark.pins, pytest.mark.usefixtures("user_cache")]

SERIES = sorted(path.name for path in (PROJECT / "series").iterdir())


@pytest.mark.parametrize("name", SERIES)
def test_both_modules_import_the_probe_passes_and_the_worker_is_right(name: str, tmp_path: Path) -> None:
    world = SGLang(tmp_path)
    world.queue.mkdir()
    for part in ("hooks", "series", "patches"):
        shutil.copytree(PROJECT / part, world.queue / part, ignore=shutil.ignore_patterns("__pycache__"))
    config = (PROJECT / "pq.toml").read_text(encoding="utf-8").replace('series = "v0.5.9"', f'series = "{name}"')
    (world.queue / "pq.toml").write_text(config, encoding="utf-8")

    assert world.pq("setup").code == 0
    patches = world.pq("series").out.splitlines()
    done = world.pq("push", "-a") if patches else world.pq("check")

    assert done.code == 0, done.err
    assert "all probes passed" in done.out
    if patches:
        python = checking.interpreter(open_queue(world.queue), Pin(name)).path
        script = PROJECT / "tests" / "sglang" / "worker_path.py"
        tested = subprocess.run([python, script, world.checkout / "python"], capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stdout + tested.stderr
