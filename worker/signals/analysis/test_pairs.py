"""Each test of a change with its checks, before and after: what all signals of the family look at.

Does not judge. Invariant: a test is new only if every line of it is, and its body did not stand elsewhere before.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.assertions import Oracle, oracles_of
from worker.signals.analysis.change import Change, ChangedFile, Source
from worker.signals.analysis.file_roles import SCRIPTS, Language, Role, is_signed_by_a_generator, role_of
from worker.signals.analysis.functions import Where
from worker.signals.analysis.reverts import is_certain_revert
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.tests import Test, all_paired

if TYPE_CHECKING:
    from tree_sitter import Node


class Look(Value):
    """One test as it is now."""

    test: Test
    file: ChangedFile
    base: Test | None
    is_new: bool

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        return tuple(_oracles(self.test))

    @cached_property
    def base_oracles(self) -> tuple[Oracle, ...]:
        return () if self.base is None else tuple(_oracles(self.base))

    @property
    def is_cut(self) -> bool:
        """Whether more of it may follow below what is shown: behind an added line at the end of a hunk nothing does."""
        source = self.test.source
        last = source.first + len(source.lines) - 1 - source.text.endswith("\n")
        return self.test.may_be_cut and last not in self.file.added_lines


def _oracles(test: Test) -> Iterator[Oracle]:
    return oracles_of(test.body, test.source.language, nodes=test.source.nodes)


def looks(change: Change) -> tuple[Look, ...]:
    """New and changed tests in files of tests, each once."""
    return change.once(_looks)


def _looks(change: Change) -> tuple[Look, ...]:
    return () if is_certain_revert(change) else tuple(_of_pairs(change))


def _of_pairs(change: Change) -> Iterator[Look]:
    for pair in all_paired(change):
        test, file = pair.head, pair.file
        if test is None or file.once(_is_foreign) or _may_be_text(test):
            continue
        base = pair.base
        if (base is None or (base.name != test.name and base.text != test.text)) and is_all_added(test, file):
            if not _stood_elsewhere(test, change):
                yield Look(test, file, base, is_new=True)
        elif base is not None and base.text != test.text:
            yield Look(test, file, base, is_new=False)


def _is_foreign(file: ChangedFile) -> bool:
    is_read = role_of(file.path) is Role.FOREIGN or _READ.search(file.path) is not None
    return is_read or is_signed_by_a_generator(file.head or "")


_READ: Final = pattern(r"(?:^|/)(?:__)?(?:\w+-)?resources(?:-\w+)?(?:__)?/|[.-]test-d\.[cm]?tsx?$")
"""What tests read, and tests of types, which a compiler reads and nobody runs."""


def _may_be_text(test: Test) -> bool:
    """A fragment may begin inside of a string: what is indented in it, in no class and no method, may be text."""
    may_begin_inside = test.source.language is Language.PYTHON and not test.source.whole
    return (
        may_begin_inside
        and test.function.where is Where.UNKNOWN
        and "self" not in text_of(test.function.node.child_by_field_name("parameters"))
    )


def is_all_added(test: Test, file: ChangedFile) -> bool:
    lines = range(test.first, test.last + 1)
    return all(line in file.added_lines for line in lines[:-1] or lines)


def _stood_elsewhere(test: Test, change: Change) -> bool:
    told = [line for line in test.lines if line.strip(" \t})];,")]
    return bool(told) and change.removed_texts.issuperset(told)


class Body(Value):
    """Code of a test, as far as it is shown: a whole body, or what a hunk shows from inside of one."""

    file: ChangedFile
    source: Source
    node: "Node"
    name: str
    look: Look | None = None

    @cached_property
    def known(self) -> frozenset[str]:
        """The checks that stood there before."""
        return frozenset() if self.look is None else frozenset(one.text for one in self.look.base_oracles)

    @cached_property
    def oracles(self) -> tuple[Oracle, ...]:
        if self.look is not None:
            return self.look.oracles
        return tuple(oracles_of(self.node, self.source.language, nodes=self.source.nodes))

    def line_of(self, node: "Node") -> int:
        return node.start_point.row + self.source.first

    def is_added(self, node: "Node") -> bool:
        return self.line_of(node) in self.file.added_lines


def bodies(change: Change) -> tuple[Body, ...]:
    """The bodies of new and changed tests; of a fragment also what stands in no function that it shows."""
    return change.once(_bodies)


def _bodies(change: Change) -> tuple[Body, ...]:
    return tuple(_all_bodies(change))


def _all_bodies(change: Change) -> Iterator[Body]:
    for look in looks(change):
        yield Body(look.file, look.test.source, look.test.body, look.test.name, look)
    for file in change.files:
        is_shown_in_part = file.role is Role.TEST and not file.once(_is_foreign)
        pieces = [source for source in file.sources if not source.whole] if is_shown_in_part else []
        yield from (Body(file, source, source.root, "") for source in pieces)


def is_checked_beside(file: ChangedFile, change: Change) -> bool:
    """A script that a folder of a case holds for a runner, which finds what it checks in a configuration or a snapshot beside it."""
    folder, _, name = file.path.rpartition("/")
    if file.language not in SCRIPTS or _OF_A_RUNNER.search(name) is not None or not folder:
        return False
    shown = (*(one.path for one in change.files), *change.texts)
    return any(_BESIDE.match(path.removeprefix(folder)) for path in shown if path.startswith(f"{folder}/"))


_OF_A_RUNNER: Final = pattern(r"[._-](?:test|tests|spec)\.\w+$")
_BESIDE: Final = pattern(
    r"/(?!(?:vitest|jest|playwright|cypress|karma|wdio|eslint|prettier|babel|tailwind|postcss)\.)[\w-]+\.config\.[cm]?[jt]s$|/__snapshots__/"
)


_OF_EQUALITY: Final = pattern(
    r"equal|reflex|hash|identi(?:ty|cal)|same|compar|(?:partial|total)[_ ]?ord|(?<!re)ordering|(?:^|_)ord(?:_|$)|clone|copy|cach|memoi[sz]|stable|determinis"
    r"|repeat(?!ed[ _](?!call|get|access|use|invoc|read|look|eval|run))|twice|consist|singleton|(?:^|_)eq(?:_|$)",
    re.IGNORECASE,
)


def is_about_equality(name: str) -> bool:
    """A test of equality compares a thing with itself."""
    return _OF_EQUALITY.search(name) is not None


SMOKE: Final = pattern(
    r"(?:not|n't|never|without|dont|doesnt|no)[_ ]?(?:\w{1,20}[_ ])?(?:hang|crash|throw|rais|fail|panic|block|deadlock|explod|die|exit|break|leak|warn|error)"
    r"|smoke|compiles|is_callable",
    re.IGNORECASE,
)
"""To come to its end is all that such a test is about."""


def proves_by_running(test: Test) -> bool:
    """Whether the test says that something is allowed, can be made or does not fail, or it makes a call fail that is retried."""
    words = {word.lower() for word in _WORDS.findall(test.name)}
    remarks = (test.function.docstring, *map(text_of, test.function.comments))
    if not words.isdisjoint(_PERMITS) or any(SMOKE.search(text) for text in (test.name, *remarks)):
        return True
    if _COMES_TO_BE.search(test.name):
        return True
    return _RETRIES.search(test.name) is not None and _FAILS_FIRST.search(test.text) is not None


_COMES_TO_BE: Final = pattern(
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
_FAILS_FIRST: Final = pattern(
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


def is_handed_over(node: "Node", body: "Node") -> bool:
    """Whether it stands in a function inside of *body*: that may be run by somebody else, or not."""
    return _is_within(node, body, _FUNCTIONS)


def is_within_definition(node: "Node", body: "Node") -> bool:
    """Whether it stands in a class or a function inside of *body*."""
    return _is_within(node, body, _FUNCTIONS | _CLASSES)


_CLASSES: Final = frozenset({"class_definition", "class_declaration", "class_body"})


def _is_within(node: "Node", body: "Node", types: frozenset[str]) -> bool:
    return any(around.type in types for around in ancestors(node, body))
