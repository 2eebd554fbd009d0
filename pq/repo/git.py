"""How pq runs the git binary: with none of the variables that a surrounding git has set, and none of the user's hooks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pygit2

from pq.errors import PqError

LibraryError = pygit2.GitError
"""What libgit2 raises where a repository is broken."""

_VARIABLES = {
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_TERMINAL_PROMPT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
}


def environment(**extra: str) -> dict[str, str]:
    """The environment for git. Hooks inherit GIT_DIR and GIT_INDEX_FILE, which break calls for another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _VARIABLES}
    return kept | {"LC_ALL": "C"} | extra


def run(*words: str, cwd: Path, **variables: str) -> str:
    """What `git WORDS` prints in a folder. Raises PqError with git's own words."""
    try:
        done = subprocess.run(
            ["git", "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", *words],
            cwd=cwd,
            env=environment(**variables),
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise PqError("git is not installed", hint="install git 2.30 or newer") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise PqError(f"git {words[0]} failed: {said}", hint=f"git {' '.join(words)} in {cwd} says more")
    return done.stdout.decode("utf-8", "surrogateescape")


def repository_around(start: Path) -> pygit2.Repository | None:
    """The repository of the worktree around a folder, if there is one."""
    try:
        return pygit2.Repository(str(start))  # discover_repository loses a reference to None where it finds nothing
    except pygit2.GitError:
        return None
