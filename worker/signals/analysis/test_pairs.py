"""Each test of a change with its checks, before and after: what all signals of the family look at.

Does not judge. Invariant: a test is new only if every line of it is, and its body did not stand elsewhere before.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language, is_signed_by_generator, role_of
from worker.signals.analysis.functions import FunctionScope
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.tests import Test, match_all_tests

if TYPE_CHECKING:
    from tree_sitter import Node


class TestPair(Value):
    """One test as it is now."""

    test: Test
    file: AnalyzedFile
    base: Test | None
    is_new: bool

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        return tuple(_find_assertions(self.test))

    @cached_property
    def base_assertions(self) -> tuple[Assertion, ...]:
        return () if self.base is None else tuple(_find_assertions(self.base))

    @property
    def is_cut(self) -> bool:
        """Whether more of it may follow below what is shown: behind an added line at the end of a hunk nothing does."""
        source = self.test.source
        last = source.first_line + len(source.lines) - 1 - source.text.endswith("\n")
        return self.test.is_maybe_cut and last not in self.file.added_lines


def _find_assertions(test: Test) -> Iterator[Assertion]:
    return find_assertions(test.body, test.source.language, nodes=test.source.nodes)


def find_test_pairs(change: CodeChange) -> tuple[TestPair, ...]:
    """New and changed tests in files of tests, each once."""
    return change.cached(_select_test_pairs)


def _select_test_pairs(change: CodeChange) -> tuple[TestPair, ...]:
    return () if is_certain_revert(change) else tuple(_pair_tests(change))


def _pair_tests(change: CodeChange) -> Iterator[TestPair]:
    for pair in match_all_tests(change):
        test, file = pair.head, pair.file
        if test is None or file.cached(_is_foreign) or _may_be_text(test):
            continue
        base = pair.base
        if (base is None or (base.name != test.name and base.text != test.text)) and is_all_added(test, file):
            if not _is_moved(test, change):
                yield TestPair(test, file, base, is_new=True)
        elif base is not None and base.text != test.text:
            yield TestPair(test, file, base, is_new=False)


def _is_foreign(file: AnalyzedFile) -> bool:
    is_read = role_of(file.path) is FileRole.FOREIGN or _READ_FILES.search(file.path) is not None
    return is_read or is_signed_by_generator(file.head_text or "")


_READ_FILES: Final = pattern(r"(?:^|/)(?:__)?(?:\w+-)?resources(?:-\w+)?(?:__)?/|[.-]test-d\.[cm]?tsx?$")
"""What tests read, and tests of types, which a compiler reads and nobody runs."""


def _may_be_text(test: Test) -> bool:
    """A fragment may begin inside of a string: what is indented in it, in no class and no method, may be text."""
    may_begin_inside = test.source.language is Language.PYTHON and not test.source.is_whole
    return (
        may_begin_inside
        and test.function.scope is FunctionScope.UNKNOWN
        and "self" not in text_of(test.function.node.child_by_field_name("parameters"))
    )


def is_all_added(test: Test, file: AnalyzedFile) -> bool:
    lines = range(test.first_line, test.last_line + 1)
    return all(line in file.added_lines for line in lines[:-1] or lines)


def _is_moved(test: Test, change: CodeChange) -> bool:
    lines = [line for line in test.lines if line.strip(" \t})];,")]
    return bool(lines) and change.removed_texts.issuperset(lines)


class CheckedBody(Value):
    """Code of a test, as far as it is shown: a whole body, or what a hunk shows from inside of one."""

    file: AnalyzedFile
    source: Source
    node: "Node"
    name: str
    test_pair: TestPair | None = None

    @cached_property
    def base_checks(self) -> frozenset[str]:
        """The checks that stood there before."""
        return (
            frozenset()
            if self.test_pair is None
            else frozenset(assertion.text for assertion in self.test_pair.base_assertions)
        )

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        if self.test_pair is not None:
            return self.test_pair.assertions
        return tuple(find_assertions(self.node, self.source.language, nodes=self.source.nodes))

    def line_of(self, node: "Node") -> int:
        return node.start_point.row + self.source.first_line

    def is_added(self, node: "Node") -> bool:
        return self.line_of(node) in self.file.added_lines


def find_bodies(change: CodeChange) -> tuple[CheckedBody, ...]:
    """The bodies of new and changed tests; of a fragment also what stands in no function that it shows."""
    return change.cached(_select_bodies)


def _select_bodies(change: CodeChange) -> tuple[CheckedBody, ...]:
    return tuple(_list_bodies(change))


def _list_bodies(change: CodeChange) -> Iterator[CheckedBody]:
    for look in find_test_pairs(change):
        yield CheckedBody(look.file, look.test.source, look.test.body, look.test.name, look)
    for file in change.files:
        is_shown_in_part = file.role is FileRole.TEST and not file.cached(_is_foreign)
        pieces = [source for source in file.sources if not source.is_whole] if is_shown_in_part else []
        yield from (CheckedBody(file, source, source.root, "") for source in pieces)


def has_checks_beside(file: AnalyzedFile, change: CodeChange) -> bool:
    """A script that a folder of a case holds for a runner, which finds what it checks in a configuration or a snapshot beside it."""
    folder, _, name = file.path.rpartition("/")
    if file.language not in SCRIPT_LANGUAGES or _RUNNER_FILE.search(name) is not None or not folder:
        return False
    shown = (*(file.path for file in change.files), *change.texts)
    return any(_CONFIG_BESIDE.match(path.removeprefix(folder)) for path in shown if path.startswith(f"{folder}/"))


_RUNNER_FILE: Final = pattern(r"[._-](?:test|tests|spec)\.\w+$")
_CONFIG_BESIDE: Final = pattern(
    r"/(?!(?:vitest|jest|playwright|cypress|karma|wdio|eslint|prettier|babel|tailwind|postcss)\.)[\w-]+\.config\.[cm]?[jt]s$|/__snapshots__/"
)


_EQUALITY_NAME: Final = pattern(
    r"equal|reflex|hash|identi(?:ty|cal)|same|compar|(?:partial|total)[_ ]?ord|(?<!re)ordering|(?:^|_)ord(?:_|$)|clone|copy|cach|memoi[sz]|stable|determinis"
    r"|repeat(?!ed[ _](?!call|get|access|use|invoc|read|look|eval|run))|twice|consist|singleton|(?:^|_)eq(?:_|$)",
    re.IGNORECASE,
)


def is_about_equality(name: str) -> bool:
    """A test of equality compares a thing with itself."""
    return _EQUALITY_NAME.search(name) is not None


SMOKE_TEST: Final = pattern(
    r"(?:not|n't|never|without|dont|doesnt|no)[_ ]?(?:\w{1,20}[_ ])?(?:hang|crash|throw|rais|fail|panic|block|deadlock|explod|die|exit|break|leak|warn|error)"
    r"|smoke|compiles|is_callable",
    re.IGNORECASE,
)
"""To come to its end is all that such a test is about."""


def is_smoke_test(test: Test) -> bool:
    """Whether the test says that something is allowed, can be made or does not fail, or it makes a call fail that is retried."""
    parts = {word.lower() for word in _WORDS.findall(test.name)}
    remarks = (test.function.docstring, *map(text_of, test.function.comments))
    if not parts.isdisjoint(_PERMITS) or any(SMOKE_TEST.search(text) for text in (test.name, *remarks)):
        return True
    if _CREATION_NAME.search(test.name):
        return True
    return _RETRIES.search(test.name) is not None and _FAILING_CALL.search(test.text) is not None


_CREATION_NAME: Final = pattern(
    r"looks?[_ ]?ok|can[_ ]?(?:be[_ ]?)?(?:built|build|create|construct|instantiate|import|start|initiali[sz]e|load|open)",
    re.IGNORECASE,
)
_WORDS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERMITS: Final = frozenset(
    {
        "allow",
        "allows",
        "allowed",
        "accept",
        "accepts",
        "accepted",
        "support",
        "supports",
        "supported",
        "permit",
        "permits",
    }
    | {"permitted", "valid", "tolerates", "tolerated", "skip", "skips", "skipped"}
)
_RETRIES: Final = pattern(r"retr(?:y|ies|ied)|reconnect|recover|fall(?:s|ing)?_?back", re.IGNORECASE)
_FAILING_CALL: Final = pattern(
    r"side_effect|Rejected|thenThrow|willThrow|\braise |\bthrow |Exception|Error\(|errors\.New|Err\(|fail|flaky|\b50[0234]\b"
)


_FUNCTIONS: Final = frozenset(
    {
        "lambda",
        "lambda_expression",
        "anonymous_function",
        "local_function_statement",
        "arrow_function",
        "function_expression",
        "func_literal",
        "closure_expression",
    }
    | {"function_definition", "function_declaration", "function_item", "method_declaration", "method_definition"}
)


def is_in_callback(node: "Node", body: "Node") -> bool:
    """Whether it stands in a function inside of *body*: that may be run by somebody else, or not."""
    return _is_within(node, body, _FUNCTIONS)


def is_within_definition(node: "Node", body: "Node") -> bool:
    """Whether it stands in a class or a function inside of *body*."""
    return _is_within(node, body, _FUNCTIONS | _CLASSES)


_CLASSES: Final = frozenset({"class_definition", "class_declaration", "class_body"})


def _is_within(node: "Node", body: "Node", types: frozenset[str]) -> bool:
    return any(around.type in types for around in ancestors(node, body))
