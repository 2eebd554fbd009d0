"""fetch, releases, outcomes, range-diff and why: commands that look at releases and at what became of patches."""

from __future__ import annotations

import json

import pytest

from tests.conftest import World, git
from tests.laws import nothing_changed
from tests.rebase.conftest import CODE, make


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Releases of which only the pin is fetched, and tags that are none."""
    world = World(tmp_path_factory.mktemp("world"))
    for tag in ("v0.9", "v1.0", "v1.1", "v2.0rc1", "v2.0.post1", "nightly"):
        world.release(tag, {"f.txt": tag.encode()})
    world.init("v1.0")
    return world


def test_releases_are_those_from_the_pin_on(fresh: World) -> None:
    assert fresh.pq("releases").out == "= v1.0\n  v1.1\n  v2.0.post1\n"
    assert fresh.pq("releases", "-a").out == "  v0.9\n= v1.0\n  v1.1\n  v2.0rc1\n  v2.0.post1\n"


def test_fetch_takes_one_or_all_since_one_or_the_newest(fresh: World) -> None:
    commit = {tag: git(fresh.upstream, "rev-parse", tag)[:12] for tag in ("v1.0", "v1.1", "v2.0.post1")}

    assert fresh.pq("fetch").out == f"Release v2.0.post1 ({commit['v2.0.post1']}) is fetched\n"
    assert fresh.pq("fetch", "1.1").out == f"Release v1.1 ({commit['v1.1']}) is fetched\n"
    assert fresh.pq("fetch", "--all-since", "v1.0").out == "".join(f"Release {tag} ({commit[tag]}) was there\n" for tag in commit)
    assert fresh.pq("releases").out == "= v1.0\n+ v1.1\n+ v2.0.post1\n"
    assert fresh.pq("fetch", "nightly").code == 0
    assert fresh.pq("releases").out.splitlines()[0] == "+ nightly"


REFUSALS = {
    "no such": (("fetch", "v1.2"), 1, "pq: There is no release v1.2 in ../upstream\nhint: did you mean v1.1 or v1.0"),
    "both": (("fetch", "v1.1", "--all-since", "v1.0"), 64, "Usage:"),
    "no rebase made it": (("outcomes",), 2, "pq: Series v1.0 was not made by a rebase\n"),
    "no such patch": (("why", "x.patch", "v1.0"), 1, "pq: Patch x.patch is not in series\n"),
    "not fetched": (("why", "x.patch", "v1.1"), 2, "pq: Release v1.1 is not fetched\nhint: pq fetch v1.1\n"),
    "no such series": (("range-diff", "v1.0", "v9"), 1, "pq: No series file found at series/v9\n"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_can_t_be_is_said(fresh: World, name: str) -> None:
    words, code, said = REFUSALS[name]

    with nothing_changed(fresh):
        refused = fresh.pq(*words)

    assert (refused.code, refused.out) == (code, ""), refused
    assert refused.err.startswith(said), refused.err


def test_outcomes_are_a_table_for_a_pull_request(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "b.patch", "m.py", "    check(y)\n", "    check(y, 2)\n")
    assert moving.pq("rebase", "v3").code == 0

    assert moving.pq("outcomes").out == "a.patch: moved\nb.patch: merged (m.py is n.py now)\n"
    assert moving.pq("outcomes", "--markdown").out == (
        "### v1 to v3\n\n| patch | outcome | |\n|---|---|---|\n| `a.patch` | moved |  |\n| `b.patch` | merged | m.py is n.py now |\n"
    )


def test_range_diff_shows_what_rebasing_changed(moving: World) -> None:
    make(moving, "a.patch", "f.txt", "line 40\n", "forty\n")
    make(moving, "b.patch", "m.py", "    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n")
    assert moving.pq("rebase", "v2").code == 0

    with nothing_changed(moving):
        said = moving.pq("range-diff", "v1", "v2")

    lines = said.out.splitlines()
    assert said.code == 0
    assert [line.split()[0] + line.split()[2] for line in lines if line[:1].isdigit()] == ["1:=", "2:!"]
    assert lines[0].endswith("a.patch")
    assert any(line.strip() == "+     ours: int = 3" for line in lines), said.out
    assert json.loads(moving.pq("range-diff", "v1", "v2", "--json").out)["range_diff"] == said.out


def test_why_says_what_upstream_did_even_where_the_patch_still_applies(moving: World) -> None:
    code = CODE.replace("    y = x + 1\n", "    y = x + 2\n").replace("return 1.0", "return 3.0")
    moving.release("v4", {"m.py": code.encode()})
    assert moving.pq("fetch", "v4").code == 0
    make(moving, "a.patch", "m.py", "    return y\n", "    return y + threshold_acc()\n")

    with nothing_changed(moving):
        said = moving.pq("why", "a", "v4")

    assert said.out == (
        "a.patch on v4: merged\n  it stands in run (m.py:9), changed in v4\n  it uses threshold_acc (m.py:15), changed in v3, v4\n"
    )


def test_why_names_what_is_gone(moving: World) -> None:
    make(moving, "a.patch", "m.py", "    return 1.0\n", "    return 2.0\n")

    said = moving.pq("why", "a.patch", "v3")

    assert said.out == (
        "a.patch on v3: conflict\n"
        "  m.py is n.py now\n"
        "  n.py: gone since v3: return 1.0\n"
        "  it stands in threshold_acc (m.py, where it is no more), changed in v3\n"
    )


def test_why_calls_it_what_forecast_calls_it(moving: World) -> None:
    make(moving, "field.patch", "m.py", "    one: int = 1\n", "    one: int = 1\n    ours: int = 4\n")

    said = moving.pq("why", "field", "v2")

    assert (said.code, said.out.splitlines()[0]) == (3, "field.patch on v2: landed but changed")
    (cell,) = json.loads(moving.pq("forecast", "v2", "--json").out)["forecast"]["cells"]
    assert cell["outcome"] == "landed but changed"


def test_why_says_that_there_is_nothing(moving: World) -> None:
    make(moving, "a.patch", "same.txt", "same\n", "other\n")

    assert (
        moving.pq("why", "a.patch", "v2").out
        == "a.patch on v2: identical\n  upstream changed nothing that it stands in or uses\n"
    )
