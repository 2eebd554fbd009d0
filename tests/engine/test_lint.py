"""pq lint: what is wrong with a queue, and what of that is mended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.conftest import MODULE, NUMBERS, World, git
from tests.laws import nothing_changed, stands_at

_TEXT = b"Subject: what it does\n\n"


@pytest.fixture
def stacked(stacked: World) -> World:
    """Two patches that say what they do."""
    for name in ("one.patch", "two.patch"):
        place = stacked.queue / "patches" / name
        place.write_bytes(_TEXT + place.read_bytes())
    return stacked


def _edit(world: World, name: str, old: str, new: str) -> None:
    place = world.queue / name
    text = place.read_bytes().decode()
    assert re.search(old, text, re.MULTILINE)
    place.write_bytes(re.sub(old, new, text, flags=re.MULTILINE).encode())


def _faults(world: World) -> list[tuple[str, str, int | None]]:
    found = json.loads(world.pq("lint", "--json").out)["lint"]["faults"]
    return [(each["code"], each["file"], each["line"]) for each in found]


def test_a_queue_without_faults(stacked: World) -> None:
    with nothing_changed(stacked):
        said = stacked.pq("lint")

    assert (said.code, said.out) == (0, "No faults in 2 patches of 1 series\n")


def _unlisted(world: World) -> None:
    (world.queue / "patches" / "three.patch").write_bytes(b"")


def _missing(world: World) -> None:
    with world.series.open("a") as series:
        series.write("three.patch\n")


def _twice(world: World) -> None:
    with world.series.open("a") as series:
        series.write("one.patch\n")


def _series_line(world: World) -> None:
    with world.series.open("a") as series:
        series.write("three.patch p1\n")


def _out(world: World) -> None:
    with world.series.open("a") as series:
        series.write("../../etc/passwd\n")


def _link(world: World) -> None:
    place = world.queue / "patches" / "one.patch"
    place.rename(world.root / "one.patch")
    place.symlink_to(world.root / "one.patch")


def _left(world: World) -> None:
    (world.queue / "patches" / "one.patch.orig").write_bytes(b"")
    (world.queue / "series" / "v1.rej").write_bytes(b"")
    (world.checkout / "pkg" / "module.py.rej").write_bytes(b"")


def _stale(world: World) -> None:
    _edit(world, "patches/two.patch", r"^index [0-9a-f]{40}", f"index {'1' * 40}")


def _scope(world: World) -> None:
    _edit(world, "patches/two.patch", r"^@@ (.*) @@.*$", r"@@ \1 @@ third")


@pytest.mark.parametrize(
    ("make", "faults", "code"),
    [
        (_unlisted, [("unlisted", "patches/three.patch", None)], 1),
        (_missing, [("missing", "series/v1", 4)], 1),
        (_twice, [("listed-twice", "series/v1", 4)], 1),
        (_series_line, [("series-line", "series/v1", 4)], 1),
        (_out, [("unsafe-path", "series/v1", 4)], 1),
        (_link, [("unsafe-path", "patches/one.patch", None)], 1),
        (
            _left,
            [
                ("left-behind", ".checkout/pkg/module.py.rej", None),
                ("left-behind", "patches/one.patch.orig", None),
                ("left-behind", "series/v1.rej", None),
            ],
            1,
        ),
        (_stale, [("stale-base", "patches/two.patch", 3)], 0),
        (_scope, [("scope-line", "patches/two.patch", 7)], 0),
    ],
)
def test_each_fault_at_its_place(
    stacked: World, make: Callable[[World], None], faults: list[tuple[str, str, int | None]], code: int
) -> None:
    make(stacked)

    said = stacked.pq("lint")

    assert _faults(stacked) == faults
    assert (said.code, stacked.pq("lint", "--strict").code) == (code, 1)
    for name, file, line in faults:
        assert re.search(
            rf"^{re.escape(file)}{f':{line}' if line else ''}: (error|warning): .+ \[{name}\]$", said.out, re.MULTILINE
        )


def test_lint_sees_through_a_fault_to_the_others(stacked: World) -> None:
    _twice(stacked)
    _left(stacked)

    assert len(_faults(stacked)) == 4


def test_what_has_one_right_answer_is_mended_as_one_operation(stacked: World) -> None:
    stacked.pq("push", "-a")
    _edit(stacked, "series/v1", r"\Z", "two.patch\n")
    before = (stacked.series.read_bytes(), (stacked.queue / "patches" / "two.patch").read_bytes())

    assert stacked.pq("lint").out.splitlines()[-1] == "hint: pq lint --fix mends 1 of them"
    said = stacked.pq("lint", "--fix")

    assert said.out == "Mended series/v1\nNo faults in 2 patches of 1 series\n"
    assert stacked.series.read_bytes() == before[0].removesuffix(b"two.patch\n")
    stands_at(stacked, "two.patch")


def test_applied_patches_are_mended_with_their_commits(stacked: World) -> None:
    """A fault that came with the patch, when it was pushed: files stay as they are, and nothing is to be repaired."""
    _edit(stacked, "patches/one.patch", r"^ line 4$", " line 4")
    _scope(stacked)
    stacked.add("three.patch", _TEXT + _on_three(stacked))
    assert stacked.pq("push", "-a", "--no-check").code == 0
    files, faulty = stacked.files(), (stacked.queue / "patches" / "two.patch").read_bytes()

    said = stacked.pq("lint", "--fix")

    assert said.code == 0, said
    assert said.out.startswith("Mended patches/three.patch\nMended patches/two.patch\n")
    assert b"@@ second\n" in (stacked.queue / "patches" / "two.patch").read_bytes()
    assert (stacked.files(), stacked.pq("repair").code, _faults(stacked)) == (files, 2, [])
    stands_at(stacked, "three.patch")
    assert stacked.pq("undo").code == 0
    assert (stacked.queue / "patches" / "two.patch").read_bytes() == faulty
    stands_at(stacked, "three.patch")


def _on_three(world: World) -> bytes:
    """A patch whose empty context lines have lost their space."""
    text = MODULE.replace(b"return 3", b"return 30")
    world.patch("made.patch", {"pkg/module.py": text}, on="HEAD")
    made = (world.queue / "patches" / "made.patch").read_bytes()
    (world.queue / "patches" / "made.patch").unlink()
    _edit(world, "series/v1", r"^made.patch\n", "")
    stripped = re.sub(rb"^ $", b"", made, flags=re.MULTILINE)
    assert stripped != made
    return re.sub(rb"^index .*\n", b"", stripped, flags=re.MULTILINE)


def test_with_counts_and_endings_that_a_tool_broke_the_series_is_pushed_again(stacked: World) -> None:
    for name, old, new in (("one", r"^@@ -2,7 \+2,7 @@", "@@ -2,5 +2,3 @@"), ("two", r"\n", "\r\n")):
        _edit(stacked, f"patches/{name}.patch", old, new)
    assert stacked.pq("push", "-a").code == 1
    assert [code for code, _, _ in _faults(stacked)] == ["counts", "crlf"]

    assert stacked.pq("lint", "--fix").code == 0

    assert stacked.pq("push", "-a").code == 0
    assert (stacked.checkout / "numbers.txt").read_bytes() == NUMBERS.replace(b"line 5\n", b"line five\n")


def test_an_applied_patch_that_a_tool_broke_is_what_it_was(stacked: World) -> None:
    stacked.pq("push", "-a")
    place = stacked.queue / "patches" / "one.patch"
    pushed = place.read_bytes()
    _edit(stacked, "patches/one.patch", r"^@@ -2,7 \+2,7 @@", "@@ -2,5 +2,3 @@")

    assert stacked.pq("lint", "--fix").code == 0

    assert place.read_bytes() == pushed
    assert stacked.pq("repair").code == 2


def test_a_series_whose_release_is_not_there_is_said(stacked: World) -> None:
    (stacked.queue / "series" / "v2").write_text("one.patch\n")

    said = stacked.pq("lint")

    assert (said.code, said.out.splitlines()[0]) == (0, "Not compared with its release, which is not in the checkout: v2")


def test_without_a_checkout_what_can_be_seen_is_said(stacked: World) -> None:
    git(stacked.root, "-C", str(stacked.checkout), "worktree", "prune")
    stacked.checkout.rename(stacked.root / "elsewhere")
    _unlisted(stacked)

    said = stacked.pq("lint")

    assert said.code == 1
    assert "patches/three.patch: error: no series lists it [unlisted]\n" in said.out


def test_overdue_patches_are_named(stacked: World) -> None:
    _edit(stacked, "patches/one.patch", r"^Subject: (.*)$", r"Subject: \1\nPq-Review-By: 2020-02-02")

    said = stacked.pq("lint")

    assert (said.code, said.out.splitlines()[0]) == (
        0,
        "patches/one.patch:2: warning: it was to be reviewed by 2020-02-02 [overdue]",
    )


def test_what_can_not_be_proven_is_not_mended(stacked: World) -> None:
    """A patch below that can't be read, or a release that is not there: nobody knows what it makes now."""
    _edit(stacked, "patches/one.patch", r"^@@ -2,7 \+2,7 @@", "@@ -2,9 +2,9 @@")
    _edit(stacked, "patches/two.patch", r"\n", "\r\n")
    before = (stacked.queue / "patches" / "two.patch").read_bytes()

    said = stacked.pq("lint", "--fix")

    assert (said.code, "Not mended, for what they make can't be proven" in said.out, "Mended" in said.out) == (1, True, False)
    assert (stacked.queue / "patches" / "two.patch").read_bytes() == before


def test_left_behind_beside_pq_toml(stacked: World) -> None:
    (stacked.queue / "lines.rej").touch()

    assert "lines.rej: error: a tool has left it behind [left-behind]\n" in stacked.pq("lint").out


def test_refresh_names_the_base_anew(stacked: World) -> None:
    """The way out that is named for stale-base, where nothing else is to be refreshed."""
    stacked.pq("push", "-a")
    _edit(stacked, "patches/two.patch", r"^index [0-9a-f]{7}", "index 1234567")
    stacked.pq("repair")
    assert "[stale-base]" in stacked.pq("lint").out

    assert stacked.pq("refresh").out == "Refreshed patch two.patch\n"

    assert "[stale-base]" not in stacked.pq("lint").out
    assert stacked.pq("refresh").out == "Patch two.patch is unchanged\n"
