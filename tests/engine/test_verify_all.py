"""pq verify --all: what CI asks for."""

from __future__ import annotations

import json
import sys

import pytest

from tests.conftest import NUMBERS, World


@pytest.fixture
def several(stacked: World) -> World:
    """A series for each of two releases; the second was never fetched."""
    stacked.release("v2", {"numbers.txt": NUMBERS.replace(b"line 30\n", b"line thirty\n")})
    (stacked.queue / "series" / "v2").write_text("one.patch\n")
    return stacked


def test_every_series_is_proven_on_its_own_release(several: World) -> None:
    said = several.pq("verify", "--all")

    assert said.code == 0, said
    assert said.out == (
        "Series v1\nAll checks passed: one.patch, two.patch\nSeries v2\nAll checks passed: one.patch\n"
        "v1: proven, 2 patches\nv2: proven, 1 patch\n"
    )


def test_one_that_fails_does_not_keep_the_others_from_being_told(several: World) -> None:
    with several.series.open("a") as series:
        series.write("nowhere.patch\n")

    said = several.pq("verify", "--all", "--json")

    assert said.code == 1
    found = json.loads(said.out)
    assert [(each["series"], each["ending"]) for each in found["verified"]] == [("v1", "refused"), ("v2", "done")]
    faults = [fault["code"] for event in found["events"] if event["event"] == "faulty" for fault in event["faults"]]
    assert faults == ["missing"]


def test_a_rejected_one_is_told_apart(several: World) -> None:
    (several.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\ngrep -q two.patch && exit 1; exit 0\n")

    assert several.pq("verify", "--all").code == 4


def test_without_imports_it_says_what_was_left_out(several: World) -> None:
    with (several.queue / "pq.toml").open("a") as toml:
        toml.write(f'[check]\nmodules = ["nowhere"]\npython = "{sys.executable}"\n')

    said = several.pq("verify", "--all", "--budget", "0")

    assert said.code == 0, said
    assert said.err == "pq: checked in part: the modules were not imported\n" * 2
    assert "The checks that were made passed: one.patch, two.patch\n" in said.out
    assert several.pq("verify").code == 4
