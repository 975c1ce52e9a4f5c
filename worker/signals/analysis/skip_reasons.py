"""Whether what takes a test away states its reason: in the text that a skip is given, or in an added comment beside it.

Does not judge the reason: whether it is a good one is for the model or a person. Invariant: a text that only says that the test
is skipped, or that something is left to do, is no reason.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import AnalyzedFile, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES

_TEXT: Final = r"\s*(?:\(|=)\s*(?:(?:true|false)\s*,\s*|(?:reason|value)\s*=\s*\(?\s*)?[rbfu]?([\"'`])(?P<reason>(?:(?!\1).){0,300})"
_REASON_ARGUMENT: Final = pattern(rf"\b(?:skip\w*|xfail|ignore|disabled|abort|assume\w*)\b{_TEXT}", re.IGNORECASE)
_SCRIPT_REASON_ARGUMENT: Final = pattern(rf"\b(?:this|t|ctx|context|task)\.(?:skip|todo)\b{_TEXT}")
"""The first text of `it.skip(...)` is the test's name."""

_REASON_BESIDE: Final = pattern(r"\S\s+(?:#(?!\[)|//|/\*)(?P<reason>.{0,300})")
_REASON_ABOVE: Final = pattern(r"\s*(?:#(?!\[)|//|/\*|\*\s)(?P<reason>.{0,300})")
_WORD: Final = pattern(r"[A-Za-z]{2,}")
_EMPTY_WORDS: Final = frozenset(
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


def has_reason(file: AnalyzedFile, line: int) -> bool:
    """Whether the skip on this *line* of the head says in words why."""
    return is_explained_above(file, line) or any(
        _is_reason(match["reason"])
        for source in file.sources
        if source.has_line(line)
        for match in (
            _find_reason_argument(source, line),
            _REASON_BESIDE.search(source.lines[line - source.first_line]),
        )
        if match is not None
    )


def _find_reason_argument(source: Source, line: int) -> "re.Match[str] | None":
    form = _SCRIPT_REASON_ARGUMENT if source.language in SCRIPT_LANGUAGES else _REASON_ARGUMENT
    row = line - source.first_line
    return form.search(" ".join(source.lines[row : row + _MOST_LINES]))


def is_explained_above(file: AnalyzedFile, line: int) -> bool:
    """Whether an added comment right above this *line* of the head gives a reason; code in a comment gives none."""
    return any(
        _is_reason(" ".join(_comments_above(file, source, line))) for source in file.sources if source.has_line(line)
    )


def _comments_above(file: AnalyzedFile, source: Source, line: int) -> Iterator[str]:
    removed = {text.strip() for text in file.diff.removed_texts}
    for number in range(line - 1, max(source.first_line, line - _MOST_ABOVE) - 1, -1):
        match = _REASON_ABOVE.match(source.lines[number - source.first_line])
        if match is None or number not in file.added_lines:
            return
        if match["reason"].strip() not in removed:
            yield match["reason"]


def _is_reason(text: str) -> bool:
    return len({word.casefold() for word in _WORD.findall(text)} - _EMPTY_WORDS) >= _FEWEST_WORDS


_FEWEST_WORDS: Final = 2
"""Telling words of a reason: every skip can carry a single one."""
