"""A patch is read whole, or ParseError says where not."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pq.core import header, patch_reader, paths
from pq.core.lines import blob_id
from pq.core.patch import Action
from pq.core.place import place
from pq.core.placement import How, Placed
from pq.errors import ParseError
from tests.core.diffs import plain, recorded
from tests.core.test_patch_reader import BROKEN, FOREIGN, PLAIN
from tests.property.texts import look_alikes, near, odd

PARTS = [
    b"diff --git a/f b/f\n", b'diff --git "a/\\001" "b/\\001"\n', b"index 1234567..89abcde 100644\n", b"index 0000000..e69de29\n", b"new file mode 100644\n",
    b"deleted file mode 100755\n", b"old mode 100644\n", b"new mode 120000\n", b"rename from f\n", b"rename to g\n", b"copy from f\n", b"copy to h\n",
    b"similarity index 90%\n", b"--- a/f\n", b"+++ b/f\n", b"--- /dev/null\n", b"+++ /dev/null\n", b"+++ ../f\n", b"@@ -1 +1 @@\n", b"@@ -1,2 +1,2 @@ x\n",
    b"@@ -0,0 +1 @@\n", b"@@ -9,0 +10,0 @@\n", b" a\n", b"-a\n", b"+b\n", b"\n", b"\\ No newline at end of file\n", b"GIT binary patch\n", b"literal 0\n",
    b"HcmV?d00001\n", b"delta 4\n", b"Index: f\n", b"===================\n", b"-- \n", b"2.39\n", b"Binary files a/f and b/f differ\n", b"prose\n", b"-", b"+", b"\r",
]  # fmt: skip


def _check(data: bytes) -> None:
    """What holds for all that is read."""
    patch = patch_reader.read(data, file="x.patch")
    assert patch.raw == data
    assert data.startswith(patch.header)
    for file in patch.files:
        assert {paths.fault(path) for path in (file.old_path, file.new_path) if path is not None} == {None}
        assert [hunk.number for hunk in file.hunks] == list(range(1, len(file.hunks) + 1))
        assert all(data.split(b"\n")[hunk.line - 1].startswith((b"@@ ", b"\xef\xbb\xbf@@")) for hunk in file.hunks)
        assert all(text.count(b"\n") == text.endswith(b"\n") for hunk in file.hunks for _, text in hunk.lines)
    header.read(patch.header)


@given(st.one_of(st.binary(), st.lists(st.sampled_from(PARTS), max_size=16).map(b"".join)))
def test_anything_is_read_or_a_parse_error(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        _check(data)


@st.composite
def _mutated(draw: st.DrawFn, patches: st.SearchStrategy[bytes]) -> bytes:
    lines = draw(patches).split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["delete", "double", "swap", "alter", "insert", "mark"]))
        if what == "delete":
            del lines[at : at + draw(st.integers(1, 3))]
        elif what == "double":
            lines.insert(at, lines[at])
        elif what == "swap":
            lines[at], lines[-at] = lines[-at], lines[at]
        elif what == "alter":
            cut = draw(st.integers(0, len(lines[at])))
            lines[at] = (
                lines[at][:cut]
                + draw(st.sampled_from([b"", b"0", b"9", b"\0", b"\xff", b"-", b'"', b"\\", b" "]))
                + lines[at][cut + 1 :]
            )
        elif what == "mark":
            lines[at] = draw(st.sampled_from([b" ", b"+", b"-", b"\\ ", b""])) + lines[at][1:]
        else:
            lines.insert(at, draw(st.sampled_from(PARTS)).rstrip(b"\n"))
        lines = lines or [b""]
    return b"\n".join(lines)


@given(_mutated(st.sampled_from([PLAIN, *FOREIGN.values(), *(broken[0] for broken in BROKEN.values())])))
def test_a_spoilt_patch_is_read_or_a_parse_error(data: bytes) -> None:
    with contextlib.suppress(ParseError):
        _check(data)


@given(near(odd()), st.data())
def test_a_spoilt_patch_makes_the_recorded_file_or_none(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    """Law 8: on the very file that it names, whatever happened to its lines."""
    old, new = pair
    patch = recorded(old, new)
    ids = (blob_id(old), blob_id(new))
    spoilt = data.draw(_mutated(st.just(patch)))
    with contextlib.suppress(ParseError):
        for file in patch_reader.read(spoilt, file="x.patch").files:
            if (file.old_id, file.new_id) != ids or file.action is Action.CREATE:
                continue

            found = place(file, old)

            assert not isinstance(found, Placed) or (found.how, found.content) == (How.RECORDED, new)


@given(near(look_alikes()), st.integers(0, 3), st.data())
def test_a_patch_cut_anywhere_makes_the_recorded_file_or_none(
    pair: tuple[bytes, bytes], context: int, data: st.DataObject
) -> None:
    old, new = pair
    patch = recorded(old, new, context=context)
    cut = patch[: data.draw(st.integers(0, len(patch)))]
    with contextlib.suppress(ParseError):
        for file in patch_reader.read(cut, file="x.patch").files:
            assert file.hunks

            found = place(file, old)

            assert not isinstance(found, Placed) or found.content == new or not file.new_id


@given(st.lists(near(odd()), min_size=1, max_size=4), st.integers(0, 3))
def test_what_diff_writes_is_read(pairs: Sequence[tuple[bytes, bytes]], context: int) -> None:
    """Law 10, and every line as it was."""
    data = b"Why.\n\n" + b"".join(plain(old, new, context=context) for old, new in pairs)

    patch = patch_reader.read(data, file="x.patch")

    assert (patch.raw, len(patch.files)) == (data, sum(old != new for old, new in pairs))
    if context == 3 and len(patch.files) == 1:
        ((old, new),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert all(b"".join(hunk.old) in old for hunk in patch.files[0].hunks)
        assert all(b"".join(hunk.new) in new for hunk in patch.files[0].hunks)


@given(
    st.one_of(
        st.binary(),
        st.lists(
            st.sampled_from(
                [
                    b"From: ",
                    b"Date: ",
                    b"Subject: ",
                    b"Description: ",
                    b"=?utf-8?q?",
                    b"?=",
                    b"=?b?",
                    b"\n",
                    b"\n ",
                    b" ",
                    b"<",
                    b"@",
                    b">",
                    b"\xff",
                    b"x",
                    b"9",
                    b",",
                    b"---\n",
                    b"\0",
                    b"(",
                    b'"',
                ]
            )
        ).map(b"".join),
    )
)
def test_a_header_is_always_read(data: bytes) -> None:
    said = header.read(data)

    for text in (said.name or "", said.address, said.message):
        text.encode("utf-8", "surrogateescape")
    assert said.date is None or said.date[0] >= 0
