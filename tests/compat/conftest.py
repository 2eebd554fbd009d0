"""Tests on published material: left out, with a notice, where the folder with it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import PROJECT

CORPUS = Path(os.environ.get("PQ_CORPUS", PROJECT.parent / "shared" / "corpus"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests out where there is nothing to test on."""
    left_out = [] if CORPUS.is_dir() else [item for item in items if item.get_closest_marker("corpus")]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        print(f"\n{len(left_out)} tests on published queues are left out: there is no folder {CORPUS} (set PQ_CORPUS)")
