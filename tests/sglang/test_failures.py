"""The three real failures that pq exists for (design, section 1), on the real sglang: rejected before the checkout changes."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from pq.engine import checking
from pq.upstream import pypi
from tests.conftest import PROJECT, Result, World, git, snapshot, times

pytestmark = [pytest.mark.sglang, pytest.mark.usefixtures("user_cache")]

FILE = "python/sglang/srt/server_args.py"
FIELD = b"    speculative_accept_threshold_acc: float = 1.0\n"
NEW_FIELD = b"    mine: int = 0\n"
CALL = b'        parser.add_argument(\n            "--speculative-accept-threshold-acc",\n            type=float,\n'
NEW_CALL = b'        parser.add_argument(\n            "--mine",\n            type=int,\n            default=ServerArgs.mine,\n        )\n'


class SGLang(World):
    """A queue like this repository's, on a release of sglang, with no patches yet."""

    @property
    def series(self) -> Path:
        """The series file."""
        return next((self.queue / "series").iterdir())

    @property
    def checkout(self) -> Path:
        """The checkout."""
        return self.queue / ".checkout" / "sglang"

    def rejects(self, name: str, content: bytes) -> Result:
        """Push a patch that must not get in: nothing in the checkout may change."""
        self.add(name, content)
        files, stamps, head = snapshot(self.checkout), times(self.checkout), git(self.checkout, "rev-parse", "HEAD")
        pushed = self.pq("push", "-a")
        assert (snapshot(self.checkout), times(self.checkout), git(self.checkout, "rev-parse", "HEAD")) == (files, stamps, head)
        return pushed


def start(root: Path, release: str) -> SGLang:
    made = SGLang(root)
    made.queue.mkdir()
    text = (PROJECT / "pq.toml").read_text(encoding="utf-8").replace("v0.5.9", release)
    if release != "v0.5.9":
        text = re.sub(r"modules = .*\n", "", text)  # there is no environment for that pin yet
    (made.queue / "pq.toml").write_text(text, encoding="utf-8")
    shutil.copytree(PROJECT / "hooks", made.queue / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    (made.queue / "series").mkdir()
    (made.queue / "series" / release).write_text(f"# pq-pin: {release}\n", encoding="utf-8")
    assert made.pq("setup").code == 0
    return made


@pytest.fixture
def sglang(tmp_path: Path) -> SGLang:
    return start(tmp_path, "v0.5.9")


def changed(world: SGLang, *, field: bool, call: str) -> bytes:
    """The diff that adds a field and an argument: `call` is "inside" the call of another, "behind" it, or "" for none."""
    place = world.checkout / FILE
    old = place.read_bytes()
    new = old.replace(FIELD, FIELD + NEW_FIELD) if field else old
    if call == "inside":
        new = new.replace(CALL, CALL + NEW_CALL)
    elif call == "behind":
        end = new.index(b"        )\n", new.index(CALL)) + len(b"        )\n")
        new = new[:end] + NEW_CALL + new[end:]
    place.write_bytes(new)
    diff = git(world.checkout, "diff", "--full-index").encode()
    git(world.checkout, "checkout", "-q", ".")
    return diff


def test_an_argument_inside_the_call_of_another_is_a_syntax_error(sglang: SGLang) -> None:
    pushed = sglang.rejects("inside.patch", changed(sglang, field=True, call="inside"))

    assert pushed.code == 4
    assert (
        f"{FILE}:3981: SyntaxError: invalid syntax. Perhaps you forgot a comma?, by hunk 2 (patches/inside.patch:13)"
        in pushed.err
    )
    assert "            parser.add_argument(\n              ^" in pushed.err


def test_a_field_without_an_argument_is_found_by_the_probe(sglang: SGLang) -> None:
    pushed = sglang.rejects("field.patch", changed(sglang, field=True, call=""))

    assert pushed.code == 4
    assert f"{FILE}:476: probe server_args.py" in pushed.err
    assert "the field mine of ServerArgs has no argument" in pushed.err
    assert "by hunk 1 (patches/field.patch:5) [probe]" in pushed.err


def test_a_field_without_the_argument_that_its_patch_expects_costs_no_import(sglang: SGLang) -> None:
    pushed = sglang.rejects("field.patch", b"Pq-Expect: option --mine once\n\n" + changed(sglang, field=True, call=""))

    assert pushed.code == 4
    assert "the patch expects option --mine once, and it is added 0 times [expect]" in pushed.err
    assert "[probe]" not in pushed.err


def test_an_argument_whose_place_is_gone_is_refused_by_placement(
    sglang: SGLang, tmp_path_factory: pytest.TempPathFactory
) -> None:
    patch = changed(sglang, field=True, call="behind")
    later = start(tmp_path_factory.mktemp("later"), "v0.5.15.post1")

    pushed = later.rejects("argument.patch", patch)

    assert pushed.code == 1
    assert "Patch argument.patch does not apply; none of its files was changed" in pushed.err
    assert re.search(rf"{FILE}:\d+: hunk 1 \(patches/argument.patch:5\): its lines stand nowhere in this file", pushed.err)
    assert "      |     speculative_accept_threshold_acc: float = 1.0" in pushed.err


def test_with_the_old_release_as_base_it_is_a_conflict(sglang: SGLang, tmp_path: Path) -> None:
    wheels = checking.cache() / "wheels"
    (tmp_path / "argument.patch").write_bytes(changed(sglang, field=True, call="behind"))
    with zipfile.ZipFile(pypi.fetch("sglang", "0.5.15.post1", wheels, progress=print).path) as wheel:
        wheel.extract("sglang/srt/server_args.py", tmp_path / "site")
    before = snapshot(tmp_path / "site")

    applied = sglang.pq(
        "apply", "-p2", str(tmp_path / "argument.patch"), "--base", "pypi:sglang==0.5.9", "--onto", str(tmp_path / "site")
    )

    assert applied.code == 3
    assert "hunk 1" in applied.err
    assert "these lines were changed since the patch was made" in applied.err
    assert snapshot(tmp_path / "site") == before


def test_the_same_argument_in_its_place_gets_in(sglang: SGLang) -> None:
    sglang.add("good.patch", changed(sglang, field=True, call="behind"))

    pushed = sglang.pq("push", "-a")

    assert pushed.code == 0, pushed.err
    assert "Checked: imported 427 modules in" in pushed.out
    assert "with stand-ins for sgl_kernel, torchvision; all probes passed" in pushed.out
