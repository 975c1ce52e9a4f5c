"""New tests that cannot fail for a wrong result, since nothing in them looks at one.

The name of a helper in another file decides whether it asserts; a fact can be read off the body of the test.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import ASKS_THE_COMPILER
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source, is_parsable, memoized
from worker.signals.analysis.changed_functions import is_announced
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language, language_of, role_of
from worker.signals.analysis.functions import FunctionScope, find_functions
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.references import find_call_chains
from worker.signals.analysis.syntax import ancestors, is_comment, register_types, text_of
from worker.signals.analysis.test_pairs import (
    AFTER_EACH_TEST,
    TestPair,
    base_sources,
    find_asserting_names,
    find_test_pairs,
    has_checks_beside,
    is_conditional_callback,
    is_inherited_test_disabled,
    is_smoke_test,
    is_within_definition,
)
from worker.signals.analysis.tests import find_tests, has_expecting_mark, modifiers_of
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

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
    {"Test", "DisplayName", "Order", "Tag", "Timeout", "TestMethodOrder", "TestInstance", "Nested", "Execution"}
    | {"Ignore", "Override", "Deprecated", "SuppressWarnings", "SuppressFBWarnings", "Disabled", "Nullable"}
    | {"NonNull", "Suppress", "BeforeEach", "AfterEach", "BeforeAll", "AfterAll", "Before", "After"}
    | {"ParameterizedTest", "RepeatedTest"}
)
"""Annotations that name, order or limit a test, and run no code of their own around it."""
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
"""A lookup whose result is used, and calls named for throwing."""
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
"""A matcher as an argument, or a field with an expectation: what takes it compares."""
_AFTER_EACH: Final = pattern(r"\bafter(?:Each|All)\([^;]{0,300}(?:expect|assert)")
_WORD: Final = pattern(r"[A-Za-z_]\w*")
_BINDING_TYPES: Final = register_types(
    {
        Language.PYTHON: ("assignment",),
        Language.GO: ("short_var_declaration",),
        Language.RUST: ("let_declaration",),
        **dict.fromkeys((*SCRIPT_LANGUAGES, Language.JAVA), ("variable_declarator",)),
        Language.RUBY: ("assignment",),
        Language.PHP: ("assignment_expression",),
    },
)
"""Nodes that bind a name, in the languages whose tests are searched for it."""
_PRINTS: Final = pattern(r"(?:e?print(?:ln|f)?!?|dbg!|log|info|debug|warn|Log|Logf|Print|Println|Printf)", 0)
_SCOPED: Final = frozenset({*SCRIPT_LANGUAGES, Language.RUST, Language.GO, Language.JAVA})
"""Languages where a name is known only in the block that binds it."""
_BLOCKS: Final = frozenset({"statement_block", "block"})
_ELSEWHERE: Final = pattern(r"\b(?:global|nonlocal|locals)\b")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Write the test at {place}: call the code that it is named after, and assert the result. Or take it out until then.",
    settled_by=SettlingLine.OWN_CHECK,
)
def test_empty(change: CodeChange) -> Iterator[SignalMatch]:
    """A new or emptied test that does nothing: it has no statement, or calls nothing.

    None whose name asks for compiling, building or loading, or beside which its case holds a configuration or a snapshot.

    Why it matters: A runner counts it as passed, so the report claims a proof that was never written.
    Example: `def test_load():` with `pass` as its whole body.
    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for pair in _find_empty(change):
        if not is_announced(change) and not _can_do_more(pair, change):
            yield _build_match(pair, f"{_describe(pair)} does nothing")


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Add an assertion to the test at {place} that compares what the code returns with the expected value.",
)
def test_result_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test that computes something, never looks at it again, and asserts nothing else.

    A thing that is only made, and what is looked up by a call that throws where there is none, is no such value. A test that ends
    in a check that holds in any case is reported by that check alone.

    Why it matters: Such a test passes whatever the code returns, unless it raises.
    Example: `size = load('b')` as the whole body of `test_load`.
    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for pair in find_unasserted(change):
        is_reported = any(assertion.proof is Proof.NOTHING for assertion in pair.assertions)
        what = None if is_reported else _find_discarded(pair)
        if what is not None:
            yield _build_match(pair, f"{_describe(pair)} asserts nothing, and nothing checks {what}")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, settled_by=SettlingLine.OWN_CHECK)
def test_without_assertion(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test in which nothing looks like an assertion, nor calls anything that asserts or sounds like it.

    Or an empty one that takes a fixture of the repository, which may do the work, that the title calls a stub, whose name asks
    for compiling, or beside which a configuration or a snapshot of its case is shown.

    Why it matters: It shows that the code runs, not that its result is right.
    Example: `it('saves', async () => { await save(cart) })`.
    False alarms: 382 of 22175 clean changes with tests (1.7 %, at most 1.90 %).
    """
    for pair in find_unasserted(change):
        if _find_discarded(pair) is None and all(assertion.proof is not Proof.NOTHING for assertion in pair.assertions):
            yield _build_match(pair, f"{_describe(pair)} asserts nothing")
    for pair in _find_empty(change):
        if is_announced(change) or _can_do_more(pair, change):
            yield _build_match(pair, f"{_describe(pair)} does nothing of its own")


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_value_unread(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test asserts something, and computes something else that it never reads.

    Why it matters: A value that is computed and not compared is often an assertion that was forgotten.
    Example: `total = cart.total()` beside `assert cart.rows`, and no line that reads `total`.
    False alarms: 66 of 22175 clean changes with tests (0.3 %, at most 0.38 %).
    """
    unasserted = set(map(id, find_unasserted(change)))
    for pair in find_test_pairs(change):
        name = next(find_unread_names(pair), None) if pair.is_new and id(pair) not in unasserted else None
        if name is not None and not has_expecting_mark(pair.test):
            yield _build_match(pair, f"the new test `{pair.test.name}` never reads its `{name}`")
        is_of_rust = pair.is_new and pair.test.source.language is Language.RUST
        lines = pair.test.text.split("\n") if is_of_rust else ()
        for line, text in enumerate(lines, pair.test.source.line_of(pair.test.body)):
            if _NAMED_ONLY.fullmatch(text[:_TAIL_LENGTH]):
                note = f"the new test `{pair.test.name}` looks at this and throws it away"
                yield SignalMatch(note, pair.file.path, line)


@memoized
def _find_empty(change: CodeChange) -> tuple[TestPair, ...]:
    return tuple(pair for pair in find_test_pairs(change) if _is_certain(pair) and _is_idle(pair))


def _is_certain(pair: TestPair) -> bool:
    """Whether it is new or was emptied, is all shown, and nothing around it makes it more than its body."""
    test, base, owner = pair.test, pair.base, pair.test.function.container
    marks = test.marks if owner is None else f"{test.marks}\n{modifiers_of(owner)}"
    is_emptied = base is not None and bool(base.function.statements)
    is_annotated = test.source.language in {Language.JAVA, Language.KOTLIN}
    annotations = _ANNOTATION.findall(f"{marks} {test.function.attributes}") if is_annotated else ()
    # the processor of an annotation may be what is tested
    is_meant = not _PLAIN_ANNOTATIONS.issuperset(annotations) or is_inherited_test_disabled(test)
    is_run_by_others = _FIXTURES.search(marks) is not None and is_smoke_test(test)
    may_rest = pair.is_cut or has_expecting_mark(test) or is_conditional_callback(test) or is_run_by_others
    return (is_emptied or (pair.is_new and not is_meant)) and not may_rest


def _can_do_more(pair: TestPair, change: CodeChange) -> bool:
    """Whether a fixture or the folder of its case may check something, or to be compiled is its purpose."""
    test, source = pair.test, pair.test.source
    tests = find_tests(source) if source.language in SCRIPT_LANGUAGES else ()
    bodies = (other.function.statements for other in tests)
    names = _WORD.findall(_parameters(test.function.node)) if source.language is Language.PYTHON else ()
    return (
        _COMPILES.search(test.name) is not None
        # a test that only throws is there to try a test runner
        or any(len(body) == 1 and _THROWS_ONLY.match(text_of(body[0])) for body in bodies)
        # a fixture of the repository, taken by a name that pytest does not know, may do the work
        or any(name not in _KNOWN_TO_PYTEST and name not in test.marks for name in names)
        or has_checks_beside(pair.file, change)
    )


def _is_idle(pair: TestPair) -> bool:
    body, source, statements = pair.test.body, pair.test.source, pair.test.function.statements
    if not statements:
        return True
    is_making = source.language is Language.JAVA and _MAKES.search(pair.test.text) is not None
    if source.language not in _WITH_CALLS or pair.assertions or is_making:
        return False
    for statement in statements:
        only = statement.named_children[0] if statement.named_child_count == 1 else statement
        left = only.child_by_field_name("left") if "assignment" in only.type else None
        # it sets a field, for what runs after the test
        is_storing = left is not None and (only.type == "assignment_expression" or left.type != "identifier")
        if is_storing or statement.type not in _IDLE_STATEMENTS:
            return False
    return next(find_call_chains(source, body), None) is None


def _find_discarded(pair: TestPair) -> str | None:
    """A computed value that is not read: bound to a name, or returned by what other tests assert about."""
    name = next((name for name, binding in _find_unread_bindings(pair) if not _is_self_proving(binding)), None)
    if name is not None:
        return f"its `{name}`"
    test = pair.test
    asserted = _find_asserted_calls(pair.file)
    for chain in find_call_chains(test.source, test.body) if asserted else ():
        is_plain = len(chain.links) == 1 and chain.is_result_dropped and chain.links[0].name in asserted
        if is_plain and not is_within_definition(chain.node, test.body):
            return f"what `{chain.links[0].name}` returns"
    return None


def _is_self_proving(binding: Node) -> bool:
    """Whether it binds a thing that is only made, or what throws where there is none: its existence is asked for."""
    value = binding.child_by_field_name("right") or binding.child_by_field_name("value")
    if value is not None and value.type == "expression_list":
        value = value.named_children[0]
    if value is None or value.type in _MADE:
        return value is not None
    called = text_of(value.child_by_field_name("function"))[-_TAIL_LENGTH:]
    is_maker = (_MAKERS_OF_GO if binding.type == "short_var_declaration" else _MAKERS).fullmatch(called) is not None
    return is_maker or _THROWS.search(text_of(value)[:_TAIL_LENGTH]) is not None


@memoized
def _find_asserted_calls(file: AnalyzedFile) -> frozenset[str]:
    """Functions whose result the file asserts about, without those that end older tests, which only ask for success."""
    asserted = frozenset(match[1] for source in file.sources for match in _ASSERTED.finditer(source.text))
    tests = (test for source in base_sources(file) for test in find_tests(source) if test.function.statements)
    ends = (text_of(test.function.statements[-1])[:_TAIL_LENGTH] for test in tests)
    matches = (_PLAIN_CALL.fullmatch(" ".join(end.split())) for end in ends)
    return asserted.difference(match[1] for match in matches if match is not None)


def _describe(pair: TestPair) -> str:
    return f"the {'new' if pair.is_new else 'changed'} test `{pair.test.name}`"


def _build_match(pair: TestPair, note: str) -> SignalMatch:
    test = pair.test
    return SignalMatch(note, pair.file.path, test.first_line, max(test.first_line, test.last_line))


@memoized
def find_unasserted(change: CodeChange) -> tuple[TestPair, ...]:
    """New tests with statements and without a check of more than success."""
    bare: list[TestPair] = []
    for pair in filter(_has_no_check, find_test_pairs(change)):
        has_empty_check = any(assertion.proof is Proof.NOTHING for assertion in pair.assertions)
        had_check = any(check.proof is Proof.VALUE and not check.is_guess for check in pair.base_assertions)
        if had_check or (pair.is_new and (has_empty_check or not is_smoke_test(pair.test))):
            bare.append(pair)
    languages = {pair.test.source.language for pair in bare}
    asserting = {language: _find_asserting_names(change, language) for language in languages}
    return tuple(pair for pair in bare if not _has_asserting_call(pair, asserting[pair.test.source.language]))


def _has_no_check(pair: TestPair) -> bool:
    """Whether nothing in it fails but by chance. A test that proves success on purpose has checks for that."""
    is_measured = "benchmark" in _parameters(pair.test.function.node) or "BenchmarkRunner." in pair.test.text
    if not pair.test.function.statements or pair.is_cut or has_expecting_mark(pair.test) or is_measured:
        return False
    checks = [assertion for assertion in pair.assertions if assertion.proof is not Proof.NOTHING]
    # it only stops where a step fails (`unwrap()`, `if err != nil { t.Fatal(err) }`), and more steps follow
    return all(
        check.proof is Proof.SUCCESS
        and _LOUD.search(text_of(check.node)[-_TAIL_LENGTH:])
        and not _is_the_end(check.node)
        for check in checks
    )


def _is_the_end(node: Node) -> bool:
    """Whether it ends a function of Go by checking the error that is all that its last step returns."""
    around = next((ancestor for ancestor in ancestors(node) if ancestor.type not in _BODY_BLOCKS), None)
    if node.type != "if_statement" or around is None or around.type not in _FUNCTIONS or node.parent is None:
        return False
    steps = [child for child in node.parent.named_children if not is_comment(child)]
    last_step = node.child_by_field_name("initializer") or next(iter(steps[-2:-1]), None)
    return steps[-1] == node and _ONLY_ERROR.match(text_of(last_step)) is not None


def _find_asserting_names(change: CodeChange, language: Language) -> frozenset[str]:
    """Names of what checks something in any file of tests that the dossier shows."""
    changed = {file.path for file in change.files}
    tests = (file for file in change.files if file.language is language and file.is_test)
    shown = [source for file in tests for source in file.sources]
    for path, text in change.texts.items():
        is_test = path not in changed and language_of(path) is language and role_of(path) is FileRole.TEST
        if is_test and is_parsable(text):
            shown.append(Source(text, 1, is_whole=True, language=language))
    return find_asserting_names(
        function
        for source in shown
        for function in find_functions(source)
        if function.scope is not FunctionScope.FUNCTION
        and not (function.is_test_callback or function.name.startswith(("test_", "Test")))
        and not ("est]" in function.attributes or "@Test" in function.attributes)
    )


def _has_asserting_call(pair: TestPair, asserting: frozenset[str]) -> bool:
    """Whether it calls, takes or passes something that checks, or something checks after each test."""
    test = pair.test
    if test.source.language in SCRIPT_LANGUAGES and _HANDS_OVER.search(test.text):
        return True
    if AFTER_EACH_TEST in asserting or _has_check_after_each(pair.file):
        return True
    return not asserting.isdisjoint(_WORD.findall(f"{test.text} {_parameters(test.function.node)}"))


@memoized
def _has_check_after_each(file: AnalyzedFile) -> bool:
    return file.language in SCRIPT_LANGUAGES and any(_AFTER_EACH.search(source.text) for source in file.sources)


def _parameters(node: Node) -> str:
    return text_of(node.child_by_field_name("parameters"))


def find_unread_names(pair: TestPair) -> Iterator[str]:
    """Names that are bound and never read, or only to print them."""
    return (name for name, _ in _find_unread_bindings(pair))


def _find_unread_bindings(pair: TestPair) -> Iterator[tuple[str, Node]]:
    """The same with what binds each."""
    body, source, text = pair.test.body, pair.test.source, pair.test.text
    language, nodes = source.language, source.nodes
    if language not in _BINDING_TYPES or _ELSEWHERE.search(text):
        return
    if language in SCRIPT_LANGUAGES and ASKS_THE_COMPILER.search(text):
        return
    counts, blocks = Counter(_WORD.findall(text)), dict[int, Counter[str]]()
    for chain in find_call_chains(source, body):
        if _PRINTS.fullmatch(chain.links[-1].name) and chain.is_result_dropped:
            counts.subtract(set(_WORD.findall(text_of(chain.node))))
    for binding in nodes.find(_BINDING_TYPES[language], body):
        is_typed = language in SCRIPT_LANGUAGES and binding.child_by_field_name("type") is not None  # a test of types
        has_value = any(binding.child_by_field_name(name) is not None for name in ("right", "value"))
        if is_typed or not has_value or is_within_definition(binding, body):
            continue
        fields = map(binding.child_by_field_name, ("left", "pattern", "name"))
        bound = text_of(next(filter(None, fields), None))
        names = bound.replace(" ", "").split(",") if language is Language.GO else [bound]
        inner = (ancestor for ancestor in ancestors(binding, body) if ancestor.type in _BLOCKS)
        block = next(inner, None) if language in _SCOPED else None
        if block is not None and block.id not in blocks:
            blocks[block.id] = Counter(_WORD.findall(text_of(block)))
        counted = counts if block is None else blocks[block.id]
        unread = (name for name in names if 1 in {counts[name], counted[name]} and not name.startswith("_"))
        yield from ((name, binding) for name in unread)
