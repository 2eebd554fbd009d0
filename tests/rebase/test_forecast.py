"""forecast: what rebase would say, of every patch on every fetched release, and nothing is touched."""

from __future__ import annotations

import contextlib
import html.parser
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pq.cli.matrix import SIGNS
from pq.core.ledger import Outcome
from tests.conftest import World
from tests.laws import nothing_changed
from tests.rebase.conftest import make, outcomes


def test_the_matrix_says_where_somebody_has_to_look(clashing: World) -> None:
    with nothing_changed(clashing):
        said = clashing.pq("forecast")

    assert (said.code, said.err) == (3, "")
    assert said.out == (
        "         2  3\n"
        "a.patch  ·  ·\n"
        "b.patch  X  X\n"
        "c.patch  ·  ·\n"
        "· moved  X conflict\n"
        "b.patch, v2 to v3:\n"
        "    f.txt:11: these lines were changed since the patch was made\n"
        "      gone since v2: line 10\n"
    )


def test_it_says_what_rebase_does(moving: World) -> None:
    """Law 11, for another command: where there is no conflict, the ledger of a rebase is the column of the forecast."""
    make(moving, "identical.patch", "same.txt", "same\n", "other\n")
    make(moving, "structured.patch", "m.py", "    two: int = 2\n", "    two: int = 2\n    mine: int = 4\n")
    make(moving, "above.patch", "m.py", "    mine: int = 4\n", "    mine: int = 5\n")
    make(moving, "landed.patch", "f.txt", "line 10\n", "ten\n")
    said = moving.pq("forecast", "--json")
    cells = json.loads(said.out)["forecast"]["cells"]

    assert said.code == 0
    for release in ("v2", "v3"):
        column = {
            cell["patch"]: cell["outcome"] + (f"; {cell['note']}" if cell["note"] else "")
            for cell in cells
            if cell["release"] == release
        }
        assert moving.pq("rebase", release).code == 0
        assert outcomes(moving, release) == column
        assert moving.pq("undo").code == 0


def test_one_process_says_what_several_say(clashing: World) -> None:
    several = clashing.pq("forecast", "--json")
    with _on_one_processor():
        assert clashing.pq("forecast", "--json") == several


@contextlib.contextmanager
def _on_one_processor() -> Iterator[None]:
    given = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(given)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, given)


def test_a_patch_that_does_not_fit_is_left_out_for_those_above_it(moving: World) -> None:
    make(moving, "low.patch", "f.txt", "line 10\n", "low\n")
    make(moving, "high.patch", "f.txt", "low\n", "high\n")
    make(moving, "other.patch", "f.txt", "line 50\n", "fifty\n")

    said = moving.pq("forecast", "v2").out.splitlines()

    assert [line.split()[-1] for line in said[1:4]] == ["X", "X", "·"]


def test_an_addition_that_is_there_in_other_words_is_landed_but_changed(moving: World) -> None:
    make(moving, "field.patch", "m.py", "    one: int = 1\n", "    one: int = 1\n    ours: int = 4\n")

    said = moving.pq("forecast", "v2")

    assert said.code == 3
    assert "C landed but changed" in said.out
    assert "field ours stands in Args already" in said.out
    assert "      the patch adds:\n        |     ours: int = 4\n      there is:\n        |     ours: int = 3\n" in said.out


def test_it_looks_at_a_series_that_the_checkout_is_not_on(clashing: World) -> None:
    assert clashing.pq("rebase", "v2").code == 3
    assert clashing.pq("rebase", "--skip").code == 0

    assert clashing.pq("forecast", "--series", "v1").code == 3
    assert clashing.pq("forecast").out.splitlines()[0].split() == ["3"]


class _Page(html.parser.HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            if key == "href" and value is not None:
                self.links.append(value)
            if key == "id" and value is not None:
                self.ids.append(value)
            if key == "src" and value is not None:
                self.loaded.append(value)


def test_the_page_needs_nothing_else_and_its_links_lead_to_reasons(clashing: World, tmp_path: Path) -> None:
    (clashing.queue / "series" / "v1").write_text(
        (clashing.queue / "series" / "v1").read_text().replace("c.patch", "c.patch # <b>")
    )
    assert clashing.pq("forecast", "--html", str(tmp_path / "f.html")).code == 3
    text = (tmp_path / "f.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)

    assert page.tags.count("tr") == 4
    assert page.loaded == []
    assert sorted({link.removeprefix("#") for link in page.links}) == sorted(page.ids) == ["p1-v2", "p1-v3"]
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert "gone since v2: line 10" in text


REFUSALS = {
    "nothing is fetched": (
        ("forecast", "--series", "v3"),
        2,
        "pq: No release behind v3 is fetched\nhint: pq fetch --all-since v3\n",
    ),
    "no such release": (("forecast", "v9"), 1, "pq: There is no release v9 in ../upstream\n"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_can_t_be_is_said(clashing: World, name: str) -> None:
    words, code, said = REFUSALS[name]
    assert clashing.pq("rebase", "v3").code == 3
    assert clashing.pq("rebase", "--skip").code == 0

    refused = clashing.pq(*words)

    assert (refused.code, refused.out) == (code, "")
    assert refused.err.startswith(said)


def test_a_file_that_a_patch_creates_may_be_there_later(moving: World) -> None:
    """What was found on one release is found again on the next one only where all that the patch looks at is the same."""
    make(moving, "new.patch", "added.txt", "", "ours\n")
    moving.release("v4", {"f.txt": b"", "added.txt": b"theirs\n"})
    assert moving.pq("fetch", "v4").code == 0

    assert moving.pq("forecast").out.splitlines()[1].split() == ["new.patch", "=", "=", "X"]


def test_every_outcome_of_a_forecast_has_a_sign() -> None:
    assert {outcome for outcome in Outcome if outcome not in SIGNS} == {Outcome.RESOLVED, Outcome.HELD}
