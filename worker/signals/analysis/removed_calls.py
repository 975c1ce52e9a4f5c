"""Statements that a change took out and that check something: calls that sound like it, and Go's own look at an error.

Does not ask whether they are missed. Invariant: each is a whole statement that went alone, with nothing in its place.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.tests import base_sources

if TYPE_CHECKING:
    from tree_sitter import Node


class RemovedCall(NamedTuple):
    """What checked, at the lines of the version before."""

    assertion: Assertion
    first_line: int
    last_line: int
    text: str


def find_removed_calls(file: AnalyzedFile, removed: Mapping[int, frozenset[int]]) -> Iterator[RemovedCall]:
    """*removed* gives for each line that went without a successor all lines that went beside it."""
    for source in base_sources(file) if removed else ():
        rows = frozenset(line - source.first_line for line in removed if source.has_line(line))
        for oracle in find_assertions(source.root, source.language, rows, source.nodes) if rows else ():
            whole = _statement(oracle, source.language)
            if whole is None:
                continue
            first, last = source.first_line + whole.start_point.row, source.first_line + whole.end_point.row
            if removed.get(first, frozenset({0})) <= set(range(first, last + 1)):
                yield RemovedCall(oracle, first, last, text_of(whole))


def _statement(oracle: Assertion, language: Language) -> "Node | None":
    """The statement that a call is, or the `with` that it is the head of; in Go an `if` that fails on an error."""
    node = oracle.node
    if language is Language.GO and oracle.proof is Proof.SUCCESS and node.type == "if_statement":
        return node
    around = next((ancestor for ancestor in ancestors(node) if ancestor.type not in _HEADS), None)
    return around if around is not None and oracle.is_guess and around.type in _STATEMENT_TYPES else None


def find_error_names(oracle: Assertion) -> frozenset[str]:
    """The error that a check of success alone asks about: `require.NoError(t, err)`."""
    is_of_success = oracle.proof is Proof.SUCCESS and not oracle.is_guess
    return frozenset(_ERRORS.findall(oracle.text) if is_of_success else ())


_ERRORS: Final = pattern(r"\b\w{0,40}[eE]rr\b")
_STATEMENT_TYPES: Final = frozenset({"expression_statement", "with_statement"})
_HEADS: Final = frozenset({"await", "await_expression", "with_item", "with_clause", "as_pattern"})
