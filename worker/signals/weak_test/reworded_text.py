"""Assertions about a text that the change words differently.

Reads names and literals. Does not run the code: a text that is put together in several places is known only in part.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.functions import find_functions
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


def is_about_changed_text(oracle: Assertion, change: CodeChange) -> bool:
    """Whether it compares with a text, and the change rewrites that text or the function that renders it."""
    text = oracle.text[:_LONGEST]
    expected = _find_literals(text)
    if not expected:
        return False
    if _RENDERED.search(text) is not None and change.cached(_has_changed_rendering):
        return True
    return any(
        _is_mostly_part(literal, other) for literal in expected for other in change.cached(_find_removed_literals)
    )


def _has_changed_rendering(change: CodeChange) -> bool:
    """Whether a line of the code is gone from a function that turns a value into text."""
    return any(_has_removed_rendering(file) for file in change.production_files())


def _has_removed_rendering(file: AnalyzedFile) -> bool:
    removed = {line.base_line for line in file.diff.removed_lines}
    functions = (function for source in base_sources(file) for function in find_functions(source)) if removed else ()
    return any(
        not removed.isdisjoint(range(function.first_line, function.last_line + 1))
        for function in functions
        if _RENDERING.fullmatch(function.name)
    )


def _find_removed_literals(change: CodeChange) -> tuple[frozenset[str], ...]:
    """The words of each text that the change takes out of the code and does not put back."""
    added = {
        literal
        for file in change.production_files()
        for text in file.diff.added_texts
        for literal in _find_literals(text)
    }
    gone = (
        literal
        for file in change.production_files()
        for text in file.diff.removed_texts
        for literal in _find_literals(text)
    )
    return tuple(literal for literal in dict.fromkeys(gone) if literal not in added)


def _find_literals(text: str) -> list[frozenset[str]]:
    """The words of each literal of several words."""
    literals = (_WORD.findall("".join(parts)) for parts in _LITERAL.findall(text[:_LONGEST]))
    return [frozenset(literal) for literal in literals if len(literal) > 1]


def _is_mostly_part(left: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the shorter text is mostly part of the longer one."""
    return 2 * len(left & other) > min(len(left), len(other))
