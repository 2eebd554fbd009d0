"""Placement: where the hunks of a file patch belong, by proof (design, section 7).

In this order, for one file:

1. the file is the one that the patch names by its `index` id: the hunks stand where they say, the result has the recorded id;
2. the file the patch was made against is known: a three-way merge carries the hunks over, and a conflict is the answer, too;
3. nothing else is known: all hunks fit exactly at their stated lines, or each at exactly one place, in their order. Stated lines
   prove nothing about a file of which the `index` line says that it is another one;
4. with `fuzz`, up to that many context lines at either end of a hunk may differ, never a removed line.

A hunk that shows lines on one side of its change only stands at that end of the file. If nothing fits but the reverse of the patch
does exactly, it has landed already; if both fit, each at another place than stated, nobody can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pq.core import definitions, heading, pymerge, scope, surroundings
from pq.core.crop import cropped
from pq.core.landed import find_landed
from pq.core.lines import Lines, is_blob, split_lines
from pq.core.merge import Conflict, Landing, Merged, edited, merge, settled
from pq.core.patch import ADDED, Action, Edit, FilePatch, Hunk
from pq.core.placement import How, HunkPlace, Landed, Placed, Reason, Refused
from pq.core.search import Known, find_places


def place(file: FilePatch, now: bytes, *, base: bytes | None = None, fuzz: int = 0, prove: bool = True) -> Placed | Refused:
    """Place the hunks of `file` on the content `now`. `base` is the content the patch was made against, if known.

    `prove`: of Python files, what they come to stand in is compared, too.
    """
    if file.crlf and b"\r\n" not in now:
        kept = place(replace(file, crlf=False), now, base=base, fuzz=fuzz, prove=prove)
        if isinstance(kept, Placed) and is_blob(kept.content, file.new_id):  # the id says that the CRs are the file's own
            return kept
        return place(file.without_cr(), now, base=base, fuzz=fuzz, prove=prove)
    ours = split_lines(now)
    if file.new_id != file.old_id and is_blob(now, file.new_id):
        back = _searched(ours, tuple(hunk.reversed() for hunk in file.hunks), How.RECORDED, Known.THE_FILE)
        return Refused(Reason.LANDED) if isinstance(back, Placed) else Refused(Reason.WRONG_RESULT, detail=file.new_id)
    if is_blob(now, file.old_id) or (file.action is Action.CREATE and not now):
        return _verified(_searched(ours, file.hunks, How.RECORDED, Known.THE_FILE), file)
    if file.ends_in_cr and b"\r" not in now:
        return place(file.without_cr(), now, base=base, fuzz=fuzz, prove=prove)
    if base is not None and b"\r\n" in base and b"\r" not in now and not file.crlf:
        base = base.replace(b"\r\n", b"\n")  # a release whose line endings are not those of the sources
    if base is not None:
        known = Known.THE_FILE if not file.old_id or is_blob(base, file.old_id) else Known.ANOTHER
        carried = _merged(split_lines(base), ours, file, known, prove=prove and file.path.endswith(".py"))
        if carried is not None:
            return carried
    found = _by_text(ours, file, now if prove and file.path.endswith(".py") else None)
    for allowed in range(1, fuzz + 1):
        if isinstance(found, Placed) or found.reason is not Reason.NO_PLACE:
            break
        found = _searched(ours, file.hunks, How.FUZZED, Known.ANOTHER, fuzz=allowed)
    if prove and isinstance(found, Placed) and file.path.endswith(".py"):
        return _under_its_heading(found, now, file)
    if isinstance(found, Refused) and found.reason is Reason.NO_PLACE and _fits_without_cr(now, file):
        return replace(found, detail="only the line endings differ: CR LF here, LF there")
    return found


def _under_its_heading(found: Placed, now: bytes, file: FilePatch) -> Placed | Refused:
    """Refuse a hunk that says that it belongs elsewhere."""
    contradicted = _contradicted(now, file.hunks, [at.line - 1 for at in found.hunks])
    if contradicted is None:
        return found
    hunk, start, there = contradicted
    made_for = hunk.section.decode(errors="replace").strip()
    detail = f"it says that it was made for {made_for}, and its lines stand in {there}"
    return Refused(Reason.MOVED, hunk, (start + 1,), detail=detail)


def _contradicted(content: bytes, hunks: Sequence[Hunk], starts: Sequence[int]) -> tuple[Hunk, int, str] | None:
    """The first hunk that says that it belongs elsewhere, its 0-based start, and what it stands in."""
    lines, scopes = split_lines(content), scope.scopes(content)
    for hunk, start in zip(hunks, starts, strict=True):
        if (there := heading.contradicts(hunk, lines, start, scopes)) is not None:
            return hunk, start, there
    return None


def _verified(found: Placed | Refused, file: FilePatch) -> Placed | Refused:
    """The result has to have the recorded id. A new file's need not: people edit them by hand, and its one hunk is counted."""
    recorded = file.new_id if file.action is not Action.CREATE else ""
    if isinstance(found, Placed) and recorded and not is_blob(found.content, recorded):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    return found


def _by_text(ours: Lines, file: FilePatch, python: bytes | None) -> Placed | Refused:
    """Step 3, and whether the patch has landed: in a Python file, where its headings say that it was made for."""
    found = _searched(ours, file.hunks, How.SEARCHED, Known.ANOTHER if file.old_id else Known.UNKNOWN)
    if _as_stated(found) or (isinstance(found, Refused) and found.reason is Reason.NO_CONTEXT):
        return found
    reverse = tuple(hunk.reversed() for hunk in file.hunks)
    back = _searched(ours, reverse, How.SEARCHED, Known.ANOTHER if file.new_id else Known.UNKNOWN)
    if isinstance(back, Refused) or (python is not None and isinstance(_under_its_heading(back, python, file), Refused)):
        return found
    lines = tuple(hunk.line for hunk in back.hunks)
    if _as_stated(back) or (isinstance(found, Refused) and found.reason is Reason.NO_PLACE):
        return Refused(Reason.LANDED, lines=lines)
    if isinstance(found, Refused):
        return found
    places = (found.hunks[0].line, lines[0])
    return Refused(
        Reason.AMBIGUOUS, file.hunks[0], places, file.hunks[0].old, detail="at the second of these lines it seems to have landed"
    )


def _fits_without_cr(now: bytes, file: FilePatch) -> bool:
    bare = now.replace(b"\r\n", b"\n")
    return isinstance(_searched(split_lines(bare), file.without_cr().hunks, How.SEARCHED, Known.UNKNOWN), Placed)


def _as_stated(found: Placed | Refused) -> bool:
    return isinstance(found, Placed) and not any(hunk.offset for hunk in found.hunks)


def _merged(base: Lines, ours: Lines, file: FilePatch, known: Known, *, prove: bool) -> Placed | Refused | None:
    """Step 2; None where the hunks do not fit the base, so that it is not the one."""
    hunks = file.hunks
    starts = find_places(base, hunks, 0, known)
    if isinstance(starts, Refused):
        return None
    is_named = bool(file.old_id) and is_blob(b"".join(base), file.old_id)
    if prove and not is_named and _contradicted(b"".join(base), hunks, [start for start, _ in starts]) is not None:
        return None
    edits = [edit for hunk, (start, _) in zip(hunks, starts, strict=True) for edit in hunk.edits(start)]
    theirs = edited(base, edits)
    if known is Known.THE_FILE and file.old_id and file.new_id and not is_blob(b"".join(theirs), file.new_id):
        return Refused(Reason.WRONG_RESULT, detail=file.new_id)
    merged = merge(base, ours, edits)
    if not isinstance(merged, Merged):
        structured = _by_structure(base, ours, edits, hunks) if prove else None
        return structured or _conflict(merged[0], hunks)
    if merged.lines == ours and edits:
        return Refused(Reason.LANDED, lines=tuple(landing.line + 1 for landing in merged.landings))
    bare = cropped((base, theirs), (ours, merged.lines)) if prove else None
    if bare is not None and (misplaced := _misplaced(bare, merged.landings)) is not None:
        number, refused = misplaced
        return _with_hunk(refused, next((hunk for hunk in hunks if hunk.number == number), None), ours)
    places = [_place_of(hunk, start, merged.landings) for hunk, (start, _) in zip(hunks, starts, strict=True)]
    placed = _joined(merged.lines, How.MERGED, tuple(places))
    if bare is not None and isinstance(placed, Placed) and surroundings.parse(b"".join(bare[2])) is None:
        return _under_its_heading(placed, b"".join(ours), file)
    return placed


def _place_of(hunk: Hunk, start: int, landings: Sequence[Landing]) -> HunkPlace:
    """Where a hunk that begins at `start` of its base (from 0) came to stand, and how much of it was there."""
    own = [landing for landing in landings if landing.edit.hunk == hunk.number]
    shift = own[0].line - own[0].edit.start if own else 0
    there = [landing.landed for landing in own]
    landed = Landed.NOT if not any(there) else Landed.WHOLE if all(there) else Landed.PARTLY
    return HunkPlace(hunk.number, start + shift + 1, start + shift - hunk.position, landed=landed)


def _with_hunk(refused: Refused, hunk: Hunk | None, ours: Lines) -> Refused:
    """The refusal of a hunk; where what it adds is there, with both texts."""
    if hunk is None or refused.reason is not Reason.THERE:
        return replace(refused, hunk=hunk)
    adds, at = tuple(text for mark, text in hunk.lines if mark == ADDED), refused.lines[0] - 1
    return replace(refused, hunk=hunk, expected=adds, found=ours[at : at + len(adds)])


def _misplaced(files: tuple[Lines, Lines, Lines, Lines], landings: tuple[Landing, ...]) -> tuple[int | None, Refused] | None:
    """What would come to stand where it does not belong (base, theirs, ours, merged), with the number of its hunk, where it is one."""
    base, theirs, ours, lines = files
    merged = Merged(lines, landings)
    if (found := find_landed(base, ours, merged)) is not None:
        landing, what, line = found
        detail = f"{what.what} stands in {what.scope or 'the module'} already, as it did not where the patch was made"
        return landing.edit.hunk, Refused(Reason.THERE, lines=(line,), detail=detail)
    if (moved := surroundings.moved(base, ours, merged)) is not None:
        landing, made, reached = moved
        detail = f"it was made for {made}, and would stand in {reached}"
        return landing.edit.hunk, Refused(Reason.MOVED, lines=(landing.line + 1,), detail=detail)
    if (torn := definitions.torn(base, ours, theirs, merged.lines)) is not None:
        name, line = torn
        detail = f"with it, {name} would be neither what it is here nor what the patch has"
        return None, Refused(Reason.MOVED, lines=(line,), detail=detail)
    return None


def _by_structure(base: Lines, ours: Lines, edits: Sequence[Edit], hunks: Sequence[Hunk]) -> Placed | Refused | None:
    """What a merge of statements makes of what a merge of lines leaves; None where that is not sure, either."""
    theirs = edited(base, edits)
    by_lines: tuple[Landing, ...] = ()
    middle, simple = ours, settled(base, ours, edits)
    found = None if simple else _structured(base, ours, theirs)
    if simple:
        carried = merge(base, ours, simple)
        if (
            isinstance(carried, Merged)
            and _misplaced(cropped((base, edited(base, simple)), (ours, carried.lines)), carried.landings) is None
        ):
            by_lines, middle = carried.landings, carried.lines
            found = _structured(edited(base, simple), middle, theirs)
    if found is None:
        return None
    content, splices = found
    merged = Merged(split_lines(content), tuple(Landing(edit, 0, landed=False) for edit in edits))
    if merged.lines == ours:
        return Refused(Reason.LANDED)
    if _is_doubtful(base, ours, theirs, merged):
        return None
    text = b"".join(middle).replace(b"\r\n", b"\n")
    places = []
    for hunk in hunks:
        first, last = hunk.new_start, hunk.new_start + len(hunk.new)
        made = [text.count(b"\n", 0, splice.start) for splice in splices if first <= splice.line < last]
        simply = [landing for landing in by_lines if landing.edit.hunk == hunk.number]
        fresh = [landing.line for landing in simply if not landing.landed]
        line = min((*made, *fresh), default=hunk.position) + 1
        landed = Landed.WHOLE if not made and not fresh else Landed.PARTLY if len(fresh) < len(simply) else Landed.NOT
        places.append(HunkPlace(hunk.number, line, line - hunk.position - 1, landed=landed))
    return Placed(content, How.STRUCTURED, tuple(places))


def _is_doubtful(base: Lines, ours: Lines, theirs: Lines, merged: Merged) -> bool:
    """Whether a definition is neither side's, or there already."""
    base, theirs, ours, lines = cropped((base, theirs), (ours, merged.lines))
    torn = definitions.torn(base, ours, theirs, lines)
    return torn is not None or find_landed(base, ours, Merged(lines, merged.landings)) is not None


def _structured(base: Lines, ours: Lines, theirs: Lines) -> tuple[bytes, tuple[pymerge.Splice, ...]] | None:
    """The merged file, and by which splices. Of files whose lines all end in CR LF the CRs are left out meanwhile."""
    files = [b"".join(lines) for lines in (base, ours, theirs)]
    bare = [content.replace(b"\r\n", b"\n") for content in files]
    has_cr = bare[0] != files[0] and all(content.replace(b"\n", b"\r\n") == was for content, was in zip(bare, files, strict=True))
    try:
        content, splices = pymerge.merge(*(bare if has_cr else files))
    except pymerge.Unsure:
        return None
    return content.replace(b"\n", b"\r\n") if has_cr else content, splices


def _conflict(conflict: Conflict, hunks: Sequence[Hunk]) -> Refused:
    hunk = next(hunk for hunk in hunks if hunk.number == conflict.hunk)
    if conflict.other is not None:
        return Refused(Reason.AMBIGUOUS, hunk, tuple(sorted((conflict.line + 1, conflict.other + 1))), conflict.base)
    return Refused(Reason.CONFLICT, hunk, (conflict.line + 1,), conflict.base, conflict.ours)


def _searched(lines: Lines, hunks: Sequence[Hunk], how: How, known: Known, *, fuzz: int = 0) -> Placed | Refused:
    """Steps 1, 3 and 4: the hunks at their places on these lines."""
    starts = find_places(lines, hunks, fuzz, known)
    if isinstance(starts, Refused):
        return starts
    out: list[bytes] = []
    places = []
    here = 0
    for hunk, (start, used) in zip(hunks, starts, strict=True):
        for edit in hunk.edits(start):
            out += lines[here : edit.start]
            out += edit.lines
            here = edit.stop
        places.append(HunkPlace(hunk.number, start + 1, start - hunk.position, used))
    out += lines[here:]
    return _joined(out, how, tuple(places))


def _joined(lines: Sequence[bytes], how: How, places: tuple[HunkPlace, ...]) -> Placed | Refused:
    if any(not line.endswith(b"\n") for line in lines[:-1]):
        return Refused(Reason.NO_PLACE, detail="a line without a newline would stand inside the file")
    return Placed(b"".join(lines), how, places)
