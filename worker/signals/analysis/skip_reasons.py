"""Whether what takes a test away states its reason: in the text that a skip is given, or in an added comment beside it.

Does not judge the reason: whether it is a good one is for the model or a person. Invariant: a text that only says that the test
is skipped, or that something is left to do, is no reason.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import ChangedFile, Source
from worker.signals.analysis.file_roles import SCRIPTS

_TEXT: Final = r"\s*(?:\(|=)\s*(?:(?:true|false)\s*,\s*|(?:reason|value)\s*=\s*\(?\s*)?[rbfu]?([\"'`])(?P<reason>(?:(?!\1).){0,300})"
_GIVEN: Final = pattern(rf"\b(?:skip\w*|xfail|ignore|disabled|abort|assume\w*)\b{_TEXT}", re.IGNORECASE)
_GIVEN_IN_A_SCRIPT: Final = pattern(rf"\b(?:this|t|ctx|context|task)\.(?:skip|todo)\b{_TEXT}")
"""The first text of `it.skip(...)` is the test's name."""

_BESIDE: Final = pattern(r"\S\s+(?:#(?!\[)|//|/\*)(?P<reason>.{0,300})")
_ABOVE: Final = pattern(r"\s*(?:#(?!\[)|//|/\*|\*\s)(?P<reason>.{0,300})")
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_SAYS_NOTHING: Final = frozenset(
    [
        "todo",
        "fixme",
        "xxx",
        "wip",
        "skip",
        "skips",
        "skipped",
        "skipping",
        "disable",
        "disabled",
        "ignore",
        "ignored",
        "test",
        "tests",
        "this",
        "it",
        "is",
        "was",
        "for",
        "now",
        "at",
        "the",
        "moment",
        "temporarily",
        "temporary",
        "temp",
        "later",
        "until",
        "fix",
        "fixed",
        "fixme",
        "me",
        "to",
        "be",
        "broken",
        "flaky",
        "fails",
        "failing",
        "fail",
    ]
)
_MOST_ABOVE: Final = 3
_MOST_LINES: Final = 3
"""Lines that a skip with its reason is written on."""


def states_reason(file: ChangedFile, line: int) -> bool:
    """Whether the skip on this *line* of the head says in words why."""
    return is_explained_above(file, line) or any(
        _is_reason(found["reason"])
        for source in file.sources
        if source.holds(line)
        for found in (_given(source, line), _BESIDE.search(source.lines[line - source.first]))
        if found is not None
    )


def _given(source: Source, line: int) -> "re.Match[str] | None":
    given = _GIVEN_IN_A_SCRIPT if source.language in SCRIPTS else _GIVEN
    row = line - source.first
    return given.search(" ".join(source.lines[row : row + _MOST_LINES]))


def is_explained_above(file: ChangedFile, line: int) -> bool:
    """Whether an added comment right above this *line* of the head gives a reason; code in a comment gives none."""
    return any(_is_reason(" ".join(_above(file, source, line))) for source in file.sources if source.holds(line))


def _above(file: ChangedFile, source: Source, line: int) -> Iterator[str]:
    removed = {text.strip() for text in file.diff.removed_texts}
    for number in range(line - 1, max(source.first, line - _MOST_ABOVE) - 1, -1):
        found = _ABOVE.match(source.lines[number - source.first])
        if found is None or number not in file.added_lines:
            return
        if found["reason"].strip() not in removed:
            yield found["reason"]


def _is_reason(text: str) -> bool:
    return len({word.casefold() for word in _WORD.findall(text)} - _SAYS_NOTHING) >= _FEWEST


_FEWEST: Final = 2
"""Telling words of a reason: every skip can carry a single one."""
