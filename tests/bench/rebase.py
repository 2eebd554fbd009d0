"""Real rebases: what pq makes of them beside git apply, patch --fuzz=2, a three-way merge and wiggle (Debian packages patch and wiggle).

Every case is an old patch, the old and the new release, and what people made of it; the corpus's own script counts. `--forecast` measures
`pq forecast` on a published queue of 42 patches over all fetched releases: seconds, and the memory of the largest process.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import platformdirs

from tests.compat.corpus import CORPUS, unpack

CASES = {
    "rebase": (("refresh", "--hops1"), ("refresh",), ("adapted",), ("reworked",), ("dropped", "--hops1"), ("dropped",)),
    "sglang": (("same",), ("changed",)),
}
PQ = f'{sys.executable} -P -m pq apply -p "$STRIP" --base "$BASE" "$PATCH"; code=$?; test $code = 2 || exit $code'
TOOLS = {
    **{name: f"{sys.executable} {CORPUS / 'baseline.py'} {name}" for name in ("apply", "fuzz", "threeway", "wiggle")},
    "pq": PQ,
    "pq --fuzz 2": PQ.replace("apply ", "apply --fuzz 2 "),
}
QUEUE, VERSION, TARGET = "slime/0.5.9/split", "v0.5.9", 10.0


def score(cases: str, kind: str, options: tuple[str, ...], command: str) -> str:
    """The line of counts of one tool over the cases of a kind."""
    environment = {**os.environ, "PQ_CORPUS": str(CORPUS), "PQ_CORPUS_CACHE": str(platformdirs.user_cache_path("pq-corpus"))}
    words = [sys.executable, str(CORPUS / "score.py"), cases, *options, "--kind", kind, "--", command]
    said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix(kind).strip() for line in said.splitlines() if line.startswith(kind))


def forecast() -> None:
    """How long a forecast takes, and how much memory its largest process."""
    pq = [sys.executable, "-P", "-m", "pq"]
    with tempfile.TemporaryDirectory() as folder:
        source = unpack("sglang/queues.tar.xz", Path(folder)) / "queues" / QUEUE
        queue = Path(folder, "queue")
        for words in (("init", "queue", "--source", "pypi:sglang", "--pin", VERSION), ("-C", "queue", "setup")):
            subprocess.run([*pq, *words], cwd=folder, check=True, capture_output=True)
        names = [name for name in (source / "series").read_text().splitlines() if not name.startswith("#")]
        for name in names:
            shutil.copy(source / name, queue / "patches")
        with (queue / "series" / VERSION).open("a") as series:
            series.write("".join(f"{name}\n" for name in names))
        subprocess.run([*pq, "fetch", "--all-since", VERSION], cwd=queue, check=True, capture_output=True)
        began = time.monotonic()
        said = subprocess.run([*pq, "forecast"], cwd=queue, check=False, capture_output=True, text=True)
        seconds = time.monotonic() - began
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    releases = len(said.stdout.splitlines()[0].split())
    print(f"forecast of {len(names)} patches on {releases} releases: {seconds:.1f} s (target {TARGET:.0f}), {memory:.0f} MB")


def main() -> None:
    """Print the tables."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--forecast", action="store_true", help="measure the forecast alone")
    asked.add_argument("--only", metavar="KIND", help="cases of one kind alone")
    given = asked.parse_args()
    if not given.forecast:
        for cases, kinds in CASES.items():
            for kind, *options in kinds:
                for tool, command in TOOLS.items() if given.only in (None, kind) else ():
                    print(
                        f"{cases} {kind} {' '.join(options):8} {tool:12} {score(cases, kind, tuple(options), command)}",
                        flush=True,
                    )
    if given.only is None:
        forecast()


if __name__ == "__main__":
    main()
