"""repair: commits and patch files brought together, after plain git on the branch or an edit of a patch file that is applied.

The commits from the pin to the branch are taken as they stand, and each is told apart:

- pq's own, as its file makes it: nothing to do;
- of a patch whose file is as it was: amended, rebased or reworded. The commit is the truth, and the file is written anew;
- of a patch whose file changed, but pq's own: the file is the truth, and the patch is applied anew with all above it;
- of no patch: a new patch is made of it.

Where both the commit and the file of a patch changed, nobody but the user knows. Patches of the series without a commit stay, unapplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pq.core import header, patch_reader, paths
from pq.core.series import Entry, Series
from pq.engine import carry, events, intake, rewrite
from pq.engine.apply import Failed
from pq.engine.carry import Layer
from pq.engine.events import Tell
from pq.engine.move import Outcome
from pq.engine.rewrite import Plan, carry_out
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo
from pq.repo import commits
from pq.repo.commits import Commit


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of the commits so far."""

    series: Series
    layers: tuple[Layer, ...] = ()
    adopted: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


def repair(workspace: Workspace, tell: Tell) -> Outcome:
    """Bring commits and files together. Raises NotClean where that takes a decision."""
    with workspace.locked(tell):
        tree = workspace.checkout.read_commit(workspace.pin_commit).tree
        found = _Found(workspace.series)
        for commit in workspace.checkout.commits_above(workspace.head, workspace.pin_commit):
            found = _settled(workspace, found, commit, tree)
            tree = found.layers[-1].tree
        series = _in_order(found.series, [layer.entry.name for layer in found.layers])
        made = tuple(_with_entry(layer, series.entry(layer.entry.name)) for layer in found.layers)
        plan = Plan(0, made, rewrite.queue_changes(workspace, series, made))
        candidates = rewrite.built(workspace, plan)
        head = candidates[-1].commit.oid if candidates else workspace.pin_commit
        if not plan.queue and head == workspace.head:
            raise NothingToDo("Commits and patch files are one", hint="pq status says what else there is")
        outcome = carry_out(workspace, plan, tell)
        if outcome is Outcome.DONE:
            tell(events.Repaired(found.adopted, found.refreshed, found.again))
        return outcome


def _settled(workspace: Workspace, found: _Found, commit: Commit, tree: str) -> _Found:
    """One more commit, which stands on `tree`, where the patches below it were settled."""
    patch = commits.as_patch(commit)
    taken = [layer.entry.name for layer in found.layers]
    below = workspace.checkout.read_commit(commit.parents[0]).tree
    if patch is None or patch.patch in taken or patch.patch not in workspace.series.names:
        return _adopted(workspace, found, commit, below, tree)
    entry = workspace.series.entry(patch.patch)
    content = workspace.queue.read_patch(entry.name)
    same_file = commits.identity(content, entry) == patch.identity
    own = commit.own
    if not same_file and not own:
        raise NotClean(
            f"Both the commit and the file of patch {entry.name} were changed",
            hint=f"git -C {workspace.checkout.root} show {commit.oid[:12]} has the commit; take one of the two, then pq repair",
        )
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
    if own and layer.content == content:
        return _and(found, layer)
    text = _text(commit)
    described = header.read(patch_reader.read(content, file=entry.name, strip=entry.strip).header)
    before = content if (described.message or entry.name) == text else _with_text(workspace, entry, content, text)
    made_of = carry.rewritten(workspace, entry, before, tree, layer.tree)
    changed = Layer(entry.forward(), made_of, tree, layer.tree)
    return _and(found, changed, refreshed=entry.name)


def _adopted(workspace: Workspace, found: _Found, commit: Commit, below: str, tree: str) -> _Found:
    """A commit of no patch becomes one."""
    behind = found.layers[-1].entry.name if found.layers else None
    folder, slash, _ = (behind or "").rpartition("/")
    name = intake.free_name(workspace, folder + slash, _text(commit).partition("\n")[0], found.series.names)
    objects = workspace.checkout.objects
    content = intake.mail_header(objects, commit.oid, _text(commit)) + carry.diff(objects, below, commit.tree)
    series = found.series.inserted(name, behind=behind)
    layer = _carried(workspace, Layer(series.entry(name), content, below, commit.tree), tree)
    return _and(_Found(series, found.layers, found.adopted, found.refreshed, found.again), layer, adopted=name)


def _carried(workspace: Workspace, layer: Layer, tree: str) -> Layer:
    carried = carry.carry(workspace, [layer], tree)
    if isinstance(carried, events.Refused):
        raise NotClean(
            f"Patch {layer.entry.name} can't be carried over to what is below it now",
            hint="put the file of the patch below it back, then pq repair",
        )
    return carried[0]


def _and(found: _Found, layer: Layer, *, adopted: str = "", refreshed: str = "", again: str = "") -> _Found:
    return _Found(
        found.series,
        (*found.layers, layer),
        (*found.adopted, *([adopted] if adopted else [])),
        (*found.refreshed, *([refreshed] if refreshed else [])),
        (*found.again, *([again] if again else [])),
    )


def _in_order(series: Series, applied: Sequence[str]) -> Series:
    """The applied patches first, in their order; the others behind them as they stood."""
    for number, name in enumerate(applied):
        behind = applied[number - 1] if number else None
        at = series.names.index(name)
        stands_behind = series.names[at - 1] if at else None
        if stands_behind != behind:
            series = series.moved(name, behind=behind)
    return series


def _with_entry(layer: Layer, entry: Entry) -> Layer:
    forward = (layer.entry.strip, layer.entry.reverse) == (1, False)
    return Layer(entry.forward() if forward else entry, layer.content, layer.before, layer.tree, layer.fuzz)


def _text(commit: Commit) -> str:
    """The message without pq's trailers."""
    return paths.text(commits.without_trailers(commit.message)).strip()


def _with_text(workspace: Workspace, entry: Entry, content: bytes, text: str) -> bytes:
    """The patch with another description above its diff; its author and date stay."""
    old = workspace.parse(entry, content).header
    described = header.read(old)
    who = f"From: {described.name or ''} <{described.address}>".replace("  ", " ") if described.address else ""
    subject, _, body = text.partition("\n")
    fields = [*([who] if who else []), *header.date_line(described), f"Subject: {subject}"]
    new = "\n".join([*fields, "", *([body.strip("\n"), ""] if body.strip() else [])]) + ("" if body.strip() else "\n")
    return paths.raw(new) + content[len(old) :]
