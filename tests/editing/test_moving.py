"""float, sink, squash, spill, split, delete, rename, absorb: the same content in another order or other patches."""

from __future__ import annotations

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.laws import nothing_changed, stands_at


def _pops_and_pushes_to_the_same(world: World) -> None:
    """What every one of these ends with: the series makes the same of the release again."""
    full = world.files()
    assert world.pq("pop", "-a").code == 0
    assert world.pq("push", "-a").code == 0
    assert world.files() == full


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (("float", "a"), "bca"),
        (("float", "b"), "acb"),
        (("sink",), "cab"),
        (("sink", "b"), "bac"),
        (("sink", "c", "--to", "b"), "acb"),
    ],
)
def test_patches_change_places(three: World, words: tuple[str, ...], order: str) -> None:
    full = three.files()

    assert three.pq(*words).code == 0

    assert listed(three) == [f"{name}.patch" for name in order]
    assert three.files() == full
    stands_at(three, f"{order[-1]}.patch")
    _pops_and_pushes_to_the_same(three)


def test_what_stands_already_is_nothing_to_do(three: World) -> None:
    assert three.pq("float", "c").code == 2
    assert three.pq("sink", "a").code == 2


def test_squash_takes_patches_in(three: World) -> None:
    full = three.files()

    said = three.pq("squash", "c", "a")

    assert said.out == "Patch a.patch has taken in c.patch\nPatch b.patch was carried over\n"
    assert listed(three) == ["a.patch", "b.patch"]
    assert ("+a 5\n" in patch(three, "a.patch"), "+c 25\n" in patch(three, "a.patch")) == (True, True)
    assert not (three.queue / "patches" / "c.patch").exists()
    assert three.files() == full
    _pops_and_pushes_to_the_same(three)


def test_spill_and_refresh_are_one_another_s_way_back(three: World) -> None:
    text = patch(three, "c.patch")

    assert three.pq("spill").out == "Changes to f.txt are no longer in patch c.patch\n"
    assert "Unrefreshed: f.txt\n" in three.pq("status").out
    assert three.pq("refresh").code == 0

    assert patch(three, "c.patch") == text
    stands_at(three, "c.patch")


def test_split_by_file_and_by_hunk(three: World) -> None:
    change(three, 1, "y = 2", name="m.py")
    change(three, 38, "far")
    three.pq("refresh", "b")
    full = three.files()

    assert three.pq("split", "-P", "b", "m.patch", "m.py").out == "Patch m.patch was split off, below b.patch\n"
    assert three.pq("split", "-P", "b", "far.patch", "f.txt:2").code == 0

    assert listed(three) == ["a.patch", "m.patch", "far.patch", "b.patch", "c.patch"]
    assert [
        "+y = 2\n" in patch(three, "m.patch"),
        "+far\n" in patch(three, "far.patch"),
        "+b 15\n" in patch(three, "b.patch"),
    ] == [True] * 3
    assert "far" not in patch(three, "b.patch")
    assert three.files() == full
    _pops_and_pushes_to_the_same(three)


def test_a_split_of_nothing_or_of_all_is_refused(three: World) -> None:
    with nothing_changed(three):
        assert three.pq("split", "x.patch", "f.txt").code == 1
        assert three.pq("split", "x.patch", "f.txt:9").code == 1
        assert three.pq("split", "x.patch", "m.py").code == 1


def test_delete_carries_over_what_is_above(three: World) -> None:
    said = three.pq("delete", "-r", "b")

    assert said.out == "Removed patch b.patch\nPatch c.patch was carried over\n"
    assert listed(three) == ["a.patch", "c.patch"]
    assert not (three.queue / "patches" / "b.patch").exists()
    assert b"line 15\n" in (three.checkout / "f.txt").read_bytes()
    _pops_and_pushes_to_the_same(three)


def test_delete_and_rename_of_patches_that_are_not_applied(three: World) -> None:
    three.pq("pop", "-a")

    assert three.pq("delete", "b").code == 0
    assert three.pq("rename", "-P", "c", "sub/z.patch").out == "Patch c.patch renamed to sub/z.patch\n"

    assert listed(three) == ["a.patch", "sub/z.patch"]
    assert (three.queue / "patches" / "b.patch").exists()
    assert three.pq("push", "-a").code == 0


def test_rename_of_an_applied_patch(three: World) -> None:
    assert three.pq("rename", "-P", "b", "other.patch").code == 0

    assert three.pq("applied").out == "a.patch\nother.patch\nc.patch\n"
    assert three.pq("rename", "a.patch").code == 1
    stands_at(three, "c.patch")


def test_absorb_gives_each_change_to_the_patch_of_its_lines(three: World) -> None:
    change(three, 5, "a 5 again")
    change(three, 25, "c 25 again")
    change(three, 38, "nobody's")
    edited = three.files()

    said = three.pq("absorb")

    assert said.out == (
        "Refreshed patch a.patch\nRefreshed patch c.patch\nPatch b.patch was carried over\nUnrefreshed still: f.txt\n"
    )
    assert ("+a 5 again\n" in patch(three, "a.patch"), "+c 25 again\n" in patch(three, "c.patch")) == (True, True)
    assert three.files() == edited
    assert [line for line in three.pq("diff", "-z").out.splitlines() if line[:1] in "+-"][2:] == ["-line 38", "+nobody's"]
    assert three.pq("undo").code == 0
    assert three.files() == edited
    assert "+a 5\n" in patch(three, "a.patch")


def test_absorb_of_what_belongs_to_nobody(three: World) -> None:
    change(three, 38, "nobody's")

    with nothing_changed(three):
        assert three.pq("absorb").code == 2


def test_annotate_names_the_patch_of_each_line(three: World) -> None:
    lines = three.pq("annotate", "f.txt").out.splitlines()

    assert [lines[number - 1] for number in (4, 5, 15, 25)] == ["\tline 4", "1\ta 5", "2\tb 15", "3\tc 25"]
    assert lines[40:] == ["", "1\ta.patch", "2\tb.patch", "3\tc.patch"]
    assert three.pq("annotate", "-P", "a", "f.txt").out.splitlines()[-1] == "1\ta.patch"
    assert three.pq("annotate", "nowhere").code == 1
    change(three, 15, "edited")
    lines = three.pq("annotate", "f.txt").out.splitlines()
    assert ([lines[number - 1] for number in (5, 15, 25)], lines[41:]) == (
        ["1\ta 5", "!\tedited", "3\tc 25"],
        ["1\ta.patch", "3\tc.patch"],
    )
    assert "2\tb 15" in three.pq("annotate", "-P", "c", "f.txt").out


def test_the_graph_says_what_needs_what(three: World) -> None:
    three.pq("new", "d.patch")
    change(three, 6, "beside a")
    three.pq("refresh")

    by_files, by_lines = three.pq("graph").out, three.pq("graph", "--lines").out

    assert by_files.count("->") == 6
    assert [line.strip() for line in by_lines.splitlines() if "->" in line] == ["n3 -> n0;"]
    assert three.pq("graph", "--reduce").out.count("->") == 3
    assert '[label="f.txt"]' in three.pq("graph", "--edge-labels", "files").out


def test_a_rename_goes_and_comes_whole(three: World) -> None:
    three.pq("new", "d.patch")
    git(three.checkout, "mv", "m.py", "n.py")
    (three.checkout / "n.py").write_text("x = 1\nmore = 2\n")
    three.pq("refresh")
    assert "rename from m.py\n" in patch(three, "d.patch") or "n.py" in patch(three, "d.patch")
    full = three.files()

    assert three.pq("remove", "n.py").code == 0
    assert ((three.checkout / "m.py").exists(), (three.checkout / "n.py").exists()) in ((True, False), (False, False))
    assert three.pq("undo").code == 0

    assert three.files() == full


def test_the_comments_of_a_series_stay_with_their_patches(three: World) -> None:
    three.series.write_text(three.series.read_text().replace("c.patch", "# about c\nc.patch"))

    assert three.pq("float", "b").code == 0

    assert three.series.read_text().splitlines()[1:] == ["a.patch", "# about c", "c.patch", "b.patch"]


def test_the_folder_that_the_user_stands_in_stays(desk: World) -> None:
    (desk.checkout / "sub").mkdir()
    (desk.checkout / "sub" / "q").write_text("q\n")
    desk.pq("add", "sub/q")
    desk.pq("refresh", "-z", "q.patch")

    assert desk.pq("pop", cwd=desk.checkout / "sub").code == 0
    assert desk.pq("push", cwd=desk.checkout / "sub").code == 0
    assert desk.pq("pop").code == 0

    assert not (desk.checkout / "sub").exists()


def test_what_is_not_checked_is_said(three: World) -> None:
    said = three.pq("delete", "--no-check", "b")
    back = three.pq("undo")

    assert said.err == "pq: NOT CHECKED, as asked for: c.patch\nhint: pq check asks the hook about them\n"
    assert back.err == "pq: NOT CHECKED as it stands now: c.patch\nhint: pq check asks the hook about them\n"


def test_a_hook_that_rejects_keeps_the_checkout(three: World) -> None:
    """Law 3: where files of the checkout change, the gate is asked."""
    (three.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\nexit 1\n")

    with nothing_changed(three):
        assert three.pq("delete", "b").code == 4
    assert three.pq("float", "b").code == 0


def test_the_graph_of_many_patches_is_quick(desk: World) -> None:
    """What follows from the rest is found in one pass."""
    for number in range(1, 31):
        desk.pq("new", "-q", f"p{number}.patch")
        change(desk, number, f"p{number}")
        desk.pq("refresh", "-q")

    assert desk.pq("graph", "--reduce").out.count("->") == 29
