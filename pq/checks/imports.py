"""Are the queue's modules imported for real, from the staged copy, and do the probes pass?

Runs `import_worker.py` in the interpreter of the import check: a process group of its own, no standard input, a time limit, and
an answer through a pipe of its own, so that what the imported code prints, or an exit in it, can't be taken for an answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pq.checks.findings import Finding
from pq.checks.stage import Stage

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Request:
    """What to import: `root` is first on sys.path, `timeout` is in seconds."""

    python: Path
    root: Path
    modules: tuple[str, ...]
    stand_ins: tuple[str, ...]
    probes: tuple[Path, ...]
    timeout: int


@dataclass(frozen=True, slots=True)
class Imported:
    """The modules were imported and the probes passed: in how many seconds, how many modules, with which stand-ins."""

    seconds: float
    modules: int
    stood_in: tuple[str, ...]


def check(request: Request, stage: Stage) -> Imported | Finding:
    """Import the modules and run the probes."""
    with tempfile.TemporaryDirectory(prefix="pq-check-") as folder:
        said = Path(folder, "said")
        answer, ending = _run(request, stage, Path(folder), said)
        tail = tuple(said.read_text(errors="replace").splitlines()[-_SHOWN:])
    if answer is None:
        return Finding("import", ending, text=tail)
    if answer.get("failed"):
        return _finding(answer, stage)
    return Imported(float(str(answer["seconds"])), int(str(answer["modules"])), tuple(_texts(answer["stood_in"])))


def _run(request: Request, stage: Stage, folder: Path, said: Path) -> tuple[Mapping[str, object] | None, str]:
    """The worker's answer, or None and how the worker ended."""
    work = folder / "work"
    work.mkdir()
    read, write = os.pipe()
    order = {
        "root": str(request.root),
        "modules": request.modules,
        "stand_ins": request.stand_ins,
        "probes": [str(probe) for probe in request.probes],
        "answer": write,
    }
    command = [
        str(request.python),
        "-I",
        "-X",
        f"pycache_prefix={stage.bytecode}",
        str(Path(__file__).with_name("import_worker.py")),
    ]
    with open(said, "wb") as output, contextlib.ExitStack() as closing:
        closing.callback(os.close, read)
        try:
            process = subprocess.Popen(
                [*command, json.dumps(order)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=work,
                pass_fds=(write,),
                start_new_session=True,
            )
        finally:
            os.close(write)
        closing.callback(_end, process)
        code = _wait(process, request.timeout)
        if code is None:
            return None, f"the import check took more than {request.timeout} seconds and was ended"
        os.set_blocking(read, False)
        answer = _read(read)
    if answer is None:
        ending = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
        return None, f"the interpreter {ending} during the imports, before it could answer"
    return answer, ""


def _wait(process: subprocess.Popen[bytes], timeout: int) -> int | None:
    """The exit code, or None when the time is over. Popen.wait would hold a Ctrl-C back for so long that the worker outlives this process."""
    end = time.monotonic() + timeout
    while process.poll() is None:
        if time.monotonic() > end:
            return None
        time.sleep(0.01)
    return process.returncode


def _read(pipe: int) -> Mapping[str, object] | None:
    parts = []
    with contextlib.suppress(BlockingIOError):
        while part := os.read(pipe, 65536):
            parts.append(part)
    try:
        answer = json.loads(b"".join(parts))
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _finding(answer: Mapping[str, object], stage: Stage) -> Finding:
    path, line = answer.get("file"), answer.get("line")
    shown = None
    if isinstance(path, str):
        shown = os.path.relpath(path, stage.files) if Path(path).is_relative_to(stage.files) else path
    text = tuple(_texts(answer.get("text")))
    return Finding(str(answer["failed"]), str(answer["reason"]), shown, int(str(line)) if line else None, text=text)


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else []
