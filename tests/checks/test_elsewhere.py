"""What a patch takes away and other files still import, in a push: the files are not the patch's, the fault is."""

from __future__ import annotations

import pytest

from tests.conftest import World
from tests.laws import nothing_changed

FILES = {
    "pkg/__init__.py": b"try:\n    Here = 1\nfinally:\n    pass\n",
    "pkg/there.py": b"import os\nfrom pkg.base import (\n    deep,\n    flat,\n)\n\n\ndef used(): pass\n\n\nclass Kept:\n    def used(self): pass\n",
    "pkg/base.py": b"deep = 1\nflat = 2\n",
    "pkg/user.py": b"from pkg.there import Kept, used, deep, os\n",
    "pkg/ready.py": b"try:\n    from pkg.there import used, deep\nexcept ImportError:\n    used = None\n",
    "pkg/sub/near.py": b"from .. import Here\n",
    "pkg/sub/below.py": b"def late():\n    from ..there import used\n",
    "pkg/broken.py": b"from pkg.there import gone_long_ago\n",
}


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A package, and no patch."""
    made = World(tmp_path_factory.mktemp("world"))
    made.release("v1", FILES)
    made.init()
    return made


def _changed(old: str, new: str) -> dict[str, bytes | None]:
    text = FILES["pkg/there.py"].decode()
    assert old in text
    return {"pkg/there.py": text.replace(old, new).encode()}


CASES: dict[str, tuple[dict[str, bytes | None], list[str], str]] = {
    "a function": (_changed("def used(): pass", "def other(): pass"), ["pkg/user.py:1", "pkg/sub/below.py:2"], "no used"),
    "what it imports from elsewhere": (_changed("    deep,\n", ""), ["pkg/user.py:1"], "no deep"),
    "a module that it imports": (_changed("import os\n", ""), ["pkg/user.py:1"], "no os"),
    "what a package has": ({"pkg/__init__.py": b""}, ["pkg/sub/near.py:1"], "no Here"),
    "the module": (
        {"pkg/there.py": None},
        ["pkg/user.py:1", "pkg/sub/below.py:2", "pkg/broken.py:1"],
        "no module pkg.there",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_others_import_is_missed(world: World, case: str) -> None:
    files, places, reason = CASES[case]
    world.patch("p.patch", files)

    with nothing_changed(world):
        said = world.pq("push")

    assert said.code == 4
    assert [f"  {place}: " in said.err for place in places] == [True] * len(places), said.err
    assert said.err.count(reason) == len(places), said.err
    assert "ready.py" not in said.err
    assert "gone_long_ago" not in said.err or "pkg/broken.py:1" in places


@pytest.mark.parametrize(
    "files",
    [
        _changed("    def used(self): pass", "    def other(self): pass"),
        _changed("def used(): pass", "used = print"),
        _changed("    flat,\n", ""),
        {"pkg/there.py": None, "pkg/there/__init__.py": FILES["pkg/there.py"]},
    ],
    ids=["a method", "in other words", "what nobody imports", "a module that becomes a package"],
)
def test_what_nobody_misses_may_go(world: World, files: dict[str, bytes | None]) -> None:
    world.patch("p.patch", files)

    assert world.pq("push").code == 0


def test_what_a_later_patch_sets_right_is_right(world: World) -> None:
    world.patch("one.patch", _changed("def used(): pass", "def other(): pass"))
    world.patch(
        "two.patch",
        {
            "pkg/user.py": b"from pkg.there import Kept, other, deep, os\n",
            "pkg/sub/below.py": b"def late():\n    from ..there import other\n",
        },
    )

    assert world.pq("push", "-a").code == 0


@pytest.mark.parametrize("way", ["queue", "patch"])
def test_it_can_be_switched_off(world: World, way: str) -> None:
    header = b"Pq-Allow: no-name\n" if way == "patch" else b""
    world.patch("p.patch", _changed("def used(): pass", "def other(): pass"))
    place = world.queue / "patches" / "p.patch"
    place.write_bytes(header + place.read_bytes())
    if way == "queue":
        with (world.queue / "pq.toml").open("a") as file:
            file.write('[check]\noff = ["no-name"]\n')

    assert world.pq("push").code == 0
