"""What the shipped `hooks/pre-apply` does: syntax of every changed file, then the imports and probes of the final tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from pq.checks import environment, imports, syntax
from pq.checks.environment import Interpreter
from pq.checks.findings import Finding
from pq.checks.imports import Imported
from pq.checks.stage import Stage
from pq.core import patch_reader
from pq.core.lines import split_lines
from pq.core.patch import Hunk
from pq.core.series import Pin
from pq.core.tree import File
from pq.errors import NotChecked, PqError
from pq.queue import Queue
from pq.repo.objects import GitTree, Objects


@dataclass(frozen=True, slots=True)
class Asked:
    """One patch of a push: its name, and the ids of the trees before and after."""

    patch: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings that reject, with the patch that they are about; or, where it was asked for, what was imported."""

    rejected: tuple[tuple[str, Finding], ...]
    imported: Imported | None = None


def cache() -> Path:
    """The user's cache folder for environments and wheels."""
    return platformdirs.user_cache_path("pq")


def requirements_file(queue: Queue, pin: Pin) -> Path:
    """The requirements of the managed environment for a pin."""
    return queue.root / queue.config.check.requirements.replace("{pin}", pin.release)


def interpreter(queue: Queue, pin: Pin) -> Interpreter:
    """The Python that checks run in. Raises NotChecked where it is not there."""
    check = queue.config.check
    if not check.modules:
        return environment.own()
    if check.python != "managed":
        named = Path(check.python).expanduser()
        return environment.ask(queue.root / named if len(named.parts) > 1 else named, timeout=check.timeout)
    if not check.requirements:
        raise NotChecked("[check] requirements is not set, and python is managed", hint="set one of the two in pq.toml")
    file = requirements_file(queue, pin)
    if not file.is_file():
        raise NotChecked(
            f"{queue.relative(file)} is missing: the import check has no requirements for {pin.release}",
            hint="write it, or set [check] requirements in pq.toml",
        )
    folder = environment.managed(file.read_bytes(), cache())
    if not environment.is_complete(folder):
        raise NotChecked(f"the environment of the import check for {pin.release} is not built", hint="pq setup builds it")
    return environment.ask(environment.python_in(folder), timeout=check.timeout)


@dataclass(frozen=True, slots=True)
class Checker:
    """Runs the checks of one queue. `folder` is where the staged copy lies; `overlay` holds a release's compiled libraries."""

    queue: Queue
    objects: Objects
    python: Interpreter
    folder: Path
    overlay: Path
    progress: Callable[[str], None]

    def judge(self, asked: Sequence[Asked]) -> Verdict:
        """Check the patches of a push, cheap checks first; the dear ones only where the cheap ones pass."""
        rejected = tuple((each.patch, self._with_hunk(each, finding)) for each, finding in self._syntax(asked))
        if rejected or not self.queue.config.check.modules:
            return Verdict(rejected)
        outcome = self._imports(asked[-1].after)
        if isinstance(outcome, Imported):
            return Verdict((), outcome)
        each, finding = self._to_blame(asked, outcome)
        return Verdict(((each.patch, self._with_hunk(each, finding)),))

    def _syntax(self, asked: Sequence[Asked]) -> Iterator[tuple[Asked, Finding]]:
        """What the patches newly break, all in one go."""
        changed = [
            (each, path, old, new)
            for each in asked
            for path, (old, new) in self.objects.difference(each.before, each.after).items()
            if new is not None and syntax.is_python(path, new[0])
        ]

        def before(number: int) -> Iterable[bytes]:
            each, _, old, _ = changed[number]
            if old is not None:
                return (self.objects.read(old[1]),)
            gone = self.objects.difference(each.before, each.after).items()  # it may be one of these under another name
            return (
                self.objects.read(was[1]) for path, (was, now) in gone if was is not None and now is None and path.endswith(".py")
            )

        found = syntax.new_findings([(path, self.objects.read(new[1])) for _, path, _, new in changed], before, self.python)
        return ((changed[number][0], finding) for number, finding in found.items())

    def _imports(self, tree: str) -> Imported | Finding:
        check = self.queue.config.check
        stage = Stage(self.folder, self.overlay)
        stage.update(tree, lambda staged: self._changes(staged, tree))
        self.progress(f"importing {', '.join(check.modules)}")
        probes = tuple(sorted((self.queue.root / "hooks" / "probes").glob("*.py")))
        request = imports.Request(
            self.python.path, stage.files / check.root, check.modules, check.stand_ins, probes, check.timeout
        )
        return imports.check(request, stage)

    def _changes(self, staged: str | None, tree: str) -> Iterable[tuple[str, File | None]]:
        before = staged or self.objects.write("tree", b"")
        root = self.queue.config.check.root
        changes = self.objects.difference(before, tree)
        for path, (_, new) in sorted(changes.items(), key=lambda change: change[1][1] is not None):  # what goes, goes first
            if root in ("", ".") or path.startswith(f"{root}/"):
                yield path, None if new is None else File(new[0], self.objects.read(new[1]))

    def _to_blame(self, asked: Sequence[Asked], last: Finding) -> tuple[Asked, Finding]:
        """The first patch with which the imports fail, found by halving; each step is an import."""
        good, bad, finding = -1, len(asked) - 1, last
        while bad - good > 1:
            middle = (good + bad) // 2
            outcome = self._imports(asked[middle].after)
            if isinstance(outcome, Finding):
                bad, finding = middle, outcome
            else:
                good = middle
        if bad == 0 and isinstance(below := self._imports(asked[0].before), Finding):
            return asked[0], replace(
                below, reason=f"the tree below this patch fails already (is [check] in pq.toml right?): {below.reason}"
            )
        return asked[bad], finding

    def _with_hunk(self, asked: Asked, finding: Finding) -> Finding:
        """Name the hunk of the patch that is nearest to the place."""
        if finding.path is None or finding.line is None:
            return finding
        file = GitTree(self.objects, asked.after).get(finding.path)
        hunk = None if file is None else self._hunk(asked.patch, finding.path, finding.line, file.content)
        if hunk is None:
            return finding
        place = self.queue.relative(self.queue.patch_file(asked.patch))
        return replace(finding, reason=f"{finding.reason}, by hunk {hunk.number} ({place}:{hunk.line})")

    def _hunk(self, patch: str, path: str, line: int, content: bytes) -> Hunk | None:
        try:
            entry = self.queue.read_series().entry(patch)
            read = patch_reader.read(self.queue.read_patch(patch), file=patch, strip=entry.strip)
        except PqError:
            return None
        lines = split_lines(content)
        near: list[tuple[int, Hunk]] = []
        for file in (read.reversed() if entry.reverse else read).files:
            for hunk in file.hunks if path in (file.old_path, file.new_path) else ():
                starts = [at for at in range(len(lines)) if lines[at : at + len(hunk.new)] == hunk.new]
                near += [(max(at + 1 - line, line - at - len(hunk.new), 0), hunk) for at in starts]
        return min(near, key=lambda found: found[0])[1] if near else None
