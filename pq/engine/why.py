"""why: which of upstream's changes touched what a patch stands on and uses, release by release, even where it still applies."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pq.core import scope, surroundings
from pq.core.ledger import Outcome
from pq.core.lines import Lines, split_lines
from pq.core.patch import FilePatch, Patch
from pq.engine import rebase, releases, remembered
from pq.engine.carry import Conflict, Layer
from pq.engine.lost import Lost, Trees, lost
from pq.engine.onto import Renames, change_of, onto, touched
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo
from pq.repo.objects import GitTree
from pq.upstream import versions

_SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NAME = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Touched:
    """What a patch stands in, or uses, and in which releases upstream changed it; `now` is where it stands there, if it does."""

    path: str
    name: str
    uses: bool
    releases: tuple[str, ...]
    now: str


@dataclass(frozen=True, slots=True)
class Why:
    """What becomes of a patch on a release, and what upstream did on the way there. `lines` are those that it stood on and that are gone."""

    patch: str
    release: str
    outcome: Outcome
    note: str
    renamed: Mapping[str, str]
    lines: tuple[Lost, ...]
    touched: tuple[Touched, ...]

    @property
    def is_conflict(self) -> bool:
        """Whether somebody has to look at it."""
        return self.outcome.stops


def why(workspace: Workspace, patch: str, given: str) -> Why:
    """Look at one patch. Raises NothingToDo where the release is not fetched, PqError where there is no such patch."""
    name = releases.name_of(workspace, given)
    commit = workspace.checkout.release(name)
    if commit is None:
        raise NothingToDo(f"Release {name} is not fetched", hint=f"pq fetch {name}")
    checkout = workspace.checkout
    wanted = workspace.series.find(patch)
    layers = rebase.standing(workspace)
    number = next((number for number, each in enumerate(layers) if each.entry.name == wanted), None)
    if number is None:
        raise NothingToDo(f"Patch {wanted} is held back by its guards")
    names = (workspace.pin.release, *(versions.between(checkout.release_names(), workspace.pin.release, name) or (name,)))
    commits = [(each, found) for each in names if (found := checkout.release(each)) is not None]
    trees = [(each, checkout.read_commit(found).tree) for each, found in commits]
    return _Looking(workspace, layers[: number + 1], change_of(workspace, layers[number]), trees).why()


@dataclass(frozen=True)
class _Looking:
    """A patch, which is the last of these, and the trees of the releases from the pin on."""

    workspace: Workspace
    layers: Sequence[Layer]
    change: Patch
    trees: Trees
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def why(self) -> Why:
        """All there is to say."""
        objects, name = self.workspace.checkout.objects, self.layers[-1].entry.name
        (_, pin), (last, ground) = self.trees[0], self.trees[-1]
        changes = [change_of(self.workspace, layer) for layer in self.layers]
        renames = Renames(objects, pin, ground, touched(changes))
        for layer, change in zip(self.layers[:-1], changes, strict=False):
            below = remembered.carried(self.workspace, onto(renames, layer.entry.name, layer, change, ground))
            ground = ground if isinstance(below, Conflict) else below.tree
        found = remembered.carried(self.workspace, onto(renames, name, self.layers[-1], self.change, ground))
        note = "" if isinstance(found, Conflict) else found.note
        failed = found.failed if isinstance(found, Conflict) else None
        gone = lost(objects, failed, self.trees[1:], found.renamed, search=True) if failed is not None else ()
        return Why(name, last, found.outcome, note, found.renamed, gone, tuple(self._touched()))

    def _touched(self) -> Iterator[Touched]:
        objects = self.workspace.checkout.objects
        for file in self.change.files:
            path = file.old_path
            base = GitTree(objects, self.layers[-1].before).get(path) if path is not None else None
            if path is None or base is None or not path.endswith(".py"):
                continue
            for inside in _scopes(file, split_lines(base.content)):
                yield from self._changed((path,), inside, uses=False)
            for used in _used(file, base.content):
                yield from self._changed((path,), used, uses=True)
            for module, imported in _imported(file, base.content):
                yield from self._changed(self._paths(module, path), imported, uses=True)

    def _paths(self, module: str, path: str) -> Sequence[str]:
        """Where a module may stand that a file imports from."""
        check = self.workspace.queue.config.check
        if module.startswith("."):
            package = path.split("/")[: -(len(module) - len(module.lstrip(".")))]
            place = "/".join([*package, *filter(None, module.lstrip(".").split("."))])
        else:
            place = check.outside(module.replace(".", "/"))
        return (f"{place}.py", f"{place}/__init__.py")

    def _changed(self, names: Sequence[str], qualified: str, *, uses: bool) -> Iterator[Touched]:
        """In which releases a definition is another one than in the release before."""
        said = [(release, self._said(tree, names, qualified)) for release, tree in self.trees]
        changed = tuple(release for (_, before), (release, after) in itertools.pairwise(said) if before[0] != after[0])
        if changed:
            now = said[-1][1]
            yield Touched(now[1].rpartition(":")[0] or names[-1], qualified, uses, changed, now[1])

    def _called(self, tree: str, path: str) -> str:
        """What a file of the pin is called in another tree."""
        objects, pin = self.workspace.checkout.objects, self.trees[0][1]
        if objects.node(tree, path) is not None or objects.node(pin, path) is None:
            return path
        if (tree, path) not in self._names:
            self._names[tree, path] = objects.renames(pin, tree, [path]).get(path, path)
        return self._names[tree, path]

    def _said(self, tree: str, names: Sequence[str], qualified: str) -> tuple[str | None, str]:
        for name in names:
            path = self._called(tree, name)
            file = GitTree(self.workspace.checkout.objects, tree).get(path)
            if file is not None:
                said, line = _definitions(file.content).get(qualified, (None, 0))
                return said, f"{path}:{line}" if said is not None else ""
        return None, ""


@functools.lru_cache(maxsize=64)
def _definitions(content: bytes) -> Mapping[str, tuple[str, int]]:
    """What the functions and classes of a file say (of a class, its head and fields), and their lines, by qualified name."""
    tree = surroundings.parse(content)
    found: dict[str, tuple[str, int]] = {}
    below: list[tuple[ast.AST, str]] = [(tree, "")] if tree is not None else []
    while below:
        node, prefix = below.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _SCOPES):
                name = f"{prefix}{child.name}"
                inner = [part for part in child.body if not isinstance(part, _SCOPES)]
                parts = [*child.decorator_list, *inner, *(child.bases if isinstance(child, ast.ClassDef) else [child.args])]
                found[name] = ("\n".join(map(ast.dump, parts)), child.lineno)
                below.append((child, f"{name}."))
            elif isinstance(child, ast.stmt):
                below.append((child, prefix))
    return found


def _scopes(file: FilePatch, base: Lines) -> list[str]:
    """The functions and classes that the hunks of a file stand in."""
    scopes = scope.scopes(b"".join(base))
    edits = [edit for hunk in file.hunks for edit in hunk.edits(hunk.position)]
    found = (
        scope.enclosing(scopes, edit.start + (edit.stop > edit.start)) for edit in edits
    )  # of what is put in, the line above
    return list(dict.fromkeys(name for name in found if name))


def _named(file: FilePatch) -> set[str]:
    """What the lines name that the patch puts in."""
    lines = (line for hunk in file.hunks for edit in hunk.edits(0) for line in edit.lines)
    return {name.decode() for line in lines for name in _NAME.findall(line)}


def _imported(file: FilePatch, base: bytes) -> Iterator[tuple[str, str]]:
    """The functions and classes that these lines name and the file imports, each with its module."""
    tree, names = surroundings.parse(base), _named(file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((module, each.name) for each in node.names if (each.asname or each.name) in names)


def _used(file: FilePatch, base: bytes) -> list[str]:
    """The functions and classes of the file that these lines name."""
    names, inside = _named(file), set(_scopes(file, split_lines(base)))
    return [each for each in _definitions(base) if each.rpartition(".")[2] in names and each not in inside]
