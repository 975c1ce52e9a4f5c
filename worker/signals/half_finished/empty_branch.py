"""Branches that do nothing: an `if` or `else` of new code without a statement, arms that the change emptied, stubs in place of work.

Does not look at handlers of exceptions and loops that wait, nor at new arms of a `match`: there, nothing is an answer.
Invariant: a comment in the branch says why it is empty, and a stub is held against a branch whose work it took the place of.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import descendants, is_comment, register_types, text_of
from worker.signals.half_finished.stub_body import STOP_PATTERN, is_unwritten
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS: Final = register_types(
    {
        Language.PYTHON: ("block",),
        Language.GO: ("block",),
        Language.RUST: ("block",),
        Language.JAVA: ("block",),
        Language.CSHARP: ("block",),
        Language.PHP: ("compound_statement",),
        Language.KOTLIN: ("block",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("statement_block",)),
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


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def branch_empty(change: CodeChange) -> Iterator[SignalMatch]:
    """A branch without a statement in added code, or one (an arm, too) whose statements the change took out or replaced by a stub.

    False alarms: 64 of 30051 clean changes with production code (0.2 %, at most 0.27 %).
    """
    for file in change.production_files():
        touched = file.added_lines | _lines_behind_removed(file) if file.sources else frozenset[int]()
        for source in file.sources if touched else ():
            for block, head in _find_empty(source):
                lines = range(head.start_point.row + source.first_line, block.end_point.row + source.first_line + 1)
                if any(line in touched for line in lines[1:] or lines) and not _is_old(source, head, change):
                    yield SignalMatch("this branch does nothing", file.path, lines[0], lines[-1])
            yield from _find_emptied_arms(file, source)
            yield from _find_stubbed(file, source)


def _find_emptied_arms(file: AnalyzedFile, source: Source) -> Iterator[SignalMatch]:
    """Arms without a statement, out of which the change took one that stands nowhere in the file now."""
    types = _ARMS.get(source.language)
    removed = file.cached(_find_removed_behind) if types is not None else {}
    if types is None or not removed:
        return
    for arm in source.nodes.find(types):
        if _is_empty_arm(arm):
            first, last = arm.start_point.row + source.first_line, arm.end_point.row + source.first_line
            gone = _find_removed_statements(
                source.lines[first - source.first_line : last - source.first_line + 1], first, file
            )
            if any(text not in file.cached(_head_texts) for text in gone):
                yield SignalMatch("this arm does nothing since its statements were taken out", file.path, first, last)


def _find_stubbed(file: AnalyzedFile, source: Source) -> Iterator[SignalMatch]:
    """Branches that only say that they are not written, where statements stood that stand nowhere in the file now."""
    stops = [
        number
        for number in file.cached(_find_stop_lines)
        if source.first_line <= number < source.first_line + len(source.lines)
    ]
    for start, node, body in _find_branches(source) if stops else ():
        first, last = start.start_point.row + source.first_line, node.end_point.row + source.first_line
        if not any(first <= number <= last for number in stops):
            continue
        if not is_unwritten(" ".join(body.split()).strip("{}; ,")):
            continue
        gone = _find_removed_statements(
            source.lines[first - source.first_line : max(first + 1, last) - source.first_line], first, file
        )
        if any(_WORKING_STATEMENT.match(text) and text not in file.cached(_head_texts) for text in gone):
            yield SignalMatch(
                "this branch only says that it is not written, and what it did is taken out", file.path, first, last
            )


def _find_stop_lines(file: AnalyzedFile) -> tuple[int, ...]:
    return tuple(line.head_line for line in file.diff.added_lines if line.head_line and STOP_PATTERN.search(line.text))


def _find_branches(source: Source) -> Iterator[tuple["Node", "Node", str]]:
    """Where each branch begins, the node that ends it, and the text of what it does."""
    arms, blocks = _ARMS.get(source.language), _BLOCKS.get(source.language)
    for arm in () if arms is None else source.nodes.find(arms):
        does = STOP_PATTERN.search(text := text_of(arm))
        if does is not None and _HEAD.search(text[: does.start()]):
            yield arm, arm, text[does.start() :]
    for block in () if blocks is None else source.nodes.find(blocks):
        if block.parent is not None and block.parent.type in _HEADS:
            yield _find_start(block, block.parent), block, text_of(block)


_HEAD: Final = pattern(r"(?:=>|->|[:{])\s*$|^when\b[^\n]*\s*$")
"""What an arm matches, and nothing behind it."""


def _find_removed_statements(lines: list[str], first: int, file: AnalyzedFile) -> Iterator[str]:
    """The statements that the change removed from the arm of these lines, behind what it matches."""
    removed = file.cached(_find_removed_behind)
    head = next((at for at, line in enumerate(lines) if _HEAD_ENDS.search(line)), 0)
    runs = [removed.get(first + at, []) for at in range(head, len(lines))]
    for run in (*runs, _find_earlier_statements(lines[0].strip(), first, file)):
        yield from takewhile(lambda text: not _ARM_START.match(text), run)


def _find_earlier_statements(text: str, number: int, file: AnalyzedFile) -> list[str]:
    """What stood behind the same condition as that of this added line, in the removed lines above it."""
    condition = _CONDITION.match(text)
    above = number
    while above in file.added_lines:
        above -= 1
    replaced = file.cached(_find_removed_behind).get(above, []) if above < number else []
    for at, line in enumerate(replaced):
        was = _CONDITION.match(line)
        if condition is not None and was is not None and _strip_bindings(was[0]) == _strip_bindings(condition[0]):
            rest = line.removeprefix(was[0])
            return [rest.strip(), *replaced[at + 1 :]] if _HAS_WORD.search(rest) else replaced[at + 1 :]
    return []


def _strip_bindings(condition: str) -> str:
    """The condition without the names that it binds: an arm that does nothing has no use for them, and some compilers forbid them."""
    return _BOUND.sub("", condition).translate(_SEPARATORS)


_SEPARATORS: Final = str.maketrans("", "", ", ")
_BOUND: Final = pattern(r"\b(?:\w+, )?\w+ :?= ?(?=<-)|(?<=[(,{ ])(?:ref |mut )*[a-z_]\w*(?=[),} ])|(?<=[(,{ ])\.\.")
_CONDITION: Final = pattern(r".{1,200}?(?:=>|->|(?<!:):(?![:=]))")
_HEAD_ENDS: Final = pattern(r"=>|->|[:{]\s*(?:\}|pass|\.\.\.|break;?)?\s*$")
_ARM_START: Final = pattern(r"(?:case|default|when|else)\b|[^()]{0,200}=>")


def _is_empty_arm(arm: "Node") -> bool:
    """No statement behind what it matches, no comment, and no neighbour that it falls through to."""
    if arm.has_error or any(is_comment(child) for child in descendants(arm)):
        return False
    if arm.type == "token_tree":
        before = arm.prev_sibling
        return text_of(arm) == "{}" and before is not None and before.type == "=>"
    if arm.type == "when":
        return arm.child_by_field_name("body") is None
    condensed = "".join(text_of(arm).split())
    return _IDLE_ARM.search(condensed) is not None and not (condensed.endswith(":") and _is_falling_through(arm))


def _is_falling_through(arm: "Node") -> bool:
    behind = arm.next_named_sibling
    return arm.type in _FALLING and behind is not None and behind.type in {arm.type, "switch_default"}


def _find_removed_behind(file: AnalyzedFile) -> dict[int, list[str]]:
    """By the line of the head version that they stood behind, the lines that the change took out."""
    behind = defaultdict[int, list[str]](list)
    for hunk in file.diff.hunks:
        last = hunk.head_start - 1
        for line in hunk.lines:
            if line.head_line is None:
                behind[last].append(line.text.strip())
            else:
                last = line.head_line
    return {line: [text for text in texts if _HAS_WORD.search(text)] for line, texts in behind.items()}


_HAS_WORD: Final = pattern(r"\w")
_WORKING_STATEMENT: Final = pattern(
    r"(?!(?:raise|throw|panic|todo|unimplemented|TODO|pass|break|continue)\b|return(?: None)?;?$|//|#|/?\*).*\w"
)
"""A statement that does something: neither a refusal nor a comment."""


def _head_texts(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(text.strip() for text in file.visible_text.split("\n"))


_ARMS: Final = register_types(
    {
        Language.PYTHON: ("case_clause",),
        Language.GO: ("expression_case", "type_case", "communication_case"),
        Language.RUST: ("match_arm", "token_tree"),
        Language.JAVA: ("switch_block_statement_group", "switch_rule"),
        Language.CSHARP: ("switch_section",),
        Language.PHP: ("case_statement",),
        Language.KOTLIN: ("when_entry",),
        Language.RUBY: ("when",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("switch_case",)),
    }
)
_FALLING: Final = frozenset({"switch_block_statement_group", "switch_case", "switch_section", "case_statement"})
_IDLE_ARM: Final = pattern(r"(?::(?:pass|\.\.\.|break;?)?|=>(?:\{\}|\(\)),?|->\{\}|\{(?:break;?)?\})$")


def _is_old(source: Source, head: "Node", change: CodeChange) -> bool:
    """Its first line stood in the change before: moved, or indented."""
    return source.lines[head.start_point.row].strip() in change.removed_texts


def _find_empty(source: Source) -> Iterator[tuple["Node", "Node"]]:
    types = _BLOCKS.get(source.language)
    for block in () if types is None else source.nodes.find(types):
        head = block.parent if _is_empty_block(block, source.language) else None
        if head is not None and head.type in _HEADS and not head.has_error:
            yield block, _find_start(block, head)


def _is_empty_block(block: "Node", language: Language) -> bool:
    if language is Language.PYTHON:
        is_short = block.end_byte - block.start_byte <= _LONGEST_IDLE  # all others need not be read
        return is_short and block.named_child_count == 1 and text_of(block) in _IDLE and not _has_a_comment(block)
    return block.named_child_count == 0


def _has_a_comment(block: "Node") -> bool:
    """Python's comments stand beside a block."""
    before, behind = block.prev_sibling, block.next_sibling
    return any(sibling is not None and sibling.type == "comment" for sibling in (before, behind))


def _find_start(block: "Node", head: "Node") -> "Node":
    """Where the branch begins: an `else` of C-like languages is a child of its `if`."""
    before = block.prev_sibling
    return before if before is not None and before.type == "else" else head


def _lines_behind_removed(file: AnalyzedFile) -> frozenset[int]:
    """Lines of the head version right after which something was removed."""
    lines: set[int] = set()
    for hunk in file.diff.hunks:
        last = hunk.head_start - 1
        for line in hunk.lines:
            if line.head_line is not None:
                last = line.head_line
            else:
                lines.add(last + 1)
    return frozenset(lines)
