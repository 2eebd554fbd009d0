"""A world whose queue imports its own small package, in this interpreter: no torch is needed to see what a check sees."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import World


@pytest.fixture
def checked(world: World) -> World:
    """Checks import pkg.module."""
    configure(world)
    return world


def configure(
    world: World,
    *,
    modules: Sequence[str] = ("pkg.module",),
    python: str | Path = sys.executable,
    stand_ins: Sequence[str] = (),
    timeout: int = 30,
) -> None:
    """Write the table [check] anew."""
    file = world.queue / "pq.toml"
    upstream = file.read_text().partition("[check]")[0]
    file.write_text(
        f'{upstream}[check]\nmodules = {list(modules)!r}\npython = "{python}"\nstand_ins = {list(stand_ins)!r}\ntimeout = {timeout}\n'.replace(
            "'", '"'
        )
    )


def script(place: Path, text: str) -> Path:
    """An executable file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def is_gone(pid: int) -> bool:
    """Whether the process ends within a second. A zombie that nobody waits for has ended."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False
