"""New tests that cannot fail for a wrong result: nothing in them looks at one.

Does not know what a helper of another file does: its name decides. Invariant: what is said of a test as a fact can be
read off its own body.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.asserting_functions import AFTER_EACH_TEST, find_asserting_names, has_expecting_mark
from worker.signals.analysis.assertions import ASKS_THE_COMPILER
from worker.signals.analysis.call_chains import find_call_chains
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, is_parsable
from worker.signals.analysis.conditional_skips import is_conditional_callback
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language, language_of, role_of
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.inherited_tests import is_inherited_test_disabled
from worker.signals.analysis.staged_work import is_announced
from worker.signals.analysis.syntax import NodeGroup, ancestors, is_comment, register_types, text_of
from worker.signals.analysis.test_data import modifiers_of
from worker.signals.analysis.test_pairs import (
    TestPair,
    find_test_pairs,
    has_checks_beside,
    is_smoke_test,
    is_within_definition,
)
from worker.signals.analysis.tests import Test, base_sources, find_tests
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_THROWS_ONLY: Final = pattern(r"throw new \w*Error\(|(?:return )?Promise\.reject\(")
_COMPILES: Final = pattern(
    r"(?:^|[ _])(?:should|must|can)[ _](?:be[ _])?(?:compiled?|buil[dt]|load(?:ed)?)(?:[ _](?:without|with no|fine|ok|correctly|successfully|cleanly)\b.*)?$",
    re.IGNORECASE,
)
_KNOWN_TO_PYTEST: Final = frozenset(
    {"self", "cls", "monkeypatch", "tmp_path", "tmpdir", "tmp_path_factory", "request", "recwarn", "pytestconfig"}
    | {"capsys", "capfd", "caplog", "mocker", "None", "pytest", "MonkeyPatch", "Path"}
)
_ANNOTATION: Final = pattern(r"@(?:\w+\.)*+(\w+)")
_PLAIN_ANNOTATIONS: Final = frozenset(
    {
        "Test",
        "DisplayName",
        "Order",
        "Tag",
        "Timeout",
        "TestMethodOrder",
        "TestInstance",
        "Nested",
        "Execution",
        "Ignore",
    }
    | {
        "Override",
        "Deprecated",
        "SuppressWarnings",
        "SuppressFBWarnings",
        "Disabled",
        "Nullable",
        "NonNull",
        "Suppress",
    }
    | {"BeforeEach", "AfterEach", "BeforeAll", "AfterAll", "Before", "After", "ParameterizedTest", "RepeatedTest"}
)
"""They name, order or limit a test, and run no code of their own around it."""
_FIXTURES: Final = pattern(r"@(?:\w+\.)*(?:usefixtures|mark\.usefixtures)\b")
_WITH_CALLS: Final = frozenset({Language.PYTHON, Language.GO, Language.JAVA})
"""Elsewhere a test may be one of types."""
_MAKES: Final = pattern(r"\bnew\s+\w")
_IDLE_STATEMENTS: Final = frozenset(
    {"pass_statement", "expression_statement", "local_variable_declaration", "short_var_declaration"}
)
_MADE: Final = frozenset(
    {"object_creation_expression", "new_expression", "composite_literal", "struct_expression", "unary_expression"}
)
_MAKERS: Final = pattern(r"(?:\w+(?:\.|::))*(?:[A-Z]\w*|(?:\w+::)(?:new|default|builder))")
_MAKERS_OF_GO: Final = pattern(r"(?:\w+\.)?[nN]ew(?:[A-Z]\w*)?")
_THROWS: Final = pattern(
    r"\b(?:get|find|lookup|look_up)(?:_?[A-Z]\w*)?\([^()\n]{1,80}\)\.\w|\bMust[A-Z]\w*\(|(?:[oO]r|_)_?(?:[eE]lse_?)?(?:[tT]hrow|[fF]ail|[rR]aise)\("
)
"""A lookup whose result is asked for more, and calls that say that they throw."""
_PLAIN_CALL: Final = pattern(r"([A-Za-z_]\w*)\(.*\);?")
_ASSERTED: Final = pattern(
    r"(?:\bassert (?:not )?|\bassert\w*!?\(|\bexpect\((?:await )?|\bassertThat\(|\.Equal\(t, )([A-Za-z_]\w{2,80})\("
)
_NAMED_ONLY: Final = pattern(
    r"\s*let _ = (?:(?:\w+\()?&\w[\w.]*\[.{1,80}\]\)?|(?!.*\.(?:\w+\(|await\b)).*\.\w+|.*\.(?:get_\w+|value_of|kind|status|as_\w+|is_\w+|to_string|len|name|version|headers?)\(\w*[\"\w]*\));"
)
_BODY_BLOCKS: Final = frozenset({"statement_list", "block"})
_FUNCTIONS: Final = frozenset({"function_declaration", "method_declaration", "func_literal"})
_ONLY_ERROR: Final = pattern(r"\w*[eE]rr\w* :?= ")
_LOUD: Final = pattern(r"(?:\?|\.unwrap\(\)|\.expect\(.{0,200}\))(?:\.\w+)*$|\.(?:Fatal|Error|Fail)\w*\(.*", 16)
_TAIL_LENGTH: Final = 300
_HANDS_OVER: Final = pattern(r"\bexpect\.\w+\(|[{,\s]expected[A-Z]\w*:")
"""A matcher as an argument, or a field that says what is expected: what takes it compares."""
_AFTER_EACH: Final = pattern(r"\bafter(?:Each|All)\([^;]{0,300}(?:expect|assert)")
_WORD: Final = pattern(r"[A-Za-z_]\w*")
BINDING_TYPES: Final = register_types(
    {
        Language.PYTHON: ("assignment",),
        Language.GO: ("short_var_declaration",),
        Language.RUST: ("let_declaration",),
        **dict.fromkeys((*SCRIPT_LANGUAGES, Language.JAVA), ("variable_declarator",)),
        Language.RUBY: ("assignment",),
        Language.PHP: ("assignment_expression",),
    },
    NodeGroup.TESTS,
)
"""What binds a name, in the languages whose tests are looked through for it."""
_PRINTS: Final = pattern(r"(?:e?print(?:ln|f)?!?|dbg!|log|info|debug|warn|Log|Logf|Print|Println|Printf)", 0)
_SCOPED: Final = frozenset({*SCRIPT_LANGUAGES, Language.RUST, Language.GO, Language.JAVA})
"""Here a name is known only in the block that binds it."""
_BLOCKS: Final = frozenset({"statement_block", "block"})
_ELSEWHERE: Final = pattern(r"\b(?:global|nonlocal|locals)\b")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Write the test at {place}: call the code that it is named after, and assert the result. Or take it out until then.",
)
def test_empty(change: CodeChange) -> Iterator[SignalMatch]:
    """A new or emptied test that does nothing: it has no statement, or calls nothing.

    None whose name says that something should compile, build or load, or beside which its case holds a configuration or a snapshot.

    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for look in change.cached(_find_empty):
        if not is_announced(change) and not _can_do_more(look, change):
            yield _build_match(look, f"{_describe(look)} does nothing")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Add an assertion to the test at {place} that compares what the code returns with the expected value.",
)
def test_result_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test that computes something, never looks at it again, and asserts nothing else.

    A thing that is only made, and what is looked up by a call that throws where there is none, is no such value. A test that ends
    in a check that holds in any case is told by that check alone.

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for look in find_unasserted(change):
        is_told = any(assertion.proof is Proof.NOTHING for assertion in look.assertions)
        what = None if is_told else _find_discarded(look)
        if what is not None:
            yield _build_match(look, f"{_describe(look)} asserts nothing, and nothing checks {what}")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_without_assertion(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test in which nothing looks like an assertion, nor calls anything that asserts or sounds like it.

    Or an empty one that takes a fixture of the repository, which may do the work, that the title calls a stub, whose name says
    that something should compile, or beside which a configuration or a snapshot of its case is shown.

    False alarms: 382 of 22175 clean changes with tests (1.7 %, at most 1.90 %).
    """
    for look in find_unasserted(change):
        if _find_discarded(look) is None and all(assertion.proof is not Proof.NOTHING for assertion in look.assertions):
            yield _build_match(look, f"{_describe(look)} asserts nothing")
    for look in change.cached(_find_empty):
        if is_announced(change) or _can_do_more(look, change):
            yield _build_match(look, f"{_describe(look)} does nothing of its own")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_value_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test asserts something, and computes something else that it never reads.

    False alarms: 66 of 22175 clean changes with tests (0.3 %, at most 0.38 %).
    """
    unasserted = set(map(id, find_unasserted(change)))
    for look in find_test_pairs(change):
        name = next(find_unread_names(look), None) if look.is_new and id(look) not in unasserted else None
        if name is not None and not has_expecting_mark(look.test):
            yield _build_match(look, f"the new test `{look.test.name}` never reads its `{name}`")
        for line in _find_discarded_lines(look):
            yield SignalMatch(f"the new test `{look.test.name}` looks at this and throws it away", look.file.path, line)


def _find_empty(change: CodeChange) -> tuple[TestPair, ...]:
    return tuple(look for look in find_test_pairs(change) if _is_certain(look) and _is_idle(look))


def _is_certain(look: TestPair) -> bool:
    """It is new or was emptied, is all shown, and nothing around it makes it more than its body."""
    is_emptied = look.base is not None and bool(look.base.function.statements)
    is_meant = is_inherited_test_disabled(look.test) or _has_processed_annotation(look.test)
    is_run_by_others = _has_marked_fixture(look.test) and is_smoke_test(look.test)
    may_rest = look.is_cut or has_expecting_mark(look.test) or is_conditional_callback(look.test) or is_run_by_others
    return (is_emptied or (look.is_new and not is_meant)) and not may_rest


def _can_do_more(look: TestPair, change: CodeChange) -> bool:
    """A fixture or the folder of its case may check something, or to be compiled is all that it is for."""
    is_to_compile = _COMPILES.search(look.test.name) is not None
    is_tried = look.test.source.language in SCRIPT_LANGUAGES and any(
        map(_is_failing_on_purpose, find_tests(look.test.source))
    )
    return is_to_compile or is_tried or _has_working_fixture(look.test) or has_checks_beside(look.file, change)


def _is_failing_on_purpose(test: Test) -> bool:
    """It only throws: then the file is there to try a runner of tests."""
    statements = test.function.statements
    return len(statements) == 1 and _THROWS_ONLY.match(text_of(statements[0])) is not None


def _has_working_fixture(test: Test) -> bool:
    """A fixture of the repository may do the work: it is taken by its name, and pytest knows none of that name."""
    if test.source.language is not Language.PYTHON:
        return False
    parameters = _WORD.findall(_parameters(test.function.node))
    return any(name not in _KNOWN_TO_PYTEST and name not in test.marks for name in parameters)


def _has_processed_annotation(test: Test) -> bool:
    """An annotation of Java or Kotlin that is no plain one of a test framework: what processes it may be what is tested."""
    if test.source.language not in {Language.JAVA, Language.KOTLIN}:
        return False
    owner = test.function.container
    marks = f"{test.marks} {test.function.attributes} {'' if owner is None else modifiers_of(owner)}"
    return any(name not in _PLAIN_ANNOTATIONS for name in _ANNOTATION.findall(marks))


def _has_marked_fixture(test: Test) -> bool:
    owner = test.function.container
    return any(_FIXTURES.search(marks) for marks in (test.marks, "" if owner is None else modifiers_of(owner)))


def _is_idle(look: TestPair) -> bool:
    if not look.test.function.statements:
        return True
    body, language = look.test.body, look.test.source.language
    is_still = (
        language in _WITH_CALLS
        and not look.assertions
        and not (language is Language.JAVA and _MAKES.search(look.test.text))
        and next(find_call_chains(body, language, nodes=look.test.source.nodes), None) is None
    )
    return is_still and all(
        statement.type in _IDLE_STATEMENTS and not _is_storing(statement) for statement in look.test.function.statements
    )


def _is_storing(statement: "Node") -> bool:
    """It hands something to who comes after the test: a field is set."""
    only = statement.named_children[0] if statement.named_child_count == 1 else statement
    left = only.child_by_field_name("left")
    return (
        "assignment" in only.type
        and left is not None
        and (only.type == "assignment_expression" or left.type != "identifier")
    )


def _find_discarded(look: TestPair) -> str | None:
    """A value that it computes and does not look at: bound to a name, or returned by what other tests hold to account."""
    name = next((name for name, binding in _find_unread_bindings(look) if not _is_self_proving(binding)), None)
    if name is not None:
        return f"its `{name}`"
    called = next(_find_dropped_calls(look), None)
    return None if called is None else f"what `{called}` returns"


def _is_self_proving(binding: "Node") -> bool:
    """Whether it binds a thing that is only made, or what throws where there is none: that it comes to be is asked."""
    bound = next((value for value in map(binding.child_by_field_name, ("right", "value")) if value is not None), None)
    value = bound.named_children[0] if bound is not None and bound.type == "expression_list" else bound
    if value is None or value.type in _MADE:
        return value is not None
    called = text_of(value.child_by_field_name("function"))[-_TAIL_LENGTH:]
    is_maker = (_MAKERS_OF_GO if binding.type == "short_var_declaration" else _MAKERS).fullmatch(called) is not None
    return is_maker or _THROWS.search(text_of(value)[:_TAIL_LENGTH]) is not None


def _find_dropped_calls(look: TestPair) -> Iterator[str]:
    """Plain functions that it calls for nothing, and whose result is asserted elsewhere in this file."""
    test = look.test
    asserted = look.file.cached(_find_asserted_calls) - look.file.cached(_find_older_dropped_calls)
    for spine in find_call_chains(test.body, test.source.language, nodes=test.source.nodes) if asserted else ():
        is_plain = len(spine.links) == 1 and spine.is_result_dropped and spine.links[0].name in asserted
        if is_plain and not is_within_definition(spine.node, test.body):
            yield spine.links[0].name


def _find_older_dropped_calls(file: AnalyzedFile) -> frozenset[str]:
    """What an older test of the file ends with, and looks at no more: to run is what these tests ask for."""
    tests = (test for source in base_sources(file) for test in find_tests(source) if test.function.statements)
    ends = (
        _PLAIN_CALL.fullmatch(" ".join(text_of(test.function.statements[-1])[:_TAIL_LENGTH].split())) for test in tests
    )
    return frozenset(end[1] for end in ends if end is not None)


def _find_asserted_calls(file: AnalyzedFile) -> frozenset[str]:
    return frozenset(match[1] for source in file.sources for match in _ASSERTED.finditer(source.text))


def _describe(look: TestPair) -> str:
    return f"the {'new' if look.is_new else 'changed'} test `{look.test.name}`"


def _find_discarded_lines(look: TestPair) -> Iterator[int]:
    """Lines of a new test in Rust that only name a value: a field, a part, what a getter returns."""
    is_looked_at = look.is_new and look.test.source.language is Language.RUST
    for number, text in enumerate(look.test.text.split("\n") if is_looked_at else (), look.test.body.start_point.row):
        if _NAMED_ONLY.fullmatch(text[:_TAIL_LENGTH]):
            yield number + look.test.source.first_line


def _build_match(look: TestPair, note: str) -> SignalMatch:
    test = look.test
    return SignalMatch(note, look.file.path, test.first_line, max(test.first_line, test.last_line))


def find_unasserted(change: CodeChange) -> tuple[TestPair, ...]:
    """New tests with statements and without a check of more than success."""
    return change.cached(_select_unasserted)


def _select_unasserted(change: CodeChange) -> tuple[TestPair, ...]:
    bare = [
        look
        for look in find_test_pairs(change)
        if _has_no_check(look)
        and (
            _is_expected_to_assert(look)
            or any(assertion.proof is Proof.VALUE and (not assertion.is_guess) for assertion in look.base_assertions)
        )
    ]
    asserting = {
        language: _find_asserting_names(change, language) for language in {look.test.source.language for look in bare}
    }
    return tuple(look for look in bare if not _has_asserting_call(look, asserting[look.test.source.language]))


def _is_expected_to_assert(look: TestPair) -> bool:
    """A new test that means to find out more than that it runs; a check that holds in any case shows that it does."""
    if not look.is_new:
        return False
    return not is_smoke_test(look.test) or any(assertion.proof is Proof.NOTHING for assertion in look.assertions)


def _has_no_check(look: TestPair) -> bool:
    """Nothing in it may fail but by chance. A test that proves success on purpose says so in its checks."""
    is_measured = "benchmark" in _parameters(look.test.function.node) or "BenchmarkRunner." in look.test.text
    if not look.test.function.statements or look.is_cut or has_expecting_mark(look.test) or is_measured:
        return False
    return all(
        assertion.proof is Proof.NOTHING
        or (assertion.proof is Proof.SUCCESS and _is_loud(assertion.node) and not _is_the_end(assertion.node))
        for assertion in look.assertions
    )


def _is_the_end(node: "Node") -> bool:
    """It is what a function of Go ends with: a look at the error that is all that its last step returns."""
    around = next((ancestor for ancestor in ancestors(node) if ancestor.type not in _BODY_BLOCKS), None)
    if node.type != "if_statement" or around is None or around.type not in _FUNCTIONS or node.parent is None:
        return False
    steps = [child for child in node.parent.named_children if not is_comment(child)]
    begun = node.child_by_field_name("initializer") or next((step for step in steps[-2:-1]), None)
    return steps[-1] == node and _ONLY_ERROR.match(text_of(begun)) is not None


def _is_loud(node: "Node") -> bool:
    """It only stops where a step fails: `unwrap()`, `if err != nil { t.Fatal(err) }`."""
    return _LOUD.search(text_of(node)[-_TAIL_LENGTH:]) is not None


def _find_asserting_names(change: CodeChange, language: Language) -> frozenset[str]:
    """Names of what checks something in any file of tests that the dossier shows."""
    shown = [
        source
        for file in change.files
        if file.language is language
        for source in _find_test_sources(file.path, file.sources)
    ]
    changed = {file.path for file in change.files}
    for path, text in change.texts.items():
        if path not in changed and language_of(path) is language and is_parsable(text):
            shown += _find_test_sources(path, (Source(text, 1, is_whole=True, language=language),))
    return find_asserting_names(
        function for source in shown for function in find_functions(source) if _is_helper(function)
    )


def _is_helper(function: Function) -> bool:
    """Not a test, nor what stands inside of one."""
    is_test = function.is_test_callback or function.name.startswith(("test_", "Test")) or "est]" in function.attributes
    return not is_test and "@Test" not in function.attributes and function.scope is not FunctionScope.FUNCTION


def _find_test_sources(path: str, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    return sources if role_of(path) is FileRole.TEST else ()


def _has_asserting_call(look: TestPair, asserting: frozenset[str]) -> bool:
    """It calls, takes or hands over something that checks, or something checks after each test."""
    test = look.test
    if test.source.language in SCRIPT_LANGUAGES and _HANDS_OVER.search(test.text):
        return True
    if AFTER_EACH_TEST in asserting or look.file.cached(_has_check_after_each):
        return True
    return any(name in asserting for name in _WORD.findall(f"{test.text} {_parameters(test.function.node)}"))


def _has_check_after_each(file: AnalyzedFile) -> bool:
    return file.language in SCRIPT_LANGUAGES and any(_AFTER_EACH.search(source.text) for source in file.sources)


def _parameters(node: "Node") -> str:
    return text_of(node.child_by_field_name("parameters"))


def find_unread_names(look: TestPair) -> Iterator[str]:
    """Names that are bound and not read again, be it to print them."""
    return (name for name, _ in _find_unread_bindings(look))


def _find_unread_bindings(look: TestPair) -> Iterator[tuple[str, "Node"]]:
    """They and what binds each."""
    body, language = look.test.body, look.test.source.language
    if _ELSEWHERE.search(look.test.text) or language not in BINDING_TYPES:
        return
    if language in SCRIPT_LANGUAGES and ASKS_THE_COMPILER.search(look.test.text):
        return
    counts, blocks = Counter(_WORD.findall(look.test.text)), dict[int, Counter[str]]()
    nodes = look.test.source.nodes
    for spine in find_call_chains(body, language, nodes=nodes):
        if _PRINTS.fullmatch(spine.links[-1].name) and spine.is_result_dropped:
            counts.subtract(set(_WORD.findall(text_of(spine.node))))
    for binding in nodes.find(BINDING_TYPES[language], body):
        if _is_bound(binding, language) and not is_within_definition(binding, body):
            names = (
                text_of(_bound_name(binding)).replace(" ", "").split(",")
                if language is Language.GO
                else [text_of(_bound_name(binding))]
            )
            around = _find_block(binding, look) if language in _SCOPED else None
            if around is not None and around.id not in blocks:
                blocks[around.id] = Counter(_WORD.findall(text_of(around)))
            counted = counts if around is None else blocks[around.id]
            yield from (
                (name, binding) for name in names if 1 in {counts[name], counted[name]} and not name.startswith("_")
            )


def _find_block(binding: "Node", look: TestPair) -> "Node | None":
    """The block inside of the test that the binding stands in."""
    return next((ancestor for ancestor in ancestors(binding, look.test.body) if ancestor.type in _BLOCKS), None)


def _bound_name(binding: "Node") -> "Node | None":
    fields = (binding.child_by_field_name(name) for name in ("left", "pattern", "name"))
    return next((field for field in fields if field is not None), None)


def _is_bound(binding: "Node", language: Language) -> bool:
    """To anything; a declared type of a script is a test of types."""
    fields = (binding.child_by_field_name(name) for name in ("right", "value"))
    is_typed = language in SCRIPT_LANGUAGES and binding.child_by_field_name("type") is not None
    return not is_typed and any(field is not None for field in fields)
