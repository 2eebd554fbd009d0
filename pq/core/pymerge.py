"""A merge of Python files by statements and entries, for what a merge of lines can't settle.

The patch is read as what it does to units (see `pytree`): a statement or an entry put between two others, taken out, or changed. That is done
in ours where these two stand now, and ours keeps all other bytes. It is an answer only where each step is sure; `Unsure` otherwise:

- what is put in stands between the units that correspond to its old neighbours, one of which at least is there as it was;
- what both sides put at the same place has no order: definitions, imports, fields, parameters, keywords, registrations, or statements that
  do not touch what the others name. Ours come first then;
- what is taken out is in ours as it was, or is gone there, too;
- what both sides changed is taken apart further, down to entries; a text between brackets that both changed is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pq.core import pycomments, pytree
from pq.core.crop import MARK, cropped
from pq.core.lines import split_lines
from pq.core.pyalign import Piece, aligned, carried_off, has_blocks, pieces_of, said, statements_in, wrapped
from pq.core.pyorder import is_free, is_same, leaves
from pq.core.pytree import File, Listing, Text, Unit

_TUPLE = 2
"""Entries between plain brackets from which on they are a tuple without a last comma."""
_NAMED = {"def", "ClassDef", "import", "AnnAssign", "Assign", "entry"}
"""Kinds of units that are what their names say, whatever is in them."""


class Unsure(Exception):
    """No answer: the fact, as a sentence about the patch."""


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes `start` to `stop` of ours become these; `line` is where they come from, from 1 in theirs.

    `last`: behind all others that come to stand at the same place.
    """

    start: int
    stop: int
    text: bytes
    line: int
    last: bool = False


def merge(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, tuple[Splice, ...]]:
    """Ours with what theirs did to base, and by which splices. Raises Unsure."""
    lines = [split_lines(content) for content in (base, theirs, ours)]
    bare = [b"".join(each) for each in cropped((lines[0], lines[1]), (lines[2], lines[2]), everywhere=True)]
    try:
        files = _Three(pytree.read(bare[0]), pytree.read(bare[2]), pytree.read(bare[1]))
        found = list(files.listings(files.base.listing, files.ours.listing, files.theirs.listing, is_class=False, is_scope=True))
    except pytree.Unreadable:
        raise Unsure("one of the files can't be taken apart") from None
    splices = sorted(found, key=lambda each: (each.start, each.stop, each.last))
    if any(MARK in splice.text for splice in splices):
        raise Unsure("it moves what nobody changed")
    files.require_comments(_spliced(bare[2], splices))
    if bare[2] != ours:
        splices = [_uncropped(splice, bare[2], ours) for splice in splices]
    return _spliced(ours, splices), tuple(splices)


def _spliced(content: bytes, splices: Sequence[Splice]) -> bytes:
    out: list[bytes] = []
    here = 0
    for splice in splices:
        if splice.start < here:
            raise Unsure("two changes of the patch come to stand at one place")
        out += [content[here : splice.start], splice.text]
        here = splice.stop
    return b"".join((*out, content[here:]))


def _uncropped(splice: Splice, bare: bytes, ours: bytes) -> Splice:
    """The same splice in the whole file, whose lines have the same numbers."""
    start, stop = (
        _place(ours, bare.count(b"\n", 0, at), at - bare.rfind(b"\n", 0, at) - 1) for at in (splice.start, splice.stop)
    )
    return replace(splice, start=start, stop=stop)


def _place(content: bytes, line: int, column: int) -> int:
    """The byte at which a column of a line stands, both from 0."""
    at = 0
    for _ in range(line):
        at = content.index(b"\n", at) + 1
    return at + column


@dataclass(frozen=True, slots=True)
class _Three:
    """The three files of a merge. Methods yield what has to happen to ours."""

    base: File
    ours: File
    theirs: File

    def require_comments(self, merged: bytes) -> None:
        """Raise Unsure unless the merged file parses and has each comment that one side has and the other one has not taken out."""
        try:
            whole = pycomments.add_up(pytree.read(merged), self.base, self.ours, self.theirs)
        except pytree.Unreadable:
            raise Unsure("the merged file would not parse") from None
        if not whole:
            raise Unsure("a comment would be lost, or be there twice")

    def listings(self, base: Listing, ours: Listing, theirs: Listing, *, is_class: bool, is_scope: bool) -> Iterator[Splice]:
        """Blocks, or the entries between brackets, that correspond: of a class, or of a class or the module (`is_scope`)."""
        if self.base.text(base) == self.theirs.text(theirs):
            return
        here, there = aligned(self.base, base, self.ours, ours), aligned(self.base, base, self.theirs, theirs)
        here |= carried_off(base, ours, here, is_scope=is_scope)
        places = _Places(self, base, ours, theirs, here, there, wrapped(base, ours, here), is_class)
        for number, unit in enumerate(base.units):
            if number in there:
                other = theirs.units[there[number]]
                if places.mine(number) is not None or not places.holds(other):
                    yield from self._kept(unit, places.mine(number), other)
            elif number in here:
                if ours.units[here[number]].meaning != unit.meaning:
                    raise Unsure(f"it takes out {_called(unit)}, which was changed")
                yield from places.taken_out(here[number], number)
            elif not places.is_gone(number):
                raise Unsure(f"it takes out {_called(unit)}, in whose place something else stands")
        for run in places.put_in():
            yield from run

    def _kept(self, base: Unit, ours: Unit | None, theirs: Unit) -> Iterator[Splice]:
        """A unit that theirs still has."""
        if self.base.text(base) == self.theirs.text(theirs):
            return
        if ours is None:
            if self.base.text(base).split() == self.theirs.text(theirs).split():
                return
            raise Unsure(f"it changes {_called(base)}, which is gone")
        above = self._above(base, ours, theirs)
        if theirs.meaning == base.meaning and self._code(self.base, base) == self._code(self.theirs, theirs):
            yield from above
        elif ours.meaning == theirs.meaning:
            return  # landed
        elif _bare(self._code(self.ours, ours)) == _bare(self._code(self.base, base)) and not has_blocks(ours):
            yield from above
            yield Splice(ours.code, ours.stop, self.moved(theirs, theirs.code, ours), self.line(theirs.code))
        else:
            yield from above
            yield from self._parts(base, ours, theirs)

    def _above(self, base: Unit, ours: Unit, theirs: Unit) -> list[Splice]:
        """The comments and blank lines above a statement."""
        was = self.base.content[base.start : base.code]
        mine = self.ours.content[ours.start : ours.code]
        other = self.theirs.content[theirs.start : theirs.code]
        if other in (was, mine):
            return []
        if mine.split() != was.split():
            if other.split() == was.split():
                return []
            raise Unsure(f"it changes the comment above {_called(base)}, which was changed")
        text = self.moved(theirs, theirs.start, ours, theirs.code)
        return [Splice(ours.start, ours.code, text, self.line(theirs.start), last=True)]

    def _parts(self, base: Unit, ours: Unit, theirs: Unit) -> Iterator[Splice]:
        """What a unit is made of, where both sides changed it or it holds blocks."""
        pieces = [list(pieces_of(unit)) for unit in (base, ours, theirs)]
        if len({tuple(name for name, _ in each) for each in pieces}) > 1:
            raise Unsure(f"it changes {_called(base)}, which was changed")
        for (_, was), (_, mine), (_, other) in zip(*pieces, strict=True):
            if was != other and (said(was) != said(other) or _is_block(was)):
                yield from self._piece(base, was, mine, other)

    def _piece(self, unit: Unit, was: Piece, mine: Piece, other: Piece) -> Iterator[Splice]:
        """A block, or what stands between two of them, which theirs changed."""
        if said(mine) == said(other) and not _is_block(was):
            return  # landed
        shapes = {tuple(part.name if isinstance(part, Listing) else "" for part in piece) for piece in (was, mine, other)}
        if len(shapes) > 1:
            raise Unsure(f"it changes {_called(unit)}, which was changed")
        for one, two, three in zip(was, mine, other, strict=True):
            if isinstance(one, Listing) and isinstance(two, Listing) and isinstance(three, Listing):
                is_class = unit.kind == "ClassDef" and not one.entries
                yield from self.listings(one, two, three, is_class=is_class, is_scope=is_class)
            elif isinstance(one, Text) and isinstance(two, Text) and isinstance(three, Text):
                yield from self._texts(unit, one, two, three)

    def _texts(self, unit: Unit, was: Text, mine: Text, other: Text) -> Iterator[Splice]:
        if other.normal in (was.normal, mine.normal):
            return
        words = self.theirs.content[other.first : other.last]
        if mine.normal != was.normal or not (mine.normal and words) or b"\n" in words:
            raise Unsure(f"it changes {_called(unit)}, which was changed")
        yield Splice(mine.first, mine.last, words, self.line(other.first))

    def moved(self, unit: Unit, start: int, like: Unit, stop: int | None = None) -> bytes:
        """The bytes of theirs from `start` on (to `stop`, or the unit's end), moved in as far as a unit of ours is."""
        text = self.theirs.content[start : unit.stop if stop is None else stop]
        return _indented(text, _indent(self.theirs, unit), _indent(self.ours, like))

    def line(self, place: int) -> int:
        """The line of theirs, from 1, that a byte stands on."""
        return self.theirs.content.count(b"\n", 0, place) + 1

    @staticmethod
    def _code(file: File, unit: Unit) -> bytes:
        return file.content[unit.code : unit.stop]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where units of theirs come to stand in a listing of ours. `here` and `there` say which units of ours and theirs are base's."""

    files: _Three
    base: Listing
    ours: Listing
    theirs: Listing
    here: dict[int, int]
    there: dict[int, int]
    wrapped: dict[int, tuple[int, Unit]]
    is_class: bool

    def mine(self, number: int) -> Unit | None:
        """What a unit of base is in ours, there or in a statement that upstream has put around it."""
        if number in self.here:
            return self.ours.units[self.here[number]]
        return self.wrapped[number][1] if number in self.wrapped else None

    def holds(self, unit: Unit) -> bool:
        """Whether what theirs made of a unit is in another statement of ours already."""
        return any(unit.meaning == inner.meaning for each in self.ours.units for inner in statements_in(each))

    def is_gone(self, number: int) -> bool:
        """Whether upstream took a unit of base out, and put nothing there that it may be by now."""
        own = set(self.here.values())
        above = max((at for other, at in self.here.items() if other < number), default=-1)
        below = min((at for other, at in self.here.items() if other > number), default=len(self.ours.units))
        return all(place in own for place in range(above + 1, below))

    def put_in(self) -> Iterator[Iterator[Splice]]:
        """The runs of units that theirs puts in."""
        known = {place: number for number, place in self.there.items()}
        run: list[int] = []
        for number in range(len(self.theirs.units) + 1):
            if number < len(self.theirs.units) and number not in known:
                run.append(number)
            elif run:
                yield self._put_between(run, known.get(run[0] - 1, -1), known.get(number, len(self.base.units)))
                run = []

    def taken_out(self, place: int, number: int) -> Iterator[Splice]:
        """The unit of ours at this place goes, which is the one of base with this number."""
        unit, left = self.ours.units[place], len(self.ours.units) - 1
        behind = [self.there[other] for other in range(number + 1, len(self.base.units)) if other in self.there]
        line = self.files.line(self.theirs.units[behind[0]].code if behind else self.theirs.stop)
        if self.ours.entries and self.ours.name == "(" and left < _TUPLE:
            raise Unsure(f"it takes out {_called(unit)}, and a comma may be all that makes a tuple of the rest")
        if not self.ours.entries:
            yield Splice(unit.start, unit.stop, b"", line)
        elif place < left:
            yield Splice(unit.start, self.ours.units[place + 1].start, b"", line)
        elif place:
            yield Splice(self.ours.units[place - 1].stop, unit.stop, b"", line)
        else:
            yield Splice(unit.start, unit.stop, b"", line)

    def _put_between(self, run: Sequence[int], above: int, below: int) -> Iterator[Splice]:
        """A run of theirs that stands between two units of base (-1 and the length: the ends)."""
        units = [self.theirs.units[number] for number in run]
        if not (self._is_as_it_was(above) or self._is_as_it_was(below) or below in self.wrapped):
            raise Unsure(f"it puts {_called(units[0])} between two others that were changed")
        first, last, place = self._gap(above, below)
        if first >= last:
            raise Unsure(f"it puts {_called(units[0])} between two others that changed their order")
        own = {*self.here.values(), *(place for place, _ in self.wrapped.values())}
        new = [self.ours.units[number] for number in range(first + 1, last) if number not in own]
        wanted = [unit for unit in units if not any(unit.meaning == other.meaning for other in new)]
        for unit in wanted:
            if any(is_same(unit, other) for other in self.ours.units):
                raise Unsure(f"it puts {_called(unit)} where such a one is already")
            if any(not is_free(unit, other, self.ours, is_class=self.is_class) for other in new):
                raise Unsure(f"it puts {_called(unit)} where {_called(new[0])} was put, and the order may matter")
        if wanted and not self.ours.entries and leaves(self.ours.units, place) and not leaves(self.base.units, above + 1):
            raise Unsure(f"it puts {_called(units[0])} behind what leaves the block")
        if wanted:
            yield self._put(wanted, place)

    def _gap(self, above: int, below: int) -> tuple[int, int, int]:
        """The units of ours that what stands between two of base may stand between, and in front of which one it is to stand.

        What upstream has put into another statement says where things stand above it, not below: what is in a loop runs more than once.
        """
        count = len(self.ours.units)
        first = -1 if above == -1 else self.here.get(above)
        last = (
            count
            if below == len(self.base.units)
            else self.here.get(below, self.wrapped[below][0] if below in self.wrapped else None)
        )
        if first is None and last is None:
            raise Unsure("both neighbours are gone")
        if first is None:
            assert last is not None
            return max((at for number, at in self.here.items() if number < above and at < last), default=-1), last, last
        if last is None:
            return first, min((at for number, at in self.here.items() if number > below and at > first), default=count), first + 1
        return first, last, last

    def _is_as_it_was(self, number: int) -> bool:
        """Whether a unit of base is in ours, as what it was: unchanged, or by its name."""
        if number not in self.here:
            return number in (-1, len(self.base.units)) and not self.base.units and not self.ours.units
        one, other = self.base.units[number], self.ours.units[self.here[number]]
        return one.meaning == other.meaning or (one.kind in _NAMED and bool(one.key) and one.key == other.key)

    def _put(self, units: Sequence[Unit], place: int) -> Splice:
        line = self.files.line(units[0].code)
        if self.ours.entries:
            return self._put_entries(units, place, line)
        if not self.ours.units:
            raise Unsure(f"it puts {_called(units[0])} where nothing is left")
        at = self.ours.units[place].start if place < len(self.ours.units) else self.ours.stop
        like = self.ours.units[min(place, len(self.ours.units) - 1)]
        return Splice(at, at, b"".join(self.files.moved(unit, unit.start, like) for unit in units), line)

    def _put_entries(self, units: Sequence[Unit], place: int, line: int) -> Splice:
        ours, content = self.ours.units, self.files.ours.content
        texts = [self.files.theirs.text(unit) for unit in units]
        if not ours:
            if self.ours.name == "(":
                raise Unsure(f"it puts {_called(units[0])} where nothing is left")
            return Splice(self.ours.start, self.ours.start, b", ".join(texts), line)
        if not self._is_by_lines():
            if place < len(ours):
                return Splice(ours[place].start, ours[place].start, b"".join(text + b", " for text in texts), line)
            return Splice(ours[-1].stop, ours[-1].stop, b"".join(b", " + text for text in texts), line)
        like = ours[min(place, len(ours) - 1)]
        indent = _indent(self.files.ours, like)
        lines = b"".join(
            indent + _inside(text, _indent(self.files.theirs, unit), indent) + b",\n"
            for unit, text in zip(units, texts, strict=True)
        )
        if place < len(ours):
            at = content.rfind(b"\n", 0, like.start) + 1
            return Splice(at, at, lines, line)
        has_comma = content[like.stop : self.ours.stop].lstrip().startswith(b",")
        at = content.find(b"\n", like.stop, self.ours.stop) + 1
        if not has_comma:
            return Splice(like.stop, at, b"," + content[like.stop : at] + lines, line)
        return Splice(at, at, lines, line)

    def _is_by_lines(self) -> bool:
        """Whether every entry of ours begins a line, and none ends on the line of the closing bracket."""
        content = self.files.ours.content
        begins = all(not content[content.rfind(b"\n", 0, unit.start) + 1 : unit.start].strip() for unit in self.ours.units)
        return begins and b"\n" in content[self.ours.units[-1].stop : self.ours.stop]


def _bare(text: bytes) -> list[bytes]:
    """The lines of a text, however far they are moved in."""
    return [line.strip() for line in text.split(b"\n")]


def _indent(file: File, unit: Unit) -> bytes:
    """The blanks in front of the line on which a unit begins."""
    start = file.content.rfind(b"\n", 0, unit.code) + 1
    line = file.content[start : file.content.find(b"\n", start)]
    return line[: len(line) - len(line.lstrip())]


def _indented(text: bytes, old: bytes, new: bytes) -> bytes:
    """The lines of a text with another indent. Raises Unsure where a string goes over lines."""
    if old == new:
        return text
    if b'"""' in text or b"'''" in text:
        raise Unsure("a text of several lines would have to be moved in")
    lines = text.split(b"\n")
    return b"\n".join(new + line[len(old) :] if line.startswith(old) else line for line in lines)


def _inside(text: bytes, old: bytes, new: bytes) -> bytes:
    """A text that begins within a line, its other lines with another indent."""
    first, newline, rest = text.partition(b"\n")
    return first + newline + _indented(rest, old, new) if newline else first


def _called(unit: Unit) -> str:
    return unit.key or unit.kind


def _is_block(piece: Piece) -> bool:
    return bool(piece) and isinstance(piece[0], Listing) and not piece[0].entries
