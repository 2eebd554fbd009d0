"""Processes that wait for orders on a socket of the user's, and carry each out in a fork of their own.

The first has the modules loaded that trees import from elsewhere; the others are copies of its runs (see `pq_checkpoint`). Each has a
socket in one folder, named by a number: the higher, the further its run had come. A process ends when it was idle for too long, or
when its socket is taken away or replaced. Whoever asks gets one line: the answer, `no` from a copy that does not suit the tree, or
nothing where the run died.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import pq_checkpoint
import pq_imports
import pq_libraries

Order = dict[str, Any]
_TICK = 1.0
_HANDSHAKE = 5.0
"""Seconds."""
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Station:
    """A process that waits. `folder` holds the sockets; `idle` is in seconds."""

    def __init__(self, folder: str, name: str, idle: int) -> None:
        self.folder = folder
        self.idle = idle
        self.place = os.path.join(folder, name)
        self.listener = socket.socket(socket.AF_UNIX)
        mask = os.umask(0o077)
        os.chdir(folder)  # a socket's name may have a hundred bytes, no more
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        self.listener.bind(name)
        self.inode = os.stat(name).st_ino
        self.listener.listen()
        os.umask(mask)
        os.chdir("/")

    def serve(self, suits: Callable[[Order], bool]) -> tuple[Order, socket.socket]:
        """Wait for orders. Returns in a new process for each, with the order and where the answer goes; never in this one."""
        last = time.monotonic()
        while True:
            if select.select([self.listener], [], [], _TICK)[0]:
                with contextlib.suppress(OSError, ValueError), self.listener.accept()[0] as asking:
                    order = _receive(asking)
                    if not suits(order):
                        asking.sendall(b'"no"\n')
                    elif not (process := os.fork()):
                        self.listener.close()
                        return order, _become(order, asking)
                    else:
                        _supervise(process, asking)
                last = time.monotonic()
            elif time.monotonic() - last > self.idle or not self._is_wanted():
                os._exit(0)

    def _is_wanted(self) -> bool:
        try:
            return os.stat(self.place).st_ino == self.inode
        except OSError:
            return False


class Run:
    """The imports of one tree, in a process of their own; in a copy that goes on, of another one."""

    def __init__(self, order: Order, asking: socket.socket, libraries: pq_libraries.Libraries) -> None:
        libraries.forget(pq_imports.tops(order["root"]))
        self.order = order
        self.asking = asking
        self.process = os.getpid()
        root, own = os.path.realpath(order["root"]), (order["bytecode"], order["work"])
        self.watch = pq_checkpoint.watch(order["watch"], root, order["mark"], self.keep, *own)

    def carry_out(self) -> None:
        """Import the tree, answer, and end."""
        reply = json.dumps(pq_imports.attempt(self.order)).encode()
        if os.getpid() == self.process:  # a process that an import forked off has no say
            with contextlib.suppress(OSError):
                self.asking.sendall(reply + b"\n")
        os._exit(0)

    def keep(self, number: int, watch: pq_checkpoint.Watch) -> None:
        """Leave a copy behind that waits at this point, and go on; returns in the copy's forks, too."""
        if os.getpid() != self.process:
            return
        ready, say = os.pipe()
        try:
            process = watch.reading.fork()
        except OSError:  # no memory, or too many processes: it goes without
            process = -1
        if not process:
            os.close(ready)
            self._wait(number, watch.still, say)
            return
        os.close(say)
        os.read(ready, 1)  # by then it has left this group, which ends with this process
        os.close(ready)

    def _wait(self, number: int, still: Callable[[], bool], say: int) -> None:
        """Be a copy. Returns in the forks that carry an order out from here."""
        try:
            os.setsid()
            self.asking.close()
            _be_silent()
            gc.freeze()
            fixed = _fixed(self.order)
            station = Station(self.order["folder"], f"{number:02}", self.order["idle"])
            os.write(say, b"1")
            os.close(say)
            order, self.asking = station.serve(lambda order: _fixed(order) == fixed and still())
        except BaseException:  # what an import catches must not go on here
            os._exit(1)
        self.order.update(order)
        self.watch.go_on(order["watch"])
        self.process = os.getpid()


def stay(order: Order) -> None:
    """Load the modules of the file `preload`, and carry out orders: one process each, and one more for each copy."""
    _be_silent()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # a lock or a pipe that the user's shell has open
    station = Station(order["folder"], "00", order["idle"])
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_POOLS, "1"))  # a pool of threads would not be there in a fork
    pq_imports.stand_in(order["stand_ins"])
    with open(order["preload"], encoding="utf-8", errors="surrogateescape") as file:
        libraries = pq_libraries.Libraries()
        libraries.load(file.read().split())
    os.environ.clear()
    os.environ.update(before)
    if not pq_checkpoint.is_alone():
        with open(os.path.join(order["folder"], "why"), "w", encoding="utf-8") as file:
            file.write("what the modules import from elsewhere starts threads, which a fork does not have")
        os._exit(0)
    gc.collect()
    gc.freeze()
    Run(*station.serve(lambda _: True), libraries).carry_out()


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in (0, 1, 2):
        os.dup2(nothing, name)
    os.close(nothing)


def _receive(asking: socket.socket) -> Order:
    """The order, which is one line. Raises ValueError or OSError where none comes."""
    asking.settimeout(_HANDSHAKE)
    said = b""
    while not said.endswith(b"\n"):
        part = asking.recv(65536)
        if not part:
            raise ValueError("no order")
        said += part
    asking.settimeout(None)
    order = json.loads(said)
    assert isinstance(order, dict)
    return order


def _become(order: Order, asking: socket.socket) -> socket.socket:
    """Make this process what a fresh one would be for the order; where the answer goes."""
    try:
        os.setpgid(0, 0)
        said = os.open(order["said"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for name in (1, 2):
            os.dup2(said, name)
        os.close(said)
        os.chdir(order["work"])
        sys.pycache_prefix = order["bytecode"]
        return socket.socket(fileno=os.dup(asking.fileno()))
    except BaseException:  # this must not wait for orders, too
        os._exit(1)


def _supervise(process: int, asking: socket.socket) -> None:
    """Until the process ends, or nobody waits for its answer: then it is ended, with all that it started."""
    with contextlib.suppress(OSError):
        os.setpgid(process, process)
    ended = os.pidfd_open(process)
    select.select([asking.fileno(), ended], [], [])
    os.close(ended)
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        asking.shutdown(socket.SHUT_RDWR)


def _fixed(order: Order) -> tuple[object, ...]:
    """What of an order a run that has begun can't take anew."""
    return order["root"], order["modules"], order["stand_ins"]
