"""Releases as tags of a git repository, named by URL or path; a bare commit id for a nightly."""

from __future__ import annotations

import re

_COMMIT = re.compile(r"[0-9a-f]{40}")


def refspec(release: str, target: str) -> str:
    """What to ask git for, so that the release ends up at the ref `target`."""
    source = release if _COMMIT.fullmatch(release) else f"refs/tags/{release}"
    return f"+{source}:{target}"
