"""The options that every command has, before it or behind it, and the ways to say which queue is meant."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import World, git

REPORTING = [
    ("push", "-n"),
    ("push", "-a"),
    ("pop", "-a"),
    ("goto", "two"),
    ("top",),
    ("next",),
    ("previous",),
    ("series",),
    ("applied",),
    ("unapplied",),
    ("files",),
    ("patches", "numbers.txt"),
    ("show", "one"),
    ("status",),
    ("check",),
    ("verify",),
    ("setup",),
    ("init", "--source", "x", "--pin", "v1"),
    ("apply", "patches/one.patch", "--onto", "../upstream", "--check"),
]
REFUSED = [
    ("push", "nix"),
    ("goto", "nix"),
    ("files", "nix"),
    ("bogus",),
    ("push", "--bogus"),
    ("--series", "v9", "top"),
    ("--queue", "..", "top"),
]


@pytest.mark.parametrize("words", [*REPORTING, *REFUSED])
def test_json_is_one_document_whatever_happens(stacked: World, words: tuple[str, ...]) -> None:
    for first in (("pop", "-a"), ("push", "-a")):
        stacked.pq(*first)

        said = stacked.pq(*words, "--json")

        document = json.loads(said.out)
        errors = [event for event in document.get("events", ()) if event["event"] == "error"]
        assert said.code in (0, 1) or errors, said
        assert all(error["exit_code"] == said.code and error["fact"] for error in errors)


def test_json_says_what_the_sentences_say(stacked: World) -> None:
    document = json.loads(stacked.pq("push", "-a", "--json").out)

    assert [event["event"] for event in document["events"]] == ["applying", "applying", "nowat"]
    assert document["events"][0]["patch"] == "one.patch"
    assert document["events"][-1]["patch"] == "two.patch"
    assert json.loads(stacked.pq("--json", "top").out) == {"top": "two.patch"}
    assert json.loads(stacked.pq("applied", "--json").out) == {"applied": ["one.patch", "two.patch"]}
    assert [patch["top"] for patch in json.loads(stacked.pq("series", "--json").out)["series"]] == [False, True]


def test_json_shows_the_place_of_a_parse_error(stacked: World) -> None:
    stacked.series.write_bytes(b"one.patch two\n")

    said = stacked.pq("push", "--json")

    (error,) = json.loads(said.out)["events"]
    assert (said.code, said.err) == (1, "")
    assert (error["file"], error["line"], error["column"], error["text"]) == ("series/v1", 1, 11, "one.patch two")


def test_quiet_says_what_went_wrong_and_nothing_else(stacked: World) -> None:
    stacked.add("bad.patch", b"--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-not there\n+x\n")

    said = stacked.pq("-q", "push", "-a")

    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("pq: Patch bad.patch does not apply")
    assert stacked.pq("pop", "-a", "-q").out == ""
    assert stacked.pq("-q", "top").code == 2


def test_quiet_does_not_hush_an_answer(stacked: World) -> None:
    stacked.pq("push", "-q")

    assert stacked.pq("top", "-q").out == "one.patch\n"
    assert stacked.pq("-q", "series").out == "one.patch\ntwo.patch\n"


def test_verbose_names_the_files(stacked: World) -> None:
    said = stacked.pq("push", "-v")

    assert said.out == "Applying patch one.patch\n  patching file numbers.txt\nNow at patch one.patch\n"


@pytest.mark.parametrize("words", [("-v", "series"), ("series", "-v"), ("--verbose", "ser"), ("seri", "--verbose")])
def test_options_stand_before_the_command_or_behind_it(stacked: World, words: tuple[str, ...]) -> None:
    stacked.pq("push")

    assert stacked.pq(*words).out == "= one.patch\n  two.patch\n"


@pytest.mark.parametrize(
    ("prefix", "whole"), [("pu", "push"), ("po", "pop"), ("go", "goto"), ("to", "top"), ("nex", "next"), ("una", "unapplied")]
)
def test_a_unique_beginning_is_enough(stacked: World, prefix: str, whole: str) -> None:
    assert f"Usage: pq {whole} " in stacked.pq(prefix, "--help").out


def _ways(world: World) -> dict[str, tuple[tuple[str, ...], Path, dict[str, str]]]:
    """Words, the folder, and variables by which the queue is found from somewhere."""
    away = world.root / "away"
    away.mkdir()
    return {
        "from below the queue": ((), world.queue / "patches", {}),
        "from the checkout": ((), world.checkout, {}),
        "from below the checkout": ((), world.checkout / "pkg", {}),
        "-C": (("-C", "../queue"), away, {}),
        "-C, absolute": (("--directory", str(world.queue / "series")), away, {}),
        "--queue": (("--queue", "../queue"), away, {}),
        "--queue from -C": (("-C", "..", "--queue", "queue"), away, {}),
        "PQ_QUEUE": ((), away, {"PQ_QUEUE": str(world.queue)}),
        "PQ_QUEUE, relative": ((), away, {"PQ_QUEUE": "../queue"}),
        "--queue over PQ_QUEUE": (("--queue", "../queue"), away, {"PQ_QUEUE": "/nowhere"}),
        "PQ_SERIES": ((), world.queue, {"PQ_SERIES": "v1"}),
        "--series over PQ_SERIES": (("--series", "v1"), world.queue, {"PQ_SERIES": "v9"}),
    }


WAYS = [
    "from below the queue",
    "from the checkout",
    "from below the checkout",
    "-C",
    "-C, absolute",
    "--queue",
    "--queue from -C",
    "PQ_QUEUE",
    "PQ_QUEUE, relative",
    "--queue over PQ_QUEUE",
    "PQ_SERIES",
    "--series over PQ_SERIES",
]


@pytest.mark.parametrize("way", WAYS)
def test_the_queue_is_found(stacked: World, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    words, folder, variables = _ways(stacked)[way]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert stacked.pq(*words, "push", "-a", cwd=folder).code == 0

    assert stacked.pq("top", *words, cwd=folder).out == "two.patch\n"
    assert stacked.pq(*words, "patches", str(stacked.checkout / "numbers.txt"), cwd=folder).out == "one.patch\n"


def test_a_checkout_in_another_place_knows_its_queue(stacked: World) -> None:
    moved = stacked.root / "moved"
    stacked.checkout.rename(moved)
    config = stacked.queue / "pq.toml"
    config.write_text(config.read_text().replace('".checkout"', '"../moved"'))

    assert stacked.pq("push", "-a", cwd=moved / "pkg").code == 0

    assert git(moved, "status", "--porcelain") == ""
    assert stacked.pq("patches", "module.py", cwd=moved / "pkg").out == "two.patch\n"
    assert stacked.process("top").out == "two.patch\n"


def test_another_series_has_a_branch_of_its_own(stacked: World) -> None:
    (stacked.queue / "series" / "next").write_bytes(b"# pq-pin: v1\ntwo.patch\n")
    stacked.pq("push", "-a")

    drift = stacked.pq("push", "--series", "next")
    git(stacked.checkout, "switch", "-q", "-c", "pq/next", "refs/pq/releases/v1")
    pushed = stacked.pq("push", "-a", "--series", "next")

    assert (drift.code, drift.err.splitlines()[0]) == (5, "pq: The checkout is on branch pq/v1, not on pq/next")
    assert pushed.out == "Applying patch two.patch\nNow at patch two.patch\n"
    git(stacked.checkout, "switch", "-q", "pq/v1")
    assert stacked.pq("applied").out == "one.patch\ntwo.patch\n"


@pytest.mark.parametrize("words", [("push", "-a"), ("status", "--json")])
def test_a_reader_that_went_away_is_no_traceback(stacked: World, words: tuple[str, ...]) -> None:
    command = f"{sys.executable} -m pq {' '.join(words)} | true; exit ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", f"sleep 0.1; {command}"], cwd=stacked.queue, capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
