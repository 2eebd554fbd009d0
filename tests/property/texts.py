"""Files to draw, and real git as a witness: it is asked about many files at once, since a process costs more than an answer."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

FEW_LINES = (b"", b"a", b"b", b"c", b"\t}", b"+", b"- x", b"-- x", b"\\ x", b"@@ -1 +1 @@", b"\r", b"\xff\0\x85", b"d\r")


def of_lines(lines: st.SearchStrategy[bytes], *, most: int = 14) -> st.SearchStrategy[bytes]:
    """Files of such lines, half of them without a newline at the end."""
    return st.tuples(st.lists(lines, max_size=most), st.booleans()).map(_file)


def _file(drawn: tuple[list[bytes], bool]) -> bytes:
    lines, newline = drawn
    text = b"\n".join(lines)
    return text + b"\n" if lines and (newline or not lines[-1]) else text


def look_alikes(*, most: int = 14) -> st.SearchStrategy[bytes]:
    """Files of so few lines that most of them stand at several places."""
    return of_lines(st.sampled_from(FEW_LINES[:4]), most=most)


def odd() -> st.SearchStrategy[bytes]:
    """Files of lines that look like parts of a patch, or hold what others take for the end of a line."""
    return of_lines(st.sampled_from(FEW_LINES))


@st.composite
def near(draw: st.DrawFn, olds: st.SearchStrategy[bytes]) -> tuple[bytes, bytes]:
    """Two versions of a file, one made of the other by a few edits of lines."""
    old = draw(olds)
    return old, edited(draw, old)


def edited(draw: Callable[..., Any], old: bytes, *, most: int = 3) -> bytes:
    """Another version of a file."""
    lines = old.split(b"\n")
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(lines)))
        stop = draw(st.integers(start, min(start + 3, len(lines))))
        lines[start:stop] = draw(st.lists(st.sampled_from(FEW_LINES[:4]), max_size=3))
    return b"\n".join(lines)


@st.composite
def unique(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A base of lines that are all different, and two versions: lines are taken out, and new ones put in that are different, too.

    So there is one way only to say what a version changed. New lines come from one pool: both versions may hold the same.
    """
    base = tuple(range(draw(st.integers(0, 12))))
    versions = []
    for _ in range(2):
        pool = list(range(100, 106))
        kept = [line for line in base if draw(st.integers(0, 5))]
        for _ in range(draw(st.integers(0, 3))):
            kept.insert(draw(st.integers(0, len(kept))), pool.pop(draw(st.integers(0, len(pool) - 1))))
        versions.append(tuple(kept))
    return base, versions[0], versions[1]


def numbered(lines: Sequence[int]) -> bytes:
    """A file of these numbers."""
    return b"".join(b"%d\n" % line for line in lines)


def seldom(share: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For a test that asks real git each time: one in so many of the profile's examples."""
    return settings(max_examples=max(settings().max_examples // share, 3))


@contextmanager
def folders(*sides: Sequence[bytes]) -> Iterator[tuple[Path, list[Path]]]:
    """A folder that holds one folder a side; files are named by their number."""
    with tempfile.TemporaryDirectory() as root:
        found = []
        for name, side in zip("abcd", sides, strict=False):
            folder = Path(root) / name
            folder.mkdir()
            found.append(folder)
            for number, content in enumerate(side):
                (folder / f"{number:03}").write_bytes(content)
        yield Path(root), found


def git_diff(root: Path, *words: str) -> bytes:
    """What git says between folders `a` and `b`."""
    done = subprocess.run(
        ["git", "diff", "--no-index", "--no-renames", *words, "a", "b"], cwd=root, capture_output=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout
