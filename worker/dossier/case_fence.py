"""Finds the fenced block of a description that is the author's case.

Does not read the block (`worker.dossier.case` does). Invariant: a block in a quotation, in an HTML comment (a template's example)
or inside another block is none.
"""

import re
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.markdown import FencedBlock, find_fences

CASE_WORD: Final = "assay"
_DATA_WORDS: Final = frozenset({"", "yaml", "yml", "json", "jsonc", "json5", "text", "txt", "plaintext"})
_CASE_FIELD: Final = pattern(
    r"(?:^|[{,])[\s{,\[-]{0,80}[\"']?(?:ac[ _-]?coverage|addressed[ _-]?by)[\"']?\s*:", re.IGNORECASE | re.MULTILINE
)
"""A field that only a case has, as a key of YAML or JSON."""


def case_fences(body: str) -> tuple[FencedBlock, ...]:
    """The blocks with the word `assay`, or without any of those the blocks of data that hold a case's fields."""
    lower = body.casefold()
    if CASE_WORD not in lower and "coverage" not in lower and "addressed" not in lower:
        return ()
    fences = tuple(find_fences(body))
    named = tuple(fence for fence in fences if fence.info_word.casefold() == CASE_WORD)
    return named or tuple(
        fence for fence in fences if fence.info_word.casefold() in _DATA_WORDS and _CASE_FIELD.search(fence.text)
    )


def case_fence(body: str) -> FencedBlock | None:
    """The block that counts: the last one, since agents append a new case to the description after a reject."""
    return next(reversed(case_fences(body)), None)
