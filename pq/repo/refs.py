"""Refs, and what pq keeps under them, read as what somebody else may have broken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pygit2

from pq.errors import PqError


@contextlib.contextmanager
def readable(what: str) -> Iterator[None]:
    """Raise PqError where what is kept in a repository is not what was put there, whoever broke it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
        raise PqError(
            f"{what} is broken", hint="git fsck in the checkout says what else is; git update-ref -d takes a ref away"
        ) from None


def target(repository: pygit2.Repository, name: str) -> str | None:
    """The commit that a ref holds, or the branch that HEAD does; None where there is no such ref. Raises PqError for one that is broken."""
    with readable(f"ref {name}"):
        reference = repository.references.get(name)
        if reference is None:
            return None
        return str(reference.target if name == "HEAD" else reference.resolve().target)
