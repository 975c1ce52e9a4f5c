"""Branches that do nothing: an `if` or `else` of new code without a statement.

Does not look at handlers of exceptions, loops that wait, and arms of a `match`: there, nothing is an answer. Invariant: a
comment in the branch says why it is empty.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile, Source
from worker.judge.heuristics.paths import SCRIPTS, Language
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.syntax import sought, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS: Final = sought(
    {
        Language.PYTHON: ("block",),
        Language.GO: ("block",),
        Language.RUST: ("block",),
        Language.JAVA: ("block",),
        Language.CSHARP: ("block",),
        Language.PHP: ("compound_statement",),
        Language.KOTLIN: ("block",),
        **dict.fromkeys(SCRIPTS, ("statement_block",)),
    }
)
_HEADS: Final = frozenset(
    {
        "if_statement",
        "elif_clause",
        "else_clause",
        "if_expression",
        "for_statement",
        "for_expression",
        "enhanced_for_statement",
        "for_in_statement",
        "with_statement",
    }
)
_IDLE: Final = frozenset({"pass", "..."})
_LONGEST_IDLE: Final = 4


@signal(Category.HALF_FINISHED, Kind.SUSPICION, Looks.PRODUCTION)
def branch_empty(change: Change) -> Iterator[Place]:
    """A branch without a statement in added code, or one whose statements the change took out.

    False alarms: 4 of 4270 clean changes with production code (0.1 %, at most 0.24 %).
    """
    for file in change.production():
        touched = file.added_lines | _behind_removed(file) if file.sources else frozenset[int]()
        for source in file.sources if touched else ():
            for block, head in _empty(source):
                lines = range(head.start_point.row + source.first, block.end_point.row + source.first + 1)
                if any(line in touched for line in lines[1:] or lines) and not _was_there(source, head, change):
                    yield Place("this branch does nothing", file.path, lines[0], lines[-1])


def _was_there(source: Source, head: "Node", change: Change) -> bool:
    """Its first line stood in the change before: moved, or indented."""
    return source.lines[head.start_point.row].strip() in change.removed_texts


def _empty(source: Source) -> Iterator[tuple["Node", "Node"]]:
    types = _BLOCKS.get(source.language)
    for block in () if types is None else source.nodes.find(types):
        head = block.parent if _says_nothing(block, source.language) else None
        if head is not None and head.type in _HEADS and not head.has_error:
            yield block, _start(block, head)


def _says_nothing(block: "Node", language: Language) -> bool:
    if language is Language.PYTHON:
        is_short = block.end_byte - block.start_byte <= _LONGEST_IDLE  # all others need not be read
        return is_short and block.named_child_count == 1 and text_of(block) in _IDLE and not _has_a_comment(block)
    return block.named_child_count == 0


def _has_a_comment(block: "Node") -> bool:
    """Python's comments stand beside a block."""
    before, behind = block.prev_sibling, block.next_sibling
    return any(one is not None and one.type == "comment" for one in (before, behind))


def _start(block: "Node", head: "Node") -> "Node":
    """Where the branch begins: an `else` of C-like languages is a child of its `if`."""
    before = block.prev_sibling
    return before if before is not None and before.type == "else" else head


def _behind_removed(file: ChangedFile) -> frozenset[int]:
    """Lines of the head version right after which something was removed."""
    found: set[int] = set()
    for hunk in file.diff.hunks:
        last = hunk.head_start - 1
        for line in hunk.lines:
            if line.head_line is not None:
                last = line.head_line
            else:
                found.add(last + 1)
    return frozenset(found)
