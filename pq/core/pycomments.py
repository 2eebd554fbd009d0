"""The comments of Python files, of which a merge may lose none."""

from __future__ import annotations

import tokenize
from collections import Counter

from pq.core.lines import split_lines
from pq.core.pytree import File, Unreadable


def add_up(made: File, base: File, ours: File, theirs: File) -> bool:
    """Whether a merge has the comments of ours, with what theirs adds and without what it takes out. Raises Unreadable."""
    files = (base, ours, theirs)
    return any(_is_sum(count(made), *map(count, files)) for count in (_lines, _comments))


def _lines(file: File) -> Counter[bytes]:
    """The lines that may have a comment, which are told quicker than the comments."""
    return Counter(line.strip() for line in split_lines(file.content) if b"#" in line)


def _comments(file: File) -> Counter[bytes]:
    try:
        tokens = list(tokenize.generate_tokens(map(bytes.decode, split_lines(file.content)).__next__))
    except (tokenize.TokenError, SyntaxError):
        raise Unreadable from None
    return Counter(token.string.rstrip().encode() for token in tokens if token.type == tokenize.COMMENT)


def _is_sum(made: Counter[bytes], base: Counter[bytes], ours: Counter[bytes], theirs: Counter[bytes]) -> bool:
    return made == ours + (theirs - base) - (base - theirs)
