"""What the proofs found, as tables at the end of the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Tally:
    """How often each state was found after the deaths of each command."""

    rows: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, command: str, state: str, count: int = 1) -> None:
        """Count some."""
        row = self.rows.setdefault(command, {})
        row[state] = row.get(state, 0) + count


_TALLY = pytest.StashKey[Tally]()
PATCHES = {"a": 5, "b": 15, "c": 25}
"""The patches of the worlds here, and the line that each of them changes."""
STATES = ("old", "new", "else")


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    """The table of deaths."""
    return pytestconfig.stash.setdefault(_TALLY, Tally())


@pytest.fixture(scope="session")
def every(pytestconfig: pytest.Config) -> bool:
    """Whether all points are tried, as `--long` says."""
    return bool(pytestconfig.getoption("--long"))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take in what another process of pytest-xdist has found."""
    whole = node.config.stash.setdefault(_TALLY, Tally())
    for name, row in getattr(node, "workeroutput", {}).get("deaths", {}).items():
        for state, count in row.items():
            whole.add(name, state, count)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what was found to the process that started this one."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["deaths"] = session.config.stash.get(_TALLY, Tally()).rows


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The table of deaths, if there were any."""
    found = config.stash.get(_TALLY, Tally())
    if not found.rows:
        return
    terminalreporter.write_sep("=", "stopped before system calls: states found")
    terminalreporter.write_line(f"{'command':<34}{'points':>8}" + "".join(f"{state:>8}" for state in STATES))
    rows = [*found.rows.items(), ("all", {state: sum(row.get(state, 0) for row in found.rows.values()) for state in STATES})]
    for name, row in rows:
        terminalreporter.write_line(f"{name:<34}{sum(row.values()):>8}" + "".join(f"{row.get(state, 0):>8}" for state in STATES))
