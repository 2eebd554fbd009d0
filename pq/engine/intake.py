"""import, fold and fork: patches that come from elsewhere, or from a patch that is there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pq.core import header, patch_reader
from pq.engine import carry, edit, events, rewrite
from pq.engine.apply import Failed
from pq.engine.carry import Layer
from pq.engine.events import Tell
from pq.engine.move import Ending
from pq.engine.rewrite import Plan, carry_out, layers
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError
from pq.repo import commits

_NO_SLUG = re.compile(r"[^A-Za-z0-9._]+")
_MAIL = re.compile(rb"^From (?:[0-9a-f]{7,64}|\S+@\S+|-) +\w{3} \w{3} +\d+ \d+:\d+:\d+ \d{4}[^\n]*\n", re.MULTILINE)
_BETWEEN = re.compile(rb"(?<=\n)\r?\n\Z")
"""The empty line behind each mail of a mailbox."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Incoming:
    """A patch that is to be taken into the series: its name, and its bytes. One of `several` is left out if it holds no diff."""

    name: str
    content: bytes
    several: bool = False


def import_patches(
    workspace: Workspace, incoming: Sequence[Incoming], tell: Tell, *, strip: int, reverse: bool, force: bool
) -> Ending:
    """Take patches into the series behind the top one, in this order. None of them is pushed."""
    with workspace.locked(tell):
        series, behind = workspace.series, workspace.stack.top
        queue: dict[str, bytes | None] = {}
        options = [*([f"-p{strip}"] if strip != 1 else []), *(["-R"] if reverse else [])]
        left_out = [each for each in incoming if each.several and not _has_diff(each, strip)]
        incoming = [each for each in incoming if each not in left_out]
        for each in incoming or left_out:
            if not _has_diff(each, strip):
                raise PqError(f"{each.name} holds no diff", hint="is it the right file?")
            if each.name in workspace.stack.applied:
                raise PqError(f"Patch {each.name} is applied", hint="pop it first, or take another name with -P")
            if rewrite.patch_path(workspace, each.name) in queue:
                raise PqError(f"Two of these would be patch {each.name}", hint="import them one by one, with -P")
            if not force:
                edit.require_no_file(workspace, each.name)
            if each.name in series.names:
                series = series.without(each.name)
            series = series.inserted(each.name, behind=behind, options=options)
            queue[rewrite.patch_path(workspace, each.name)] = each.content
            behind = each.name
        plan = Plan(len(workspace.applied), (), {**queue, **rewrite.queue_changes(workspace, series, ())})
        outcome = carry_out(workspace, plan, tell)
        for each in left_out:
            tell(events.LeftOut(each.name))
        for each in incoming:
            tell(events.Imported(each.name))
        return outcome


def split_mails(content: bytes, prefix: str, name: str | None, *, strip: int) -> tuple[Incoming, ...]:
    """The patches of a file: of a mailbox with several mails each, named by its subject; else the file itself, under its name, if it has one."""
    starts = [found.start() for found in _MAIL.finditer(content)]
    if len(starts) < 2 or content[: starts[0]].strip():
        return (Incoming(name or _free(prefix, _subject(content, strip) or "stdin", []), content),)
    mails = [_BETWEEN.sub(b"", content[start:stop]) for start, stop in zip(starts, [*starts[1:], len(content)], strict=True)]
    found: list[Incoming] = []
    for mail in mails:
        found.append(Incoming(_free(prefix, _subject(mail, strip), [each.name for each in found]), mail, several=True))
    return tuple(found)


def from_commits(workspace: Workspace, spec: str, prefix: str, *, reverse: bool = False) -> tuple[Incoming, ...]:
    """A range of commits of the checkout's repository as patches, in the order in which they are applied, or (`reverse`) taken back."""
    objects = workspace.checkout.objects
    found: list[Incoming] = []
    commits_in = workspace.checkout.commits_in(spec)
    for oid in reversed(commits_in) if reverse else commits_in:
        commit = commits.read(objects, oid)
        if len(commit.parents) != 1:
            raise PqError(f"commit {oid[:12]} is a merge or has no parent", hint="import the commits that it merges")
        below = commits.read(objects, commit.parents[0]).tree
        content = header.write(commit.author, commit.date, commit.text) + carry.diff(objects, below, commit.tree)
        name = _free(prefix, commit.text.partition("\n")[0], [each.name for each in found])
        found.append(Incoming(name, content, several=True))
    if not found:
        raise NothingToDo(f"No commits in {spec}")
    return tuple(found)


def fold(workspace: Workspace, content: bytes, tell: Tell, *, strip: int, reverse: bool, check: bool) -> Ending:
    """Put what a patch changes into the top patch."""
    with workspace.locked(tell):
        workspace.stack.require_top()
        number = len(workspace.applied) - 1
        (layer,) = layers(workspace, number)
        read = patch_reader.read(content, file="the patch", strip=strip)
        if not read.files:
            raise PqError("The patch holds no diff", hint="is it the right file?")
        tree = carry.apply_on(workspace, read.reversed() if reverse else read, made_for=None, ground=layer.tree, prove=True)
        if isinstance(tree, Failed):
            tell(events.NotFolded(tree))
            return Ending.CONFLICT
        moved = carry.renames(read.reversed() if reverse else read)
        content = carry.rewritten(workspace, layer.entry, layer.content, layer.before, tree, moved=moved)
        made = Layer(layer.entry.forward(), content, layer.before, tree)
        queue = rewrite.queue_changes(workspace, workspace.series, [made])
        outcome = carry_out(workspace, Plan(number, (made,), queue), tell, check=check)
        if outcome is Ending.DONE:
            tell(events.Refreshed(layer.entry.name, changed=True))
        return outcome


def fork(workspace: Workspace, given: str | None, tell: Tell) -> Ending:
    """Go on with a copy of the top patch under another name; the file of the old one stays."""
    with workspace.locked(tell):
        old = workspace.stack.require_top()
        number = len(workspace.applied) - 1
        (layer,) = layers(workspace, number)
        name = given or _next_name(workspace, old)
        edit.require_no_file(workspace, name)
        series = workspace.series.renamed(old, name)
        made = replace(layer, entry=series.entry(name))
        queue = {**rewrite.queue_changes(workspace, series, ()), rewrite.patch_path(workspace, name): layer.content}
        outcome = carry_out(workspace, Plan(number, (made,), queue), tell)
        tell(events.Forked(old, name))
        return outcome


def _subject(mail: bytes, strip: int) -> str:
    return header.read(patch_reader.read(mail, file="the mail", strip=strip).header).subject


def _has_diff(incoming: Incoming, strip: int) -> bool:
    return bool(patch_reader.read(incoming.content, file=incoming.name, strip=strip).files)


def free_name(workspace: Workspace, prefix: str, subject: str, taken: Sequence[str]) -> str:
    """A name made of a subject, as git names the files of format-patch, that neither these nor a file have."""
    names = _names(prefix, subject)
    return next(name for name in names if name not in taken and not workspace.queue.patch_file(name).exists())


def _free(prefix: str, subject: str, taken: Sequence[str]) -> str:
    return next(name for name in _names(prefix, subject) if name not in taken)


def _names(prefix: str, subject: str) -> Iterator[str]:
    slug = _NO_SLUG.sub("-", subject.removesuffix(".patch")).strip("-.")[:_LONGEST].strip("-.") or "patch"
    yield f"{prefix}{slug}.patch"
    yield from (f"{prefix}{slug}-{number}.patch" for number in itertools.count(2))


def _next_name(workspace: Workspace, old: str) -> str:
    """quilt's: NAME-2, then NAME-3, before the suffix."""
    stem, dot, suffix = old.rpartition(".") if re.search(r"\.(patch|diff)$", old) else (old, "", "")
    found = re.fullmatch(r"(.*)-(\d+)", stem)
    base, number = (found[1], int(found[2])) if found else (stem, 1)
    names = (f"{base}-{count}{dot}{suffix}" for count in itertools.count(number + 1))
    return next(name for name in names if name not in workspace.series.names and not workspace.queue.patch_file(name).exists())
