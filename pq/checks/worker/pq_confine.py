"""`python -I -S pq_confine.py MEMORY COMMAND…` becomes the command, without what code that is only imported has no use for.

What is gone: the network (in a namespace of its own, with nothing but a loopback), where the system lets a process leave it; core dumps; more
bytes of memory than MEMORY, files of more than a gigabyte, and more than a thousand processes and threads (Linux does not hold root to that).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import socket
import struct
import sys

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
"""Of unshare(2) and netdevice(7)."""
_FILE = 1 << 30
_PROCESSES = 1024


def main() -> None:
    """Confine this process and become the command."""
    memory, *command = sys.argv[1:]
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE)
    _limit(resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS, int(memory))
    if sys.platform == "linux":
        _limit(resource.RLIMIT_NPROC, _threads() + _PROCESSES)
        with contextlib.suppress(OSError):
            _leave_network()
    os.execv(command[0], command)  # noqa: S606 - that is what it is for


def _limit(what: int, most: int) -> None:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (wanted, wanted))


def _threads() -> int:
    """How many threads the user has, who is the one that the limit counts for."""
    found = 0
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                found += len(os.listdir(f"/proc/{name}/task"))
    return found


def _leave_network() -> None:
    """Raises OSError where the system does not allow it. Root needs no namespace of users for it; anybody else is the same one in his."""
    user, group = os.getuid(), os.getgid()
    system = ctypes.CDLL(None, use_errno=True)
    if system.unshare(_NEW_NET):
        if system.unshare(_NEW_USER | _NEW_NET):
            raise OSError(ctypes.get_errno(), "unshare")
        for name, content in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(content)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.unpack("16sH", fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16sH", b"lo", 0)))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH", b"lo", flags | _UP))


if __name__ == "__main__":
    main()
