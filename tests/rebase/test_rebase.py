"""rebase: what becomes of each patch, what is written, and what stays as it was."""

from __future__ import annotations

import json
import tomllib

import pytest

from tests.conftest import World, git, snapshot
from tests.editing.conftest import content, patch
from tests.laws import nothing_changed, stands_at
from tests.rebase.conftest import LINES, make, outcomes, with_line


def test_each_patch_gets_its_outcome_and_a_file_of_its_own(moving: World) -> None:
    make(moving, "identical.patch", "same.txt", "same\n", "other\n")
    make(moving, "moved.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "structured.patch", "m.py", "    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n")
    make(moving, "new.patch", "added.txt", "", "text\n")
    make(moving, "landed.patch", "f.txt", "line 10\n", "ten\n")
    before = {name: data for name, data in snapshot(moving.queue).items() if "v1" in name or name.startswith("patches/")}

    done = moving.pq("rebase", "v2")

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "identical.patch: identical\n"
        "moved.patch: moved\n"
        "structured.patch: merged by structure\n"
        "new.patch: identical\n"
        "landed.patch: landed\n"
        "Series v2 is made of v1, with 4 of 5 patches, all applied\n"
    )
    assert outcomes(moving, "v2") == {
        "identical.patch": "identical",
        "moved.patch": "moved",
        "structured.patch": "merged by structure",
        "new.patch": "identical",
        "landed.patch": "landed",
    }
    commit = git(moving.upstream, "rev-parse", "v2").strip()
    assert (moving.queue / "series" / "v2").read_text().startswith(f"# pq-pin: v2 {commit}\n# pq-from: v1\n")
    assert patch(moving, "v2/identical.patch") == patch(moving, "identical.patch")
    assert "@@ -38,7 +38,7 @@" in patch(moving, "v2/moved.patch")
    assert "    ours: int = 3\n    mine: int = 4\n" in (moving.checkout / "m.py").read_text()
    assert {name: data for name, data in snapshot(moving.queue).items() if name in before} == before
    assert git(moving.checkout, "rev-parse", "--abbrev-ref", "HEAD") == "pq/v2\n"
    stands_at(moving, "v2/new.patch")


def test_pushed_anew_the_new_series_gives_the_same_commits(moving: World) -> None:
    make(moving, "moved.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "structured.patch", "m.py", "    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n")
    assert moving.pq("rebase", "v2").code == 0
    head = git(moving.checkout, "rev-parse", "HEAD")

    assert moving.pq("pop", "-a").code == 0
    git(moving.checkout, "update-ref", "-d", "refs/pq/known/v2")
    assert moving.pq("push", "-a").code == 0

    assert git(moving.checkout, "rev-parse", "HEAD") == head


def test_patches_that_are_not_applied_come_along_and_guarded_ones_are_kept(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "b.patch", "f.txt", "line 50\n", "fifty\n")
    make(moving, "c.patch", "f.txt", "line 55\n", "fifty-five\n")
    assert moving.pq("pop", "-a").code == 0
    moving.series.write_text(moving.series.read_text().replace("b.patch", "b.patch #+gpu"))

    done = moving.pq("rebase", "v2")

    assert done.out.splitlines()[-1] == "Series v2 is made of v1, with 2 of 3 patches, all applied"
    assert outcomes(moving, "v2")["b.patch"] == "held back; its guards hold it back"
    assert (moving.queue / "series" / "v2").read_text().splitlines()[-3:] == ["v2/a.patch", "v2/b.patch #+gpu", "v2/c.patch"]
    assert patch(moving, "v2/b.patch") == patch(moving, "b.patch")
    stands_at(moving, "v2/c.patch")


def test_a_patch_follows_a_file_that_upstream_renamed(moving: World) -> None:
    make(moving, "check.patch", "m.py", "    check(y)\n", "    check(y, 2)\n")

    done = moving.pq("rebase", "v3")

    assert done.out.splitlines()[0] == "check.patch: merged (m.py is n.py now)"
    assert "--- a/n.py\n+++ b/n.py\n" in patch(moving, "v3/check.patch")
    assert "check(y, 2)" in (moving.checkout / "n.py").read_text()


def test_what_has_landed_of_a_patch_is_left_out_of_it(moving: World) -> None:
    assert moving.pq("new", "both.patch").code == 0
    (moving.checkout / "f.txt").write_text(with_line(with_line(LINES, 10, "ten\n"), 50, "fifty\n"))
    assert moving.pq("refresh").code == 0

    done = moving.pq("rebase", "v2")

    assert done.out.splitlines()[0] == "both.patch: merged (hunk 1 of f.txt had landed)"
    assert patch(moving, "v2/both.patch").count("@@ ") == 1


def test_pq_toml_names_the_new_series_and_keeps_its_words(moving: World) -> None:
    toml = moving.queue / "pq.toml"
    toml.write_text(toml.read_text().replace('series = "v1"', "series = 'v1'  # what we run"))
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")

    assert moving.pq("rebase", "v2").code == 0

    assert tomllib.loads(toml.read_text())["upstream"]["series"] == "v2"
    assert "# what we run" in toml.read_text()


def test_status_shows_the_ledger(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "b.patch", "f.txt", "line 10\n", "ten\n")
    assert moving.pq("rebase", "v2").code == 0

    assert "Made of v1: 1 moved, 1 landed\n" in moving.pq("status").out
    said = json.loads(moving.pq("status", "--json").out)["status"]["ledger"]
    assert said == {
        "origin": "v1",
        "lines": [
            {"patch": "a.patch", "outcome": "moved", "note": ""},
            {"patch": "b.patch", "outcome": "landed", "note": ""},
        ],
    }


def test_undo_and_redo_go_from_series_to_series(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    old = content(moving)
    assert moving.pq("rebase", "v2").code == 0
    between = content(moving)
    assert moving.pq("pop").code == 0
    new = content(moving)

    assert moving.pq("undo").out == "Took back: pq pop\n"
    assert content(moving) == between
    assert moving.pq("undo").out == "Took back: pq rebase v2\n"
    assert content(moving) == old
    assert moving.pq("redo", "2").out == "Did again: pq rebase v2\nDid again: pq pop\n"
    assert content(moving) == new
    assert moving.pq("undo", "3").out.splitlines() == ["Took back: pq pop", "Took back: pq rebase v2", "Took back: pq refresh"]


def test_from_release_to_release_and_back(moving: World) -> None:
    make(moving, "a.patch", "m.py", "    check(y)\n", "    check(y, 2)\n")
    states = [content(moving)]
    for release in ("v2", "v3"):
        assert moving.pq("rebase", release).code == 0
        states.append(content(moving))

    assert (moving.queue / "series" / "v3").read_text().splitlines()[-1] == "v3/a.patch"
    for state in states[1::-1]:
        assert moving.pq("undo").code == 0
        assert content(moving) == state


def test_a_dry_run_says_what_happens_and_changes_nothing(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")

    with nothing_changed(moving):
        said = moving.pq("rebase", "v2", "-n")

    done = moving.pq("rebase", "v2")
    assert said.out == done.out.replace("is made", "would be made")
    assert said.code == done.code == 0


def test_step_by_step_it_comes_to_the_same(moving: World) -> None:
    make(moving, "a.patch", "m.py", "    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n")
    assert moving.pq("rebase", "v3").code == 0
    tree = git(moving.checkout, "rev-parse", "HEAD^{tree}")
    assert moving.pq("undo").code == 0

    done = moving.pq("rebase", "v3", "--step")

    assert git(moving.checkout, "rev-parse", "HEAD^{tree}") == tree
    assert done.out.splitlines()[0] == "a.patch: merged by structure (m.py is n.py now)"


def test_what_a_check_rejects_is_not_rebased(moving: World) -> None:
    make(moving, "a.patch", "m.py", "    check(y)\n", "    check(y, 2)\n")
    hook = moving.queue / "hooks" / "pre-apply"
    hook.write_text(
        '#!/bin/sh\nread patch _\nprintf \'reject\\t%s\\tno %s on %s\\n\' "$patch" "$(ls $PQ_CANDIDATE/patches/v2)" $PQ_SERIES\nexit 1\n'
    )

    with nothing_changed(moving):
        done = moving.pq("rebase", "v2")

    assert (done.code, done.err) == (
        4,
        "pq: Patch v2/a.patch is rejected by hooks/pre-apply; the checkout is not changed by it\n  no a.patch on v2\n",
    )
    unchecked = moving.pq("rebase", "v2", "--no-check")
    assert unchecked.code == 0
    assert "NOT CHECKED, as asked for: v2/a.patch" in unchecked.err


def test_edits_stay_where_the_rebase_does_not_touch_them(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    (moving.checkout / "same.txt").write_text("edited\n")
    (moving.checkout / "mine.txt").write_text("mine\n")

    assert moving.pq("rebase", "v2").code == 0
    assert (moving.checkout / "same.txt").read_text() == "edited\n"
    assert (moving.checkout / "mine.txt").read_text() == "mine\n"

    (moving.checkout / "f.txt").write_text("edited\n")
    assert moving.pq("undo").code == 5
    assert moving.pq("rebase", "v3").code == 0  # v3 has the same f.txt, and a.patch on it is the same


REFUSALS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no such release": (("rebase", "v9"), 1, "pq: There is no release v9 in ../upstream\nhint: pq releases lists"),
    "the pin itself": (("rebase", "v1"), 2, "pq: Series v1 is made for v1 already\n"),
    "no version": (("rebase",), 64, "Usage:"),
    "two things at once": (("rebase", "v2", "--abort"), 64, "Usage:"),
    "a reason for nothing": (("rebase", "v2", "-m", "x"), 64, "Usage:"),
    "nothing to go on with": (("rebase", "--continue"), 2, "pq: No command stopped at a conflict\n"),
    "steps backwards": (("rebase", "v1", "--step"), 1, "pq: v1 is no later release than v1\n"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_can_t_be_is_said(moving: World, name: str) -> None:
    words, code, said = REFUSALS[name]

    with nothing_changed(moving):
        done = moving.pq(*words)

    assert done.code == code, done
    assert done.err.startswith(said), done.err


def test_a_series_that_is_there_is_not_written_over(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    (moving.queue / "series" / "v2").write_text("# mine\n")

    refused = moving.pq("rebase", "v2")

    assert (refused.code, refused.err.splitlines()[0]) == (1, "pq: series/v2 exists already")


def test_a_patch_that_does_not_fit_its_own_release_is_named(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    assert moving.pq("pop").code == 0
    place = moving.queue / "patches" / "a.patch"
    place.write_text(place.read_text().replace("line 4", "row 4"))

    refused = moving.pq("rebase", "v2")

    assert (refused.code, refused.err) == (
        1,
        (
            "pq: Patch a.patch does not apply to v1, which the series is made for\n"
            "hint: pq verify shows why; mend it, or take it out of the series\n"
        ),
    )


def test_a_patch_without_a_diff_comes_along(moving: World) -> None:
    assert moving.pq("new", "idea.patch").code == 0
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")

    assert moving.pq("rebase", "v2").code == 0

    assert outcomes(moving, "v2") == {"idea.patch": "identical", "a.patch": "moved"}
    stands_at(moving, "v2/a.patch")


def test_patches_that_would_be_called_the_same_are_named(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "v1/a.patch", "f.txt", "line 50\n", "fifty\n")

    refused = moving.pq("rebase", "v2")

    assert (refused.code, refused.err) == (
        1,
        "pq: Patches a.patch and v1/a.patch would both be v2/a.patch\nhint: pq rename gives one of them another name\n",
    )


def test_a_rebase_is_not_taken_back_from_under_the_old_series(moving: World) -> None:
    """Nothing could redo it: the old series has another last operation by now."""
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    assert moving.pq("rebase", "v2").code == 0
    toml = moving.queue / "pq.toml"
    new = toml.read_text()
    toml.write_text(new.replace('"v2"', '"v1"'))
    assert moving.pq("setup").code == 0
    assert moving.pq("pop").code == 0
    assert moving.pq("push").code == 0
    toml.write_text(new)
    assert moving.pq("setup").code == 0

    refused = moving.pq("undo")

    assert (refused.code, refused.err.splitlines()[0]) == (5, "pq: Series v1 was worked on since v2 was made of it")
    assert (moving.queue / "series" / "v2").exists()
