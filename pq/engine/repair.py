"""repair: commits and patch files brought together, after plain git on the branch or an edit of a patch file that is applied.

The commits from the pin to the branch are taken as they stand, and each is told apart:

- pq's own, as its file makes it: nothing to do;
- of a patch whose file is as it was: amended, rebased or reworded. The commit is the truth, and the file is written anew;
- of a patch whose file changed, but pq's own: the file is the truth, and the patch is applied anew with all above it;
- of a patch that the series no longer has: it is taken off;
- of no patch: a new patch is made of it.

Where nobody but pq made the commits, they follow the order of the series; else the series follows theirs. Where both the commit and the
file of a patch changed, nobody but the user knows (`prefer`). Patches of the series without a commit stay, unapplied; where git only took
commits off, or put them back, that is noted, and the files stay as they are.
"""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pq.core import header
from pq.core.series import Entry, Series
from pq.engine import carry, events, history, intake, rewrite
from pq.engine.apply import Failed
from pq.engine.carry import Conflict, Layer
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out
from pq.engine.stop import Halt, stoppable
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, PqError
from pq.repo import commits
from pq.repo.commits import Commit, PatchCommit


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of the commits so far."""

    series: Series
    layers: tuple[Layer, ...] = ()
    adopted: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class Prefer(enum.StrEnum):
    """Which of the two is the truth where both the commit and the file of a patch changed."""

    COMMIT = "commit"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Mended:
    """What makes commits and files one, and what there is to tell. Without a plan they are one."""

    plan: Plan | None
    told: events.Repaired


@stoppable
def repair(workspace: Workspace, tell: Tell, *, prefer: str | None) -> Ending | Halt:
    """Bring commits and files together. Raises NotClean where that takes a decision."""
    mended = mend(workspace, Prefer(prefer) if prefer is not None else None)
    if isinstance(mended, Halt):
        return mended
    if mended.plan is None:
        return _as_it_stands(workspace, tell)
    outcome = carry_out(workspace, mended.plan, tell)
    if outcome is Ending.DONE:
        tell(mended.told)
    return outcome


def mend(workspace: Workspace, prefer: Prefer | None, rewritten: Sequence[tuple[str, str]] = ()) -> Mended | Halt:
    """What repair would do. `rewritten` are commits of before and what a rebase made of them, in its order: of several, it may have made one."""
    tree = workspace.checkout.read_commit(workspace.pin_commit).tree
    raw = workspace.checkout.commits_above(workspace.head, workspace.pin_commit)
    sources = _sources(workspace, raw, rewritten)
    joined = [(patches[0], other) for patches in sources.values() for other in patches[1:]]
    found = _Found(workspace.series.without(*(other.patch for _, other in joined)))
    of_one = {oid: patches[0] for oid, patches in sources.items()}
    amended = workspace.checkout.amended(workspace.queue.series_name)
    for commit in raw:
        step = _settled(workspace, found, commit, tree, prefer, amended, of_one.get(commit.oid))
        if isinstance(step, Conflict):
            return Halt(0, replace(step, below=found.layers))
        found = step
        tree = found.layers[-1].tree if found.layers else tree
    if all(commit.own for commit in raw):
        ordered = _in_order_of_series(workspace, found)
        if isinstance(ordered, Conflict):
            return Halt(0, ordered)
        found = ordered
    series = found.series.ordered([layer.entry.name for layer in found.layers])
    made = tuple(_with_entry(layer, series.entry(layer.entry.name)) for layer in found.layers)
    gone = {
        rewrite.patch_path(workspace, other.patch): None for _, other in joined if not workspace.queue.other_series(other.patch)
    }
    plan = Plan(0, made, {**rewrite.queue_changes(workspace, series, made), **gone})
    candidates = rewrite.built(workspace, plan.layers, rewrite.commit_below(workspace, plan.below))
    head = candidates[-1].commit.oid if candidates else workspace.pin_commit
    names = [layer.entry.name for layer in made]
    left = tuple(name for name in history.applied_last(workspace) or () if name in series.names and name not in names)
    taken_in = tuple((first.patch, other.patch) for first, other in joined)
    told = events.Repaired(found.adopted, found.refreshed, found.again, found.dropped, left, taken_in)
    return Mended(plan if plan.queue or head != workspace.head else None, told)


def _sources(
    workspace: Workspace, commits_now: Sequence[Commit], rewritten: Sequence[tuple[str, str]]
) -> Mapping[str, Sequence[PatchCommit]]:
    """The patches of the series that git made one commit of, by that commit."""
    sources: dict[str, list[PatchCommit]] = {}
    for old, new in rewritten:
        if any(new == commit.oid for commit in commits_now):
            patch = commits.as_patch(workspace.checkout.read_commit(old))
            if patch is not None and patch.patch in workspace.series.names:
                sources.setdefault(new, []).append(patch)
    return {new: patches for new, patches in sources.items() if len(patches) > 1}


def _as_it_stands(workspace: Workspace, tell: Tell) -> Ending:
    """Where git moved the branch along the stack, that is where it stands. Raises NothingToDo where it did not."""
    before, now = history.applied_last(workspace), workspace.stack.applied
    if before is None:
        raise NothingToDo("Commits and patch files are one", hint="pq status says what else there is")
    history.take_as_it_stands(workspace)
    tell(events.Moved(tuple(name for name in before if name not in now), tuple(name for name in now if name not in before)))
    return Ending.DONE


def _in_order_of_series(workspace: Workspace, found: _Found) -> _Found | Conflict:
    """Where nobody but pq made the commits, the order of the series is the truth."""
    order = sorted(found.layers, key=lambda layer: found.series.names.index(layer.entry.name))
    if tuple(order) == found.layers:
        return found
    ground = found.layers[0].before
    carried = carry.carry(workspace, order, ground, goal=found.layers[-1].tree)
    return carried if isinstance(carried, Conflict) else replace(found, layers=carried)


def _settled(
    workspace: Workspace,
    found: _Found,
    commit: Commit,
    tree: str,
    prefer: Prefer | None,
    amended: Mapping[str, str],
    first: PatchCommit | None,
) -> _Found | Conflict:
    """One more commit, which stands on `tree`, where the patches below it were settled. Of several patches, it is the `first`."""
    patch = first or _patch(workspace, commit, amended)
    taken = [layer.entry.name for layer in found.layers]
    below = workspace.checkout.read_commit(commit.parents[0]).tree
    if patch is not None and commit.own and patch.patch not in workspace.series.names:
        return replace(found, dropped=(*found.dropped, patch.patch))  # the series was cut: so it is taken off
    if patch is None or patch.patch in taken or patch.patch not in workspace.series.names:
        return _adopted(workspace, found, commit, below, tree)
    entry = workspace.series.entry(patch.patch)
    content = workspace.queue.read_patch(entry.name)
    same_file = commits.identity(content, entry) == patch.identity
    own = commit.own
    if not same_file and not own:
        if prefer is None:
            raise NotClean(
                f"Both the commit and the file of patch {entry.name} were changed",
                hint=f"git -C {workspace.checkout.root} show {commit.oid[:12]} has the commit; pq repair --prefer commit, or --prefer file",
            )
        own, same_file = prefer is Prefer.FILE, prefer is Prefer.COMMIT
    if same_file and own and below == tree:
        return _and(found, Layer(entry, content, tree, commit.tree, patch.fuzz))
    if own and not same_file:
        made = carry.apply_on(workspace, workspace.parse(entry, content), made_for=below, ground=tree)
        if isinstance(made, Failed):
            raise NotClean(
                f"Patch {entry.name} as its file is now does not apply",
                hint=f"pq pop to below it, pq push {entry.name} says why; or put the file back",
            )
        return _and(found, Layer(entry, content, tree, made), again=entry.name)
    layer = _carried(workspace, Layer(entry, content, below, commit.tree), tree)
    if isinstance(layer, Conflict):
        return layer
    if own:
        return _and(found, layer)
    before = _with_description(workspace, entry, content, commit)
    made_of = carry.rewritten(workspace, entry, before, tree, layer.tree)
    return _and(found, Layer(entry.forward(), made_of, tree, layer.tree), refreshed=entry.name)


def _patch(workspace: Workspace, commit: Commit, amended: Mapping[str, str]) -> PatchCommit | None:
    """The patch that a commit stands for; with a message of its own (`git commit --amend -m`), the one of the commit that it was made of."""
    said, left, oid = commits.as_patch(commit), dict(amended), commit.oid
    while said is None and (oid := left.pop(oid, "")):
        with contextlib.suppress(PqError):
            said = commits.as_patch(workspace.checkout.read_commit(oid))
    return said


def _adopted(workspace: Workspace, found: _Found, commit: Commit, below: str, tree: str) -> _Found | Conflict:
    """A commit of no patch becomes one."""
    behind = found.layers[-1].entry.name if found.layers else None
    folder, slash, _ = (behind or "").rpartition("/")
    name = intake.free_name(workspace, folder + slash, commit.text.partition("\n")[0], found.series.names)
    objects = workspace.checkout.objects
    content = header.write(commit.author, commit.date, commit.text) + carry.diff(objects, below, commit.tree)
    series = found.series.inserted(name, behind=behind)
    layer = _carried(workspace, Layer(series.entry(name), content, below, commit.tree), tree)
    return layer if isinstance(layer, Conflict) else _and(replace(found, series=series), layer, adopted=name)


def _carried(workspace: Workspace, layer: Layer, tree: str) -> Layer | Conflict:
    carried = carry.carry(workspace, [layer], tree)
    return carried if isinstance(carried, Conflict) else carried[0]


def _and(found: _Found, layer: Layer, *, adopted: str = "", refreshed: str = "", again: str = "") -> _Found:
    return replace(
        found,
        layers=(*found.layers, layer),
        adopted=(*found.adopted, *([adopted] if adopted else [])),
        refreshed=(*found.refreshed, *([refreshed] if refreshed else [])),
        again=(*found.again, *([again] if again else [])),
    )


def _with_entry(layer: Layer, entry: Entry) -> Layer:
    forward = (layer.entry.strip, layer.entry.reverse) == (1, False)
    return Layer(entry.forward() if forward else entry, layer.content, layer.before, layer.tree, layer.fuzz)


def _with_description(workspace: Workspace, entry: Entry, content: bytes, commit: Commit) -> bytes:
    """The patch with the author, date and message of a commit, where these are others than its text says."""
    old = workspace.parse(entry, content).header
    described = header.read(old)
    said = (described.name or described.address, described.address) if described.address or described.name else commits.IDENTITY
    same_text = _clean(described.message or entry.name) == _clean(commit.text)
    same_date = described.date is None or described.date == commit.date
    if commit.author == said and same_text and same_date:
        return content
    author = None if commit.author == commits.IDENTITY else commit.author
    date = commit.date if author is not None and (described.date is not None or commit.author != said) else described.date
    return header.amended(old, author, date, commit.text) + content[len(old) :]


def _clean(text: str) -> str:
    """A message as git commit cleans it."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()
