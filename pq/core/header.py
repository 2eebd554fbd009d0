"""The text above the diff: mail fields, DEP-3 fields or prose, read for the commit's author, date and message.

Only reads: the bytes of the patch file stay what they are. Fields may be in RFC 2047 words; bytes that are not UTF-8 pass through.
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
from dataclasses import dataclass

_ENVELOPE = re.compile(rb"From (?:[0-9a-f]{7,64}|\S+@\S+) +\w{3} \w{3} +\d+ \d+:\d+:\d+ \d{4}[^\n]*\n")
_TELLING = ("From", "Author", "Date", "Subject", "Description")
_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:(?:[ \t]|\r?\n)")
_TAG = re.compile(r"^\s*\[PATCH[^\]]*\]\s*", re.IGNORECASE)
_DIFFSTAT = re.compile(r"\s*$| .*\|\s+(?:\d+|Bin)| \d+ files? changed| (?:create|delete) mode | (?:rename|copy) ")


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


def date_line(described: Description) -> list[str]:
    """The mail field of a date, if there is one."""
    if described.date is None:
        return []
    seconds, minutes = described.date
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    return [f"Date: {email.utils.format_datetime(datetime.datetime.fromtimestamp(seconds, zone))}"]


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
    lines = text.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\0", "").split("\n")
    for number, line in enumerate(lines):
        if line.rstrip() == "---" and all(_DIFFSTAT.match(later) for later in lines[number + 1 :]):
            lines = lines[:number]
            break
    return "\n".join(lines).strip("\n")


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
