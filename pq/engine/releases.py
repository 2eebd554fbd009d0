"""Releases of upstream: which there are, which of them the checkout has, and how one gets there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pq.core.series import Pin
from pq.engine import checking, events
from pq.engine.events import Tell
from pq.engine.workspace import Workspace
from pq.errors import NotClean, PqError
from pq.queue import Queue
from pq.repo import git
from pq.repo.checkout import Checkout
from pq.upstream import git as git_releases
from pq.upstream import pypi, versions

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Release:
    """A release of upstream; `commit` is where the checkout has it; `pin`: the series is made for it."""

    name: str
    commit: str | None
    pin: bool


@dataclass(frozen=True, slots=True)
class Fetched:
    """A release that the checkout has now; `new`: it did not before."""

    name: str
    commit: str
    new: bool


def known(workspace: Workspace, *, every: bool = False) -> tuple[Release, ...]:
    """The releases from the pin on, or all, the oldest first. Raises PqError where upstream can't be asked."""
    fetched, pin = workspace.checkout.release_names(), workspace.pin.release
    names = {*upstream(workspace.queue, pin), *fetched, pin}
    chosen = versions.ordered(names) if every else versions.since(names, pin)
    others = sorted(name for name in fetched if versions.read(name) is None)
    return tuple(Release(name, workspace.checkout.release(name), name == pin) for name in (*others, *chosen))


def fetched_since(workspace: Workspace, oldest: str) -> tuple[str, ...]:
    """The releases behind one that the checkout has, the oldest first."""
    found = versions.since(workspace.checkout.release_names(), oldest)
    return tuple(name for name in found if name != oldest)


def fetch(workspace: Workspace, given: str | None, since: str | None, tell: Tell) -> tuple[Fetched, ...]:
    """Fetch a release, all since one, or the newest. Raises PqError where there is none of that name."""
    with workspace.locked(tell):
        wanted = [name_of(workspace, given)] if given is not None else _wanted(workspace, since)
        return tuple(obtain(workspace, name, tell) for name in wanted)


def obtain(workspace: Workspace, name: str, tell: Tell) -> Fetched:
    """The release in the checkout, fetched if it is not there."""
    there = workspace.checkout.release(name)
    commit = there or commit_of(workspace.checkout, workspace.queue, Pin(name), lambda text: tell(events.Progress(text)))
    return Fetched(name, commit, there is None)


def name_of(workspace: Workspace, given: str) -> str:
    """The release that a user means: a `v` in front may be left out, or be too much. Raises PqError where there is none."""
    pin = workspace.pin.release
    forms = dict.fromkeys((given, f"v{given.removeprefix('v')}", given.removeprefix("v")))
    fetched = workspace.checkout.release_names()
    there = [name for name in forms if name in fetched]
    if there:
        return there[0]
    if workspace.queue.config.source.startswith("pypi:"):
        version = versions.read(given)
        if version is None:
            raise PqError(f"{given} is no version", hint="pq releases lists those of upstream")
        return f"{'v' if pin.startswith('v') else ''}{version}"
    if git_releases.is_commit(given):
        return given
    tags = upstream(workspace.queue, pin)
    found = [name for name in forms if name in tags]
    if not found:
        near = difflib.get_close_matches(given, tags, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "pq releases lists those of upstream"
        raise PqError(f"There is no release {given} in {workspace.queue.config.source}", hint=hint)
    return found[0]


def upstream(queue: Queue, pin: str) -> tuple[str, ...]:
    """The names of upstream's releases, written as the pin's is. Raises PqError where upstream can't be asked."""
    kind, _, name = queue.config.source.partition(":")
    if kind == "pypi":
        mark = "v" if pin.startswith("v") else ""
        return tuple(mark + version for version in pypi.versions(name))
    return git_releases.tags(git.run("ls-remote", "--tags", "--refs", "--", _place(queue), cwd=queue.root))


def commit_of(opened: Checkout, queue: Queue, pin: Pin, progress: Progress) -> str:
    """The commit of the pin's release, fetched if the checkout does not have it, or has another one than the pin says."""
    commit = opened.release(pin.release)
    if commit is None or pin.commit not in (None, commit):
        kind, _, name = queue.config.source.partition(":")
        get = _from_pypi if kind == "pypi" else _from_git
        commit = get(opened, queue, pin.release, name, progress)
    if pin.commit not in (None, commit):
        raise NotClean(
            f"The series is made for {pin.release} at {pin.commit}, what was fetched is {commit}",
            hint="do not go on before it is known why; then correct the pq-pin line",
        )
    return commit


def _wanted(workspace: Workspace, since: str | None) -> Sequence[str]:
    pin = workspace.pin.release
    names = upstream(workspace.queue, pin)
    if since is None:
        return versions.since(names, pin)[-1:] or versions.ordered(names)[-1:]
    return versions.since(names, name_of(workspace, since))


def _from_pypi(opened: Checkout, queue: Queue, release: str, name: str, progress: Progress) -> str:
    version = release.removeprefix("v")
    wheel = pypi.fetch(name, version, checking.cache() / "wheels", progress=progress)
    progress(f"committing {name} {version}")
    commit = opened.write_release(wheel.files(queue.config.prefix), date=wheel.date, message=f"{name} {version}\n")
    wheel.unpack_compiled(opened.compiled(release) / queue.config.prefix)
    opened.set_release(release, commit)
    return commit


def _from_git(opened: Checkout, queue: Queue, release: str, _: str, progress: Progress) -> str:
    source = queue.config.source
    progress(f"fetching {release} from {source}")
    target = opened.release_ref(release)
    words = ("fetch", "--quiet", "--no-tags", "--", _place(queue), git_releases.refspec(release, target))
    try:
        git.run(*words, cwd=opened.root)
    except PqError as error:
        if "mismatched algorithms" in error.fact:
            raise PqError(f"{source} has SHA-256 objects, which pq can't read", hint="name a repository with SHA-1") from None
        raise PqError(
            f"{release} can't be fetched from {source}: {error.fact}", hint="is [upstream] source right, and is there such a tag?"
        ) from None
    return opened.peel_release(release)


def _place(queue: Queue) -> str:
    """Where git finds upstream: a path counts from the queue's folder."""
    local = queue.root / queue.config.source
    return str(local) if local.exists() else queue.config.source
