"""Queues of an old release on a newer one, as quilt was seen to push them at its fuzz of 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.compat.corpus import EVERYTHING, queue_on, rows, tree_hash, unpack

pytestmark = pytest.mark.corpus

ROWS = rows("queues.tsv")
EDITED = {"llvmlite-0.48.0-on-0.49.0-09fe", "xgboost-1.6.0-on-1.6.1-c13e"}
"""Patches that were edited by hand and kept an index line that names another result: pq refuses them (design, section 7)."""


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The queues: a tree and its patches each."""
    return unpack("queues.tar.xz", tmp_path_factory.mktemp("queues")) / "queues"


@pytest.mark.parametrize("row", ROWS if EVERYTHING else ROWS[::4], ids=lambda row: row["id"])
def test_push_stands_where_quilt_stands(row: dict[str, str], queues: Path, tmp_path: Path) -> None:
    """Where quilt gives up, pq stops at the same patch; where quilt was content, so is pq."""
    source = shutil.copytree(queues / row["id"], tmp_path / "source", symlinks=True)
    world = queue_on(tmp_path, source / "tree", source / "patches")
    before = tree_hash(world.checkout)

    pushed = world.pq("push", "-a", "--fuzz", "2")
    made = tree_hash(world.checkout)
    popped = world.pq("pop", "-a")

    if row["id"] in EDITED:
        assert (pushed.code, "the patch was edited or cut" in pushed.err) == (1, True)
    else:
        assert (pushed.code, made) == (int(row["rc"]), row["tree_sha256"]), pushed.err
    assert popped.code == (2 if made == before else 0)
    assert tree_hash(world.checkout) == before
