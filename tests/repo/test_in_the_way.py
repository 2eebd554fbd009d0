"""What stands in the way of a move is named, kept, and refused before anything changes (law 1)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NUMBERS, World, git
from tests.laws import nothing_changed

MINE = b"mine, not pq's\n"


def _dirty(checkout: Path) -> None:
    (checkout / "numbers.txt").write_bytes(NUMBERS + MINE)


def _staged(checkout: Path) -> None:
    """Staged, and then taken back in the file, so that only the index knows."""
    (checkout / "numbers.txt").write_bytes(NUMBERS + MINE)
    git(checkout, "add", "numbers.txt")
    (checkout / "numbers.txt").write_bytes(NUMBERS)


def _removed(checkout: Path) -> None:
    (checkout / "numbers.txt").unlink()


def _executable(checkout: Path) -> None:
    (checkout / "numbers.txt").chmod(0o755)


def _folder(checkout: Path) -> None:
    (checkout / "numbers.txt").unlink()
    (checkout / "numbers.txt").mkdir()
    (checkout / "numbers.txt" / "mine").write_bytes(MINE)


def _symlink(checkout: Path) -> None:
    (checkout / "numbers.txt").rename(checkout / "elsewhere")
    (checkout / "numbers.txt").symlink_to("elsewhere")


def _pipe(checkout: Path) -> None:
    (checkout / "numbers.txt").unlink()
    os.mkfifo(checkout / "numbers.txt")


@pytest.mark.parametrize("obstacle", [_dirty, _staged, _removed, _executable, _folder, _symlink])
def test_a_changed_file_that_a_patch_touches_is_in_the_way(stacked: World, obstacle: Callable[[Path], None]) -> None:
    obstacle(stacked.checkout)

    with nothing_changed(stacked):
        pushed = stacked.pq("push", "-a")

    assert pushed.code == 5
    assert pushed.err.startswith("pq: unrefreshed changes are in the way: numbers.txt\nhint: ")


def _file(place: Path) -> None:
    place.write_bytes(MINE)


def _full_folder(place: Path) -> None:
    place.mkdir()
    (place / "mine").write_bytes(MINE)


def _folder_of_links(place: Path) -> None:
    place.mkdir()
    (place / "link").symlink_to("/")


def _dangling(place: Path) -> None:
    place.symlink_to("nowhere")


@pytest.mark.parametrize("obstacle", [_file, _full_folder, _folder_of_links, _dangling, os.mkfifo])
def test_what_is_untracked_where_a_patch_makes_a_file_is_in_the_way(world: World, obstacle: Callable[[Path], None]) -> None:
    world.patch("new.patch", {"new.txt": b"new\n"})
    obstacle(world.checkout / "new.txt")
    kind = (world.checkout / "new.txt").lstat().st_mode

    pushed = world.pq("push")

    assert pushed.code == 5, pushed
    assert "unrefreshed changes are in the way: new.txt" in pushed.err
    assert (world.checkout / "new.txt").lstat().st_mode == kind
    assert world.pq("top").code == 2


def test_an_empty_folder_holds_no_bytes_and_gives_way(world: World) -> None:
    world.patch("new.patch", {"new.txt": b"new\n"})
    (world.checkout / "new.txt" / "empty").mkdir(parents=True)

    assert world.pq("push").code == 0

    assert (world.checkout / "new.txt").read_bytes() == b"new\n"


def test_an_untracked_file_where_a_patch_needs_a_folder_is_in_the_way(world: World) -> None:
    world.patch("new.patch", {"deep/er/new.txt": b"new\n"})
    (world.checkout / "deep").write_bytes(MINE)

    with nothing_changed(world):
        pushed = world.pq("push")

    assert pushed.code == 5
    assert "in the way: deep\n" in pushed.err


def test_nothing_is_said_to_be_applied_where_edits_are_in_the_way(stacked: World) -> None:
    (stacked.checkout / "numbers.txt").write_bytes(b"mine\n")

    said = stacked.pq("push", "-a", "--no-check")

    assert (said.code, said.out) == (5, "")
    place = stacked.checkout
    assert said.err == (
        "pq: unrefreshed changes are in the way: numbers.txt\n"
        f"hint: git -C {place} stash puts them aside, git -C {place} diff HEAD shows them\n"
    )


def test_nothing_is_said_to_be_applied_where_a_later_patch_cant_be_read(stacked: World) -> None:
    stacked.add("cut.patch", b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n cut\n")

    said = stacked.pq("push", "-a")

    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("pq: patches/cut.patch:3: the hunk is cut")


def test_no_patch_writes_through_a_symlinked_folder_made_by_hand(stacked: World) -> None:
    """Law 9: the folder of a patched file was moved out of the checkout and linked to."""
    outside = stacked.root / "outside"
    shutil.move(stacked.checkout / "pkg", outside)
    (stacked.checkout / "pkg").symlink_to(outside)
    before = (outside / "module.py").read_bytes()

    with nothing_changed(stacked):
        pushed = stacked.pq("push", "-a")

    assert pushed.code == 5
    assert "in the way: pkg\n" in pushed.err
    assert (outside / "module.py").read_bytes() == before


def test_pop_names_what_is_in_the_way_and_claims_nothing(stacked: World) -> None:
    stacked.pq("push", "-a")
    with (stacked.checkout / "numbers.txt").open("ab") as file:
        file.write(MINE)

    with nothing_changed(stacked):
        popped = stacked.pq("pop", "-a")

    assert (popped.code, popped.out) == (5, "")
    assert "in the way: numbers.txt\n" in popped.err


def test_pop_keeps_an_ignored_file_in_a_folder_that_goes(world: World) -> None:
    """Law 1: the folder stays when something in it is the user's."""
    world.patch("new.patch", {"deep/new.txt": b"new\n", ".gitignore": b"*.log\n"})
    world.pq("push")
    (world.checkout / "deep" / "run.log").write_bytes(MINE)

    popped = world.pq("pop")

    assert popped.code == 0
    assert (world.checkout / "deep" / "run.log").read_bytes() == MINE
    assert not (world.checkout / "deep" / "new.txt").exists()


def test_git_at_work_in_the_checkout_is_waited_for(stacked: World) -> None:
    (stacked.checkout / ".git" / "index.lock").touch()

    with nothing_changed(stacked):
        pushed = stacked.pq("push", "-a")

    assert pushed.code == 5
    assert "git is at work in the checkout (index.lock exists)" in pushed.err


def test_files_that_git_does_not_know_are_put_aside_by_what_the_hint_says(world: World) -> None:
    world.patch("new.patch", {"new.txt": b"new\n"})
    (world.checkout / "new.txt").write_bytes(b"mine\n")
    said = world.pq("push")
    assert said.code == 5

    git(world.root, *said.err.partition("hint: git ")[2].partition(" puts")[0].split())

    assert world.pq("push").code == 0
