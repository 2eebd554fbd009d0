"""Debian source packages with a quilt series: what pq makes of them is what quilt was seen to make of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compat.corpus import CORPUS, EVERYTHING, queue_on, rows, tree_hash
from tests.conftest import git

pytestmark = pytest.mark.corpus

PACKAGES = {
    "cron": "76 patches in a subfolder, Index: lines, names that end in .orig",
    "cdparanoia": "git's format, latin-1",
    "dash": "git's format, a new file",
    "net-tools": "plain and git's format, latin-1, a new file",
    "c3p0": "no newline at the end, Index: lines",
    "cscope": "mails, latin-1",
    "nfs-utils": "new and deleted files, git's and plain",
    "ppp": "a deleted file, one file twice in a patch, comments in the series",
    "id3lib3.8.3": "CRLF, a new file, no newline at the end",
    "jhead": "CRLF, timestamps",
    "procps": "an empty patch",
    "lame": "a new file without a newline at the end",
    "avahi": "a new executable file, latin-1",
    "openldap": "CRLF in the header lines, space around names in the series",
}

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def apt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with which apt fetches sources as any user: the machine's own archives, as deb-src, listed in a folder of ours."""
    missing = [tool for tool in ("apt-get", "dpkg-source") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"Debian's sources can't be fetched here: no {', no '.join(missing)} (they come with apt and dpkg-dev)")
    folder = tmp_path_factory.mktemp("apt")
    for name in ("lists/partial", "archives/partial", "sources"):
        (folder / name).mkdir(parents=True)
    for place in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")):
        if place.suffix in (".list", ".sources") and place.is_file():
            text = re.sub(
                r"^(Types:\s*)deb\s*$|^deb(?=\s)",
                lambda found: (found[1] or "") + "deb-src",
                place.read_text(),
                flags=re.MULTILINE,
            )
            (folder / "sources" / place.name).write_text(text)
    places = {
        "State::Lists": "lists",
        "Cache::Archives": "archives",
        "Cache::pkgcache": "",
        "Cache::srcpkgcache": "",
        "Etc::SourceParts": "sources",
    }
    lines = [f'Dir::{name} "{folder / path if path else ""}";' for name, path in places.items()]
    made = folder / "apt.conf"
    made.write_text("\n".join([*lines, 'Dir::Etc::SourceList "/dev/null";', 'APT::Sandbox::User "";']) + "\n")
    done = subprocess.run(
        ["apt-get", "update", "-qq"], env={**_ENVIRONMENT, "APT_CONFIG": str(made)}, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"Debian's sources can't be fetched here: apt-get update: {done.stderr.decode(errors='replace').strip()}")
    return made


@pytest.fixture
def prepared(request: pytest.FixtureRequest, user_cache: Path, tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Makes a folder with the unpatched `tree` and the `patches` of a package, fetched if the user's cache does not have it."""
    cache = user_cache / "pq-corpus" / "deb"

    def prepare(row: dict[str, str]) -> Path:
        spec = f"{row['package']}={row['version']}"
        there = any((cache / spec.replace("=", "_").replace(":", "%")).glob("*.dsc"))
        environment = {**_ENVIRONMENT, "PQ_DEB_CACHE": str(cache)} | (
            {} if there else {"APT_CONFIG": str(request.getfixturevalue("apt"))}
        )
        command = ["python3", str(CORPUS / "debian.py"), "prepare", spec, str(tmp_path / "source")]
        done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
        if done.returncode:
            pytest.skip(f"{spec} can't be fetched here: {done.stderr.strip()}")
        return tmp_path / "source"

    return prepare


REFUSED = ("the result is not the file that its index line names", "says that a binary file changed, but not how")
"""What patch and quilt let pass, and pq does not (design, section 7): patches that were edited and keep the ids of what they were, and
binary files that are named and not there. None of these is among the packages that CI tries.
"""
ALL = [row for row in rows("debian.tsv") if row["rc"] == "0"]
SOME = [row for row in ALL if row["package"] in PACKAGES]


@pytest.mark.parametrize("row", ALL if EVERYTHING else SOME, ids=lambda row: row["package"])
def test_push_makes_the_tree_of_quilt_and_pop_the_original(
    row: dict[str, str], prepared: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    source = prepared(row)
    world = queue_on(tmp_path, source / "tree", source / "patches")
    assert tree_hash(world.checkout) == row["orig_sha256"]

    pushed = world.pq("push", "-a", *(["--fuzz", "2"] if int(row["fuzz"]) else []))
    made = tree_hash(world.checkout)
    popped = world.pq("pop", "-a")

    if row["package"] not in PACKAGES and any(reason in pushed.err for reason in REFUSED):
        assert (pushed.code, tree_hash(world.checkout)) == (1, row["orig_sha256"])
        return
    assert (pushed.code, pushed.err, popped.code) == (0, "", 0)
    assert pushed.out.count("Applying patch ") == int(row["applied"])
    assert made == row["tree_sha256"]
    assert tree_hash(world.checkout) == row["orig_sha256"]
    assert git(world.checkout, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize("row", [row for row in rows("debian.tsv") if row["package"] == "jhead"], ids=lambda row: row["package"])
def test_the_same_patches_with_p0(row: dict[str, str], prepared: Callable[[dict[str, str]], Path], tmp_path: Path) -> None:
    """No package of the table says -p0, so one is made to."""
    source = prepared(row)
    series = source / "patches" / "series"
    names = [line for line in series.read_text().splitlines() if line and not line.startswith("#")]
    for name in names:
        patch = source / "patches" / name
        patch.write_bytes(re.sub(rb"^(Index: |--- |\+\+\+ )[^/\s]+/", rb"\1", patch.read_bytes(), flags=re.MULTILINE))
    series.write_text("".join(f"{name} -p0\n" for name in names))

    world = queue_on(tmp_path, source / "tree", source / "patches")
    pushed = world.pq("push", "-a")

    assert (pushed.code, pushed.err) == (0, "")
    assert tree_hash(world.checkout) == row["tree_sha256"]


@pytest.mark.parametrize("row", ALL if EVERYTHING else SOME[::3], ids=lambda row: row["package"])
def test_refreshed_patches_are_read_by_quilt_and_git(
    row: dict[str, str], prepared: Callable[[dict[str, str]], Path], tmp_path: Path
) -> None:
    """Written anew, they say where they stand: quilt places them all without fuzz, and git apply takes those that pq has written."""
    source = prepared(row)
    plain = shutil.copytree(source / "tree", tmp_path / "plain", symlinks=True)
    world = queue_on(tmp_path, source / "tree", source / "patches")
    pushed = world.pq("push", "-a", "--fuzz", "2")
    assert pushed.code == 0 or any(reason in pushed.err for reason in REFUSED)
    applied = world.pq("applied").out.splitlines()
    before = {name: (world.queue / "patches" / name).read_bytes() for name in applied}
    for name in applied:
        assert world.pq("refresh", name).code == 0, name

    written = [name for name in applied if (world.queue / "patches" / name).read_bytes() != before[name]]
    (world.queue / "patches" / "series").write_text("".join(f"{name}\n" for name in applied))
    quilt = subprocess.run(
        ["quilt", "--quiltrc", "-", "push", str(len(applied)), "--fuzz=0"],
        cwd=plain,
        env={**_ENVIRONMENT, "QUILT_PATCHES": str(world.queue / "patches")},
        capture_output=True,
        check=False,
    )
    shutil.rmtree(plain / ".pc", ignore_errors=True)

    assert quilt.returncode == 0 or not applied, quilt.stdout[-500:] + quilt.stderr
    assert tree_hash(plain) == tree_hash(world.checkout)
    commits = git(world.checkout, "rev-list", "--reverse", "refs/pq/releases/v1..HEAD").split()
    for name, commit in zip(applied, commits, strict=True):
        if name in written:
            git(world.checkout, "read-tree", f"{commit}^")
            git(world.checkout, "apply", "--cached", str(world.queue / "patches" / name))
            assert git(world.checkout, "write-tree") == git(world.checkout, "rev-parse", f"{commit}^{{tree}}"), name
