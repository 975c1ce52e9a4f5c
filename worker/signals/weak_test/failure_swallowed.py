"""Tests whose assertions may fail without anybody noticing: what they raise is caught, and nothing is made of it.

Does not follow an exception into other functions. Invariant: a handler that does anything but report is left alone.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import find_assertions
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.syntax import NodeGroup, is_comment, register_types, text_of
from worker.signals.analysis.test_pairs import CheckedBody, find_bodies, is_in_callback
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_TRIES: Final = register_types(
    {
        Language.PYTHON: ("try_statement", "with_statement"),
        Language.JAVA: ("try_statement",),
        Language.RUST: ("call_expression",),
        Language.CSHARP: ("try_statement",),
        Language.PHP: ("try_statement",),
        Language.KOTLIN: ("try_expression",),
        **dict.fromkeys(SCRIPT_LANGUAGES, ("try_statement", "call_expression")),
    },
    NodeGroup.TESTS,
)
_ASSERTS: Final = pattern(r"\bassert|\bexpect|\bverify", re.IGNORECASE)
_LEAVES: Final = pattern(r"return\b")
_FAILS: Final = pattern(
    r"(?:[\w.$]{0,80}(?:\.|->|::))?_?fail\w{0,80}\(|raise AssertionError\b|throw new (?:\w+\.)?Assertion\w*\(|assert [Ff]alse\b",
    2,
)
_NOTHING_DONE: Final = pattern(
    r"\((?:async )?(?:\(?\w*\)? => (?:\{ ?(?:/[/*].{0,80})?\}|undefined|null|void 0|console\.\w+\([^()]{0,80}\)|\{ ?console\.\w+\([^()]{0,80}\);? ?\})"
    r"|function ?\w*\(\w*\) \{ ?\}|noop|_\.noop|console\.\w+)\)"
)
_LONGEST: Final = 200
_SUPPRESSES: Final = pattern(
    r"with (?:contextlib\.)?suppress\((?:[\w., ]*\b)?(?:Exception|BaseException|AssertionError)\b"
)
_DROPPED: Final = pattern(r"let _\w* = ")
_PYTHON_ALL: Final = pattern(r"except\s*+(?::|\(?(?:[\w., ]*\b)?(?:Exception|BaseException|AssertionError)\b)")
_JAVA_ALL: Final = pattern(r"catch\s*\([^)]*\b(?:Throwable|Error|AssertionError)\b")
_EXCEPTION: Final = pattern(
    r"catch\s*(?:\{|\(\s*(?:\w+\.|\\)?(?:Exception|Throwable|AssertionFailedError|ExpectationFailedException)\b)"
)
_HARMLESS: Final = pattern(
    r"(?:pass|continue|return|\.\.\.)[\s;]*$|(?:return (?:true|True|None|null))[\s;]*$"
    r"|(?:print|console\.\w+|(?:self\.)?_?log(?:ger)?\.\w+|logging\.\w+|warnings\.warn|pytest\.skip|self\.skipTest|System\.\w+\.print\w*"
    r"|\w+\.printStackTrace)\(",
    2,
)


@signal(
    Category.WEAK_TEST,
    SignalKind.FACT,
    SignalScope.TESTS,
    "Remove the handler at {place}, or let it catch no more than the error that is meant, so that a failed assertion fails the test.",
)
def failure_swallowed(change: CodeChange) -> Iterator[SignalMatch]:
    """An added assertion whose failure is caught right there, and ignored, in a test that did so less often before.

    False alarms: 4 of 22175 clean changes with tests (0.0 %, at most 0.05 %).
    """
    for body in find_bodies(change):
        handlers = tuple(_find_swallowing(body))
        is_new = len(handlers) > _count_before(body)
        for node in handlers:
            if is_new and body.is_added(node):
                line = body.line_of(node)
                last = line + node.end_point.row - node.start_point.row
                yield SignalMatch("what these assertions raise is caught and ignored", body.file.path, line, last)


def _find_swallowing(body: CheckedBody, *, or_guessed: bool = False) -> Iterator["Node"]:
    """What swallows a failure; with *or_guessed* also of calls that may be no assertion."""
    language = body.source.language
    if language not in _TRIES:
        return
    for node in body.source.nodes.find(_TRIES[language], body.node):
        tried = _find_tried(node, language)
        if tried is None or is_in_callback(node, body.node):
            continue
        checks = [
            assertion
            for assertion in find_assertions(tried, language, nodes=body.source.nodes)
            if assertion.proof >= Proof.PRESENCE
        ]
        if any(or_guessed or (not check.is_guess or _ASSERTS.search(check.text) is not None) for check in checks):
            yield node


def _count_before(body: CheckedBody) -> int:
    """How many handlers of the same test swallowed failures before the change, which may have moved or indented them."""
    base = body.test_pair.base if body.test_pair is not None else None
    if base is None:
        return 0
    return sum(1 for _ in _find_swallowing(CheckedBody(body.file, base.source, base.body, base.name), or_guessed=True))


def _find_tried(node: "Node", language: Language) -> "Node | None":
    """What may raise in vain, if all that catches it catches everything and ignores it."""
    if node.type == "call_expression" and language in SCRIPT_LANGUAGES:
        return node if _is_ignored_catch(node) else None
    if node.type == "call_expression":
        called = text_of(node.child_by_field_name("function"))[-_LONGEST:]
        return node if called.endswith("catch_unwind") and _is_dropped(node) else None
    if node.type == "with_statement":
        return node.child_by_field_name("body") if _SUPPRESSES.match(text_of(node)[:_LONGEST]) else None
    handlers = [
        child for child in node.named_children if child.type in {"except_clause", "catch_clause", "catch_block"}
    ]
    is_ignored = any(_catches_all(handler, language) and _is_ignoring(handler) for handler in handlers)
    if is_ignored and _is_expected_failure(node, handlers):
        return None
    return (node.child_by_field_name("body") or node.named_children[0]) if is_ignored else None


def _is_expected_failure(node: "Node", handlers: "list[Node]") -> bool:
    """Who catches it leaves the test, and what comes behind fails it: so it passes only if the assertion does not hold."""
    if any(child.type == "else_clause" and _FAILS.search(text_of(child)) for child in node.named_children):
        return True
    behind = node.next_named_sibling
    return all(map(_is_leaving, handlers)) and behind is not None and _FAILS.match(text_of(behind)) is not None


def _is_leaving(handler: "Node") -> bool:
    return bool(done := _list_statements(handler)) and _LEAVES.match(text_of(done[-1])) is not None


def _is_ignored_catch(call: "Node") -> bool:
    """`.catch(() => {})` behind a promise."""
    called = call.child_by_field_name("function")
    if called is None or text_of(called.child_by_field_name("property")) != "catch":
        return False
    caught = text_of(call.child_by_field_name("arguments"))[:_LONGEST]
    return _NOTHING_DONE.fullmatch(" ".join(caught.split())) is not None


def _is_dropped(node: "Node") -> bool:
    around = node.parent
    return around is not None and (
        around.type == "expression_statement" or _DROPPED.match(text_of(around)[:_LONGEST]) is not None
    )


def _catches_all(handler: "Node", language: Language) -> bool:
    """Among others what an assertion raises."""
    head = text_of(handler)[:_LONGEST]
    match language:
        case Language.PYTHON:
            return _PYTHON_ALL.match(head) is not None
        case Language.JAVA | Language.KOTLIN:
            return _JAVA_ALL.match(head) is not None
        case Language.CSHARP | Language.PHP:
            return _EXCEPTION.match(head) is not None
        case _:
            return True


def _is_ignoring(handler: "Node") -> bool:
    return all(_HARMLESS.match(text_of(statement)) for statement in _list_statements(handler))


def _list_statements(handler: "Node") -> "list[Node]":
    block = handler.child_by_field_name("body") or next(
        (child for child in handler.children if child.type == "block"), None
    )
    return [] if block is None else [child for child in block.named_children if not is_comment(child)]
