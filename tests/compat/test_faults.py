"""What the queues of the corpus found, in small."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compat.corpus import Witness
from tests.conftest import Result, World, snapshot


def _parser(*names: str) -> bytes:
    return b"".join(b'parser.add_argument(\n    "--%s",\n    action="store_true",\n)\n' % name.encode() for name in names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plain folder with one file, and beside it, in `base`, the same with the file that patches are made against."""
    for name in ("base", "site"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "args.py").write_bytes(_parser("alpha", "beta", "gamma"))
    return tmp_path / "site"


def _patch(folder: Path, new: bytes, path: str = "args.py") -> Path:
    """The patch that git writes for a file of `base`."""
    made = folder.parent / "made.patch"
    target = folder.parent / "target" / path
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(new)
    old = f"base/{path}" if (folder.parent / "base" / path).exists() else "/dev/null"
    words = ["git", "diff", "--no-index", "--full-index", old, f"target/{path}"]
    diff = subprocess.run(words, cwd=folder.parent, capture_output=True, check=False).stdout
    made.write_bytes(diff.replace(b"/base/", b"/").replace(b"/target/", b"/"))
    return made


def _apply(folder: Path, patch: Path, *words: str) -> Result:
    return World(folder.parent).pq("apply", str(patch), "--onto", "site", *words, cwd=folder.parent)


@pytest.mark.parametrize("above", [b"", b"import x\n"])
def test_an_argument_that_upstream_took_over_is_not_added_twice(folder: Path, above: bytes) -> None:
    """A diff may begin the new call with its own first line, or with the same line of the next call."""
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    (folder / "args.py").write_bytes(above + _parser("alpha", "mine", "beta", "gamma", "delta"))
    before = snapshot(folder)

    applied = _apply(folder, patch, "--base", "base")

    assert (applied.code, applied.out) == (2, "made.patch: already applied\n")
    assert snapshot(folder) == before


def test_what_no_file_means_is_rejected_unless_the_patch_says_so(folder: Path) -> None:
    patch = _patch(folder, _parser("alpha", "alpha", "beta", "gamma"))
    before = snapshot(folder)

    rejected = _apply(folder, patch)

    assert (rejected.code, "option --alpha is added twice in the module" in rejected.err, snapshot(folder)) == (4, True, before)
    patch.write_bytes(b"Pq-Allow: option-twice\n\n" + patch.read_bytes())
    assert _apply(folder, patch).code == 0


def test_what_does_not_compile_is_rejected_whatever_the_patch_says(folder: Path) -> None:
    patch = _patch(folder, _parser("alpha", "beta", "gamma") + b"def f(:\n")
    patch.write_bytes(b"Pq-Allow: syntax, import\n\n" + patch.read_bytes())

    assert _apply(folder, patch).code == 4


def test_an_argument_that_upstream_took_over_among_others_has_landed(folder: Path) -> None:
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    (folder / "args.py").write_bytes(_parser("alpha", "theirs", "mine", "other", "beta", "gamma"))
    before = snapshot(folder)

    applied = _apply(folder, patch, "--base", "base")

    assert applied.code == 2
    assert snapshot(folder) == before


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_mode_that_an_index_line_mentions_is_left_alone(folder: Path, mode: int) -> None:
    """sglang's wheels hold executable modules; patches made in a checkout say `index … 100644` of them."""
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    (folder / "args.py").chmod(mode)
    witness = Witness(folder, folder.parent / "witness")
    wanted = witness.applied([patch], strip=1)

    assert _apply(folder, patch).code == 0

    assert b" 100644\n" in patch.read_bytes()
    assert witness.tree() == wanted
    assert (folder / "args.py").stat().st_mode & 0o777 == mode


def test_apply_leaves_nothing_but_the_files_in_the_folder(folder: Path, sealed: Path) -> None:
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    before = snapshot(folder)

    applied = _apply(folder, patch)
    patched, kept = snapshot(folder), list((sealed / ".local" / "state" / "pq").rglob("record.json"))
    back = _apply(folder, patch, "-R")

    assert (applied.code, list(patched), len(kept), back.code) == (0, ["args.py"], 1, 0)
    assert snapshot(folder) == before
    assert not kept[0].exists()


def test_without_a_state_folder_it_is_kept_in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    before = snapshot(folder)

    applied = _apply(folder, patch)
    patched = snapshot(folder)
    back = _apply(folder, patch, "-R")

    assert (applied.code, back.code) == (0, 0)
    assert {name.split("/")[0] for name in patched} == {"args.py", ".pq"}
    assert snapshot(folder) == before


def test_what_was_merged_is_taken_back_without_what_was_kept(folder: Path, sealed: Path) -> None:
    """The base with the patch on it is what the reverse was made for."""
    patch = _patch(folder, _parser("alpha", "mine", "beta", "gamma"))
    (folder / "args.py").write_bytes(_parser("zeta", "alpha", "beta", "gamma").replace(b"store_true", b"store_false", 1))
    before = snapshot(folder)

    applied = _apply(folder, patch, "--base", "base")
    shutil.rmtree(sealed / ".local" / "state")
    back = _apply(folder, patch, "--base", "base", "-R")

    assert (applied.code, back.code) == (0, 0)
    assert snapshot(folder) == before


def test_a_base_is_read_only_where_it_is_needed(folder: Path) -> None:
    """A patch that only makes new files has no base; where there should be one, what is none is said."""
    new, changed = (
        _patch(folder, b"x = 1\n", "new.py").rename(folder.parent / "new.patch"),
        _patch(folder, _parser("alpha", "gamma")),
    )
    (folder / "args.py").write_bytes(_parser("zeta", "alpha", "beta", "gamma"))

    base = folder.parent / "no.whl"
    base.write_bytes(b"no wheel")
    made = _apply(folder, new, "--base", str(base))
    refused = _apply(folder, changed, "--base", str(base))

    assert (made.code, (folder / "new.py").read_bytes()) == (0, b"x = 1\n")
    assert (refused.code, "no.whl can't be read as a wheel" in refused.err) == (1, True)
