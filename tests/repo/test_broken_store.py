"""What pq keeps in git, broken by somebody else: said in a line, with the way out."""

from __future__ import annotations

import pytest

from tests.conftest import World, git


@pytest.mark.parametrize("name", ["pq/operations/v1", "pq/stopped/v1", "pq/known/v1", "heads/pq/v1"])
@pytest.mark.parametrize("text", [b"ref: \xff\xfe\n", b"\xff" * 40 + b"\n", b"", b"{tree}\n", b"{release}\n"])
def test_a_ref_that_leads_elsewhere_is_said(stacked: World, name: str, text: bytes) -> None:
    assert stacked.pq("push").code == 0
    place = stacked.checkout / ".git" / "refs" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    for key, spec in ((b"{tree}", "HEAD^{tree}"), (b"{release}", "refs/pq/releases/v1")):
        text = text.replace(key, git(stacked.checkout, "rev-parse", spec).strip().encode())
    place.write_bytes(text)

    for words in (("status",), ("push",), ("undo",), ("log",), ("continue",)):
        said = stacked.pq(*words)
        assert said.code in (0, 1, 2, 5), (words, said)
        assert said.code in (0, 2) or "hint: " in said.err, (words, said)


def test_a_finding_that_is_nested_without_end_is_none(stacked: World) -> None:
    hook = stacked.queue / "hooks" / "pre-apply"
    hook.write_text(f"#!/bin/sh\nprintf 'finding\\tone.patch\\t%s\\nreject\\tone.patch\\tno\\n' '{'[' * 5000}'\nexit 1\n")

    assert "Patch one.patch is rejected" in stacked.pq("push").err
