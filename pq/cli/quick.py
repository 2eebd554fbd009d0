"""`pq top` without loading click, git or anything else that takes time: it is typed a hundred times a day.

The checkout keeps the applied names in `pq/stack`, headed by the commit id and the stamps of pq.toml and the series file that they
are true for. If the branch is still at that commit and the files are as they were, the last name is the answer. In any other case
this module has no answer and the whole pq is asked.
"""

from __future__ import annotations

import os
import tomllib


def quick_top() -> str | None:
    """The name of the top patch, or None where it takes more to know."""
    if "PQ_QUEUE" in os.environ or "PQ_SERIES" in os.environ:
        return None
    try:
        return _top(os.getcwd())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _top(folder: str) -> str | None:
    while not os.path.isfile(os.path.join(folder, "pq.toml")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    with open(os.path.join(folder, "pq.toml"), "rb") as file:
        upstream = tomllib.load(file)["upstream"]
    git = os.path.join(folder, upstream.get("checkout", ".checkout"), ".git")
    branch = f"refs/heads/pq/{upstream['series']}"
    if _line(git, "HEAD") != f"ref: {branch}" or os.path.exists(os.path.join(git, "pq", "journal.json")):
        return None
    with open(os.path.join(git, "pq", "stack"), encoding="utf-8", newline="") as file:
        valid, *names, end = file.read().split("\n")
    stamps = [os.stat(os.path.join(folder, *place)) for place in (("pq.toml",), ("series", upstream["series"]))]
    stamp = "-".join(f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}" for status in stamps)
    return names[-1] if names and not end and valid == f"{_line(git, branch)} {len(names)} {stamp}" else None


def _line(*parts: str) -> str:
    with open(os.path.join(*parts), encoding="ascii") as file:
        return file.read().strip()
