"""Real queues. Where there is no corpus (../shared/corpus, or $PQ_CORPUS), the tests that need it are left out, and that is said."""

from __future__ import annotations

import pytest

from tests.compat.corpus import CORPUS


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the corpus where there is none."""
    if CORPUS.is_dir():
        return
    left_out = [item for item in items if item.get_closest_marker("corpus")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that tests were left out, and why."""
    if not CORPUS.is_dir():
        terminalreporter.write_line(
            f"NOTICE: the tests against real queues were left out: no corpus at {CORPUS} (PQ_CORPUS names another place)"
        )
