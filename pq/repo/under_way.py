"""What git is in the midst of in a worktree."""

from __future__ import annotations

from pathlib import Path

import pygit2
from pygit2.enums import RepositoryState

from pq.errors import NotClean

_UNDER_WAY = {
    RepositoryState.REBASE: "rebase",
    RepositoryState.REBASE_INTERACTIVE: "rebase",
    RepositoryState.REBASE_MERGE: "rebase",
    RepositoryState.BISECT: "bisect",
    RepositoryState.APPLY_MAILBOX: "am",
    RepositoryState.APPLY_MAILBOX_OR_REBASE: "am",
    RepositoryState.CHERRYPICK: "cherry-pick",
    RepositoryState.CHERRYPICK_SEQUENCE: "cherry-pick",
    RepositoryState.REVERT: "revert",
    RepositoryState.REVERT_SEQUENCE: "revert",
    RepositoryState.MERGE: "merge",
}
_OF_ONE_COMMIT = (RepositoryState.CHERRYPICK, RepositoryState.REVERT, RepositoryState.MERGE)


def require_none(repository: pygit2.Repository) -> None:
    """Raise NotClean where the branch is git's to move."""
    command = _UNDER_WAY.get(repository.state())
    if command is not None and (command != "bisect" or repository.head_is_detached):
        way_out = "reset" if command == "bisect" else "--continue, or --abort"
        raise NotClean(
            f"git {command} is under way in the checkout",
            hint=f"git -C {Path(repository.workdir)} {command} {way_out}; then pq status",
        )


def several_commits(repository: pygit2.Repository) -> str | None:
    """The command that makes several commits, and checks that nobody else moves the branch meanwhile; None: there is none."""
    state = repository.state()
    return None if state in _OF_ONE_COMMIT else _UNDER_WAY.get(state)


def is_merging(repository: pygit2.Repository) -> bool:
    """Whether git is about to commit a merge."""
    return repository.state() == RepositoryState.MERGE


def is_last_mail(repository: pygit2.Repository) -> bool:
    """Whether git am has just applied the last of its mails, to the branch itself."""
    folder = Path(repository.path) / "rebase-apply"
    said = [(folder / name).read_text(encoding="ascii").strip() for name in ("next", "last") if (folder / name).exists()]
    return len(said) == 2 and said[0] == said[1] and (folder / "applying").exists()
