"""Lines and ids, as git has them."""

from __future__ import annotations

from pq.core.lines import blob_id, is_blob, split_lines, telling_id


def test_only_lf_ends_a_line() -> None:
    """W47."""
    assert split_lines(b"a\rb\x0c\x0bc\x85\r\n\nlast") == (b"a\rb\x0c\x0bc\x85\r\n", b"\n", b"last")
    assert split_lines(b"") == ()
    assert split_lines(b"\n") == (b"\n",)


def test_an_id_names_a_content() -> None:
    whole = "ce013625030ba8dba906f756967f9e9ca394464a"  # echo hello | git hash-object --stdin

    assert blob_id(b"hello\n") == whole
    assert is_blob(b"hello\n", whole)
    assert is_blob(b"hello\n", whole[:7])
    assert not is_blob(b"hello", whole)


def test_too_short_an_id_names_nothing() -> None:
    assert not is_blob(b"hello\n", "ce0136")
    assert not is_blob(b"hello\n", "")


def test_which_ids_say_something() -> None:
    assert [telling_id(said) for said in ("ce01362", "ce0136", "0000000", "0" * 40, "")] == ["ce01362", "", "", "", ""]
