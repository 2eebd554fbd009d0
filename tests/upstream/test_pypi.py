"""Releases as wheels: real pip, with a folder of wheels as its index, as the user's own configuration may say."""

from __future__ import annotations

import zipfile
from pathlib import Path

import platformdirs
import pytest

from pq.upstream import pypi
from tests.conftest import MODULE, World, git
from tests.laws import stands_at

MEMBERS = {
    "toy/__init__.py": b"",
    "toy/module.py": MODULE,
    "toy/kernel.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
    "toy/data/table.txt": b"a\r\nb\n",
    "toy-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
    "toy-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "toy-1.0.dist-info/RECORD": b"",
    "toy-1.0.data/scripts/run": b"#!python\n",
}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip is configured to look in, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "toy-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in MEMBERS.items():
            wheel.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def queue(tmp_path: Path, index: Path) -> World:
    """A queue on toy 1.0, not set up."""
    assert index.is_dir()
    world = World(tmp_path)
    world.queue.mkdir()
    assert world.pq("init", "--source", "pypi:toy", "--pin", "v1.0").code == 0
    return world


def test_a_wheel_is_a_release_below_the_prefix(queue: World) -> None:
    said = queue.pq("setup")

    assert (said.code, said.out) == (0, "Checkout .checkout is ready\n"), said
    assert sorted(queue.files()) == ["python/toy/__init__.py", "python/toy/data/table.txt", "python/toy/module.py"]
    assert queue.files()["python/toy/data/table.txt"].endswith(b"a\r\nb\n")
    assert (
        queue.checkout / ".git" / "pq" / "compiled" / "v1.0" / "python" / "toy" / "kernel.cpython-311-x86_64-linux-gnu.so"
    ).is_file()
    assert (
        git(queue.checkout, "log", "--format=%an <%ae> %ad %s", "--date=iso")
        == "pq <pq@localhost> 2026-01-02 00:00:00 +0000 toy 1.0\n"
    )


def test_the_commit_is_the_same_on_every_machine(
    queue: World, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 6."""
    assert queue.pq("setup").code == 0
    other = World(tmp_path_factory.mktemp("other"))
    other.queue.mkdir()
    monkeypatch.setenv("HOME", str(other.root))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")

    assert other.pq("init", "--source", "pypi:toy", "--pin", "v1.0").code == 0
    assert other.pq("setup").code == 0

    assert other.queue.joinpath("series", "v1.0").read_bytes() == queue.queue.joinpath("series", "v1.0").read_bytes()


def test_a_patch_goes_onto_it_and_a_second_setup_asks_nobody(queue: World, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.pq("setup")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    place = queue.queue / "patches" / "a.patch"
    place.write_bytes(b"--- a/python/toy/data/table.txt\n+++ b/python/toy/data/table.txt\n@@ -1,2 +1,2 @@\n a\r\n-b\n+c\n")
    with (queue.queue / "series" / "v1.0").open("a") as series:
        series.write("a.patch\n")

    assert queue.pq("push").code == 0
    assert queue.pq("setup").out == "Checkout .checkout was ready\n"

    stands_at(queue, "a.patch")
    assert queue.files()["python/toy/data/table.txt"].endswith(b"a\r\nc\n")


def test_a_version_that_is_not_there_is_said_in_pips_words(queue: World) -> None:
    series = queue.queue / "series" / "v1.0"
    series.write_bytes(b"# pq-pin: v2.0\n")

    said = queue.pq("setup")

    assert said.code == 1
    assert said.err.startswith("pq: toy 2.0 can't be fetched: ERROR: ")
    assert "No matching distribution found for toy==2.0" in said.err
    assert not list(queue.queue.glob(".checkout*"))


def test_a_wheel_that_is_cut_is_no_release(queue: World, index: Path) -> None:
    place = next(index.glob("*.whl"))
    place.write_bytes(place.read_bytes()[:300])

    said = queue.pq("setup")

    assert said.code == 1
    assert "toy" in said.err
    assert not list(queue.queue.glob(".checkout*"))


@pytest.mark.parametrize("name", ["../../evil.so", "../evil.py", "/evil.so", "toy/.git/config"])
def test_a_wheel_writes_nothing_outside(queue: World, index: Path, name: str) -> None:
    """Law 9, for a release."""
    with zipfile.ZipFile(next(index.glob("*.whl")), "a") as wheel:
        wheel.writestr(name, b"evil")

    said = queue.pq("setup")

    assert said.code == 1
    assert f"pq: toy-1.0-py3-none-any.whl may not hold {name}: " in said.err
    assert not [place for place in queue.root.rglob("evil*") if place.is_file()]
    assert not list(queue.queue.glob(".checkout*"))


def test_what_is_no_whole_wheel_in_the_cache_is_passed_over(queue: World) -> None:
    """A fetch that was killed, or a file of somebody else's."""
    wheels = platformdirs.user_cache_path("pq") / "wheels"
    wheels.mkdir(parents=True)
    (wheels / "toy-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 cut")
    (wheels / "Aodd.whl").write_bytes(b"")

    assert queue.pq("setup").code == 0

    assert zipfile.is_zipfile(wheels / "toy-1.0-py3-none-any.whl")
    assert sorted(place.name for place in wheels.iterdir()) == ["Aodd.whl", "toy-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(("name", "version"), [("Toy", "1.0"), ("toy", "1.0.0"), ("toy", "v1.0")])
def test_a_wheel_is_found_under_any_spelling(index: Path, name: str, version: str) -> None:
    assert pypi.fetch(name, version, index, progress=pytest.fail).path.parent == index
