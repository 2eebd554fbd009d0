"""A worker that stays between commands, with everything loaded that candidate trees import from elsewhere, and forks for each check.

It can only say that a tree passes. Whatever else comes of asking it (a failure, a death, silence) decides nothing: a fresh process
is asked then, and what that says holds. So no state that a worker carries can reject a patch, and what lets one through was
executed as a fresh process would have executed it (see `worker/pq_checkpoint.py`).

A worker belongs to one checkout and one key: pq's version and the worker's own code, the interpreter with its packages, and the
table `[check]`. Its folder, which only the user can enter, holds its sockets, `preload` (what to load), and `why` it is not to be
started again, if so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).with_name("worker")
"""What an interpreter runs, as a folder."""


@dataclass(frozen=True, slots=True)
class Warm:
    """Workers of one checkout. `above` holds a folder for each key; `idle` is for how many seconds one stays when nobody asks."""

    above: Path
    key: str
    idle: int

    @property
    def folder(self) -> Path:
        """Where the sockets are."""
        return self.above / self.key

    def ask(self, order: Mapping[str, object], seconds: float) -> Mapping[str, object] | None:
        """The answer of the first process that carries the order out, the one that has come furthest first; None where none does."""
        end = time.monotonic() + seconds
        said = json.dumps({**order, "folder": str(self.folder), "idle": self.idle}).encode() + b"\n"
        for name in reversed(self._sockets()):
            with contextlib.suppress(OSError, ValueError), _connected(self.folder, name) as asked:
                asked.sendall(said)
                answer = json.loads(_read(asked, end) or b"null")
                if answer != "no":
                    return answer if isinstance(answer, dict) else None
        return None

    def is_there(self) -> bool:
        """Whether a worker waits, or will when it has loaded everything."""
        with contextlib.suppress(OSError), _connected(self.folder, "00"):
            return True
        return False

    def start(self, python: Path, stand_ins: Sequence[str], loaded: bytes, environment: Mapping[str, str]) -> None:
        """Start a worker that has these modules loaded, unless one of this key is not to be; those of other keys end."""
        for other in self.above.iterdir() if self.above.is_dir() else ():
            if other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        if (self.folder / "why").exists():
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        preload = self.folder / "preload"
        preload.write_bytes(loaded)
        order = {"folder": str(self.folder), "preload": str(preload), "stand_ins": list(stand_ins), "idle": self.idle}
        with contextlib.suppress(OSError):
            os.posix_spawn(
                python,
                [str(python), "-I", str(SCRIPTS), "--stay", json.dumps(order)],
                environment,
                file_actions=[(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)],
                setsid=True,
            )

    def _sockets(self) -> list[str]:
        return sorted(place.name for place in self.folder.glob("[0-9][0-9]")) if self.folder.is_dir() else []


def key(*parts: object) -> str:
    """A name for what a worker depends on: these, and the code that it runs."""
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape"))
    for script in sorted(SCRIPTS.glob("*.py")):
        digest.update(script.read_bytes())
    return digest.hexdigest()[:16]


def can_be() -> bool:
    """Whether this machine has what a worker needs."""
    return sys.platform == "linux"


@contextlib.contextmanager
def _connected(folder: Path, name: str) -> Iterator[socket.socket]:
    """A connection to a socket, whose path may be longer than a socket's name can be."""
    with socket.socket(socket.AF_UNIX) as asked, contextlib.chdir(folder):
        asked.connect(name)
        yield asked


def _read(asked: socket.socket, end: float) -> bytes:
    """What comes until the other side closes. Raises OSError when the time is over."""
    parts = b""
    while True:
        asked.settimeout(max(end - time.monotonic(), 0.001))
        part = asked.recv(65536)
        if not part:
            return parts
        parts += part
