"""The rooms of the code (CONTRIBUTING): an arrow goes down only."""

from __future__ import annotations

import ast
import sys
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
    """`checks/syntax_worker.py` is also a script in another interpreter, and answers there; `__main__` is the quick way of `pq top`."""
    here, tree = room(name_of(path)), ast.parse(path.read_text(encoding="utf-8"))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    streams = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & {"stdout", "stderr", "echo", "secho"}
    speaks = "print" in calls or bool(streams & _of_sys_and_click(tree))

    assert here == "repo" or not any(module.split(".")[0] == "pygit2" for module in imported(path))
    assert here in ("cli", "__main__") or not speaks or name_of(path) == "pq.checks.syntax_worker"


def _of_sys_and_click(tree: ast.AST) -> set[str]:
    """The attributes of the modules sys and click that are used."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return {node.attr for node in found if isinstance(node.value, ast.Name) and node.value.id in ("sys", "click")}


@pytest.mark.parametrize("path", [path for path in MODULES if room(name_of(path)) == "core"], ids=name_of)
def test_the_core_is_pure(path: Path) -> None:
    """No I/O, no git, no clock: bytes and values in, values out."""
    impure = {
        "click",
        "io",
        "os",
        "pathlib",
        "platformdirs",
        "pygit2",
        "shutil",
        "socket",
        "subprocess",
        "tempfile",
        "time",
    }
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}

    assert not impure & {module.split(".")[0] for module in imported(path)}
    assert not {"open", "input", "print"} & calls
    assert not {"now", "today", "utcnow"} & {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


SCRIPTS = [PROJECT / "pq" / "checks" / "syntax_worker.py", *sorted((PROJECT / "pq" / "checks" / "worker").glob("*.py"))]


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_what_runs_in_another_interpreter_needs_the_standard_library_alone(path: Path) -> None:
    found = {module.split(".")[0] for module in imported(path)}

    assert found <= sys.stdlib_module_names | {script.stem for script in SCRIPTS}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_cli_and_queue_read_the_environment(path: Path) -> None:
    """`repo/git.py` hands it on to git; what runs in another interpreter is no part of the command."""
    here = room(name_of(path))

    reads = "os.environ" in path.read_text(encoding="utf-8")

    assert not reads or here in ("cli", "queue") or name_of(path) == "pq.repo.git" or path in SCRIPTS
