"""The command that sends patches away."""

from __future__ import annotations

import email.utils
from pathlib import Path

import click

from pq.cli.main import Command, Settings
from pq.engine import mail
from pq.repo.files import write_synced


@click.command("mail", cls=Command)
@click.argument("first", required=False)
@click.argument("last", required=False)
@click.option("--mbox", metavar="FILE", required=True, help="Write the mails to FILE; - is standard output.")
@click.option("--prefix", "tag", default="PATCH", show_default=True, help="The word in brackets before the subjects.")
@click.option("--subject", help="The subject of a first mail about all of them.")
@click.option("-m", "text", metavar="TEXT", help="What the first mail says.")
@click.option(
    "-M", "text_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE", help="The same, in FILE."
)
@click.option(
    "--from",
    "sender",
    metavar="NAME <ADDRESS>",
    help="The author of patches that name none, and of the first mail; else git's user.",
)
@click.option("--to", multiple=True, metavar="ADDRESS", help="A receiver.")
@click.option("--cc", multiple=True, metavar="ADDRESS", help="One more receiver.")
@click.option("--bcc", multiple=True, metavar="ADDRESS", help="One whom the others do not see.")
@click.option("--reply-to", "answers", metavar="ID", help="The message that is answered.")
@click.pass_obj
def mail_command(
    settings: Settings,
    first: str | None,
    last: str | None,
    mbox: str,
    tag: str,
    subject: str | None,
    text: str | None,
    text_file: Path | None,
    sender: str | None,
    to: tuple[str, ...],
    cc: tuple[str, ...],
    bcc: tuple[str, ...],
    answers: str | None,
) -> None:
    """Write the patches from FIRST to LAST, or all of the series, as mails; - is the lowest, or the highest. git send-email sends them."""
    if text is not None and text_file is not None:
        raise click.UsageError("-m and -M exclude each other")
    intro = text_file.read_text(encoding="utf-8", errors="surrogateescape") if text_file is not None else text
    fields = [f"{name}: {', '.join(who)}" for name, who in (("To", to), ("Cc", cc), ("Bcc", bcc)) if who]
    fields += [f"In-Reply-To: {answers}", f"References: {answers}"] if answers else []
    if any("\n" in field for field in (*fields, tag, subject or "", sender or "")):
        raise click.UsageError("a header field is one line")
    named = email.utils.parseaddr(sender) if sender is not None else None
    letter = mail.Letter(tag, named, tuple(fields), subject, intro)
    workspace = settings.workspace()
    lowest, highest = (None if given == "-" else given for given in (first, last if last is not None else first))
    made = mail.mailbox(workspace, lowest, highest, letter)
    if mbox == "-":
        settings.report.raw(made)
    else:
        write_synced(settings.start / mbox, made)
