"""pq.toml, broken in every way that people break it: file, line, caret, exit code 1, nothing changed."""

from __future__ import annotations

import pytest

from tests.conftest import World
from tests.laws import nothing_changed

GOOD = '[upstream]\nsource = "../upstream"\nseries = "v1"\n'

SYNTAX = {
    "[upstream\n": ("1: ", 10),
    "[upstream]\nsource = ../upstream\n": ("2: Invalid value", 10),
    '[upstream]\nsource = "../upstream\nseries = "v1"\n': ("2: ", 22),
    '[upstream]\nsource = "a"\nsource = "b"\n': ("3: Cannot overwrite a value", 13),
    "[upstream]\n[upstream]\n": ("2: ", 10),
}
MEANING = {
    "": ("1: [upstream] source is missing", 1),
    '[upstream]\nsource = "../upstream"\n': ("1: [upstream] series is missing", 1),
    '[upstream]\nsource = "../upstream"\n  series = 1\n': ("3: [upstream] series has to be a string", 3),
    '[upstream]\nsource = "../upstream"\nseries = "v1"\nbranch = "x"\n': (
        "4: [upstream] branch is not known; there are: source, ",
        1,
    ),
    GOOD + '[chekc]\nmodules = ["pkg"]\n': ("4: [chekc] is not known; there are: upstream, check", 1),
    GOOD + '[check]\nmodules = "pkg"\n': ("5: [check] modules has to be a list of strings", 1),
    GOOD + "[check]\nmodules = [1]\n": ("5: [check] modules has to be a list of strings", 1),
    GOOD + "[check]\ntimeout = 0\n": ("5: [check] timeout has to be a number of seconds above 0", 1),
    GOOD + "[check]\nidle = -1\n": ("5: [check] idle has to be a number of seconds; 0 is none", 1),
    GOOD + "[check]\ntimeout = true\n": ("5: [check] timeout has to be a number of seconds above 0", 1),
    GOOD + "[check]\n\ttimeout = 1.5 # s\n": ("5: [check] timeout has to be a number of seconds above 0", 2),
    "check = 1\n" + GOOD: ("1: [check] has to be a table", 1),
}


@pytest.mark.parametrize("text", [*SYNTAX, *MEANING])
def test_a_fault_is_shown_at_its_place(stacked: World, text: str) -> None:
    start, column = {**SYNTAX, **MEANING}[text]
    (stacked.queue / "pq.toml").write_text(text)

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    fact, line, caret, hint = said.err.splitlines()
    assert said.code == 1
    assert fact.startswith(f"pq: pq.toml:{start}")
    assert line == f"    {(text.splitlines() or [''])[int(start.partition(':')[0]) - 1]}"
    assert caret == f"{' ' * (3 + column)}^"
    assert hint == f"hint: edit line {start.partition(':')[0]} of pq.toml"


def test_a_file_that_is_no_text_is_said_to_be_none(stacked: World) -> None:
    (stacked.queue / "pq.toml").write_bytes(b'[upstream]\nsource = "\xff"\n')

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 1
    assert said.err.startswith("pq: pq.toml is not UTF-8: ")


@pytest.mark.parametrize("name", ["../v1", "a/../v1", "/v1", "v1/", "v 1", ".v1", "v1.lock", "a//b", "-v1", "v1^", "v\\1", "..."])
def test_a_series_is_a_file_and_a_branch(stacked: World, name: str) -> None:
    with nothing_changed(stacked):
        said = stacked.pq("push", f"--series={name}")

    assert said.code == 1
    assert said.err.startswith(f"pq: {name!r} can't be the name of a series\nhint: ")


def test_a_folder_called_series_is_the_place_of_series_files(stacked: World) -> None:
    """W55: a directory called `series` was taken as the series file."""
    assert (stacked.queue / "series").is_dir()

    assert stacked.pq("series").out == "one.patch\ntwo.patch\n"


def test_a_folder_where_the_series_file_should_be_is_refused(stacked: World) -> None:
    stacked.series.unlink()
    stacked.series.mkdir()

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert (said.code, said.out) == (1, "")
    assert said.err == "pq: series/v1 is a folder, not a series file\nhint: set [upstream] series in pq.toml\n"


def test_a_series_that_is_not_there_is_named(stacked: World) -> None:
    said = stacked.pq("push", "--series", "v7")

    assert said.code == 1
    assert said.err == "pq: No series file found at series/v7\nhint: there are: v1\n"


@pytest.mark.parametrize("requirements", ["hooks/{foo}", "hooks/{", "hooks/{}.txt", "hooks/{pin"])
def test_braces_in_the_requirements_are_no_trap(stacked: World, requirements: str) -> None:
    """The managed environment is asked for where modules are listed."""
    with (stacked.queue / "pq.toml").open("a") as file:
        file.write(f'[check]\nmodules = ["pkg.module"]\nrequirements = "{requirements}"\n')

    with nothing_changed(stacked):
        said = stacked.pq("push", "-a")

    assert said.code == 4
    assert f"pq: {requirements} is missing: the import check has no requirements for v1\nhint: " in said.err
