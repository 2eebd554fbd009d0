"""What git's hooks do in a checkout: before a commit on the branch of a series the gate is asked about what is staged; behind it, the commit
becomes a patch, or refreshes the one that it amends. Files of the checkout are never changed by it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from pq.engine import check_events, repair, rewrite
from pq.engine.candidate import Candidate
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out
from pq.engine.stop import Halt
from pq.engine.workspace import Workspace
from pq.errors import NotChecked, NotClean, PqError
from pq.repo import checkout
from pq.repo.commits import Commit

_STAGED = "staged"
"""What the hook is told for the name of a patch."""


def before_commit(workspace: Workspace, index: Path | None, tell: Tell) -> Ending:
    """Ask the gate about what an index (None: the checkout's own) has beyond HEAD. Raises NotClean where a commit would be in the way."""
    if checkout.is_interrupted(workspace.queue.checkout):  # git has the index locked, so that it can't be settled here
        raise NotClean("an interrupted command of pq's is to be settled first", hint="pq status settles it; then commit")
    with workspace.locked(tell):
        head = workspace.checkout.read_commit(workspace.head)
        tree = workspace.checkout.staged(index)
        if tree == head.tree:
            return Ending.DONE
        staged = Candidate(_STAGED, head.tree, Commit("", tree, (head.oid,), head.date, b""))
        rejected = Gate(workspace, tell, workspace.queue.config.check.budget).judge([staged])
    if rejected is None:
        return Ending.DONE
    tell(check_events.CommitRejected(rejected.reasons, rejected.findings))
    return Ending.REJECTED


def after_commit(workspace: Workspace, hook: str, argument: str, tell: Tell) -> None:
    """Make commits and patch files one, where a hook of git's says that there are new commits."""
    under_way = workspace.checkout.under_way
    if hook == "post-rewrite":
        if argument != "rebase":  # of an amended commit, post-commit has taken care
            return
    elif hook == "post-applypatch":
        if not workspace.checkout.is_last_mail:
            return
    elif under_way is not None:
        tell(check_events.NotTakenIn(f"git {under_way} is under way", "when it is done, pq repair makes patches of its commits"))
        return
    try:
        with workspace.locked(tell):
            _take_in(workspace, tell)
    except PqError as error:
        tell(check_events.NotTakenIn(error.fact, error.hint or "pq status says where it stands"))


def _take_in(workspace: Workspace, tell: Tell) -> None:
    opened, pin = workspace.checkout, workspace.pin_commit
    if opened.amended(workspace.queue.series_name).get(workspace.head) == pin:
        way = f"git -C {opened.root} reset --soft {pin[:12]}, and a new commit, makes a patch of it"
        raise NotClean("the commit of the release itself was amended", hint=way)
    mended = repair.mend(workspace, None)
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
    if told.refreshed:
        _judge_refreshed(workspace, plan)


def _judge_refreshed(workspace: Workspace, plan: Plan) -> None:
    """What was checked before the commit is the step from the one that it amends; the hook says, cheaply, whether the whole patch may pass."""
    *_, top = rewrite.built(workspace, plan.layers, rewrite.commit_below(workspace, plan.below))
    with contextlib.suppress(NotChecked):  # which pq status says then
        Gate(workspace, lambda _: None, budget=0).judge([top])
