"""The queue: a folder with `pq.toml`, `series/` and `patches/`; where it is, and what it says."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pq.core import paths, series
from pq.core.rules import CODES
from pq.core.series import Pin, Series
from pq.errors import ParseError, PqError

FILE = "pq.toml"
LEFT_BEHIND = (".orig", ".rej")
"""How the names of files end that patch and merge tools leave behind."""
_HEADER = re.compile(r"\s*\[+\s*\"?([\w-]+)\"?\s*\]")
_KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*=")


@dataclass(frozen=True, slots=True)
class CheckConfig:
    """The table `[check]`. `timeout`, `idle` and `budget`, of the imports in git's hooks, are in seconds, `memory` is in GiB; `off` are the codes of rules that do not hold here.

    `variables` are the names of those that the imported code sees of the user's environment, beside the usual ones.
    """

    root: str = "."
    modules: tuple[str, ...] = ()
    python: str = "managed"
    requirements: str = ""
    stand_ins: tuple[str, ...] = ()
    timeout: int = 300
    idle: int = 900
    off: tuple[str, ...] = ()
    memory: int = 16
    budget: int = 20
    variables: tuple[str, ...] = ()

    def inside(self, path: str) -> str | None:
        """A path of the tree as it is below the root of its packages; None for one that is elsewhere."""
        if self.root in ("", "."):
            return path
        inside = path.removeprefix(f"{self.root}/")
        return inside if inside != path else None

    def module(self, path: str) -> str:
        """The name that a Python file of the tree is imported by; of one outside of the root, what it would be at it."""
        inside = self.inside(path)
        return (path if inside is None else inside).removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def outside(self, path: str) -> str:
        """A path below that root as it is in the tree."""
        return path if self.root in ("", ".") else f"{self.root}/{path}"


@dataclass(frozen=True, slots=True)
class Config:
    """What pq.toml says."""

    source: str
    series: str
    checkout: str = ".checkout"
    prefix: str = ""
    guards: tuple[str, ...] = ()
    check: CheckConfig = CheckConfig()


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue folder, and the series in use.

    `candidate` is a folder with a series and its patches that are in the queue only once the checks let them through; `worktree` is a
    linked worktree of the checkout that a command is about.
    """

    root: Path
    config: Config
    series_name: str
    candidate: Path | None = None
    worktree: Path | None = None

    @property
    def checkout(self) -> Path:
        """The folder of the checkout."""
        return self.worktree or self.root / self.config.checkout

    @property
    def has_checkout_inside(self) -> bool:
        """Whether the checkout that pq.toml names is below the queue's own folder, as the system sees it."""
        return (self.root / self.config.checkout).resolve().is_relative_to(self.root.resolve())

    @property
    def series_file(self) -> Path:
        """The series file in use."""
        return (self.candidate or self.root) / "series" / self.series_name

    @property
    def patches(self) -> Path:
        """The folder that patch names start from, as quilt's QUILT_PATCHES."""
        return (self.candidate or self.root) / "patches"

    def with_series(self, name: str) -> bytes:
        """What pq.toml says with another series in use; all else stays as it is written."""
        import tomlkit  # for rebase alone

        table = tomlkit.parse((self.root / FILE).read_text(encoding="utf-8"))
        upstream = table["upstream"]
        assert isinstance(upstream, MutableMapping)
        upstream["series"] = name
        return tomlkit.dumps(table).encode()

    def read_series(self) -> Series:
        """The series in use. Raises PqError where it is missing or no regular file, ParseError where it can't be read."""
        file = self.series_file
        if file.is_dir():
            raise PqError(f"{self.relative(file)} is a folder, not a series file", hint="set [upstream] series in pq.toml")
        if not file.is_file():
            there = self.series_names()
            hint = f"there are: {', '.join(there)}" if there else "pq init makes one"
            raise PqError(f"No series file found at {self.relative(file)}", hint=hint)
        return series.read(file.read_bytes(), file=self.relative(file))

    def read_pin(self, found: Series) -> Pin:
        """The pin of a series: its header's, or the release that its name says."""
        return found.pin or Pin(self.series_name)

    def patch_file(self, name: str) -> Path:
        """The file of a patch. Raises PqError for a name that leads out of the patches folder."""
        if name.startswith("/") or ".." in name.split("/"):
            raise PqError(
                f"Patch name {name} leads out of {self.relative(self.patches)}", hint=f"edit {self.relative(self.series_file)}"
            )
        return self.patches / name

    def read_patch(self, name: str) -> bytes:
        """The bytes of a patch file. Raises PqError where there is none."""
        place = self.patch_file(name)
        try:
            return place.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise PqError(
                f"Patch {name} has no file {self.relative(place)}", hint="put the file there, or take the line out of the series"
            ) from None

    def other_series(self, name: str) -> tuple[str, ...]:
        """The other series files that list a patch."""
        found = (file for file in self._series_files() if file != self.series_file)
        return tuple(
            self.relative(file) for file in found if name in series.read(file.read_bytes(), file=self.relative(file)).names
        )

    def unlisted(self) -> tuple[str, ...]:
        """Patch files that no series of the queue names."""
        listed: set[str] = set()
        for file in self._series_files():
            listed |= set(series.read(file.read_bytes(), file=self.relative(file)).names)
        found = (
            path.relative_to(self.patches).as_posix()
            for path in sorted(self.patches.rglob("*"))
            if path.suffix in (".patch", ".diff")
        )
        return tuple(name for name in found if name not in listed)

    def series_names(self) -> tuple[str, ...]:
        """The names of all series of the queue."""
        return tuple(place.relative_to(self.root / "series").as_posix() for place in self._series_files())

    def _series_files(self) -> Sequence[Path]:
        found = sorted((self.root / "series").rglob("*"))
        return [file for file in found if file.is_file() and not file.name.startswith(".") and file.suffix not in LEFT_BEHIND]

    def stamp(self) -> str:
        """Changes when pq.toml or the series file is written. `pq.cli.quick` makes the same from the same files."""
        found = (os.stat(place) for place in (self.root / FILE, self.series_file))
        return "-".join(f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}" for status in found)

    def relative(self, place: Path) -> str:
        """A path below the queue as messages show it."""
        for root in (self.candidate, self.root):
            if root is not None and place.is_relative_to(root):
                return place.relative_to(root).as_posix()
        return str(place)


def find(start: Path) -> Path | None:
    """The nearest folder from `start` upwards that holds a pq.toml."""
    start = Path(os.path.abspath(start))
    return next((folder for folder in (start, *start.parents) if (folder / FILE).is_file()), None)


def open_queue(root: Path, *, series_name: str | None = None, candidate: Path | None = None) -> Queue:
    """Open the queue in a folder. Raises PqError or ParseError where its pq.toml is missing or wrong."""
    file = root / FILE
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PqError(f"No queue at {root}", hint="pq init makes one") from None
    except UnicodeDecodeError as error:
        raise PqError(f"{FILE} is not UTF-8: {error}", hint=f"edit {file}") from None
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(error, file.read_text(encoding="utf-8")) from None
    try:
        config = _config(table)
    except _Fault as fault:
        raise _placed(fault, file.read_text(encoding="utf-8")) from None
    return Queue(root, config, require_name(series_name or config.series), candidate)


def require_name(series_name: str) -> str:
    """The name of a series. Raises PqError where it can't be both a file below `series/` and a branch below `pq/`."""
    if not series.can_be_ref(series_name):
        raise PqError(
            f"{series_name!r} can't be the name of a series", hint="it names a file under series/ and a branch pq/<series>"
        )
    return series_name


def _config(table: Mapping[str, object]) -> Config:
    _refuse_unknown("", table, ("upstream", "check"))
    upstream, check = _table(table, "upstream"), _table(table, "check")
    _refuse_unknown("upstream", upstream, ("source", "series", "checkout", "prefix", "guards"))
    _refuse_unknown("check", check, tuple(CheckConfig.__slots__))
    return Config(
        source=_text(upstream, "upstream", "source"),
        series=_text(upstream, "upstream", "series"),
        checkout=_text(upstream, "upstream", "checkout", ".checkout"),
        prefix=_folder(upstream, "upstream", "prefix", ""),
        guards=_texts(upstream, "upstream", "guards"),
        check=CheckConfig(
            root=_folder(check, "check", "root", "."),
            modules=_texts(check, "check", "modules"),
            python=_text(check, "check", "python", "managed"),
            requirements=_text(check, "check", "requirements", ""),
            stand_ins=_texts(check, "check", "stand_ins"),
            timeout=_number(check, "timeout", 300, least=1, of="seconds"),
            idle=_number(check, "idle", 900, least=0, of="seconds"),
            off=_codes(check),
            budget=_number(check, "budget", 20, least=0, of="seconds"),
            memory=_number(check, "memory", 16, least=1, of="GiB"),
            variables=_texts(check, "check", "variables"),
        ),
    )


def _table(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = table.get(name, {})
    if not isinstance(value, dict):
        raise _Fault("", name, "has to be a table")
    return value


def _text(table: Mapping[str, object], where: str, key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise _Fault(where, key, "is missing" if value is None else "has to be a string")
    return value


def _folder(table: Mapping[str, object], where: str, key: str, default: str) -> str:
    """A folder of the tree."""
    said = _text(table, where, key, default).strip("/")
    if said not in ("", ".") and (reason := paths.fault(said)):
        raise _Fault(where, key, f"has to be a folder of the tree: {reason}")
    return said


def _texts(table: Mapping[str, object], where: str, key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Fault(where, key, "has to be a list of strings")
    return tuple(value)


def _number(check: Mapping[str, object], key: str, default: int, *, least: int, of: str) -> int:
    value = check.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _Fault("check", key, f"has to be a number of {of} above 0" if least else f"has to be a number of {of}; 0 is none")
    return value


def _codes(check: Mapping[str, object]) -> tuple[str, ...]:
    codes = _texts(check, "check", "off")
    for code in codes:
        if code not in CODES:
            raise _Fault("check", "off", f"names {code}, which is none of {', '.join(CODES)}")
    return codes


def _refuse_unknown(name: str, table: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise _Fault(name, key, f"is not known; there are: {', '.join(known)}")


class _Fault(Exception):
    """A key of a table that means nothing, or is not there."""

    def __init__(self, table: str, key: str, fact: str) -> None:
        super().__init__(fact)
        self.table = table
        self.key = key


def _placed(fault: _Fault, text: str) -> ParseError:
    """The fault at the line of its key; else of its table; else at the end. TOML that is written otherwise is not searched."""
    lines = text.splitlines() or [""]
    place, table = (len(lines), 1), ""
    for number, line in enumerate(lines, 1):
        column = len(line) - len(line.lstrip()) + 1
        if header := _HEADER.match(line):
            table = header[1]
            if table == fault.table or (not fault.table and table == fault.key):
                place = number, column
        elif table == fault.table and (key := _KEY.match(line)) and key[1] == fault.key:
            place = number, column
            break
    name = f"[{fault.table}] {fault.key}" if fault.table else f"[{fault.key}]"
    at, column = place
    return ParseError(f"{name} {fault}", file=FILE, line=at, text=lines[at - 1], column=column, hint=f"edit line {at} of {FILE}")


def _toml_error(error: tomllib.TOMLDecodeError, text: str) -> ParseError:
    message, _, place = str(error).partition(" (at ")
    numbers = [int(word.strip(",)")) for word in place.split() if word.strip(",)").isdigit()]
    line, column = (numbers[0], numbers[1]) if len(numbers) == 2 else (len(text.splitlines()) or 1, None)
    lines = text.splitlines() or [""]
    return ParseError(
        message, file=FILE, line=line, text=lines[min(line, len(lines)) - 1], column=column, hint=f"edit line {line} of {FILE}"
    )
