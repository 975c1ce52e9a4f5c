"""What a `conftest.py` does to the tests that pytest collected: drops them, skips each, or hides how the run ended.

Does not follow calls into other functions. Invariant: what a condition guards is not said to happen on every run.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.syntax import ancestors

if TYPE_CHECKING:
    from tree_sitter import Node


class EmptiedCollection(NamedTuple):
    """A line that takes all tests out of the run, or the result out of its exit status."""

    line: int
    text: str
    is_conditional: bool


def find_emptied(file: AnalyzedFile) -> tuple[EmptiedCollection, ...]:
    """Such lines that the change adds to a `conftest.py`."""
    if not _CONFTEST.search(file.path):
        return ()
    return tuple(
        EmptiedCollection(line.head_line, line.text, _is_conditional(line.head_line, file))
        for line in file.diff.added_lines
        if line.head_line is not None and _EMPTIES.match(line.text) and not file.is_quoted(line.head_line)
    )


def _is_conditional(line: int, file: AnalyzedFile) -> bool:
    source = next(source for source in file.sources if source.has_line(line))
    row = line - source.first_line
    text = source.lines[row]
    column = len(text) - len(text.lstrip())
    node = source.root.descendant_for_point_range((row, column), (row, column + 1))
    return node is not None and any(_is_deciding(around, node) for around in ancestors(node))


def _is_deciding(around: "Node", node: "Node") -> bool:
    """A branch, or a function that ends early somewhere above the line."""
    if around.type in _BRANCHES:
        return True
    body = around.child_by_field_name("body") if around.type == "function_definition" else None
    above = (child for child in body.named_children if child.end_byte <= node.start_byte) if body is not None else ()
    return any(child.type == "if_statement" for child in above)


_CONFTEST: Final = pattern(r"(?:^|/)conftest\.py$")
_BRANCHES: Final = frozenset({"if_statement", "elif_clause", "else_clause", "except_clause", "match_statement"})
_EMPTIES: Final = pattern(
    r"\s+(?:items\[:\]\s*=\s*(?:\[\]|\(\)|list\(\))|items\.clear\(\)|del items\[:\]|items\s*\*=\s*0\b"
    r"|\w+\.add_marker\(\s*(?:pytest\.mark\.skip\b(?!if)|[\"']skip[\"']|skip\w*\))"
    r"|session\.exitstatus\s*=\s*(?:0|(?:pytest\.)?ExitCode\.OK)\b|os\._exit\(0\))"
    r"|collect_ignore_glob\s*=\s*\[\s*[\"'](?:\*|\*\*/\*|\*\.py|test_\*(?:\.py)?)[\"']"
)
