"""The requirements of a managed environment: a file below `hooks/`, which `pq trust` shows, and which leads pip to no other file."""

from __future__ import annotations

import re
from pathlib import Path

from pq.core.series import Pin
from pq.errors import NotChecked
from pq.queue import Queue

_ARCHIVE = re.compile(r"\.(?:whl|zip|tar|t[bglx]z|tar\.\w+)$", re.IGNORECASE)
"""What pip takes for a file where there is one."""


def find(queue: Queue, pin: Pin) -> Path:
    """The requirements of the managed environment for a pin. Raises NotChecked where there are none."""
    check = queue.config.check
    if not check.requirements:
        raise NotChecked("[check] requirements is not set, and python is managed", hint="set one of the two in pq.toml")
    named = check.requirements.replace("{pin}", pin.release)
    if not named.startswith("hooks/") or ".." in named.split("/"):
        raise NotChecked(
            f"[check] requirements names {named}, which is not below hooks/", hint="put it there: pq trust looks at it then"
        )
    file = queue.root / named
    if not file.is_file():
        raise NotChecked(
            f"{queue.relative(file)} is missing: the import check has no requirements for {pin.release}",
            hint="write it, or set [check] requirements in pq.toml",
        )
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if (fault := _fault(line)) is not None:
            raise NotChecked(
                f"{queue.relative(file)}:{number}: {fault}, and what is installed from there is not what was trusted",
                hint="name packages by name and version, or by URL with a hash",
            )
    return file


def _fault(line: str) -> str | None:
    """What in a line of a requirements file leads pip to files that nobody has looked at."""
    from packaging.requirements import InvalidRequirement, Requirement  # where an environment is asked for alone

    said = re.sub(r"(^|\s+)(#.*|--hash=\S+|\\)(?=\s|$)", " ", line).strip()
    if not said:
        return None
    try:
        found = Requirement(said)
    except InvalidRequirement:
        return f"{said!r} is no requirement by name"
    if _ARCHIVE.search(said) is not None:
        return f"{said!r} is the name of a file"
    return f"{found.url} is not a web address" if found.url is not None and not found.url.startswith("https://") else None
