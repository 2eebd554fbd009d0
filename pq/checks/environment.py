"""The interpreter of the import check: one named in pq.toml, or a managed environment in the user's cache folder.

A managed environment belongs to the bytes of its requirements file and to pq's own Python. It is built once; `complete` in its
folder is written last, so that an interrupted build is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pq.errors import NotChecked, PqError

_ASK = (
    "import hashlib, json, os, sys, sysconfig\n"
    "places = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]\n"
    "stamps = [[entry.name, entry.stat().st_mtime_ns] for p in places if os.path.isdir(p) for entry in os.scandir(p)]\n"
    "print(json.dumps([sys.version, list(sys.version_info[:2]), hashlib.sha256(repr(sorted(stamps)).encode()).hexdigest()]))"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that runs checks: `identity` changes with its version, its place and its installed packages.

    A package is another one if files were added to its folder or taken out; a file that is edited in it goes unseen.
    """

    path: Path
    version: tuple[int, int]
    identity: str


def ask(path: Path, *, timeout: int) -> Interpreter:
    """What a Python says of itself, in so many seconds. Raises NotChecked where it can't be run."""
    try:
        said, version, stamps = json.loads(_answer([str(path), "-I", "-c", _ASK], timeout))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NotChecked(
            f"the interpreter of the import check can't be run: {path} {_why(error, timeout)}",
            hint="set [check] python in pq.toml to one that runs",
        ) from None
    return Interpreter(path, (version[0], version[1]), f"{path} {said} {stamps}")


def _why(error: Exception, timeout: int) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"did not answer in {timeout} seconds"
    if isinstance(error, subprocess.CalledProcessError):
        return f"exited with {error.returncode}"
    return f"({error.strerror})" if isinstance(error, OSError) else "did not answer as Python does"


def _answer(command: list[str], timeout: int) -> str:
    """What a command prints; it is ended, with all that it started, when the time is over."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        try:
            said, _ = process.communicate(timeout=timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[0])
    return said


def own() -> Interpreter:
    """pq's own interpreter, for a queue that imports nothing."""
    return Interpreter(Path(sys.executable), (sys.version_info[0], sys.version_info[1]), sys.version)


def managed(requirements: bytes, cache: Path) -> Path:
    """The folder of the managed environment for these requirements."""
    python = f"{sys.implementation.cache_tag}\n{sys.platform}\n".encode()
    return cache / "environments" / hashlib.sha256(python + requirements).hexdigest()[:16]


def is_complete(folder: Path) -> bool:
    """Whether the environment in a folder was built to the end, and can be run."""
    return (folder / "complete").exists() and os.access(python_in(folder), os.X_OK)  # the Python it was made from may be gone


def python_in(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def build(folder: Path, requirements: Path, *, progress: Callable[[str], None]) -> None:
    """Build a managed environment with exactly the listed packages. Raises PqError with pip's last words."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-P", "-m", "venv", str(folder)], progress)
    install = [
        str(python_in(folder)),
        "-P",
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--disable-pip-version-check",
        "-r",
        str(requirements),
    ]
    _run(install, progress)
    (folder / "complete").touch()


def _run(command: list[str], progress: Callable[[str], None]) -> None:
    """Run a command and pass its output on line by line."""
    said: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.rstrip())
            progress(line.rstrip())
    if process.returncode:
        errors = [line for line in said if line.startswith("ERROR")] or said[-3:]
        raise PqError(
            f"the environment of the import check can't be built: {' '.join(errors)}",
            hint="run pq setup again when the cause is gone",
        )
