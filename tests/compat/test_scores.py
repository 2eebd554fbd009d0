"""Real rebases, scored by the corpus's own script: `pq apply` is nowhere worse than a plain three-way merge, and never falls over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.corpus import CORPUS, EVERYTHING

pytestmark = pytest.mark.corpus

SAMPLE = "true" if EVERYTHING else 'test $(($(cksum < "$PATCH" | cut -d " " -f 1) % 5)) = 0 || exit 99'
"""A shell command: every fifth case, told by its patch; the others count as stopped for everybody."""

CASES = {
    "rebase": ("rebase", "", "refresh,adapted,reworked,dropped"),
    "rebase-fuzz": ("rebase", "--fuzz 2", "refresh,adapted,reworked,dropped,unchanged"),
    "sglang": ("sglang", "", "same,changed"),
}
"""Which cases, with which option, of which kinds. 28 of the kind `unchanged` fit their own base with `patch`'s fuzz of 2 only, which
is what the three-way takes to make its other side: there, pq takes as much."""


DEFINED_TWICE = {"0205"}
"""Cases in which the human's result has a method twice, which upstream had taken over with another body; pq says so and stops."""


def _scores(cases: str, kinds: str, command: str, environment: dict[str, str]) -> dict[str, str]:
    """The verdict on every case: right, noop, applied, wrong or stops."""
    words = [str(CORPUS / "score.py"), cases, "--kind", kinds, "--list", "--", f"{SAMPLE}; {command}"]
    done = subprocess.run([sys.executable, *words], env={**os.environ, **environment}, capture_output=True, check=True, text=True)
    listed = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]
    return {case: verdict for case, _, verdict in listed}


@pytest.mark.parametrize(("cases", "fuzz", "kinds"), CASES.values(), ids=CASES)
def test_nowhere_worse_than_three_way(cases: str, fuzz: str, kinds: str, tmp_path: Path, user_cache: Path) -> None:
    """Where three-way is right, so is pq; where pq is wrong, so is three-way; what has landed (exit 2) is left alone."""
    environment = {"PQ_CORPUS": str(CORPUS), "PQ_CORPUS_CACHE": str(user_cache / "pq-corpus"), "CODES": str(tmp_path / "codes")}
    apply = f'{sys.executable} -P -m pq apply {fuzz} -p "$STRIP" --base "$BASE" "$PATCH"; code=$?; echo $code >> "$CODES"'

    theirs = _scores(cases, kinds, f"{sys.executable} {CORPUS / 'baseline.py'} threeway", environment)
    ours = _scores(cases, kinds, f"{apply}; test $code = 2 || exit $code", environment)

    worse = {
        case: (theirs[case], verdict)
        for case, verdict in ours.items()
        if _worse(verdict, theirs[case]) and not (cases == "sglang" and case in DEFINED_TWICE and verdict == "stops")
    }
    assert not worse
    assert set((tmp_path / "codes").read_text().split()) <= {"0", "2", "3", "4"}
    assert list(ours.values()).count("right") > 5


def _worse(ours: str, theirs: str) -> bool:
    good, bad = {"right", "noop"}, {"wrong", "applied"}
    return (theirs in good and ours not in good) or (ours in bad and theirs not in bad)
