"""quilt's words and quilt's exit codes, command by command. Scripts hang on both (W74)."""

from __future__ import annotations

import pytest

from tests.conftest import NUMBERS, World
from tests.laws import nothing_changed

Said = tuple[int, str, str]
END = "File series fully applied, ends at patch two.patch"


def _said(world: World, *words: str) -> Said:
    said = world.pq(*words)
    return said.code, said.out, said.err


def test_push_and_pop_one_by_one(stacked: World) -> None:
    assert _said(stacked, "push") == (0, "Applying patch one.patch\nNow at patch one.patch\n", "")
    assert _said(stacked, "push") == (0, "Applying patch two.patch\nNow at patch two.patch\n", "")
    assert _said(stacked, "push") == (2, "", f"pq: {END}\n")
    assert _said(stacked, "pop") == (0, "Removing patch two.patch\nNow at patch one.patch\n", "")
    assert _said(stacked, "pop") == (0, "Removing patch one.patch\nNo patches applied\n", "")
    assert _said(stacked, "pop") == (2, "", "pq: No patch removed\n")
    assert _said(stacked, "pop", "-a") == (2, "", "pq: No patch removed\n")


@pytest.mark.parametrize("goal", ["2", "99", "two.patch", "two", "patches/two.patch"])
def test_push_goes_to_a_number_or_a_patch(stacked: World, goal: str) -> None:
    assert _said(stacked, "push", goal) == (0, "Applying patch one.patch\nApplying patch two.patch\nNow at patch two.patch\n", "")


@pytest.mark.parametrize("goal", ["1", "one.patch", "one"])
def test_pop_goes_down_to_a_patch_or_by_a_number(stacked: World, goal: str) -> None:
    stacked.pq("push", "-a")

    assert _said(stacked, "pop", goal) == (0, "Removing patch two.patch\nNow at patch one.patch\n", "")


def test_goto_goes_both_ways(stacked: World) -> None:
    assert _said(stacked, "goto", "two")[1].endswith("Now at patch two.patch\n")
    assert _said(stacked, "goto", "one") == (0, "Removing patch two.patch\nNow at patch one.patch\n", "")
    assert _said(stacked, "goto", "one") == (2, "", "pq: Patch one.patch is on top already\n")


def test_what_is_there_already_is_nothing_to_do(stacked: World) -> None:
    stacked.pq("push", "-a")

    with nothing_changed(stacked):
        assert _said(stacked, "push", "one") == (
            2,
            "",
            "pq: Patch one.patch is currently applied\nhint: pq goto one.patch pops what is above it\n",
        )
        assert _said(stacked, "pop", "two") == (2, "", "pq: Patch two.patch is on top already\n")


def test_pop_of_what_is_not_applied_is_an_error(stacked: World) -> None:
    stacked.pq("push")

    assert _said(stacked, "pop", "two") == (
        1,
        "",
        "pq: Patch two.patch is not applied\nhint: pq applied lists the patches that are\n",
    )


def test_names_with_nothing_applied(stacked: World) -> None:
    assert _said(stacked, "top") == (2, "", "pq: No patches applied\n")
    assert _said(stacked, "applied") == (2, "", "pq: No patches applied\n")
    assert _said(stacked, "previous") == (2, "", "pq: No patches applied\n")
    assert _said(stacked, "next") == (0, "one.patch\n", "")
    assert _said(stacked, "unapplied") == (0, "one.patch\ntwo.patch\n", "")
    assert _said(stacked, "series") == (0, "one.patch\ntwo.patch\n", "")
    assert _said(stacked, "files") == (
        2,
        "",
        "pq: No patches applied\nhint: pq push applies the next one, pq new NAME begins one\n",
    )


def test_names_in_the_middle(stacked: World) -> None:
    stacked.pq("push")

    assert _said(stacked, "top") == (0, "one.patch\n", "")
    assert _said(stacked, "applied") == (0, "one.patch\n", "")
    assert _said(stacked, "previous") == (2, "", "pq: No patch stands before one.patch\n")
    assert _said(stacked, "next") == (0, "two.patch\n", "")
    assert _said(stacked, "unapplied") == (0, "two.patch\n", "")
    assert _said(stacked, "series", "-v") == (0, "= one.patch\n  two.patch\n", "")
    assert _said(stacked, "files") == (0, "numbers.txt\n", "")


def test_names_with_all_applied(stacked: World) -> None:
    stacked.pq("push", "-a")

    assert _said(stacked, "previous") == (0, "one.patch\n", "")
    assert _said(stacked, "next") == (2, "", f"pq: {END}\n")
    assert _said(stacked, "unapplied") == (2, "", f"pq: {END}\n")
    assert _said(stacked, "series", "-v") == (0, "+ one.patch\n= two.patch\n", "")


def test_names_about_a_patch_that_is_named(stacked: World) -> None:
    assert _said(stacked, "next", "one") == (0, "two.patch\n", "")
    assert _said(stacked, "next", "two") == (2, "", "pq: No patch stands behind two.patch\n")
    assert _said(stacked, "unapplied", "two") == (2, "", "pq: No patch stands behind two.patch\n")
    assert _said(stacked, "previous", "two") == (0, "one.patch\n", "")
    assert _said(stacked, "previous", "one")[0] == 2
    assert _said(stacked, "applied", "two") == (0, "one.patch\ntwo.patch\n", "")
    assert _said(stacked, "unapplied", "one") == (0, "two.patch\n", "")
    assert _said(stacked, "unapplied", "two")[0] == 2
    assert _said(stacked, "files", "two") == (0, "pkg/module.py\n", "")


@pytest.mark.parametrize("command", ["push", "next", "unapplied"])
def test_an_empty_series_is_nothing_to_do(world: World, command: str) -> None:
    assert _said(world, command)[:2] == (2, "")
    assert "No patches in series" in _said(world, command)[2]


def test_patches_says_who_touches_a_file(stacked: World) -> None:
    stacked.pq("push")

    assert _said(stacked, "patches", "numbers.txt", "pkg/module.py") == (0, "one.patch\ntwo.patch\n", "")
    assert _said(stacked, "patches", "-v", "numbers.txt", "pkg/module.py") == (0, "= one.patch\n  two.patch\n", "")
    assert _said(stacked, "patches", ".checkout/pkg/module.py") == (0, "two.patch\n", "")
    assert _said(stacked, "patches", "nowhere.txt") == (
        2,
        "",
        "pq: No patch touches nowhere.txt\nhint: pq files PATCH lists the files of a patch\n",
    )
    assert _said(stacked, "patches", "./pkg//module.py") == (0, "two.patch\n", "")


def test_files_marks_what_is_made_and_what_goes(world: World) -> None:
    world.patch("all.patch", {"new.txt": b"new\n", "numbers.txt": None, "pkg/module.py": b"x = 1\n"})

    assert _said(world, "files", "-v", "all") == (0, "+ new.txt\n- numbers.txt\n  pkg/module.py\n", "")


def test_options_of_the_series_line_are_obeyed(world: World) -> None:
    world.patch("back.patch", {"numbers.txt": b"line 0\n" + NUMBERS})
    forward = (world.queue / "patches" / "back.patch").read_bytes()
    world.add("plain.patch", b"--- numbers.txt\n+++ numbers.txt\n@@ -1 +1 @@\n-line 1\n+line one\n")
    text = (
        world.series.read_bytes()
        .replace(b"plain.patch", b"plain.patch -p0 # from svn")
        .replace(b"back.patch\n", b"back.patch\nundo.patch -R\n")
    )
    world.series.write_bytes(text)
    (world.queue / "patches" / "undo.patch").write_bytes(forward)

    pushed = world.pq("push", "-a")

    assert pushed.code == 0, pushed
    assert world.files()["numbers.txt"].endswith(NUMBERS.replace(b"line 1\n", b"line one\n", 1))
    assert world.pq("pop", "-a").code == 0
    assert world.files()["numbers.txt"].endswith(NUMBERS)
    assert world.series.read_bytes() == text


def test_guards_hold_patches_back(stacked: World) -> None:
    text = stacked.series.read_bytes().replace(b"one.patch", b"one.patch #+gpu").replace(b"two.patch", b"two.patch #-gpu")
    stacked.series.write_bytes(text)

    assert _said(stacked, "push", "-a")[1].endswith("Applying patch two.patch\nNow at patch two.patch\n")
    assert _said(stacked, "push", "one")[0] == 1
    assert _said(stacked, "next")[0] == 2
    stacked.pq("pop", "-a")
    with (stacked.queue / "pq.toml").open("a") as file:
        file.write('guards = ["gpu"]\n')

    assert _said(stacked, "push", "-a")[1] == "Applying patch one.patch\nNow at patch one.patch\n"


def test_what_landed_is_said_in_quilts_words(stacked: World) -> None:
    """M9: quilt push of a patch already upstream: 'can be reverse-applied', exit 1."""
    stacked.add("again.patch", (stacked.queue / "patches" / "one.patch").read_bytes())

    code, out, err = _said(stacked, "push", "-a")

    assert (code, out.splitlines()[-1]) == (1, "Now at patch two.patch")
    assert "pq: Patch again.patch has landed" in err
    assert "(it can be reverse-applied)" in err


def test_an_order_changed_in_the_series_is_drift(stacked: World) -> None:
    """M9: every command of quilt but pop stops then."""
    stacked.pq("push")
    stacked.series.write_bytes(stacked.series.read_bytes().replace(b"one.patch\ntwo.patch\n", b"two.patch\none.patch\n"))

    assert _said(stacked, "push") == (
        5,
        "",
        "pq: Applied patch one.patch no longer stands where the series has it\nhint: pq pop -a, then push again\n",
    )
    assert _said(stacked, "pop")[0] == 0
    assert _said(stacked, "push", "-a")[0] == 0


def test_a_patch_file_edited_since_it_was_pushed_is_drift(stacked: World) -> None:
    """W68: edited patch file not re-applied because only the name was compared."""
    stacked.pq("push")
    place = stacked.queue / "patches" / "one.patch"
    place.write_bytes(b"More words.\n" + place.read_bytes())

    code, _, err = _said(stacked, "push")

    assert (code, err) == (5, "pq: Patch one.patch was changed since it was pushed\nhint: pq pop -a, then push again\n")
    assert (
        "Changed since it was pushed: one.patch\nhint: pq repair applies the files as they are now; so does pq pop -a, then push\n"
        in stacked.pq("status").out
    )
    assert _said(stacked, "check") == (
        0,
        "All checks passed: one.patch\n",
        "pq: changed since it was pushed, and checked as it was then: one.patch\nhint: pq check PATCH checks the files as they are now\n",
    )


def test_status_says_that_the_series_was_reordered_or_cut(stacked: World) -> None:
    stacked.pq("push", "-a")
    written = stacked.series.read_bytes()

    stacked.series.write_bytes(written.replace(b"one.patch\ntwo.patch", b"two.patch\none.patch"))
    turned = stacked.pq("status")
    stacked.series.write_bytes(written.replace(b"one.patch\n", b""))
    cut = stacked.pq("status")

    assert "Applied patch one.patch no longer stands where the series has it; pq pop -a, then push again\n" in turned.out
    assert "Applied patch one.patch is no longer in the series; pq pop -a, then push again\n" in cut.out
    assert "Changed since" not in turned.out + cut.out
