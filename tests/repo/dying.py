"""Real deaths at chosen points: pq runs in a forked process that sends itself a signal at its Nth call into the system or git.

No mocks: what is counted are the calls of C functions that can change something (`os`, `io`, `pygit2`, `subprocess`), and the signal is a
real one. So every state between two calls of pq's own is reached, the same way on every machine. What lies inside a call of libgit2 is
not: its lock files are made by hand in test_transaction.py.
"""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from pq.cli import checks, folder, look, move, names, prepare
from pq.cli.main import run

_LOADED = (checks, folder, look, move, names, prepare)
"""So that no point is spent on loading a module."""
_OUTLIVED = 97
_OWNERS = ("posix", "io", "_io", "_posixsubprocess", "_pygit2", "_cffi_backend")
_NAMES = {
    "open",
    "write",
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "mkdir",
    "symlink",
    "link",
    "fsync",
    "chmod",
    "utime",
    "scandir",
    "set_target",
    "create",
    "git_index_write",
    "fork_exec",
}


def deaths(words: Sequence[str], cwd: Path, number: signal.Signals, *, step: int = 1) -> Iterator[int]:
    """Die at one point after the other; after each, the caller looks and sets back. Ends with the run that outlives its points."""
    for point in itertools.count(1, step):
        if not dies(words, cwd, number, point):
            return
        yield point


def dies(words: Sequence[str], cwd: Path, number: signal.Signals, point: int) -> bool:
    """Run pq in a process of its own and send it a signal at a point; whether it got so far."""
    child = os.fork()
    if child == 0:
        _die(words, cwd, number, point)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _OUTLIVED:
        return False
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 130, (point, os.WEXITSTATUS(status))
    return True


def _die(words: Sequence[str], cwd: Path, number: signal.Signals, point: int) -> None:
    """In the child: never returns."""
    code = 99
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(cwd)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(stream, "w", closefd=False)) for stream in (1, 2))
        seen = 0

        def count(_: FrameType, event: str, argument: Any) -> None:
            nonlocal seen
            if event == "c_call" and _matters(argument):
                seen += 1
                if seen == point:
                    sys.setprofile(None)
                    os.kill(os.getpid(), number)

        sys.setprofile(count)
        code = run(("--trust", *words))
        code = code if seen >= point else _OUTLIVED
    finally:
        os._exit(code)


def _matters(function: Any) -> bool:
    """Whether a call may reach the system. What is written into memory does not."""
    name = getattr(function, "__name__", "")
    if type(getattr(function, "__self__", None)).__name__ in ("TextIOWrapper", "StringIO", "BytesIO"):
        return False
    owner = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    return name in _NAMES and owner in _OWNERS
