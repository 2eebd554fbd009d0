"""What git is about to commit of a queue: what is in the index, not in the worktree.

It has to parse, to be without faults that lint calls errors, to apply to the pins in memory, and to compile. A series that has passed is remembered
by all that this depends on (`pq/staged.json` in the checkout's git folder, a list of digests), so that it need not be asked about again. Nothing of the
queue's own is run.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pq
from pq.checks import environment, syntax
from pq.checks.environment import Interpreter
from pq.checks.findings import Finding
from pq.core import patch_reader
from pq.core.lint import Fault, Severity
from pq.engine import check_events, checking, lint, trust
from pq.engine.events import Tell
from pq.engine.lint import Built
from pq.engine.move import Ending
from pq.engine.workspace import Workspace
from pq.errors import ParseError, PqError
from pq.queue import FILE, open_queue
from pq.repo.files import write_synced
from pq.repo.index import Index

_OF_A_QUEUE = (FILE, "series", "patches")
_REMEMBERED = 500


@dataclass(frozen=True, slots=True)
class _Queue:
    """A queue as the index has it, laid out in a folder of its own; `changed` are its paths that the commit changes, `committed` has them of HEAD."""

    workspace: Workspace
    changed: frozenset[str]
    committed: Callable[[str], bytes | None]


def before_commit(index: Index, today: datetime.date, trusted: str | None, tell: Tell) -> Ending:
    """Look at every queue in a repository that the commit changes something of."""
    ending = Ending.DONE
    for file in index.named(f"**/{FILE}"):
        folder = file.removesuffix(FILE).rstrip("/")
        changed = frozenset(index.changed(folder))
        if not any(name == FILE or name.startswith(("series/", "patches/")) for name in changed):
            continue
        with tempfile.TemporaryDirectory(prefix="pq-staged-") as laid_out:
            index.lay_out(folder, _OF_A_QUEUE, Path(laid_out))
            staged = open_queue(Path(laid_out))
            own = replace(staged, root=index.top / folder)
            queue = _Queue(Workspace(replace(staged, worktree=own.checkout)), changed, partial(index.committed, folder))
            found = _look(queue, today, Workspace(own, trusted=trusted), tell)
            ending = found if ending is Ending.DONE else ending
    return ending


def _look(queue: _Queue, today: datetime.date, own: Workspace, tell: Tell) -> Ending:
    workspace = queue.workspace
    python = _interpreter(workspace, own)
    digests = {name: _digest(workspace, name, python) for name in workspace.queue.series_names()}
    known = _known(workspace)
    linted, built = lint.examine(workspace, today, [name for name, digest in digests.items() if digest and digest in known])
    errors = (*(fault for fault in linted.faults if fault.severity is Severity.ERROR), *_lost_diffs(queue))
    if errors:
        tell(check_events.Faulty(errors))
        return Ending.REFUSED
    broken = tuple(_broken(built, python))
    if broken:
        tell(check_events.Faulty(broken))
        return Ending.REJECTED
    if unproven := [name for name in linted.unproven if _touches(workspace, name, queue.changed)]:
        raise PqError(
            f"Series {unproven[0]} is not proven: its release is not in a checkout here",
            hint=f"pq setup, or pq --series {unproven[0]} fetch, has it there; git commit --no-verify commits it unproven",
        )
    with contextlib.suppress(PqError, OSError):
        passed = [digest for name, digest in digests.items() if digest and name not in linted.unproven]
        write_synced(
            workspace.checkout.folder / "staged.json", json.dumps([*dict.fromkeys([*known, *passed])][-_REMEMBERED:]).encode()
        )
    return Ending.DONE


def _interpreter(workspace: Workspace, own: Workspace) -> Interpreter | None:
    """The one whose grammar counts; None where that is a program that is not trusted."""
    check = workspace.queue.config.check
    if not check.modules or check.python == "managed":
        return environment.own()  # which managed environments are made of
    if not trust.is_trusted(own):
        return None
    with contextlib.suppress(PqError):
        return checking.interpreter(own.queue, own.pin)
    return None


def _broken(built: Sequence[Built], python: Interpreter | None) -> Iterator[Fault]:
    """The files that a patch newly breaks."""
    if not built or python is None:
        return
    objects = built[0][0].checkout.objects
    changed = [
        (candidate.patch, path, old, new)
        for _, candidate in built
        for path, (old, new) in objects.difference(candidate.before, candidate.commit.tree).items()
        if new is not None and syntax.is_python(path, new[0])
    ]
    sources = [(path, objects.read(new[1])) for _, path, _, new in changed]

    def before(number: int) -> list[bytes]:
        old = changed[number][2]
        return [] if old is None else [objects.read(old[1])]

    for number, finding in syntax.new_findings(sources, before, python).items():
        yield Fault(finding.code, _said(finding), f"patches/{changed[number][0]}")


def _lost_diffs(queue: _Queue) -> Iterator[Fault]:
    """Patches that had a diff and have none: a file that was cut off, or something else saved in its place."""
    for path in sorted(queue.changed):
        place = queue.workspace.queue.root / path
        if not path.startswith("patches/") or not place.is_file() or _has_diff(place.read_bytes()):
            continue
        before = queue.committed(path)
        if before is not None and _has_diff(before):
            yield Fault("lost-diff", "it had a diff, and has none any more", path)


def _has_diff(content: bytes) -> bool:
    try:
        return bool(patch_reader.read(content, file="").files)
    except ParseError:
        return True


def _said(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}: {finding.reason}"


def _touches(workspace: Workspace, name: str, changed: Collection[str]) -> bool:
    """Whether a commit changes a series, or a patch of it."""
    listed = workspace.variant_of(name).series.names
    return f"series/{name}" in changed or any(f"patches/{each}" in changed for each in listed)


def _digest(workspace: Workspace, name: str, python: Interpreter | None) -> str:
    """Of all that decides whether a series applies and compiles; never the same where something of it can't be read."""
    found = hashlib.sha256(f"{pq.__version__}\n{python.identity if python else None}\n".encode())
    try:
        variant = workspace.variant_of(name)
        found.update(f"{variant.pin_commit} {variant.queue.config}\n".encode("utf-8", "surrogateescape"))
        for content in (variant.series.render(), *(variant.queue.read_patch(each) for each in variant.series.names)):
            found.update(b"%d\n" % len(content) + content)
    except PqError:
        return ""
    return found.hexdigest()


def _known(workspace: Workspace) -> list[str]:
    with contextlib.suppress(PqError, OSError, ValueError, RecursionError):
        said = json.loads((workspace.checkout.folder / "staged.json").read_bytes())
        return [str(each) for each in said] if isinstance(said, list) else []
    return []
