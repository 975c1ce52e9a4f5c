"""The list items of a commit's message that say what it does: what a merged change is known to meet.

Reads Markdown, not meaning. Invariant: no item is a box to tick, a merge, a bare list of files or hashes, or shorter than LEAST_WORDS.
"""

import re
from typing import Final

from bench.mining.history import Commit
from worker.dossier.criteria import ListItem, listed_criteria, parse_outline

LEAST_WORDS: Final = 3
PLACE: Final = re.compile(r"[\w.@-]*[\w@.-]/[\w./@-]+|[\w-]+\.[a-z]{1,4}(?::\d+)?|[0-9a-f]{7,40}|#\d+|https?://\S+")
WORD: Final = re.compile(r"[^\W\d_]{2,}")
STEP_OF_HISTORY: Final = re.compile(r"(?:merge|revert) |\w+(?:-\w+)*-by:", re.IGNORECASE)


def listed_items(commit: Commit) -> tuple[str, ...]:
    """The items, each on one line, in order and without repetition."""
    items = (
        " ".join(part.text.split())
        for part in parse_outline(commit.body)
        if isinstance(part, ListItem) and not part.is_task and not STEP_OF_HISTORY.match(part.text)
    )
    return tuple(dict.fromkeys(item for item in items if _count_words(item) >= LEAST_WORDS))


def as_criteria(items: tuple[str, ...]) -> str:
    """The text of an issue that asks for exactly these items; empty where its own marks would make other criteria of them."""
    text = "## Acceptance criteria\n\n" + "".join(f"- {item}\n" for item in items)
    return text if len(listed_criteria(text)) == len(items) else ""


def _count_words(item: str) -> int:
    """The words of an item that are neither a path nor the name of a commit or an issue."""
    tokens = (token.strip("`'\"()[],;:*") for token in item.split())
    return sum(WORD.search(token) is not None and PLACE.fullmatch(token) is None for token in tokens)
