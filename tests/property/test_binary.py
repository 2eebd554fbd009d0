"""Binary hunks, with real git as witness."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pq.core import binary, patch_reader
from pq.core.lines import blob_id
from tests.property.texts import folders, git_diff, seldom

CONTENTS = st.one_of(st.binary(max_size=200), st.binary(max_size=3).map(lambda data: data * 3000))


@given(CONTENTS)
def test_what_is_encoded_is_decoded(content: bytes) -> None:
    first, *lines = binary.encode(content).split(b"\n")

    assert first == b"literal %d" % len(content)
    assert lines[-2:] == [b"", b""]
    assert binary.decode(literal=True, size=len(content), lines=lines[:-2]).apply(b"") == content


@given(st.binary(), st.lists(st.binary(max_size=60)), st.integers(0, 300), st.booleans())
def test_what_can_t_be_decoded_is_a_value_error(old: bytes, lines: list[bytes], size: int, literal: bool) -> None:
    try:
        hunk = binary.decode(literal=literal, size=size, lines=lines)
        hunk.apply(old)
    except ValueError:
        return


@given(st.binary(), st.binary())
def test_a_delta_is_applied_or_a_value_error(delta: bytes, old: bytes) -> None:
    try:
        binary.BinaryHunk(literal=False, payload=bytes([min(len(old), 127)]) + delta).apply(old)
    except ValueError:
        return


@seldom(25)
@given(st.lists(CONTENTS, min_size=20, max_size=40))
def test_git_takes_what_is_encoded(contents: list[bytes]) -> None:
    """Law 7: others' tools read what pq writes."""
    patch = b"".join(
        b"diff --git a/%03d b/%03d\nnew file mode 100644\nindex %040d..%s\nGIT binary patch\n"
        % (number, number, 0, blob_id(content).encode())
        + binary.encode(content)
        + binary.encode(b"")
        for number, content in enumerate(contents)
    )

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, capture_output=True, check=True)

        assert [place.read_bytes() for place in sorted(Path(folder).iterdir())] == contents


@st.composite
def _versions(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two contents that git takes for binary; long ones are near enough for a delta."""
    old = b"\0" + draw(st.binary(max_size=40)) + bytes(range(256)) * draw(st.sampled_from([0, 8, 300]))
    start = draw(st.integers(0, len(old)))
    return old, old[:start] + draw(st.binary(min_size=1, max_size=8)) + b"\0" + old[start + draw(st.integers(0, 9)) :]


@seldom(25)
@given(st.lists(_versions(), min_size=20, max_size=40))
def test_what_git_writes_is_applied_both_ways(pairs: list[tuple[bytes, bytes]]) -> None:
    pairs = [(old, new) for old, new in pairs if old != new]
    with folders([old for old, _ in pairs], [new for _, new in pairs]) as (root, _):
        patch = patch_reader.read(git_diff(root, "--binary"), file="x.patch", strip=2)

    assert len(patch.files) == len(pairs)
    for file, (old, new) in zip(patch.files, pairs, strict=True):
        assert file.binary is not None
        assert file.binary.backward is not None
        assert file.binary.forward.apply(old) == new
        assert file.binary.backward.apply(new) == old
