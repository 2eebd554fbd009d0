"""new, add, edit, refresh, remove, revert, diff: from edits in the checkout to patches."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.editing.conftest import change, listed, patch
from tests.laws import nothing_changed, stands_at


def test_a_patch_from_nothing(desk: World) -> None:
    assert desk.pq("new", "sub/a.patch").out == "Now at patch sub/a.patch\n"
    change(desk, 3, "three")
    (desk.checkout / "new.txt").write_text("new\n")
    assert desk.pq("add", "new.txt").out == "File new.txt added\n"

    said = desk.pq("refresh")

    assert (said.code, said.out) == (0, "Refreshed patch sub/a.patch\n")
    assert listed(desk) == ["sub/a.patch"]
    assert [line for line in patch(desk, "sub/a.patch").splitlines() if line[:1] in "+-" and line[1:3] not in ("--", "++")] == [
        "-line 3",
        "+three",
        "+new",
    ]
    stands_at(desk, "sub/a.patch")


def test_refresh_twice_changes_nothing(three: World) -> None:
    with nothing_changed(three):
        said = three.pq("refresh")

    assert (said.code, said.out) == (0, "Patch c.patch is unchanged\n")


def test_a_patch_that_was_merged_is_written_anew(three: World) -> None:
    """Its text no longer says where it stands; another tool could not tell."""
    assert three.pq("pop", "2").code == 0
    change(three, 12, "beside b")
    assert three.pq("refresh", "-z", "d.patch").code == 0
    assert three.pq("push", "-a").code == 0
    text, full = patch(three, "b.patch"), three.files()

    assert three.pq("refresh", "b").out == "Refreshed patch b.patch\n"

    assert " line 12\n" in text
    assert " beside b\n" in patch(three, "b.patch")
    assert three.files() == full
    stands_at(three, "c.patch")
    assert three.pq("refresh", "b").out == "Patch b.patch is unchanged\n"
    assert three.pq("refresh", "c").out == "Refreshed patch c.patch\n"  # its index line named the file without what is beside b
    assert three.pq("refresh", "c").out == "Patch c.patch is unchanged\n"
    for name in ("a", "d", "b", "c"):
        git(three.upstream, "apply", str(three.queue / "patches" / f"{name}.patch"))


def test_others_tools_read_what_refresh_writes(three: World) -> None:
    """Law 7: git apply, patch and git am make the same of them."""
    full = three.files()
    for command in (("git", "apply"), ("patch", "-s", "-p1", "-i"), ("git", "am", "-q")):
        git(three.upstream, "checkout", "-q", "-f", "v1")
        for name in ("a", "b", "c"):
            place = three.queue / "patches" / f"{name}.patch"
            if command[1] == "am":
                place.write_text(f"From: Ada <ada@example.org>\nSubject: {name}\n\n" + place.read_text())
            subprocess.run([*command, str(place)], cwd=three.upstream, check=True)
        assert full["f.txt"].endswith((three.upstream / "f.txt").read_bytes()), command


def test_an_edit_goes_into_a_patch_below_and_those_above_are_carried_over(three: World) -> None:
    b, c = patch(three, "b.patch"), patch(three, "c.patch")
    three.pq("new", "d.patch")
    change(three, 1, "one", name="m.py")
    three.pq("refresh")
    d = patch(three, "d.patch")
    change(three, 7, "seven")

    said = three.pq("refresh", "a")

    assert said.out == "Refreshed patch a.patch\nPatch b.patch was carried over\nPatch c.patch was carried over\n"
    assert "+seven\n" in patch(three, "a.patch")
    assert [line for line in patch(three, "b.patch").splitlines() if line[:1] in "+-"][2:] == [
        line for line in b.splitlines() if line[:1] in "+-"
    ][2:]
    assert (patch(three, "c.patch") != c, patch(three, "d.patch") == d) == (True, True)
    stands_at(three, "d.patch")


def test_patches_of_other_files_keep_their_bytes(three: World) -> None:
    """Untouched patches keep their bytes, whatever tool wrote them."""
    three.pq("new", "z.patch")
    change(three, 1, "y = 2", name="m.py")
    three.pq("refresh")
    place = three.queue / "patches" / "z.patch"
    odd = b"Odd, but mine.\n\nIndex: m.py\n===\n" + place.read_bytes().partition(b"index ")[2].partition(b"\n")[2]
    three.pq("pop")
    place.write_bytes(odd)
    assert three.pq("push").code == 0
    change(three, 30, "thirty")

    assert three.pq("refresh", "b").code == 0

    assert place.read_bytes() == odd
    stands_at(three, "z.patch")


def test_a_part_of_the_edits(three: World) -> None:
    change(three, 30, "thirty")
    change(three, 1, "y = 2", name="m.py")

    assert three.pq("refresh", "-i", "m.py").code == 0

    assert ("y = 2" in patch(three, "c.patch"), "thirty" in patch(three, "c.patch")) == (True, False)
    assert "Unrefreshed: f.txt\n" in three.pq("status").out
    assert "+thirty\n" in three.pq("diff", "-z").out


def test_edits_as_a_new_patch(three: World) -> None:
    change(three, 30, "thirty")

    said = three.pq("refresh", "-z", "d.patch")

    assert said.out == "Refreshed patch d.patch\nNow at patch d.patch\n"
    assert listed(three) == ["a.patch", "b.patch", "c.patch", "d.patch"]
    stands_at(three, "d.patch")


def test_the_text_above_the_diff_stays_as_it_is(three: World) -> None:
    text = b"From:  Ada  <ada@example.org>\r\nX: y\n\nlatin-1: \xe9\n---\n a | 1 +\n\n"
    three.pq("pop")
    place = three.queue / "patches" / "c.patch"
    place.write_bytes(text + place.read_bytes())
    three.pq("push")
    change(three, 26, "more")

    assert three.pq("refresh").code == 0

    assert place.read_bytes().startswith(text + b"diff --git a/f.txt")


@pytest.mark.parametrize("option", ["-p0", "-R"])
def test_a_refreshed_patch_is_applied_as_it_stands(three: World, option: str) -> None:
    three.pq("pop", "-a")
    diff = patch(three, "a.patch")
    if option == "-p0":
        diff = diff.replace("a/f.txt", "f.txt").replace("b/f.txt", "f.txt")
    else:
        swap = {"-": "+", "+": "-"}
        lines = [
            swap[line[0]] + line[1:] if line[:1] in swap and line[1:3] not in ("--", "++") else line for line in diff.splitlines()
        ]
        diff = "\n".join(line for line in lines if not line.startswith("index")) + "\n"
    (three.queue / "patches" / "a.patch").write_text(diff)
    three.series.write_text(three.series.read_text().replace("a.patch", f"a.patch {option} # why"))
    assert three.pq("push").code == 0
    change(three, 30, "thirty")

    assert three.pq("refresh").code == 0

    assert "a.patch # why\n" in three.series.read_text()
    assert three.pq("pop", "-a").code == 0
    assert three.pq("push", "-a").code == 0
    stands_at(three, "c.patch")


KINDS: dict[str, tuple[bytes | str | None, bytes | str | None, int]] = {
    "new": (None, b"new\n", 0o644),
    "new and empty": (None, b"", 0o644),
    "gone": (b"g\n", None, 0o644),
    "no newline at the end": (b"g\n", b"g", 0o644),
    "CRLF": (b"g\n", b"g\r\nh\r\n", 0o644),
    "latin-1": (b"g\n", b"caf\xe9\n", 0o644),
    "binary": (b"g\n", b"\0\1\2" * 50, 0o644),
    "executable": (b"g\n", b"g\n", 0o755),
    "a symlink": (b"g\n", "../f.txt", 0o644),
    "a symlink to nowhere": (None, "nowhere", 0o644),
}
NAMES = [
    "plain.txt",
    "with blank.txt",
    'quo"te.txt',
    "new\nline.txt",
    "ünïcode.txt",
    os.fsdecode(b"l\xe4tin.txt"),
    "-dash.txt",
    "#hash",
]


@pytest.mark.parametrize(("old", "new", "mode"), KINDS.values(), ids=KINDS)
def test_every_kind_of_change_goes_through(desk: World, old: bytes | None, new: bytes | str | None, mode: int) -> None:
    """new, refresh, pop, push, export to git apply, and import back: byte for byte."""
    name = "d/g.txt" if old is not None else "d/new"
    place = desk.checkout / name
    before = desk.files()
    desk.pq("new", "a.patch")
    place.unlink(missing_ok=True)
    if isinstance(new, str):
        place.symlink_to(new)
    elif new is not None:
        place.write_bytes(new)
        place.chmod(mode)
        desk.pq("add", name)
    if isinstance(new, str) and old is None:
        git(desk.checkout, "add", name)
    assert desk.pq("refresh").out == "Refreshed patch a.patch\n"
    after = desk.files()
    assert after != before

    assert desk.pq("pop").code == 0
    assert desk.files() == before
    git(desk.upstream, "apply", str(desk.queue / "patches" / "a.patch"))
    assert desk.pq("import", "-P", "again.patch", "patches/a.patch").code == 0
    assert desk.pq("push").code == 0
    assert desk.files() == after
    stands_at(desk, "again.patch")


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_every_name_goes_through(desk: World, name: str) -> None:
    desk.pq("new", "a.patch")
    Path(desk.checkout, name).write_bytes(b"x\n")
    assert desk.pq("add", "--", f".checkout/{name}").code == 0
    assert desk.pq("refresh").code == 0
    after = desk.files()

    assert desk.pq("pop").code == 0
    assert not Path(desk.checkout, name).exists()
    assert desk.pq("push").code == 0

    assert desk.files() == after
    git(desk.upstream, "apply", "--check", str(desk.queue / "patches" / "a.patch"))


def test_a_moved_file_is_a_rename(desk: World) -> None:
    desk.pq("new", "a.patch")
    git(desk.checkout, "mv", "f.txt", "d/h.txt")

    assert desk.pq("refresh").code == 0

    assert "rename from f.txt\nrename to d/h.txt\n" in patch(desk, "a.patch")
    change(desk, 3, "three", name="d/h.txt")
    assert desk.pq("refresh").code == 0
    assert "rename from f.txt\n" in patch(desk, "a.patch")
    assert desk.pq("pop").code == 0
    assert desk.pq("push").code == 0
    stands_at(desk, "a.patch")


def test_the_same_bytes_whatever_git_is_told(desk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 6; M14, M15: the user's diff settings, locale and time zone say nothing."""
    desk.pq("new", "a.patch")
    change(desk, 3, "three")
    desk.pq("refresh")
    expected = patch(desk, "a.patch")
    hostile = {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "core.abbrev": "4",
        "diff.context": "9",
        "diff.renames": "false",
        "diff.algorithm": "histogram",
        "diff.interHunkContext": "5",
        "core.quotePath": "false",
        "diff.suppressBlankEmpty": "true",
        "core.autocrlf": "true",
        "color.ui": "always",
        "diff.external": "false",
        "format.signature": "x",
        "diff.srcPrefix": "x/",
    }
    for key, value in hostile.items():
        git(desk.checkout, "config", key, value)
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    change(desk, 4, "four")
    desk.pq("refresh")
    change(desk, 4, "line 4")

    assert desk.pq("refresh").code == 0

    assert patch(desk, "a.patch") == expected


def test_diff_shows_what_it_is_asked_for(three: World) -> None:
    change(three, 30, "thirty")

    assert {line for line in three.pq("diff").out.splitlines() if line.startswith("+")} == {"+++ b/f.txt", "+c 25", "+thirty"}
    assert "c 25" not in three.pq("diff", "-z").out
    assert [word in three.pq("diff", "--combine", "b").out for word in ("+a 5", "+b 15", "+c 25", "+thirty")] == [
        False,
        True,
        True,
        True,
    ]
    assert "-thirty\n" in three.pq("diff", "-z", "-R").out
    assert three.pq("diff", "-z", "m.py").out == ""
    for words in (("--color",), ("--color=always",), ("--color", "f.txt")):
        assert "\x1b[32m+thirty\x1b[0m\n" in three.pq("diff", "-z", *words).out
    assert "\x1b" not in three.pq("diff", "-z", "--color=never").out
    assert three.pq("diff", "-z", "-P", "a").code == 64


def test_a_snapshot_is_what_stood_there(three: World) -> None:
    change(three, 30, "thirty")
    assert three.pq("snapshot").code == 0
    change(three, 31, "more")

    shown = three.pq("diff", "--snapshot").out

    assert ("+more\n" in shown, "+thirty\n" in shown) == (True, False)
    assert three.pq("snapshot", "-d").code == 0
    assert three.pq("diff", "--snapshot").code == 1


def test_revert_and_its_undo(three: World) -> None:
    change(three, 30, "thirty")
    change(three, 1, "y = 2", name="m.py")
    edited = three.files()

    assert three.pq("revert", "m.py").out == "Changes to m.py reverted\n"
    assert "m.py" not in three.pq("status").out
    assert three.pq("undo").code == 0

    assert three.files() == edited
    assert three.pq("revert", "d/g.txt").code == 2


def test_remove_takes_a_file_out_of_a_patch(three: World) -> None:
    change(three, 1, "y = 2", name="m.py")
    three.pq("refresh", "b")

    said = three.pq("remove", "-P", "b", "m.py")

    assert said.code == 0
    assert "m.py" not in patch(three, "b.patch")
    assert (three.checkout / "m.py").read_bytes() == b"x = 1\n"
    stands_at(three, "c.patch")


def test_edit_opens_an_editor_and_knows_a_new_file(desk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.pq("new", "a.patch")
    monkeypatch.setenv("EDITOR", "sh -c 'echo written >> \"$0\"'")

    assert desk.pq("edit", "made.txt").code == 0

    assert desk.pq("refresh").code == 0
    assert "+written\n" in patch(desk, "a.patch")


def test_what_can_t_be_is_refused(three: World) -> None:
    with nothing_changed(three):
        assert three.pq("new", "a.patch").code == 1
        assert three.pq("new", "../out.patch").code == 1
        assert three.pq("new", "a b.patch").code == 1
        assert three.pq("rename", "").err.startswith("pq: '' can't be the name of a patch: it is empty\n")
        assert three.pq("new", "-x").code == 64
        assert three.pq("refresh", "nix").code == 1
        assert three.pq("refresh", "-z", "d.patch").code == 2
        assert three.pq("add", "nowhere.txt").code == 1
        assert three.pq("remove", "m.py").code == 2


@pytest.mark.parametrize("words", [("refresh",), ("refresh", "-z", "d.patch"), ("refresh", "b")])
def test_a_new_file_that_is_edited_after_add(three: World, words: tuple[str, ...]) -> None:
    """The ordinary way of adding one. The index is what the files are, whatever was staged."""
    place = three.checkout / "new.txt"
    place.write_text("one\n")
    three.pq("add", "new.txt")
    place.write_text("one\ntwo\n")
    git(three.checkout, "mv", "m.py", "n.py")
    with (three.checkout / "n.py").open("a") as file:
        file.write("more = 1\n")
    (three.checkout / "int.txt").write_text("int\n")
    git(three.checkout, "add", "-N", "int.txt")

    assert three.pq(*words).code == 0

    stands_at(three, "d.patch" if "-z" in words else "c.patch")
    assert three.pq("pop", "-a").code == 0
    assert three.pq("push", "-a").code == 0


def test_staged_changes_are_edits_too(three: World) -> None:
    change(three, 30, "staged")
    git(three.checkout, "add", "f.txt")
    change(three, 31, "not staged")
    git(three.checkout, "rm", "-q", "m.py")

    assert three.pq("revert", "m.py").code == 0
    assert three.pq("refresh").code == 0

    assert ("+staged\n" in patch(three, "c.patch"), "+not staged\n" in patch(three, "c.patch")) == (True, True)
    stands_at(three, "c.patch")


def test_git_sees_an_edit_in_the_second_in_which_the_file_was_written(desk: World) -> None:
    """Of the same size, with the index written in the next second: git compares whole seconds."""

    def wait_for(fraction: float) -> None:
        time.sleep((fraction - time.time() % 1) % 1)

    wait_for(0.1)
    (desk.checkout / "m.py").write_text("x = 1\n")
    git(desk.checkout, "update-index", "--refresh")
    wait_for(0.6)
    change(desk, 1, "x = 2", name="m.py")
    (desk.checkout / "new.txt").write_text("new\n")
    wait_for(0.1)

    assert desk.pq("add", "new.txt").code == 0

    assert git(desk.checkout, "status", "--porcelain") == " M m.py\nA  new.txt\n"


def test_a_conflict_that_git_left_is_not_refreshed(three: World) -> None:
    change(three, 25, "stashed")
    git(three.checkout, "stash", "-q")
    change(three, 25, "other")
    git(three.checkout, "commit", "-qa", "--amend", "--no-edit")
    three.pq("repair")
    subprocess.run(["git", "stash", "pop"], cwd=three.checkout, capture_output=True, check=False)

    with nothing_changed(three):
        said = three.pq("refresh")

    assert (said.code, said.err.split("\n")[0]) == (5, "pq: there is a conflict in f.txt")


def test_paths_that_mean_nothing_are_named(three: World) -> None:
    change(three, 30, "thirty")

    with nothing_changed(three):
        assert three.pq("refresh", "-i", "nowhere.txt").err.startswith("pq: nowhere.txt is no file of the checkout\n")
        assert three.pq("add", "../pq.toml").err.startswith("pq: ../pq.toml is no file of the checkout\n")
        assert three.pq("revert", "nowhere.txt").code == 1
    assert three.pq("revert", ".", cwd=three.checkout).out == "Changes to f.txt reverted\n"


def test_a_patch_that_changes_nothing_any_more(three: World) -> None:
    change(three, 25, "line 25")

    assert three.pq("refresh").out == "Nothing in patch c.patch\n"

    assert patch(three, "c.patch") == ""
    stands_at(three, "c.patch")
