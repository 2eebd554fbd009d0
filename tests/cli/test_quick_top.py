"""`pq top` without git says what the whole pq says, in every state, or leaves it to the whole pq."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pq.cli.quick import quick_top
from tests.conftest import World, git


def _nothing(_: World) -> None:
    pass


def _pushed(world: World) -> None:
    world.pq("push", "-a")


def _popped(world: World) -> None:
    world.pq("push", "-a")
    world.pq("pop")


def _popped_all(world: World) -> None:
    world.pq("push", "-a")
    world.pq("pop", "-a")


def _detached(world: World) -> None:
    git(world.checkout, "switch", "-q", "--detach")


def _other_branch(world: World) -> None:
    git(world.checkout, "switch", "-q", "-c", "mine")


def _foreign_commit(world: World) -> None:
    git(world.checkout, "commit", "-q", "--allow-empty", "-m", "by hand")


def _reset(world: World) -> None:
    git(world.checkout, "reset", "-q", "--hard", "HEAD~1")


def _packed_refs(world: World) -> None:
    git(world.checkout, "pack-refs", "--all")


def _dirty(world: World) -> None:
    (world.checkout / "numbers.txt").write_bytes(b"")


def _journal(world: World) -> None:
    (world.checkout / ".git" / "pq" / "journal.json").write_bytes(b"")


def _no_checkout(world: World) -> None:
    shutil.rmtree(world.checkout)


def _no_series(world: World) -> None:
    world.series.unlink()


def _series_folder(world: World) -> None:
    world.series.unlink()
    world.series.mkdir()


def _broken_series(world: World) -> None:
    world.series.write_bytes(world.series.read_bytes() + b"a b\n")


def _other_pin(world: World) -> None:
    world.series.write_bytes(b"# pq-pin: v1 " + b"0" * 40 + b"\n")


def _shorter_series(world: World) -> None:
    world.series.write_bytes(world.series.read_bytes().replace(b"two.patch\n", b""))


def _broken_config(world: World) -> None:
    (world.queue / "pq.toml").write_text("[upstream]\n")


def _unknown_key(world: World) -> None:
    with (world.queue / "pq.toml").open("a") as file:
        file.write("x = 1\n")


def _no_config(world: World) -> None:
    (world.queue / "pq.toml").unlink()


def _other_series(world: World) -> None:
    config = world.queue / "pq.toml"
    config.write_text(config.read_text().replace('"v1"', '"v2"'))


BROKEN = [
    _detached,
    _other_branch,
    _foreign_commit,
    _reset,
    _packed_refs,
    _dirty,
    _journal,
    _no_checkout,
    _no_series,
    _series_folder,
    _broken_series,
    _other_pin,
    _shorter_series,
    _broken_config,
    _unknown_key,
    _no_config,
    _other_series,
]


@pytest.mark.parametrize("start", [_nothing, _pushed, _popped, _popped_all])
def test_the_quick_way_answers_as_the_whole_pq(
    stacked: World, monkeypatch: pytest.MonkeyPatch, start: Callable[[World], None]
) -> None:
    start(stacked)
    for folder in (stacked.queue, stacked.queue / "patches"):
        monkeypatch.chdir(folder)

        quick = quick_top()
        whole = stacked.pq("-v", "top", cwd=folder)

        assert quick == (whole.out.strip() or None)
        assert whole.code == (0 if quick else 2)


@pytest.mark.parametrize("change", BROKEN)
def test_the_quick_way_never_contradicts(
    stacked: World, monkeypatch: pytest.MonkeyPatch, change: Callable[[World], None]
) -> None:
    monkeypatch.chdir(stacked.queue)
    stacked.pq("push", "-a")
    assert quick_top() == "two.patch"
    change(stacked)

    for _ in range(2):
        quick = quick_top()
        whole = stacked.pq("-v", "top")
        assert quick is None or (whole.code, whole.out) == (0, f"{quick}\n")


@pytest.mark.parametrize("change", [_packed_refs, _foreign_commit])
def test_as_processes_they_print_the_same(stacked: World, change: Callable[[World], None]) -> None:
    stacked.pq("push", "-a")
    change(stacked)

    assert stacked.process("top") == stacked.process("-v", "top")


@pytest.mark.parametrize("name", ["a\u2028größe.patch", os.fsdecode(b"\xff.patch")])
def test_a_strange_name_is_printed_byte_for_byte(world: World, name: str) -> None:
    world.add(name, b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-line 1\n+line one\n")
    assert world.pq("push").code == 0

    printed = [
        subprocess.run(
            [sys.executable, "-m", "pq", *words], cwd=world.queue, capture_output=True, check=True, env=_latin()
        ).stdout
        for words in (("top",), ("-v", "top"))
    ]

    assert printed == [os.fsencode(name) + b"\n"] * 2


def _latin() -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": "ascii"}


def test_an_override_is_for_the_whole_pq(stacked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stacked.queue)
    stacked.pq("push", "-a")

    monkeypatch.setenv("PQ_SERIES", "v2")

    assert quick_top() is None
    assert stacked.pq("top").code == 1


def test_the_quick_way_loads_nothing_dear(stacked: World) -> None:
    stacked.pq("push", "-a")

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pq", "top"], cwd=stacked.queue, capture_output=True, check=True
    )

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert done.stdout == b"two.patch\n"
    assert "pq.cli.quick" in loaded
    assert not {name.partition(".")[0] for name in loaded} & {
        "click",
        "pygit2",
        "unidiff",
        "dataclasses",
        "subprocess",
        "asyncio",
    }


def test_in_an_empty_world_the_quick_way_has_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert quick_top() is None
