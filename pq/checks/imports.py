"""Are the queue's modules imported for real, from the staged copy, and do the probes pass?

Runs the scripts in `worker/` in the interpreter of the import check: a process group of its own, confined (see `confinement`), no standard
input, a time limit, and an answer through a pipe of its own, so that what the imported code prints, or an exit in it, can't be taken for an answer. Where a
worker stays between commands (see `warm`), it is asked first; a fresh process has the last word.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pq.checks import confinement
from pq.checks.confinement import SCRIPTS
from pq.checks.findings import Finding
from pq.checks.stage import Stage
from pq.checks.warm import Warm

_SHOWN = 12
_WARM_SHARE = 4
"""A worker that needs more than this part of the time limit is not waited for."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to import: `root` is first on sys.path, `timeout` is in seconds; `watch` are modules that may well be other ones next time.

    `environment` are the variables that the imported code sees, `memory` what it may use, in GiB.
    """

    python: Path
    root: Path
    modules: tuple[str, ...]
    stand_ins: tuple[str, ...]
    probes: tuple[Path, ...]
    timeout: int
    environment: Mapping[str, str]
    memory: int
    watch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """The modules were imported and the probes passed: in how many seconds, how many modules, with which stand-ins.

    `network`: they could reach it, since the system does not let a process leave it.
    """

    seconds: float
    modules: int
    stood_in: tuple[str, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class TooLong:
    """The imports were ended after so many seconds."""

    seconds: int


def check(request: Request, stage: Stage, warm: Warm | None = None) -> Imported | Finding | TooLong:
    """Import the modules and run the probes."""
    passed = _ask(request, stage, warm) if warm is not None else None
    return passed or _fresh(request, stage, warm)


def _ask(request: Request, stage: Stage, warm: Warm) -> Imported | None:
    """What a worker that stays says, if it says that the tree passes."""
    began = time.monotonic()
    with _order(request, stage) as order:
        imported = _imported(warm.ask(order, request.timeout / _WARM_SHARE), began)
        if imported is not None:
            _leave(request, warm, order)
    return imported


def _fresh(request: Request, stage: Stage, warm: Warm | None) -> Imported | Finding | TooLong:
    """What a process of its own says."""
    began = time.monotonic()
    with _order(request, stage) as order:
        answer, ending = _run(request, stage, order)
        if isinstance(answer, TooLong):
            return answer
        if answer is not None and answer.get("failed"):
            return _finding(answer, stage)
        imported = _imported(answer, began)
        if imported is None:
            tail = tuple(Path(order["said"]).read_text(errors="replace").splitlines()[-_SHOWN:])
            return Finding("import", ending, text=tail)
        if warm is not None:
            _leave(request, warm, order)
    return imported


def _leave(request: Request, warm: Warm, order: Mapping[str, Any]) -> None:
    """Have a worker wait for the next check."""
    if not warm.is_there():
        warm.start(request.python, request.stand_ins, Path(order["loaded"]), request.environment, memory=request.memory)


@contextlib.contextmanager
def _order(request: Request, stage: Stage) -> Iterator[dict[str, Any]]:
    """What a worker is told, with a folder of its own to work in."""
    with tempfile.TemporaryDirectory(prefix="pq-check-") as folder:
        Path(folder, "work").mkdir()
        Path(folder, "said").touch()
        yield {
            "root": str(request.root),
            "modules": request.modules,
            "stand_ins": request.stand_ins,
            "probes": [str(probe) for probe in request.probes],
            "work": f"{folder}/work",
            "said": f"{folder}/said",
            "loaded": f"{folder}/loaded",
            "watch": request.watch,
            "mark": str(stage.mark),
            "bytecode": str(stage.bytecode),
        }


def _imported(answer: object, began: float) -> Imported | None:
    """The answer of one that passed; None where it is anything else."""
    match answer:
        case {"failed": _}:
            return None
        case {"modules": int(modules), "stood_in": [*names], "network": bool(network)}:
            return Imported(time.monotonic() - began, modules, tuple(map(str, names)), network)
    return None


def _run(request: Request, stage: Stage, order: Mapping[str, Any]) -> tuple[Mapping[str, object] | TooLong | None, str]:
    """A fresh process's answer, or None and how the process ended."""
    read, write = os.pipe()
    command = [str(request.python), "-I", "-X", f"pycache_prefix={stage.bytecode}", str(SCRIPTS)]
    answering = [*command, json.dumps({**order, "answer": write})]
    with open(order["said"], "wb") as output, contextlib.ExitStack() as closing:
        closing.callback(os.close, read)
        try:
            process = subprocess.Popen(
                confinement.command(answering, memory=request.memory),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=order["work"],
                env=request.environment,
                pass_fds=(write,),
                start_new_session=True,
            )
        finally:
            os.close(write)
        closing.callback(_end, process)
        code = _wait(process, request.timeout)
        if code is None:
            return TooLong(request.timeout), ""
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
    return answer if isinstance(answer, dict) and ("failed" in answer or _imported(answer, 0) is not None) else None


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
