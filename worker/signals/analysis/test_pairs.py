"""Each test of a change with its checks, before and after, and how the change takes tests away: skips, their reasons, requests.

A test is new only if every line of it was added and its body was not moved. A mark whose condition always holds is unconditional.
A text that only says that the test is skipped, or that something is left to do, is no reason. A body that mentions a removal in
passing requests none.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.dossier.diff import LineKind
from worker.signals.analysis.assertions import Assertion, find_assertions
from worker.signals.analysis.change import (
    AnalyzedFile,
    CodeChange,
    ParseDepth,
    Source,
    is_certain_revert,
    is_revert,
    memoized,
)
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language, is_signed_by_generator, role_of
from worker.signals.analysis.functions import Function, FunctionScope
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.references import find_call_chains
from worker.signals.analysis.syntax import ancestors, child_of_type, is_unreadable, text_of
from worker.signals.analysis.tests import Test, can_hold_tests, can_show_tests, find_tests


class MatchedTest(NamedTuple):
    """A test before and after the change. Without `base` it is new, without `head` it is gone (from this file)."""

    base: Test | None
    head: Test | None
    file: AnalyzedFile
    """Where it is now, or where it was."""


@memoized
def match_all_tests(change: CodeChange) -> tuple[MatchedTest, ...]:
    """The tests of all files that may hold some; a test that moved from one file into another is one pair."""
    pairs = [pair for file in change.files if can_hold_tests(file) for pair in match_tests(file)]
    new = {id(pair.head): pair.file for pair in pairs if pair.base is None}
    olds = [pair.base for pair in pairs if pair.head is None and pair.base is not None]
    news = [pair.head for pair in pairs if pair.base is None and pair.head is not None]
    moved = [(old, now) for old, now in _match(olds, news) if old is not None and now is not None]
    left = {id(test) for both in moved for test in both}
    kept = [pair for pair in pairs if id(pair.base) not in left and id(pair.head) not in left]
    return (*kept, *(MatchedTest(old, now, new[id(now)]) for old, now in moved))


@memoized
def match_tests(file: AnalyzedFile) -> tuple[MatchedTest, ...]:
    """The tests of this file before and after, each once; from the hunks alone where the texts are unknown.

    None where one side is unreadable: each test of the other side would seem to be new or gone.
    """
    sources = (*base_sources(file), *file.sources)
    if not any(map(can_show_tests, sources)) or any(is_unreadable(source.root) for source in sources):
        return ()
    base = [test for source in base_sources(file) for test in find_tests(source)]
    head = [test for source in file.sources for test in find_tests(source)]
    return tuple(_match_renamed([MatchedTest(old, new, file) for old, new in _match(base, head)], file))


@memoized
def base_sources(file: AnalyzedFile) -> tuple[Source, ...]:
    """What can be parsed of the version before: all of it if it is known, else what each hunk shows."""
    whole = file.base_text if file.depth is ParseDepth.WHOLE else None
    shown = ((hunk, hunk.base_start) for hunk in file.diff.hunks if hunk.base_count)
    pieces = ((tuple(line for line in hunk.lines if line.kind is not LineKind.ADDED), first) for hunk, first in shown)
    return file.parse_sources(whole, pieces)


def _match_renamed(pairs: list[MatchedTest], file: AnalyzedFile) -> Iterator[MatchedTest]:
    """Pair one test that is gone with one new whose names are in the same run of changed lines."""
    runs: dict[tuple[int | None, bool], int] = {}
    for number, block in enumerate(file.edit_blocks if pairs else ()):
        runs |= {(line.base_line, True): number for line in block.removed}
        runs |= {(line.head_line, False): number for line in block.added}
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


def _match(base: list[Test], head: list[Test]) -> Iterator[tuple[Test | None, Test | None]]:
    """Pair by full name, else by name, else by most of the body's lines."""
    for match in (_match_by("key"), _match_by("name"), _match_similar):
        pairs = match(base, head)
        taken = {id(test) for both in pairs for test in both}
        base, head = ([test for test in side if id(test) not in taken] for side in (base, head))
        yield from pairs
    yield from ((test, None) for test in base)
    yield from ((None, test) for test in head)


def _match_by(field: str) -> Callable[[list[Test], list[Test]], list[tuple[Test, Test]]]:
    """Pair tests with equal fields; several of one value in their order."""
    key: Callable[[Test], Hashable] = attrgetter(field)

    def match(base: list[Test], head: list[Test]) -> list[tuple[Test, Test]]:
        waiting: defaultdict[Hashable, list[Test]] = defaultdict(list)
        for test in reversed(base):
            waiting[key(test)].append(test)
        return [(waiting[key(test)].pop(), test) for test in head if waiting.get(key(test))]

    return match


_MOST_SHARED: Final = 20
"""Tests that share a line, beyond which the line (`}`) means nothing."""


def _match_similar(base: list[Test], head: list[Test]) -> list[tuple[Test, Test]]:
    """Renamed ones: at least half of the lines are the same."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, test in enumerate(base):
        for line in test.lines:
            holders[line].append(number)
    taken: set[int] = set()
    pairs: list[tuple[Test, Test]] = []
    for test in head:
        rare = (line for line in test.lines if len(holders.get(line, ())) <= _MOST_SHARED)
        shared = Counter(number for line in rare for number in holders[line])
        best = next((number for number, _ in shared.most_common() if number not in taken), None)
        if best is not None and 2 * shared[best] >= max(len(test.lines), len(base[best].lines)):
            taken.add(best)
            pairs.append((base[best], test))
    return pairs


@dataclass(frozen=True)
class TestPair:
    """One test as it is now, with what it was before."""

    test: Test
    file: AnalyzedFile
    base: Test | None
    is_new: bool

    @property
    def assertions(self) -> tuple[Assertion, ...]:
        return self.test.assertions

    @property
    def base_assertions(self) -> tuple[Assertion, ...]:
        return () if self.base is None else self.base.assertions

    @property
    def is_cut(self) -> bool:
        """Whether more of it may follow a hunk; behind an added line at the hunk's end nothing does."""
        source = self.test.source
        last = source.first_line + len(source.lines) - 1 - source.text.endswith("\n")
        return self.test.is_maybe_cut and last not in self.file.added_lines


@memoized
def find_test_pairs(change: CodeChange) -> tuple[TestPair, ...]:
    """New and changed tests in files of tests, each once; none of a certain revert."""
    return () if is_certain_revert(change) else tuple(_pair_tests(change))


def _pair_tests(change: CodeChange) -> Iterator[TestPair]:
    for base, test, file in match_all_tests(change):
        if test is None or _is_foreign(file) or _may_be_text(test):
            continue
        if (base is None or (base.name != test.name and base.text != test.text)) and is_all_added(test, file):
            lines = [line for line in test.lines if line.strip(" \t})];,")]
            if not lines or not change.removed_texts.issuperset(lines):  # else its body was moved
                yield TestPair(test, file, base, is_new=True)
        elif base is not None and base.text != test.text:
            yield TestPair(test, file, base, is_new=False)


@memoized
def _is_foreign(file: AnalyzedFile) -> bool:
    is_read = role_of(file.path) is FileRole.FOREIGN or _READ_FILES.search(file.path) is not None
    return is_read or is_signed_by_generator(file.head_text or "")


_READ_FILES: Final = pattern(r"(?:^|/)(?:__)?(?:\w+-)?resources(?:-\w+)?(?:__)?/|[.-]test-d\.[cm]?tsx?$")
"""Inputs of tests, and tests of types, which a compiler reads and no runner runs."""


def _may_be_text(test: Test) -> bool:
    """Whether it is indented in a fragment of Python and no method: the fragment may begin inside of a string."""
    is_indented = test.source.language is Language.PYTHON and test.function.scope is FunctionScope.UNKNOWN
    return is_indented and "self" not in text_of(test.function.node.child_by_field_name("parameters"))


def is_all_added(test: Test, file: AnalyzedFile) -> bool:
    lines = range(test.first_line, test.last_line + 1)
    return all(line in file.added_lines for line in lines[:-1] or lines)


@dataclass(frozen=True)
class CheckedBody:
    """Code of a test, as far as it is shown: a whole body, or what a hunk shows from inside of one."""

    file: AnalyzedFile
    source: Source
    node: Node
    name: str
    test_pair: TestPair | None = None

    @cached_property
    def base_checks(self) -> frozenset[str]:
        """The texts of the checks before the change."""
        return frozenset(check.text for check in self.test_pair.base_assertions) if self.test_pair else frozenset()

    @cached_property
    def assertions(self) -> tuple[Assertion, ...]:
        if self.test_pair is not None:
            return self.test_pair.assertions
        return tuple(find_assertions(self.source, self.node))

    def line_of(self, node: Node) -> int:
        return self.source.line_of(node)

    def is_added(self, node: Node) -> bool:
        return self.line_of(node) in self.file.added_lines


@memoized
def find_bodies(change: CodeChange) -> tuple[CheckedBody, ...]:
    """The bodies of new and changed tests, and what fragments of files of tests show outside of functions."""
    bodies = [
        CheckedBody(pair.file, pair.test.source, pair.test.body, pair.test.name, pair)
        for pair in find_test_pairs(change)
    ]
    files = (file for file in change.files if file.is_test and not _is_foreign(file))
    pieces = ((file, source) for file in files for source in file.sources if not source.is_whole)
    return (*bodies, *(CheckedBody(file, source, source.root, "") for file, source in pieces))


def has_checks_beside(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether it is a script beside a configuration or a snapshot, in which a runner finds what it checks."""
    folder, _, name = file.path.rpartition("/")
    if file.language not in SCRIPT_LANGUAGES or _RUNNER_FILE.search(name) is not None or not folder:
        return False
    shown = (*(other.path for other in change.files), *change.texts)
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
    """Whether a test of this name is about equality, and so may compare a thing with itself."""
    return _EQUALITY_NAME.search(name) is not None


SMOKE_TEST: Final = pattern(
    r"(?:not|n't|never|without|dont|doesnt|no)[_ ]?(?:\w{1,20}[_ ])?(?:hang|crash|throw|rais|fail|panic|block|deadlock|explod|die|exit|break|leak|warn|error)"
    r"|smoke|compiles|is_callable",
    re.IGNORECASE,
)
"""Such a test has to come to its end, and no more."""
_CREATION_NAME: Final = pattern(
    r"looks?[_ ]?ok|can[_ ]?(?:be[_ ]?)?(?:built|build|create|construct|instantiate|import|start|initiali[sz]e|load|open)",
    re.IGNORECASE,
)
_NAME_PARTS: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERMITS: Final = frozenset(
    {"allow", "allows", "allowed", "accept", "accepts", "accepted", "support", "supports", "supported", "permit"}
    | {"permits", "permitted", "valid", "tolerates", "tolerated", "skip", "skips", "skipped"}
)
_RETRIES: Final = pattern(r"retr(?:y|ies|ied)|reconnect|recover|fall(?:s|ing)?_?back", re.IGNORECASE)
_FAILING_CALL: Final = pattern(
    r"side_effect|Rejected|thenThrow|willThrow|\braise |\bthrow |Exception|Error\(|errors\.New|Err\(|fail|flaky|\b50[0234]\b"
)


def is_smoke_test(test: Test) -> bool:
    """Whether the test says that something is allowed, can be made or does not fail, or makes a call fail that is retried."""
    parts = {word.lower() for word in _NAME_PARTS.findall(test.name)}
    remarks = (test.function.docstring, *map(text_of, test.function.comments))
    if not parts.isdisjoint(_PERMITS) or any(SMOKE_TEST.search(text) for text in (test.name, *remarks)):
        return True
    if _CREATION_NAME.search(test.name):
        return True
    return _RETRIES.search(test.name) is not None and _FAILING_CALL.search(test.text) is not None


_FUNCTIONS: Final = frozenset(
    {"lambda", "lambda_expression", "anonymous_function", "local_function_statement", "arrow_function"}
    | {"function_expression", "func_literal", "closure_expression", "function_definition", "function_declaration"}
    | {"function_item", "method_declaration", "method_definition"}
)
_DEFINITIONS: Final = _FUNCTIONS | {"class_definition", "class_declaration", "class_body"}


def is_in_callback(node: Node, body: Node) -> bool:
    """Whether it is in a function inside of *body*, which other code may run or not."""
    return any(around.type in _FUNCTIONS for around in ancestors(node, body))


def is_within_definition(node: Node, body: Node) -> bool:
    """Whether it is in a class or a function inside of *body*."""
    return any(around.type in _DEFINITIONS for around in ancestors(node, body))


def is_inherited_test_disabled(test: Test) -> bool:
    """Whether it does nothing, and may turn off a test of its name that a type above has."""
    function, owner = test.function, test.function.container
    if len(function.statements) > 1:
        return False
    if test.source.language is Language.GO:
        return function.type_name in _find_embedding_types(test.source)
    if test.source.language is Language.JAVA:
        return "@Override" in function.attributes
    return owner is not None and _TESTS_ABOVE.search(text_of(owner.child_by_field_name("superclasses"))) is not None


@memoized
def _find_embedding_types(source: Source) -> frozenset[str]:
    """The types of Go that take over the methods of another one: they have a field with a type and no name."""
    fields = source.nodes.find(("field_declaration",))
    unnamed = (field for field in fields if field.child_by_field_name("name") is None)
    owners = (around for field in unnamed for around in ancestors(field) if around.type == "type_spec")
    return frozenset(text_of(owner.child_by_field_name("name")) for owner in owners)


_TESTS_ABOVE: Final = pattern(
    r"(?<!\w)(?=\w*?(?:Test|Suite|Base|Mixin|Compliance|Common))\w++(?<!TestCase)(?=[,)\]\s])"
)


AFTER_EACH_TEST: Final = "(after each test)"
_AFTER_EACH_PATTERN: Final = pattern(r"@After|^ ?tear_?down|autouse", 2)


def find_asserting_names(functions: Iterable[Function]) -> frozenset[str]:
    """Names of the functions that check something, themselves or in what they call among each other.

    Functions of one name count as one.
    """
    calls: dict[str, set[str]] = {}
    asserting: set[str] = set()
    for function in functions:
        source = function.source
        chains = find_call_chains(source, function.body)
        called = {chain.names[-1] for chain in chains if chain.links[-1].arguments is not None}
        calls.setdefault(function.name, set()).update(called)
        checks = find_assertions(source, function.body)
        if any(check.proof >= Proof.PRESENCE and not check.is_guess for check in checks):
            is_hook = _AFTER_EACH_PATTERN.search(f"{function.attributes} {function.name}")
            asserting.add(AFTER_EACH_TEST if is_hook else function.name)
    callers: dict[str, set[str]] = {}
    for name, called in calls.items():
        for callee in called & calls.keys():
            callers.setdefault(callee, set()).add(name)
    waiting = list(asserting)
    while waiting:
        new = callers.get(waiting.pop(), set()) - asserting
        asserting |= new
        waiting += new
    return frozenset(asserting)


_LONGEST: Final = 80
_SUITES: Final = pattern(r"(?:x(?:describe|context|suite)|(?:describe|context|suite|test\.describe)\.(?:skip|fixme))\(")
_BRANCHES: Final = frozenset({"if_statement", "ternary_expression"})
_UNLESS: Final = pattern(r"(?:skip_)?(?:unless|if|without)_\w")
"""A mark of the repository's own that names its condition: `skip.unless_module("sqlalchemy")`."""
_ALWAYS: Final = {
    **dict.fromkeys(("xfail", "skipif", "skipIf"), frozenset({"True", "1"})),
    "skipUnless": frozenset({"False", "0", "None"}),
}
"""The conditions under which a mark always skips."""


def is_conditional_skip(source: Source, line: int) -> bool:
    """Whether the mark that begins on this line of the source takes effect under a condition only."""
    if source.language is Language.PYTHON:
        calls = source.nodes.find(("call",), source.root, frozenset({line - source.first_line}))
        return any(_is_conditional_mark(call) for call in calls if source.line_of(call) == line)
    return source.language in SCRIPT_LANGUAGES and _is_in_branch(source.node_at(line))


def select_unconditional_marks(test: Test) -> str:
    """The marks of a test, one a line, without those that depend on a condition."""
    outer = test.function.node.parent
    if test.source.language is not Language.PYTHON or outer is None or outer.type != "decorated_definition":
        return test.marks
    marks = [mark for mark in outer.named_children if mark.type == "decorator"]
    pairs = ((mark, child_of_type(mark, "call")) for mark in marks)
    return "\n".join(text_of(mark) for mark, call in pairs if call is None or not _is_conditional_mark(call))


def is_conditional_callback(test: Test) -> bool:
    """Whether the file chooses between this callback and another: `if (isWindows) { it.skip(...) } else { it(...) }`."""
    return test.source.language in SCRIPT_LANGUAGES and _is_in_branch(test.node)


def find_skipped_suite(node: Node) -> Node | None:
    """The call around this one that skips a whole suite: `describe.skip(...)`."""
    calls = (ancestor for ancestor in ancestors(node) if ancestor.type == "call_expression")
    return next((call for call in calls if _SUITES.match(text_of(call)[:_LONGEST])), None)


def _is_in_branch(node: Node | None) -> bool:
    return node is not None and any(around.type in _BRANCHES for around in ancestors(node))


def _is_conditional_mark(call: Node) -> bool:
    """Whether a mark of pytest or unittest has a condition; an `xfail` for a named error describes today's code."""
    name = text_of(call.child_by_field_name("function")).rpartition(".")[2]
    arguments = call.child_by_field_name("arguments")
    if _UNLESS.match(name) and name not in _ALWAYS:
        return True
    always = _ALWAYS.get(name, frozenset())
    for argument in arguments.named_children if always and arguments is not None else ():
        keyword = text_of(argument.child_by_field_name("name")) if argument.type == "keyword_argument" else ""
        if keyword == "raises":
            return True
        if keyword in {"", "condition"} and argument.type != "comment":
            condition = argument.child_by_field_name("value") if keyword else argument
            return text_of(condition).strip("\"'") not in always
    return False


_TEXT: Final = r"\s*(?:\(|=)\s*(?:(?:true|false)\s*,\s*|(?:reason|value)\s*=\s*\(?\s*)?[rbfu]?([\"'`])(?P<reason>(?:(?!\1).){0,300})"
_REASON_ARGUMENT: Final = pattern(rf"\b(?:skip\w*|xfail|ignore|disabled|abort|assume\w*)\b{_TEXT}", re.IGNORECASE)
_SCRIPT_REASON_ARGUMENT: Final = pattern(rf"\b(?:this|t|ctx|context|task)\.(?:skip|todo)\b{_TEXT}")
"""The first text of `it.skip(...)` is the test's name."""
_REASON_BESIDE: Final = pattern(r"\S\s+(?:#(?!\[)|//|/\*)(?P<reason>.{0,300})")
_REASON_ABOVE: Final = pattern(r"\s*(?:#(?!\[)|//|/\*|\*\s)(?P<reason>.{0,300})")
_REASON_WORD: Final = pattern(r"[A-Za-z]{2,}")
_EMPTY_WORDS: Final = frozenset(
    {"todo", "fixme", "xxx", "wip", "skip", "skips", "skipped", "skipping", "disable", "disabled", "ignore", "ignored"}
    | {"test", "tests", "this", "it", "is", "was", "for", "now", "at", "the", "moment", "temporarily", "temporary"}
    | {"temp", "later", "until", "fix", "fixed", "me", "to", "be", "broken", "flaky", "fails", "failing", "fail"}
)
_FEWEST_WORDS: Final = 2
"""Of a reason, without empty ones: every skip can carry a single one."""
_MOST_ABOVE: Final = 3
_MOST_LINES: Final = 3
"""Lines of a skip with its reason."""


def has_reason(file: AnalyzedFile, line: int) -> bool:
    """Whether the skip on this *line* of the head has a reason beside it or above."""
    source = file.source_at(line)
    if source is None or is_explained_above(file, line):
        return source is not None
    row = line - source.first_line
    form = _SCRIPT_REASON_ARGUMENT if source.language in SCRIPT_LANGUAGES else _REASON_ARGUMENT
    argument = form.search(" ".join(source.lines[row : row + _MOST_LINES]))
    return any(match and _is_reason(match["reason"]) for match in (argument, _REASON_BESIDE.search(source.lines[row])))


def is_explained_above(file: AnalyzedFile, line: int) -> bool:
    """Whether added comments right above this *line* of the head give a reason; code in a comment gives none."""
    sources = (source for source in file.sources if source.has_line(line))
    return any(_is_reason(" ".join(_comments_above(file, source, line))) for source in sources)


def _comments_above(file: AnalyzedFile, source: Source, line: int) -> Iterator[str]:
    removed = {text.strip() for text in file.diff.removed_texts}
    for number in range(line - 1, max(source.first_line, line - _MOST_ABOVE) - 1, -1):
        match = _REASON_ABOVE.match(source.text_at(number))
        if match is None or number not in file.added_lines:
            return
        if match["reason"].strip() not in removed:
            yield match["reason"]


def _is_reason(text: str) -> bool:
    return len({word.casefold() for word in _REASON_WORD.findall(text)} - _EMPTY_WORDS) >= _FEWEST_WORDS


_LONG_PART: Final = 6
_MOST_ASKED: Final = 20_000
_PARTS: Final = pattern(r"[:,;] ")
_ASKS_TO_REMOVE: Final = pattern(
    r"^(?:[^\w\n]|\d{1,3}[.)]|\[x\]){0,20}(?:please )?(?:temporarily )?(?:skip|disabl|quarantin|xfail|ignor|remov|delet|drop|clean(?:ed|s|ing)?[ -]?up)(?:ed|e|es|s|ing|ped|ping)?\b.{1,200}",
    re.IGNORECASE | re.MULTILINE,
)
_NAMES_TESTS: Final = pattern(r"\b(?:tests?|specs?|suites?|test ?cases?|test_\w+|assert(?:ion)?s?)\b", 2)
_NAMES_CI: Final = pattern(r"\b(?:ci|actions?|workflows?|jobs?|checks?|tests?)\b", 2)


def is_removal_declared(change: CodeChange, test: Test | None = None) -> bool:
    """Whether an issue, or the title of a change without one, asks to remove or skip tests, assertions or this *test*.

    A revert needs no request.
    """
    if is_revert(change):
        return True
    issues = change.dossier.issues
    texts = [text for issue in issues for text in (issue.title, issue.body[:_MOST_ASKED])]
    asking = [match[0] for text in texts or [_title_subject(change)] for match in _ASKS_TO_REMOVE.finditer(text)]
    if any(map(_NAMES_TESTS.search, asking)):
        return True
    if test is None:
        return False
    # the test's name, or a long word of it: what is removed is what it tests
    parts = {word.casefold() for word in _NAME_PARTS.findall(test.name) if len(word) >= _LONG_PART}
    asked = {word.casefold() for line in asking for word in _NAME_PARTS.findall(line)}
    return any(test.name in line for line in asking) or not parts.isdisjoint(asked)


def is_ci_removal_declared(change: CodeChange) -> bool:
    """Whether the title of a change without an issue asks to remove a part of CI: `ci: disable the workflow for now`."""
    asking = _ASKS_TO_REMOVE.match(_title_subject(change)) if not change.dossier.issues else None
    return asking is not None and _NAMES_CI.search(asking[0]) is not None


def _title_subject(change: CodeChange) -> str:
    """The title from the last colon or comma on: `client: retry, disable a flaky test` says two things."""
    return _PARTS.split(change.dossier.pull_request.title)[-1]
