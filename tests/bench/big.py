"""Big inputs: seconds and memory at a size and at twice that size, in one run; what is linear takes about twice as much.

`python -m tests.bench.big [SCALE]`; at scale 1 (CI's machines take minutes): a 100 MB patch, 100,000 hunks, 10,000 patches, a file of a million
lines, 20,000 files in a patch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **_WHO})


_WHO = {f"GIT_{role}_{key}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}


def _world(root: Path, lines: int) -> Path:
    """A queue on a release with one file of so many lines."""
    upstream, queue = root / "upstream", root / "queue"
    upstream.mkdir()
    queue.mkdir()
    _git(upstream, "init", "-q", "-b", "main")
    (upstream / "f.txt").write_bytes(b"".join(b"line %d\n" % number for number in range(lines)))
    _git(upstream, "add", "-A")
    _git(upstream, "commit", "-q", "-m", "v1")
    _git(upstream, "tag", "v1")
    for words in (("init", "-q", "--source", "../upstream", "--pin", "v1"), ("setup", "-q")):
        subprocess.run([sys.executable, "-m", "pq", *words], cwd=queue, check=True)
    return queue


def _add(queue: Path, name: str, content: bytes) -> None:
    (queue / "patches" / name).write_bytes(content)
    with (queue / "series" / "v1").open("a") as series:
        series.write(f"{name}\n")


def _big_patch(queue: Path, size: int) -> None:
    """One new file of so many bytes."""
    line = b"+" + b"x" * 98 + b"\n"
    count = size // len(line)
    _add(queue, "big.patch", b"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,%d @@\n" % count + line * count)


_NAMES = b"--- a/f.txt\n+++ b/f.txt\n"


def _hunk(at: int, turn: int = 0) -> bytes:
    """A hunk that changes the line behind this one, which count from 0; `turn` says how often that was done."""
    was = b"text %d" % turn if turn else b"line %d" % (at + 1)
    return b"@@ -%d,3 +%d,3 @@\n line %d\n-%s\n+text %d\n line %d\n" % (at + 1, at + 1, at, was, turn + 1, at + 2)


def _hunks(queue: Path, count: int) -> None:
    """So many hunks in one file, ten lines apart."""
    _add(queue, "hunks.patch", _NAMES + b"".join(_hunk(number * 10) for number in range(count)))


def _patches(queue: Path, count: int) -> None:
    """So many patches of one file, each of one of its lines."""
    for number in range(count):
        turn, place = divmod(number, 100)
        _add(queue, f"p{number}.patch", _NAMES + _hunk(place * 10, turn))


def _one_line(queue: Path, lines: int) -> None:
    """One hunk in the middle of a file of so many lines."""
    _add(queue, "one.patch", _NAMES + _hunk(lines // 2))


def _files(queue: Path, count: int) -> None:
    """One patch that makes so many files."""
    parts = [
        b"--- /dev/null\n+++ b/d%d/f%d.txt\n@@ -0,0 +1 @@\n+%d\n" % (number % 100, number, number) for number in range(count)
    ]
    _add(queue, "files.patch", b"".join(parts))


CASES: dict[str, tuple[Callable[[Path, int], None], int, Callable[[int], int]]] = {
    "a patch of bytes": (_big_patch, 100_000_000, lambda _: 10),
    "hunks of a file": (_hunks, 100_000, lambda count: count * 10),
    "patches": (_patches, 10_000, lambda _: 1_000),
    "a file of lines": (_one_line, 1_000_000, lambda count: count),
    "files of a patch": (_files, 20_000, lambda _: 10),
}


def _measured(command: list[str], folder: Path) -> tuple[float, int]:
    """Seconds, and the most memory in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return time.perf_counter() - began, usage.ru_maxrss // 1024


def main(scale: float) -> None:
    print(f"push -a --no-check and pop -a; at half the size and at the size (scale {scale:g}): seconds, MB")
    for name, (make, whole, lines) in CASES.items():
        for size in (int(whole * scale) // 2, int(whole * scale)):
            with tempfile.TemporaryDirectory(dir=os.environ.get("PQ_BENCH_DIR")) as root:
                queue = _world(Path(root), lines(size))
                make(queue, size)
                found = [
                    _measured([sys.executable, "-m", "pq", *words], queue)
                    for words in (("push", "-aq", "--no-check"), ("pop", "-aq"))
                ]
            told = "   ".join(f"{seconds:8.2f} s {memory:6} MB" for seconds, memory in found)
            print(f"{size:>12,} {name:<18} {told}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
