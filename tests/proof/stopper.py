"""Real deaths: pq runs in a process that is stopped before its Nth system call that changes a file.

The kernel itself says when a call is about to be made (seccomp's user notification, Linux 5.5 or newer), and holds the process meanwhile: so
that calls are seen wherever they come from, Python, libgit2 or a git that pq started, that the signal comes between two of them, and that
the same run has the same points on every machine. strace's `--inject` sees the same calls, but counts them for each process apart, and
takes half a second a point; a library put before the C library misses what that calls within itself.

What is not yet on the disk when the power goes is known too: files that were written and not synced.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import io
import itertools
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyseccomp

from pq.cli import main

_RECEIVE, _RECEIVED = 0xC0502100, 80
_ANSWER, _ANSWERED = 0xC0182101, 24
_GO_ON = 1
"""ioctl numbers and sizes, and the flag with which a call goes on. Source: linux/seccomp.h."""

_PR_SET_CHILD_SUBREAPER = 36
"""Source: linux/prctl.h."""

_AT_DESCRIPTOR = -100 & 0xFFFFFFFF
_WRITES = ("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "copy_file_range", "sendfile")
_SYNCS = ("fsync", "fdatasync")
_PATHS: dict[str, tuple[int | None, int]] = {
    "open": (None, 0),
    "creat": (None, 0),
    "openat": (0, 1),
    "rename": (None, 0),
    "renameat": (0, 1),
    "renameat2": (0, 1),
    "link": (None, 1),
    "linkat": (2, 3),
    "symlink": (None, 1),
    "symlinkat": (1, 2),
    "unlink": (None, 0),
    "unlinkat": (0, 1),
    "rmdir": (None, 0),
    "mkdir": (None, 0),
    "mkdirat": (0, 1),
    "chmod": (None, 0),
    "fchmodat": (0, 1),
    "truncate": (None, 0),
    "utime": (None, 0),
    "utimes": (None, 0),
    "utimensat": (0, 1),
}
"""Where the arguments of a call say what changes: the descriptor of a folder, and the path from it."""
_TARGETS = {"rename": (None, 1), "renameat": (2, 3), "renameat2": (2, 3)}
_SOURCES = {"link": (None, 0), "linkat": (0, 1)}
_OUT = {"copy_file_range": 2}


@dataclass
class Run:
    """A run of pq: the calls that it came to make below `root`, and how it ended. `code` is negative where a signal ended it."""

    root: Path
    calls: int = 0
    code: int = 0
    unsynced: dict[str, None] = field(default_factory=dict)
    last: str = ""


def stopped(command: Callable[[], int], root: Path, *, at: int = 0, number: signal.Signals = signal.SIGKILL) -> Run:
    """Run a command in a forked process, and send it a signal before a call, counted from 1. 0: let it end."""
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        ours.close()
        _be_watched(command, theirs)
    theirs.close()
    with ours:
        _, handles, _, _ = socket.recv_fds(ours, 1, 1)
    run = Run(Path(os.path.realpath(root)))
    with _adopting(), contextlib.closing(io.FileIO(handles[0])) as listener:
        _watch(listener, child, run, at, number)
    return run


def deaths(words: Sequence[str], cwd: Path, number: signal.Signals, *, step: int = 1) -> Iterator[int]:
    """Stop pq at one call after the other; after each, the caller looks and sets back. Ends with the run that outlives its calls."""

    def command() -> int:
        os.chdir(cwd)
        return main.run(("--trust", *words))

    for at in itertools.count(1, step):
        run = stopped(command, cwd, at=at, number=number)
        if run.calls < at:
            return
        assert run.code in (-signal.SIGKILL, main.INTERRUPTED) or number != signal.SIGKILL, run
        yield at


def _be_watched(command: Callable[[], int], told: socket.socket) -> None:
    """In the child: never returns."""
    code = 99
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(stream, "w", closefd=False)) for stream in (1, 2))
        _load_filter()
        (listener,) = (int(name) for name in os.listdir("/proc/self/fd") if _is_listener(name))
        socket.send_fds(told, [b"!"], [listener])
        told.close()
        os.close(listener)
        code = command()
    finally:
        os._exit(code)


def _load_filter() -> None:
    made = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in (*_WRITES, *_SYNCS, *_PATHS):
        if name in ("open", "openat"):
            place = 1 if name == "open" else 2
            for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT):
                made.add_rule(pyseccomp.NOTIFY, name, pyseccomp.Arg(place, pyseccomp.MASKED_EQ, flag, flag))
        elif name in _WRITES or name in _SYNCS:
            made.add_rule(pyseccomp.NOTIFY, name, pyseccomp.Arg(_OUT.get(name, 0), pyseccomp.GT, 2))
        else:
            made.add_rule(pyseccomp.NOTIFY, name)
    made.load()


def _is_listener(name: str) -> bool:
    try:
        return "seccomp" in os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return False


def _watch(listener: io.FileIO, child: int, run: Run, at: int, number: signal.Signals) -> None:
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(ended, select.POLLIN)
    try:
        while True:
            ready = dict(poll.poll())
            if ended in ready:
                break
            if ready.get(listener.fileno(), 0) & select.POLLIN:
                _decide(listener, run, at, child, number)
            else:
                poll.unregister(listener)  # nobody is left who could call
    finally:
        os.close(ended)
        run.code = _end(child)


def _end(child: int) -> int:
    """Kill a group of processes, and wait for each of them: one that is dying still has its locks. Returns how the first one ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-child, 0):
            pass
    return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """What a process that ends leaves behind is ours, to be waited for."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_PR_SET_CHILD_SUBREAPER, 1) == 0, ctypes.get_errno()
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _decide(listener: io.FileIO, run: Run, at: int, child: int, number: signal.Signals) -> None:
    said = bytearray(_RECEIVED)
    try:
        fcntl.ioctl(listener, _RECEIVE, said)
    except FileNotFoundError:  # it died meanwhile
        return
    ident, pid, _, nr, arch, _, *arguments = struct.unpack("=QIIiIQ6Q", said)
    call = _Call(pid, _name(arch, nr), arguments)
    if (path := call.path) is not None and Path(path).is_relative_to(run.root):
        run.calls += 1
        if run.calls == at:
            run.last = f"{call.name} {path}"
            os.killpg(child, number)
            if number == signal.SIGKILL:
                return
        call.note(path, run.unsynced)
    with contextlib.suppress(FileNotFoundError):
        fcntl.ioctl(listener, _ANSWER, struct.pack("=QqiI", ident, 0, 0, _GO_ON))


def _name(arch: int, nr: int) -> str:
    return str(pyseccomp.resolve_syscall(arch, nr).decode())


@dataclass(frozen=True)
class _Call:
    """A call that is about to be made."""

    pid: int
    name: str
    arguments: Sequence[int]

    @property
    def path(self) -> str | None:
        """What it changes; None for what is no file."""
        if self.name in _PATHS:
            return self._at(*_PATHS[self.name])
        return self._opened(self.arguments[_OUT.get(self.name, 0)])

    def note(self, path: str, unsynced: dict[str, None]) -> None:
        """Keep what is written and not synced, under the name that it has."""
        if self.name in _WRITES:
            unsynced[path] = None
        elif self.name in _SYNCS:
            unsynced.pop(path, None)
        elif self.name in _TARGETS:
            target = self._at(*_TARGETS[self.name])
            assert target is not None
            if unsynced.pop(path, 0) is None:
                unsynced[target] = None
            else:
                unsynced.pop(target, None)
        elif self.name in _SOURCES:
            if self._at(*_SOURCES[self.name]) in unsynced:
                unsynced[path] = None
        elif self.name.startswith("unlink"):
            unsynced.pop(path, None)

    def _at(self, folder: int | None, path: int) -> str | None:
        said = self._text(self.arguments[path])
        handle = _AT_DESCRIPTOR if folder is None else self.arguments[folder] & 0xFFFFFFFF
        base = f"/proc/{self.pid}/cwd" if handle == _AT_DESCRIPTOR else f"/proc/{self.pid}/fd/{handle}"
        if not said and folder is not None:
            return self._opened(handle)
        above, name = os.path.split(os.path.join(base, said))
        try:
            return os.path.join(os.path.realpath(above), name)
        except OSError:  # it has died meanwhile
            return None

    def _opened(self, handle: int) -> str | None:
        try:
            found = os.readlink(f"/proc/{self.pid}/fd/{handle & 0xFFFFFFFF}")
        except OSError:
            return None
        return found if found.startswith("/") else None

    def _text(self, address: int) -> str:
        content = b""
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory,
        ):  # it may have died meanwhile
            memory.seek(address)
            while b"\0" not in content and len(content) < 4096:  # a page at most at a time: the next one may not be there
                content += memory.read(4096 - (address + len(content)) % 4096)
        return os.fsdecode(content.partition(b"\0")[0])
