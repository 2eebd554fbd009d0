"""new, refresh, delete, rename, header and revert: what changes patches that are there, or begins one."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from pq.core import stack
from pq.core.header import with_trailers
from pq.core.paths import fault as path_fault
from pq.core.series import Entry, require_name
from pq.engine import carry, events, history, rewrite
from pq.engine.carry import Conflict, Layer
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out, layers
from pq.engine.stop import Halt, decide, stoppable
from pq.engine.workspace import Workspace
from pq.errors import NotClean, NothingToDo, ParseError, PqError
from pq.repo.operations import State


def new(workspace: Workspace, name: str, tell: Tell) -> Ending:
    """Put an empty patch on top. Edits that are not refreshed stay so, for `refresh` to put into it."""
    with workspace.locked(tell):
        layers(workspace)
        series = workspace.series.inserted(name, behind=workspace.stack.top)
        tree = _head_tree(workspace)
        layer = Layer(series.entry(name), b"", tree, tree)
        require_no_file(workspace, name)
        plan = Plan(len(workspace.applied), (layer,), rewrite.queue_changes(workspace, series, [layer]))
        outcome = carry_out(workspace, plan, tell)
        tell(events.NowAt(name))
        return outcome


@stoppable
def refresh(workspace: Workspace, tell: Tell, *, patch: str | None, paths: Sequence[str]) -> Ending | Halt:
    """Put the edits, or those of some paths, into an applied patch. Patches above it are carried over and stay theirs.

    Without edits a patch is written anew that only pq can place where it stands, since it took fuzz or a three-way merge; and one whose
    index lines name other files than those below it.
    """
    name = applied(workspace, patch)
    number = workspace.stack.applied.index(name)
    old = layers(workspace, number)
    edited = edits(workspace, paths)
    if edited == _head_tree(workspace) and (paths or _says_where_it_stands(workspace, old[0])):
        tell(events.Refreshed(name, changed=False))
        return Ending.DONE
    made = refreshed(workspace, old, edited)
    if isinstance(made, Conflict):
        return Halt(number, made, edited)
    queue = rewrite.queue_changes(workspace, workspace.series, made)
    outcome = carry_out(workspace, Plan(number, made, queue, edited, kept=True), tell)
    tell(events.Refreshed(name, changed=True, empty=made[0].tree == made[0].before))
    rewrite.tell_carried(tell, old[1:], made[1:])
    return outcome


def _says_where_it_stands(workspace: Workspace, layer: Layer) -> bool:
    return carry.stands(workspace, layer) and carry.names_its_base(workspace, layer)


def refresh_new(workspace: Workspace, name: str, paths: Collection[str], tell: Tell) -> Ending:
    """Put the edits, or those of some paths, into a new patch on top."""
    with workspace.locked(tell):
        layers(workspace)
        edited = edits(workspace, paths)
        if edited == _head_tree(workspace):
            raise NothingToDo("There are no unrefreshed changes")
        require_no_file(workspace, name)
        series = workspace.series.inserted(name, behind=workspace.stack.top)
        tree = _head_tree(workspace)
        layer = Layer(series.entry(name), carry.diff(workspace.checkout.objects, tree, edited), tree, edited)
        plan = Plan(len(workspace.applied), (layer,), rewrite.queue_changes(workspace, series, [layer]), edited, kept=True)
        outcome = carry_out(workspace, plan, tell)
        tell(events.Refreshed(name, changed=True))
        tell(events.NowAt(name))
        return outcome


@stoppable
def delete(workspace: Workspace, tell: Tell, *, patch: str | None, remove: bool, check: bool) -> Ending | Halt:
    """Take a patch out of the series, with its file if asked for; those applied above it are carried over."""
    name = _named(workspace, patch)
    series = workspace.series.without(name)
    if remove:
        _require_no_other(workspace, name, "delete it without -r")
    dropped = {rewrite.patch_path(workspace, name): None} if remove else {}
    layers_above: list[Layer] = []
    if name not in workspace.stack.applied:
        plan = Plan(len(workspace.applied), (), {**rewrite.queue_changes(workspace, series, ()), **dropped})
    else:
        number = workspace.stack.applied.index(name)
        target, *layers_above = layers(workspace, number)
        carried = carry.carry(workspace, layers_above, target.before)
        if isinstance(carried, Conflict):
            return Halt(number, carried)
        plan = Plan(number, carried, {**rewrite.queue_changes(workspace, series, carried), **dropped})
    outcome = carry_out(workspace, plan, tell, check=check)
    if outcome is Ending.DONE:
        tell(events.Deleted(name, file=remove))
        rewrite.tell_carried(tell, layers_above, plan.layers)
    return outcome


def rename(workspace: Workspace, given: str | None, new_name: str, tell: Tell) -> Ending:
    """Give a patch another name, in the series and as a file."""
    with workspace.locked(tell):
        name = _named(workspace, given)
        _require_no_other(workspace, name, "pq fork goes on with a copy")
        require_no_file(workspace, new_name)
        series = workspace.series.renamed(name, new_name)
        content = workspace.queue.read_patch(name)
        queue: dict[str, bytes | None] = {
            **rewrite.queue_changes(workspace, series, ()),
            rewrite.patch_path(workspace, name): None,
            rewrite.patch_path(workspace, new_name): content,
        }
        outcome = carry_out(workspace, _with_entry(workspace, name, series.entry(new_name), content, queue), tell)
        tell(events.Renamed(name, new_name))
        return outcome


def set_header(
    workspace: Workspace, given: str | None, edit: Callable[[bytes], bytes], tell: Tell, *, old: bytes | None = None
) -> Ending:
    """Make another text of the one above the diff of a patch; with `old`, only if it is that still."""
    with workspace.locked(tell):
        name = _named(workspace, given)
        entry, content = workspace.series.entry(name), workspace.queue.read_patch(name)
        header = workspace.parse(entry, content).header
        if old is not None and header != old:
            raise NotClean(f"Header of patch {name} was changed meanwhile")
        text = edit(header)
        rest = content[len(header) :]
        made = (text if text.endswith(b"\n") or not text or not rest else text + b"\n") + rest
        if not _is_header(workspace, entry, made, len(made) - len(rest)):
            raise PqError("This text would be read as a part of the diff", hint="a header holds no lines that begin a diff")
        if made == content:
            raise NothingToDo(f"Header of patch {name} is unchanged")
        path = rewrite.patch_path(workspace, name)
        queue: dict[str, bytes | None] = {path: made}
        outcome = carry_out(workspace, replace(_with_entry(workspace, name, entry, made, queue), read={path: content}), tell)
        tell(events.HeaderReplaced(name, appended=len(text) > len(header) and text.startswith(header) and bool(header)))
        return outcome


def revert(workspace: Workspace, paths: Collection[str], tell: Tell) -> Ending:
    """Take back the unrefreshed edits of some paths."""
    with workspace.locked(tell):
        edited = edits(workspace, paths)
        head = workspace.state(workspace.head)
        changed = tuple(workspace.checkout.objects.difference(head.files, edited))
        if not changed:
            raise NothingToDo(f"Nothing to revert in {', '.join(paths)}")
        history.do(workspace, State(head.head, edited), head)
        tell(events.Reverted(changed))
        return Ending.DONE


def refreshed(workspace: Workspace, old: Sequence[Layer], edits: str) -> tuple[Layer, ...] | Conflict:
    """The layers with edits, made on top of them, put into the lowest; those above are carried over, to the same files."""
    target, *above = old
    tree = carry.carry_change(workspace, None, old[-1].tree, edits, target.tree) if above else edits
    if isinstance(tree, Conflict):
        return replace(tree, below=(target,))
    content = carry.rewritten(workspace, target.entry, target.content, target.before, tree)
    made = Layer(target.entry.forward(), content, target.before, tree)
    carried = carry.carry(workspace, above, tree, goal=edits)
    if isinstance(carried, Conflict):
        return replace(carried, below=(made, *carried.below))
    return (made, *carried)


def _is_header(workspace: Workspace, entry: Entry, content: bytes, length: int) -> bool:
    """Whether the first bytes of a patch are read as its text, and no more and no less."""
    try:
        return len(workspace.parse(entry, content).header) == length
    except ParseError:
        return False


def _with_entry(workspace: Workspace, name: str, entry: Entry, content: bytes, queue: dict[str, bytes | None]) -> Plan:
    """The plan for a patch of which only the name or the text changes."""
    if name not in workspace.stack.applied:
        return Plan(len(workspace.applied), (), queue)
    number = workspace.stack.applied.index(name)
    target, *above = layers(workspace, number)
    return Plan(number, (replace(target, entry=entry, content=content), *above), queue)


def expect(workspace: Workspace, given: str | None, tell: Tell) -> Ending:
    """Have an applied patch expect what it brings in, unless it does so already: `Pq-Expect` lines at the end of its text."""
    from pq.checks import expectations  # loads the checks: not for the other commands here

    name = applied(workspace, given)
    layer = layers(workspace, workspace.stack.applied.index(name))[0]
    objects = workspace.checkout.objects
    touched = []
    for path, (old, new) in objects.difference(layer.before, layer.tree).items():
        if new is not None and path.endswith(".py"):
            module = workspace.queue.config.check.module(path)
            before = objects.read(old[1]) if old is not None else None
            touched.append(expectations.Touched(module, before, objects.read(new[1])))
    made = expectations.made_of(touched)

    def with_lines(text: bytes) -> bytes:
        new = [f"Pq-Expect: {said}" for said in made if said not in expectations.read(text)]
        return with_trailers(text, new) if new else text

    return set_header(workspace, name, with_lines, tell)


def header(workspace: Workspace, given: str | None) -> bytes:
    """The text above the diff of a patch."""
    name = _named(workspace, given)
    return workspace.read_patch(workspace.series.entry(name)).header


def add(workspace: Workspace, paths: Collection[str], tell: Tell) -> tuple[str, ...]:
    """Make new files known to git, so that a refresh takes them, and files in conflict what they are to be; which these were."""
    with workspace.locked(tell, stopped=True):
        if outside := [path for path in paths if path_fault(path)]:
            raise PqError(f"{outside[0]} is no file of the checkout", hint="name files below it")
        nodes = workspace.checkout.mover.worktree.edited(paths)
        if missing := [path for path, node in nodes.items() if node is None]:
            raise PqError(f"{missing[0]} is no file of the checkout", hint="write it first; a folder is added file by file")
        workspace.checkout.objects.flush()
        return decide(workspace, nodes) + workspace.checkout.mover.worktree.make_known(
            {path: node for path, node in nodes.items() if node is not None}
        )


@stoppable
def remove(workspace: Workspace, tell: Tell, *, patch: str | None, paths: Sequence[str]) -> Ending | Halt:
    """Take files out of an applied patch: they are again what they were below it."""
    name = applied(workspace, patch)
    number = workspace.stack.applied.index(name)
    target, *above = layers(workspace, number)
    objects = workspace.checkout.objects
    wanted = with_renames(workspace, target, among(objects.difference(target.before, target.tree), paths))
    if not wanted:
        raise NothingToDo(f"Patch {name} does not touch {', '.join(paths)}")
    tree = objects.edit(target.tree, {path: objects.node(target.before, path) for path in wanted})
    content = carry.rewritten(workspace, target.entry, target.content, target.before, tree)
    carried = carry.carry(workspace, above, tree)
    made = Layer(target.entry.forward(), content, target.before, tree)
    if isinstance(carried, Conflict):
        return Halt(number, replace(carried, below=(made, *carried.below)))
    changed = (made, *carried)
    outcome = carry_out(workspace, Plan(number, changed, rewrite.queue_changes(workspace, workspace.series, changed)), tell)
    if outcome is Ending.DONE:
        tell(events.Refreshed(name, changed=True))
    return outcome


def applied(workspace: Workspace, given: str | None) -> str:
    """The applied patch a user means, or the top one."""
    return stack.find_applied(workspace.stack, given) if given else workspace.stack.require_top()


def with_renames(workspace: Workspace, layer: Layer, found: Iterable[str]) -> tuple[str, ...]:
    """These paths, and the other end of every rename of the patch that has one of them as its end."""
    wanted = set(found)
    for ends in carry.renames(workspace.parse(layer.entry, layer.content)):
        wanted |= set(ends) if wanted & set(ends) else set()
    return tuple(sorted(wanted))


def among(found: Iterable[str], paths: Collection[str]) -> tuple[str, ...]:
    """Of these paths, those that were named, or stand below one that was."""
    everything = "." in paths
    return tuple(path for path in found if everything or any(path == wanted or path.startswith(f"{wanted}/") for wanted in paths))


def edits(workspace: Workspace, paths: Collection[str]) -> str:
    """The tree of the checkout's files with what is unrefreshed, or with as much of it as stands at these paths or below them."""
    if workspace.resumed is not None:
        return workspace.resumed.before.files
    edited = workspace.checkout.unrefreshed()
    if paths:
        _require_known(workspace, paths)
        edited = among(edited, paths)
    if unmerged := workspace.checkout.unmerged(edited):
        workspace.require_no_stop()
        raise NotClean(
            f"there is a conflict in {', '.join(unmerged)}",
            hint=f"settle it, then git -C {workspace.checkout.root} add {' '.join(unmerged)}",
        )
    nodes = workspace.checkout.mover.worktree.edited(edited)
    return workspace.checkout.objects.edit(_head_tree(workspace), nodes)


def _require_no_other(workspace: Workspace, name: str, hint: str) -> None:
    """Raise PqError where another series lists the patch, whose file would be gone."""
    if others := workspace.queue.other_series(name):
        raise PqError(f"Patch {name} is listed in {', '.join(others)}, too", hint=hint)


def _require_known(workspace: Workspace, paths: Collection[str]) -> None:
    """Raise PqError for a path at which nothing stands, and nothing did."""
    known = workspace.checkout.objects.node
    for path in paths:
        if path != "." and known(_head_tree(workspace), path) is None and not os.path.lexists(workspace.checkout.root / path):
            raise PqError(
                f"{path} is no file of the checkout", hint="paths start at the checkout, or at the folder in it that you are in"
            )


def _head_tree(workspace: Workspace) -> str:
    return workspace.checkout.read_commit(workspace.head).tree


def _named(workspace: Workspace, given: str | None) -> str:
    return workspace.series.find(given) if given else workspace.stack.require_top()


def require_no_file(workspace: Workspace, name: str) -> None:
    """Raise PqError where a new patch of this name would be written over a file."""
    require_name(name)
    if workspace.queue.patch_file(name).exists():
        listed = name in workspace.series.names
        hint = "take another name" if listed else "take another name, or take it into the series with pq import -f"
        raise PqError(f"Patch file patches/{name} exists already", hint=hint)
