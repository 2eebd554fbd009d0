"""The text above the diff: mail fields, DEP-3 fields or prose, read for the commit's author, date and message.

What is read stays what it is. Fields may be in RFC 2047 words; bytes that are not UTF-8 pass through.
"""

from __future__ import annotations

import datetime
import email.errors
import email.header
import email.message
import email.parser
import email.policy
import email.utils
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pq.core.rules import CODES

_ENVELOPE = re.compile(rb"From (?:[0-9a-f]{7,64}|\S+@\S+) +\w{3} \w{3} +\d+ \d+:\d+:\d+ \d{4}[^\n]*\n")
_TELLING = ("From", "Author", "Date", "Subject", "Description")
_TELLING_FIELDS = tuple(f"{name}:".encode() for name in _TELLING)
_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:(?:[ \t]|\r?\n)")
_ALLOW = re.compile(rb"^Pq-Allow:([^\r\n]*)", re.MULTILINE)
_TAG = re.compile(r"^\s*\[PATCH[^\]]*\]\s*", re.IGNORECASE)
_LIKE_A_DIFF = re.compile(r"^(?:diff |--- |\+\+\+ |@@ |Index: |\*\*\* |GIT binary patch|={10,})", re.MULTILINE)
_SPECIAL = re.compile(r'[()<>@,;:\\"\[\]]')
_TRAILER = re.compile(rb"[A-Za-z][A-Za-z0-9-]*: ")
_DIFFSTAT = re.compile(r"\s*$| .*\|\s+(?:\d+|Bin)\b| \d+ files? changed| (?:create|delete) mode | (?:rename|copy) ")


@dataclass(frozen=True, slots=True)
class Description:
    """Who wrote a patch, when (seconds since 1970 and minutes east of UTC), and what it says it does."""

    name: str | None
    address: str
    date: tuple[int, int] | None
    subject: str
    body: str

    @property
    def message(self) -> str:
        """Subject and body as a commit message, without a newline at the end."""
        return f"{self.subject}\n\n{self.body}".strip()


def read(header: bytes) -> Description:
    """Read the text above a diff. Never fails: what is no field is prose."""
    text = header.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    text = _ENVELOPE.sub(b"", text, count=1) if _ENVELOPE.match(text) else text
    fields = email.message.Message()
    if _FIELD.match(text):
        end = re.search(rb"\n\r?\n", text)
        stop = end.end() if end else len(text)
        found = email.parser.BytesHeaderParser(policy=email.policy.compat32).parsebytes(text[:stop])
        if any(name in found for name in _TELLING):  # else "core: mend it" is prose
            fields, text = found, text[stop:]
    name, address = email.utils.parseaddr(_field(fields, "From") or _field(fields, "Author"))
    body = _body(text)
    subject = _TAG.sub("", _field(fields, "Subject"))
    if not subject and (described := _value(fields, "Description")):
        subject, more = _dep3(described)
        body = f"{more}\n\n{body}".strip("\n")
    if not subject:
        subject, _, body = body.partition("\n")
        body = body.strip("\n")
    return Description(_plain(name) or None, _plain(address), _date(_field(fields, "Date")), " ".join(subject.split()), body)


def allowed(header: bytes) -> frozenset[str]:
    """The codes of the rules that a patch says do not hold for it: `Pq-Allow: unreachable, key-twice`. Others can't be switched off."""
    return frozenset(_allowing(header)) & frozenset(CODES)


def not_to_be_allowed(header: bytes) -> tuple[str, ...]:
    """What it says so of that is no rule, or none that can be switched off."""
    return tuple(code for code in _allowing(header) if code not in CODES)


def _allowing(header: bytes) -> list[str]:
    said = b",".join(_ALLOW.findall(header)).decode("utf-8", "replace")
    return [code.strip() for code in said.split(",") if code.strip()]


def with_trailers(header: bytes, lines: Sequence[str]) -> bytes:
    """The text above a diff with these lines at the end of what it says, as the last paragraph, or in it where that is such lines alone."""
    ends = list(re.finditer(rb"^---[ \t]*\r?\n", header, re.MULTILINE))
    cut = next((end.start() for end in ends if _is_diffstat(_text(header[end.end() :]).splitlines())), len(header))
    said, rest = header[:cut].rstrip(), header[cut:]
    last = said.rpartition(b"\n\n")[2].splitlines()
    is_theirs = all(map(_TRAILER.match, last)) and not any(line.startswith(_TELLING_FIELDS) for line in last)
    between = b"" if not said else b"\n" if is_theirs else b"\n\n"
    added = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    return said + between + added + (rest or b"\n")


def write(author: tuple[str, str] | None, date: tuple[int, int] | None, message: str, *, others: bytes = b"") -> bytes:
    """The text above a diff: author (name and address) and date as mail fields, other fields as they are, and a message.

    Lines of the message that would be read as a part of the diff are moved in by a blank.
    """
    subject, _, body = message.strip("\n").partition("\n")
    fields = [f"From: {_address(author)}"] if author is not None else []
    if date is not None:
        zone = datetime.timezone(datetime.timedelta(minutes=date[1]))
        fields.append(f"Date: {email.utils.format_datetime(datetime.datetime.fromtimestamp(date[0], zone))}")
    text = _LIKE_A_DIFF.sub(r" \g<0>", body.strip("\n"))
    head = "".join(f"{field}\n" for field in fields).encode("utf-8", "surrogateescape") + others
    return head + f"Subject: {subject}\n\n{text}{chr(10) * 2 if text else ''}".encode("utf-8", "surrogateescape")


def amended(header: bytes, author: tuple[str, str] | None, date: tuple[int, int] | None, message: str) -> bytes:
    """The text above a diff with another author, date and message; all other fields stay as they are."""
    text = header.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    text = _ENVELOPE.sub(b"", text, count=1) if _ENVELOPE.match(text) else text
    others = b""
    if _FIELD.match(text):
        for field in re.findall(
            rb"[A-Za-z][A-Za-z0-9-]*:[^\n]*\n(?:[ \t][^\n]*\n)*", re.split(rb"\n\r?\n", text, maxsplit=1)[0] + b"\n"
        ):
            if field.partition(b":")[0].decode() not in _TELLING:
                others += field
    return write(author, date, message, others=others)


def _address(author: tuple[str, str]) -> str:
    name, address = author
    if _SPECIAL.search(name):
        name = '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
    return f"{name} <{address}>" if name else address


def _value(fields: email.message.Message, name: str) -> str:
    """A field as it stands there. What email can't decode it hands over as a Header, of which only the chunks keep the bytes."""
    value = fields.get(name, "")
    if not isinstance(value, email.header.Header):
        return str(value)
    parts = (
        part if isinstance(part, str) else part.decode("utf-8", "surrogateescape")
        for part, _ in email.header.decode_header(value)
    )
    return "".join(parts)


def _field(fields: email.message.Message, name: str) -> str:
    """A field in one line, its RFC 2047 words decoded."""
    value = _value(fields, name)
    try:
        parts = email.header.decode_header(value)
    except (email.errors.HeaderParseError, ValueError):
        parts = [(value, None)]
    text = ""
    for part, charset in parts:
        if isinstance(part, str):
            text += part
            continue
        try:
            text += part.decode(charset or "utf-8", "surrogateescape")
        except (LookupError, ValueError):
            text += part.decode("utf-8", "surrogateescape")
    return " ".join(text.split())


def _body(text: bytes) -> str:
    """The prose, without a diffstat behind a `---` line. Any other `---` is prose."""
    lines = _text(text).replace("\r\n", "\n").replace("\0", "").split("\n")
    for number, line in enumerate(lines):
        if line.rstrip() == "---" and _is_diffstat(lines[number + 1 :]):
            lines = lines[:number]
            break
    return "\n".join(lines).strip("\n")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _is_diffstat(lines: Sequence[str]) -> bool:
    return all(map(_DIFFSTAT.match, lines))


def _dep3(described: str) -> tuple[str, str]:
    """The short and the long part of a DEP-3 Description: a lone dot stands for an empty line."""
    first, *more = described.splitlines()
    lines = ["" if line.strip() == "." else line.removeprefix(" ") for line in more]
    return first, "\n".join(lines)


def _date(value: str) -> tuple[int, int] | None:
    try:
        parsed = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    offset = parsed.utcoffset()
    try:
        seconds = int(parsed.timestamp()) if offset is not None else int(parsed.replace(tzinfo=datetime.UTC).timestamp())
    except (OverflowError, ValueError):
        return None
    return (seconds, int(offset.total_seconds()) // 60 if offset is not None else 0) if seconds >= 0 else None


def _plain(text: str) -> str:
    return re.sub(r"[<>\n\0]", "", text).strip()
