"""A world in which git runs the hooks that `pq setup` put there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Result, World, git
from tests.editing.conftest import LINES, change


def commit(folder: Path, *words: str, **variables: str) -> Result:
    """What real git says that runs the hooks. With a variable `PATH` nothing else of the environment is there."""
    environment = {**({} if "PATH" in variables else os.environ), **variables, "HOME": os.environ["HOME"]}
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False, env=environment)
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    assert "Traceback" not in err, err
    return Result(done.returncode, out, err)


@pytest.fixture(scope="session")
def desk_pattern(tmp_path_factory: pytest.TempPathFactory, pattern: World) -> World:
    """What `desk` is a copy of."""
    assert pattern.root.exists()  # made in a sealed environment, as this one is
    with pytest.MonkeyPatch.context() as patching:
        for name, value in (("HOME", str(tmp_path_factory.mktemp("home"))), ("GIT_CONFIG_NOSYSTEM", "1")):
            patching.setenv(name, value)
        for who in ("AUTHOR", "COMMITTER"):
            patching.setenv(f"GIT_{who}_NAME", "Ada")
            patching.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
        made = World(tmp_path_factory.mktemp("desk"))
        made.release("v1", {"f.txt": LINES.encode(), "m.py": b"x = 1\n", "d/g.txt": b"g\n"})
        made.queue.mkdir()
        git(made.queue, "init", "-q", "-b", "main")
        made.init()
        for folder in (made.checkout, made.queue):
            git(folder, "config", "user.name", "Ada")
            git(folder, "config", "user.email", "ada@example.org")
        git(made.queue, "add", "-A")
        git(made.queue, "commit", "-qm", "a queue")
    return made


@pytest.fixture
def desk(tmp_path: Path, desk_pattern: World) -> World:
    """A queue in a repository of its own, without patches, on a file of forty lines; all hooks are installed."""
    shutil.copytree(desk_pattern.root, tmp_path, symlinks=True, dirs_exist_ok=True)
    world = World(tmp_path)
    git(world.checkout, "config", "pq.queue", str(world.queue))
    git(world.checkout, "update-index", "--refresh")
    git(world.queue, "update-index", "--refresh")
    return world


@pytest.fixture
def two(desk: World) -> World:
    """Two patches that were made by committing them."""
    for number, text in ((5, "five"), (15, "fifteen")):
        change(desk, number, text)
        assert commit(desk.checkout, "commit", "-qam", f"f: {text}").code == 0
    return desk
