"""lint: the faults of a queue, its series and its patches; and the queue without those that have one right answer."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pq.core import heading, lint, scope, series
from pq.core.lines import is_blob, split_lines
from pq.core.lint import Fault, Looked, Severity
from pq.core.series import Entry, Series
from pq.engine import carry, history
from pq.engine.candidate import Candidate, build
from pq.engine.events import Tell
from pq.engine.rewrite import Plan, carry_out, layers
from pq.engine.workspace import Workspace
from pq.errors import NotClean, ParseError, PqError
from pq.queue import LEFT_BEHIND


@dataclass(frozen=True, slots=True)
class Linted:
    """The faults, and how many series and patches were looked at; `unproven` are series whose release is not in the checkout, so that
    bases and headings of their patches could not be compared with it. `fixed` are the files that were written anew, `unfixed` those that
    could not be proven to make the same then.
    """

    faults: tuple[Fault, ...]
    series: int
    patches: int
    unproven: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    unfixed: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """How many of the faults are errors."""
        return sum(fault.severity is Severity.ERROR for fault in self.faults)


Built = tuple[Workspace, Candidate]
"""A patch on its release, and the workspace of its series."""


@dataclass(slots=True)
class _Looking:
    """What was seen so far: the patches by name and -p, and what their files are to hold instead."""

    today: datetime.date
    faults: list[Fault] = field(default_factory=list)
    looked: dict[tuple[str, int], Looked] = field(default_factory=dict)
    wanted: dict[str, bytes] = field(default_factory=dict)
    unproven: list[str] = field(default_factory=list)
    built: list[Built] = field(default_factory=list)


def run(workspace: Workspace, today: datetime.date) -> Linted:
    """Look at all series and patches of the queue."""
    return examine(workspace, today)[0]


def examine(workspace: Workspace, today: datetime.date, proven: Collection[str] = ()) -> tuple[Linted, tuple[Built, ...]]:
    """The same, and the patches as they stand on their releases; `proven` are series that need not be put there again."""
    seen = _look(workspace, today, proven)
    return _linted(workspace, seen), tuple(seen.built)


def fix(workspace: Workspace, today: datetime.date, tell: Tell) -> Linted:
    """Mend what has one right answer, and say what is left: the patches as one operation, and first the series that can't be read.

    Raises PqError, with no patch changed, where that would make something else of a series.
    """
    with workspace.locked(tell):
        listed = {path: content for path, content in _look(workspace, today).wanted.items() if path.startswith("series/")}
        if listed:
            _write(workspace, listed)
            workspace = workspace.variant()
        wanted = _look(workspace, today).wanted
        proven = _proven(workspace, wanted)
        if proven:
            _mend(workspace, {path: wanted[path] for path in proven}, tell)
        left = _linted(workspace, _look(workspace.variant(), today))
        unfixed = tuple(sorted(wanted.keys() - proven))
        return replace(left, fixed=tuple(sorted({*listed, *proven})), unfixed=unfixed)


def _write(workspace: Workspace, wanted: Mapping[str, bytes]) -> None:
    """Write files of the queue and nothing else."""
    head = workspace.state(workspace.head)
    was = {path: (workspace.queue.root / path).read_bytes() for path in wanted}
    history.do(workspace, replace(head, queue=was), replace(head, queue=wanted))


def _mend(workspace: Workspace, wanted: Mapping[str, bytes], tell: Tell) -> None:
    """Write patches anew, and the commits of those that are applied; where files and commits differ anyway, that is left to repair."""
    if workspace.edited():
        _write(workspace, wanted)
        return
    names = {path.removeprefix("patches/"): content for path, content in wanted.items()}
    touched = [number for number, patch in enumerate(workspace.stack.applied) if patch in names]
    below = min(touched, default=len(workspace.applied))
    old = layers(workspace, below) if touched else ()
    made = tuple(replace(layer, content=names.get(layer.entry.name, layer.content)) for layer in old)
    carry_out(workspace, Plan(below, made, wanted), tell)


def _linted(workspace: Workspace, seen: _Looking) -> Linted:
    faults = sorted(seen.faults, key=lambda fault: (fault.file, fault.line or 0, fault.code))
    names = {name for name, _ in seen.looked}
    return Linted(tuple(dict.fromkeys(faults)), len(workspace.queue.series_names()), len(names), tuple(seen.unproven))


def _look(workspace: Workspace, today: datetime.date, proven: Collection[str] = ()) -> _Looking:
    queue, seen = workspace.queue, _Looking(today)
    whole = True
    for name in queue.series_names():
        variant = workspace.variant_of(name) if _has_checkout(workspace) else None
        listed = _series(workspace, name, seen)
        whole = whole and listed is not None
        if listed is not None:
            _patches(workspace, listed, name, seen)
            if variant is None:
                seen.unproven.append(name)
            elif name not in proven:
                _against_release(variant, listed, name, seen)
    if whole:  # else what is listed is not known
        seen.faults += [Fault("unlisted", "no series lists it", f"patches/{name}") for name in queue.unlisted()]
    seen.faults += _left_behind(workspace)
    return seen


def _has_checkout(workspace: Workspace) -> bool:
    try:
        return bool(workspace.checkout)
    except PqError:
        return False


def _series(workspace: Workspace, name: str, seen: _Looking) -> Series | None:
    place = workspace.queue.root / "series" / name
    file = f"series/{name}"
    if place.is_symlink():
        seen.faults.append(Fault("unsafe-path", "it is a symlink; a series is a file of the queue", file))
        return None
    content = place.read_bytes()
    try:
        return series.read(content, file=file)
    except ParseError as error:
        again = series.without_repeated(content)
        fixable = again != content and error.code == "listed-twice"
        seen.faults.append(Fault(error.code, error.fact, error.file, error.line, fixable=fixable))
        if fixable:
            seen.wanted[file] = again
        return None


def _patches(workspace: Workspace, listed: Series, name: str, seen: _Looking) -> None:
    """The texts of the patches that a series lists."""
    for entry in listed.entries:
        if (entry.name, entry.strip) in seen.looked:
            continue
        file = f"patches/{entry.name}"
        place = workspace.queue.root / file
        if not place.is_file():
            seen.faults.append(Fault("missing", f"Patch {entry.name} has no file", f"series/{name}", entry.line))
            continue
        if not place.resolve().is_relative_to(workspace.queue.root.resolve()) or place.is_symlink():
            seen.faults.append(Fault("unsafe-path", "it is a symlink, or stands behind one", file))
            continue
        looked = lint.look(place.read_bytes(), file=file, strip=entry.strip, today=seen.today)
        seen.looked[entry.name, entry.strip] = looked
        seen.faults += looked.faults
        if looked.fixed != place.read_bytes():
            seen.wanted[file] = looked.fixed


def _against_release(workspace: Workspace, listed: Series, name: str, seen: _Looking) -> None:
    """Whether the patches say of the files below them what these are."""
    try:
        parent = workspace.checkout.read_commit(workspace.pin_commit)
        made = build(workspace, parent, workspace.stack_order)
    except NotClean:
        seen.unproven.append(name)
        return
    except PqError:  # of a patch that can't be read, or is missing, the fault is said
        return
    if made.refused is not None:
        fact = "it does not apply to what is below it; pq verify says why"
        seen.faults.append(Fault("does-not-apply", fact, f"patches/{made.refused.patch}"))
    for candidate in made.candidates:
        seen.built.append((workspace, candidate))
        entry = listed.entry(candidate.patch)
        looked = seen.looked.get((entry.name, entry.strip))
        if looked is None or looked.patch is None or entry.reverse:
            continue
        headings = dict(_headings(workspace, candidate, looked, seen))
        if headings:
            file = f"patches/{entry.name}"
            seen.wanted[file] = lint.with_headings(seen.wanted.get(file, looked.fixed), headings)


def _headings(workspace: Workspace, candidate: Candidate, looked: Looked, seen: _Looking) -> Iterator[tuple[int, str]]:
    """Where a heading says another scope than the hunk stands in: the line, and the scope. Files that are others now are a fault themselves."""
    assert looked.patch is not None
    objects, file = workspace.checkout.objects, f"patches/{candidate.patch}"
    for change in looked.patch.files:
        node = objects.node(candidate.before, change.old_path) if change.old_path is not None else None
        if node is None or not change.old_id:
            continue
        content = objects.read(node[1])
        if not is_blob(content, change.old_id):
            fact = f"it was made for another {change.old_path} than the one below it; pq refresh writes it anew"
            seen.faults.append(Fault("stale-base", fact, file, change.line, Severity.WARNING))
            continue
        if not change.path.endswith(".py"):
            continue
        scopes = scope.scopes(content)
        for hunk in change.hunks:
            found = heading.contradicts(hunk, split_lines(content), hunk.old_start - 1, scopes)
            if found is not None:
                inside = scope.enclosing(scopes, hunk.old_start + hunk.leading)
                fact = f"the @@ line says {hunk.section.decode(errors='replace').strip()}, but the hunk stands in {found}"
                seen.faults.append(Fault("scope-line", fact, file, hunk.line, Severity.WARNING, fixable=True))
                yield hunk.line, inside


def _left_behind(workspace: Workspace) -> Iterator[Fault]:
    queue = workspace.queue
    below = (place for folder in ("series", "patches", "hooks") for place in (queue.root / folder).rglob("*"))
    places = sorted(place for place in (*queue.root.iterdir(), *below) if place.suffix in LEFT_BEHIND)
    yield from (Fault("left-behind", "a tool has left it behind", queue.relative(place)) for place in places)
    if _has_checkout(workspace):
        folder = queue.relative(queue.checkout)
        for path in workspace.checkout.untracked(LEFT_BEHIND):
            yield Fault("left-behind", "a tool has left it behind", f"{folder}/{path}", severity=Severity.WARNING)


def _proven(workspace: Workspace, wanted: Mapping[str, bytes]) -> set[str]:
    """The patches that make the same of what is below them as they do now, or that did not apply and now do.

    Raises PqError where one would make something else.
    """
    proven: set[str] = set()
    for name in workspace.queue.series_names() if wanted else ():
        variant = workspace.variant_of(name)
        try:
            tree = variant.checkout.read_commit(variant.pin_commit).tree
            order = variant.stack_order
        except PqError:  # not in the checkout, or no series
            continue
        for entry in order:
            path = f"patches/{entry.name}"
            made = before = _made(variant, entry, None, tree)
            if path in wanted:
                made = _made(variant, entry, wanted[path], tree)
                if None not in (made, before) and made != before:
                    raise PqError(
                        f"Mended, patch {entry.name} would make something else of the files", hint="pq refresh writes it anew"
                    )
                proven |= {path} if made is not None else set()
            if made is None:
                break
            tree = made
    return proven


def _made(workspace: Workspace, entry: Entry, content: bytes | None, tree: str) -> str | None:
    """What a patch makes of a tree; None where it does not apply, or can't be read. Without content, its file as it is."""
    with contextlib.suppress(PqError):
        patch = workspace.parse(entry, workspace.queue.read_patch(entry.name) if content is None else content)
        made = carry.apply_on(workspace, patch, made_for=None, ground=tree)
        return made if isinstance(made, str) else None
    return None
