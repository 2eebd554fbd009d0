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


DEFINED_TWICE = {"0056", "0205"}
"""Cases in which the human's result has a statement or a method twice, which upstream had taken over too; pq says so and stops."""
EDITED = {"cryptography-36.0.2-37.0.3-4b432d", "cryptography-42.0.5-44.0.2-6feec2"}
"""Cases in which the patch names another result than its hunks have, since it was edited or cut; pq says so and stops."""
ANOTHER_ORDER = {"0178", "0213", "0304", "0346", "0386"}
"""Cases in which two sides put siblings at one place (imports, fields, parameters), and the human has them in the other order."""
NOT_LANDED = {"pillow-11.1.0-11.2.1-4f1d49"}
"""Patches that the human dropped though nothing of them is there, which pq can carry and a three-way can't."""
CARRIED = {"same", "refresh", "unchanged"}
"""The kinds in which the human carried the change as it was, so that another result is a wrong one."""


def _scores(cases: str, kinds: str, command: str, environment: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Of every case its kind, and the verdict: right, noop, applied, wrong or stops."""
    words = [str(CORPUS / "score.py"), cases, "--kind", kinds, "--list", "--", f"{SAMPLE}; {command}"]
    done = subprocess.run([sys.executable, *words], env={**os.environ, **environment}, capture_output=True, check=True, text=True)
    listed = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]
    return {case: (kind, verdict) for case, kind, verdict in listed}


@pytest.mark.parametrize(("cases", "fuzz", "kinds"), CASES.values(), ids=CASES)
def test_nowhere_worse_than_three_way(cases: str, fuzz: str, kinds: str, tmp_path: Path, user_cache: Path) -> None:
    """Where three-way is right, so is pq; what was carried as it was is wrong only where three-way is; what has landed (exit 2) is left alone."""
    environment = {"PQ_CORPUS": str(CORPUS), "PQ_CORPUS_CACHE": str(user_cache / "pq-corpus"), "CODES": str(tmp_path / "codes")}
    base = '$(test -d "$BASE" && echo "--base $BASE")'  # A patch that only makes files has none.
    apply = f'{sys.executable} -P -m pq apply {fuzz} -p "$STRIP" {base} "$PATCH"; code=$?; echo $code >> "$CODES"'

    theirs = _scores(cases, kinds, f"{sys.executable} {CORPUS / 'baseline.py'} threeway", environment)
    ours = _scores(cases, kinds, f"{apply}; test $code = 2 || exit $code", environment)

    explained = DEFINED_TWICE | ANOTHER_ORDER if cases == "sglang" else EDITED | NOT_LANDED
    worse = {
        case: (theirs[case][1], verdict)
        for case, (kind, verdict) in ours.items()
        if _worse(kind, verdict, theirs[case][1]) and case not in explained
    }
    assert not worse
    assert set((tmp_path / "codes").read_text().split()) <= {"0", "2", "3", "4"}
    assert [verdict for _, verdict in ours.values()].count("right") > 5


def _worse(kind: str, ours: str, theirs: str) -> bool:
    good, bad = {"right", "noop"}, {"wrong", "applied"} if kind in CARRIED else {"applied"}
    return (theirs in good and ours not in good) or (ours in bad and theirs not in bad)
