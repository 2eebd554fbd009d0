"""A sealed world: no configuration, identity, cache or variable of the machine reaches a test, and real git builds the fixtures."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

from pq.cli.main import run

settings.register_profile(
    "short", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long` tries everything: all system calls to die at, all queues of the corpus, sixty packages, thousands of inputs."""
    parser.addoption("--long", action="store_true", help="try everything that CI tries a part of")


def pytest_configure(config: pytest.Config) -> None:
    """Laws are tried on few inputs, always the same, unless `--long` asks for many."""
    settings.load_profile("long" if config.getoption("--long") else "short")
    if config.getoption("--long"):
        os.environ["PQ_COMPAT_ALL"] = "1"


PROJECT = Path(__file__).parent.parent
_USER_CACHE = platformdirs.user_cache_path()

_SEALED = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PQ_NO_DAEMON": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}
_DROPPED = ("GIT_", "QUILT", "PQ_", "XDG_", "MAKE", "MFLAGS")


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seal the environment; the empty home folder."""
    home = tmp_path_factory.mktemp("home")
    _seal(monkeypatch, home)
    return home


def _seal(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in list(os.environ):
        if name.startswith(_DROPPED):
            monkeypatch.delenv(name)
    for name, value in _SEALED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def user_cache(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's real cache folder, with wheels and environments in it, let through the seal."""
    assert sealed.is_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(_USER_CACHE))
    return _USER_CACHE


@dataclass(frozen=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def git(folder: Path, *words: str) -> str:
    """What real git prints. pq's hooks, which `pq setup` puts into the checkout, do not run: most tests are about what plain git leaves."""
    done = subprocess.run(["git", "-c", f"core.hooksPath={os.devnull}", *words], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


@dataclass
class World:
    """An upstream repository with tag v1, a queue on it in `queue`, and its checkout. `trusting`: of hooks of any kind."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    trusting: bool = True

    @property
    def upstream(self) -> Path:
        """The repository that releases are tags of."""
        return self.root / "upstream"

    @property
    def queue(self) -> Path:
        """The queue."""
        return self.root / "queue"

    @property
    def checkout(self) -> Path:
        """The checkout."""
        return self.queue / ".checkout"

    @property
    def series(self) -> Path:
        """The series file."""
        return self.queue / "series" / "v1"

    def pq(self, *words: str, cwd: Path | None = None) -> Result:
        """Run pq's command line in this process, in the queue or in another folder."""
        raw = [io.BytesIO(), io.BytesIO()]
        out, err = (io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="\n") for stream in raw)
        with contextlib.chdir(cwd or self.queue), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(self._said(words))
            out.flush()
            err.flush()
        printed = [stream.getvalue().decode("utf-8", "surrogateescape") for stream in raw]
        assert "Traceback" not in printed[1], printed[1]
        return Result(code, *printed)

    def process(self, *words: str, cwd: Path | None = None, given: bytes = b"") -> Result:
        """Run pq as a user does, in a process of its own, with this on its standard input."""
        done = subprocess.run(
            [sys.executable, "-m", "pq", *self._said(words)],
            cwd=cwd or self.queue,
            capture_output=True,
            check=False,
            env={**os.environ, **self.environment},
            input=given,
        )
        out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
        assert "Traceback" not in err, err
        return Result(done.returncode, out, err)

    def _said(self, words: Sequence[str]) -> Sequence[str]:
        """The command of a user who trusts the hooks as they are."""
        return ["--trust", *words] if self.trusting else words

    def release(self, tag: str, files: Mapping[str, bytes]) -> None:
        """Commit exactly these files upstream and tag them."""
        if not self.upstream.exists():
            self.upstream.mkdir(parents=True)
            git(self.upstream, "init", "-q", "-b", "main")
        git(self.upstream, "rm", "-rq", "--ignore-unmatch", ".")
        _write(self.upstream, files)
        git(self.upstream, "add", "-A", "--force")
        git(self.upstream, "commit", "-q", "--allow-empty", "-m", tag)
        git(self.upstream, "tag", tag)

    def init(self, tag: str = "v1") -> None:
        """Make the queue and its checkout."""
        self.queue.mkdir(exist_ok=True)
        assert self.pq("init", "--source", "../upstream", "--pin", tag).code == 0
        made = self.pq("setup")
        assert made.code == 0, made.err

    def patch(self, name: str, files: Mapping[str, bytes | None], *, on: str = "HEAD", header: bytes = b"") -> None:
        """Add a patch to the series that git makes of these files (None: removed) against a commit of the checkout."""
        scratch = self.root / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        git(self.root, "clone", "-q", "--no-checkout", str(self.checkout), str(scratch))
        git(scratch, "checkout", "-q", git(self.checkout, "rev-parse", on).strip())
        for path, content in files.items():
            if content is None:
                (scratch / path).unlink()
        _write(scratch, {path: content for path, content in files.items() if content is not None})
        git(scratch, "add", "-A", "--force")
        diff = subprocess.run(
            ["git", "diff", "--cached", "--binary", "--full-index", "-M"], cwd=scratch, capture_output=True, check=True
        ).stdout
        self.add(name, header + diff)

    def add(self, name: str, content: bytes) -> None:
        """Add a patch with this content to the series."""
        place = self.queue / "patches" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        with self.series.open("ab") as series:
            series.write(name.encode("utf-8", "surrogateescape") + b"\n")

    def files(self) -> dict[str, bytes]:
        """The tracked and untracked files of the checkout."""
        return snapshot(self.checkout)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but git's: its mode and content."""
    found = {}
    for place in sorted(folder.rglob("*")):
        name = place.relative_to(folder).as_posix()
        if name.split("/")[0] == ".git" or (place.is_dir() and not place.is_symlink()):
            continue
        status = place.lstat()
        content = os.fsencode(os.readlink(place)) if place.is_symlink() else place.read_bytes()
        found[name] = f"{status.st_mode:o} ".encode() + content
    return found


def times(folder: Path) -> dict[str, int]:
    """The change time of every file below a folder, and of git's index and refs, to the nanosecond."""
    places = [place for place in folder.rglob("*") if ".git" not in place.relative_to(folder).parts]
    places += [folder / ".git" / "index", folder / ".git" / "HEAD"]
    return {str(place): place.lstat().st_mtime_ns for place in places if place.exists()}


NUMBERS = b"".join(b"line %d\n" % number for number in range(1, 41))
MODULE = b'''"""A module."""


def first() -> int:
    return 1


def second() -> int:
    return 2


def third() -> int:
    return 3
'''


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> World:
    """What `world` and `stacked` are copies of, made once. Outside the seal, so it seals itself."""
    with pytest.MonkeyPatch.context() as patching:
        _seal(patching, tmp_path_factory.mktemp("home"))
        made = World(tmp_path_factory.mktemp("pattern"))
        made.release("v1", {"numbers.txt": NUMBERS, "pkg/module.py": MODULE})
        made.init()
        made.patch("one.patch", {"numbers.txt": NUMBERS.replace(b"line 5\n", b"line five\n")})
        made.patch("two.patch", {"pkg/module.py": MODULE.replace(b"return 2", b"return 20")})
        shutil.rmtree(made.root / "scratch")
    return made


@pytest.fixture
def stacked(tmp_path: Path, pattern: World) -> World:
    """Release v1 (numbers.txt, pkg/module.py) with two independent patches, one.patch and two.patch, none pushed."""
    shutil.copytree(pattern.root, tmp_path, symlinks=True, dirs_exist_ok=True)
    made = World(tmp_path)
    git(made.checkout, "config", "pq.queue", str(made.queue))
    git(made.checkout, "update-index", "--refresh")
    return made


@pytest.fixture
def world(stacked: World) -> World:
    """Release v1 with an empty series."""
    stacked.series.write_bytes(stacked.series.read_bytes().splitlines(keepends=True)[0])
    shutil.rmtree(stacked.queue / "patches")
    (stacked.queue / "patches").mkdir()
    return stacked
