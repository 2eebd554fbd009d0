"""The journal of a move (`pq/journal.json` in the git folder), by which an interrupted one is taken back or finished::

    {"operation": <commit id>, "reverse": <whether it is taken back>, "token": <in the names of temporary files>,
     "refs": [[<name>, <id or null>, <id or null>], …], "head": [<branch>, <branch>], "index": {<path>: [<mode>, <id>] or null or [<such for base, ours, theirs>]}}

with the refs in their order, as they were and are to be; the first is the branch; and the branch that HEAD is on. `index` has the entries as they were. It is complete
or absent: it is synced before a file is touched, and an unreadable one means that none was. Its time is set anew before index and
branch are written: a lock file of git's that was born right behind that time is the dead command's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pq.repo.files import write_synced
from pq.repo.worktree import Entry, Unmerged

NAME = "journal.json"
_ID_BYTES = 20


@dataclass(frozen=True, slots=True)
class RefChange:
    """A ref as it is and as it is to be; None: there is none."""

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Journal:
    """What the journal says."""

    operation: str
    reverse: bool
    refs: tuple[RefChange, ...]
    head: tuple[str, str]
    token: str
    index: Mapping[str, Entry]


def write(place: Path, journal: Journal) -> None:
    """Put the journal there, whole."""
    said = {
        "operation": journal.operation,
        "reverse": journal.reverse,
        "refs": [[ref.name, ref.old, ref.new] for ref in journal.refs],
        "head": journal.head,
        "token": journal.token,
        "index": {path: _plain(entry) for path, entry in journal.index.items()},
    }
    write_synced(place, json.dumps(said).encode())


def read(place: Path) -> Journal | None:
    """The journal; None where it is not complete."""
    try:
        said = json.loads(place.read_bytes())
        refs = tuple(RefChange(*ref) for ref in said["refs"])
        index = {str(path): _read_entry(entry) for path, entry in said["index"].items()}
        old, new = said["head"]
        found = Journal(said["operation"], said["reverse"], refs, (str(old), str(new)), str(said["token"]), index)
        ids = [found.operation, *(oid for ref in refs for oid in (ref.old, ref.new) if oid is not None)]
        complete = all(len(bytes.fromhex(oid)) == _ID_BYTES for oid in ids) and refs[0].name.startswith("refs/heads/")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return found if complete else None


def _plain(entry: Entry) -> object:
    return (entry.base, entry.ours, entry.theirs) if isinstance(entry, Unmerged) else entry


def _read_entry(said: Any) -> Entry:
    if said is None or len(said) == len(("mode", "id")):
        return None if said is None else (int(said[0]), str(said[1]))
    return Unmerged(*(None if side is None else (int(side[0]), str(side[1])) for side in said))
