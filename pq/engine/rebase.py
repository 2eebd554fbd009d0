"""rebase: the series carried to another release, as a series of its own (design, section 9).

In memory first: every patch of the series is carried to the new release, and what comes of it is checked there. Then, in one operation, the
new series and its patches are written, pq.toml names it, and the checkout stands on its branch. The old series stays as it is.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pq.core import ledger
from pq.core.ledger import Ledger, Line, Outcome
from pq.core.series import Entry, Pin
from pq.engine import carry, check_events, events, history, releases, remembered, requirements, rewrite
from pq.engine.candidate import Candidate, build
from pq.engine.carry import Conflict, Layer
from pq.engine.events import Tell
from pq.engine.gate import Gate
from pq.engine.lost import Lost, lost
from pq.engine.move import Ending
from pq.engine.onto import Carried, Renames, change_of, onto, touched
from pq.engine.setup import build_environment
from pq.engine.stop import Elsewhere, Halt, stoppable
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError
from pq.queue import FILE, Queue, require_name
from pq.repo.commits import Commit
from pq.upstream import versions

_CANDIDATE = "candidate-"


@dataclass(frozen=True, slots=True)
class _Moved:
    """A patch on its way: as it stands now, and what became of it so far."""

    layer: Layer
    line: Line

    @property
    def stays(self) -> bool:
        return self.line.outcome.stays


@dataclass(frozen=True, slots=True)
class _New:
    """The series that is made: its name, the commit of its release, and the files of the queue that are new or changed."""

    series: str
    commit: str
    moved: tuple[_Moved, ...]
    files: Mapping[str, bytes]


def steps(workspace: Workspace, release: str, *, every: bool) -> tuple[str, ...]:
    """The releases that a rebase goes through, up to the one that is meant. Raises PqError where there is none of that name."""
    pin, name = workspace.pin.release, releases.name_of(workspace, release)
    if not every:
        return (name,)
    between = versions.between({*releases.upstream(workspace.queue, pin), name}, pin, name)
    if name not in between:
        raise PqError(f"{name} is no later release than {pin}", hint=f"pq rebase {name} goes there at once")
    return between


@stoppable
def rebase(
    workspace: Workspace,
    tell: Tell,
    /,
    *,
    through: Sequence[str],
    check: bool,
    dry_run: bool,
    skipped: Mapping[str, str],
    ask_again: bool = False,
) -> Ending | Halt:
    """Carry the series through these releases. `skipped` are patches that are left out, each with the reason; `ask_again`: what was
    settled before is not taken.

    Raises PqError where there is such a series already, NothingToDo where the series is made for that release.
    """
    name = require_name(through[-1])
    _require_new(workspace, name)
    if check and _is_managed(workspace):
        requirements.find(workspace.queue, Pin(name))
    moved: Sequence[_Moved] = [_Moved(layer, Line(layer.entry.name, Outcome.IDENTICAL)) for layer in layers(workspace)]
    tree = workspace.checkout.read_commit(workspace.pin_commit).tree
    commit = workspace.pin_commit
    for release in through:
        commit = releases.obtain(workspace, release, tell).commit
        ground = workspace.checkout.read_commit(commit).tree
        found = _carried(workspace, tree, moved, ground, skipped, name, ask_again=ask_again)
        if isinstance(found, Conflict):
            missing = _lost(workspace, found, release)
            if dry_run:
                tell(events.Unfit(found.patch, found.failed, release, missing, dry_run=True))
                return Ending.CONFLICT
            return Halt(0, found, elsewhere=Elsewhere(name, release, commit, missing))
        moved, tree = found, ground
    return _finish(workspace, _new(workspace, name, commit, moved), tell, check=check, dry_run=dry_run)


def new_name(name: str, old: str, new: str) -> str:
    """What a patch of one series is called in another one: each series has a folder of its own."""
    return f"{new}/{name.removeprefix(f'{old}/')}"


def _require_new(workspace: Workspace, name: str) -> None:
    queue = workspace.queue
    if name == workspace.pin.release and workspace.pin_commit == workspace.checkout.release(name):
        raise NothingToDo(f"Series {queue.series_name} is made for {name} already")
    if (queue.root / "series" / name).exists():
        raise PqError(
            f"series/{name} exists already",
            hint=f"set [upstream] series in pq.toml to {name} and pq setup goes there; or remove it and patches/{name}, to rebase anew",
        )
    if (queue.patches / name).is_file() or any((queue.patches / name).rglob("*")):
        raise PqError(f"patches/{name} exists already, and there is no series/{name}", hint="move it away, to rebase anew")
    _require_apart(workspace, name)
    if workspace.resumed is None and workspace.checkout.branch(name) is not None:
        raise PqError(
            f"Branch pq/{name} exists already, and there is no series {name}",
            hint=f"git -C {workspace.checkout.root} branch -D pq/{name} drops it",
        )


def _require_apart(workspace: Workspace, name: str) -> None:
    """Raise PqError where two patches would be called the same."""
    named: dict[str, str] = {}
    for old in workspace.series.names:
        new = new_name(old, workspace.queue.series_name, name)
        if new in named:
            raise PqError(f"Patches {named[new]} and {old} would both be {new}", hint="pq rename gives one of them another name")
        named[new] = old


def _is_managed(workspace: Workspace) -> bool:
    check = workspace.queue.config.check
    return bool(check.modules) and check.python == "managed"


def layers(workspace: Workspace) -> tuple[Layer, ...]:
    """All patches of the series on their own release, applied or not. Raises PqError where one does not belong there."""
    applied = rewrite.layers(workspace)
    return (*applied, *_built(workspace, rewrite.commit_below(workspace, len(applied)), workspace.stack.unapplied))


def standing(workspace: Workspace) -> tuple[Layer, ...]:
    """The same of a series that the checkout need not be on, made from the patch files alone."""
    return _built(workspace, workspace.checkout.read_commit(workspace.pin_commit), workspace.stack_order)


def _built(workspace: Workspace, parent: Commit, entries: Sequence[Entry]) -> tuple[Layer, ...]:
    built = build(workspace, parent, entries)
    if built.refused is not None:
        raise PqError(
            f"Patch {built.refused.patch} does not apply to {workspace.pin.release}, which the series is made for",
            hint="pq verify shows why; mend it, or take it out of the series",
        )
    return tuple(
        Layer(entry, workspace.queue.read_patch(entry.name), candidate.before, candidate.commit.tree)
        for entry, candidate in zip(entries, built.candidates, strict=True)
    )


def _carried(
    workspace: Workspace,
    origin: str,
    moved: Sequence[_Moved],
    ground: str,
    skipped: Mapping[str, str],
    series: str,
    *,
    ask_again: bool,
) -> Sequence[_Moved] | Conflict:
    """All patches, from the tree of one release, on that of the next one, or the first conflict."""
    found: list[_Moved] = []
    changes = {each.line.patch: change_of(workspace, each.layer) for each in moved if each.stays}
    renames = Renames(workspace.checkout.objects, origin, ground, touched(changes.values()))
    known = workspace.resumed.known if workspace.resumed is not None else {}
    for each in moved:
        layer, line = each.layer, each.line
        if line.patch in skipped:
            line = replace(line, outcome=Outcome.SKIPPED, note=skipped[line.patch])
        if not line.outcome.stays:
            found.append(_Moved(layer, line))
            continue
        settled = known.get((layer.before, layer.tree, ground))
        carried = (
            _settled(settled, ground) if settled is not None else onto(renames, line.patch, layer, changes[line.patch], ground)
        )
        if not ask_again:
            carried = remembered.carried(workspace, carried)
        if isinstance(carried, Conflict):
            return replace(carried, below=tuple(one.layer for one in found if one.stays))
        found.append(_moved(workspace, each, carried, ground, series))
        ground = found[-1].layer.tree
    return found


def _lost(workspace: Workspace, conflict: Conflict, release: str) -> tuple[Lost, ...]:
    """What the patch does not find on a release, and since which of those that are fetched."""
    checkout = workspace.checkout
    on_the_way = versions.between(checkout.release_names(), workspace.pin.release, release) or (release,)
    commits = [(name, checkout.release(name)) for name in on_the_way]
    trees = [(name, checkout.read_commit(commit).tree) for name, commit in commits if commit is not None]
    return lost(checkout.objects, conflict.failed, trees, conflict.renamed, search=True) if conflict.failed is not None else ()


def _settled(tree: str, ground: str) -> Carried:
    """What the user made of a conflict; where nothing is left of the patch, it is left out."""
    return Carried(
        tree, Outcome.RESOLVED if tree != ground else Outcome.SKIPPED, "" if tree != ground else "nothing was left of it"
    )


def _moved(workspace: Workspace, each: _Moved, carried: Carried, ground: str, series: str) -> _Moved:
    """The patch as it stands on the next release, with its file written anew where that says something else now."""
    old, entry = each.layer, Entry(new_name(each.line.patch, workspace.queue.series_name, series), 0)
    notes = "; ".join(note for note in (each.line.note, carried.note) if note)
    line = Line(each.line.patch, each.line.outcome.worst(carried.outcome), notes)
    if not carried.outcome.stays:
        return _Moved(Layer(entry, old.content, ground, ground), Line(line.patch, carried.outcome, notes))
    layer = Layer(entry, old.content, ground, carried.tree)
    is_plain = (old.entry.strip, old.entry.reverse) == (1, False)
    if carried.outcome is not Outcome.IDENTICAL or not is_plain or not carry.stands(workspace, layer):
        moved = [(old, new) for new, old in carried.renamed.items()]
        content = carry.rewritten(workspace, old.entry, old.content, ground, carried.tree, moved=moved)
        layer = replace(layer, content=content)
    return _Moved(layer, line)


def _new(workspace: Workspace, name: str, commit: str, moved: Sequence[_Moved]) -> _New:
    """The files of the queue as they are to be."""
    queue, series = workspace.queue, workspace.series
    held = [entry for entry in series.entries if entry.name not in [each.line.patch for each in moved]]
    files = {f"patches/{each.layer.entry.name}": each.layer.content for each in moved if each.stays}
    for entry in held:
        files[f"patches/{new_name(entry.name, queue.series_name, name)}"] = queue.read_patch(entry.name)
    lines = {each.line.patch: each.line for each in moved} | {
        entry.name: Line(entry.name, Outcome.HELD, "its guards hold it back") for entry in held
    }
    for entry in series.entries:
        if lines[entry.name].outcome.stays:
            series = series.forward(entry.name)
        elif lines[entry.name].outcome is not Outcome.HELD:
            series = series.without(entry.name)
            continue
        series = series.renamed(entry.name, new_name(entry.name, queue.series_name, name))
    kept = Ledger(queue.series_name, tuple(lines[entry.name] for entry in workspace.series.entries))
    series = ledger.write(series.with_pin(Pin(name, commit)), kept)
    files[f"series/{name}"] = series.render()
    if queue.config.series != name:
        files[FILE] = queue.with_series(name)
    return _New(name, commit, tuple(moved), files)


def _finish(workspace: Workspace, new: _New, tell: Tell, *, check: bool, dry_run: bool) -> Ending:
    """Check what came of it, and go there."""
    standing = tuple(each.layer for each in new.moved if each.stays)
    release = workspace.checkout.read_commit(new.commit)
    candidates = rewrite.built(workspace, standing, release)
    top = candidates[-1].commit if candidates else release
    before = workspace.state(workspace.head)
    was = {path: _bytes(workspace.queue.root / path) for path in new.files}
    old = replace(before, queue=was, series=workspace.queue.series_name)
    after = replace(workspace.state(top.oid), queue=new.files, series=new.series)
    workspace.checkout.mover.require_clear(old, after)
    for each in new.moved:
        tell(events.Carried(each.line.patch, each.line.outcome, each.line.note))
    if candidates and not check:
        tell(check_events.Unchecked(tuple(candidate.patch for candidate in candidates)))
    elif candidates and (rejected := _judge(workspace, new, candidates, tell)):
        tell(rejected)
        return Ending.REJECTED
    if not dry_run:
        history.do(workspace, old, after)
    tell(events.Rebased(workspace.queue.series_name, new.series, len(standing), len(workspace.series.entries), dry_run=dry_run))
    return Ending.DONE


def _judge(workspace: Workspace, new: _New, candidates: Sequence[Candidate], tell: Tell) -> check_events.Rejected | None:
    """Ask the gate about a series that the queue does not have yet."""
    build_environment(workspace, Pin(new.series), lambda text: tell(events.Progress(text)))
    for left in workspace.checkout.folder.glob(f"{_CANDIDATE}*"):  # by a command that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_CANDIDATE, dir=workspace.checkout.folder) as folder:
        for path, content in new.files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        queue = Queue(workspace.queue.root, workspace.queue.config, new.series, Path(folder))
        return Gate(workspace.variant(queue=queue), tell).judge(candidates)


def _bytes(place: Path) -> bytes | None:
    return place.read_bytes() if place.is_file() else None
