"""git's hooks that call pq: short shell scripts in a repository, beside which every other tool's hooks go on.

Where the hooks folder is the repository's own, a hook that stands in the place is kept beside it under another name, as it may look for its
neighbours, runs first, and comes back when pq's goes. Where `core.hooksPath` or a symlink leads to another folder, which may be tracked, generated, or shared with all repositories of the
user, nothing is written into it: pq has a folder of its own, passes every hook on to that one first, and has the repository's config name it.
What the config said before is kept there under `pq.hooksPath`; `pq.hooks = false` says that the user took the hooks out.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from pq.errors import NotClean
from pq.repo.files import write_synced
from pq.repo.git import repository_around, run

QUEUE_HOOKS = ("pre-commit", "pre-merge-commit")
CHECKOUT_HOOKS = ("pre-commit", "pre-merge-commit", "post-commit", "post-rewrite", "post-applypatch")
_OTHERS = (
    *("applypatch-msg", "pre-applypatch", "prepare-commit-msg", "commit-msg", "pre-rebase", "post-checkout", "post-merge"),
    *("pre-push", "pre-receive", "update", "post-receive", "post-update", "pre-auto-gc", "sendemail-validate"),
)
"""More hooks of git's that do nothing where there is nothing to pass them on to. Those whose being there changes what git does are not
among them. Source: githooks(5).
"""
_ID = "# pq hook, version 1."
_KEPT = ".before-pq"
_LEGACY = ".legacy"
"""How the pre-commit framework calls a hook that it has found in its place."""
_PATH, _PATH_BEFORE, _WANTED = "core.hooksPath", "pq.hooksPath", "pq.hooks"
_SHIM = """\
#!/bin/sh
{id} `pq hooks install` made it, `pq hooks uninstall` takes it away.
own=$(CDPATH= cd "$(dirname "$0")" && pwd)/{name}
test "$PQ_IN_HOOK" = "$own" && exit 0 # another tool has kept this one, and is kept by it
other={other}
{read}if test "${{0##*/}}" = {name} && test -x "$other"; then # under another name, another tool has kept it
    PQ_IN_HOOK=$own "$other" "$@"{given} || exit{said}
fi
"""
_TOLD = ("post-rewrite",)
"""Hooks of pq's that git tells something on standard input, which the other tool's hook is to read, too."""
_READ_ONCE = {"read": "said=$(cat)\n", "given": " <<PQ", "said": "\n$said\nPQ"}
_NOT_READ = dict.fromkeys(_READ_ONCE, "")
_ON_A_SERIES = """\
case $(git symbolic-ref -q HEAD) in refs/heads/pq/*) ;; *) exit 0 ;; esac
"""
_CALL = """\
python={python}
if test -x "$python"; then
    exec "$python" -P -m pq hooks run {name} "$@"{given}{said}
elif command -v pq > /dev/null; then
    exec pq hooks run {name} "$@"{given}{said}
fi
echo "pq: the pq that this hook was made by is gone; install it again, or take the hook out: rm '$0'" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """A hook of a repository: whether pq's is there, and the other tool's hook that runs before it, if there is one."""

    name: str
    there: bool
    other: str | None


@dataclass(frozen=True, slots=True)
class _Configured:
    """What `core.hooksPath` says in the repository's own config, and in those of the user and the system."""

    local: str | None
    elsewhere: str | None

    @property
    def folder(self) -> str | None:
        """The one that counts."""
        return self.elsewhere if self.local is None else self.local


@dataclass(frozen=True)
class Shims:
    """The hooks of one git repository that call pq."""

    repository: pygit2.Repository
    names: Sequence[str]
    everywhere: bool = True
    """Whether they have something to do on other branches than those of series, too."""

    @property
    def folder(self) -> Path:
        """The git folder that all worktrees of the repository share."""
        return _shared(self.repository)

    @property
    def are_wanted(self) -> bool:
        """Whether the user has not taken them out."""
        config = self.repository.config
        return _WANTED not in config or config.get_bool(_WANTED)

    def install(self) -> tuple[str, ...]:
        """Put the hooks there, or write them anew; the names of those that changed.

        Raises NotClean where two other tools have put a hook into one place, and where git goes on looking elsewhere.
        """
        others = self._others
        folder = self._default if others is None else self._own
        folder.mkdir(parents=True, exist_ok=True)
        passed_on = () if others is None else dict.fromkeys((*_OTHERS, *_executables(self._top / others)))
        changed = [
            name
            for name in (*self.names, *(each for each in passed_on if each not in self.names))
            if self._put(folder, name, others)
        ]
        config = self.repository.config
        if others is not None and self._configured.folder != str(folder):
            if (local := self._configured.local) is not None:
                config[_PATH_BEFORE] = local
            config[_PATH] = str(folder)
            if self._configured.folder != str(folder):
                raise NotClean(
                    f"git looks for hooks in {self._configured.folder}, whatever the repository's config says",
                    hint=f"git -C {self._top} config --show-scope --show-origin {_PATH} says who wants that",
                )
        if _WANTED in config:
            del config[_WANTED]
        return tuple(name for name in changed if name in self.names)

    def uninstall(self) -> tuple[str, ...]:
        """Take the hooks out, and put back what was there; the names of those that went."""
        config = self.repository.config
        gone = [name for name in sorted({*self.names, *_executables(self._own)}) if self._take(name)]
        if self._configured.local == str(self._own):
            del config[_PATH]
            if (before := _said(config, _PATH_BEFORE)) is not None:
                config[_PATH] = before
        if _PATH_BEFORE in config:
            del config[_PATH_BEFORE]
        shutil.rmtree(self._own, ignore_errors=True)
        config[_WANTED] = False
        return tuple(name for name in gone if name in self.names)

    def installed(self) -> tuple[Installed, ...]:
        """What stands there for each of the names."""
        folder, others = self._folder, self._others
        found = []
        for name in self.names:
            other = folder / f"{name}{_KEPT}" if others is None else self._top / others / name
            there = _is_ours(folder / name)
            if not there and _is_ours(folder / f"{name}{_LEGACY}"):
                there, other = True, folder / name
            found.append(Installed(name, there, str(other) if os.access(other, os.X_OK) else None))
        return tuple(found)

    def _put(self, folder: Path, name: str, others: str | None) -> bool:
        place = folder / name
        if os.path.lexists(place) and not _is_ours(place):
            _keep(place, folder / f"{name}{_KEPT}")
        other = f'"$(dirname "$0")/{name}{_KEPT}"' if others is None else shlex.quote(f"{others}/{name}")
        told = _READ_ONCE if name in self.names and name in _TOLD else _NOT_READ
        text = _SHIM.format(id=_ID, name=name, other=other, **told)
        if name in self.names:
            text += "" if self.everywhere else _ON_A_SERIES
            text += _CALL.format(python=shlex.quote(sys.executable), name=name, **told)
        if _is_ours(place) and place.read_text() == text:
            return False
        write_synced(place, text.encode())
        place.chmod(0o755)
        return True

    def _take(self, name: str) -> bool:
        """Where another tool has put its hook over pq's meanwhile, that one stays, and what pq kept of the same bytes goes."""
        gone = False
        for folder in (self._default, self._own):
            place, kept = folder / name, folder / f"{name}{_KEPT}"
            for ours in (place, folder / f"{name}{_LEGACY}"):
                if _is_ours(ours):
                    ours.unlink()
                    gone = True
            if os.path.lexists(kept) and not os.path.lexists(place):
                os.replace(kept, place)
            elif os.path.lexists(kept) and _is_same(kept, place):
                kept.unlink()
        return gone

    @property
    def _others(self) -> str | None:
        """The folder with the hooks of others, as `core.hooksPath` says it, or said it; None: the repository's own."""
        said = self._configured.folder
        if said == str(self._own):
            said = _said(self.repository.config, _PATH_BEFORE) or self._configured.elsewhere
        if said is None or (self._top / os.path.expanduser(said)).resolve() == self._default.resolve():
            return str(self._default.resolve()) if self._default.is_symlink() else None
        return os.path.expanduser(said)

    @property
    def _folder(self) -> Path:
        """The folder that git looks into."""
        said = self._configured.folder
        return self._default if said is None else self._top / os.path.expanduser(said)

    @property
    def _configured(self) -> _Configured:
        """As git itself says it, which knows of more files and variables than libgit2 does."""
        said = run("config", "--show-scope", "--null", "--get-all", _PATH, cwd=self._top).split("\0")
        values = dict(zip(said[0::2], said[1::2], strict=False))  # by scope, the nearest last
        return _Configured(values.get("worktree", values.get("local")), values.get("global", values.get("system")))

    @property
    def _default(self) -> Path:
        return self.folder / "hooks"

    @property
    def _own(self) -> Path:
        return self.folder / "pq" / "hooks"

    @property
    def _top(self) -> Path:
        return Path(self.repository.workdir)


def shims_of(folder: Path, names: Sequence[str], *, everywhere: bool) -> Shims | None:
    """Those of the repository around a folder; None where there is none, or one in which nobody commits."""
    found = repository_around(folder)
    return None if found is None or found.is_bare else Shims(found, names, everywhere)


def _keep(place: Path, kept: Path) -> None:
    """Put another tool's hook aside. Raises NotClean where one of a third is there already."""
    if os.path.lexists(kept) and not _is_same(place, kept):
        raise NotClean(
            f"{place} is another tool's hook, and so is {kept}, which stood there before",
            hint="remove the one that is not wanted, or make one of them; then pq hooks install",
        )
    os.replace(place, kept)


def _is_same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return one.is_symlink() == other.is_symlink() and one.read_bytes() == other.read_bytes()
    return False


def _shared(repository: pygit2.Repository) -> Path:
    own = Path(repository.path)
    said = own / "commondir"
    return (own / said.read_text(encoding="utf-8", errors="surrogateescape").strip()).resolve() if said.exists() else own


def _is_ours(place: Path) -> bool:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return not place.is_symlink() and _ID in place.read_text()
    return False


def _executables(folder: Path) -> Iterator[str]:
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    yield from (
        place.name for place in places if place.is_file() and os.access(place, os.X_OK) and place.suffix not in (".sample", _KEPT)
    )


def _said(config: pygit2.Config, key: str) -> str | None:
    return config[key] if key in config else None  # noqa: SIM401 - it has no get
