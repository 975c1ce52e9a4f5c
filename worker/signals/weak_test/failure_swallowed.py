"""Tests whose assertions may fail unseen: what they raise is caught and ignored.

A handler that does anything but report is left alone; exceptions are not followed into other functions.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.assertions import find_assertions
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.proofs import Proof
from worker.signals.analysis.syntax import is_comment, register_types, text_of
from worker.signals.analysis.test_pairs import CheckedBody, find_bodies, is_in_callback
from worker.signals.signal import SettlingLine, SignalKind, SignalMatch, SignalScope, signal

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
_CATCH_ALL: Final = {
    Language.PYTHON: _PYTHON_ALL,
    **dict.fromkeys((Language.JAVA, Language.KOTLIN), _JAVA_ALL),
    **dict.fromkeys((Language.CSHARP, Language.PHP), _EXCEPTION),
}
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
    settled_by=SettlingLine.REPORT,
)
def failure_swallowed(change: CodeChange) -> Iterator[SignalMatch]:
    """An added assertion whose failure is caught right there, and ignored, in a test that did so less often before.

    Why it matters: A failed assertion raises an error, and this test catches it: it is green in any case.
    Example: `except Exception: pass` around `assert run() == 1`.
    False alarms: 4 of 22175 clean changes with tests (0.0 %, at most 0.05 %).
    """
    for body in find_bodies(change):
        handlers = tuple(_find_swallowing(body))
        base = body.test_pair.base if handlers and body.test_pair is not None else None
        # counted, since the change may move or indent them
        before = CheckedBody(body.file, base.source, base.body, base.name) if base is not None else None
        old = tuple(_find_swallowing(before, or_guessed=True)) if before is not None else ()
        for node in handlers if len(handlers) > len(old) else ():
            if body.is_added(node):
                line = body.line_of(node)
                last = line + node.end_point.row - node.start_point.row
                yield SignalMatch("what these assertions raise is caught and ignored", body.file.path, line, last)


def _find_swallowing(body: CheckedBody, *, or_guessed: bool = False) -> Iterator[Node]:
    """Nodes that swallow a failure; with *or_guessed* also of calls that may be no assertion."""
    language, nodes = body.source.language, body.source.nodes
    for node in nodes.find(_TRIES.get(language, ()), body.node):
        tried = _find_tried(node, language)
        if tried is None or is_in_callback(node, body.node):
            continue
        checks = (check for check in find_assertions(body.source, tried) if check.proof >= Proof.PRESENCE)
        if any(or_guessed or not check.is_guess or _ASSERTS.search(check.text) for check in checks):
            yield node


def _find_tried(node: Node, language: Language) -> Node | None:
    """The code whose failures the node catches, if it catches all and ignores them."""
    if node.type == "call_expression":
        return node if _is_ignored_catch(node, language) else None
    if node.type == "with_statement":
        return node.child_by_field_name("body") if _SUPPRESSES.match(text_of(node)[:_LONGEST]) else None
    handlers = [
        child for child in node.named_children if child.type in {"except_clause", "catch_clause", "catch_block"}
    ]
    mark = _CATCH_ALL.get(language)  # it also catches what an assertion raises
    broad = (handler for handler in handlers if mark is None or mark.match(text_of(handler)[:_LONGEST]))
    is_ignored = any(all(map(_HARMLESS.match, map(text_of, _list_statements(handler)))) for handler in broad)
    if not is_ignored or _is_expected_failure(node, handlers):
        return None
    return node.child_by_field_name("body") or node.named_children[0]


def _is_expected_failure(node: Node, handlers: list[Node]) -> bool:
    """Whether the handlers leave the test and the code behind fails it: it passes only if the assertion does not hold."""
    if any(child.type == "else_clause" and _FAILS.search(text_of(child)) for child in node.named_children):
        return True
    behind = node.next_named_sibling
    if behind is None or not _FAILS.match(text_of(behind)):
        return False
    return all(any(_LEAVES.match(text_of(last)) for last in _list_statements(handler)[-1:]) for handler in handlers)


def _is_ignored_catch(call: Node, language: Language) -> bool:
    """`.catch(() => {})` behind a promise, `catch_unwind` of Rust whose result is dropped."""
    called, around = call.child_by_field_name("function"), call.parent
    if language in SCRIPT_LANGUAGES:
        caught = text_of(call.child_by_field_name("arguments"))[:_LONGEST]
        is_catch = called is not None and text_of(called.child_by_field_name("property")) == "catch"
        return is_catch and _NOTHING_DONE.fullmatch(" ".join(caught.split())) is not None
    is_statement = around is not None and around.type == "expression_statement"
    is_dropped = is_statement or _DROPPED.match(text_of(around)[:_LONGEST]) is not None
    return is_dropped and text_of(called)[-_LONGEST:].endswith("catch_unwind")


def _list_statements(handler: Node) -> list[Node]:
    block = handler.child_by_field_name("body") or next(
        (child for child in handler.children if child.type == "block"), None
    )
    return [] if block is None else [child for child in block.named_children if not is_comment(child)]
