"""Comments that say, in added production code, that work is not done.

Does not flag every TODO: most of them name an idea for later. Invariant: only suspicions, each at its line,
and none for a line that was only moved.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from worker.domain.verdict import Category, Finding
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import Language

UNFINISHED: Final = "unfinished_todo"

_LONGEST: Final = 1_000
_MOST: Final = 10
_COMMENT: Final = re.compile(r"(?://|#|/\*|^\s*\*)\s*(.*)")
_UNDONE: Final = re.compile(
    r"\b(todo|fixme|xxx)\b.{0,60}?\b(implement|finish|complete the|remaining|missing|handle|not (yet )?(done|handled|supported)|wire|fill in"
    r"|actual(ly)?|real (implementation|logic)|placeholder|stub|add (the )?(logic|support|implementation|handling))"
    r"|\bnot (yet )?implemented( yet)?\b|\b(this is|just|only|for now,?) (a |an )?(stub|placeholder|dummy)\b"
    r"|\bplaceholder (implementation|for now|until)\b|\bdummy implementation\b|\bimplement (this|me|later)\b",
    re.IGNORECASE,
)


def leftovers(change: Change) -> Iterator[Finding]:
    """Find comments that admit unfinished work."""
    for file in change.production():
        yield from islice(_in_file(file, change), _MOST)


def _in_file(file: ChangedFile, change: Change) -> Iterator[Finding]:
    for line in file.diff.added:
        comment = _COMMENT.search(line.text[:_LONGEST])
        if comment is None or not _UNDONE.search(comment[1]) or line.text.strip() in change.removed_texts:
            continue
        if file.language is Language.RUST and comment[0].startswith("#"):
            continue  # an attribute
        yield Finding(
            signal=UNFINISHED,
            category=Category.HALF_FINISHED,
            fact=False,
            path=file.path,
            line=line.head_line,
            note=f"a comment says that work is left: {' '.join(comment[1].split())[:120]}",
        )
