"""The tests of a source in every language of ours, and which test before a change is which one after it.

pytest and unittest, callbacks of `it` and `test`, Go with its subtests, Rust, JUnit and TestNG.
Does not know what a test asserts (`assertions.py`), nor whether a file is one of tests (`can_hold_tests` asks its path).
Invariant: a test has a body at hand; what is only announced (`it.todo("...")`) is none.

In tests of our own, import the module and not its names: pytest collects what is called `find_tests`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.diff.parser import DiffLine, Hunk, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, ParseDepth, Source
from worker.signals.analysis.file_roles import FileRole, Language, role_of
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.syntax import ancestors, is_unreadable, text_of
from worker.signals.analysis.test_data import is_inner_class, is_local_function, is_test_data, modifiers_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_NAME: Final = 200
_COMMENTS: Final = ("#", "//", "/*", "*")


class Test(Value):
    """One test, or one subtest of it. `outer_names` names what it stands in: classes, modules, `describe` titles, the test."""

    __test__ = False

    name: str
    outer_names: tuple[str, ...]
    function: Function
    node: "Node"
    """All of it: the call with its title, or the definition without its decorators."""
    marks: str
    """Decorators, annotations and attributes; of a callback what calls it (`it.skip`, `test.each(...)`)."""

    @property
    def source(self) -> Source:
        return self.function.source

    @property
    def body(self) -> "Node":
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
        """What its body says."""
        return text_of(self.body)

    @cached_property
    def lines(self) -> "Counter[str]":
        """The lines of its body without indentation and empty ones."""
        return Counter(filter(None, (line.strip() for line in self.text.split("\n"))))

    @property
    def is_maybe_cut(self) -> bool:
        """Whether it reaches the end of a fragment, but for comments, so that more of it may follow."""
        below = (line.strip() for line in self.source.lines[self.node.end_point.row + 1 :])
        return not self.source.is_whole and not any(line and not line.startswith(_COMMENTS) for line in below)


class MatchedTest(NamedTuple):
    """A test before and after the change. Without `base` it is new, without `head` it is gone (from this file)."""

    base: Test | None
    head: Test | None
    file: AnalyzedFile
    """Where it is now, or where it was."""


def can_hold_tests(file: AnalyzedFile) -> bool:
    """Rust keeps tests beside the code; elsewhere the path tells."""
    is_there = file.language is not None and (role_of(file.path) is FileRole.TEST or file.language is Language.RUST)
    return is_there and not is_test_data(file)


def find_tests(source: Source) -> tuple[Test, ...]:
    """Every test in the order of the text, subtests behind the test they stand in."""
    return source.cached(_select_tests)


def _select_tests(source: Source) -> tuple[Test, ...]:
    match source.language:
        case Language.PYTHON | Language.RUST | Language.JAVA:
            is_test = {Language.PYTHON: _is_python, Language.RUST: _is_rust, Language.JAVA: _is_java}[source.language]
            selected = (_from_definition(function) for function in find_functions(source) if is_test(function))
        case Language.GO:
            selected = _go_tests(source)
        case Language.RUBY | Language.CSHARP | Language.PHP | Language.KOTLIN:
            from worker.signals.analysis.languages import tests  # noqa: PLC0415 - most changes hold no such file

            selected = tests.find_language_tests(source)
        case _:
            selected = _find_callbacks(source)
    return tuple(selected)


def match_tests(file: AnalyzedFile) -> tuple[MatchedTest, ...]:
    """The tests of this file before and after, each once; from the hunks alone where the texts are not known."""
    return file.cached(_match_file_tests)


def match_all_tests(change: CodeChange) -> tuple[MatchedTest, ...]:
    """The tests of all files that may hold some; a test that moved from one file into another is one pair."""
    return change.cached(_match_change_tests)


def base_sources(file: AnalyzedFile) -> tuple[Source, ...]:
    """What can be parsed of the version before: all of it if it is known, else what each hunk shows."""
    return file.cached(_base_sources)


def _base_sources(file: AnalyzedFile) -> tuple[Source, ...]:
    whole = file.base_text if file.depth is ParseDepth.WHOLE else None
    return file.parse_sources(
        whole, ((_base_lines(hunk), hunk.base_start) for hunk in file.diff.hunks if hunk.base_count)
    )


def _base_lines(hunk: Hunk) -> tuple[DiffLine, ...]:
    return tuple(line for line in hunk.lines if line.kind is not LineKind.ADDED)


def _match_file_tests(file: AnalyzedFile) -> tuple[MatchedTest, ...]:
    """None where one side was given up: each test of the other side would seem to be new, or to be gone."""
    sources = (*base_sources(file), *file.sources)
    if not any(map(_can_show_tests, sources)) or any(is_unreadable(source.root) for source in sources):
        return ()
    base = [test for source in base_sources(file) for test in find_tests(source)]
    head = [test for source in file.sources for test in find_tests(source)]
    return tuple(_match_renamed([MatchedTest(old, new, file) for old, new in _match(base, head)], file))


def _match_renamed(pairs: list[MatchedTest], file: AnalyzedFile) -> Iterator[MatchedTest]:
    """One test gone and one new whose names stand in the same run of changed lines are one test."""
    runs = _number_runs(file) if pairs else {}
    gone: defaultdict[int, list[Test]] = defaultdict(list)
    new: defaultdict[int, list[Test]] = defaultdict(list)
    for base, head, _ in pairs:
        if base is not None and head is None and (base.first_line, True) in runs:
            gone[runs[base.first_line, True]].append(base)
        if head is not None and base is None and (head.first_line, False) in runs:
            new[runs[head.first_line, False]].append(head)
    joined = [(gone[run][0], new[run][0]) for run in gone if len(gone[run]) == 1 and len(new[run]) == 1]
    taken = {id(test) for both in joined for test in both}
    yield from (pair for pair in pairs if id(pair.base) not in taken and id(pair.head) not in taken)
    yield from (MatchedTest(old, now, file) for old, now in joined)


def _number_runs(file: AnalyzedFile) -> dict[tuple[int, bool], int]:
    """For each changed line, by its number and whether it was removed, the run of changed lines that it is part of."""
    runs: dict[tuple[int, bool], int] = {}
    run = 0
    for hunk in file.diff.hunks:
        run += 1
        for line in hunk.lines:
            if line.kind is LineKind.CONTEXT:
                run += 1
            elif line.kind is LineKind.REMOVED:
                runs[line.base_line or 0, True] = run
            else:
                runs[line.head_line or 0, False] = run
    return runs


def _match_change_tests(change: CodeChange) -> tuple[MatchedTest, ...]:
    pairs = [pair for file in change.files if can_hold_tests(file) for pair in match_tests(file)]
    gone = {id(pair.base): pair for pair in pairs if pair.head is None}
    new = {id(pair.head): pair for pair in pairs if pair.base is None}
    olds = [pair.base for pair in gone.values() if pair.base is not None]
    news = [pair.head for pair in new.values() if pair.head is not None]
    moved = [(old, now) for old, now in _match(olds, news) if old is not None and now is not None]
    left = {id(test) for both in moved for test in both}
    kept = [pair for pair in pairs if id(pair.base) not in left and id(pair.head) not in left]
    return (*kept, *(MatchedTest(old, now, new[id(now)].file) for old, now in moved))


def _match(base: list[Test], head: list[Test]) -> Iterator[tuple[Test | None, Test | None]]:
    """By full name, else by name, else by what most of the body says."""
    pairs: list[tuple[Test | None, Test | None]] = []
    for key in (_key, _name):
        matched = _match_by(key, base, head)
        taken = {id(test) for both in matched for test in both}
        base, head = ([test for test in side if id(test) not in taken] for side in (base, head))
        pairs += matched
    alike = _match_similar(base, head)
    taken = {id(test) for both in alike for test in both}
    yield from (*pairs, *alike)
    yield from ((test, None) for test in base if id(test) not in taken)
    yield from ((None, test) for test in head if id(test) not in taken)


def _key(test: Test) -> Hashable:
    return test.key


def _name(test: Test) -> Hashable:
    return test.name


def _match_by(key: Callable[[Test], Hashable], base: list[Test], head: list[Test]) -> list[tuple[Test, Test]]:
    """Pairs of equal keys; several of one key in their order."""
    waiting: defaultdict[Hashable, list[Test]] = defaultdict(list)
    for test in reversed(base):
        waiting[key(test)].append(test)
    return [(waiting[key(test)].pop(), test) for test in head if waiting.get(key(test))]


_MOST_SHARED: Final = 20
"""Tests that share a line, beyond which the line (`}`) tells nothing."""


def _match_similar(base: list[Test], head: list[Test]) -> list[tuple[Test, Test]]:
    """Renamed ones: at least half of the lines are the same."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, test in enumerate(base):
        for line in test.lines:
            holders[line].append(number)
    taken: set[int] = set()
    pairs: list[tuple[Test, Test]] = []
    for test in head:
        shared = Counter(
            number for line in test.lines if len(holders.get(line, ())) <= _MOST_SHARED for number in holders[line]
        )
        best = next((number for number, _ in shared.most_common() if number not in taken), None)
        if best is not None and 2 * shared[best] >= max(len(test.lines), len(base[best].lines)):
            taken.add(best)
            pairs.append((base[best], test))
    return pairs


def _from_definition(function: Function) -> Test:
    return Test(function.name, tuple(_outer_names(function.node)), function, function.node, function.attributes)


_NAMED_SCOPES: Final = frozenset(
    {"class_definition", "class_declaration", "mod_item", "function_definition", "function_item", "method_declaration"}
)


def _outer_names(node: "Node") -> Iterable[str]:
    """Names of the classes and modules around it, outermost first."""
    names = [
        text_of(ancestor.child_by_field_name("name")) for ancestor in ancestors(node) if ancestor.type in _NAMED_SCOPES
    ]
    return reversed(names)


_FIXTURE: Final = pattern(r"\bfixture\b")  # and not `usefixtures`


def _is_python(function: Function) -> bool:
    is_named = function.name.startswith("test") and not is_local_function(function)
    return is_named and _FIXTURE.search(function.attributes) is None


_RUST_MARK: Final = pattern(
    r"#!?\[\s*(?:\w+\s*::\s*)*(?:test|rstest|\w+_test|test_case|test_matrix|quickcheck|proptest)\b"
    r"|#\[cfg_attr\([^\]]{0,200},\s*(?:\w+::)*test\b"
)


def _can_show_tests(source: Source) -> bool:
    """False where a text of Rust marks none, as most code does: it need not be parsed to know that."""
    return source.language is not Language.RUST or _RUST_MARK.search(source.text) is not None


def _is_rust(function: Function) -> bool:
    return _RUST_MARK.search(function.attributes) is not None


_JAVA_MARK: Final = pattern(r"@(?:\w+\.)*(?:Test|TestFactory|TestTemplate|Property|Theory|\w+Test(?![a-z])\w*)\b")


def _is_java(function: Function) -> bool:
    if function.node.type != "method_declaration" or is_inner_class(function):
        return False
    if _JAVA_MARK.search(function.attributes):
        return True
    owner = function.container
    modifiers, parameters = function.attributes.split(), function.node.child_by_field_name("parameters")
    is_called = "static" in modifiers or (
        parameters is not None and parameters.named_child_count > 0
    )  # a runner has nothing to give
    if owner is None or "public" not in modifiers or is_called:
        return False
    returns = text_of(function.node.child_by_field_name("type"))
    is_of_junit3 = owner.child_by_field_name("superclass") is not None and function.name.startswith("test")
    return returns == "void" and (is_of_junit3 or _has_mark(owner))


def _has_mark(owner: "Node") -> bool:
    """TestNG marks a class, and means its public methods."""
    return _TESTNG_MARK.search(modifiers_of(owner)) is not None


_TESTNG_MARK: Final = pattern(r"@(?:org\.testng\.annotations\.)?Test\b")


_GO_TEST: Final = pattern(r"(?:Test|Fuzz)(?![a-z])")
_GO_RUNS: Final = frozenset({"Run", "It", "Specify", "FIt", "XIt", "PIt"})
_GO_CALLS: Final = pattern(rf"\b(?:{'|'.join(sorted(_GO_RUNS))})\b")


def _go_tests(source: Source) -> Iterator[Test]:
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
    takes = text_of(parameters)
    if (
        not _GO_TEST.match(function.name)
        or "testing.M" in takes
        or (parameters is not None and parameters.named_child_count > 1)
    ):
        return None
    is_test = "testing." in takes or function.node.type == "method_declaration"
    return Test(function.name, (), function, function.node, "") if is_test else None


def _go_callback(call: "Node", source: Source, within: Test | None) -> Test | None:
    called = call.child_by_field_name("function")
    if called is None or called.type not in {"selector_expression", "identifier"}:
        return None
    last = called.child_by_field_name("field") or called
    if text_of(last) not in _GO_RUNS:
        return None
    arguments = _arguments(call)
    literal = next((argument for argument in arguments if argument.type == "func_literal"), None)
    body = literal.child_by_field_name("body") if literal is not None else None
    if literal is None or body is None or literal == arguments[0]:
        return None
    is_inside = within is not None and call.end_byte <= within.node.end_byte
    if not is_inside and text_of(last) == "Run":
        return None  # of a benchmark, or of something else that runs
    outer = within.key if within is not None and is_inside else ()
    return Test(_title(arguments[0]), outer, Function(literal, body, source), call, text_of(last))


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
"""With what each call begins that runs a test. Most calls in a file of tests do not, as can be read off their text."""


def _find_callbacks(source: Source) -> Iterator[Test]:
    raw = source.text.encode("utf-8", "replace")
    begins = {match.start() for match in _RUNNER_START.finditer(raw)}
    chosen = frozenset(match[1] for match in _CHOSEN_RUNNER.finditer(raw)) if begins else frozenset[bytes]()
    begins.update(match.start() for match in _WORD.finditer(raw) if match[0] in chosen)
    for call in source.nodes.find(("call_expression",)) if begins else ():
        called = call.child_by_field_name("function") if call.start_byte in begins else None
        if called is None or not (called.text in chosen or _runs_a_test(called)):
            continue
        arguments = _arguments(call)
        function = _find_callback(arguments[1:])
        body = function.child_by_field_name("body") if function is not None else None
        if function is not None and body is not None and not _is_macro_argument(arguments, body):
            outer = tuple(_titles(call))
            yield Test(_title(arguments[0]), outer, Function(function, body, source), call, text_of(called))


def _is_macro_argument(arguments: "list[Node]", body: "Node") -> bool:
    """Behind a function by its name, one without a body is what that is called with: `test("a", macro, () => {})`."""
    return arguments[1].type == "identifier" and body.named_child_count == 0


def _runs_a_test(called: "Node") -> bool:
    """`it`, `test.only`, `it.each(...)`, `Deno.test`: looked at from its end, a few steps far."""
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


def _find_callback(arguments: "list[Node]") -> "Node | None":
    """The function among the arguments, be it wrapped once (`fakeAsync(() => ...)`)."""
    wrapped = [inner for argument in arguments if argument.type == "call_expression" for inner in _arguments(argument)]
    return next((argument for argument in (*arguments, *wrapped) if argument.type in _CALLBACKS), None)


def _arguments(call: "Node") -> "list[Node]":
    listed = call.child_by_field_name("arguments")
    return [] if listed is None else [child for child in listed.named_children if child.type != "comment"]


def _title(node: "Node") -> str:
    return text_of(node).strip("'\"`")[:_LONGEST_NAME]


def _titles(call: "Node") -> Iterable[str]:
    """The titles of the `describe` blocks around it, outermost first."""
    argument_lists = (_arguments(around) for around in ancestors(call) if around.type == "call_expression")
    return reversed([_title(of[0]) for of in argument_lists if of and "string" in of[0].type])


def has_forbidden_path(source: Source) -> bool:
    """Whether a test of it fails by saying that it must not run: those beside it are about what is left to run."""
    return _MUST_NOT_RUN.search(source.text) is not None


_MUST_NOT_RUN: Final = pattern(
    r"\b(?:throw new \w*Error|fail)\(\s*[\"'`][^\"'`\n]{0,60}\b(?:should(?: not|n't)|must not|should never|must never|is never|was not (?:meant|expected) to)(?: have)?(?: be(?:en)?)? (?:to )?r[ua]n\b",
    re.IGNORECASE,
)


def has_issue_link(text: str) -> bool:
    """Whether it says where a fault is looked after: an address, or an issue by its number."""
    return _ISSUE_LINK.search(text) is not None


_ISSUE_LINK: Final = pattern(r"://|(?:^|[\s(\"'`:,/\w])#\d+\b|\bGH-\d+\b")


__all__ = [
    "MatchedTest",
    "Test",
    "base_sources",
    "can_hold_tests",
    "find_tests",
    "has_forbidden_path",
    "has_issue_link",
    "match_all_tests",
    "match_tests",
]
