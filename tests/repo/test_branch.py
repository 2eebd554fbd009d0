"""HEAD, branch and pin are what the series says, or pq says what they are instead (exit code 5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import World, git
from tests.laws import nothing_changed


def _detached(checkout: Path) -> str:
    git(checkout, "switch", "-q", "--detach")
    return "HEAD of the checkout is detached\nhint: git -C"


def _other_branch(checkout: Path) -> str:
    git(checkout, "switch", "-q", "-c", "mine")
    return "The checkout is on branch mine, not on pq/v1\nhint: git -C"


def _no_commit(checkout: Path) -> str:
    git(checkout, "update-ref", "-d", "refs/heads/pq/v1")
    return "Branch pq/v1 has no commit\nhint: pq setup"


def _foreign_commit(checkout: Path) -> str:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "by hand")
    return f"commit {_head(checkout)[:12]} (by hand) is not a patch of the series\nhint: pq repair makes a patch of it"


def _merge(checkout: Path) -> str:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "x\n\nPq-Patch: x\nPq-Digest: sha256:0")
    git(checkout, "switch", "-q", "-c", "side", "HEAD~1")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "side")
    git(checkout, "switch", "-q", "pq/v1")
    git(checkout, "merge", "-q", "-m", "both\n\nPq-Patch: y\nPq-Digest: sha256:0", "side")
    return f"commit {_head(checkout)[:12]} (both) is not a patch of the series\nhint: git -C {checkout} rebase "


def _other_history(checkout: Path) -> str:
    git(checkout, "switch", "-q", "--orphan", "other")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "root")
    git(checkout, "branch", "-qf", "pq/v1")
    git(checkout, "switch", "-q", "pq/v1")
    return "The checkout does not stand on the pin"


def _head(checkout: Path) -> str:
    return git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("command", ["push", "pop", "top"])
@pytest.mark.parametrize("state", [_detached, _other_branch, _no_commit, _foreign_commit, _merge, _other_history])
def test_a_checkout_that_is_elsewhere_is_left_alone(stacked: World, state: Callable[[Path], str], command: str) -> None:
    fact = state(stacked.checkout)

    with nothing_changed(stacked):
        said = stacked.pq(command)

    assert (said.code, said.out) == (5, "")
    assert said.err.startswith(f"pq: {fact}")


def test_a_pin_with_another_commit_id_is_refused(stacked: World) -> None:
    """W8: the release was published anew, or this is another repository."""
    wrong = "0123456789" * 4
    stacked.series.write_bytes(
        stacked.series.read_bytes().replace(git(stacked.upstream, "rev-parse", "v1").strip().encode(), wrong.encode())
    )

    with nothing_changed(stacked):
        pushed = stacked.pq("push", "-a")

    assert (pushed.code, pushed.out) == (5, "")
    assert f"The series is made for v1 at {wrong}, the checkout has it at " in pushed.err


def test_a_pin_whose_release_the_checkout_has_not_is_refused(stacked: World) -> None:
    stacked.series.write_bytes(b"# pq-pin: v2\n" + stacked.series.read_bytes().partition(b"\n")[2])

    with nothing_changed(stacked):
        pushed = stacked.pq("push", "-a")

    assert (pushed.code, pushed.err) == (5, "pq: Release v2 is not in the checkout\nhint: pq setup fetches it\n")


def test_a_commit_made_while_the_hook_runs_is_not_stepped_over(stacked: World) -> None:
    """A check takes long; the user goes on working in the checkout."""
    hook = stacked.queue / "hooks" / "pre-apply"
    hook.write_text(
        '#!/bin/sh\nunset GIT_DIR\ngit -C "$PQ_CHECKOUT" -c user.name=Ada -c user.email=ada@example.org commit -q --no-verify --allow-empty -m meanwhile\n'
    )

    pushed = stacked.pq("push", "-a")

    assert pushed.code == 5, pushed
    assert "branch pq/v1 was moved meanwhile" in pushed.err
    assert git(stacked.checkout, "log", "-1", "--format=%s") == "meanwhile\n"
    assert stacked.files()["numbers.txt"].count(b"line five") == 0


def test_a_branch_switched_to_while_the_hook_runs_is_not_patched(stacked: World) -> None:
    hook = stacked.queue / "hooks" / "pre-apply"
    hook.write_text('#!/bin/sh\nunset GIT_DIR\ngit -C "$PQ_CHECKOUT" switch -q -c mine\n')

    pushed = stacked.pq("push", "-a")

    assert pushed.code == 5, pushed
    assert stacked.files()["numbers.txt"].count(b"line five") == 0
