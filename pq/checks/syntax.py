"""Does every changed Python file compile, with the grammar of the interpreter that will run it?"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from pq.checks import environment, syntax_worker
from pq.checks.environment import Interpreter
from pq.checks.findings import Finding
from pq.checks.syntax_worker import Fault, compile_fault
from pq.core.patch import SYMLINK

Source = tuple[str, bytes]
"""Path and content of a file."""

_WORTH_A_PROCESS = 1_000_000
"""Bytes of source from which on a second process pays: half a second of compiling."""


def is_python(path: str, mode: int) -> bool:
    """Whether the interpreter would read a file as a module or a script of its own language."""
    return path.endswith(".py") and mode != SYMLINK


def new_findings(
    sources: Sequence[Source], before: Callable[[int], bytes | None], python: Interpreter | None = None
) -> dict[int, Finding]:
    """What does not compile, by number in `sources`; not what the content before, as `before` has it for a number, says as well.

    Without `python`, pq's own interpreter compiles.
    """
    asked = python or environment.own()
    found = {number: fault for number, fault in enumerate(_faults(sources, asked)) if fault is not None}
    old = {number: content for number in found if (content := before(number)) is not None}
    had = dict(zip(old, _faults([(sources[number][0], content) for number, content in old.items()], asked), strict=True))
    return {
        number: _finding(sources[number][0], fault) for number, fault in found.items() if not _same_reason(had.get(number), fault)
    }


def _same_reason(one: Fault | None, other: Fault) -> bool:
    return one is not None and one[0] == other[0]


def _finding(path: str, fault: Fault) -> Finding:
    message, line, column, text = fault
    return Finding("syntax", message, path, line or None, column or None, (text,) if text else ())


def _faults(sources: Sequence[Source], python: Interpreter) -> list[Fault | None]:
    """In order, for each file its fault or None."""
    if not sources:
        return []
    if python.version == sys.version_info[:2]:
        return _compiled(sources)
    request = json.dumps([(path, base64.b64encode(content).decode()) for path, content in sources])
    done = subprocess.run(
        [str(python.path), "-I", syntax_worker.__file__], input=request, capture_output=True, text=True, check=True
    )
    return [tuple(fault) if fault else None for fault in json.loads(done.stdout)]


def _compiled(sources: Sequence[Source]) -> list[Fault | None]:
    """The same by this interpreter; much is shared among processes."""
    paths, contents = zip(*sources, strict=True)
    if sum(map(len, contents)) < _WORTH_A_PROCESS:
        return list(map(compile_fault, paths, contents))
    import concurrent.futures

    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_fault, paths, contents, chunksize=8))
