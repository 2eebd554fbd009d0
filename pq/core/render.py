"""Writes diffs: the same content gives the same bytes, whatever git's configuration says (design, section 5).

A file patch is `diff --git`, mode lines, `index` with whole ids, `---`/`+++`, and hunks with three lines of context and, behind
`@@ … @@`, the qualified name of the Python scope in which the hunk's first change stands. Files are sorted by path. Content with a
NUL byte near its beginning is binary, as in git, and written as whole contents both ways. Nothing is a timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patiencediff import PatienceSequenceMatcher

from pq.core import binary, paths, scope
from pq.core.lines import Lines, blob_id, is_binary, split_lines
from pq.core.patch import SYMLINK
from pq.core.tree import File

_CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after. `old` None: it is new; `new` None: it goes; two paths: it was renamed."""

    old_path: str
    new_path: str
    old: File | None
    new: File | None


def render(changes: Iterable[FileChange]) -> bytes:
    """The diff of these changes; empty for changes that change nothing."""
    ordered = sorted(changes, key=lambda change: paths.raw(change.new_path))
    return b"".join(
        part for change in ordered if change.old != change.new or change.old_path != change.new_path for part in _file(change)
    )


def _file(change: FileChange) -> Iterator[bytes]:
    old, new = change.old, change.new
    if old is not None and new is not None and (old.mode == SYMLINK) != (new.mode == SYMLINK):
        yield from _file(FileChange(change.old_path, change.old_path, old, None))  # as git: one goes, another one comes
        yield from _file(FileChange(change.new_path, change.new_path, None, new))
        return
    a, b = paths.quote(f"a/{change.old_path}"), paths.quote(f"b/{change.new_path}")
    before, after = (b"" if file is None else file.content for file in (old, new))
    yield b"diff --git %s %s\n" % (a, b)
    yield from _modes(old, new)
    if change.old_path != change.new_path:
        yield b"similarity index %d%%\n" % _similarity(before, after)
        yield b"rename from %s\nrename to %s\n" % (paths.quote(change.old_path), paths.quote(change.new_path))
    if before == after and old is not None and new is not None:
        return
    ids = [b"0" * 40 if file is None else blob_id(file.content).encode() for file in (old, new)]
    mode = b" %o" % new.mode if old is not None and new is not None and old.mode == new.mode else b""
    yield b"index %s..%s%s\n" % (ids[0], ids[1], mode)
    if is_binary(before) or is_binary(after):
        yield b"GIT binary patch\n" + binary.encode(after) + binary.encode(before)
    elif before != after:
        yield b"--- %s\n" % (b"/dev/null" if old is None else a + _tab(a))
        yield b"+++ %s\n" % (b"/dev/null" if new is None else b + _tab(b))
        yield from _hunks(before, after, python=change.new_path.endswith(".py"))


def _modes(old: File | None, new: File | None) -> Iterator[bytes]:
    if old is None and new is not None:
        yield b"new file mode %o\n" % new.mode
    elif new is None and old is not None:
        yield b"deleted file mode %o\n" % old.mode
    elif old is not None and new is not None and old.mode != new.mode:
        yield b"old mode %o\nnew mode %o\n" % (old.mode, new.mode)


def _hunks(before: bytes, after: bytes, *, python: bool) -> Iterator[bytes]:
    old, new = split_lines(before), split_lines(after)
    scopes = scope.scopes(before) if python else ()
    for group in PatienceSequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_stop, _, new_stop) = group[0], group[-1]
        first = next(start for word, start, _, _, _ in group if word != "equal")
        name = scope.enclosing(scopes, first + 1)
        place = b"@@ -%s +%s @@" % (_range(old_start, old_stop), _range(new_start, new_stop))
        yield place + (b" " + paths.raw(name) if name else b"") + b"\n"
        for word, old_from, old_to, new_from, new_to in group:
            if word == "equal":
                yield from _marked(b" ", old[old_from:old_to])
            else:
                yield from _marked(b"-", old[old_from:old_to])
                yield from _marked(b"+", new[new_from:new_to])


def _marked(mark: bytes, lines: Lines) -> Iterator[bytes]:
    for line in lines:
        yield mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)


def _range(start: int, stop: int) -> bytes:
    """As git writes it: an empty range names the line before, a single line has no count."""
    count = stop - start
    return b"%d" % (start + 1) if count == 1 else b"%d,%d" % (start + 1 if count else start, count)


def _tab(name: bytes) -> bytes:
    """The tab with which git ends a name that holds a space, so that patch(1) does not cut it there."""
    return b"\t" if b" " in name else b""


def _similarity(before: bytes, after: bytes) -> int:
    """How much of the larger file is kept, in percent; 100 only if all is."""
    if before == after:
        return 100
    old, new = split_lines(before), split_lines(after)
    blocks = PatienceSequenceMatcher(None, old, new).get_matching_blocks()
    kept = sum(len(line) for start, _, count in blocks for line in old[start : start + count])
    return min(kept * 100 // (max(len(before), len(after)) or 1), 99)
