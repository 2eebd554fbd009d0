"""Releases as wheels, fetched with pip and pip's own configuration.

The tree of a release is the wheel's packages under the queue's prefix, without the wheel's metadata. Compiled libraries are left
out of it, since they differ from platform to platform, and kept apart for the import check. The date is the day of the newest
file in the wheel: pip says no upload date, and this one is in the bytes that everybody gets.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidName, InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from pq.core import paths
from pq.core.patch import EXECUTABLE, REGULAR
from pq.errors import PqError

_VERSIONS = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_COMPILED = (".so", ".pyd", ".dylib", ".dll")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on disk. `date` is in seconds since 1970."""

    path: Path

    @property
    def date(self) -> int:
        """Midnight (UTC) of the day on which the newest file in it was made."""
        with zipfile.ZipFile(self.path) as archive:
            newest = max(member.date_time[:3] for member in archive.infolist())
        return calendar.timegm((*newest, 0, 0, 0))

    def files(self, prefix: str) -> Iterator[tuple[str, int, bytes]]:
        """Path, git mode and content of every file of the release's tree."""
        for name, member, archive in self._members():
            if not name.endswith(_COMPILED):
                mode = EXECUTABLE if member.external_attr >> 16 & 0o100 else REGULAR
                yield f"{prefix}/{name}".lstrip("/"), mode, archive.read(member)

    def unpack_compiled(self, folder: Path) -> None:
        """Put the compiled libraries into a folder, at their paths in the wheel."""
        for name, member, archive in self._members():
            if name.endswith(_COMPILED):
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.read(member))

    def _members(self) -> Iterator[tuple[str, zipfile.ZipInfo, zipfile.ZipFile]]:
        with zipfile.ZipFile(self.path) as archive:
            for member in archive.infolist():
                top = member.filename.partition("/")[0]
                if member.is_dir() or top.endswith((".dist-info", ".data")):
                    continue
                if reason := paths.fault(member.filename):
                    raise PqError(f"{self.path.name} may not hold {member.filename}: {reason}", hint="do not install this wheel")
                yield member.filename, member, archive


def fetch(name: str, version: str, folder: Path, *, progress: Callable[[str], None]) -> Wheel:
    """The wheel of a release, from `folder` if it is there already. Raises PqError with pip's words."""
    _require_plain(name, version)
    found = _find(name, version, folder)
    if found is None:
        progress(f"fetching {name} {version}")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as partial:
            _download(name, version, Path(partial))
            fetched = _find(name, version, Path(partial))
            if fetched is None:
                raise PqError(f"pip fetched something else than {name} {version}", hint="see pip's configuration")
            found = folder / fetched.name
            os.replace(fetched, found)
    return Wheel(found)


def versions(name: str) -> tuple[str, ...]:
    """The versions that the package index has, the newest first. Raises PqError with pip's words."""
    _require_plain(name, "0")
    said = _pip("index", "versions", name, fact=f"the package index can't be asked for {name}")
    listed = _VERSIONS.search(said)
    return tuple(listed[1].split(", ")) if listed is not None else ()


def _require_plain(name: str, version: str) -> None:
    """Raise PqError for what pip could take for an option, or for a place."""
    try:
        canonicalize_name(name, validate=True)
        Version(version)
    except (InvalidName, InvalidVersion) as error:
        raise PqError(f"{error}", hint="see [upstream] source and the pq-pin line of the series") from None


def _download(name: str, version: str, folder: Path) -> None:
    words = ("download", "--no-deps", "--only-binary=:all:", "--dest", str(folder), f"{name}=={version}")
    _pip(*words, fact=f"{name} {version} can't be fetched")


def _pip(*words: str, fact: str) -> str:
    """What `pip WORDS` prints. Raises PqError, which begins with this fact."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise PqError(
            f"{fact}: {' '.join(errors) or done.stderr.strip()}",
            hint="is there such a release, and a way to the package index?",
        )
    return done.stdout


def _find(name: str, version: str, folder: Path) -> Path | None:
    """The wheel of a release in a folder; one that is cut, or that has no name of a wheel, is none."""
    for path in sorted(folder.glob("*.whl")):
        with contextlib.suppress(InvalidWheelFilename, InvalidVersion):
            found = parse_wheel_filename(path.name)
            if found[0] == canonicalize_name(name) and found[1] == Version(version) and zipfile.is_zipfile(path):
                return path
    return None
