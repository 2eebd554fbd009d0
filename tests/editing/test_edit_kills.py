"""Law 5 for commands that edit: killed anywhere, checkout, series and patch files are the old ones together, or the new ones."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change
from tests.laws import state
from tests.repo.dying import deaths

WORDS: dict[str, tuple[str, ...]] = {
    "refresh": ("refresh", "a"),
    "delete": ("delete", "-r", "b"),
    "undo": ("undo",),
    "new": ("refresh", "-z", "d.patch"),
}


@pytest.fixture
def edited(three: World) -> World:
    """Three patches, and edits on top: of a patched file, and a new file."""
    change(three, 35, "edited")
    change(three, 1, "y = 2", name="m.py")
    (three.checkout / "new.txt").write_text("new\n")
    assert three.pq("add", "new.txt").code == 0
    return three


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_killed_anywhere_it_is_the_old_state_or_the_new(edited: World, words: tuple[str, ...], number: signal.Signals) -> None:
    if words[0] in ("delete", "undo"):
        assert edited.pq("refresh").code == 0
    old = _state(edited)
    kept = edited.root / "kept"
    shutil.copytree(edited.queue, kept, symlinks=True)
    ends = set()

    for point in deaths(words, edited.queue, number, step=3):
        edited.pq("status")
        now = _state(edited)
        ends.add(str(now))
        assert not [place for place in edited.queue.rglob("*.pq-new") if ".git" not in place.parts], point
        _set_back(kept, edited.queue)

    new = _state(edited)
    assert ends <= {str(old), str(new)}
    assert str(old) in ends


def _state(world: World) -> dict[str, object]:
    """All but file times; and what git says of the files."""
    found = {key: value for key, value in state(world).items() if key != "times"}
    return found | {"status": git(world.checkout, "status", "--porcelain")}


def _set_back(kept: Path, queue: Path) -> None:
    shutil.rmtree(queue)
    shutil.copytree(kept, queue, symlinks=True)
