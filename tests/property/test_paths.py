"""Names, with real git as witness."""

from __future__ import annotations

import os.path
import subprocess
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from pq.core import paths
from tests.property.texts import seldom

NAMES = st.binary(min_size=1, max_size=8).filter(lambda name: not set(name) & set(b"\0/"))
PATHS = st.lists(st.one_of(NAMES, st.sampled_from([b"..", b".", b"", b".git", b".GIT"])), min_size=1, max_size=4).map(b"/".join)
EMPTY = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@given(st.binary())
def test_what_is_quoted_is_unquoted(name: bytes) -> None:
    path = paths.text(name)

    assert paths.raw(path) == name
    assert paths.unquote(paths.quote(path)) == (name, b"")
    assert paths.named(paths.quote(path) + b"\t", git=True) == name or b"\t" not in paths.quote(path)


@given(st.binary())
def test_any_name_is_unquoted_and_stripped(name: bytes) -> None:
    paths.named(paths.unquote(name)[0], git=False)
    paths.named_twice(name, 1)
    stripped = paths.strip(name, 1)

    assert stripped is None or (stripped and b"//" not in stripped)


@seldom(25)
@given(st.lists(NAMES.filter(lambda name: paths.fault(paths.text(name)) is None), min_size=20, max_size=40, unique=True))
def test_git_quotes_the_same(names: list[bytes]) -> None:
    index = b"".join(b"100644 %s\t%s\0" % (EMPTY, name) for name in names)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "update-index", "-z", "--index-info"], cwd=folder, input=index, check=True)
        listed = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, check=True).stdout

    assert listed == b"".join(paths.quote(paths.text(name)) + b"\n" for name in sorted(names))


@given(PATHS)
def test_what_is_let_through_stays_inside(name: bytes) -> None:
    """Law 9: no patch writes outside the checkout or into `.git`."""
    path = paths.text(name)
    if paths.fault(path) is not None:
        return

    assert os.path.normpath(f"/checkout/{path}") == f"/checkout/{path}"
    assert ".git" not in path.lower().split("/")


@st.composite
def _like_dot_git(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from([".git", ".GIT", ".Git", "git~1", "GIT~1"]))
    for unseen in draw(st.lists(st.sampled_from("\u200c\u200d\u200e\u200f\u202a\u202e\u206a\u206f\ufeff\u2060"), max_size=2)):
        at = draw(st.integers(0, len(name)))
        name = name[:at] + unseen + name[at:]
    return name + draw(st.sampled_from(["", " ", ".", " . ", ":", "::$INDEX_ALLOCATION", ".x", "x", "\\x"]))


@seldom(2)
@given(st.lists(st.one_of(_like_dot_git(), st.sampled_from(["a", "..", "."])), min_size=1, max_size=3).map("/".join))
def test_what_git_refuses_is_refused(path: str) -> None:
    """git on all systems at once: HFS+ leaves code points out of names, NTFS blanks, dots and streams."""
    words = [
        "git",
        "-c",
        "core.protectHFS=true",
        "-c",
        "core.protectNTFS=true",
        "update-index",
        "--add",
        "--cacheinfo",
        f"100644,{EMPTY.decode()},{path}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        done = subprocess.run(words, cwd=folder, capture_output=True, check=False)

    assert done.returncode == 0 or paths.fault(path) is not None
