"""Diffs for tests: difflib makes the plain ones, real git the others."""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pq.core import patch_reader
from pq.core.lines import blob_id, split_lines
from pq.core.patch import FilePatch
from pq.core.place import place
from pq.core.placement import Placed, Refused
from tests.conftest import git

NO_NEWLINE = b"\n\\ No newline at end of file\n"


def plain(old: bytes, new: bytes, *, context: int = 3) -> bytes:
    """A diff of file `f` as `diff -u` writes it, without ids."""
    lines = difflib.diff_bytes(difflib.unified_diff, split_lines(old), split_lines(new), b"a/f", b"b/f", n=context)
    return b"".join(line if line.endswith(b"\n") else line + NO_NEWLINE for line in lines)


def recorded(old: bytes, new: bytes, *, context: int = 3) -> bytes:
    """The same with the ids of both contents, as git writes it."""
    ids = (blob_id(old).encode(), blob_id(new).encode())
    return b"diff --git a/f b/f\nindex %s..%s 100644\n" % ids + plain(old, new, context=context)


def only(patch: bytes) -> FilePatch:
    """The one file patch of a patch."""
    (file,) = patch_reader.read(patch, file="x.patch").files
    return file


def put(patch: bytes, now: bytes, *, base: bytes | None = None, fuzz: int = 0) -> Placed | Refused:
    """Place a one-file patch."""
    return place(only(patch), now, base=base, fuzz=fuzz)


def content(found: Placed | Refused) -> bytes:
    """What became of the file."""
    assert isinstance(found, Placed), found
    return found.content


def refusal(found: Placed | Refused) -> Refused:
    """Why nothing became of it."""
    assert isinstance(found, Refused), found
    return found


def by_git(folder: Path, before: Mapping[str, bytes | str], after: Mapping[str, bytes | str]) -> bytes:
    """What `git diff` writes between two folders of files. A text is a symlink's target; a name that ends in `*` is executable."""
    git(folder, "init", "-q")
    for files in (before, after):
        git(folder, "rm", "-rfq", "--ignore-unmatch", ".")
        for name, held in files.items():
            _write(folder / name.removesuffix("*"), held, executable=name.endswith("*"))
        git(folder, "add", "-A")
        if files is before:
            git(folder, "commit", "-q", "--allow-empty", "-m", "before")
    words = ["git", "diff", "--cached", "--binary", "--full-index", "-M", "-C", "--find-copies-harder"]
    return subprocess.run(words, cwd=folder, capture_output=True, check=True).stdout


def _write(place_: Path, held: bytes | str, *, executable: bool) -> None:
    place_.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(held, str):
        os.symlink(held, place_)
        return
    place_.write_bytes(held)
    if executable:
        place_.chmod(0o755)
