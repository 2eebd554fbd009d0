"""Releases as tags of a git repository, named by URL or path; a bare commit id for a nightly."""

from __future__ import annotations

import re

_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_commit(name: str) -> bool:
    """Whether a release is named by a whole commit id."""
    return _COMMIT.fullmatch(name) is not None


def refspec(release: str, target: str) -> str:
    """What to ask git for, so that the release ends up at the ref `target`."""
    source = release if is_commit(release) else f"refs/tags/{release}"
    return f"+{source}:{target}"


def tags(listed: str) -> tuple[str, ...]:
    """The names of the tags in what `git ls-remote --tags --refs` prints."""
    return tuple(line.partition("\t")[2].removeprefix("refs/tags/") for line in listed.splitlines())
