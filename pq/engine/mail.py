"""mail: patches of the series as a mailbox, for review, and for git am and import at the other end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pq.core import header
from pq.core.header import Description
from pq.engine.workspace import Workspace
from pq.errors import NothingToDo, PqError

_ENVELOPE = b"From %s Mon Sep 17 00:00:00 2001\n"
"""What git begins mails of format-patch with: the date says that the file is made by a program."""
_LIKE_AN_ENVELOPE = re.compile(r"^From ", re.MULTILINE)
_COVER = "0" * 40


@dataclass(frozen=True, slots=True)
class Letter:
    """What is said of all mails: tag of the subjects, sender, receivers, the mail that they answer; and of the first mail, if there is one.

    `fields` are header fields of all mails, as they are to stand there.
    """

    tag: str = "PATCH"
    sender: tuple[str, str] | None = None
    fields: tuple[str, ...] = ()
    subject: str | None = None
    intro: str | None = None


def mailbox(workspace: Workspace, first: str | None, last: str | None, letter: Letter) -> bytes:
    """The patches of the series from one to another (None: from the lowest, to the highest), the lowest first; a mail each."""
    names = workspace.series.names
    start, stop = (
        names.index(workspace.series.find(given)) if given is not None else default
        for given, default in ((first, 0), (last, len(names) - 1))
    )
    chosen = names[start : stop + 1]
    if not names:
        raise NothingToDo("No patches in series")
    if not chosen:
        raise PqError(f"Patch {last} stands below {first}", hint="name the lower one first")
    mails = []
    if letter.subject is not None or letter.intro is not None:
        text = f"{letter.subject or ''}\n\n{letter.intro or ''}"
        mails.append(
            _mail(
                _COVER, _sender(workspace, letter, None, "the first mail"), None, f"{_tag(letter, 0, len(chosen))}{text}", letter
            )
        )
    commits = {applied.patch: applied.commit.oid for applied in workspace.applied}
    for number, name in enumerate(chosen, 1):
        patch = workspace.read_patch(workspace.series.entry(name))
        said = header.read(patch.header)
        subject = said.subject or name.rpartition("/")[2].removesuffix(".patch").removesuffix(".diff")
        text = f"{_tag(letter, number, len(chosen))}{subject}\n\n{said.body}"
        sender = _sender(workspace, letter, said, f"patch {name}")
        diff = patch.raw[len(patch.header) :]
        mails.append(_mail(commits.get(name, _COVER), sender, said.date, text, letter) + b"---\n\n" + diff + b"\n")
    return b"".join(mails)


def _mail(commit: str, sender: tuple[str, str], date: tuple[int, int] | None, text: str, letter: Letter) -> bytes:
    fields = [*letter.fields]
    if not text.isascii():
        fields += ["MIME-Version: 1.0", "Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit"]
    others = "".join(f"{field}\n" for field in fields).encode("utf-8", "surrogateescape")
    return _ENVELOPE % commit.encode() + header.write(sender, date, _LIKE_AN_ENVELOPE.sub(">From ", text), others=others)


def _tag(letter: Letter, number: int, count: int) -> str:
    numbered = f" {number:0{len(str(count))}}/{count}" if count > 1 or number == 0 else ""
    return f"[{letter.tag}{numbered}] "


def _sender(workspace: Workspace, letter: Letter, said: Description | None, what: str) -> tuple[str, str]:
    """Who wrote it: the author that the patch names, or who sends it."""
    if said is not None and (said.name or said.address):
        return said.name or said.address, said.address
    found = letter.sender or workspace.checkout.user()
    if found is None:
        raise PqError(
            f"Nobody is named as the author of {what}", hint="--from NAME <ADDRESS>, or git config user.name and user.email"
        )
    return found
