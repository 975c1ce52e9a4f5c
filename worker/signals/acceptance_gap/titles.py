"""Titles of tests ("rejects empty keys"), held against the strings of the file that should hold them.

Does not know test frameworks. Invariant: a title is there if a string of the file holds it, if it is made of whole strings, or
if a string with placeholders can become it; what differs in more than words behind a comma or in brackets is not.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.change import CodeChange

_LITERAL: Final = pattern(r"'((?:[^'\\\n]|\\.){1,300})'|\"((?:[^\"\\\n]|\\.){1,300})\"|`((?:[^`\\]|\\.){1,300})`")
_HOLE: Final = pattern(r"\$\{[^{}]{0,200}\}|\$[\w.]+|%[a-z#%]|\{[\w.:]{0,60}\}")
_BEHIND: Final = pattern(
    r"\s*(?:[,;]\s|\s[-—–(\[]|[(\[](?![^()\[\]]{0,100}[)\]]\W{1,9}\w)|\.{3}|…).{0,300}$", re.DOTALL
)
"""What is said after a title; a bracket at a word, with more words behind it, is the title's own: `parse() fails`."""
_BETWEEN: Final = pattern(r"[\s>:/.,-]+")
_MOST: Final = 5_000
_MOST_MADE: Final = 200
_MOST_HOLES: Final = 4
_MOST_STEPS: Final = 20
_FEWEST: Final = 2
"""Words that a string must have to be a title, or the fixed part of one."""


class FileStrings(Value):
    """The strings of a file: as they are, and those with holes as patterns."""

    literals: frozenset[str]
    patterns: "tuple[re.Pattern[str], ...]"

    @classmethod
    def from_text(cls, text: str) -> "FileStrings":
        literals = [
            next(filter(None, match.groups())) for match, _ in zip(_LITERAL.finditer(text), range(_MOST), strict=False)
        ]
        folded = dict.fromkeys(_fold(literal) for literal in literals)
        holed = [literal for literal in folded if 0 < len(_HOLE.findall(literal)) <= _MOST_HOLES][:_MOST_MADE]
        fixed = [literal for literal in holed if _HOLE.sub("", literal).strip()]
        return cls(frozenset(folded), tuple(map(_pattern, fixed)))

    def contains_title(self, title: str) -> bool:
        """Whether *title*, or what stands before a comma or a bracket in it, is there."""
        whole = _fold(title)
        return any(self._has(variant) for variant in dict.fromkeys((whole, _BEHIND.sub("", whole))) if variant)

    def _has(self, title: str) -> bool:
        title_words = sorted(title.replace("'", "").replace('"', "").split())
        return (
            any(title in literal or title_words == sorted(literal.split()) for literal in self.literals)
            or any(made.fullmatch(title) for made in self.patterns)
            or self._is_joined(title)
        )

    def _is_joined(self, title: str) -> bool:
        """Whether the title is a group's title and a test's, one after the other."""
        rest = title
        for _ in range(_MOST_STEPS):
            longest = max((literal for literal in self.literals if rest.startswith(literal)), key=len, default="")
            between = _BETWEEN.match(rest, len(longest))
            if not longest or between is None:
                return bool(longest) and rest == longest
            rest = rest[between.end() :]
        return False

    def text_behind(self, title: str) -> str:
        """What *title* says behind the longest of them, of several words, that it begins with."""
        whole = _fold(title)
        begun = (
            literal for literal in self.literals if len(literal.split()) >= _FEWEST and whole.startswith(f"{literal} ")
        )
        longest = max(begun, key=len, default=whole)
        return whole[len(longest) :].strip()


def find_strings(change: CodeChange, path: str, text: str) -> FileStrings:
    """The strings of the file, taken apart once."""
    cache = change.cached(_cache)
    if path not in cache:
        cache[path] = FileStrings.from_text(text)
    return cache[path]


def _cache(_: CodeChange) -> dict[str, FileStrings]:
    return {}


def _fold(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def _pattern(text: str) -> "re.Pattern[str]":
    parts = [re.escape(part) for part in _HOLE.split(text)]
    return re.compile(r".{0,200}".join(parts), re.DOTALL)
