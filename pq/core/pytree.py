"""A Python file as units: statements in blocks, and in a statement the entries between brackets.

Made for merging, so units tile their file: a statement has the comments and blank lines above it, and what is no unit is a text between two
listings. Units are told apart by what they mean, not by how they are written: `meaning` is equal before and after a formatter. A file may
have tens of thousands of units, of which a merge looks at few: what a unit is made of, and what it means, is found out when it is asked for.
"""

from __future__ import annotations

import ast
import functools
import itertools
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pq.core import surroundings
from pq.core.lines import split_lines

_OPEN, _CLOSE = "([{", ")]}"
_LOOSE = str.maketrans("", "", " (),'\"")
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes between listings, as they stand from `start` to `stop`; `normal` are the words in it, without comments, from `first` to `last`."""

    start: int
    stop: int
    normal: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A block of statements, or (`entries`) what stands between two brackets, from `start` to `stop`."""

    name: str
    start: int
    stop: int
    units: tuple[Unit, ...]
    entries: bool


@dataclass(frozen=True, eq=False)
class Meaning:
    """What a piece of code says. Equal are those with the same text, or (`dump`) the same syntax tree.

    `gist` is what equal ones have in common whatever a formatter does to them.
    """

    gist: str
    text: str
    dump: Callable[[], str]

    @cached_property
    def _dumped(self) -> str:
        return self.dump()

    def __hash__(self) -> int:
        return hash(self.gist)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Meaning):
            return NotImplemented
        return self.gist == other.gist and (self.text == other.text or self._dumped == other._dumped)


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement or an entry. `key` tells it from its siblings, where it has one; `code` is where it begins without what stands above it."""

    kind: str
    key: str
    meaning: Meaning
    start: int
    code: int
    stop: int
    read: Callable[[], Sequence[Text | Listing]]
    node: ast.stmt | None = None

    @cached_property
    def parts(self) -> Sequence[Text | Listing]:
        """What it is made of."""
        return self.read()


class Unreadable(Exception):
    """A file that can't be taken apart: one that does not parse, or is written in a way that positions can't be told in."""


@dataclass(frozen=True, slots=True)
class File:
    """A file and its units."""

    content: bytes
    listing: Listing

    def text(self, part: Text | Listing | Unit) -> bytes:
        """The bytes of a part."""
        return self.content[part.start : part.stop]


@functools.lru_cache(maxsize=32)
def read(content: bytes) -> File:
    """Take a file apart. Raises Unreadable."""
    tree = surroundings.parse(content)
    if tree is None or b"\r" in content or b"\f" in content or content.startswith(b"\xef\xbb\xbf"):
        raise Unreadable
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable from None
    return File(content, _Reader(content).block("body", tree.body, 0))


class _Reader:
    """Reads one file."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.lines = content.split(b"\n")
        self.starts = [0, *itertools.accumulate(len(line) + 1 for line in self.lines)]

    def tokens(self, start: int, stop: int) -> Sequence[_Token]:
        """The words of whole lines that are whole statements, or a head of one. Raises Unreadable."""
        first = bisect_right(self.starts, start) - 1
        try:
            found = list(tokenize.generate_tokens(map(bytes.decode, split_lines(self.content[start:stop])).__next__))
        except (tokenize.TokenError, SyntaxError):
            raise Unreadable from None
        return [_Token(token, self._offset(first, *token.start), self._offset(first, *token.end)) for token in found]

    def _offset(self, first: int, line: int, column: int) -> int:
        """The byte at which a character of a line stands, the lines counted from 1 at another one, which counts from 0."""
        number = first + line - 1
        if number >= len(self.lines):
            return len(self.content)
        text = self.lines[number]
        return self.starts[number] + (column if text.isascii() else len(text.decode()[:column].encode()))

    def line_start(self, number: int) -> int:
        """Where a line, from 1, begins; behind the last one, the end."""
        return min(self.starts[number - 1], len(self.content)) if number <= len(self.starts) else len(self.content)

    def block(self, name: str, body: Sequence[ast.stmt], start: int) -> Listing:
        """The statements of a block that begins at `start`. Several on one line are one unit."""
        units: list[Unit] = []
        here = start
        for group in _by_lines(body):
            first, last = surroundings.lines_of(group[0])[0], surroundings.lines_of(group[-1])[1]
            end = self.line_start(last + 1)
            units.append(self.statement(group, here, self.line_start(first), end))
            here = end
        return Listing(name, start, here, tuple(units), entries=False)

    def statement(self, group: Sequence[ast.stmt], start: int, code: int, stop: int) -> Unit:
        """One statement, or several on one line."""
        node, text = group[0], self.content[code:stop].decode().strip()
        kind, key = ("several", "") if len(group) > 1 else (_kind(node), _key(node))
        meaning = Meaning(f"{kind} {key}", text, lambda: "\n".join(map(ast.dump, group)))
        if len(group) > 1:
            first = code + self.content[code:stop].index(text.encode())
            return Unit(
                kind, key, meaning, start, code, stop, lambda: (Text(code, stop, text, first, first + len(text.encode())),)
            )
        return Unit(kind, key, meaning, start, code, stop, lambda: self.parts(node, code, stop), node)

    def parts(self, node: ast.stmt, code: int, stop: int) -> list[Text | Listing]:
        """What a statement is made of."""
        parts: list[Text | Listing] = []
        here = code
        for name, body in _blocks(node):
            first = self.line_start(surroundings.lines_of(body[0])[0])
            tokens = self.tokens(here, first)
            opening = self._behind_colon(tokens, first)
            if opening is None:  # the block is on the line of its head
                parts, here = [], code
                break
            parts += self.expression([token for token in tokens if token.start < opening], here, opening)
            listing = self.block(name, body, opening)
            parts.append(listing)
            here = listing.stop
        return [*parts, *self.expression(self.tokens(here, stop), here, stop)]

    def _behind_colon(self, tokens: Sequence[_Token], first: int) -> int | None:
        """The start of the line behind the colon that opens a block whose first statement begins at `first`."""
        colons = [token for token in tokens if token.string == ":"]
        if not colons:
            return None
        end = self.content.find(b"\n", colons[-1].stop) + 1
        return end if 0 < end <= first else None

    def expression(self, tokens: Sequence[_Token], start: int, stop: int) -> list[Text | Listing]:
        """What stands between two places, with these words: texts, and the listings between brackets, one level of them."""
        parts: list[Text | Listing] = []
        here, depth, opened, behind = start, 0, 0, 0
        if (names := _bare_import(tokens)) is not None:
            first, last = tokens[names], _last(tokens)
            return [
                _text(start, first.start, tokens[:names]),
                self._entries("import", tokens[names : tokens.index(last) + 1], first.start, last.stop),
                _text(last.stop, stop, ()),
            ]
        for number, token in enumerate(tokens):
            if token.string in _OPEN and token.is_operator:
                depth += 1
                if depth == 1:
                    opened = number
            elif token.string in _CLOSE and token.is_operator:
                depth -= 1
                if depth == 0:
                    parts.append(_text(here, tokens[opened].stop, tokens[behind : opened + 1]))
                    name = _bracket(tokens[: opened + 1])
                    parts.append(self._entries(name, tokens[opened + 1 : number], tokens[opened].stop, token.start))
                    here, behind = token.start, number
        if here < stop:
            parts.append(_text(here, stop, tokens[behind:]))
        return parts

    def _entries(self, name: str, tokens: Sequence[_Token], start: int, stop: int) -> Listing:
        """The entries between two brackets, which commas part."""
        groups: list[list[_Token]] = [[]]
        depth = 0
        for token in tokens:
            if token.is_operator:
                depth += (token.string in _OPEN) - (token.string in _CLOSE)
            if token.string == "," and token.is_operator and depth == 0:
                groups.append([])
            elif not token.is_silent:
                groups[-1].append(token)
        units = [self._entry(name, group) for group in groups if group]
        return Listing(name, start, stop, tuple(units), entries=True)

    def _entry(self, name: str, tokens: Sequence[_Token]) -> Unit:
        start, stop = tokens[0].start, tokens[-1].stop
        text = self.content[start:stop].decode()
        words = _words(tokens)
        meaning = Meaning(words.translate(_LOOSE), words, lambda: _entry_dump(text))
        return Unit("entry", _entry_key(name, tokens), meaning, start, start, stop, lambda: self.expression(tokens, start, stop))


@dataclass(frozen=True, slots=True)
class _Token:
    """A word of a file, from byte `start` to `stop`."""

    token: tokenize.TokenInfo
    start: int
    stop: int

    @property
    def string(self) -> str:
        """The word."""
        return self.token.string

    @property
    def is_operator(self) -> bool:
        """Whether it is a bracket, a comma or the like, and no string that looks so."""
        return self.token.type == tokenize.OP

    @property
    def is_silent(self) -> bool:
        """Whether it means nothing: a comment, or how the file is broken into lines."""
        return self.token.type in _SILENT


def _by_lines(body: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The statements, those that share a line together."""
    group: list[ast.stmt] = []
    for node in body:
        if group and surroundings.lines_of(node)[0] > surroundings.lines_of(group[-1])[1]:
            yield group
            group = []
        group.append(node)
    if group:
        yield group


def _blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The blocks of a statement in the order of the file, by name."""
    match node:
        case ast.Try() | ast.TryStar():
            yield "body", node.body
            for handler in node.handlers:
                yield f"except {surroundings.words(handler.type) if handler.type is not None else ''}", handler.body
            for name, block in (("else", node.orelse), ("finally", node.finalbody)):
                if block:
                    yield name, block
        case ast.Match():
            for case in node.cases:
                yield f"case {surroundings.words(case.pattern)}", case.body
        case ast.If(body=body, orelse=[ast.If() as other]) if other.col_offset == node.col_offset:  # an elif
            yield "body", body
            for name, block in _blocks(other):
                yield (f"elif {surroundings.words(other.test)}" if name == "body" else name), block
        case _:
            for name in ("body", "orelse"):
                found = getattr(node, name, None)
                if isinstance(found, list) and found:
                    yield name, found


def _kind(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "def"
        case ast.Import() | ast.ImportFrom():
            return "import"
    return type(node).__name__


def _key(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ImportFrom(module=module, level=level):
            return f"from {'.' * level}{module or ''}"
        case ast.Import(names=names):
            return f"import {names[0].name}"
        case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return surroundings.words(target)
        case ast.If(test=test) | ast.While(test=test):
            return surroundings.words(test)
        case ast.For(target=target, iter=over) | ast.AsyncFor(target=target, iter=over):
            return f"{surroundings.words(target)} in {surroundings.words(over)}"
        case ast.Expr(value=ast.Call(func=func, args=[ast.Constant(value=value), *_])):
            return f"{surroundings.callee(func)}({value!r})"
        case ast.Expr(value=ast.Call(func=func)):
            return surroundings.callee(func)
    return ""


def _entry_key(name: str, tokens: Sequence[_Token]) -> str:
    """What names an entry: `name=`, `name:`, `"key":`, an imported name; nothing for one that its position names."""
    words = [token.string for token in tokens]
    if name == "import":
        return words[-1]
    stars = len(list(itertools.takewhile(lambda word: word in ("*", "**"), words)))
    if (stars and len(words) == stars + 1) or (name == "def" and not stars):
        return "".join(words[: stars + 1])
    if len(words) > 2 and words[1] in ("=", ":"):
        return f"{words[0]}{words[1]}"
    return ""


def _bare_import(tokens: Sequence[_Token]) -> int | None:
    """Where the names of an import without brackets begin."""
    loud = [number for number, token in enumerate(tokens) if not token.is_silent]
    if not loud or tokens[loud[0]].string not in ("from", "import"):
        return None
    at = next((place for place, number in enumerate(loud) if tokens[number].string == "import"), None)
    if at is None or at + 1 == len(loud) or tokens[loud[at + 1]].string in ("(", "*"):
        return None
    return loud[at + 1]


def _bracket(tokens: Sequence[_Token]) -> str:
    """What the last of the words opens: the names of an import, the parameters of a function, or what its bracket says."""
    *loud, bracket = [token.string for token in tokens if not token.is_silent]
    if loud[:1] == ["from"] and loud[-1:] == ["import"]:
        return "import"
    return "def" if loud[-2:-1] == ["def"] else bracket


def _last(tokens: Sequence[_Token]) -> _Token:
    return [token for token in tokens if not token.is_silent][-1]


def _text(start: int, stop: int, tokens: Sequence[_Token]) -> Text:
    loud = [token for token in tokens if not token.is_silent]
    return Text(start, stop, _words(tokens), loud[0].start if loud else start, loud[-1].stop if loud else start)


def _words(tokens: Sequence[_Token]) -> str:
    return " ".join(token.string for token in tokens if not token.is_silent)


def _entry_dump(text: str) -> str:
    """An entry without its brackets and line breaks; as it stands where it is no expression of its own."""
    for form in ("f({})", "{{{}}}", "lambda {}: 0"):
        try:
            return ast.dump(ast.parse(form.format(text), mode="eval"))
        except (SyntaxError, ValueError, RecursionError):
            continue
    return " ".join(text.split())
