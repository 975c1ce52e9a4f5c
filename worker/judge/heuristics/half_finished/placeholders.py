"""Values that hold the place of real ones: `"CHANGEME"`, a literal that a comment calls a dummy.

Goes line by line, and looks only at what the line itself says. Invariant: a value is told only where it is assigned, handed
over or returned; that a program speaks of placeholders says nothing.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.signal import Kind, Looks, Place, signal

_LONGEST: Final = 300
_MOST: Final = 5
_LITERAL: Final = pattern(
    r"(?:\breturn|[^=!<>]=|:|=>|>)\s*(?:[\"'`](?:TODO|FIXME|TBD|CHANGE[-_ ]?ME|REPLACE[-_ ]?ME|FILL[-_ ]?ME(?:[-_ ]IN)?|(?:YOUR|INSERT)[-_ ][\w -]{1,30}[-_ ](?:HERE|KEY|TOKEN)"
    r"|lorem ipsum\b[^\"'`]{0,80}|(?:placeholder|dummy|fake) (?:value|text|data|result|response)|not (?:yet )?implemented(?: yet)?|coming soon)[\"'`]|(?:TODO|Coming soon)(?=</))",
    re.IGNORECASE,
    needs=(
        "todo",
        "fixme",
        "tbd",
        "change",
        "replace",
        "fill",
        "your",
        "insert",
        "lorem",
        "placeholder",
        "dummy",
        "fake",
        "implemented",
        "coming",
    ),
)
_CALLED_SO: Final = pattern(
    r"(?:\breturn|[^=!<>]=|:|,)\s*(?:-?[\d.]+|[\"'`][^\"'`]{0,60}[\"'`]|[\[{][^\n]{0,80}[\]}]|true|false|True|False|None|null|nil)\)?[;,]?\s*(?:#|//|/\*)\s*"
    r"(?:TODO:?\s*)?(?:(?:a |just a |only a )?(?:placeholder|dummy|fake value|fake data|hard-?coded)\b(?! (?:text|for the|attribute))|(?:replace|change) (?:this|with|me)\b|(?:real|actual) (?:value|data|one)s? (?:later|to come|goes here)|temporary value)",
    re.IGNORECASE,
    needs=("placeholder", "dummy", "fake", "coded", "replace", "change", "real", "actual", "temporary"),
)


@signal(Category.HALF_FINISHED, Kind.SUSPICION, Looks.PRODUCTION)
def placeholder_value(change: Change) -> Iterator[Place]:
    """An added value that says of itself that it only holds the place of the real one, or a comment beside it does.

    False alarms: 3 of 30051 clean changes with production code (0.0 %, at most 0.03 %).
    """
    for file in change.production():
        for number, text in islice(_lines(file, change), _MOST):
            yield Place(f"a placeholder, not a value: {text.strip()[:80]}", file.path, number)


def _lines(file: ChangedFile, change: Change) -> Iterator[tuple[int | None, str]]:
    may_hold_any = file.language is not None and file.may_show(_LITERAL, _CALLED_SO)
    for line in file.diff.added if may_hold_any else ():
        text = line.text[:_LONGEST]
        if (_LITERAL.search(text) or _CALLED_SO.search(text)) and text.strip() not in change.removed_texts:
            yield line.head_line, text
