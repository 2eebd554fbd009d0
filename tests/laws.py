"""Laws that many tests end with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import World, git, snapshot, times


@contextlib.contextmanager
def nothing_changed(world: World) -> Iterator[None]:
    """What is done inside leaves queue, files, index, refs and HEAD as they were, to the nanosecond."""
    before = state(world)
    yield
    assert state(world) == before


def state(world: World) -> dict[str, object]:
    """All of a world that a command may change."""
    if not (world.checkout / ".git").is_dir():
        return {"queue": snapshot(world.queue)}
    queue = {name: content for name, content in snapshot(world.queue).items() if not name.startswith(".checkout/")}
    return {"queue": queue, "files": world.files(), "times": times(world.checkout), "refs": refs(world.checkout)}


def refs(checkout: Path) -> str:
    """HEAD and all refs but those of pq's own memory (what was popped, and operations)."""
    head = (checkout / ".git" / "HEAD").read_text(errors="replace")
    listed = git(checkout, "for-each-ref", "--format=%(objectname) %(refname)")
    return head + "".join(
        line
        for line in listed.splitlines(keepends=True)
        if not any(kind in line for kind in ("refs/pq/known/", "refs/pq/operations/", "refs/pq/undone/", "refs/pq/moving"))
    )


def stands_at(world: World, patch: str | None) -> None:
    """The checkout is whole: files, index and branch agree, nothing of an interrupted command is left, and pq says so."""
    said = world.pq("top")

    assert (said.code, said.out) == ((0, f"{patch}\n") if patch else (2, "")), said
    assert git(world.checkout, "status", "--porcelain", "--ignored") == ""
    assert not list(world.checkout.rglob("*.pq-new"))
    assert not (world.checkout / ".git" / "pq" / "journal.json").exists()
    assert not (world.checkout / ".git" / "index.lock").exists()
