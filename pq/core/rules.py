"""The rules of the shipped checks that a queue or a patch can switch off, by their codes; docs/checks.md has a section of each."""

from __future__ import annotations

CODES = (
    "option-twice",
    "defined-twice",
    "branch-twice",
    "key-twice",
    "unreachable",
    "call-nested",
    "undefined-name",
    "no-module",
    "no-name",
    "no-parameter",
)
