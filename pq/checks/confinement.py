"""What the code of the import check may have: which variables, and how much of the machine (`worker/pq_confine.py` takes away the rest)."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

SCRIPTS = Path(__file__).with_name("worker")
"""What runs in other interpreters."""
_KEPT = re.compile(r"PATH|LANG|LANGUAGE|LC_\w+|TZ|LD_LIBRARY_PATH|(?:CUDA|NVIDIA|ROCM|HIP|HSA|OMP|MKL|OPENBLAS)_\w+")
_GIB = 1 << 30


def variables(of: Mapping[str, str], home: Path, wanted: Collection[str]) -> dict[str, str]:
    """The environment of the imported code: how Python and the libraries of the machine run, and what is wanted by name; no more."""
    kept = {name: value for name, value in of.items() if _KEPT.fullmatch(name) or name in wanted}
    return kept | {"HOME": str(home), "TMPDIR": str(home / "tmp")}


def command(words: Sequence[str], *, memory: int) -> list[str]:
    """A command that is run so confined, with so many GiB of memory."""
    return [sys.executable, "-I", "-S", str(SCRIPTS / "pq_confine.py"), str(memory * _GIB), *words]
