"""What the imported code can reach: no secrets of the user, no home, no terminal, no network, and so much of the machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pq.checks import confinement
from pq.checks.imports import Imported
from tests.checks.test_imports import MODULE, Copy
from tests.checks.test_imports import copy as copy  # noqa: PLC0414 - a fixture
from tests.conftest import World

_GIB = 1 << 30
_NOBODY = 54321


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server on this machine, which says hello."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    with listening.accept()[0] as asked:
                        asked.sendall(b"hello")
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _asks(port: int) -> str:
    return f"import socket\nassert socket.create_connection(('127.0.0.1', {port}), 5).recv(5) == b'hello'\n"


def test_the_network_is_out_of_reach(copy: Copy, server: int) -> None:
    socket.create_connection(("127.0.0.1", server)).close()  # here it is not

    found = copy.finding(MODULE + _asks(server))

    assert "ConnectionRefusedError" in found.reason


def test_a_loopback_is_there(copy: Copy) -> None:
    own = (
        "import socket\nwith socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname(), 5).close()\n"
    )

    found = copy.check(MODULE + own)

    assert isinstance(found, Imported)
    assert not found.network


def test_somebody_else_than_root_has_no_network_either(server: int) -> None:
    """By a namespace of users, in which he is who he is."""
    code = f"import os, socket; print(os.getuid(), os.getgid()); socket.create_connection(('127.0.0.1', {server}))"

    done = _as_nobody(code)

    assert done.stdout.split() == [str(os.getuid() or _NOBODY), str(os.getgid() or _NOBODY)], done.stderr
    assert "ConnectionRefusedError" in done.stderr


def test_processes_have_an_end() -> None:
    """The kernel does not hold root to it."""
    code = "import os, time\nfor n in range(3000):\n    if not os.fork(): time.sleep(3); os._exit(0)\n"

    done = _as_nobody(code)

    assert "BlockingIOError" in done.stderr, done.stderr


def _as_nobody(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program so confined, by a user who is not root."""
    script = (confinement.SCRIPTS / "pq_confine.py").read_text()
    python = (
        shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    )  # that of root may lie where nobody else gets to
    words = [python, "-I", "-", str(_GIB), python, "-I", "-c", code]
    other: dict[str, Any] = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    return subprocess.run(
        words, input=script, capture_output=True, text=True, check=False, timeout=60, start_new_session=True, cwd="/", **other
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x = bytearray(2 << 30)\n", "MemoryError"),
        ("open('big', 'wb').truncate((1 << 30) + 1)\n", "File too large"),
        ("input()\n", "EOFError"),
        ("import os; os.read(0, 1) or 1 / 0\n", "ZeroDivisionError"),
        ("import os; os.ttyname(0)\n", "Inappropriate ioctl"),
    ],
)
def test_what_there_is_too_little_of(copy: Copy, line: str, reason: str) -> None:
    copy.memory = 1

    assert reason in copy.finding(MODULE + line).reason


def test_no_core_is_dumped(copy: Copy) -> None:
    found = copy.finding(MODULE + "import resource; raise RuntimeError(resource.getrlimit(resource.RLIMIT_CORE))\n")

    assert "RuntimeError: (0, 0)" in found.reason


_SECRETS = {
    "HF_TOKEN": "hf_1",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "GITHUB_TOKEN": "ghp",
    "https_proxy": "http://user:word@proxy",
    "HTTP_PROXY": "http://user:word@proxy",
    "SSH_AUTH_SOCK": "/run/agent",
    "PIP_INDEX_URL": "https://user:word@index",
    "PYTHONPATH": "/somewhere",
    "XDG_CONFIG_HOME": "/home/ada/.config",
    "PQ_TRUST": "digest",
}


def test_the_environment_is_clean(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**_SECRETS, "CUDA_HOME": "/cuda", "SGLANG_MODE": "on"}.items():
        monkeypatch.setenv(name, value)
    with (world.queue / "pq.toml").open("a") as toml:
        toml.write(f'[check]\nmodules = ["pkg.module"]\npython = "{sys.executable}"\nvariables = ["SGLANG_MODE"]\n')
    text = f"""
import os, pathlib
assert not set(os.environ) & {set(_SECRETS)!r}, sorted(os.environ)
assert (os.environ["CUDA_HOME"], os.environ["SGLANG_MODE"]) == ("/cuda", "on")
assert not any(value for value in os.environ.values() if "word" in value)
home = pathlib.Path.home()
assert home != pathlib.Path({str(Path.home())!r}) and not list(home.iterdir())[1:], list(home.iterdir())
(home / ".cache").mkdir()
import tempfile
assert pathlib.Path(tempfile.gettempdir()).is_relative_to(home)
"""
    world.patch("environment.patch", {"pkg/module.py": text.encode()})

    for _ in range(2):  # what the first run left in its home is not there for the second
        said = world.pq("check", "environment.patch")

        assert said.code == 0, said.err


def test_variables_and_memory_are_read_from_pq_toml(world: World) -> None:
    toml = world.queue / "pq.toml"
    text = toml.read_text()
    for line, fact in (("memory = 0", "a number of GiB above 0"), ("variables = 'HOME'", "a list of strings")):
        toml.write_text(f"{text}[check]\n{line}\n")

        said = world.pq("series")

        assert (said.code, fact in said.err) == (1, True), said
