"""A worker that stays between commands, with everything loaded that candidate trees import from elsewhere, and forks for each check.

It can only say that a tree passes. Whatever else comes of asking it (a failure, a death, silence) decides nothing: a fresh process
is asked then, and what that says holds. What lets a tree through was executed as a fresh process would have executed it: a library is
there for a tree from when it imports it (`worker/pq_libraries.py`), and what is not executed again is what would come out the same
(`worker/pq_checkpoint.py`).

A worker belongs to one checkout, one configuration (pq's version and the worker's own code, the interpreter with its packages, the table
`[check]`) and one environment (variables, limits, umask). Its folder, which only the user can enter, holds its sockets, `preload` (what to
load), and `why` it is not to be started again, if so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import shutil
import socket
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pq.checks import confinement
from pq.checks.confinement import SCRIPTS

_LIMITS = [getattr(resource, name) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")]


@dataclass(frozen=True, slots=True)
class Warm:
    """Workers of one checkout. `above` holds a folder for each configuration and environment; `idle` is for how many seconds one stays
    when nobody asks.
    """

    above: Path
    configuration: str
    environment: str
    idle: int

    @property
    def folder(self) -> Path:
        """Where the sockets are."""
        return self.above / f"{self.configuration}-{self.environment}"

    def ask(self, order: Mapping[str, object], seconds: float) -> object:
        """What the first process says that carries the order out, the one that has come furthest first; None where none does."""
        self._end_others()
        end = time.monotonic() + seconds
        said = json.dumps({**order, "folder": str(self.folder), "idle": self.idle}).encode() + b"\n"
        for name in reversed(self._sockets()):
            with contextlib.suppress(ConnectionError, FileNotFoundError, ValueError), _connected(self.folder, name) as asked:
                try:
                    _set_time(asked, end)
                    asked.sendall(said)
                    answer = json.loads(_read(asked, end))
                except TimeoutError:
                    return None
                if answer != "no":
                    return answer
        return None

    def is_there(self) -> bool:
        """Whether a worker waits, or will when it has loaded everything."""
        with contextlib.suppress(OSError):
            if "00" in self._sockets():
                with _connected(self.folder, "00"):
                    return True
        return False

    def start(self, python: Path, stand_ins: Sequence[str], loaded: Path, environment: Mapping[str, str], *, memory: int) -> None:
        """Start a worker that has the modules of a file loaded, unless there is not to be one.

        That it can't be started is no fault of what is checked.
        """
        with contextlib.suppress(OSError):
            if (self.folder / "why").exists():
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            preload = self.folder / "preload"
            shutil.copyfile(loaded, preload)
            order = {"folder": str(self.folder), "preload": str(preload), "stand_ins": list(stand_ins), "idle": self.idle}
            words = [str(python), "-I", str(SCRIPTS), "--stay", json.dumps(order)]
            command = confinement.command(words, memory=memory)
            os.posix_spawn(
                command[0],
                command,
                environment,
                file_actions=[(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)],
                setsid=True,
            )

    def _end_others(self) -> None:
        """The workers of other configurations end when their folders go."""
        with contextlib.suppress(OSError):
            for other in self.above.iterdir() if self.above.is_dir() else ():
                if not other.name.startswith(f"{self.configuration}-"):
                    shutil.rmtree(other, ignore_errors=True)

    def _sockets(self) -> list[str]:
        """The names of the sockets, in a folder that nobody else can put one into."""
        try:
            status = os.lstat(self.folder)
        except OSError:
            return []
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            return []
        return sorted(place.name for place in self.folder.glob("[0-9][0-9]"))


def configuration(*parts: object) -> str:
    """A name for what a worker's verdict depends on: these, and the code that it runs."""
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape"))
    for script in sorted(SCRIPTS.glob("*.py")):
        digest.update(script.read_bytes())
    return digest.hexdigest()[:16]


def environment(variables: Mapping[str, str]) -> str:
    """A name for what a process inherits: these variables, and limits and umask."""
    mask = os.umask(0)
    os.umask(mask)
    inherited = (sorted(variables.items()), [resource.getrlimit(limit) for limit in _LIMITS], mask)
    return hashlib.sha256(repr(inherited).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def can_be() -> bool:
    """Whether this machine has what a worker needs."""
    return sys.platform == "linux"


@contextlib.contextmanager
def _connected(folder: Path, name: str) -> Iterator[socket.socket]:
    """A connection to a socket, whose path may be longer than a socket's name can be."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(f"/proc/self/fd/{opened}/{name}")
            yield asked
    finally:
        os.close(opened)


def _set_time(asked: socket.socket, end: float) -> None:
    asked.settimeout(max(end - time.monotonic(), 0.001))


def _read(asked: socket.socket, end: float) -> bytes:
    """What comes until the other side closes. Raises TimeoutError."""
    parts = b""
    while True:
        _set_time(asked, end)
        part = asked.recv(65536)
        if not part:
            return parts
        parts += part
