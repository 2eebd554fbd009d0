"""Docs tell the truth: every command in README and docs is run, and prints what stands there.

In a block marked `console`, a line that begins with `$ ` is run, the lines behind it are what it prints, standard error included;
`…` stands for any text within a line, a line `…` alone for any lines. A `$ ` line that ends in a backslash goes on. One document is
one session: its commands run in order, in one folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT, World, git

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MARK = "=== end of command, exit code "
STORY = "docs/releases.md"
"""What is told of this repository's own queue, in a clone of it."""
DOCUMENTS = sorted(
    name
    for path in (PROJECT / "docs").rglob("*.md")
    if (name := path.relative_to(PROJECT).as_posix()) != STORY and _BLOCK.search(path.read_text())
)


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a document, and what it says they print."""
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command += f"\n{more}"
            yield command, output


def session(commands: list[str], folder: Path) -> list[str]:
    """What the commands print, one after the other in one shell. A command that fails shows its exit code in a line of its own."""
    script = "".join(f"{command}\n_code=$?; echo '{_MARK}'$_code; (exit $_code)\n" for command in commands)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [printed.partition("\n")[2] if number else printed for number, printed in enumerate(done.stdout.split(_MARK))][:-1]


def matches(said: str, printed: str) -> bool:
    """Whether a command printed what the document says."""
    lines = said.rstrip("\n").split("\n")
    parts = [r"(?:[^\n]*\n)*" if line == "…" else re.escape(line).replace("…", "[^\n]*") + r"\n" for line in lines]
    return re.fullmatch("".join(parts), printed.rstrip("\n") + "\n") is not None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_docs_show_what_happens(name: str, tmp_path: Path) -> None:
    wanted = list(steps((PROJECT / name).read_text(encoding="utf-8")))

    printed = session([command for command, _ in wanted], tmp_path)

    for (command, said), got in zip(wanted, printed, strict=True):
        assert matches(said, got), f"{name}: $ {command}\n--- the document says\n{said}\n--- it printed\n{got}"


@pytest.mark.sglang
@pytest.mark.usefixtures("user_cache")
def test_the_story_shows_what_happens(tmp_path: Path) -> None:
    """Without the imports: `make pins` makes those, in an environment for each release."""
    clone = tmp_path / "pq"
    git(tmp_path, "clone", "-q", str(PROJECT), str(clone))
    config = clone / "pq.toml"
    config.write_text(re.sub(r"modules = .*\n", "", config.read_text()))
    wanted = list(steps((PROJECT / STORY).read_text(encoding="utf-8")))

    session(["pq setup --trust"], clone)
    printed = session([command for command, _ in wanted], clone)

    for (command, said), got in zip(wanted, printed, strict=True):
        assert matches(said, got), f"{STORY}: $ {command}\n--- it says\n{said}\n--- it printed\n{got}"


@pytest.mark.sglang
@pytest.mark.usefixtures("user_cache")
def test_readme_shows_what_happens(tmp_path: Path) -> None:
    """In a fresh clone, with nothing but git, make and Python."""
    clone = tmp_path / "pq"
    git(tmp_path, "clone", "-q", str(PROJECT), str(clone))
    wanted = [step for step in steps((PROJECT / "README.md").read_text(encoding="utf-8")) if step[0] != "make test"]

    printed = session([command for command, _ in wanted], clone)

    for (command, said), got in zip(wanted, printed, strict=True):
        assert matches(said, got), f"README: $ {command}\n--- it says\n{said}\n--- it printed\n{got}"


def test_the_workflow_runs_in_a_clone(stacked: World) -> None:
    """The steps that are pq's, in a queue that was just cloned."""
    for name in ("one", "two"):
        place = stacked.queue / "patches" / f"{name}.patch"
        place.write_bytes(b"Subject: what it does\n\n" + place.read_bytes())
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a queue")):
        git(stacked.queue, *words)
    git(stacked.root, "clone", "-q", str(stacked.queue), "clone")
    wanted = re.findall(r"^    - run: (pq .*)$", (PROJECT / "docs" / "git-hooks.md").read_text(encoding="utf-8"), re.MULTILINE)

    printed = session([f"{command} > ../out 2>&1; echo $?" for command in wanted], stacked.root / "clone")

    assert (len(wanted), [said.split()[0] for said in printed]) == (3, ["0"] * 3), (stacked.root / "out").read_text()
