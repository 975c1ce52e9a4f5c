"""Titles of tests ("rejects empty keys"), held against the strings of the file that should hold them.

Does not know test frameworks. Invariant: a title is there if a string of the file holds it, if it is made of whole strings, or
if a string with placeholders can become it; what differs in more than words behind a comma or in brackets is not.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.change import Change

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


class Strings(Value):
    """The strings of a file: as they are, and those with holes as patterns."""

    plain: frozenset[str]
    made: "tuple[re.Pattern[str], ...]"

    @classmethod
    def of(cls, text: str) -> "Strings":
        found = [
            next(filter(None, one.groups())) for one, _ in zip(_LITERAL.finditer(text), range(_MOST), strict=False)
        ]
        folded = dict.fromkeys(_folded(one) for one in found)
        holed = [one for one in folded if 0 < len(_HOLE.findall(one)) <= _MOST_HOLES][:_MOST_MADE]
        fixed = [one for one in holed if _HOLE.sub("", one).strip()]
        return cls(frozenset(folded), tuple(map(_pattern, fixed)))

    def hold(self, title: str) -> bool:
        """Whether *title*, or what stands before a comma or a bracket in it, is there."""
        whole = _folded(title)
        return any(self._has(one) for one in dict.fromkeys((whole, _BEHIND.sub("", whole))) if one)

    def _has(self, title: str) -> bool:
        words = sorted(title.replace("'", "").replace('"', "").split())
        return (
            any(title in one or words == sorted(one.split()) for one in self.plain)
            or any(one.fullmatch(title) for one in self.made)
            or self._is_joined(title)
        )

    def _is_joined(self, title: str) -> bool:
        """Whether the title is a group's title and a test's, one after the other."""
        rest = title
        for _ in range(_MOST_STEPS):
            longest = max((one for one in self.plain if rest.startswith(one)), key=len, default="")
            between = _BETWEEN.match(rest, len(longest))
            if not longest or between is None:
                return bool(longest) and rest == longest
            rest = rest[between.end() :]
        return False

    def behind(self, title: str) -> str:
        """What *title* says behind the longest of them, of several words, that it begins with."""
        whole = _folded(title)
        begun = (one for one in self.plain if len(one.split()) >= _FEWEST and whole.startswith(f"{one} "))
        longest = max(begun, key=len, default=whole)
        return whole[len(longest) :].strip()


def strings_of(change: Change, path: str, text: str) -> Strings:
    """The strings of the file, taken apart once."""
    known = change.once(_memory)
    if path not in known:
        known[path] = Strings.of(text)
    return known[path]


def _memory(_: Change) -> dict[str, Strings]:
    return {}


def _folded(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def _pattern(text: str) -> "re.Pattern[str]":
    parts = [re.escape(one) for one in _HOLE.split(text)]
    return re.compile(r".{0,200}".join(parts), re.DOTALL)
