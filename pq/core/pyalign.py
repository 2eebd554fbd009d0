"""Which units of two files are one another's: the same, changed, or put into another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from patiencediff import PatienceSequenceMatcher

from pq.core.pytree import File, Listing, Text, Unit

_ALIKE = 0.6
"""The part of their words that two units share which are one, changed."""
_WITHIN = 0.8
"""The part of its words that the shorter has in the longer, where the one has grown to be the other."""

_MOVABLE = {"def", "ClassDef", "Assign", "AnnAssign"}
"""Kinds of statements that are the same one wherever they stand, if they have the same name."""

Piece = Sequence[Text | Listing]
"""One block, or what stands between two of them."""


def pieces_of(unit: Unit) -> Iterator[tuple[str, Piece]]:
    """The blocks of a unit, by name, and what stands between them."""
    between: list[Text | Listing] = []
    for part in unit.parts:
        if isinstance(part, Listing) and not part.entries:
            yield "", between
            yield part.name, [part]
            between = []
        else:
            between.append(part)
    yield "", between


def said(piece: Piece) -> list[object]:
    """What stands there, however it is written."""
    return [part.normal if isinstance(part, Text) else [unit.meaning for unit in part.units] for part in piece]


def has_blocks(unit: Unit) -> bool:
    """Whether a unit has statements in it."""
    return any(isinstance(part, Listing) and not part.entries for part in unit.parts)


def aligned(one: File, ones: Listing, other: File, others: Listing) -> dict[int, int]:
    """Which units of the one listing are which of the other: those that mean the same, in order; between these, those of one name, or alike."""
    found: dict[int, int] = {}
    matcher = PatienceSequenceMatcher(None, [unit.meaning for unit in ones.units], [unit.meaning for unit in others.units])
    here = there = 0
    for start, other_start, length in matcher.get_matching_blocks():
        found.update(_paired(one, ones, range(here, start), other, others, range(there, other_start)))
        found.update({start + step: other_start + step for step in range(length)})
        here, there = start + length, other_start + length
    return found


def carried_off(ones: Listing, others: Listing, found: dict[int, int], *, is_scope: bool) -> dict[int, int]:
    """The statements that stand at another place among their siblings now: the same ones; of a class or module (`is_scope`), where order means
    nothing to them, fields, functions and classes by their names.
    """
    if ones.entries:
        return {}
    taken = set(found.values())
    sides: list[list[tuple[int, object]]] = [
        [
            (number, (unit.kind, unit.key) if is_scope and unit.kind in _MOVABLE and unit.key else unit.meaning)
            for number, unit in enumerate(listing.units)
        ]
        for listing in (ones, others)
    ]
    counts = [Counter(name for _, name in side) for side in sides]
    places = {name: number for number, name in sides[1] if counts[1][name] == 1 and number not in taken}
    return {number: places[name] for number, name in sides[0] if number not in found and counts[0][name] == 1 and name in places}


def _paired(
    one: File, ones: Listing, numbers: Sequence[int], other: File, others: Listing, places: Sequence[int]
) -> dict[int, int]:
    """The units of two gaps that are one another's, changed: by kind and name where one has it, or since they are much the same; in order."""
    found: dict[int, int] = {}
    free = places[0] if places else 0
    for number in numbers:
        unit = ones.units[number]
        rest = [place for place in places if place >= free and others.units[place].kind == unit.kind]
        named = [place for place in rest if unit.key and others.units[place].key == unit.key]
        alike = [place for place in rest if not named and _are_alike(one, unit, other, others.units[place])]
        if len(named or alike) == 1:
            found[number] = (named or alike)[0]
            free = found[number] + 1
    return found


def wrapped(base: Listing, ours: Listing, here: dict[int, int]) -> dict[int, tuple[int, Unit]]:
    """The statements of base that ours has put into another one at the same place, such as an `if`: which of ours that is, and what they are in it."""
    found: dict[int, tuple[int, Unit]] = {}
    taken = set(here.values())
    for number, unit in enumerate(base.units):
        if number in here or base.entries:
            continue
        above = max((place for other, place in here.items() if other < number), default=-1)
        below = min((place for other, place in here.items() if other > number), default=len(ours.units))
        holding = [
            (place, inner)
            for place in range(above + 1, below)
            if place not in taken
            for inner in statements_in(ours.units[place])
            if unit.meaning == inner.meaning
        ]
        if len(holding) == 1:
            found[number] = holding[0]
    return found


def statements_in(unit: Unit) -> Iterator[Unit]:
    """All statements in the blocks of one."""
    for part in unit.parts:
        if isinstance(part, Listing) and not part.entries:
            for inner in part.units:
                yield inner
                yield from statements_in(inner)


def _are_alike(one: File, unit: Unit, other: File, another: Unit) -> bool:
    """Whether two units share most of their words, in order."""
    if has_blocks(unit) and not _share(_head(unit).split(), _head(another).split()):
        return False
    return _share(*(file.content[each.code : each.stop].split() for file, each in ((one, unit), (other, another))))


def _head(unit: Unit) -> str:
    """The words in front of the first block of a unit."""
    first = next(iter(pieces_of(unit)))[1]
    return " ".join(
        part.normal if isinstance(part, Text) else " ".join(each.meaning.text for each in part.units) for part in first
    )


def _share(words: Sequence[object], others: Sequence[object]) -> bool:
    if not words or not others or max(len(words), len(others)) > 4 * min(len(words), len(others)):
        return False
    same = sum(length for _, _, length in PatienceSequenceMatcher(None, words, others).get_matching_blocks())
    return 2 * same / (len(words) + len(others)) >= _ALIKE or same / min(len(words), len(others)) >= _WITHIN
