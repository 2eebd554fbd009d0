"""Does a Python file compile, with the grammar of the interpreter that this runs in?

Also run as a script, by an interpreter of another version than pq's own. So it needs nothing but the standard library: it reads
`[[path, base64], …]` from standard input and prints `[fault or null, …]`.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings

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


def _line(content: bytes, number: int | None) -> str:
    lines = content.splitlines()
    return lines[number - 1].decode("utf-8", "replace") if number and number <= len(lines) else ""


if __name__ == "__main__":
    json.dump([compile_fault(path, base64.b64decode(content)) for path, content in json.load(sys.stdin)], sys.stdout)
