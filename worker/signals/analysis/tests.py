"""The tests of a source in every language.

pytest and unittest; `it` and `test` of JavaScript; Go with its subtests; Rust; JUnit and TestNG; RSpec, Minitest and Rails;
xUnit, NUnit and MSTest; PHPUnit and Pest; Kotest. A test has a body: `it.todo("...")` is none.

Tests of this module import it as a whole: pytest collects what is called `find_tests`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import AnalyzedFile, Source, memoized
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, find_block, find_functions
from worker.signals.analysis.references import arguments, arguments_and_block
from worker.signals.analysis.syntax import ancestors, is_comment, text_of

_LONGEST_NAME: Final = 200
_COMMENTS: Final = ("#", "//", "/*", "*")


@dataclass(frozen=True)
class Test:
    """One test or subtest."""

    __test__ = False

    name: str
    outer_names: tuple[str, ...]
    """Names of the classes and modules, `describe` titles and the test around it, outermost first."""
    function: Function
    node: Node
    """All of it: the call with its title, or the definition without its decorators."""
    marks: str
    """Decorators, annotations and attributes; of a callback what calls it (`it.skip`, `test.each(...)`)."""

    @property
    def source(self) -> Source:
        return self.function.source

    @property
    def body(self) -> Node:
        return self.function.body

    @property
    def key(self) -> tuple[str, ...]:
        return (*self.outer_names, self.name)

    @property
    def first_line(self) -> int:
        """The line with its name."""
        return self.function.first_line if self.node == self.function.node else self.function.line_of(self.node)

    @property
    def last_line(self) -> int:
        return self.node.end_point.row + self.source.first_line

    @cached_property
    def text(self) -> str:
        """The text of its body."""
        return text_of(self.body)

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        return tuple(find_assertions(self.source, self.body))

    @cached_property
    def lines(self) -> Counter[str]:
        """The lines of its body without indentation and empty ones."""
        return Counter(filter(None, (line.strip() for line in self.text.split("\n"))))

    @property
    def is_maybe_cut(self) -> bool:
        """Whether nothing but comments follows it in a fragment, so that more of it may follow."""
        below = (line.strip() for line in self.source.lines[self.node.end_point.row + 1 :])
        return not self.source.is_whole and not any(line and not line.startswith(_COMMENTS) for line in below)


def can_hold_tests(file: AnalyzedFile) -> bool:
    """Whether its path is that of tests, or it is of Rust, which keeps tests beside the code."""
    is_there = file.language is not None and (file.is_test or file.language is Language.RUST)
    return is_there and not is_test_data(file)


_TEST_DATA_FOLDERS: Final = pattern(
    r"(?:^|/)(?:__)?(?:\w+-)?(?:fixtures?|test-?data)(?:-\w+)?(?:__)?/"
    r"|(?:^|/)e2e/[^/]+/(?:[^/]+/)*__tests__/|(?:^|/)tests?/format/"
    r"|(?:^|/)(?:(?:\w+-)?tests?-compile|compile[-_](?:fail|pass|tests?)|trybuild|ui[-_]tests?|tests/(?:trybuild[-_])?ui)/"
)
"""Inputs of tests, and programs that a compiler must take or refuse."""
_COLLECTED: Final = pattern(r"^tests?[_-]|_tests?\.py$|^conftest\.py$", 2)
_FRAMEWORKS: Final = r"(?:pytest|unittest|nose|hypothesis|trial|testing|asynctest)"
_FRAMEWORK: Final = pattern(rf"^\s*(?:from|import)\b.{{0,200}}\b{_FRAMEWORKS}\b|\b{_FRAMEWORKS}\.\w|\bTestCase\b", 8)
_PROGRAM: Final = pattern(r"^(?:pub )?(?:async )?fn main\(", 8)


@memoized
def is_test_data(file: AnalyzedFile) -> bool:
    """Whether it only looks like tests: a fixture, Python that no runner collects (`tests.py`), a program in Rust's `tests`.

    Outside of the folders of fixtures a file is one of tests if its text is unknown.
    """
    if _TEST_DATA_FOLDERS.search(file.path) is not None:
        return True
    if file.head_text is None or not file.is_test:
        return False
    if file.language is Language.RUST:
        return _PROGRAM.search(file.head_text) is not None
    name = file.path.rpartition("/")[2]
    is_named = file.language is not Language.PYTHON or _COLLECTED.search(name) is not None
    return not is_named and _FRAMEWORK.search(file.head_text) is None


@memoized
def find_tests(source: Source) -> tuple[Test, ...]:
    """Every test in the order of the text, subtests behind the test around them."""
    if source.language in SCRIPT_LANGUAGES:
        return tuple(_find_callbacks(source))
    if source.language is Language.GO:
        return tuple(_find_go_tests(source))
    is_test = _IS_TEST[source.language]
    definitions = (_from_definition(function) for function in find_functions(source) if is_test(function))
    return tuple(chain(definitions, _find_block_tests(source)))


def _from_definition(function: Function) -> Test:
    if function.source.language in MORE_LANGUAGES:
        notes = (text_of(note) for note in function.nodes_above if is_comment(note))
        marks = "\n".join([function.attributes, *notes])
        return Test(function.name, tuple(_outer_titles(function.node)), function, function.node, marks)
    outer = (around for around in ancestors(function.node) if around.type in _NAMED_SCOPES)
    names = [text_of(around.child_by_field_name("name")) for around in outer]
    return Test(function.name, tuple(reversed(names)), function, function.node, function.attributes)


_NAMED_SCOPES: Final = frozenset(
    {"class_definition", "class_declaration", "mod_item", "function_definition", "function_item", "method_declaration"}
)
_MORE_SCOPES: Final = frozenset({"class", "module", "class_declaration", "object_declaration", "struct_declaration"})


def _outer_titles(node: Node) -> Iterable[str]:
    """Names of the classes and titles of the groups around it, outermost first."""
    names: list[str] = []
    for around in ancestors(node):
        if around.type in _MORE_SCOPES:
            names.append(text_of(around.child_by_field_name("name")))
        elif (
            around.type in {"call", "call_expression", "function_call_expression"}
            and _find_test_block(around) is not None
        ):
            names.append(_short_title(next(iter(_title_and_rest(around)), around)))
    return reversed(names)


_FIXTURE: Final = pattern(r"\bfixture\b")  # and not `usefixtures`
_RUST_MARK: Final = pattern(
    r"#!?\[\s*(?:\w+\s*::\s*)*(?:test|rstest|\w+_test|test_case|test_matrix|quickcheck|proptest)\b"
    r"|#\[cfg_attr\([^\]]{0,200},\s*(?:\w+::)*test\b"
)
_JAVA_MARK: Final = pattern(r"@(?:\w+\.)*(?:Test|TestFactory|TestTemplate|Property|Theory|\w+Test(?![a-z])\w*)\b")
_TESTNG_MARK: Final = pattern(r"@(?:org\.testng\.annotations\.)?Test\b")
_RUBY_NAME: Final = pattern(r"test_\w")
_CSHARP_MARK: Final = pattern(r"\[[^\]]{0,200}?\b\w*(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|Property)\b")
_PHP_MARK: Final = pattern(r"#\[[^\]]{0,200}?\bTest\b")
_PHP_TAG: Final = pattern(r"^[^\w\n]*@test\b", 8)
_HELPER_MARK: Final = pattern(r"\b(?:private|protected|static)\b|DataProvider")
_KOTLIN_MARK: Final = pattern(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property|\w+Test)\b")


def can_show_tests(source: Source) -> bool:
    """False where a text of Rust marks none, as most code does; it need not be parsed then."""
    return source.language is not Language.RUST or _RUST_MARK.search(source.text) is not None


def _is_python(function: Function) -> bool:
    is_local = any(around.type == "function_definition" for around in ancestors(function.node))
    return function.name.startswith("test") and not is_local and _FIXTURE.search(function.attributes) is None


def _is_java(function: Function) -> bool:
    owner = function.container
    if function.node.type != "method_declaration" or (owner is not None and _is_run_apart(owner)):
        return False
    if _JAVA_MARK.search(function.attributes):
        return True
    modifiers, parameters = function.attributes.split(), function.node.child_by_field_name("parameters")
    is_called = "static" in modifiers or (parameters is not None and parameters.named_child_count > 0)
    if owner is None or "public" not in modifiers or is_called:
        return False
    returns = text_of(function.node.child_by_field_name("type"))
    is_of_junit3 = owner.child_by_field_name("superclass") is not None and function.name.startswith("test")
    is_of_testng = _TESTNG_MARK.search(modifiers_of(owner)) is not None  # it marks a class and means its public methods
    return returns == "void" and (is_of_junit3 or is_of_testng)


def _is_run_apart(inner: Node) -> bool:
    """Whether it is a class of Java in another one, and neither is marked to run with the other."""
    outer = inner.parent.parent if inner.parent is not None else None
    if outer is None or inner.type != "class_declaration" or outer.type != "class_declaration":
        return False
    return "@Nested" not in modifiers_of(inner) and "Enclosed" not in modifiers_of(outer)


def modifiers_of(owner: Node) -> str:
    """The modifiers and annotations of a class or a method of Java."""
    return " ".join(text_of(child) for child in owner.children if child.type == "modifiers")


def _is_csharp(function: Function) -> bool:
    """Marked, and in no private class: those are inputs of a test tool."""
    owners = (around for around in ancestors(function.node) if around.type == "class_declaration")
    modifiers = (text_of(child) for owner in owners for child in owner.children if child.type == "modifier")
    return _CSHARP_MARK.search(function.attributes) is not None and "private" not in modifiers


def _is_php(function: Function) -> bool:
    if _HELPER_MARK.search(function.attributes):
        return False
    if function.name.startswith("test") or _PHP_MARK.search(function.attributes):
        return True
    return any(_PHP_TAG.search(text_of(note)) for note in function.nodes_above if is_comment(note))


_IS_TEST: Final[dict[Language, Callable[[Function], bool]]] = {
    Language.PYTHON: _is_python,
    Language.RUST: lambda function: _RUST_MARK.search(function.attributes) is not None,
    Language.JAVA: _is_java,
    Language.RUBY: lambda function: (
        _RUBY_NAME.match(function.name) is not None and function.node.child_by_field_name("parameters") is None
    ),
    Language.CSHARP: _is_csharp,
    Language.PHP: _is_php,
    Language.KOTLIN: lambda function: _KOTLIN_MARK.search(function.attributes) is not None,
}

_GO_TEST: Final = pattern(r"(?:Test|Fuzz)(?![a-z])")
_GO_RUNS: Final = frozenset({"Run", "It", "Specify", "FIt", "XIt", "PIt"})
_GO_CALLS: Final = pattern(rf"\b(?:{'|'.join(sorted(_GO_RUNS))})\b")


def _find_go_tests(source: Source) -> Iterator[Test]:
    calls = ("call_expression",) if _GO_CALLS.search(source.text) else ()
    nodes = source.nodes.find(("function_declaration", "method_declaration", *calls))
    within: Test | None = None
    for node in nodes:
        body = node.child_by_field_name("body")
        if node.type == "call_expression":
            test = _go_callback(node, source, within)
        else:
            within = test = _go_test(Function(node, body, source)) if body is not None else None
        if test is not None:
            yield test


def _go_test(function: Function) -> Test | None:
    parameters = function.node.child_by_field_name("parameters")
    takes, count = text_of(parameters), 0 if parameters is None else parameters.named_child_count
    if not _GO_TEST.match(function.name) or "testing.M" in takes or count > 1:
        return None
    is_test = "testing." in takes or function.node.type == "method_declaration"
    return Test(function.name, (), function, function.node, "") if is_test else None


def _go_callback(call: Node, source: Source, within: Test | None) -> Test | None:
    called = call.child_by_field_name("function")
    if called is None or called.type not in {"selector_expression", "identifier"}:
        return None
    runner = text_of(called.child_by_field_name("field") or called)
    args = arguments(call) if runner in _GO_RUNS else []
    literal = next((argument for argument in args if argument.type == "func_literal"), None)
    body = literal.child_by_field_name("body") if literal is not None else None
    if literal is None or body is None or literal == args[0]:
        return None
    is_inside = within is not None and call.end_byte <= within.node.end_byte
    if not is_inside and runner == "Run":
        return None  # of a benchmark, or of something else that runs
    outer = within.key if within is not None and is_inside else ()
    return Test(_title(args[0]), outer, Function(literal, body, source), call, runner)


_RUNNERS: Final = frozenset(
    {"it", "test", "fit", "xit", "xtest", "ftest", "specify", "xspecify", "fspecify", "itAsync", "testAsync"}
)
_SUITES: Final = frozenset({"Deno", "QUnit", "suite", "t"})
_MODIFIERS: Final = frozenset(
    {"each", "for", "only", "skip", "concurrent", "serial", "sequential", "failing", "fails", "fixme", "slow", "todo"}
    | {"skipIf", "runIf", "if", "todoIf", "failIf", "effect", "live", "scoped", "prop", "test"}
)
_DEEPEST_CALLEE: Final = 5
_CALLBACKS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
_RUNNER: Final = rb"(?:it|test)(?:\.\w{1,20})?"
_CHOICE: Final = rb"[^;{}]{1,120}\?\s*%s\s*:\s*%s" % (_RUNNER, _RUNNER)
_CHOSEN_RUNNER: Final = pattern(rb"\b(?:const|let|var)\s+(\w+)\s*=%s" % _CHOICE)
"""A name for one of two runners: `const itUnix = isWindows ? it.skip : it`."""
_WORD: Final = pattern(rb"\w+")
_RUNNER_START: Final = pattern(rb"(?:%s)\b|\((?=%s\))" % ("|".join(sorted(_RUNNERS | _SUITES)).encode(), _CHOICE))
"""The beginning of each call that may run a test. Most calls are none, as their text shows."""


def _find_callbacks(source: Source) -> Iterator[Test]:
    raw = source.text.encode("utf-8", "replace")
    begins = {match.start() for match in _RUNNER_START.finditer(raw)}
    chosen = frozenset(match[1] for match in _CHOSEN_RUNNER.finditer(raw)) if begins else frozenset[bytes]()
    begins.update(match.start() for match in _WORD.finditer(raw) if match[0] in chosen)
    for call in source.nodes.find(("call_expression",)) if begins else ():
        called = call.child_by_field_name("function") if call.start_byte in begins else None
        if called is None or not (called.text in chosen or _runs_a_test(called)):
            continue
        args = arguments(call)
        # a callback may be wrapped once: `fakeAsync(() => ...)`
        wrapped = (
            inner for argument in args[1:] if argument.type == "call_expression" for inner in arguments(argument)
        )
        function = next((node for node in (*args[1:], *wrapped) if node.type in _CALLBACKS), None)
        body = function.child_by_field_name("body") if function is not None else None
        if function is None or body is None:
            continue
        if args[1].type == "identifier" and body.named_child_count == 0:
            continue  # an argument of a macro: `test("a", macro, () => {})`
        lists = (arguments(around) for around in ancestors(call) if around.type == "call_expression")
        outer = [_title(listed[0]) for listed in lists if listed and "string" in listed[0].type]  # of `describe`
        yield Test(_title(args[0]), tuple(reversed(outer)), Function(function, body, source), call, text_of(called))


def _runs_a_test(called: Node) -> bool:
    """`it`, `test.only`, `it.each(...)`, `Deno.test`: read from the end, a few steps far."""
    if called.type == "parenthesized_expression":
        return True  # `(isWindows ? it.skip : it)`, by where it begins
    at: Node | None = called
    for _ in range(_DEEPEST_CALLEE):
        if at is None or at.type not in {"member_expression", "call_expression"}:
            break
        if at.type == "call_expression":
            at = at.child_by_field_name("function")
            continue
        word, at = text_of(at.child_by_field_name("property")), at.child_by_field_name("object")
        if word == "test" and text_of(at)[:10] in _SUITES:
            return True
        if word not in _MODIFIERS:
            return False
    return at is not None and at.type == "identifier" and text_of(at) in _RUNNERS


def _title(node: Node) -> str:
    return text_of(node).strip("'\"`")[:_LONGEST_NAME]


_BLOCK_RUNNERS: Final = {
    Language.RUBY: frozenset(
        {"it", "specify", "example", "test", "should", "scenario", "its", "property"}
        | {"xit", "xspecify", "xexample", "xscenario", "fit", "fspecify", "fexample", "pending", "skip"}
    ),
    Language.PHP: frozenset({"it", "test"}),
    Language.KOTLIN: frozenset(
        {"test", "it", "should", "expect", "then", "Then", "scenario"}
        | {"xtest", "xit", "xshould", "xexpect", "xscenario"}
    ),
}
_BLOCK_CALLS: Final = {Language.PHP: "function_call_expression", Language.KOTLIN: "call_expression"}
_SETUP_CALLS: Final = frozenset({"let", "let!", "subject", "before", "after", "around"})
"""Tests in these, and in other tests, are inputs of a test tool."""
_SPEC: Final = pattern(r"\b(?:Fun|String|Should|Describe|Behavior|Word|Free|Feature|Expect)Spec\b")


def _find_block_tests(source: Source) -> Iterator[Test]:
    """Tests that are calls with a block: `it "works" do`, `test('works', function () {`, `"works" { }`."""
    runners = _BLOCK_RUNNERS.get(source.language)
    if runners is None or (source.language is Language.KOTLIN and not _SPEC.search(source.text)):
        return
    end = 0
    for call in source.nodes.find((_BLOCK_CALLS.get(source.language, "call"),)):
        block, name = _find_test_block(call), _runner_name(call)
        if block is None or call.start_byte < end:
            continue
        if name not in runners and "string" not in name:
            end = call.end_byte if name in _SETUP_CALLS else end
            continue
        end = call.end_byte
        function = Function(block, block.child_by_field_name("body") or block, source)
        args = [argument for argument in _title_and_rest(call) if argument != block]
        outer = tuple(_outer_titles(call))
        yield Test(_short_title(args[0] if args else call), outer, function, call, _marks_text(call, name, args))


def _runner_name(call: Node) -> str:
    """The name of what is called on nothing; of Kotest's plain titles the type of the text."""
    if call.child_by_field_name("receiver") is not None:
        return ""
    called = call.child_by_field_name("method") or call.child_by_field_name("function")
    if called is None:
        called = call.named_children[0]
        called = called.named_children[0] if called.type == "call_expression" and called.named_children else called
    return called.type if "string" in called.type and called.parent == call else text_of(called)[:_LONGEST_NAME]


def _find_test_block(call: Node) -> Node | None:
    if call.type != "function_call_expression":
        return find_block(call)
    closures = (node for node in arguments_and_block(call) if node.type in {"anonymous_function", "arrow_function"})
    return next(closures, None)


def _title_and_rest(call: Node) -> list[Node]:
    """The arguments of a call, the title first."""
    if call.type != "call_expression":
        return arguments_and_block(call)
    inner = call.named_children[0]
    return arguments_and_block(inner) if inner.type == "call_expression" else [inner]


def _marks_text(call: Node, name: str, args: list[Node]) -> str:
    """How it is called: `xit`, its tags, and what follows it in Pest (`->skip()`)."""
    tags = (text_of(argument)[:_LONGEST_NAME] for argument in args[1:])
    following = takewhile(
        lambda around: around.type == "member_call_expression" and around.start_byte == call.start_byte, ancestors(call)
    )
    links = (map(text_of, map(link.child_by_field_name, ("name", "arguments"))) for link in following)
    return " ".join((name, *tags, *(f"->{''.join(parts)}" for parts in links)))


def _short_title(node: Node) -> str:
    return " ".join(text_of(node).split()).strip("'\"`")[:_LONGEST_NAME]


def has_forbidden_path(source: Source) -> bool:
    """Whether a test of it fails with the message that it must not run: the source is about what is left to run."""
    return _MUST_NOT_RUN.search(source.text) is not None


_MUST_NOT_RUN: Final = pattern(
    r"\b(?:throw new \w*Error|fail)\(\s*[\"'`][^\"'`\n]{0,60}\b(?:should(?: not|n't)|must not|should never|must never|is never|was not (?:meant|expected) to)(?: have)?(?: be(?:en)?)? (?:to )?r[ua]n\b",
    re.IGNORECASE,
)


def has_issue_link(text: str) -> bool:
    """Whether it names where a fault is tracked: an address, or an issue by its number."""
    return _ISSUE_LINK.search(text) is not None


_ISSUE_LINK: Final = pattern(r"://|(?:^|[\s(\"'`:,/\w])#\d+\b|\bGH-\d+\b")


_MARKS_PROVE: Final = pattern(
    r"should_panic|\bexpected\w*\s*=|=>|^\w+\.(?:fails|failing|prop)\b|quickcheck|proptest"
    r"|@(?:\w+\.)*\w*(?:expect|raises|xfail|compare|check|args|benchmark|snapshot|verif|figures|image|property|theory)",
    re.IGNORECASE,
)


def has_expecting_mark(test: Test) -> bool:
    """Whether a decorator or an annotation states what is expected of the test."""
    return _MARKS_PROVE.search(test.marks) is not None
