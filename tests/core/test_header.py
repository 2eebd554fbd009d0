"""Who wrote a patch, when, and what it says it does."""

from __future__ import annotations

import pytest

from pq.core import header
from pq.core.header import Description

MAIL = b"""From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=BCrgen?= <j@example.org>
Date: Fri, 2 Jan 2026 03:04:05 +0100
Subject: [PATCH 2/3] server_args: add
 an option

Why it is
needed.
---
 f.py | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

"""


def test_a_mail() -> None:
    assert header.read(MAIL) == Description(
        "Jürgen", "j@example.org", (1767319445, 60), "server_args: add an option", "Why it is\nneeded."
    )


def test_dep3_fields() -> None:
    text = "Description: Größe\n The long\n .\n part.\nAuthor: Jürgen <j@example.org>\nOrigin: upstream\nForwarded: no\n\nMore.\n"

    said = header.read(text.encode())

    assert (said.name, said.address, said.date) == ("Jürgen", "j@example.org", None)
    assert (said.subject, said.body) == ("Größe", "The long\n\npart.\n\nMore.")


@pytest.mark.parametrize(
    ("text", "subject", "body"),
    [
        (b"Mend it.\n\nWhy.\n", "Mend it.", "Why."),
        (b"core: mend it\n\nWhy.\n", "core: mend it", "Why."),
        (b"Fixes: #12\nand more\n", "Fixes: #12", "and more"),
        (b"\r\n\r\nMend it.\r\n\r\nWhy.\r\n", "Mend it.", "Why."),
        (b"\xef\xbb\xbfSubject: x\n", "x", ""),
        (b"Subject: x\n\nA\n---\nB\n", "x", "A\n---\nB"),
        (b"Subject: x\n\nA\n---\n f | 2 +-\n", "x", "A"),
        (b"Subject: [RFC] x\n", "[RFC] x", ""),
        (b"Subject: [patch v2] x\n", "x", ""),
        (b"Subject: x\n\ndiff --git says so\n", "x", "diff --git says so"),
        (b"From ada@example.org Thu Jan  1 00:00:00 1970\nSubject: x\n", "x", ""),
        (b"From here on\n", "From here on", ""),
        (b"---\n", "", ""),
        (b"", "", ""),
    ],
)
def test_prose_and_mail(text: bytes, subject: str, body: str) -> None:
    """M17: a line `---` in the body is prose unless a diffstat follows; W51: other tags than PATCH stay."""
    said = header.read(text)

    assert (said.subject, said.body) == (subject, body)


def test_spacing_does_not_matter() -> None:
    """W43."""
    said = header.read(b"From:  Ada   <ada@example.org>\nSubject:   two   words\n")

    assert (said.name, said.address, said.subject) == ("Ada", "ada@example.org", "two words")


@pytest.mark.parametrize(
    "subject",
    [
        b"gr\xfc\xdfe", b"=?utf-8?b?!?=", b"=?utf-8?q?=FF?=", b"=?utf-16?b?QQ==?=", b"=?idna?q?x=FFy?=", b"=?nothing?q?x?=", b"=?hex?q?x?=",
        b"=?a\0b?q?x?=", b"=?utf-8?b?QQ?=", b"\0\1\xff\xfe", b"=?", b"=?utf-7?q?+AAA?=",
    ],
)  # fmt: skip
def test_bytes_that_can_t_be_decoded_pass_through(subject: bytes) -> None:
    """W46: they crash gbp."""
    said = header.read(b"From: " + subject + b" <a@example.org>\nDescription: y\n" + b"Subject: " + subject + b"\n\n" + subject)

    assert said.subject
    assert said.address == "a@example.org"
    said.message.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("date", "read"),
    [
        (b"Thu, 01 Jan 1970 00:00:01 +0000", (1, 0)),
        (b"Thu, 01 Jan 1970 00:00:01 -0000", (1, 0)),
        (b"1 Jan 1970 02:00:00 +0200", (0, 120)),
        (b"1 Jan 1969 00:00:00 +0000", None),
        (b"2026-01-01", None),
        (b"Mon, 99 Foo 2026 99:99:99 +9999", None),
        (b"Mon, 1 Jan 99999999999999999999 00:00:00 +0000", None),
        (b"Mon, " + b"9" * 5000 + b" Jan 2020 00:00:00 +0000", None),
        (b"Mon, 99999999999999999999 Jan 2020 00:00:00 +0000", None),
        (b"", None),
    ],
)
def test_dates(date: bytes, read: tuple[int, int] | None) -> None:
    assert header.read(b"Subject: x\nDate: " + date + b"\n").date == read


def test_nothing_in_a_name_can_break_a_commit() -> None:
    said = header.read(b'From: A <b> \0 <c\n d> "<x" <a@example.org>\nSubject: x\n')

    assert not set("<>\n\0") & set((said.name or "") + said.address)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (b"", b"X: 1\n\n"),
        (b"Say it.\n\n", b"Say it.\n\nX: 1\n\n"),
        (b"From: A <a@b>\nSubject: one\n\n", b"From: A <a@b>\nSubject: one\n\nX: 1\n\n"),
        (b"Subject: one\n\nSay it.\n\nSigned-off-by: A\n", b"Subject: one\n\nSay it.\n\nSigned-off-by: A\nX: 1\n\n"),
        (b"Say it.\n---\n a | 2 +-\n 1 file changed\n\n", b"Say it.\n\nX: 1\n---\n a | 2 +-\n 1 file changed\n\n"),
        (b"Say it.\n---\n\n", b"Say it.\n\nX: 1\n---\n\n"),
        (b"Say it.\n---\nand more\n", b"Say it.\n---\nand more\n\nX: 1\n\n"),
    ],
)
def test_trailers_stand_at_the_end_of_what_is_said(text: bytes, after: bytes) -> None:
    assert header.with_trailers(text, ["X: 1"]) == after
    assert header.read(header.with_trailers(text, ["X: 1"])).message.endswith("X: 1")
    assert header.with_trailers(after, ["Y: 2"]) == after.replace(b"X: 1\n", b"X: 1\nY: 2\n")


def test_the_message() -> None:
    assert header.read(MAIL).message == "server_args: add an option\n\nWhy it is\nneeded."
    assert header.read(b"One line.\n").message == "One line."
