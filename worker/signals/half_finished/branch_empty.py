"""Branches that do nothing: an `if` or `else` of new code without a statement, arms that the change emptied, stubs in place of work.

Handlers of exceptions, loops that wait and new arms of a `match` are left out: there, nothing is an answer. A comment in the
branch explains it, and a stub counts only in a branch whose statements it replaced.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import descendants, is_comment, register_types, text_of
from worker.signals.half_finished.stub_body import STOP_PATTERN, is_unwritten
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS: Final = register_types(
    {
        **dict.fromkeys((Language.PYTHON, Language.GO, Language.RUST, Language.JAVA), ("block",)),
        **dict.fromkeys((Language.CSHARP, Language.KOTLIN), ("block",)),
        Language.PHP: ("compound_statement",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("statement_block",)),
    }
)
_HEADS: Final = frozenset(
    {"if_statement", "if_expression", "elif_clause", "else_clause", "for_statement", "for_expression"}
    | {"enhanced_for_statement", "for_in_statement", "with_statement"}
)
_IDLE: Final = frozenset({"pass", "..."})
_LONGEST_IDLE: Final = 4
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
_HEAD: Final = pattern(r"(?:=>|->|[:{])\s*$|^when\b[^\n]*\s*$")
"""What an arm matches, up to its statements."""
_HEAD_ENDS: Final = pattern(r"=>|->|[:{]\s*(?:\}|pass|\.\.\.|break;?)?\s*$")
_ARM_START: Final = pattern(r"(?:case|default|when|else)\b|[^()]{0,200}=>")
_CONDITION: Final = pattern(r".{1,200}?(?:=>|->|(?<!:):(?![:=]))")
_SEPARATORS: Final = str.maketrans("", "", ", ")
_BOUND: Final = pattern(r"\b(?:\w+, )?\w+ :?= ?(?=<-)|(?<=[(,{ ])(?:ref |mut )*[a-z_]\w*(?=[),} ])|(?<=[(,{ ])\.\.")
_HAS_WORD: Final = pattern(r"\w")
_WORKING_STATEMENT: Final = pattern(
    r"(?!(?:raise|throw|panic|todo|unimplemented|TODO|pass|break|continue)\b|return(?: None)?;?$|//|#|/?\*).*\w"
)
"""A statement that does something: neither a refusal nor a comment."""


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def branch_empty(change: CodeChange) -> Iterator[SignalMatch]:
    """A branch without a statement in added code, or one (an arm, too) whose statements the change took out or replaced by a stub.

    Why it matters: The case is told apart, and then nothing is done about it.
    Example: `if expired: pass`
    False alarms: 64 of 30051 clean changes with production code (0.2 %, at most 0.27 %).
    """
    for file in change.production_files():
        behind_removed = (line + 1 for line in _find_removed_behind(file)) if file.sources else ()
        touched = file.added_lines.union(behind_removed)
        stops = [line.head_line or 0 for line in file.diff.added_lines_matching(STOP_PATTERN.search)] if touched else []
        for source in file.sources if touched else ():
            for block, head in _find_empty(source):
                lines = range(head.start_point.row + source.first_line, block.end_point.row + source.first_line + 1)
                is_old = source.lines[head.start_point.row].strip() in change.removed_texts
                if any(line in touched for line in lines[1:] or lines) and not is_old:
                    yield SignalMatch("this branch does nothing", file.path, lines[0], lines[-1])
            yield from _find_emptied_arms(file, source)
            yield from _find_stubbed(file, source, stops)


def _find_empty(source: Source) -> Iterator[tuple["Node", "Node"]]:
    for block in source.nodes.find(_BLOCKS.get(source.language, ())):
        is_empty, head = block.named_child_count == 0, block.parent
        if source.language is Language.PYTHON:
            is_short = block.end_byte - block.start_byte <= _LONGEST_IDLE and block.named_child_count == 1
            siblings = filter(None, (block.prev_sibling, block.next_sibling))  # where Python's comments stand
            is_empty = is_short and text_of(block) in _IDLE and all(near.type != "comment" for near in siblings)
        if is_empty and head is not None and head.type in _HEADS and not head.has_error:
            yield block, _find_start(block, head)


def _find_start(block: "Node", head: "Node") -> "Node":
    """Where the branch begins: an `else` of C-like languages is a child of its `if`."""
    before = block.prev_sibling
    return before if before is not None and before.type == "else" else head


def _find_emptied_arms(file: AnalyzedFile, source: Source) -> Iterator[SignalMatch]:
    """Arms without a statement, from which the change removed one."""
    arms = source.nodes.find(_ARMS.get(source.language, ())) if _find_removed_behind(file) else []
    for arm in filter(_is_empty_arm, arms):
        first, last = arm.start_point.row + source.first_line, arm.end_point.row + source.first_line
        lines = source.lines[arm.start_point.row : arm.end_point.row + 1]
        if any(_find_lost_statements(lines, first, file)):
            yield SignalMatch("this arm does nothing since its statements were taken out", file.path, first, last)


def _is_empty_arm(arm: "Node") -> bool:
    """Whether it has no statement behind what it matches, no comment, and no neighbour that it falls through to."""
    if arm.has_error or any(is_comment(child) for child in descendants(arm)):
        return False
    if arm.type == "token_tree":
        before = arm.prev_sibling
        return text_of(arm) == "{}" and before is not None and before.type == "=>"
    if arm.type == "when":
        return arm.child_by_field_name("body") is None
    condensed, behind = "".join(text_of(arm).split()), arm.next_named_sibling
    can_fall_through = condensed.endswith(":") and arm.type in _FALLING
    falls_through = can_fall_through and behind is not None and behind.type in {arm.type, "switch_default"}
    return _IDLE_ARM.search(condensed) is not None and not falls_through


def _find_stubbed(file: AnalyzedFile, source: Source, stops: list[int]) -> Iterator[SignalMatch]:
    """Branches that only say on one of the lines *stops* that they are not written, and that lost statements."""
    for start, node, body in _find_branches(source) if any(map(source.has_line, stops)) else ():
        first, last = start.start_point.row + source.first_line, node.end_point.row + source.first_line
        is_stopped = any(first <= number <= last for number in stops)
        if not is_stopped or not is_unwritten(" ".join(body.split()).strip("{}; ,")):
            continue
        lines = source.lines[start.start_point.row : max(start.start_point.row + 1, node.end_point.row)]
        if any(map(_WORKING_STATEMENT.match, _find_lost_statements(lines, first, file))):
            note = "this branch only says that it is not written, and what it did is taken out"
            yield SignalMatch(note, file.path, first, last)


def _find_branches(source: Source) -> Iterator[tuple["Node", "Node", str]]:
    """Where each branch begins, the node that ends it, and the text of what it does."""
    for arm in source.nodes.find(_ARMS.get(source.language, ())):
        does = STOP_PATTERN.search(text := text_of(arm))
        if does is not None and _HEAD.search(text[: does.start()]):
            yield arm, arm, text[does.start() :]
    for block in source.nodes.find(_BLOCKS.get(source.language, ())):
        if block.parent is not None and block.parent.type in _HEADS:
            yield _find_start(block, block.parent), block, text_of(block)


def _find_lost_statements(lines: list[str], first: int, file: AnalyzedFile) -> Iterator[str]:
    """Statements that the change removed from the arm on *lines*, and that the file holds nowhere now."""
    removed, kept = _find_removed_behind(file), _head_texts(file)
    head = next((at for at, line in enumerate(lines) if _HEAD_ENDS.search(line)), 0)
    runs = [removed.get(first + at, []) for at in range(head, len(lines))]
    for run in (*runs, _find_earlier_statements(lines[0].strip(), first, file)):
        statements = takewhile(lambda text: not _ARM_START.match(text), run)
        yield from (text for text in statements if text not in kept)


def _find_earlier_statements(text: str, number: int, file: AnalyzedFile) -> list[str]:
    """The removed lines above this added line that stood behind the same condition."""
    condition = _CONDITION.match(text)
    above = number
    while above in file.added_lines:
        above -= 1
    replaced = _find_removed_behind(file).get(above, []) if above < number else []
    for at, line in enumerate(replaced):
        was = _CONDITION.match(line)
        if condition is not None and was is not None and _strip_bindings(was[0]) == _strip_bindings(condition[0]):
            rest = line.removeprefix(was[0])
            return [rest.strip(), *replaced[at + 1 :]] if _HAS_WORD.search(rest) else replaced[at + 1 :]
    return []


def _strip_bindings(condition: str) -> str:
    """The condition without the names that it binds: an empty arm does not use them, and some compilers forbid that."""
    return _BOUND.sub("", condition).translate(_SEPARATORS)


@memoized
def _find_removed_behind(file: AnalyzedFile) -> dict[int, list[str]]:
    """The removed lines that hold a word, by the line of the head version that they stood behind; each such line is a key."""
    removed = defaultdict[int, list[str]](list)
    for hunk in file.diff.hunks:
        last = hunk.head_start - 1
        for line in hunk.lines:
            if line.head_line is None:
                removed[last].append(line.text.strip())
            else:
                last = line.head_line
    return {line: [text for text in texts if _HAS_WORD.search(text)] for line, texts in removed.items()}


@memoized
def _head_texts(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(text.strip() for text in file.visible_text.split("\n"))
