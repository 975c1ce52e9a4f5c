"""Assertions about a text that the change words differently.

Reads names and literals. Does not run the code: a text that is put together in several places is known only in part.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Oracle
from worker.signals.analysis.change import Change, ChangedFile
from worker.signals.analysis.functions import functions_of
from worker.signals.analysis.tests import base_sources

_LONGEST: Final = 1_000
_LITERAL: Final = pattern(r"\"((?:[^\"\\]|\\.){1,300})\"|'((?:[^'\\]|\\.){1,300})'|`([^`]{1,300})`")
_WORD: Final = pattern(r"[^\W\d_]{3,}")
_RENDERING: Final = pattern(
    r"fmt|__(?:str|repr|format)__|__toString|to_?[sS]tring|ToString|to_s|inspect|String|Error|getMessage"
)
_RENDERED: Final = pattern(
    r"\.to_?[sS]tring\(|\.ToString\(|\b(?:str|repr|format|String)\(|\bformat!\(|\.to_s\b|\.inspect\b|\.(?:String|Error|getMessage)\(\)|\.message\b"
)


def is_about_changed_text(oracle: Oracle, change: Change) -> bool:
    """Whether it compares with a text, and the change rewrites that text or the function that renders it."""
    text = oracle.text[:_LONGEST]
    expected = _literals(text)
    if not expected:
        return False
    if _RENDERED.search(text) is not None and change.once(_changes_rendering):
        return True
    return any(_shares(one, other) for one in expected for other in change.once(_removed_literals))


def _changes_rendering(change: Change) -> bool:
    """Whether a line of the code is gone from a function that turns a value into text."""
    return any(_removes_from_rendering(file) for file in change.production())


def _removes_from_rendering(file: ChangedFile) -> bool:
    removed = {line.base_line for line in file.diff.removed}
    functions = (function for source in base_sources(file) for function in functions_of(source)) if removed else ()
    return any(
        not removed.isdisjoint(range(function.first, function.last + 1))
        for function in functions
        if _RENDERING.fullmatch(function.name)
    )


def _removed_literals(change: Change) -> tuple[frozenset[str], ...]:
    """The words of each text that the change takes out of the code and does not put back."""
    added = {words for file in change.production() for text in file.diff.added_texts for words in _literals(text)}
    gone = (words for file in change.production() for text in file.diff.removed_texts for words in _literals(text))
    return tuple(words for words in dict.fromkeys(gone) if words not in added)


def _literals(text: str) -> list[frozenset[str]]:
    """The words of each literal of several words."""
    found = (_WORD.findall("".join(parts)) for parts in _LITERAL.findall(text[:_LONGEST]))
    return [frozenset(words) for words in found if len(words) > 1]


def _shares(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the shorter text is mostly part of the longer one."""
    return 2 * len(one & other) > min(len(one), len(other))
