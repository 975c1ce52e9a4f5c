"""What is left in a test where a check was: an empty branch, a check said twice, words that announce one.

Does not ask whether the rest of the test proves anything. Invariant: what calls something may mean to do it twice, and a comment
that says why nothing is checked announces nothing.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import SCRIPTS, Language
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.syntax import consequence_of, is_comment, outermost, text_of
from worker.judge.heuristics.weak_test.looks import Look, looks

if TYPE_CHECKING:
    from tree_sitter import Node

_BRANCHES: Final = frozenset({"if_statement", "if_expression"})
_DECIDING: Final = {
    Language.RUST: ("if_expression",),
    **dict.fromkeys((Language.PYTHON, Language.GO, Language.JAVA, *SCRIPTS), ("if_statement",)),
}
_CALLS: Final = pattern(r"([A-Za-z_]\w*)!?\(")
_CHECKS: Final = pattern(
    r"(?:expect|assert|require|verify|to|is|be|has|that|then|eq|equal|same|not|should|error|no)\w*", 2
)


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_branch_empty(change: Change) -> Iterator[Place]:
    """A new test decides between cases and does nothing in any of them.

    False alarms: 0 of 22175 clean changes with tests (0.0 %, at most 0.02 %).
    """
    for look in _new(change):
        language, first = look.test.source.language, look.test.source.first
        for node in look.test.source.nodes.find(_DECIDING[language], look.test.body) if language in _DECIDING else ():
            is_outermost = node.parent is None or node.parent.type not in _BRANCHES | {"else_clause"}
            if is_outermost and _is_empty(node):
                line = node.start_point.row + first
                yield Place(f"`{look.test.name}` decides between cases and checks none of them", look.file.path, line)


def _new(change: Change) -> Iterator[Look]:
    return (look for look in looks(change) if look.is_new and not look.is_cut)


def _is_empty(branch: "Node") -> bool:
    """Whether nothing is done where its condition holds, nor where it does not."""
    inside = consequence_of(branch)
    others = branch.children_by_field_name("alternative")
    return inside is not None and _does_nothing(inside) and all(map(_is_empty_otherwise, others))


def _is_empty_otherwise(other: "Node") -> bool:
    if other.type in _BRANCHES or other.type == "elif_clause":
        return _is_empty(other)
    blocks = other.named_children if other.type == "else_clause" else [other]
    return all(_is_empty(one) if one.type in _BRANCHES else _does_nothing(one) for one in blocks)


def _does_nothing(block: "Node") -> bool:
    return all(is_comment(one) or text_of(one) in {"pass", "...", ";"} for one in block.named_children) and not (
        block.named_child_count == 0 and "{" not in text_of(block)
    )


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def assertion_repeated(change: Change) -> Iterator[Place]:
    """A new test checks the same twice in a row, where nothing happens in between.

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for look in _new(change):
        for oracle in look.oracles:
            here = _statement(oracle.node)
            before = here.prev_named_sibling
            is_same = before is not None and text_of(before) == text_of(here)
            if is_same and all(map(_CHECKS.fullmatch, _CALLS.findall(text_of(here)))):
                line = here.start_point.row + look.test.source.first
                yield Place(f"`{look.test.name}` checks the same as the line before", look.file.path, line)


def _statement(node: "Node") -> "Node":
    """The whole line of a block that the check is."""
    return outermost(node, lambda around: around.start_byte == node.start_byte and around.type not in _BLOCKS)


_BLOCKS: Final = frozenset({"block", "statement_block", "module", "source_file", "program", "statement_list"})


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def check_announced_only(change: Change) -> Iterator[Place]:
    """A new test ends in a comment that announces a check, or stands above one elsewhere, and no check follows.

    False alarms: 13 of 22175 clean changes with tests (0.1 %, at most 0.10 %).
    """
    for look in _new(change):
        last = _last(look.test.body)
        if last is None or not is_comment(last):
            continue
        begun = look.test.source.lines[last.start_point.row].encode()[: last.start_point.column]
        is_announcing = _ANNOUNCES.match(text_of(last)) and not _EXPLAINS.search(text_of(last))
        if not begun.strip() and (is_announcing or text_of(last).strip() in look.file.once(_above_checks)):
            line = last.start_point.row + look.test.source.first
            yield Place(f"`{look.test.name}` ends where its last comment announces a check", look.file.path, line)


def _above_checks(file: ChangedFile) -> frozenset[str]:
    """Comments of the file with a check in the line below."""
    return frozenset(
        upper.strip()
        for source in file.sources
        for upper, lower in pairwise(source.lines)
        if _COMMENT.match(upper) and _CHECKED.match(lower)
    )


_COMMENT: Final = pattern(r"\s*(?://|#)[^\n]{0,200}\w")
_CHECKED: Final = pattern(
    r"\s*(?:await )?(?:self\.)?(?:assert|expect\(|require\.|t\.(?:is|ok|equal|same|strictEqual)\b)"
)


def _last(body: "Node") -> "Node | None":
    """What stands last in the body, in the outermost block."""
    last = body.named_children[-1] if body.named_children else None
    return last.named_children[-1] if last is not None and last.type == "statement_list" else last


_ANNOUNCES: Final = pattern(
    r"(?:#|//|/\*)[\s*]*+(?:then|and then|now|finally)?[,:]?\s*+(?:then\b|assert|check|verif|expect|ensure|validat|make sure|should\b|must\b|the result|it should)",
    2,
)
_EXPLAINS: Final = pattern(
    r"\b(?:not|no|never|none|nothing|without|n't|pass(?:es)?|succe\w+|reach\w*|panic\w*|throw\w*|rais\w+|crash\w*|hang\w*|done|ok|fine|todo|fixme|disabled|skip\w*|later|above|already|compil\w*|clean\w*|tear\w*)\b|n't\b",
    2,
)
"""It says why the test ends here."""
