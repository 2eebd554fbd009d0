"""How long git's hooks take: a commit of a queue of N real patches, and a commit in its checkout (`--patches N`, `--rounds R`).

The patches are those of tests/bench/push.py. Each commit is timed beside the same one without the hooks, in one run.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.push import NEW, OLD, PQ, call, choose, make_case, make_upstream, release, timed

_COMMIT = ("git", "commit", "-q", "-a", "-m", "work")
_FIRST, _AGAIN, _SAME, _PLAIN = (
    "the queue, first commit",
    "the queue, a patch changed",
    "the queue, its pq.toml changed",
    "without hooks",
)
_CHECKOUT, _AMEND, _OTHER = "the checkout, a new patch", "the checkout, --amend", "the checkout, another branch"


def main() -> None:
    """Build the queue, measure, print."""
    asked = argparse.ArgumentParser(description="Time git's hooks.")
    asked.add_argument("--patches", type=int, default=50, help="how many patches (50)")
    asked.add_argument("--rounds", type=int, default=5, help="how often everything is measured (5)")
    options = asked.parse_args()
    times: dict[str, list[float]] = {}
    old, new = release(OLD), release(NEW)
    paths, _ = choose(old, new, options.patches)
    with tempfile.TemporaryDirectory(prefix="pq-bench-") as name:
        folder = Path(name).resolve()
        make_upstream(folder / "upstream", old)
        queue = make_case(folder / "upstream", folder / "queue", old, new, paths).queue
        call("git", "init", "-q", cwd=queue)
        call(PQ, "hooks", "install", cwd=queue)
        for _ in range(options.rounds):
            measure(queue, queue / ".checkout", queue / "patches" / f"{options.patches:04}-{Path(paths[-1]).stem}.patch", times)
    print(f"{options.patches} patches of sglang {OLD}; {options.rounds} rounds; median seconds")
    for row, seconds in times.items():
        print(f"{row:40} {median(seconds):6.2f}")


def measure(queue: Path, checkout: Path, patch: Path, times: dict[str, list[float]]) -> None:
    """Commit in the queue and in the checkout, with and without the hooks."""

    def take(row: str, *words: str, cwd: Path) -> None:
        times.setdefault(row, []).append(timed("git", *words, "commit", "-q", "-a", "-m", "work", cwd=cwd))

    (checkout / ".git" / "pq" / "staged.json").unlink(missing_ok=True)
    _edit(queue / "series" / f"v{OLD}", "# a remark\n")
    call("git", "add", "-A", cwd=queue)
    take(_FIRST, cwd=queue)
    patch.write_bytes(b"A remark.\n" + patch.read_bytes())
    take(_AGAIN, cwd=queue)
    _edit(queue / "pq.toml", "# a remark\n")
    take(_SAME, cwd=queue)
    _edit(queue / "pq.toml", "# a remark\n")
    take(f"{_SAME}, {_PLAIN}", "-c", "core.hooksPath=/dev/null", cwd=queue)

    file = next(checkout.rglob("server_args.py"))
    _edit(file, "x = 1\n")
    take(_CHECKOUT, cwd=checkout)
    _edit(file, "y = 1\n")
    times.setdefault(_AMEND, []).append(timed("git", "commit", "-q", "-a", "--amend", "--no-edit", cwd=checkout))
    call(PQ, "delete", "-r", cwd=queue)
    call("git", "switch", "-q", "-C", "other", cwd=checkout)
    _edit(file, "z = 1\n")
    take(_OTHER, cwd=checkout)
    _edit(file, "z = 2\n")
    take(f"{_OTHER}, {_PLAIN}", "-c", "core.hooksPath=/dev/null", cwd=checkout)
    call("git", "switch", "-q", f"pq/v{OLD}", cwd=checkout)


def _edit(place: Path, text: str) -> None:
    with place.open("a", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
