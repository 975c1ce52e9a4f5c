"""Production code written for the literal values of its own tests: a constant answer, a branch for one input, a table.

Every reported literal occurs in a test of the same change, and is a value that is hardly written by chance: no 0, no `true`, no
empty text.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, memoized, memoized_for_family
from worker.signals.analysis.changed_functions import is_declaration, is_extended, is_hook
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.syntax import consequence_of, descendants, is_comment, text_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.tests_pass_but_wrong.test_environment_branch import BRANCHES

_LITERALS: Final = frozenset(
    {"string", "integer", "float", "number", "interpreted_string_literal", "raw_string_literal", "string_literal"}
    | {"int_literal", "float_literal", "integer_literal", "decimal_integer_literal", "decimal_floating_point_literal"}
    | {"template_string", "concatenated_string"}
)
_COLLECTIONS: Final = frozenset(
    {"list", "tuple", "array", "set", "dictionary", "object", "array_expression", "tuple_expression"}
)
_PARTS: Final = frozenset(
    {"pair", "true", "false", "none", "null", "unary_operator", "unary_expression", "string_start", "string_content"}
    | {"string_end", "string_fragment", "escape_sequence", "property_identifier", "interpreted_string_literal_content"}
    | {"comment", "raw_string_literal_content", "parenthesized_expression"}
)
_CONSTANTS: Final = _LITERALS | _COLLECTIONS | _PARTS
_RETURNS: Final = frozenset({"return_statement", "return_expression", "return"})
_WRAPPERS: Final = _RETURNS | frozenset(
    {"expression_statement", "expression_list", "parenthesized_expression", "argument_list", "then"}
)
_TABLES: Final = {Language.PYTHON: ("dictionary",), **dict.fromkeys(SCRIPT_LANGUAGES, ("object",))}
_ANSWERS: Final = pattern(
    r"^[^\S\n]*+(?:return\b|.*=>[^\S\n]*+[\[({\"'`\d]|[\[({\"'`\d-])|\{\s*+return\b", re.MULTILINE
)
_COMPARES: Final = pattern(r"==|\.equals\(")
_PAIRS: Final = pattern(r"[\"'`\d]\s*+:\s*+[\"'`\d-]|^[^\S\n]*+\w++:\s*+[\"'`\d-]", re.MULTILINE)
_LONG: Final = 8
_LITERAL: Final = pattern(
    r"\"(?:[^\"\\\n]|\\.){1,200}\"|'(?:[^'\\\n]|\\.){1,200}'|`[^`\n]{1,200}`|(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?![\w.])"
)
_OPENS: Final = frozenset("[({")
_LONGEST: Final = 1_000
_MOST_LINES: Final = 20_000
_MOST_SHOWN: Final = 40
_WRAPPING_CALL: Final = pattern(r"(?:.*\.(?:to_string|to_owned|into|to_vec)|String::from|Some|Ok|Cow::from)", re.DOTALL)
_NUMBER: Final = pattern(r"[0-9]|10|100|1000|[01]\.0*|\d+[uif]\d+")
"""Numbers that occur anywhere."""
_SELF: Final = frozenset({"self", "cls", "this", "ctx", "context", "args", "kwargs", "mut", "const", "readonly"})
_NAME: Final = pattern(r"[A-Za-z_]\w*")
_CONSTANT_NAME: Final = pattern(
    r"name|type|kind|label|title|version|descri|default|constant|prefix|suffix|path|url|help|format|repr|str$|mock|fake|stub|noop",
    2,
)
_BASE_FIELDS: Final = ("superclasses", "superclass", "interfaces", "trait")
_HERITAGE: Final = frozenset(
    {"class_heritage", "super_interfaces", "base_list", "base_clause", "class_interface_clause"}
    | {"delegation_specifiers"}
)
_ANDS: Final = pattern(r" and | && ")
_VALUE: Final = r"(\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`|-?\d[\d_.]*|[\[(][^\[\]()\n]{3,200}[\])])"
_INPUT: Final = r"[\w.]{1,60}(?:\[[\w'\"]{1,20}\])?(?:\.as_str\(\)|\.trim\(\)|\.strip\(\)|\.to_string\(\))?"
_EQUALS: Final = pattern(
    rf"{_INPUT}\s*={{2,3}}\s*{_VALUE}|{_VALUE}\s*={{2,3}}\s*{_INPUT}|{_VALUE}\.equals\({_INPUT}\)|{_INPUT}\.equals\({_VALUE}\)"
)
_FEWEST: Final = 2
_MOST: Final = 50


@dataclass(frozen=True)
class ExpectedLiterals:
    """The literals of the changed tests, one text for each file: in a joined text one wide character would widen all."""

    texts: tuple[str, ...]

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is none: listing all takes long, and most code needs none of them."""
        return not any(map(_LITERAL.search, self.texts))

    @cached_property
    def _lines(self) -> dict[str, set[int]]:
        """The numbers of the lines with each literal."""
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for number, line in enumerate(line for text in self.texts for line in text.split("\n")):
            for literal in _LITERAL.findall(line):
                numbers[_strip_quotes(literal)].add(number)
        return numbers

    @cached_property
    def compact_texts(self) -> tuple[str, ...]:
        return tuple("".join(map(_compact, text.split("\n"))) for text in self.texts)

    def contains(self, literal: str) -> bool:
        if literal[:1] in _OPENS:
            sought = _compact(literal)
            return any(sought in text for text in self.compact_texts)
        core = _strip_quotes(literal)
        # as a whole word: `continue` is no part of `--no-auto-continue`
        whole = rf"(?<![\w-]){re.escape(core)}(?![\w-])"
        is_word = len(core) >= _LONG and any(core in text and re.search(whole, text) for text in self.texts)
        return is_word or core in self._lines

    def contains_both(self, first: str, other: str) -> bool:
        """Whether a line of a test holds both."""
        return not self._lines.get(_strip_quotes(first), set()).isdisjoint(self._lines.get(_strip_quotes(other), ()))


@signal(
    Category.TESTS_PASS_BUT_WRONG,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Compute the result at {place} from the arguments, in place of the constant that the tests expect.",
)
def expected_value_returned(change: CodeChange) -> Iterator[SignalMatch]:
    """A new or rewritten function ignores all that it is given and returns one literal, which a test of the change holds.

    Why it matters: The test passes, and every other input gets the same answer.
    Example: `def encode(text): return 'aG9v'` beside `assert encode('hooo') == 'aG9v'`.
    False alarms: 0 of 30051 clean changes with production code (0.0 %, at most 0.01 %).
    """
    for file, function, text in _find_constant_answers(change):
        if _is_free_of_contract(function, change):
            note = f"`{function.name}` ignores its arguments and returns {_shorten(text)}, which the tests of this change hold"
            yield SignalMatch(note, file.path, _answer_line(function))


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def constant_result(change: CodeChange) -> Iterator[SignalMatch]:
    """A function as in `expected_value_returned`, where the class, a trait or a name may ask for a constant.

    Why it matters: Such a constant may be right, or made for the one value that a test asks for.
    Example: `def encode(self, text): return 'aG9v'` in a subclass of `Encoder`.
    False alarms: 3 of 30051 clean changes with production code (0.0 %, at most 0.03 %).
    """
    for file, function, text in _find_constant_answers(change):
        if not _is_free_of_contract(function, change):
            note = f"`{function.name}` returns {_shorten(text)} for whatever it is given, and the tests of this change hold it"
            yield SignalMatch(note, file.path, _answer_line(function))


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def branch_on_test_input(change: CodeChange) -> Iterator[SignalMatch]:
    """A new branch for one literal input returns a literal immediately, and a test of the change holds both or the input.

    Why it matters: The branch answers the test, and the general case stays unsolved.
    Example: `if n == 7: return 'seven'` beside `assert spell(7) == 'seven'`.
    False alarms: 69 of 30051 clean changes with production code (0.2 %, at most 0.29 %).
    """
    for file in _find_files(change, _COMPARES):
        literals = _find_test_literals(change)
        for source in file.sources:
            for line, value, answer in _find_literal_branches(source, file.added_lines):
                if literals.contains(value) and (_is_telling_text(value) or literals.contains_both(value, answer)):
                    note = f"a branch for the input {_shorten(value)} alone, which the tests of this change use"
                    yield SignalMatch(note, file.path, line, strength=1.0 if literals.contains(answer) else 0.6)


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def table_of_test_values(change: CodeChange) -> Iterator[SignalMatch]:
    """A new table of literals whose pairs are, one beside the other, in the tests of the change.

    Why it matters: A table of the expected answers stands in for the computation.
    Example: `{7: 'seven', 9: 'nine'}` in the code, and the same two pairs in its test.
    False alarms: 8 of 30051 clean changes with production code (0.0 %, at most 0.05 %).
    """
    for file in _find_files(change, _PAIRS):
        literals = _find_test_literals(change)
        for source in (candidate for candidate in file.sources if candidate.language in _TABLES):
            for table in source.nodes.find(_TABLES[source.language]):
                line = source.line_of(table)
                entries = [child for child in table.named_children if not is_comment(child)]
                is_table = line in file.added_lines and _FEWEST <= len(entries) <= _MOST
                if is_table and all(_is_pair_of_tests(entry, literals) for entry in entries):
                    yield SignalMatch("each pair of this table stands in a test of this change", file.path, line)


def _find_files(change: CodeChange, look: re.Pattern[str]) -> Iterator[AnalyzedFile]:
    """Code with new lines of this look, beside tests that hold literals: the rest need not be parsed."""
    for file in change.production_files():
        if any(map(look.search, file.diff.added_passages())):
            if _find_test_literals(change).is_empty:
                return
            yield file


def _strip_quotes(literal: str) -> str:
    return literal.strip().strip("'\"`")


def _compact(text: str) -> str:
    """Without white space, and with one kind of quotes: lists are written in many ways."""
    return "".join(text.split()).replace('"', "'")


@memoized_for_family
def _find_test_literals(change: CodeChange) -> ExpectedLiterals:
    files = (file for file in change.files if file.is_test or file.language is Language.RUST)
    shown = ([text[:_LONGEST] for text in _test_lines(file)] for file in files)
    return ExpectedLiterals(tuple("\n".join(lines) for lines in shown if lines))


def _test_lines(file: AnalyzedFile) -> Iterator[str]:
    """All lines of a changed test file; of a Rust source the new ones below `#[cfg(test)]`."""
    if file.is_test:
        shown = (line.text for line in file.diff.lines() if line.kind is not LineKind.REMOVED)
        yield from shown if file.head_text is None else islice(file.head_text.split("\n"), _MOST_LINES)
        return
    for hunk in file.diff.hunks:
        inside = "mod test" in hunk.section
        for line in hunk.lines:
            inside = inside or "#[cfg(test)]" in line.text
            if inside and line.kind is LineKind.ADDED:
                yield line.text


def _shorten(literal: str) -> str:
    short = " ".join(literal.split())
    return f"`{short if len(short) <= _MOST_SHOWN else short[:_MOST_SHOWN] + '...'}`"


@memoized
def _find_constant_answers(change: CodeChange) -> list[tuple[AnalyzedFile, Function, str]]:
    """Changed functions with named parameters that return one literal of the tests before all else."""
    answers: list[tuple[AnalyzedFile, Function, str]] = []
    for file in _find_files(change, _ANSWERS):
        literals = _find_test_literals(change)
        added = sorted(file.added_lines)
        for function in (function for source in file.sources for function in find_functions(source)):
            at = bisect_left(added, function.line_of(function.node))
            is_touched = at < len(added) and added[at] <= function.last_line
            text = _find_answer(function) if is_touched else ""
            is_new = text and _answer_line(function) in file.added_lines
            if is_new and _has_parameter(function) and literals.contains(text):
                answers.append((file, function, text))
    return answers


def _answer_line(function: Function) -> int:
    return function.line_of(function.statements[0])


def _find_answer(function: Function) -> str:
    """The literal that it returns before all else, if it is a telling one."""
    first = next(iter(function.statements), None)
    if first is None or (len(function.statements) > 1 and first.type not in _RETURNS):
        return ""
    literal = _unwrap(first)
    return text_of(literal) if _is_telling(literal) else ""


def _unwrap(node: Node) -> Node:
    """The literal in a statement, in brackets, or in a call of Rust that makes a result of it: `"x".to_string()`, `Ok("x")`."""
    while node.type in _WRAPPERS and node.named_child_count:
        if any(child.type not in {"nil", "none"} for child in node.named_children[1:]):  # Go returns `nil` beside it
            break
        node = node.named_children[0]
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    arguments = node.child_by_field_name("arguments")
    if called is None or arguments is None or not _WRAPPING_CALL.fullmatch(text_of(called)[:_LONGEST]):
        return node
    only = arguments.named_children[0] if arguments.named_child_count == 1 else called.child_by_field_name("value")
    return node if only is None else _unwrap(only)


def _is_telling(node: Node) -> bool:
    if node.type in _COLLECTIONS:
        inside = tuple(descendants(node))
        is_constant = all(child.type in _CONSTANTS for child in inside)
        return is_constant and any(child.type in _LITERALS and _is_telling(child) for child in inside[1:])
    text = text_of(node)
    is_template = "${" in text or any(child.type == "interpolation" for child in node.named_children)
    return node.type in _LITERALS and not is_template and _is_telling_text(text)


def _is_telling_text(text: str) -> bool:
    return _NUMBER.fullmatch(text) is None if text[:1].isdigit() else len(_strip_quotes(text)) > 1


def _has_parameter(function: Function) -> bool:
    """Whether it takes something by name, which its one literal ignores."""
    parameters = function.node.child_by_field_name("parameters") or function.node.child_by_field_name("parameter")
    parts = [] if parameters is None else parameters.named_children or [parameters]
    names = (_NAME.search(text_of(part).lstrip("&*. ")) for part in parts if not is_comment(part))
    return any(name is not None and name[0] not in _SELF and not name[0].startswith("_") for name in names)


def _is_free_of_contract(function: Function, change: CodeChange) -> bool:
    """Whether no base class, trait, interface, hook or name asks for a constant."""
    if is_declaration(function) or is_hook(function) or is_extended(function, change):
        return False
    if _CONSTANT_NAME.search(function.name):
        return False
    if function.source.language is Language.GO:
        return function.node.type != "method_declaration"
    owner, is_override = function.container, "Override" in function.attributes or "override" in function.attributes
    if owner is None or is_override:
        return not is_override
    bases = {text_of(owner.child_by_field_name(field)).strip("() ") for field in _BASE_FIELDS}
    return bases <= {"", "object"} and not any(child.type in _HERITAGE for child in owner.named_children)


def _find_literal_branches(source: Source, added: frozenset[int]) -> Iterator[tuple[int, str, str]]:
    """New branches that compare inputs with literals and answer with one: their line, the first input and the answer."""
    for node in source.nodes.find(BRANCHES[source.language]):
        is_ternary = node.type == "conditional_expression" and node.named_child_count > 1
        condition = node.named_children[1] if is_ternary else node.child_by_field_name("condition")
        then = node.named_children[0] if is_ternary else consequence_of(node)
        if condition is None or then is None or source.line_of(condition) not in added:
            continue
        parts = _ANDS.split(_strip_brackets(text_of(condition)[:_LONGEST]))
        matches = [_EQUALS.fullmatch(_strip_brackets(part)) for part in parts]
        answer = _find_only_answer(then)
        if matches[0] is not None and all(matches) and answer is not None:
            value = next(filter(None, matches[0].groups()))
            yield source.line_of(condition), value, text_of(answer)


def _strip_brackets(condition: str) -> str:
    text = condition.strip()
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def _find_only_answer(then: Node) -> Node | None:
    """The literal that the branch returns, and does nothing else."""
    is_value = then.type in _LITERALS or then.type in _WRAPPERS
    inside = [then] if is_value else [child for child in then.named_children if not is_comment(child)]
    if len(inside) == 1 and inside[0].type == "statement_list":
        inside = inside[0].named_children
    if len(inside) != 1:
        return None
    answer = _unwrap(inside[0])
    return answer if answer.type in _LITERALS or answer.type in _COLLECTIONS else None


def _is_pair_of_tests(entry: Node, literals: ExpectedLiterals) -> bool:
    key, value = entry.child_by_field_name("key"), entry.child_by_field_name("value")
    if entry.type != "pair" or key is None or value is None or value.type not in _LITERALS:
        return False
    return _is_telling_text(text_of(key)) and literals.contains_both(text_of(key), text_of(value))
