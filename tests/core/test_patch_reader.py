"""What people have is read, and all else is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pq.core import patch_reader
from pq.core.patch import Action, FilePatch, Patch
from pq.errors import ParseError
from tests.core.diffs import by_git, only

BODY = b"@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
NAMES = b"--- a/f\n+++ b/f\n"
PLAIN = NAMES + BODY
LINES = ((b" ", b"one\n"), (b"-", b"two\n"), (b"+", b"TWO\n"), (b" ", b"three\n"))

ODD_NAMES = (
    "with space",
    'quo"te',
    "new\nline",
    "tab\there",
    "back\\slash",
    "größe",
    "\udcff\udcfe raw",
    " lead",
    "b/x b/x",
    "trail ",
)


def _read(data: bytes, *, strip: int = 1) -> Patch:
    return patch_reader.read(data, file="x.patch", strip=strip)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FilePatch]:
    """What real git says of every kind of change, by path afterwards."""
    noise = bytes(range(256)) * 40
    ten = b"".join(b"line %d\n" % n for n in range(10))
    odd: dict[str, bytes | str] = dict.fromkeys(ODD_NAMES, b"1\n")
    before: dict[str, bytes | str] = {
        "mode": ten, "rename me": b"r\n" + ten, "copied": b"c\n" + ten, "both": b"b\n" + ten, "goes": b"bye\n",
        "link": "old target", "noise": noise, "pixel": b"\0\1\2", "cut": b"a\nb", "latin": "gr\xfc\xdfe\n".encode("latin-1"), "crlf": b"a\r\nb\r\n",
    }  # fmt: skip
    after: dict[str, bytes | str] = {
        "mode*": ten, "renamed": b"r\n" + ten, "copied": b"c\n" + ten, "copy": b"c\n" + ten, "both2*": b"B\n" + ten, "new": b"n\n", "new empty": b"",
        "new link": "somewhere", "new script*": b"#!\n", "link": "new target", "noise": noise[:3000] + b"!" + noise[3000:], "pixel": b"\0\1\3",
        "cut": b"a\nB", "latin": "gr\xfc\xdfer\n".encode("latin-1"), "crlf": b"a\r\nB\r\n",
    }  # fmt: skip
    patch = by_git(tmp_path_factory.mktemp("made"), before | odd, after | dict.fromkeys(odd, b"2\n"))
    return {file.path: file for file in _read(patch).files}


# -- what git writes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_is_read_as_git_writes_it(made: dict[str, FilePatch], name: str) -> None:
    file = made[name]

    assert (file.action, file.old_path, file.new_path) == (Action.MODIFY, name, name)
    assert file.hunks[0].lines == ((b"-", b"1\n"), (b"+", b"2\n"))


@pytest.mark.parametrize(
    ("path", "action", "old_path", "modes"),
    [
        ("mode", Action.MODIFY, "mode", (0o100644, 0o100755)),
        ("renamed", Action.RENAME, "rename me", (None, None)),
        ("copy", Action.COPY, "copied", (None, None)),
        ("new empty", Action.CREATE, None, (None, 0o100644)),
    ],
)
def test_a_change_without_hunks(
    made: dict[str, FilePatch], path: str, action: Action, old_path: str, modes: tuple[int | None, int | None]
) -> None:
    """M5: mode-only and rename-only patches are changes, not "nothing in patch"."""
    file = made[path]

    assert (file.action, file.old_path, file.hunks, file.binary) == (action, old_path, (), None)
    assert (file.old_mode, file.new_mode) == modes


def test_a_rename_with_another_mode_and_an_edit(made: dict[str, FilePatch]) -> None:
    file = made["both2"]

    assert (file.action, file.old_path, file.new_path) == (Action.RENAME, "both", "both2")
    assert (file.old_mode, file.new_mode) == (0o100644, 0o100755)
    assert file.hunks[0].lines[:2] == ((b"-", b"b\n"), (b"+", b"B\n"))


def test_files_come_go_and_are_links(made: dict[str, FilePatch]) -> None:
    assert (made["new"].action, made["new"].old_path, made["new"].new_mode) == (Action.CREATE, None, 0o100644)
    assert made["new script"].new_mode == 0o100755
    assert (made["goes"].action, made["goes"].new_path, made["goes"].hunks[0].new) == (Action.DELETE, None, ())
    assert (made["new link"].new_mode, made["new link"].hunks[0].new) == (0o120000, (b"somewhere",))
    assert (made["link"].old_mode, made["link"].hunks[0].lines) == (0o120000, ((b"-", b"old target"), (b"+", b"new target")))


def test_bytes_pass_through(made: dict[str, FilePatch]) -> None:
    assert made["latin"].hunks[0].lines == ((b"-", b"gr\xfc\xdfe\n"), (b"+", b"gr\xfc\xdfer\n"))
    assert made["crlf"].hunks[0].lines == ((b" ", b"a\r\n"), (b"-", b"b\r\n"), (b"+", b"B\r\n"))
    assert made["cut"].hunks[0].lines == ((b" ", b"a\n"), (b"-", b"b"), (b"+", b"B"))
    assert not made["crlf"].crlf


def test_binary_hunks_both_ways(made: dict[str, FilePatch]) -> None:
    """M6: quilt refuses them."""
    delta, literal = made["noise"].binary, made["pixel"].binary

    assert delta is not None
    assert literal is not None
    assert literal.backward is not None
    assert (delta.forward.literal, literal.forward.literal) == (False, True)
    noise = bytes(range(256)) * 40
    assert delta.forward.apply(noise) == noise[:3000] + b"!" + noise[3000:]
    assert (literal.forward.apply(b"\0\1\2"), literal.backward.apply(b"\0\1\3")) == (b"\0\1\3", b"\0\1\2")


# -- what others write ----------------------------------------------------------------------------------------------

STAMP = b"2024-02-29 12:00:00.000000000 +0100"
FOREIGN = {
    "plain": PLAIN,
    "no a/ and b/": b"--- old/f\n+++ new/f\n" + BODY,
    "Index: line": b"Index: f\n" + b"=" * 67 + b"\n" + PLAIN,
    "diff -u line": b"diff -ruN a/f b/f\n" + PLAIN,
    "stamps": b"--- a/f\t%s\n+++ b/f\t%s\n" % (STAMP, STAMP) + BODY,
    "stamps without a tab": b"--- a/f  %s\n+++ b/f  %s\n" % (STAMP, STAMP) + BODY,
    "svn": b"Index: f\n" + b"=" * 67 + b"\n--- x/f\t(revision 3)\n+++ x/f\t(working copy)\n" + BODY,
    "stamps under diff --git": b"diff --git a/f b/f\n--- a/f\t%s\n+++ b/f\t%s\n" % (STAMP, STAMP) + BODY,
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "stripped context": NAMES + b"@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n\n\n",
    "stripped context, CRLF": (NAMES + b"@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n\n").replace(b"\n", b"\r\n"),
    "trimmed context": NAMES + b"@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n",
    "no newline at the end": PLAIN[:-1],
    "other names in diff --git": b"diff --git a/g b/g\n" + PLAIN,
    "section behind @@": NAMES + BODY.replace(b"@@\n", b"@@ def f(x):\r\x1c\n"),
    "prose around it": b"Why.\n\n" + PLAIN + b"-- \n2.39.5\n\nAnd more.\n",
    "one context line too many": PLAIN + b" four\n",
    "prose right before it": b"Why.\n" + PLAIN,
    "./ in names": b"--- a/./f\n+++ b/.//f\n" + BODY,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_forms_are_read(name: str) -> None:
    """M13, M16 and the list of design, section 5: libgit2 or unidiff refuse most of these. W22: `---` right behind prose."""
    file = only(FOREIGN[name])

    assert (file.action, file.old_path, file.new_path) == (Action.MODIFY, "f", "f")
    assert [(mark, text.replace(b"\r\n", b"\n")) for mark, text in file.hunks[0].lines[:4]] == list(LINES)
    assert set(file.hunks[0].lines[4:]) <= {(b" ", b"\n"), (b" ", b"\r\n")}


def test_a_patch_keeps_its_bytes_and_its_header() -> None:
    """Law 10, and M16: the text before the first file and the signature stay."""
    data = b"Subject: x\n\nWhy.\n---\n f | 2 +-\n\nIndex: f\n" + b"=" * 67 + b"\n" + PLAIN + b"-- \n2.39.5\n"

    patch = _read(data)

    assert patch.raw == data
    assert patch.header == b"Subject: x\n\nWhy.\n---\n f | 2 +-\n\n"
    assert [(file.line, [(hunk.number, hunk.line) for hunk in file.hunks]) for file in patch.files] == [(9, [(1, 11)])]


def test_a_crlf_patch() -> None:
    """W14, M16: its header lines are read without CR, its hunks keep theirs, and a line without a newline has none."""
    data = (NAMES + b"@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+TWO\n\\ No newline at end of file\n").replace(
        b"\n", b"\r\n"
    )

    file = only(data)

    assert (file.path, file.crlf) == ("f", True)
    assert file.hunks[0].lines == ((b" ", b"one\r\n"), (b"-", b"two"), (b"+", b"TWO"))
    assert file.without_cr().hunks[0].lines == ((b" ", b"one\n"), (b"-", b"two"), (b"+", b"TWO"))


def test_only_lf_ends_a_line() -> None:
    """W47: a lone CR, an ESC, a form feed and U+0085 are content."""
    odd = b"a\rb\x1b\x0c\x0b\x1c\x85\xe2\x80\xa8\0c\n"

    file = only(NAMES + b"@@ -1 +1 @@\n-" + odd + b"+" + odd[::-1][1:] + b"\n")

    assert file.hunks[0].old == (odd,)


def test_prose_may_look_like_a_diff() -> None:
    """M17: a line `---`, a line that begins with `diff --git`, and a quoted hunk are prose."""
    prose = b"Subject: x\n\ndiff --git is what git writes.\n---\n@@ -1 +1 @@ means line 1.\n+ good\n- bad\nFrom abc text\n"
    prose += b"*** stars\n> a quote\n--- dashes\n12a13\n\n"

    patch = _read(prose + PLAIN)

    assert (patch.header, len(patch.files)) == (prose, 1)


@pytest.mark.parametrize("data", [b"", b"---\n", b"Only prose.\n", b"---\n f | 2 +-\n", b"\xff\xfe\n"])
def test_a_patch_of_prose_alone_has_no_files(data: bytes) -> None:
    """W57: an empty patch is one. W46: undecodable bytes, and a patch made only of `---`."""
    assert _read(data) == Patch(data, data, ())


@pytest.mark.parametrize(
    ("names", "hunk", "action"),
    [
        (b"--- /dev/null\n+++ b/f\n", b"@@ -0,0 +1 @@\n+x\n", Action.CREATE),
        (b"--- a/f\t1970-01-01 00:00:00.000000000 +0000\n+++ b/f\n", b"@@ -0,0 +1 @@\n+x\n", Action.CREATE),
        (b"--- a/f\n+++ /dev/null\n", b"@@ -1 +0,0 @@\n-x\n", Action.DELETE),
        (b"--- a/f\n+++ b/f\t1970-01-01 00:00:00.000000000 +0000\n", b"@@ -1 +0,0 @@\n-x\n", Action.DELETE),
        (NAMES, b"@@ -5,0 +6 @@\n+x\n", Action.MODIFY),
        (NAMES, b"@@ -5 +4,0 @@\n-x\n", Action.MODIFY),
        (b"diff --git a/f b/f\n" + NAMES, b"@@ -0,0 +1 @@\n+x\n", Action.MODIFY),
    ],
)
def test_whether_a_file_comes_or_goes(names: bytes, hunk: bytes, action: Action) -> None:
    """Without git, the @@ line says it; a hunk without context in the middle of a file says nothing of the kind."""
    file = only(names + hunk)

    assert (file.action, file.path) == (action, "f")


def test_a_short_or_empty_id_is_none() -> None:
    long = only(b"diff --git a/f b/f\nindex 1234567..89abcde 100755\n" + PLAIN)
    short = only(b"diff --git a/f b/f\nindex 12345..00000 100755\n" + PLAIN)

    assert (long.old_id, long.new_id, long.new_mode) == ("1234567", "89abcde", 0o100755)
    assert (short.old_id, short.new_id, short.new_mode) == ("", "", 0o100755)


@pytest.mark.parametrize(
    ("strip", "names", "path"),
    [
        (0, b"--- f/g\n+++ f/g\n", "f/g"),
        (2, b"--- a/b/f\n+++ a/b/f\n", "f"),
        (1, b"--- /etc/f\n+++ /etc/f\n", "etc/f"),
        (0, b"--- ./f\n+++ ./f\n", "f"),
    ],
)
def test_the_strip_level(strip: int, names: bytes, path: str) -> None:
    (file,) = _read(names + BODY, strip=strip).files

    assert (file.old_path, file.new_path) == (path, path)


def test_two_names_are_both_kept() -> None:
    """W72: of `f.orig` and `f`, the one that exists is meant."""
    file = only(b"--- a/f.orig\n+++ b/f\n" + BODY)

    assert (file.old_path, file.new_path, file.path) == ("f.orig", "f", "f")


# -- what can't be read ---------------------------------------------------------------------------------------------

GIT = b"diff --git a/f b/f\n"
BROKEN = {
    "cut in the hunk": (PLAIN[:-12], 3, None, "the hunk is cut: 1 old and 2 new lines"),
    "cut behind @@": (NAMES + b"@@ -1,3 +1,3 @@\n", 3, None, "the hunk is cut"),
    "cut before the change": (NAMES + b"@@ -1,3 +1,3 @@\n one\n", 3, None, "the hunk is cut"),
    "cut behind the names": (NAMES, 2, None, "expected a hunk"),
    "cut behind ---": (PLAIN + b"Index: g\n--- a/g\n", 9, None, "nothing follows"),
    "cut behind diff --git": (PLAIN + b"-- \ndiff --git a/g b/g\n", 9, None, "nothing follows"),
    "cut behind index": (GIT + b"index 1234567..89abcde 100644\n", 1, None, "its hunks are missing"),
    "cut behind git's ---": (GIT + b"index 1234567..89abcde\n--- a/f\n", 3, None, "expected a +++ line"),
    "new file cut": (GIT + b"new file mode 100644\nindex 0000000..89abcde\n", 1, None, "its hunks are missing"),
    "rename cut": (GIT + b"rename from f\nrename to g\nindex 1234567..89abcde\n", 1, None, "its hunks are missing"),
    "mode cut": (GIT + b"old mode 100644\nnew mode 100755\nindex 1234567..89abcde\n", 1, None, "its hunks are missing"),
    "count too high": (PLAIN.replace(b"1,3 +1,3", b"1,4 +1,4") + b"-- \n2.39\n", 9, 1, "expected a line that begins with"),
    "count too low": (NAMES + b"@@ -1,2 +1 @@\n one\n+TWO\n-two\n", 5, 1, "one line more than"),
    "old count too low": (NAMES + b"@@ -1 +1 @@\n-a\n+b\n-c\n", 6, 1, "the hunk above is complete"),
    "new count too low": (NAMES + b"@@ -1 +1 @@\n-a\n+b\n+c\n", 6, 1, "the hunk above is complete"),
    "a removed line that begins with --": (NAMES + b"@@ -1 +1 @@\n-a\n+b\n--- c\n", 6, 1, "the hunk above is complete"),
    "a change behind uncounted context": (NAMES + b"@@ -1 +1 @@\n-a\n+b\n c\n-d\n", 7, 1, "the hunk above is complete"),
    "garbage in the hunk": (NAMES + b"@@ -1,3 +1,3 @@\n one\n*two\n", 5, 1, "expected a line that begins with"),
    "garbage instead of a hunk": (NAMES + b"garbage\n", 3, None, "expected a hunk"),
    "garbage behind @@": (NAMES + b"@@ -a +b @@\n", 3, 1, "expected @@ -START"),
    "a combined diff": (NAMES + b"@@@ -1 -1 +1 @@@\n--a\n++b\n", 3, 1, "expected @@ -START"),
    "a number without end": (NAMES + b"@@ -" + b"9" * 5000 + b" +1 @@\n-a\n+b\n", 3, 1, "expected @@ -START"),
    "a hunk of nothing": (NAMES + b"@@ -1,0 +1,0 @@\n", 3, None, "a hunk of no lines"),
    "a hunk without names": (PLAIN + b"Index: g\n@@ -1 +1 @@\n-a\n+b\n", 9, None, "a hunk without a file above it"),
    "+++ without ---": (b"+++ b/f\n" + BODY + PLAIN, 2, None, "a hunk without a file above it"),
    "--- without +++": (b"--- a/f\n" + BODY, 2, None, "a hunk without a file above it"),
    "a first file without names": (GIT + BODY + PLAIN, 2, None, "a hunk without a file above it"),
    "a lone backslash line": (NAMES + b"@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", 4, 1, "no line above this one"),
    "two backslash lines": (NAMES + b"@@ -1 +1 @@\n-a\n\\ No\n\\ No\n+b\n", 6, 1, "no line above this one"),
    "a line behind the last one": (NAMES + b"@@ -1,2 +1 @@\n-a\n\\ No\n-b\n+c\n", 6, 1, "a line behind the last one"),
    "a context line behind the last one": (NAMES + b"@@ -1,2 +1,2 @@\n-a\n+b\n\\ No\n c\n", 7, 1, "a line behind the last one"),
    "an empty name from difflib": (b"--- \n+++ \n" + BODY, 1, None, "no file name is left after -p1"),
    "two /dev/null": (b"--- /dev/null\n+++ /dev/null\n" + BODY, 1, None, "can't both create and delete"),
    "new and renamed": (GIT + b"new file mode 100644\nrename from f\nrename to g\n", 1, None, "can't both create and rename"),
    "half a rename": (b"diff --git a/f b/g\nrename to g\n", 1, None, "a rename needs both"),
    "half a copy": (b"diff --git a/f b/g\ncopy from g\n", 1, None, "a copy needs both"),
    "two names and a mode": (
        b"diff --git a/f b/g\nold mode 100644\nnew mode 100755\n",
        1,
        None,
        "does not name one file with -p1",
    ),
    "a mode that is no number": (GIT + b"old mode 100abc\nnew mode 100755\n", 1, None, "mode 100abc can't be patched"),
    "a folder": (GIT + b"old mode 100644\nnew mode 040000\n", 1, None, "mode 040000 can't be patched"),
    "a submodule": (GIT + b"index 1234567..89abcde 160000\n" + PLAIN, 1, None, "a submodule can't be patched"),
    "a context diff": (b"*** a/f\n--- b/f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", 1, None, "a context diff"),
    "a context diff behind a unified one": (PLAIN + b"*** a/g\n--- b/g\n***************\n", 8, None, "a context diff"),
    "a normal diff": (b"2c2\n< two\n---\n> TWO\n", 1, None, "a diff without names and context"),
    "binary files differ, git": (GIT + b"index 1234567..89abcde 100644\nBinary files a/f and b/f differ\n", 3, None, "not how"),
    "binary files differ, plain": (PLAIN + b"Binary files a/g and b/g differ\n", 8, None, "not how"),
    "binary files differ, first": (b"Binary files a/g and b/g differ\n" + PLAIN, 1, None, "not how"),
    "binary files differ, svn": (b"=======\nCannot display: file marked as a binary type.\n" + PLAIN, 2, None, "not how"),
    "no size": (GIT + b"GIT binary patch\nfoo\n", 3, None, "expected literal SIZE or delta SIZE"),
    "a size without end": (
        GIT + b"GIT binary patch\nliteral " + b"9" * 30 + b"\n",
        3,
        None,
        "expected literal SIZE or delta SIZE",
    ),
    "broken binary": (GIT + b"GIT binary patch\nliteral 1\nB????\n\n", 3, None, "a broken binary hunk"),
    "cut binary": (GIT + b"GIT binary patch\nliteral 9\n", 3, None, "a broken binary hunk"),
    "UTF-16": (PLAIN.decode().encode("utf-16"), 1, None, "it holds a NUL byte"),
    "an encoded mail": (
        b"Subject: x\nContent-Transfer-Encoding: base64\n\nLS0tIGEvZgo=\n",
        2,
        None,
        "a mail whose text is encoded",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_with_its_place(name: str) -> None:
    """W7, W46, W49, M13: before anything is touched, with file, line and column; nothing is passed over as prose."""
    data, line, column, fact = BROKEN[name]

    with pytest.raises(ParseError) as caught:
        _read(data)

    assert fact in caught.value.fact
    assert (caught.value.file, caught.value.line, caught.value.column) == ("x.patch", line, column)
    assert caught.value.text == data.split(b"\n")[line - 1].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "name",
    [
        "../f",
        "x/../../f",
        "/f",
        ".git/config",
        "x/.GIT/hooks/y",
        ".git./x",
        ".git::$INDEX_ALLOCATION/x",
        "git~1/x",
        ".g\u200cit/x",
        "x\\..\\y",
    ],
)
@pytest.mark.parametrize("side", ["old", "new", "rename", "mode", "quoted"])
def test_no_patch_leads_out(name: str, side: str) -> None:
    """Law 9, and M16: unidiff takes `a/../evil`."""
    said = name.encode()
    escaped = b"".join(b"\\%03o" % byte for byte in said)
    data = {
        "old": b"--- a/%s\n+++ b/f\n" % said + BODY,
        "new": b"--- a/f\n+++ b/%s\n" % said + BODY,
        "rename": b"diff --git a/f b/%s\nrename from f\nrename to %s\n" % (said, said),
        "mode": b"diff --git a/%s b/%s\nold mode 100644\nnew mode 100755\n" % (said, said),
        "quoted": b'--- "a/%s"\n+++ "b/%s"\n' % (escaped, escaped) + BODY,
    }[side]
    if name == "/f":
        data = data.replace(b"a/" + (escaped if side == "quoted" else said), said).replace(b"b//f", said)

    with pytest.raises(ParseError, match="a patch may not name"):
        _read(data, strip=0 if name == "/f" else 1)


def test_a_nul_in_a_name_is_refused() -> None:
    with pytest.raises(ParseError, match="it holds a NUL byte"):
        _read(b'--- "a/f\\000"\n+++ "b/f\\000"\n' + BODY)


def test_an_empty_file_that_goes(tmp_path: Path) -> None:
    (file,) = _read(by_git(tmp_path, {"f": b"", "other": b"x\n"}, {"other": b"x\n"})).files

    assert (file.action, file.path, file.old_mode, file.hunks) == (Action.DELETE, "f", 0o100644, ())


def test_a_patch_of_one_file_by_two_sections(tmp_path: Path) -> None:
    """git writes a file that becomes a link as one that goes and one that comes."""
    patch = _read(by_git(tmp_path, {"f": b"x\n"}, {"f": "target"}))

    assert [(file.action, file.path, file.old_mode, file.new_mode) for file in patch.files] == [
        (Action.DELETE, "f", 0o100644, None),
        (Action.CREATE, "f", None, 0o120000),
    ]
