"""How long the cheap checks take beside plain compiling.

The patch is real: a published queue for sglang that changes 49 files in one patch (PQ_CORPUS names the corpus). The ratio is taken within its
round, and the median of the rounds counts.
"""

from __future__ import annotations

import functools
import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pq.checks import names, structure, syntax
from pq.checks.sources import Source
from pq.core import patch_reader
from pq.core.lines import blob_id
from pq.core.patch import REGULAR
from pq.core.tree import File
from pq.engine import checking
from pq.engine.apply import Applied, apply_patch
from pq.upstream import pypi
from tests.compat.corpus import unpack

VERSION = "0.5.9"
TARGET = 1.5


@dataclass(frozen=True)
class Files:
    """A tree of files in memory."""

    contents: Mapping[str, bytes]

    def get(self, path: str) -> File | None:
        """As `pq.core.tree.Tree`."""
        return File(REGULAR, self.contents[path]) if path in self.contents else None

    def below(self, path: str) -> Iterable[str]:
        """As `pq.core.tree.Tree`."""
        return [each for each in self.contents if each.startswith(f"{path}/")]

    @functools.cache  # noqa: B019 - as long as the bench
    def id(self, path: str) -> str | None:
        """As `pq.checks.names.Modules`; git knows it without a look at the content."""
        if path.endswith("/"):
            return path if any(each.startswith(path) for each in self.contents) else None
        return blob_id(self.contents[path]) if path in self.contents else None

    def read(self, path: str) -> bytes | None:
        """As `pq.checks.names.Modules`."""
        return self.contents.get(path)

    def files(self) -> Iterable[str]:
        """As `pq.checks.names.Modules`."""
        return self.contents

    def __hash__(self) -> int:
        return id(self.contents)


def measure(rounds: int) -> None:
    """Measure and print the table."""
    gc.disable()  # as the hook does
    before, after, changed = _patched()
    ratios = []
    for _ in range(rounds):
        compiling = _seconds(lambda: [compile(after.contents[path], path, "exec", dont_inherit=True) for path in changed])
        sources = [
            Source(path, [before.contents[path]] if path in before.contents else [], after.contents[path]) for path in changed
        ]
        found = [
            _seconds(lambda: syntax.new_findings([(path, after.contents[path]) for path in changed], lambda _: ())),
            _seconds(lambda: [structure.findings(source) for source in sources]),  # noqa: B023 - called at once
            _seconds(lambda: [_names(source, before, after) for source in sources]),  # noqa: B023
        ]
        ratios.append([each / compiling for each in found])
        print(
            f"{len(changed)} files: compile {compiling:.2f} s; syntax {found[0]:.2f}, structure {found[1]:.2f}, names {found[2]:.2f}"
        )
    parts = [median(each) for each in zip(*ratios, strict=True)]
    total = median(sum(each) for each in ratios)
    print(
        f"of compile: syntax {parts[0]:.2f}, structure {parts[1]:.2f}, names {parts[2]:.2f}; together {total:.2f} (target {TARGET})"
    )


def _names(source: Source, before: Files, after: Files) -> object:
    return names.findings(source, after, before, package=source.path.rpartition("/")[0].replace("/", "."))


def _patched() -> tuple[Files, Files, list[str]]:
    wheel = pypi.fetch("sglang", VERSION, checking.cache() / "wheels", progress=print)
    before = Files({path: content for path, _, content in wheel.files("")})
    with tempfile.TemporaryDirectory() as folder:
        queue = unpack("sglang/queues.tar.xz", Path(folder)) / "queues" / "slime" / VERSION
        text = (queue / (queue / "series").read_text().split()[-1]).read_bytes()
    made = apply_patch(before, patch_reader.read(text, file="slime", strip=2))
    assert isinstance(made, Applied), made
    contents = {**before.contents, **{path: file.content for path, file in made.changes.items() if file is not None}}
    return before, Files(contents), [path for path, file in made.changes.items() if file is not None and path.endswith(".py")]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
