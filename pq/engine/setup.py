"""init and setup: from a queue's files to a checkout on its pin, and an environment for the import check."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pq.checks import environment
from pq.core.series import Pin, Series
from pq.engine import checking
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.queue import FILE, Config, Queue, open_queue, require_name
from pq.repo import checkout, git
from pq.repo.checkout import Checkout
from pq.repo.files import write_synced
from pq.upstream import git as git_releases
from pq.upstream import pypi

HOOK = '''\
#!/usr/bin/env python3
"""What a candidate must pass before pq lets it into the checkout; see docs/hooks.md.

Any executable will do here. Standard input: a line a patch, `<patch> TAB <tree before> TAB <tree after>`, objects in $GIT_DIR.
Exit 0 accepts all; otherwise lines `reject TAB <patch> TAB <reason>` on standard output say what is wrong.
"""

import sys

from pq.cli.pre_apply import main

if __name__ == "__main__":
    sys.exit(main())
'''
_ATTRIBUTES = "# Patches and series are bytes: no tool may change their line endings or white space.\n/patches/** -text -whitespace\n/series/* -text -whitespace\n"
_PARTIAL = ".pq-new"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SetUp:
    """What setup did; False where it was done already."""

    checkout: bool
    environment: bool


def init(folder: Path, *, source: str, pin: str, checkout_path: str | None) -> tuple[str, ...]:
    """Lay out a queue in a folder; the files that were made. Files that exist are left alone."""
    config = Config(source, require_name(pin), prefix="python" if source.startswith("pypi:") else "")
    return _lay_out(folder, replace(config, checkout=checkout_path) if checkout_path else config)


def complete(folder: Path, *, source: str | None, pin: str | None, checkout_path: str | None) -> tuple[str, ...]:
    """Put back what is missing of a queue. Raises PqError where its pq.toml says something else, NothingToDo where it is whole."""
    config = open_queue(folder).config
    for key, given in (("source", source), ("series", pin), ("checkout", checkout_path)):
        if given is not None and given != getattr(config, key):
            raise PqError(
                f"There is a queue at {folder} already, whose {key} is {getattr(config, key)}",
                hint=f"edit [upstream] {key} in {folder / FILE}, then pq setup",
            )
    return _lay_out(folder, config)


def _lay_out(folder: Path, said: Config) -> tuple[str, ...]:
    """Make the files that are not there; pq.toml, which makes it a queue, is last."""
    files = {
        FILE: _toml(said),
        f"series/{said.series}": "" if (folder / FILE).exists() else f"# pq-pin: {said.series}\n",
        "hooks/pre-apply": HOOK,
        ".gitattributes": _ATTRIBUTES,
        ".gitignore": ""
        if os.path.isabs(said.checkout) or ".." in Path(said.checkout).parts
        else f"/{said.checkout.strip('/')}/\n",
    }
    made = [name for name, content in files.items() if content and not (folder / name).exists()]
    _let_run(folder / "hooks" / "pre-apply")
    if not made:
        raise NothingToDo(
            f"There is a queue at {folder} already", hint="pq setup makes its checkout, pq status says where it stands"
        )
    (folder / "patches").mkdir(parents=True, exist_ok=True)
    for name in reversed(made):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        write_synced(place, files[name].encode("utf-8", "surrogateescape"))
        _let_run(folder / "hooks" / "pre-apply")
    return tuple(made)


def _toml(config: Config) -> str:
    said = {"source": config.source, "prefix": config.prefix, "checkout": config.checkout, "series": config.series}
    return "[upstream]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items() if value)


def _let_run(hook: Path) -> None:
    """Make the shipped hook executable, also where an interrupted init left it otherwise; not one of the user's."""
    if hook.is_file() and hook.read_bytes() == HOOK.encode():
        hook.chmod(0o755)


def setup(workspace: Workspace, progress: Progress) -> SetUp:
    """Make what is missing: the checkout, the release in it, the branch of the series, the environment."""
    queue = workspace.queue
    made = _checkout(queue, workspace.series, progress)
    opened = checkout.open_checkout(queue.checkout, queue=queue.root)
    with opened.mover.locked():
        opened.mover.recover()
        found = _release(opened, queue, workspace.pin, progress)
        _record_pin(queue, workspace.series, Pin(workspace.pin.release, found))
        made = _branch(opened, queue, found) or made
    return SetUp(made, _environment(queue, workspace.pin, progress))


def _checkout(queue: Queue, listed: Series, progress: Progress) -> bool:
    """Make the checkout beside its place and put it there whole."""
    place = queue.checkout
    if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
        _require_checkout(place, queue.root)
        return False
    partial = place.with_name(place.name + _PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    try:
        created = checkout.create_checkout(partial, queue=queue.root)
        created.start_branch(queue.series_name, _release(created, queue, queue.read_pin(listed), progress))
        os.replace(partial, place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return True


def _require_checkout(place: Path, queue: Path) -> None:
    try:
        checkout.open_checkout(place, queue=queue)
    except PqError:
        if (place / ".git").exists():
            raise
        raise PqError(
            f"{place} is in the way: it is no checkout",
            hint="move it away, or name another place under [upstream] checkout in pq.toml",
        ) from None


def _release(opened: Checkout, queue: Queue, pin: Pin, progress: Progress) -> str:
    """The commit of the pin's release, fetched if the checkout does not have it."""
    commit = opened.release(pin.release)
    if commit is None:
        kind, _, name = queue.config.source.partition(":")
        fetch = _from_pypi if kind == "pypi" else _from_git
        commit = fetch(opened, queue, pin.release, name, progress)
    if pin.commit not in (None, commit):
        raise _other_release(pin, commit)
    return commit


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
    local = queue.root / source
    place = str(local) if local.exists() else source
    progress(f"fetching {release} from {source}")
    target = opened.release_ref(release)
    try:
        git.run("fetch", "--quiet", "--no-tags", "--", place, git_releases.refspec(release, target), cwd=opened.root)
    except PqError as error:
        raise PqError(
            f"{release} can't be fetched from {source}: {error.fact}", hint="is [upstream] source right, and is there such a tag?"
        ) from None
    return opened.peel_release(release)


def _other_release(pin: Pin, commit: str) -> NotClean:
    return NotClean(
        f"The series is made for {pin.release} at {pin.commit}, what was fetched is {commit}",
        hint="do not go on before it is known why; then correct the pq-pin line",
    )


def _record_pin(queue: Queue, listed: Series, pin: Pin) -> None:
    """Write the commit into a series that says only the release."""
    if listed.pin is None or listed.pin.commit is None:
        write_synced(queue.series_file, listed.with_pin(pin).render())


def _branch(opened: Checkout, queue: Queue, commit: str) -> bool:
    """Put HEAD on the branch of the series, which begins at the pin."""
    if opened.branch(queue.series_name) is not None and opened.is_on(queue.series_name):
        return False
    opened.start_branch(queue.series_name, commit)
    return True


def _environment(queue: Queue, pin: Pin, progress: Progress) -> bool:
    check = queue.config.check
    if not check.modules or check.python != "managed":
        return False
    requirements = checking.requirements_file(queue, pin)
    if not requirements.is_file():
        raise PqError(
            f"{queue.relative(requirements)} is missing: the import check has no requirements for {pin.release}",
            hint="write it, or set [check] python",
        )
    folder = environment.managed(requirements.read_bytes(), checking.cache())
    if environment.is_complete(folder):
        return False
    progress(f"building the environment of the import check for {pin.release}")
    environment.build(folder, requirements, progress=progress)
    return True
