"""setup: from a queue's files to a checkout on its pin, and an environment for the import check."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pq.checks import environment
from pq.core.series import Pin, Series
from pq.engine import checking, events, history, install, releases, requirements, trust
from pq.engine.events import Tell
from pq.engine.releases import Progress
from pq.engine.workspace import Workspace
from pq.errors import NotClean, PqError
from pq.queue import Queue
from pq.repo import checkout
from pq.repo.checkout import Checkout
from pq.repo.files import write_synced

_PARTIAL = ".pq-new"


@dataclass(frozen=True, slots=True)
class SetUp:
    """What setup did; False where it was done already."""

    checkout: bool
    environment: bool


def setup(workspace: Workspace, tell: Tell) -> SetUp:
    """Make what is missing: the checkout, the release in it, the branch of the series, the environment."""

    def progress(text: str) -> None:
        tell(events.Progress(text))

    queue = workspace.queue
    if not queue.has_checkout_inside:
        trust.require(workspace)  # what a clone says of other folders of this machine
    made = _checkout(queue, workspace.series, progress)
    with workspace.locked(tell):
        found = releases.commit_of(workspace.checkout, queue, workspace.pin, progress)
        _record_pin(queue, Pin(workspace.pin.release, found))
        made = _branch(workspace, found) or made
    built = build_environment(workspace, workspace.pin, progress)
    install.install(workspace)
    return SetUp(made, built)


def _checkout(queue: Queue, listed: Series, progress: Progress) -> bool:
    """Make the checkout beside its place and put it there whole."""
    place = queue.checkout
    if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
        _open_existing(place, queue.root).write_down_queue()
        return False
    partial = place.with_name(place.name + _PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    try:
        created = checkout.create_checkout(partial, queue=queue.root)
        created.start_branch(queue.series_name, releases.commit_of(created, queue, queue.read_pin(listed), progress))
        os.replace(partial, place)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return True


def _open_existing(place: Path, queue: Path) -> Checkout:
    try:
        return checkout.open_checkout(place, queue=queue)
    except PqError:
        if (place / ".git").exists():
            raise
        raise PqError(
            f"{place} is in the way: it is no checkout",
            hint="move it away, or name another place under [upstream] checkout in pq.toml",
        ) from None


def _record_pin(queue: Queue, pin: Pin) -> None:
    """Write the commit into a series that says only the release. It is read anew: a fetch takes long enough for an edit."""
    listed = queue.read_series()
    if queue.read_pin(listed).release != pin.release:
        raise NotClean(f"{queue.relative(queue.series_file)} was changed meanwhile", hint="run the command again")
    if listed.pin is None or listed.pin.commit is None:
        write_synced(queue.series_file, listed.with_pin(pin).render())


def _branch(workspace: Workspace, commit: str) -> bool:
    """Put HEAD on the branch of the series, which begins at the pin; one without patches moves to a pin that was changed."""
    opened, series = workspace.checkout, workspace.queue.series_name
    head = opened.branch(series)
    if head is None or not opened.is_on(series):
        opened.start_branch(series, commit)
        return True
    if head == commit or head not in opened.releases():
        return False
    history.do(workspace, workspace.state(head), workspace.state(commit))
    return True


def build_environment(workspace: Workspace, pin: Pin, progress: Progress) -> bool:
    """Build the managed environment of the import check for a pin, where there is to be one; whether it was built now.

    Raises NotChecked where that is not trusted: packages may run code of their own when they are installed.
    """
    queue, check = workspace.queue, workspace.queue.config.check
    if not check.modules or check.python != "managed":
        return False
    listed = requirements.find(queue, pin)
    folder = environment.managed(listed.read_bytes(), checking.cache())
    if environment.is_complete(folder):
        return False
    trust.require(workspace)
    progress(f"building the environment of the import check for {pin.release}")
    environment.build(folder, listed, progress=progress)
    return True
