"""What was made of conflicts, remembered by what stood between the markers: the same three texts in the same file give the same answer.

A resolution is a file of its own, whose name is the digest of that file's name, as it was where the patch was made, and of the texts. It is
made to be read and reviewed::

    pq-resolution <lines of ours> <of base> <of theirs> <of the answer> <file>
    <<<<<<<
    …
    |||||||
    …
    =======
    …
    >>>>>>>
    …
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pq.core import paths
from pq.core.lines import Lines, split_lines
from pq.core.merge import Labels, Sides, pieces

_MARKERS = (b"<<<<<<<\n", b"|||||||\n", b"=======\n", b">>>>>>>\n")


@dataclass(frozen=True, slots=True)
class Resolution:
    """What stood between the markers of a conflict, and what was put there."""

    path: str
    sides: Sides
    answer: Lines

    @property
    def key(self) -> str:
        """The name of its file."""
        return key(self.sides, self.path)


def key(sides: Sides, path: str) -> str:
    """The digest of the file's name and the three texts."""
    digest = hashlib.sha256(paths.raw(path) + b"\n")
    for lines in (sides.ours, sides.base, sides.theirs):
        text = b"".join(lines)
        digest.update(b"%d\n%b" % (len(text), text))
    return digest.hexdigest()[:40]


def settled(marked: Lines, path: str, labels: Labels, known: Callable[[str], Lines | None]) -> Lines | None:
    """A file with conflicts as it was settled before; None where one of them is not known."""
    out: list[bytes] = []
    for piece in pieces(marked, labels):
        answer = known(key(piece, path)) if isinstance(piece, Sides) else piece
        if answer is None:
            return None
        out += answer
    return tuple(out)


def learned(marked: Lines, answer: Lines, path: str, labels: Labels) -> tuple[Resolution, ...]:
    """What was put in the place of each conflict; nothing where something else of the file was changed, too.

    Where only the patch has lines, nothing says which place of the file they were meant for, and the answer is not known again.
    """
    parts = list(pieces(marked, labels))
    found: list[Resolution] = []
    here = 0
    for number, piece in enumerate(parts):
        if not isinstance(piece, Sides):
            if answer[here : here + len(piece)] != piece:
                return ()
            here += len(piece)
            continue
        behind = parts[number + 1] if number + 1 < len(parts) else ()
        end = _next(answer, behind, here, last=number + 2 >= len(parts)) if not isinstance(behind, Sides) else None
        if end is None:
            return ()
        found.append(Resolution(path, piece, answer[here:end]))
        here = end
    return tuple(each for each in found if each.sides.ours or each.sides.base) if here == len(answer) else ()


def _next(lines: Lines, wanted: Lines, start: int, *, last: bool) -> int | None:
    """Where the text behind a conflict begins: at the end of the file, or at the one place where all of it stands."""
    if last:
        at = len(lines) - len(wanted)
        return at if at >= start and lines[at:] == wanted else None
    places = [at for at in range(start, len(lines) - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]
    return places[0] if len(places) == 1 else None


def render(resolution: Resolution) -> bytes:
    """The file of a resolution."""
    texts = (resolution.sides.ours, resolution.sides.base, resolution.sides.theirs, resolution.answer)
    head = b"pq-resolution " + b" ".join(b"%d" % len(text) for text in texts) + b" " + paths.raw(resolution.path) + b"\n"
    return head + b"".join(marker + b"".join(_ended(text)) for marker, text in zip(_MARKERS, texts, strict=True))


def read(content: bytes) -> Resolution | None:
    """Read such a file; None where it is none, as one that was cut."""
    lines = split_lines(content)
    said, *words, path = lines[0].rstrip(b"\n").split(b" ", len(_MARKERS) + 1) if lines else [b"", b""]
    if len(words) != len(_MARKERS) or said != b"pq-resolution" or not all(word.isdigit() for word in words):
        return None
    texts: list[Lines] = []
    at = 1
    for marker, word in zip(_MARKERS, words, strict=True):
        if lines[at : at + 1] != (marker,):
            return None
        texts.append(lines[at + 1 : at + 1 + int(word)])
        at += 1 + int(word)
    return Resolution(paths.text(path), Sides(texts[0], texts[1], texts[2]), texts[3]) if at == len(lines) else None


def _ended(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The lines, each with an ending: between markers all have one."""
    yield from (line if line.endswith(b"\n") else line + b"\n" for line in lines)
