"""Faults that other tools let through with exit code 0, in a push: each is caught by the cheapest check that can, before anything changes."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import World, git
from tests.laws import nothing_changed


def _parser(*names: str, last: str = "") -> str:
    calls = "".join(
        f'    parser.add_argument(\n        "--{name}",\n        type=int,\n        default=1,\n        help="a number",\n    )\n'
        for name in names
    )
    return f"def add_args(parser):\n{calls}{last}    return parser\n"


def _classes(*names: str, mine: str = "") -> str:
    return "".join(
        f"class {name}:\n    kind = 1\n\n    def first(self):\n        self.a = 1\n        self.b = 2\n        self.c = 3\n\n"
        f"    def forward(self, x):\n        x = x + 1\n        x = x * 2\n{'        self.mine = x' + chr(10) if name == mine else ''}        x = x - 3\n        return x\n\n\n"
        for name in names
    )


def _world(root: World, old: str, mine: str, new: str, *, known: bool) -> World:
    """A queue on a release with `new`, and a patch that makes `mine` of `old`, which the repository knows or does not."""
    root.release("v1", {"f.py": new.encode()})
    (root.upstream / "f.py").write_text(old)
    git(root.upstream, "commit", "-q", "--allow-empty", "-am", "old")
    (root.upstream / "f.py").write_text(mine)
    diff = git(root.upstream, "diff", "--full-index")
    git(root.upstream, "checkout", "-q", "f.py")
    root.init()
    if known:
        subprocess.run(
            ["git", "hash-object", "-w", "--stdin"], input=old.encode(), cwd=root.checkout, check=True, capture_output=True
        )
    root.add(
        "p.patch", "".join(line for line in diff.splitlines(keepends=True) if known or not line.startswith("index")).encode()
    )
    return root


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Nothing yet."""
    return World(tmp_path_factory.mktemp("world"))


def _refused(world: World, *words: str) -> str:
    with nothing_changed(world):
        said = world.pq("push", *words)
    assert said.code in (1, 4), said
    return said.err


@pytest.mark.parametrize("known", [True, False])
def test_m1_a_keyword_of_a_call_that_is_gone(root: World, known: bool) -> None:
    """patch -F2 puts it into --gamma, git apply -C1 into --alpha; both compile."""
    old = _parser("alpha", "beta", "gamma")
    mine = old.replace('"--beta",\n        type=int,\n', '"--beta",\n        type=int,\n        choices=[1, 2],\n')
    world = _world(root, old, mine, _parser("alpha", "gamma"), known=known)

    said = _refused(world)

    assert "Patch p.patch does not apply" in said
    assert "these lines were changed since" in said if known else "its lines stand nowhere" in said
    assert "Patch p.patch does not apply" in _refused(world, "--fuzz", "2")


@pytest.mark.parametrize("known", [True, False])
def test_m2_the_look_alike_class(root: World, known: bool) -> None:
    """git apply edits C0: three lines of context, and the class is not among them."""
    old, new = _classes("C0", "C1", "C2"), _classes("New", "C0", "C1", "C2")
    world = _world(root, old, _classes("C0", "C1", "C2", mine="C1"), new, known=known)

    if known:
        assert world.pq("push").code == 0
        assert (world.checkout / "f.py").read_text() == _classes("New", "C0", "C1", "C2", mine="C1")
    else:
        assert "it says that it was made for class C1:, and its lines stand in class C0:" in _refused(world)


def test_m2_without_a_heading_the_lines_stand_at_several_places(root: World) -> None:
    old, new = _classes("C0", "C1", "C2"), "import os\n\n\n" + _classes("New", "C0", "C1", "C2")
    world = _world(root, old, _classes("C0", "C1", "C2", mine="C1"), new, known=False)
    place = world.queue / "patches" / "p.patch"
    place.write_text(place.read_text().replace(" class C1:\n", "\n"))

    assert "its lines stand at 4 places, and nothing says which is meant" in _refused(world)


@pytest.mark.parametrize("known", [True, False])
def test_m3_an_option_that_upstream_took_over(root: World, known: bool) -> None:
    """It applies behind --alpha, compiles and imports; the parser dies when it is built."""
    old = _parser("alpha", "beta", "gamma", "delta")
    mine = _parser("alpha", "mine", "beta", "gamma", "delta")
    world = _world(
        root, old, mine, _parser("alpha", "beta", "gamma", "delta", last='    parser.add_argument("--mine")\n'), known=known
    )

    said = _refused(world)

    if known:
        assert "parser.add_argument('--mine') stands in add_args already, as it did not where the patch was made" in said
    else:
        assert (
            "option --mine is added twice in add_args, first in line 8, by hunk 1 (patches/p.patch:" in said
            or "[option-twice]" in said
        )


@pytest.mark.parametrize("fuzz", ["0", "2"])
def test_w4_check_and_push_have_one_matcher(root: World, fuzz: str) -> None:
    """What verify passes, push takes; what it refuses, push does."""
    old = _parser("alpha", "beta")
    world = _world(root, old, _parser("alpha", "mine", "beta"), _parser("alpha", "omega"), known=False)

    assert (world.pq("verify").code == 0) == (world.pq("push", "--dry-run").code == 0)
    assert world.pq("push", "--dry-run", "--fuzz", fuzz).code == world.pq("push", "--fuzz", fuzz).code


def test_w7_a_cut_patch_is_found_before_the_checkout_is_touched(root: World) -> None:
    old = _parser("alpha", "beta")
    world = _world(root, old, _parser("alpha", "mine", "beta"), old, known=True)
    place = world.queue / "patches" / "p.patch"
    place.write_text(place.read_text()[:-60])

    with nothing_changed(world):
        said = world.pq("push", "-a")

    assert (said.code, "patches/p.patch:" in said.err) == (1, True)
