"""Titles of tests ("rejects empty keys"), looked up in the strings of the file that should hold them.

A title is there if a string of the file holds it, if it is made of whole strings, or if a string with placeholders can become
it; one that differs in more than words behind a comma or in brackets is not.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange, memoized

_LITERAL: Final = pattern(r"'((?:[^'\\\n]|\\.){1,300})'|\"((?:[^\"\\\n]|\\.){1,300})\"|`((?:[^`\\]|\\.){1,300})`")
_HOLE: Final = pattern(r"\$\{[^{}]{0,200}\}|\$[\w.]+|%[a-z#%]|\{[\w.:]{0,60}\}")
_BEHIND: Final = pattern(
    r"\s*(?:[,;]\s|\s[-—–(\[]|[(\[](?![^()\[\]]{0,100}[)\]]\W{1,9}\w)|\.{3}|…).{0,300}$", re.DOTALL
)
"""Text after a title; a bracket at a word, with more words behind it, is the title's own: `parse() fails`."""
_BETWEEN: Final = pattern(r"[\s>:/.,-]+")
_MOST: Final = 5_000
_MOST_MADE: Final = 200
_MOST_HOLES: Final = 4
_MOST_STEPS: Final = 20
_FEWEST: Final = 2
"""Words that a string must have to be a title, or the fixed part of one."""


@dataclass(frozen=True)
class FileStrings:
    """The strings of a file: as they are, and those with holes as patterns."""

    literals: frozenset[str]
    patterns: "tuple[re.Pattern[str], ...]"

    @classmethod
    def from_text(cls, text: str) -> "FileStrings":
        matches = islice(_LITERAL.finditer(text), _MOST)
        folded = dict.fromkeys(_fold(next(filter(None, match.groups()))) for match in matches)
        holed = [literal for literal in folded if 0 < len(_HOLE.findall(literal)) <= _MOST_HOLES][:_MOST_MADE]
        fixed = (list(map(re.escape, _HOLE.split(literal))) for literal in holed if _HOLE.sub("", literal).strip())
        return cls(frozenset(folded), tuple(re.compile(r".{0,200}".join(parts), re.DOTALL) for parts in fixed))

    def contains_title(self, title: str) -> bool:
        """Whether it holds *title*, or the part of it before a comma or a bracket."""
        whole = _fold(title)
        return any(self._has(variant) for variant in {whole, _BEHIND.sub("", whole)} if variant)

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
        """The rest of *title* behind the longest string, of several words, that it begins with."""
        whole = _fold(title)
        several = (literal for literal in self.literals if len(literal.split()) >= _FEWEST)
        longest = max((literal for literal in several if whole.startswith(f"{literal} ")), key=len, default=whole)
        return whole[len(longest) :].strip()


def find_strings(change: CodeChange, path: str, text: str) -> FileStrings:
    """The strings of the file, read once for a change."""
    cache = _cache(change)
    if path not in cache:
        cache[path] = FileStrings.from_text(text)
    return cache[path]


@memoized
def _cache(_: CodeChange) -> dict[str, FileStrings]:
    return {}


def _fold(text: str) -> str:
    return " ".join(text.replace("\\", "").split())
