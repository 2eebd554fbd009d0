"""Names of releases as versions: their order, and what a user means."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import InvalidVersion, Version


def read(release: str) -> Version | None:
    """The version that a release's name says, with or without a `v` in front; None for any other name."""
    try:
        return Version(release)
    except InvalidVersion:
        return None


def ordered(releases: Iterable[str]) -> tuple[str, ...]:
    """The releases whose names are versions, the oldest first."""
    found = [(version, name) for name in set(releases) if (version := read(name)) is not None]
    return tuple(name for _, name in sorted(found))


def since(releases: Iterable[str], oldest: str) -> tuple[str, ...]:
    """Those of the releases that are no older than one, the oldest first; with pre-releases, as far as they are listed, where that one is such."""
    first = read(oldest)
    if first is None:
        return ()
    found = [name for name in ordered(releases) if (version := read(name)) is not None and version >= first]
    return tuple(name for name in found if first.is_prerelease or not _is_prerelease(name))


def between(releases: Iterable[str], old: str, new: str) -> tuple[str, ...]:
    """The releases behind one of them, up to another one and with it, the oldest first."""
    last = read(new)
    found = since(releases, old)
    return tuple(name for name in found if name != old and last is not None and (read(name) or last) <= last)


def _is_prerelease(release: str) -> bool:
    version = read(release)
    return version is not None and version.is_prerelease
