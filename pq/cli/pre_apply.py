"""What the shipped `hooks/pre-apply` runs: reads pq's request, prints `note`, `partly`, `finding` and `reject` lines."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import signal
import sys
from pathlib import Path

from pq.checks import confinement
from pq.checks.imports import Imported
from pq.engine import checking
from pq.engine.checking import Asked, Checker, Verdict
from pq.errors import PqError
from pq.queue import open_queue
from pq.repo import checkout


def main() -> int:
    """Check the patches on standard input; 0 if all may pass."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.disable()  # syntax trees are millions of objects that live as long as this process does
    asked = [Asked(*line.rstrip("\n").split("\t")) for line in sys.stdin]
    try:
        verdict = _checker().judge(asked)
    except PqError as error:
        _reject(asked[0].patch, error.fact, *([f"hint: {error.hint}"] if error.hint else []))
        return 1
    except OSError as error:
        _reject(asked[0].patch, f"the check could not be made: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    try:
        _say(verdict)
    except BrokenPipeError:  # pq was killed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if verdict.rejected else 0


def _say(verdict: Verdict) -> None:
    for patch, finding in verdict.rejected:
        print(f"finding\t{patch}\t{json.dumps(dataclasses.asdict(finding))}")
        _reject(patch, *finding.lines())
    if verdict.within is not None:
        print(f"partly\tthe modules were not imported{f' within {verdict.within} s' if verdict.within else ''}")
    if verdict.imported is not None:
        print(f"note\t{_note(verdict.imported)}")
    sys.stdout.flush()


def _note(imported: Imported) -> str:
    stood = f", with stand-ins for {', '.join(imported.stood_in)}" if imported.stood_in else ""
    network = "; the system lets no process leave the network" if imported.network else ""
    return f"imported {imported.modules} modules in {imported.seconds:.1f} s{stood}; all probes passed{network}"


def _reject(patch: str, *reasons: str) -> None:
    for line in "\n".join(reasons).splitlines():
        print(f"reject\t{patch}\t{line}")


def _checker() -> Checker:
    candidate, budget = os.environ.get("PQ_CANDIDATE"), os.environ.get("PQ_BUDGET", "")
    queue = open_queue(
        Path(os.environ["PQ_QUEUE"]), series_name=os.environ["PQ_SERIES"], candidate=Path(candidate) if candidate else None
    )
    opened = checkout.open_checkout(Path(os.environ["PQ_CHECKOUT"]), queue=queue.root)
    pin = queue.read_pin(queue.read_series())
    return Checker(
        queue=queue,
        objects=opened.objects,
        python=checking.interpreter(queue, pin),
        folder=opened.folder / "stage",
        overlay=opened.compiled(pin.release),
        environment=confinement.variables(os.environ, opened.folder / "home", queue.config.check.variables),
        daemon=not os.environ.get("PQ_NO_DAEMON"),
        progress=_progress,
        budget=int(budget) if budget.isdecimal() else None,
    )


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"  {text} …", file=sys.stderr)
