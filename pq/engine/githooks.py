"""What git's hooks do in a checkout: before a commit on the branch of a series the gate is asked about what is staged; behind it, the commit
becomes a patch, or refreshes the one that it amends. Files of the checkout are never changed by it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pq.engine import check_events, repair, rewrite, staged
from pq.engine.candidate import Candidate
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out
from pq.engine.stop import Halt
from pq.engine.workspace import Workspace, open_workspace
from pq.errors import NotChecked, NotClean, PqError
from pq.repo import checkout, under_way
from pq.repo.commits import Commit
from pq.repo.index import open_index

_STAGED = "staged"
"""What the hook is told for the name of a patch."""
_TITLES = {"post-rewrite": "git rebase", "post-applypatch": "git am"}
"""What is logged as having made the operation, beside `git commit`."""


@dataclass(frozen=True, slots=True)
class Call:
    """How git calls a hook: from a folder of a worktree, with a first argument, about an index where it commits one, and with what it tells.

    `trusted` is a digest that the user said.
    """

    name: str
    start: Path
    argument: str = ""
    index: Path | None = None
    told: str = ""
    trusted: str | None = None


def run(call: Call, today: datetime.date, tell: Tell) -> Ending:
    """Do what a hook does in a checkout, in a queue, or in a repository that is both."""
    workspace = _workspace(call)
    if call.name.startswith("post-"):
        if workspace is not None:
            _after_commit(workspace, call, tell)
        return Ending.DONE
    ending = Ending.DONE if workspace is None else _before_commit(workspace, call, tell)
    index = open_index(call.start, call.index)
    return ending if ending is not Ending.DONE or index is None else staged.before_commit(index, today, call.trusted, tell)


def _workspace(call: Call) -> Workspace | None:
    """The workspace in whose checkout git commits, on the branch of a series; None where it does so elsewhere."""
    series = checkout.series_of(call.start)
    if series is None:
        return None
    found = open_workspace(call.start, title=_TITLES.get(call.name, "git commit"), trusted=call.trusted)
    if series not in found.queue.series_names():  # a branch of the user's own
        return None
    found = found.variant_of(series)
    # git moves the branch just now, and nothing is to be refused because it does
    return replace(found, at=found.checkout.branch(series))


def _before_commit(workspace: Workspace, call: Call, tell: Tell) -> Ending:
    """Ask the gate about what an index (None: the checkout's own) has beyond HEAD. Raises NotClean where a commit would be in the way."""
    if checkout.is_interrupted(workspace.queue.checkout):  # git has the index locked, so that it can't be settled here
        raise NotClean("an interrupted command of pq's is to be settled first", hint="pq status settles it; then commit")
    if call.name == "pre-merge-commit" or under_way.is_merging(workspace.checkout.repository):
        raise NotClean(
            "a merge is no patch", hint="git merge --abort; pq import REV..REV makes patches of another branch's commits"
        )
    with workspace.locked(tell):
        head = workspace.checkout.read_commit(workspace.head)
        tree = workspace.checkout.staged(call.index)
        if tree == head.tree:
            return Ending.DONE
        staged = Candidate(_STAGED, head.tree, Commit("", tree, (head.oid,), head.date, b""))
        rejected = Gate(workspace, tell, workspace.queue.config.check.budget).judge([staged])
    if rejected is None:
        return Ending.DONE
    tell(check_events.CommitRejected(rejected.reasons, rejected.findings))
    return Ending.REJECTED


def _after_commit(workspace: Workspace, call: Call, tell: Tell) -> None:
    """Make commits and patch files one, where a hook of git's says that there are new commits."""
    several = under_way.several_commits(workspace.checkout.repository)
    if call.name == "post-rewrite":
        if call.argument != "rebase":  # of an amended commit, post-commit has taken care
            return
    elif call.name == "post-applypatch":
        if not under_way.is_last_mail(workspace.checkout.repository):
            return
    elif several is not None:
        tell(check_events.NotTakenIn(f"git {several} is under way", "when it is done, pq repair makes patches of its commits"))
        return
    try:
        with workspace.locked(tell):
            _take_in(workspace, _rewritten(call.told), tell)
    except PqError as error:
        tell(check_events.NotTakenIn(error.fact, error.hint or "pq status says where it stands"))


def _rewritten(told: str) -> tuple[tuple[str, str], ...]:
    """What post-rewrite is told: a commit of before and what became of it, a line each. Source: githooks(5)."""
    lines = (line.split(" ") for line in told.splitlines() if " " in line)
    return tuple((old, new) for old, new, *_ in lines)


def _take_in(workspace: Workspace, rewritten: Sequence[tuple[str, str]], tell: Tell) -> None:
    opened, pin = workspace.checkout, workspace.pin_commit
    if opened.amended(workspace.queue.series_name).get(workspace.head) == pin:
        way = f"git -C {opened.root} reset --soft {pin[:12]}, and a new commit, makes a patch of it"
        raise NotClean("the commit of the release itself was amended", hint=way)
    mended = repair.mend(workspace, None, rewritten)
    if isinstance(mended, Halt):
        raise NotClean(f"patch {mended.conflict.patch} does not fit there", hint="pq repair stops at the conflict")
    plan, told = mended.plan, mended.told
    if plan is None:
        return
    tree = plan.layers[-1].tree if plan.layers else opened.read_commit(pin).tree
    if told.again or told.dropped or tree != opened.read_commit(workspace.head).tree:
        raise NotClean("the series, or files of other patches, were changed, too", hint="pq repair brings all of it together")
    carry_out(workspace, plan, tell)
    tell(told)
    _judge(workspace, plan, tell)


def _judge(workspace: Workspace, plan: Plan, tell: Tell) -> None:
    """Ask, cheaply, about what was not checked before git made the commit: the whole of a patch that was amended, mails, picked commits."""
    candidates = rewrite.built(workspace, plan.layers, rewrite.commit_below(workspace, plan.below))
    try:
        rejected = Gate(workspace, lambda _: None, budget=0).judge(candidates)
    except NotChecked:
        tell(check_events.Unchecked(tuple(each.patch for each in candidates), asked=False))
        return
    if rejected is not None:
        tell(replace(rejected, applied=True))
