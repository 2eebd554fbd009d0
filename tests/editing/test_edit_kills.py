"""Law 5 for commands that edit: killed anywhere, checkout, series and patch files are the old ones together, or the new ones."""

from __future__ import annotations

import shutil
import signal

import pytest

from tests.conftest import World
from tests.editing.conftest import change, content, set_back
from tests.proof.stopper import deaths

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
    old = content(edited)
    kept = edited.root / "kept"
    shutil.copytree(edited.queue, kept, symlinks=True)
    ends = set()

    for point in deaths(words, edited.queue, number, step=10):
        edited.pq("status")
        now = content(edited)
        ends.add(str(now))
        assert not [place for place in edited.queue.rglob("*.pq-new") if ".git" not in place.parts], point
        set_back(kept, edited.queue)

    new = content(edited)
    assert ends <= {str(old), str(new)}
    assert str(old) in ends


def test_an_interrupted_command_can_be_undone(edited: World) -> None:
    """Killed behind the commit point it is done, and undo takes it back; killed before, there is nothing of it."""
    old = {key: content(edited)[key] for key in ("queue", "files")}
    kept = edited.root / "kept"
    shutil.copytree(edited.queue, kept, symlinks=True)
    undone = 0

    for point in deaths(("refresh", "a"), edited.queue, signal.SIGKILL, step=7):
        if edited.pq("log", "-n", "1").out.endswith("pq refresh a\n"):
            assert edited.pq("undo").code == 0, point
            undone += 1
        assert {key: content(edited)[key] for key in old} == old, point
        set_back(kept, edited.queue)

    assert undone
