"""Names as git and diff write them, and those that no patch may hold."""

from __future__ import annotations

import pytest

from pq.core import paths

QUOTED = {
    "plain": b"plain",
    "with space": b"with space",
    'quo"te': b'"quo\\"te"',
    "back\\slash": b'"back\\\\slash"',
    "a\nb\tc\rd\ae\bf\vg\fh": b'"a\\nb\\tc\\rd\\ae\\bf\\vg\\fh"',
    "\x01\x1b\x7f": b'"\\001\\033\\177"',
    "größe": b'"gr\\303\\266\\303\\237e"',
    "\udcff": b'"\\377"',
}


@pytest.mark.parametrize("path", QUOTED)
def test_quoting_is_git_s(path: str) -> None:
    quoted = QUOTED[path]

    assert paths.quote(path) == quoted
    assert paths.unquote(quoted) == (paths.raw(path), b"")


def test_what_stands_behind_a_quoted_name_is_kept_apart() -> None:
    assert paths.unquote(b'"a\\tb" "c"') == (b"a\tb", b' "c"')
    assert paths.unquote(b'a "b"') == (b'a "b"', b"")
    assert paths.unquote(b'"not closed') == (b'"not closed', b"")


@pytest.mark.parametrize(
    ("said", "by_git", "name"),
    [
        (b"a/f", False, b"a/f"),
        (b"a/f\t2024-02-29 12:00:00 +0100", False, b"a/f"),
        (b"a/f 2024-02-29 12:00:00.000000000 +0100", False, b"a/f"),
        (b"a/f (revision 3)", False, b"a/f"),
        (b"a/f  ", False, b"a/f"),
        (b"a/f  ", True, b"a/f  "),
        (b"a/with space\t", True, b"a/with space"),
        (b'"a/f\\t2024"', True, b"a/f\t2024"),
        (b'"a/f"\t2024-02-29', False, b"a/f"),
    ],
)
def test_the_name_behind_dashes(said: bytes, *, by_git: bool, name: bytes) -> None:
    assert paths.named(said, git=by_git) == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (b"a/f b/f", b"f"),
        (b"a/x y b/x y", b"x y"),
        (b"a/b/x b/b/x", b"b/x"),
        (b"a/x b/x b/x b/x", b"x b/x"),
        (b'"a/t\\tb" "b/t\\tb"', b"t\tb"),
        (b"a/f b/g", None),
        (b'"a/t\\tb" "b/u\\tb"', None),
        (b"a/f", None),
        (b"", None),
    ],
)
def test_the_name_that_diff_git_says_twice(said: bytes, name: bytes | None) -> None:
    assert paths.named_twice(said, 1) == name


@pytest.mark.parametrize(
    ("name", "level", "left"),
    [
        (b"a/b/c", 0, b"a/b/c"),
        (b"a/b/c", 1, b"b/c"),
        (b"a/b/c", 2, b"c"),
        (b"a/b/c", 3, None),
        (b"a//b", 1, b"b"),
        (b"/usr/f", 1, b"usr/f"),
        (b"/usr/f", 0, b"/usr/f"),
        (b"./f", 0, b"f"),
        (b"./a/./b//c", 1, b"a/b/c"),
        (b"f", 1, None),
        (b"a/", 1, None),
        (b".", 0, None),
        (b"", 0, None),
        (b"a/../f", 1, b"../f"),
    ],
)
def test_strip(name: bytes, level: int, left: bytes | None) -> None:
    """As patch(1) counts: a run of slashes once. `./` says nothing, `..` is left to be refused."""
    assert paths.strip(name, level) == left


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a\0b", "it holds a NUL byte"),
        ("/etc/passwd", "it is absolute"),
        ("..", "it leads out of the checkout"),
        ("a/../../b", "it leads out of the checkout"),
        ("a\\..\\b", "it leads out of the checkout"),
        ("", "it has an empty component"),
        ("a//b", "it has an empty component"),
        ("a/./b", "it has an empty component"),
        ("a/", "it has an empty component"),
        (".git/config", "it leads into git's own folder"),
        ("sub/.GiT", "it leads into git's own folder"),
        (".git .. /x", "it leads into git's own folder"),
        (".git:x\n", "it leads into git's own folder"),
        (".git\\hooks", "it leads into git's own folder"),
        ("GIT~1/x", "it leads into git's own folder"),
        (".g\u200ci\u202et\ufeff/x", "it leads into git's own folder"),
    ],
)
def test_what_no_patch_may_name(path: str, reason: str) -> None:
    """Law 9."""
    assert paths.fault(path) == reason


@pytest.mark.parametrize(
    "path",
    ["f", ".gitignore", ".github/x", "git", "a.git/x", "..f", "f..", "...", "git~", "with space", "new\nline", "größe", "\udcff"],
)
def test_what_a_patch_may_name(path: str) -> None:
    assert paths.fault(path) is None
