"""Does every changed Python file compile, with the grammar of the interpreter that will run it?

This module is also run as a script by that interpreter when it is another version than pq's own. So it needs nothing but the
standard library: it reads `[[path, base64], …]` from standard input and prints `[[path, fault or null], …]`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence

_WORTH_A_PROCESS = 1_000_000
"""Bytes of source from which on a second process pays: half a second of compiling."""

Fault = tuple[str, int, int, str]
"""Message, line and column (from 1; 0 where unknown), and the text of the line."""


def compile_fault(path: str, content: bytes) -> Fault | None:
    """Why a file does not compile, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(content, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        text = error.text or _line(content, error.lineno)
        return f"{type(error).__name__}: {error.msg}", error.lineno or 0, error.offset or 0, text.rstrip("\r\n")
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}", 0, 0, ""
    return None


def faults(files: Sequence[tuple[str, bytes]], *, python: str, version: tuple[int, int]) -> dict[str, Fault]:
    """The faults of those files that do not compile, by path. `version` is that of the interpreter `python`."""
    if version == sys.version_info[:2]:
        found = dict(zip((path for path, _ in files), _compile(files), strict=True))
    else:
        request = json.dumps([(path, base64.b64encode(content).decode()) for path, content in files])
        done = subprocess.run([python, "-I", __file__], input=request, capture_output=True, text=True, check=True)
        found = {path: tuple(fault) if fault else None for path, fault in json.loads(done.stdout)}
    return {path: fault for path, fault in found.items() if fault is not None}


def _compile(files: Sequence[tuple[str, bytes]]) -> list[Fault | None]:
    """The faults in order; many files are shared among processes."""
    paths, contents = zip(*files, strict=True) if files else ((), ())
    if sum(map(len, contents)) < _WORTH_A_PROCESS:
        return list(map(compile_fault, paths, contents))
    import concurrent.futures

    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_fault, paths, contents, chunksize=8))


def _line(content: bytes, number: int | None) -> str:
    lines = content.splitlines()
    return lines[number - 1].decode("utf-8", "replace") if number and number <= len(lines) else ""


if __name__ == "__main__":
    answers = [(path, compile_fault(path, base64.b64decode(content))) for path, content in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)
