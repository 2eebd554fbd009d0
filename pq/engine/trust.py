"""Trust: what a queue would have run, and whether the user has seen exactly these bytes.

What can make pq run something of a queue's own are the files below `hooks/`, and what `pq.toml` says of the checks and of upstream. A
queue with no hook but the shipped one, and without modules to import, runs nothing of its own and takes no trust.

What was trusted lies in the user's state folder, where no clone can bring it along, one file a queue::

    {"queue": <its folder>, "digest": <SHA-256 of all of it>, "parts": {<name>: <content in base64>}}

The digest depends on names and bytes alone, so that it is the same in every clone.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pq.core import paths
from pq.engine.init import HOOK
from pq.engine.workspace import Workspace
from pq.errors import NotChecked, NothingToDo, PqError
from pq.queue import FILE, CheckConfig, Queue
from pq.repo.files import write_synced

_HOOKS = "hooks"
_SHIPPED = f"{_HOOKS}/pre-apply"


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a queue would have run: the files below `hooks/`, and a text that says what counts of pq.toml, by name.

    `own`: something of it is the queue's own. `before` is what was trusted last, if anything was.
    """

    queue: str
    parts: Mapping[str, bytes]
    own: bool
    before: Mapping[str, bytes] | None

    @property
    def digest(self) -> str:
        """SHA-256 of names and bytes, as 64 hex digits."""
        found = hashlib.sha256()
        for name, content in sorted(self.parts.items()):
            found.update(b"%s %d\n" % (paths.raw(name), len(content)) + content)
        return found.hexdigest()


def read(queue: Queue) -> Bundle:
    """What the queue would have run now. Raises NotChecked where a symlink stands in it: what that leads to may change unseen."""
    hooks = queue.root / _HOOKS
    parts = {FILE: _said(queue)}
    for place in (hooks, *sorted(hooks.rglob("*"))):
        if place.is_symlink():
            raise NotChecked(
                f"{queue.relative(place)} is a symlink, and what it leads to can't be trusted", hint="put what it leads to there"
            )
        if place.name == "__pycache__":
            raise NotChecked(
                f"{queue.relative(place)} is there, and what is compiled can't be looked at",
                hint="remove it; pq makes none there",
            )
        if place.is_file():
            parts[queue.relative(place)] = place.read_bytes()
    check = queue.config.check
    others = {name: content for name, content in parts.items() if name != FILE and (name, content) != (_SHIPPED, HOOK.encode())}
    own = bool(others or check.modules or check.python != "managed" or not queue.has_checkout_inside)
    return Bundle(str(queue.root.resolve()), parts, own, _stored(queue))


def is_trusted(workspace: Workspace) -> bool:
    """Whether what the queue would have run is what the user trusted, in the state folder or by digest for this command."""
    with contextlib.suppress(NotChecked):
        return _is_known(read(workspace.queue), workspace)
    return False


def require(workspace: Workspace) -> None:
    """Raise NotChecked unless what the queue would have run is trusted."""
    found = read(workspace.queue)
    if not _is_known(found, workspace):
        fact = "not trusted yet" if found.before is None else "not what was trusted: they were changed since"
        raise NotChecked(
            f"The hooks and checks of this queue are {fact}, so nothing of them is run",
            hint="pq trust shows them and asks; --trust takes them as they are",
        )


def _is_known(found: Bundle, workspace: Workspace) -> bool:
    return not found.own or found.digest == workspace.trusted or found.before == found.parts


def ensure(workspace: Workspace) -> None:
    """Trust what the queue has now, unless it is trusted."""
    found = read(workspace.queue)
    if not _is_known(found, workspace):
        give(workspace.queue, found)


def give(queue: Queue, found: Bundle) -> None:
    """Trust these bytes."""
    place = _place(queue)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    parts = {name: base64.b64encode(content).decode() for name, content in found.parts.items()}
    write_synced(place, json.dumps({"queue": found.queue, "digest": found.digest, "parts": parts}, indent=1).encode())


def give_by_digest(queue: Queue, digest: str) -> Bundle:
    """Trust what the queue has now if it is what a digest was made of. Raises PqError where it is something else."""
    found = read(queue)
    if found.digest != digest:
        raise PqError(
            f"This digest is not of the hooks and checks as they are now: {found.digest} is", hint="pq trust shows them"
        )
    give(queue, found)
    return found


def take_back(queue: Queue) -> None:
    """Trust nothing of the queue any more. Raises NothingToDo where nothing was trusted."""
    try:
        _place(queue).unlink()
    except FileNotFoundError:
        raise NothingToDo("Nothing of this queue was trusted") from None


def _stored(queue: Queue) -> Mapping[str, bytes] | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = json.loads(_place(queue).read_bytes())
        return {str(name): base64.b64decode(content) for name, content in said["parts"].items()}
    return None


def _place(queue: Queue) -> Path:
    name = hashlib.sha256(os.fsencode(queue.root.resolve())).hexdigest()[:32]
    return platformdirs.user_state_path("pq") / "trusted" / f"{name}.json"


def _said(queue: Queue) -> bytes:
    """What of pq.toml decides on what is run, a line a key; not the series in use, which changes with every rebase.

    Of the checks it is what the queue says, so that a pq with other defaults does not ask again.
    """
    config, check = queue.config, queue.config.check
    said: dict[str, object] = {f"[upstream] {key}": getattr(config, key) for key in ("source", "prefix", "checkout")}
    keys = (key for key in type(check).__slots__ if getattr(check, key) != getattr(CheckConfig(), key))
    said |= {f"[check] {key}": getattr(check, key) for key in keys}
    return paths.raw("".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items()))
