"""What the shipped `hooks/pre-apply` does: syntax, structure and names of every changed file, what patches expect, then the imports and
probes of the final tree.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import platformdirs

import pq
from pq.checks import elsewhere, environment, expectations, imports, names, parameters, structure, syntax, warm
from pq.checks.environment import Interpreter
from pq.checks.expectations import Touched
from pq.checks.findings import Finding
from pq.checks.imports import Imported, TooLong
from pq.checks.sources import Source
from pq.checks.stage import Stage
from pq.checks.warm import Warm
from pq.core import header, patch_reader, scope
from pq.core.lines import split_lines
from pq.core.patch import Hunk, Patch
from pq.core.rules import CODES
from pq.core.series import Pin, Series
from pq.core.tree import File
from pq.engine import requirements
from pq.errors import NotChecked, PqError
from pq.queue import CheckConfig, Queue
from pq.repo.objects import FOLDER, GitTree, Node, Objects

_WATCHED = 6
"""Files of a patch, at most, that a worker that stays keeps a copy of itself for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One patch of a push: its name, and the ids of the trees before and after."""

    patch: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Changed:
    """A Python file that a patch changes: what was there, and what is."""

    asked: Asked
    path: str
    old: Node | None
    new: Node


@dataclass(frozen=True, slots=True)
class _Modules:
    """The files of a tree below the root of its packages. A path of a folder ends with a slash."""

    objects: Objects
    tree: str
    check: CheckConfig
    overlay: Path

    def id(self, path: str) -> str | None:
        """What tells one content from another."""
        node = self.objects.node(self.tree, self.check.outside(path).rstrip("/"))
        return node[1] if node is not None and (node[0] == FOLDER) == path.endswith("/") else None

    def files(self) -> Iterable[str]:
        """The paths of all files, compiled ones included."""
        compiled = (place.relative_to(self.overlay).as_posix() for place in self.overlay.rglob("*") if place.is_file())
        every = (*self.objects.difference(self.objects.write("tree", b""), self.tree), *compiled)
        return (inside for path in every if (inside := self.check.inside(path)) is not None)

    def read(self, path: str) -> bytes | None:
        """The content of a file."""
        found = self.id(path)
        return None if found is None or path.endswith("/") else self.objects.read(found)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings that reject, with the patch that they are about; or, where it was asked for, what was imported.

    `within`: the modules were not imported, since that would have taken more than so many seconds.
    """

    rejected: tuple[tuple[str, Finding], ...]
    imported: Imported | None = None
    within: int | None = None


def cache() -> Path:
    """The user's cache folder for environments and wheels."""
    return platformdirs.user_cache_path("pq")


def interpreter(queue: Queue, pin: Pin) -> Interpreter:
    """The Python that checks run in. Raises NotChecked where it is not there."""
    check = queue.config.check
    if not check.modules:
        return environment.own()
    if check.python != "managed":
        named = Path(check.python).expanduser()
        place = queue.root / named if len(named.parts) > 1 else named
        if place.is_absolute() and (_is_inside(place, queue.root) or _is_inside(place.resolve(), queue.root.resolve())):
            raise NotChecked(
                f"[check] python is {check.python}, a file of the queue, which can't be trusted by its name",
                hint="name an interpreter elsewhere, or managed",
            )
        return environment.ask(place, timeout=check.timeout)
    folder = environment.managed(requirements.find(queue, pin).read_bytes(), cache())
    if not environment.is_complete(folder):
        raise NotChecked(f"the environment of the import check for {pin.release} is not built", hint="pq setup builds it")
    return environment.ask(environment.python_in(folder), timeout=check.timeout)


def _is_inside(place: Path, folder: Path) -> bool:
    return Path(os.path.abspath(place)).is_relative_to(folder)


@dataclass(frozen=True)
class Checker:
    """Runs the checks of one queue. `folder` is where the staged copy lies; `overlay` holds a release's compiled libraries.

    With `daemon`, a worker may stay behind for the next command. With a `budget`, in seconds, what can't be imported in that is let through.
    """

    queue: Queue
    objects: Objects
    python: Interpreter
    folder: Path
    overlay: Path
    environment: Mapping[str, str]
    daemon: bool
    progress: Callable[[str], None]
    budget: int | None = None
    _read: dict[str, Patch | None] = field(default_factory=dict, compare=False)

    def judge(self, asked: Sequence[Asked]) -> Verdict:
        """Check the patches of a push, cheap checks first; the dear ones only where the cheap ones pass."""
        changed = self._changed(asked)
        broken = self._syntax(changed)
        found = [(changed[number].asked, finding) for number, finding in broken.items()]
        for number, file in enumerate(changed):
            if number not in broken:
                found += [(file.asked, one) for one in self._meaning(file, asked[-1].after) if not self._is_off(file.asked, one)]
        found += [(patch, one) for patch in asked for one in self._expectations(patch, changed)]
        found += [
            (patch, self._placed(one))
            for patch in asked
            for one in self._elsewhere(patch, asked[-1].after)
            if not self._is_off(patch, one)
        ]
        rejected = tuple((patch.patch, self._with_hunk(patch, one)) for patch, one in found)
        if rejected or not self.queue.config.check.modules:
            return Verdict(rejected)
        if self.budget == 0:
            return Verdict((), within=0)
        outcome = self._imports(asked, within=self.budget)
        if isinstance(outcome, Imported):
            return Verdict((), outcome)
        if isinstance(outcome, TooLong) and self.budget is not None:
            return Verdict((), within=self.budget)
        each, finding = self._to_blame(asked, outcome)
        return Verdict(((each.patch, self._with_hunk(each, finding)),))

    def _changed(self, asked: Sequence[Asked]) -> list[_Changed]:
        """The Python files that the patches change."""
        return [
            _Changed(each, path, old, new)
            for each in asked
            for path, (old, new) in self.objects.difference(each.before, each.after).items()
            if new is not None and syntax.is_python(path, new[0])
        ]

    def _syntax(self, changed: Sequence[_Changed]) -> dict[int, Finding]:
        """What the patches newly break, all in one go, by number."""
        sources = [(each.path, self.objects.read(each.new[1])) for each in changed]
        return syntax.new_findings(sources, lambda number: self._before(changed[number]), self.python)

    def _meaning(self, changed: _Changed, last: str) -> Iterator[Finding]:
        """What a patch newly brings into a file that compiles, but is not meant: in its structure, and in its names."""
        if set(CODES) <= set(self.queue.config.check.off):
            return
        source = Source(changed.path, self._before(changed), self.objects.read(changed.new[1]))
        yield from structure.findings(source)
        module = self.queue.config.check.module(changed.path)
        package = module if changed.path.endswith("/__init__.py") else module.rpartition(".")[0]
        asked = changed.asked
        yield from self._lasting(
            asked, last, lambda now: names.findings(source, self._modules(now), self._modules(asked.before), package=package)
        )
        yield from self._lasting(
            asked, last, lambda now: parameters.findings(source, self._modules(now), self._modules(asked.before), package=package)
        )

    def _expectations(self, asked: Asked, changed: Sequence[_Changed]) -> Iterator[Finding]:
        """What a patch says of the tree that it makes, and does not hold."""
        patch = self._patch(asked.patch) if self._says(asked.patch, b"Pq-Allow:") else None
        for code in header.not_to_be_allowed(patch.header) if patch is not None else ():
            yield Finding("expect", f"the patch allows {code}, which is none of {', '.join(CODES)}")
        if expected := self._expected(asked.patch):
            touched = [Touched("", None, self.objects.read(each.new[1])) for each in changed if each.asked == asked]
            yield from expectations.findings(expected, self._modules(asked.after).read, touched)

    def _elsewhere(self, asked: Asked, last: str) -> Iterator[Finding]:
        """What files that a patch does not change no longer find in the last tree."""
        check = self.queue.config.check
        if {"no-name", "no-module"} <= set(check.off):
            return
        changed = {
            inside: None if new is None else self.objects.read(new[1])
            for path, (_, new) in self.objects.difference(asked.before, asked.after).items()
            if path.endswith(".py") and (inside := check.inside(path)) is not None
        }
        yield from self._lasting(
            asked, last, lambda now: elsewhere.findings(changed, self._modules(now), self._modules(asked.before))
        )

    def _placed(self, finding: Finding) -> Finding:
        """A finding in a file below the root, by its path in the tree."""
        return replace(finding, path=self.queue.config.check.outside(finding.path)) if finding.path else finding

    @staticmethod
    def _lasting(asked: Asked, last: str, find: Callable[[str], Iterable[Finding]]) -> Iterator[Finding]:
        """What is found in the last tree, which alone is ever imported; it is a patch's fault if it is so in the patch's own tree, too."""
        found = list(find(last))
        own = {(each.code, each.path, each.reason) for each in find(asked.after)} if found and asked.after != last else None
        yield from (each for each in found if own is None or (each.code, each.path, each.reason) in own)

    def _is_off(self, asked: Asked, finding: Finding) -> bool:
        """Whether the queue, or the patch, says that a rule does not hold."""
        patch = self._patch(asked.patch) if self._says(asked.patch, b"Pq-Allow:") else None
        return finding.code in self.queue.config.check.off or (patch is not None and finding.code in header.allowed(patch.header))

    def _expected(self, name: str) -> tuple[str, ...]:
        patch = self._patch(name) if self._says(name, b"Pq-Expect:") else None
        return expectations.read(patch.header) if patch is not None else ()

    def _says(self, name: str, words: bytes) -> bool:
        """Whether a patch may say so: most do not, and need not be read for it."""
        with contextlib.suppress(PqError):
            return words in self.queue.read_patch(name)
        return False

    def _patch(self, name: str) -> Patch | None:
        """What a patch says as the series applies it; None where that can't be read, as of one that is checked under another series."""
        if name not in self._read:
            self._read[name] = None
            with contextlib.suppress(PqError):
                entry = self._series.entry(name)
                read = patch_reader.read(self.queue.read_patch(name), file=name, strip=entry.strip)
                self._read[name] = read.reversed() if entry.reverse else read
        return self._read[name]

    @cached_property
    def _series(self) -> Series:
        return self.queue.read_series()

    def _modules(self, tree: str) -> _Modules:
        return _Modules(self.objects, tree, self.queue.config.check, self.overlay)

    def _before(self, changed: _Changed) -> Sequence[bytes]:
        """What was in a file before; of a new one, what is in those that went, since it may be one of them under another name."""
        if changed.old is not None:
            return (self.objects.read(changed.old[1]),)
        gone = self.objects.difference(changed.asked.before, changed.asked.after).items()
        return [
            self.objects.read(was[1]) for path, (was, now) in gone if was is not None and now is None and path.endswith(".py")
        ]

    def _imports(self, stack: Sequence[Asked], *, within: int | None = None) -> Imported | Finding | TooLong:
        """Import the tree after the last of some patches, and what they expect to be imported."""
        check, asked = self.queue.config.check, stack[-1]
        modules = (*check.modules, *(each for patch in stack for each in expectations.imports(self._expected(patch.patch))))
        stage = Stage(self.folder, self.overlay)
        stage.update(asked.after, lambda staged: self._changes(staged, asked.after))
        self.progress(f"importing {', '.join(check.modules)}")
        home = Path(self.environment["HOME"])
        if home.is_symlink():  # what was imported before can do as it likes in there
            home.unlink()
        shutil.rmtree(home, ignore_errors=True)
        (home / "tmp").mkdir(mode=0o700, parents=True, exist_ok=True)
        probes = tuple(sorted((self.queue.root / "hooks" / "probes").glob("*.py")))
        request = imports.Request(
            python=self.python.path,
            root=stage.files / check.root,
            modules=tuple(dict.fromkeys(modules)),
            stand_ins=check.stand_ins,
            probes=probes,
            timeout=check.timeout if within is None else min(within, check.timeout),
            environment=self.environment,
            memory=check.memory,
            watch=self._watched(asked),
        )
        return imports.check(request, stage, self._warm())

    def _watched(self, asked: Asked) -> tuple[str, ...]:
        """The modules that are imported, and those of the patch: it is the one that is worked on."""
        check = self.queue.config.check
        changed = (path for path, (_, new) in self.objects.difference(asked.before, asked.after).items() if new)
        return (
            *check.modules,
            *map(check.module, itertools.islice((path for path in changed if path.endswith(".py")), _WATCHED)),
        )

    def _warm(self) -> Warm | None:
        """The worker that stays, where there may be one."""
        check = self.queue.config.check
        if not check.idle:
            shutil.rmtree(self.folder.with_name("worker"), ignore_errors=True)
        if not self.daemon or not check.idle or not warm.can_be():
            return None
        configuration = warm.configuration(pq.__version__, self.python.identity, check, self.folder)
        return Warm(self.folder.with_name("worker"), configuration, warm.environment(self.environment), check.idle)

    def _changes(self, staged: str | None, tree: str) -> Iterable[tuple[str, File | None]]:
        before = staged or self.objects.write("tree", b"")
        root = self.queue.config.check.root
        changes = self.objects.difference(before, tree)
        for path, (_, new) in sorted(changes.items(), key=lambda change: change[1][1] is not None):  # what goes, goes first
            if root in ("", ".") or path.startswith(f"{root}/"):
                yield path, None if new is None else File(new[0], self.objects.read(new[1]))

    def _to_blame(self, asked: Sequence[Asked], last: Finding | TooLong) -> tuple[Asked, Finding]:
        """The first patch with which the imports fail, found by halving; each step is an import."""
        good, bad, finding = -1, len(asked) - 1, _as_finding(last)
        while bad - good > 1:
            middle = (good + bad) // 2
            outcome = self._imports(asked[: middle + 1])
            if isinstance(outcome, Imported):
                good = middle
            else:
                bad, finding = middle, _as_finding(outcome)
        if bad == 0 and not isinstance(outcome := self._imports([_below(asked[0])]), Imported):
            below = _as_finding(outcome)
            return asked[0], replace(
                below, reason=f"the tree below this patch fails already (is [check] in pq.toml right?): {below.reason}"
            )
        return asked[bad], finding

    def _with_hunk(self, asked: Asked, finding: Finding) -> Finding:
        """Say what the place is in, and which hunk of the patch is nearest to it."""
        if finding.path is None or finding.line is None:
            return finding
        file = GitTree(self.objects, asked.after).get(finding.path)
        if file is None:
            return finding
        found = replace(finding, scope=scope.enclosing(scope.scopes(file.content), finding.line))
        hunk = self._hunk(asked.patch, finding.path, finding.line, file.content)
        if hunk is None:
            return found
        place = self.queue.relative(self.queue.patch_file(asked.patch))
        return replace(found, hunk=hunk.number, patched=f"{place}:{hunk.line}")

    def _hunk(self, patch: str, path: str, line: int, content: bytes) -> Hunk | None:
        read = self._patch(patch)
        if read is None:
            return None
        lines = split_lines(content)
        near: list[tuple[int, Hunk]] = []
        for file in read.files:
            for hunk in file.hunks if path in (file.old_path, file.new_path) else ():
                starts = [at for at in range(len(lines)) if lines[at : at + len(hunk.new)] == hunk.new]
                near += [(max(at + 1 - line, line - at - len(hunk.new), 0), hunk) for at in starts]
        return min(near, key=lambda found: found[0])[1] if near else None


def _as_finding(outcome: Finding | TooLong) -> Finding:
    if isinstance(outcome, Finding):
        return outcome
    return Finding("import", f"the import check took more than {outcome.seconds} seconds and was ended")


def _below(asked: Asked) -> Asked:
    """The tree below a patch, as if no patch had made it."""
    return Asked("", asked.before, asked.before)
