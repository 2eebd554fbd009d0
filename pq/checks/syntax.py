"""Does every changed Python file compile, with the grammar of the interpreter that will run it?"""

from __future__ import annotations

import base64
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence

from pq.checks import environment, syntax_worker
from pq.checks.environment import Interpreter
from pq.checks.findings import Finding
from pq.checks.syntax_worker import Fault, compile_fault
from pq.core.patch import SYMLINK
from pq.errors import NotChecked

Source = tuple[str, bytes]
"""Path and content of a file."""

_WORTH_A_PROCESS = 1_000_000
"""Bytes of source from which on more processes pay: half a second of compiling."""
_TIMEOUT = 300
"""Seconds."""


def is_python(path: str, mode: int) -> bool:
    """Whether the interpreter would read a file as a module or a script of its own language."""
    return path.endswith(".py") and mode != SYMLINK


def new_findings(
    sources: Sequence[Source], before: Callable[[int], Iterable[bytes]], python: Interpreter | None = None
) -> dict[int, Finding]:
    """What does not compile, by number in `sources`; not what one of the contents before, as `before` has them, says as well.

    Without `python`, pq's own interpreter compiles. Raises NotChecked where the interpreter can't.
    """
    asked = python or environment.own()
    found = {number: fault for number, fault in enumerate(_faults(sources, asked)) if fault is not None}
    old = [(number, (sources[number][0], content)) for number in found for content in before(number)]
    had: dict[int, set[str]] = {}
    for (number, _), fault in zip(old, _faults([source for _, source in old], asked), strict=True):
        had.setdefault(number, set()).update([_said(fault)] if fault is not None else [])
    return {
        number: _finding(sources[number][0], fault) for number, fault in found.items() if _said(fault) not in had.get(number, ())
    }


def _said(fault: Fault) -> str:
    """What is wrong, whatever line it names."""
    return re.sub(r"\d+", "N", fault[0])


def _finding(path: str, fault: Fault) -> Finding:
    message, line, column, text = fault
    return Finding("syntax", message, path, line or None, column or None, (text,) if text else ())


def _faults(sources: Sequence[Source], python: Interpreter) -> list[Fault | None]:
    """In order, for each file its fault or None. Other versions compile in processes of theirs; so does this one where it is much."""
    size = sum(len(content) for _, content in sources)
    if not sources or (python.version == sys.version_info[:2] and size < _WORTH_A_PROCESS):
        return [compile_fault(path, content) for path, content in sources]
    count = (os.cpu_count() or 1) if size >= _WORTH_A_PROCESS else 1
    parts = [sources[number::count] for number in range(count)]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(lambda part: _ask(part, python), parts))
    return [answers[number % count][number // count] for number in range(len(sources))]


def _ask(sources: Sequence[Source], python: Interpreter) -> list[Fault | None]:
    request = json.dumps([(path, base64.b64encode(content).decode()) for path, content in sources])
    command = [str(python.path), "-I", syntax_worker.__file__]
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, check=True, timeout=_TIMEOUT)
        return [tuple(fault) if fault else None for fault in json.loads(done.stdout)]
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = (
            f"did not answer in {_TIMEOUT} seconds" if isinstance(error, subprocess.TimeoutExpired) else "ended without an answer"
        )
        raise NotChecked(f"{python.path} {why} while it compiled the files", hint="run the command again") from None
