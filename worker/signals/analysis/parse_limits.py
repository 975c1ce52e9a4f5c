"""Texts and trees that nobody wrote to be read: to go through them takes far more work than they are long.

Does not parse. Invariant: each answer takes as long as the text or the tree is large, whatever it holds.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_WORDS: Final = 5_000
"""In one line. A grammar that does not understand a line tries every way to go on in it, which takes the square of its words.

Of 18,000 real files none had more.
"""

_WORD: Final = pattern(rb"\w+|[^\w\s]+")


def has_endless_line(raw: bytes) -> bool:
    """Whether a line holds more words than anybody reads; a long text in quotes is a few words."""
    long = [line for line in raw.splitlines() if len(line) > MOST_WORDS]
    return any(sum(1 for _ in _WORD.finditer(line)) > MOST_WORDS for line in long)


DEEPEST: Final = 250
"""Nodes in nodes that we walk through: to find a node's parent takes as long as the tree is deep.

Of 5,300 real files none was deeper than 81.
"""

_STRIDE: Final = 50


def is_too_deep(root: "Node") -> bool:
    """Whether some node has more than DEEPEST above it; true already of some trees that are less deep by a stride.

    From one node to the next, in the order of the text, it goes down by one at most: to look at some of them is enough.
    """
    cursor = root.walk()
    for at in range(0, root.descendant_count, _STRIDE):
        cursor.goto_descendant(at)
        if cursor.depth > DEEPEST - _STRIDE:
            return True
    return False


LONGEST_ROW: Final = 500
"""Signs in a row that no grammar made anything of: to search them takes the square of their number, each time.

Of 6,600 real files and 22,000 parts of some none had more than 34.
"""


def has_endless_row(root: "Node") -> bool:
    """Whether a node of a tree with an error has more than LONGEST_ROW children in a row without a name."""
    top = root.walk().node if root.has_error else None
    wide = [] if top is None else [top]
    while wide:
        row = 0
        for child in wide.pop().children:
            row = 0 if child.is_named else row + 1
            if row > LONGEST_ROW:
                return True
            if child.has_error and child.descendant_count > LONGEST_ROW:
                wide.append(child)
    return False
