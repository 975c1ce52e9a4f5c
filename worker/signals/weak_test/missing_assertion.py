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
from worker.signals.analysis.announced import is_announced
from worker.signals.analysis.asserting import AFTERWARDS, asserting_names, marks_prove
from worker.signals.analysis.assertions import ASKS_THE_COMPILER
from worker.signals.analysis.call_chains import spines
from worker.signals.analysis.change import Change, ChangedFile, Source, is_parsable
from worker.signals.analysis.conditional_skips import is_one_of_two
from worker.signals.analysis.file_roles import SCRIPTS, Language, Role, language_of, role_of
from worker.signals.analysis.functions import Function, Where, functions_of
from worker.signals.analysis.inherited import turns_off_an_inherited_one
from worker.signals.analysis.material import modifiers
from worker.signals.analysis.syntax import Sought, ancestors, is_comment, sought, text_of
from worker.signals.analysis.test_pairs import (
    Look,
    is_checked_beside,
    is_within_definition,
    looks,
    proves_by_running,
)
from worker.signals.analysis.tests import Test, base_sources, tests_of
from worker.signals.analysis.truths import Proof
from worker.signals.signal import Kind, Looks, Place, signal

if TYPE_CHECKING:
    from tree_sitter import Node


@signal(
    Category.WEAK_TEST,
    Kind.FACT,
    Looks.TESTS,
    "Write the test at {place}: call the code that it is named after, and assert the result. Or take it out until then.",
)
def test_empty(change: Change) -> Iterator[Place]:
    """A new or emptied test that does nothing: it has no statement, or calls nothing.

    None whose name says that something should compile, build or load, or beside which its case holds a configuration or a snapshot.

    False alarms: 15 of 22175 clean changes with tests (0.1 %, at most 0.11 %).
    """
    for look in change.once(_empty):
        if not is_announced(change) and not _may_do_more(look, change):
            yield _place(look, f"{_named(look)} does nothing")


def _empty(change: Change) -> tuple[Look, ...]:
    return tuple(look for look in looks(change) if _may_be_blamed(look) and _does_nothing(look))


def _may_be_blamed(look: Look) -> bool:
    """It is new or was emptied, is all shown, and nothing around it makes it more than its body."""
    is_emptied = look.base is not None and bool(look.base.function.statements)
    is_meant = turns_off_an_inherited_one(look.test) or _runs_other_code(look.test)
    is_run_by_others = _takes_a_marked_fixture(look.test) and proves_by_running(look.test)
    may_rest = look.is_cut or marks_prove(look.test) or is_one_of_two(look.test) or is_run_by_others
    return (is_emptied or (look.is_new and not is_meant)) and not may_rest


def _may_do_more(look: Look, change: Change) -> bool:
    """A fixture or the folder of its case may check something, or to be compiled is all that it is for."""
    is_to_compile = _COMPILES.search(look.test.name) is not None
    is_tried = look.test.source.language in SCRIPTS and any(map(_fails_on_purpose, tests_of(look.test.source)))
    return is_to_compile or is_tried or _takes_a_fixture(look.test) or is_checked_beside(look.file, change)


def _fails_on_purpose(test: Test) -> bool:
    """It only throws: then the file is there to try a runner of tests."""
    statements = test.function.statements
    return len(statements) == 1 and _THROWS_ONLY.match(text_of(statements[0])) is not None


_THROWS_ONLY: Final = pattern(r"throw new \w*Error\(|(?:return )?Promise\.reject\(")


_COMPILES: Final = pattern(
    r"(?:^|[ _])(?:should|must|can)[ _](?:be[ _])?(?:compiled?|buil[dt]|load(?:ed)?)(?:[ _](?:without|with no|fine|ok|correctly|successfully|cleanly)\b.*)?$",
    re.IGNORECASE,
)


def _takes_a_fixture(test: Test) -> bool:
    """A fixture of the repository may do the work: it is taken by its name, and pytest knows none of that name."""
    if test.source.language is not Language.PYTHON:
        return False
    given = _WORD.findall(_parameters(test.function.node))
    return any(name not in _KNOWN_TO_PYTEST and name not in test.marks for name in given)


_KNOWN_TO_PYTEST: Final = frozenset(
    {"self", "cls", "monkeypatch", "tmp_path", "tmpdir", "tmp_path_factory", "request", "recwarn", "pytestconfig"}
    | {"capsys", "capfd", "caplog", "mocker", "None", "pytest", "MonkeyPatch", "Path"}
)


def _runs_other_code(test: Test) -> bool:
    """An annotation of Java or Kotlin that is no plain one of a test framework: what processes it may be what is tested."""
    if test.source.language not in {Language.JAVA, Language.KOTLIN}:
        return False
    owner = test.function.container
    marks = f"{test.marks} {test.function.attributes} {'' if owner is None else modifiers(owner)}"
    return any(name not in _PLAIN for name in _ANNOTATION.findall(marks))


_ANNOTATION: Final = pattern(r"@(?:\w+\.)*+(\w+)")
_PLAIN: Final = frozenset(
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


def _takes_a_marked_fixture(test: Test) -> bool:
    owner = test.function.container
    return any(_FIXTURES.search(marks) for marks in (test.marks, "" if owner is None else modifiers(owner)))


_FIXTURES: Final = pattern(r"@(?:\w+\.)*(?:usefixtures|mark\.usefixtures)\b")
_WITH_CALLS: Final = frozenset({Language.PYTHON, Language.GO, Language.JAVA})
"""Elsewhere a test may be one of types."""


def _does_nothing(look: Look) -> bool:
    if not look.test.function.statements:
        return True
    body, language = look.test.body, look.test.source.language
    is_still = (
        language in _WITH_CALLS
        and not look.oracles
        and not (language is Language.JAVA and _MAKES.search(look.test.text))
        and next(spines(body, language, nodes=look.test.source.nodes), None) is None
    )
    return is_still and all(one.type in _STILL and not _keeps(one) for one in look.test.function.statements)


_MAKES: Final = pattern(r"\bnew\s+\w")


def _keeps(statement: "Node") -> bool:
    """It hands something to who comes after the test: a field is set."""
    only = statement.named_children[0] if statement.named_child_count == 1 else statement
    left = only.child_by_field_name("left")
    return (
        "assignment" in only.type
        and left is not None
        and (only.type == "assignment_expression" or left.type != "identifier")
    )


_STILL: Final = frozenset(
    {"pass_statement", "expression_statement", "local_variable_declaration", "short_var_declaration"}
)


@signal(
    Category.WEAK_TEST,
    Kind.FACT,
    Looks.TESTS,
    "Add an assertion to the test at {place} that compares what the code returns with the expected value.",
)
def test_result_unread(change: Change) -> Iterator[Place]:
    """A new test that computes something, never looks at it again, and asserts nothing else.

    A thing that is only made, and what is looked up by a call that throws where there is none, is no such value. A test that ends
    in a check that holds in any case is told by that check alone.

    False alarms: 8 of 22175 clean changes with tests (0.0 %, at most 0.07 %).
    """
    for look in unasserted(change):
        is_told = any(one.proof is Proof.NOTHING for one in look.oracles)
        what = None if is_told else _thrown_away(look)
        if what is not None:
            yield _place(look, f"{_named(look)} asserts nothing, and nothing checks {what}")


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_without_assertion(change: Change) -> Iterator[Place]:
    """A new test in which nothing looks like an assertion, nor calls anything that asserts or sounds like it.

    Or an empty one that takes a fixture of the repository, which may do the work, that the title calls a stub, whose name says
    that something should compile, or beside which a configuration or a snapshot of its case is shown.

    False alarms: 382 of 22175 clean changes with tests (1.7 %, at most 1.90 %).
    """
    for look in unasserted(change):
        if _thrown_away(look) is None and all(one.proof is not Proof.NOTHING for one in look.oracles):
            yield _place(look, f"{_named(look)} asserts nothing")
    for look in change.once(_empty):
        if is_announced(change) or _may_do_more(look, change):
            yield _place(look, f"{_named(look)} does nothing of its own")


def _thrown_away(look: Look) -> str | None:
    """A value that it computes and does not look at: bound to a name, or returned by what other tests hold to account."""
    name = next((name for name, binding in _unread(look) if not _proves_itself(binding)), None)
    if name is not None:
        return f"its `{name}`"
    called = next(_dropped(look), None)
    return None if called is None else f"what `{called}` returns"


def _proves_itself(binding: "Node") -> bool:
    """Whether it binds a thing that is only made, or what throws where there is none: that it comes to be is asked."""
    bound = next((one for one in map(binding.child_by_field_name, ("right", "value")) if one is not None), None)
    value = bound.named_children[0] if bound is not None and bound.type == "expression_list" else bound
    if value is None or value.type in _MADE:
        return value is not None
    called = text_of(value.child_by_field_name("function"))[-_TAIL:]
    is_maker = (_MAKERS_OF_GO if binding.type == "short_var_declaration" else _MAKERS).fullmatch(called) is not None
    return is_maker or _THROWS.search(text_of(value)[:_TAIL]) is not None


_MADE: Final = frozenset(
    {"object_creation_expression", "new_expression", "composite_literal", "struct_expression", "unary_expression"}
)
_MAKERS: Final = pattern(r"(?:\w+(?:\.|::))*(?:[A-Z]\w*|(?:\w+::)(?:new|default|builder))")
_MAKERS_OF_GO: Final = pattern(r"(?:\w+\.)?[nN]ew(?:[A-Z]\w*)?")
_THROWS: Final = pattern(
    r"\b(?:get|find|lookup|look_up)(?:_?[A-Z]\w*)?\([^()\n]{1,80}\)\.\w|\bMust[A-Z]\w*\(|(?:[oO]r|_)_?(?:[eE]lse_?)?(?:[tT]hrow|[fF]ail|[rR]aise)\("
)
"""A lookup whose result is asked for more, and calls that say that they throw."""


def _dropped(look: Look) -> Iterator[str]:
    """Plain functions that it calls for nothing, and whose result is asserted elsewhere in this file."""
    test = look.test
    asserted = look.file.once(_asserted) - look.file.once(_dropped_before)
    for spine in spines(test.body, test.source.language, nodes=test.source.nodes) if asserted else ():
        is_plain = len(spine.links) == 1 and spine.is_dropped and spine.links[0].name in asserted
        if is_plain and not is_within_definition(spine.node, test.body):
            yield spine.links[0].name


def _dropped_before(file: ChangedFile) -> frozenset[str]:
    """What an older test of the file ends with, and looks at no more: to run is what these tests ask for."""
    tests = (test for source in base_sources(file) for test in tests_of(source) if test.function.statements)
    ends = (_PLAIN_CALL.fullmatch(" ".join(text_of(test.function.statements[-1])[:_TAIL].split())) for test in tests)
    return frozenset(end[1] for end in ends if end is not None)


_PLAIN_CALL: Final = pattern(r"([A-Za-z_]\w*)\(.*\);?")


def _asserted(file: ChangedFile) -> frozenset[str]:
    return frozenset(found[1] for source in file.sources for found in _ASSERTED.finditer(source.text))


_ASSERTED: Final = pattern(
    r"(?:\bassert (?:not )?|\bassert\w*!?\(|\bexpect\((?:await )?|\bassertThat\(|\.Equal\(t, )([A-Za-z_]\w{2,80})\("
)


def _named(look: Look) -> str:
    return f"the {'new' if look.is_new else 'changed'} test `{look.test.name}`"


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_value_unread(change: Change) -> Iterator[Place]:
    """A new test asserts something, and computes something else that it never reads.

    False alarms: 66 of 22175 clean changes with tests (0.3 %, at most 0.38 %).
    """
    known = set(map(id, unasserted(change)))
    for look in looks(change):
        name = next(unread(look), None) if look.is_new and id(look) not in known else None
        if name is not None and not marks_prove(look.test):
            yield _place(look, f"the new test `{look.test.name}` never reads its `{name}`")
        for line in _thrown_away_at(look):
            yield Place(f"the new test `{look.test.name}` looks at this and throws it away", look.file.path, line)


def _thrown_away_at(look: Look) -> Iterator[int]:
    """Lines of a new test in Rust that only name a value: a field, a part, what a getter returns."""
    is_looked_at = look.is_new and look.test.source.language is Language.RUST
    for number, text in enumerate(look.test.text.split("\n") if is_looked_at else (), look.test.body.start_point.row):
        if _NAMED_ONLY.fullmatch(text[:_TAIL]):
            yield number + look.test.source.first


_NAMED_ONLY: Final = pattern(
    r"\s*let _ = (?:(?:\w+\()?&\w[\w.]*\[.{1,80}\]\)?|(?!.*\.(?:\w+\(|await\b)).*\.\w+|.*\.(?:get_\w+|value_of|kind|status|as_\w+|is_\w+|to_string|len|name|version|headers?)\(\w*[\"\w]*\));"
)


def _place(look: Look, note: str) -> Place:
    test = look.test
    return Place(note, look.file.path, test.first, max(test.first, test.last))


def unasserted(change: Change) -> tuple[Look, ...]:
    """New tests with statements and without a check of more than success."""
    return change.once(_unasserted)


def _unasserted(change: Change) -> tuple[Look, ...]:
    bare = [look for look in looks(change) if _is_bare(look) and (_is_asked_to_assert(look) or _lost_all(look))]
    asserting = {language: _asserting(change, language) for language in {look.test.source.language for look in bare}}
    return tuple(look for look in bare if not _relies_on(look, asserting[look.test.source.language]))


def _is_asked_to_assert(look: Look) -> bool:
    """A new test that means to find out more than that it runs; a check that holds in any case shows that it does."""
    if not look.is_new:
        return False
    return not proves_by_running(look.test) or any(one.proof is Proof.NOTHING for one in look.oracles)


def _lost_all(look: Look) -> bool:
    return any(one.proof is Proof.VALUE and not one.is_guess for one in look.base_oracles)


def _is_bare(look: Look) -> bool:
    """Nothing in it may fail but by chance. A test that proves success on purpose says so in its checks."""
    is_measured = "benchmark" in _parameters(look.test.function.node) or "BenchmarkRunner." in look.test.text
    if not look.test.function.statements or look.is_cut or marks_prove(look.test) or is_measured:
        return False
    return all(
        one.proof is Proof.NOTHING or (one.proof is Proof.SUCCESS and _is_loud(one.node) and not _is_the_end(one.node))
        for one in look.oracles
    )


def _is_the_end(node: "Node") -> bool:
    """It is what a function of Go ends with: a look at the error that is all that its last step returns."""
    around = next((one for one in ancestors(node) if one.type not in _WITHIN), None)
    if node.type != "if_statement" or around is None or around.type not in _FUNCTIONS or node.parent is None:
        return False
    steps = [one for one in node.parent.named_children if not is_comment(one)]
    begun = node.child_by_field_name("initializer") or next((one for one in steps[-2:-1]), None)
    return steps[-1] == node and _ONLY_ERROR.match(text_of(begun)) is not None


_WITHIN: Final = frozenset({"statement_list", "block"})
_FUNCTIONS: Final = frozenset({"function_declaration", "method_declaration", "func_literal"})
_ONLY_ERROR: Final = pattern(r"\w*[eE]rr\w* :?= ")


_LOUD: Final = pattern(r"(?:\?|\.unwrap\(\)|\.expect\(.{0,200}\))(?:\.\w+)*$|\.(?:Fatal|Error|Fail)\w*\(.*", 16)


def _is_loud(node: "Node") -> bool:
    """It only stops where a step fails: `unwrap()`, `if err != nil { t.Fatal(err) }`."""
    return _LOUD.search(text_of(node)[-_TAIL:]) is not None


_TAIL: Final = 300


def _asserting(change: Change, language: Language) -> frozenset[str]:
    """Names of what checks something in any file of tests that the dossier shows."""
    shown = [
        source for file in change.files if file.language is language for source in _of_tests(file.path, file.sources)
    ]
    changed = {file.path for file in change.files}
    for path, text in change.texts.items():
        if path not in changed and language_of(path) is language and is_parsable(text):
            shown += _of_tests(path, (Source(text, 1, whole=True, language=language),))
    return asserting_names(one for source in shown for one in functions_of(source) if _is_helper(one))


def _is_helper(function: Function) -> bool:
    """Not a test, nor what stands inside of one."""
    is_test = function.is_test_callback or function.name.startswith(("test_", "Test")) or "est]" in function.attributes
    return not is_test and "@Test" not in function.attributes and function.where is not Where.FUNCTION


def _of_tests(path: str, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    return sources if role_of(path) is Role.TEST else ()


def _relies_on(look: Look, asserting: frozenset[str]) -> bool:
    """It calls, takes or hands over something that checks, or something checks after each test."""
    test = look.test
    if test.source.language in SCRIPTS and _HANDS_OVER.search(test.text):
        return True
    if AFTERWARDS in asserting or look.file.once(_checks_afterwards):
        return True
    return any(name in asserting for name in _WORD.findall(f"{test.text} {_parameters(test.function.node)}"))


_HANDS_OVER: Final = pattern(r"\bexpect\.\w+\(|[{,\s]expected[A-Z]\w*:")
"""A matcher as an argument, or a field that says what is expected: what takes it compares."""


def _checks_afterwards(file: ChangedFile) -> bool:
    return file.language in SCRIPTS and any(_AFTER_EACH.search(source.text) for source in file.sources)


_AFTER_EACH: Final = pattern(r"\bafter(?:Each|All)\([^;]{0,300}(?:expect|assert)")
_WORD: Final = pattern(r"[A-Za-z_]\w*")


def _parameters(node: "Node") -> str:
    return text_of(node.child_by_field_name("parameters"))


BINDINGS: Final = sought(
    {
        Language.PYTHON: ("assignment",),
        Language.GO: ("short_var_declaration",),
        Language.RUST: ("let_declaration",),
        **dict.fromkeys((*SCRIPTS, Language.JAVA), ("variable_declarator",)),
        Language.RUBY: ("assignment",),
        Language.PHP: ("assignment_expression",),
    },
    Sought.TESTS,
)
"""What binds a name, in the languages whose tests are looked through for it."""
_PRINTS: Final = pattern(r"(?:e?print(?:ln|f)?!?|dbg!|log|info|debug|warn|Log|Logf|Print|Println|Printf)", 0)


def unread(look: Look) -> Iterator[str]:
    """Names that are bound and not read again, be it to print them."""
    return (name for name, _ in _unread(look))


def _unread(look: Look) -> Iterator[tuple[str, "Node"]]:
    """They and what binds each."""
    body, language = look.test.body, look.test.source.language
    if _ELSEWHERE.search(look.test.text) or language not in BINDINGS:
        return
    if language in SCRIPTS and ASKS_THE_COMPILER.search(look.test.text):
        return
    words, blocks = Counter(_WORD.findall(look.test.text)), dict[int, Counter[str]]()
    nodes = look.test.source.nodes
    for spine in spines(body, language, nodes=nodes):
        if _PRINTS.fullmatch(spine.links[-1].name) and spine.is_dropped:
            words.subtract(set(_WORD.findall(text_of(spine.node))))
    for binding in nodes.find(BINDINGS[language], body):
        if _is_bound(binding, language) and not is_within_definition(binding, body):
            names = (
                text_of(_bound(binding)).replace(" ", "").split(",")
                if language is Language.GO
                else [text_of(_bound(binding))]
            )
            around = _block_around(binding, look) if language in _SCOPED else None
            if around is not None and around.id not in blocks:
                blocks[around.id] = Counter(_WORD.findall(text_of(around)))
            told = words if around is None else blocks[around.id]
            yield from (
                (name, binding) for name in names if 1 in {words[name], told[name]} and not name.startswith("_")
            )


_SCOPED: Final = frozenset({*SCRIPTS, Language.RUST, Language.GO, Language.JAVA})
"""Here a name is known only in the block that binds it."""
_BLOCKS: Final = frozenset({"statement_block", "block"})


def _block_around(binding: "Node", look: Look) -> "Node | None":
    """The block inside of the test that the binding stands in."""
    return next((one for one in ancestors(binding, look.test.body) if one.type in _BLOCKS), None)


_ELSEWHERE: Final = pattern(r"\b(?:global|nonlocal|locals)\b")


def _bound(binding: "Node") -> "Node | None":
    fields = (binding.child_by_field_name(name) for name in ("left", "pattern", "name"))
    return next((one for one in fields if one is not None), None)


def _is_bound(binding: "Node", language: Language) -> bool:
    """To anything; a declared type of a script is a test of types."""
    fields = (binding.child_by_field_name(name) for name in ("right", "value"))
    is_typed = language in SCRIPTS and binding.child_by_field_name("type") is not None
    return not is_typed and any(one is not None for one in fields)
