"""The rooms of the code (CONTRIBUTING): an arrow goes down only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT

FLOORS = {"__main__": 9, "cli": 8, "engine": 7, "repo": 5, "checks": 5, "queue": 5, "upstream": 4, "core": 3, "errors": 2, "": 1}
MODULES = sorted((PROJECT / "pq").rglob("*.py"))


def room(module: str) -> str:
    """The room of a dotted name below pq."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from below if node.module == "pq" else [node.module]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_an_arrow_goes_down_only(path: Path) -> None:
    here = room(name_of(path))

    for module in imported(path):
        there = room(module) if module.split(".")[0] == "pq" else None

        if there is not None and there != here and there in FLOORS:
            assert FLOORS[there] < FLOORS[here], f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_repo_knows_pygit2_and_only_cli_prints(path: Path) -> None:
    here, tree = room(name_of(path)), ast.parse(path.read_text(encoding="utf-8"))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}

    assert here == "repo" or not any(module.split(".")[0] == "pygit2" for module in imported(path))
    assert here == "cli" or "print" not in calls


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_cli_and_queue_read_the_environment(path: Path) -> None:
    """`repo/git.py` hands it on to git; the module is named here since it is the one exception."""
    here = room(name_of(path))

    reads = "os.environ" in path.read_text(encoding="utf-8")

    assert not reads or here in ("cli", "queue") or name_of(path) == "pq.repo.git"
