"""git's hooks that call pq: short shell scripts in a repository, beside which every other tool's hooks go on.

Where the hooks folder is the repository's own, a hook that stands in the place is kept under another name, runs first, and comes back when pq's
goes. Where `core.hooksPath` names another folder, which may be tracked, generated, or shared with all repositories of the user, nothing is written into
it: pq has a folder of its own, passes every hook on to that one first, and has the repository's config name it. What the config said
before is kept there under `pq.hooksPath`; `pq.hooks = false` says that the user took the hooks out.
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
from pygit2.enums import ConfigLevel

from pq.repo.files import write_synced
from pq.repo.git import repository_around

QUEUE_HOOKS = ("pre-commit",)
CHECKOUT_HOOKS = ("pre-commit", "post-commit", "post-rewrite", "post-applypatch")
_ID = "# pq hook, version 1."
_KEPT = ".before-pq"
_PATH, _PATH_BEFORE, _WANTED = "core.hooksPath", "pq.hooksPath", "pq.hooks"
_SHIM = """\
#!/bin/sh
{id} `pq hooks install` made it, `pq hooks uninstall` takes it away.
own="$(dirname "$0")/{name}"
test "$PQ_IN_HOOK" = "$own" && exit 0 # another tool has kept this one, and is kept by it
other={other}
if test -x "$other"; then
    PQ_IN_HOOK=$own "$other" "$@" || exit
fi
"""
_ON_A_SERIES = """\
case $(git symbolic-ref -q HEAD) in refs/heads/pq/*) ;; *) exit 0 ;; esac
"""
_CALL = """\
python={python}
if test -x "$python"; then
    exec "$python" -P -m pq hooks run {name} "$@"
elif command -v pq > /dev/null; then
    exec pq hooks run {name} "$@"
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
        """Put the hooks there, or write them anew; the names of those that changed."""
        others = self._others
        folder = self._default if others is None else self._own
        folder.mkdir(parents=True, exist_ok=True)
        passed_on = () if others is None else (name for name in _executables(self._top / others) if name not in self.names)
        changed = [name for name in (*self.names, *passed_on) if self._put(folder, name, others)]
        config = self.repository.config
        if others is not None and config[_PATH] != str(folder):
            if (local := _local(config)) is not None:
                config[_PATH_BEFORE] = local
            config[_PATH] = str(folder)
        if _WANTED in config:
            del config[_WANTED]
        return tuple(changed)

    def uninstall(self) -> tuple[str, ...]:
        """Take the hooks out, and put back what was there; the names of those that went."""
        config = self.repository.config
        gone = [name for name in sorted({*self.names, *_executables(self._own)}) if self._take(name)]
        if _local(config) == str(self._own):
            del config[_PATH]
            if (before := _said(config, _PATH_BEFORE)) is not None:
                config[_PATH] = before
                del config[_PATH_BEFORE]
            shutil.rmtree(self._own, ignore_errors=True)
        config[_WANTED] = False
        return tuple(gone)

    def installed(self) -> tuple[Installed, ...]:
        """What stands there for each of the names."""
        folder, others = self._folder, self._others
        found = []
        for name in self.names:
            other = folder / f"{name}{_KEPT}" if others is None else self._top / others / name
            found.append(Installed(name, _is_ours(folder / name), str(other) if os.access(other, os.X_OK) else None))
        return tuple(found)

    def _put(self, folder: Path, name: str, others: str | None) -> bool:
        place = folder / name
        kept = folder / f"{name}{_KEPT}"
        if os.path.lexists(place) and not _is_ours(place):
            os.replace(place, kept)
        other = f'"$(dirname "$0")/{name}{_KEPT}"' if others is None else shlex.quote(f"{others}/{name}")
        text = _SHIM.format(id=_ID, name=name, other=other)
        if name in self.names:
            text += ("" if self.everywhere else _ON_A_SERIES) + _CALL.format(python=shlex.quote(sys.executable), name=name)
        if _is_ours(place) and place.read_text() == text:
            return False
        write_synced(place, text.encode())
        place.chmod(0o755)
        return True

    def _take(self, name: str) -> bool:
        found = [place for folder in (self._default, self._own) if _is_ours(place := folder / name)]
        for place in found:
            place.unlink()
            with contextlib.suppress(FileNotFoundError):
                os.replace(place.with_name(f"{name}{_KEPT}"), place)
        return bool(found)

    @property
    def _others(self) -> str | None:
        """The folder with the hooks of others, as `core.hooksPath` says it, or said it; None: the repository's own."""
        config = self.repository.config
        said = _said(config, _PATH)
        if said == str(self._own):
            said = _said(config, _PATH_BEFORE) or _elsewhere(config)
        if said is None or (self._top / os.path.expanduser(said)).resolve() == self._default.resolve():
            return None
        return os.path.expanduser(said)

    @property
    def _folder(self) -> Path:
        """The folder that git looks into."""
        said = _said(self.repository.config, _PATH)
        return self._default if said is None else self._top / os.path.expanduser(said)

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


def _local(config: pygit2.Config) -> str | None:
    """What the repository's own config says of the hooks folder."""
    return next((each.value for each in config if each.name == _PATH.lower() and each.level == ConfigLevel.LOCAL), None)


def _elsewhere(config: pygit2.Config) -> str | None:
    """What the configs of the user and the system say of it."""
    said = [(each.level, each.value) for each in config if each.name == _PATH.lower() and each.level < ConfigLevel.LOCAL]
    return max(said)[1] if said else None
