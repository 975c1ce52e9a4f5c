"""What in a test can make it fail: assertions of the usual frameworks, calls into helpers that assert, and what is none.

Does not judge a test. Invariant: in doubt a call is an oracle; an oracle that proves nothing is one that could not fail
whatever the code does.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.call_chains import Link, Spine, spines
from worker.signals.analysis.file_roles import FURTHER, SCRIPTS, Language
from worker.signals.analysis.matchers import proof_of_matcher
from worker.signals.analysis.sounding import sounds_like_a_check
from worker.signals.analysis.syntax import Nodes, Sought, ancestors, is_comment, sought, text_of
from worker.signals.analysis.truths import (
    Proof,
    is_itself,
    is_literal,
    is_name,
    opposite_of,
    proof_of,
    proof_of_equal,
    sides_of,
    split_arguments,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class Oracle(Value):
    """One check, at its outermost node. `is_guess`: only its name says so."""

    node: "Node"
    proof: Proof
    why: str = ""
    """Of one that proves nothing: why not."""
    is_guess: bool = False
    pair: tuple[str, str] | None = None
    """The two that it holds to be equal."""

    @cached_property
    def text(self) -> str:
        return " ".join(text_of(self.node).split())


TRUE: Final = "always true"
ITSELF: Final = "compared with itself"
EQUAL: Final = "a literal compared with itself"
NOT_CALLED: Final = "not called"
NOT_AWAITED: Final = "not awaited"
PAIR: Final = 2


def oracles_of(
    body: "Node", language: Language, rows: frozenset[int] | None = None, nodes: Nodes | None = None
) -> Iterator[Oracle]:
    """Every check below *body*, in the order of its kind; what it calls in the same file is not looked into.

    With *rows*, at least those that begin in one of these rows. *nodes*: those of the whole tree, where somebody keeps them.
    """
    known = Nodes(body, language) if nodes is None else nodes
    reach = _reach(body, rows, known) if language is Language.GO and rows else rows
    yield from _statements(body, language, rows, known)
    if language is Language.PYTHON:
        yield from _uncalled(body, rows, known)
    for spine in spines(body, language, reach, known):
        is_one = language not in FURTHER
        found = known.once(_checked, spine.node, spine, language) if is_one else _checked(spine.node, spine, language)
        if found is not None:
            yield found


def _reach(body: "Node", rows: frozenset[int], nodes: Nodes) -> frozenset[int]:
    """Where the calls may stand of checks that begin in these rows: an `if` begins before what it fails with."""
    ifs = (one for one in nodes.find(("if_statement",), body, rows) if one.start_point.row in rows)
    return rows.union(*(range(one.start_point.row, one.end_point.row + 1) for one in ifs))


def _checked(_: "Node", spine: Spine, language: Language) -> Oracle | None:
    """What this chain of calls checks, which is the only one that ends in the node."""
    match language:
        case Language.PYTHON:
            found = _python(spine)
        case Language.GO:
            found = _go(spine)
        case Language.RUST:
            found = _rust(spine)
        case Language.JAVA:
            found = _java(spine)
        case _ if language in FURTHER:
            from worker.signals.analysis.languages.assertions import checked_by  # noqa: PLC0415 - most changes need none

            found = checked_by(spine, language)
        case _:
            found = _script(spine)
    return found or _guessed(spine)


def _guessed(spine: Spine) -> Oracle | None:
    """A helper that checks, as its name sounds."""
    for link in spine.links:
        if link.given is not None and sounds_like_a_check(link.name):
            return None if spine.is_bound else Oracle(spine.node, Proof.VALUE, is_guess=True)
    return None


_NAME: Final = 80
_STATEMENTS: Final = sought(
    {
        Language.PYTHON: ("assert_statement", "raise_statement"),
        Language.JAVA: ("assert_statement", "throw_statement"),
        **dict.fromkeys((Language.JAVASCRIPT, Language.CSHARP), ("throw_statement",)),
        **dict.fromkeys((Language.PHP, Language.KOTLIN), ("throw_expression",)),
        **dict.fromkeys(
            SCRIPTS - {Language.JAVASCRIPT}, ("throw_statement", "type_alias_declaration", "satisfies_expression")
        ),
    },
    Sought.TESTS,
)


def _statements(body: "Node", language: Language, rows: frozenset[int] | None, nodes: Nodes) -> Iterator[Oracle]:
    if language in SCRIPTS and ASKS_THE_COMPILER.search(text_of(body)) is not None:
        yield Oracle(body, Proof.VALUE)
    types = _STATEMENTS.get(language)
    for node in () if types is None else _beginning(nodes.find(types, body, rows), rows):
        if node.type == "type_alias_declaration" and _NAMED_TYPE.search(text_of(node)):
            continue
        yield nodes.once(_stated, node)


ASKS_THE_COMPILER: Final = pattern(r"@ts-expect-error|(?://|/\*)\s{0,8}\$Expect(?:Type|Error|(?:No)?Deprecation)\b")
"""A comment that a type checker or a linter holds the code to: it fails where the type, the error or the mark is another."""


def _stated(node: "Node") -> Oracle:
    if node.type != "assert_statement":
        return Oracle(node, Proof.VALUE, is_guess="Assert" not in text_of(node)[:_NAME])
    return _judged(node, next((one for one in node.named_children if not is_comment(one)), None))


_NAMED_TYPE: Final = pattern(r"= ?typeof [\w.]+;?$")
"""It only gives a type a name; one that is put together may check something as it is compiled."""


def _beginning(nodes: "list[Node]", rows: frozenset[int] | None) -> "list[Node]":
    return nodes if rows is None else [one for one in nodes if one.start_point.row in rows]


def _judged(node: "Node", asserted: "Node | None") -> Oracle:
    if asserted is not None and asserted.type == "tuple" and asserted.named_child_count:
        return Oracle(node, Proof.NOTHING, "a tuple is always true")
    return of_condition(node, text_of(asserted))


def of_condition(node: "Node", condition: str) -> Oracle:
    proof = proof_of(condition)
    why = ITSELF if is_itself(condition) else TRUE
    return Oracle(node, proof, why if proof is Proof.NOTHING else "", pair=sides_of(condition))


def of_boolean(node: "Node", condition: str) -> Oracle:
    """In a language with types what is asserted is true or false, and so a value."""
    return Oracle(node, Proof.VALUE) if is_name(condition) and condition != "true" else of_condition(node, condition)


def of_pair(node: "Node", one: str, other: str) -> Oracle:
    proof = proof_of_equal(one, other)
    alike = TRUE if one.casefold() in {"true", "false"} else EQUAL if is_literal(one) else ITSELF
    return Oracle(node, proof, alike if proof is Proof.NOTHING else "", pair=(one, other))


_MATCHER: Final = pattern(r"\.(?:assert_\w{1,40}|called_(?:once|with|once_with))$")


_ALONE: Final = sought({Language.PYTHON: ("expression_statement",)}, Sought.TESTS)


def _uncalled(body: "Node", rows: frozenset[int] | None, nodes: Nodes) -> Iterator[Oracle]:
    """A check that nobody calls: `mock.assert_called_once`."""
    for statement in _beginning(nodes.find(_ALONE[Language.PYTHON], body, rows), rows):
        only = statement.named_children[0] if statement.named_child_count == 1 else None
        if only is not None and only.type == "attribute" and _MATCHER.search(text_of(only)[-_NAME:]):
            yield Oracle(only, Proof.NOTHING, NOT_CALLED)


_EQUALS: Final = pattern(r"(?:assert_?)?(?:equals?|eq|same|strict_?equal|deep_?equal|deep_?strict_?equal|is|to_?be|to_?equal"
    r"|to_?strict_?equal|is_?equal_?to|is_?same_?as|count_?equal|list_?equal|dict_?equal|exactly|equal_?values|matches_?object)!?",
    2)  # fmt: skip
_TRUTHS: Final = pattern(r"(?:assert_?|is_?)?(?:true|true_|that|ok)!?|assert!?|debug_assert!?|require", 2)
_PRESENCES: Final = pattern(
    r"(?:assert_?)?(?:is_?)?not_?(?:none|null|nil|undefined|empty|zero)|to_?be_?(?:defined|truthy)|is_?present|is_?some|exists",
    2,
)
_SUCCESSES: Final = pattern(
    r"(?:assert_?|require_?)?(?:no_?error|no_?err|does_?not_?throw|not_?panics|nil_?error|that_?no_?exception)"
    r"|does_?not_?throw_?any_?exception|assertThatNoException|assert_ok!?",
    2,
)


def asserted(spine: Spine, last: Link, given: "list[Node]") -> Oracle:
    """What a plain assertion proves: by its name and its arguments."""
    node, texts = spine.node, [text_of(one) for one in given]
    loose = proof_of_matcher(last.name, texts)
    if loose is not None:
        return _loose(node, loose)
    if _SUCCESSES.fullmatch(last.name):
        return Oracle(node, Proof.SUCCESS)
    if _PRESENCES.fullmatch(last.name):
        is_sure = bool(texts) and is_literal(texts[0]) and texts[0] not in {"None", "null", "nil", "undefined"}
        return Oracle(node, Proof.NOTHING if is_sure else Proof.PRESENCE, TRUE if is_sure else "")
    if _EQUALS.fullmatch(last.name) and len(texts) >= PAIR:
        return of_pair(node, texts[0], texts[1])
    if _TRUTHS.fullmatch(last.name) and texts:
        return of_condition(node, texts[0])
    return Oracle(node, Proof.VALUE)


def _loose(node: "Node", proof: Proof) -> Oracle:
    return Oracle(node, proof, "" if proof is Proof.PRESENCE else TRUE)


def _python(spine: Spine) -> Oracle | None:
    last = spine.links[-1]
    if last.given is not None and last.name.lower().startswith("assert"):
        return asserted(spine, last, last.given)
    return Oracle(spine.node, Proof.VALUE) if last.given is not None and last.name == "deprecated_call" else None


_GO_RUNS: Final = frozenset({"Run", "It"})
_GO_WITHIN: Final = frozenset({"expression_statement", "statement_list", "block"})
_GO_FAILS: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_GO_ROOTS: Final = frozenset(
    {"assert", "require", "is", "s", "suite", "c", "qt", "be", "must", "check", "expect", "a", "r"}
)
_ERROR_CHECK: Final = pattern(r"(?:\w+ ?:?= ?.{1,200}; )?\w*[eE]rr\w* != nil", 16)
_NEVER: Final = pattern(r"false|.* && false|false && .*|(.+) != (.+) && \1 == \2|(.+) == (.+) && \3 != \4", re.DOTALL)
_NIL_CHECK: Final = pattern(r"(?!\w*[eE]rr\b)[\w.\[\]]+ == nil")


def _go(spine: Spine) -> Oracle | None:
    root, last = spine.links[0], spine.links[-1]
    if last.given is None or (last.name == "Error" and not last.given):  # `err.Error()` is a text
        return None
    if last.name == "New":  # `assert := assert.New(t)`
        return None
    if last.name in _GO_RUNS and last.given[1:] and last.given[-1].type != "func_literal":
        return Oracle(spine.node, Proof.VALUE, is_guess=True)
    if last.name in _GO_FAILS and len(spine.links) <= 3 and root.name not in {"log", "fmt", "errors"}:  # noqa: PLR2004 - s.T().Error
        return _go_failing(spine.node)
    if root.name in _GO_ROOTS and last.name[:1].isupper() and _is_direct(spine):
        given = last.given[1:] if root.name in {"assert", "require"} else last.given
        is_truth = _TRUTHS.fullmatch(last.name) is not None and bool(given)
        found = of_boolean(spine.node, text_of(given[0])) if is_truth else asserted(spine, last, given)
        is_guess = root.name not in {"assert", "require"} and found.proof is Proof.VALUE
        return Oracle(found.node, found.proof, found.why, is_guess, found.pair)
    return None


def _is_direct(spine: Spine) -> bool:
    """`c.Assert(x)`, `s.Require().Equal(x)`, `s.assert.Nil(x)`, and not `r.Body.Close()`."""
    between = spine.links[1:-1]
    return len(spine.links) > 1 and all(link.given is not None or link.name.lower() in _GO_ROOTS for link in between)


def _go_failing(call: "Node") -> Oracle:
    """`if got != want { t.Error(...) }`: the check is the whole `if`, where it holds this call."""
    around = next((one for one in ancestors(call) if one.type not in _GO_WITHIN), None)
    if around is None or around.type != "if_statement":
        return Oracle(call, Proof.VALUE)
    condition = " ".join(text_of(around.child_by_field_name("condition"))[:_CONDITION].split())
    if _ERROR_CHECK.fullmatch(condition):
        return Oracle(around, Proof.SUCCESS)
    if _NIL_CHECK.fullmatch(condition):
        return Oracle(around, Proof.PRESENCE)
    if _NEVER.fullmatch(condition):
        return Oracle(around, Proof.NOTHING, "it is never reached")
    wanted = opposite_of(condition)
    return Oracle(around, Proof.VALUE) if _ERROR_CHECK.fullmatch(wanted) else of_boolean(around, wanted)


_CONDITION: Final = 300
_RUST_ASSERTS: Final = pattern(r"\w*(?:assert|panic|unreachable|expect|check|matches_snapshot)\w*!")
_RUST_LOUD: Final = frozenset({"unwrap", "expect", "?"})


def _rust(spine: Spine) -> Oracle | None:
    last = spine.links[-1]
    if last.name.endswith("!"):
        if not _RUST_ASSERTS.fullmatch(last.name):
            return None
        inside = text_of(spine.node).partition("!")[2].strip()[1:-1]
        return _of_macro(spine.node, last.name.rpartition("::")[2], split_arguments(inside))
    if any(link.name in {"unwrap_err", "expect_err"} for link in spine.links):
        return Oracle(spine.node, Proof.VALUE)
    if any(
        sounds_like_a_check(link.name) for link in spine.links if link.given is not None and link.name not in _RUST_LOUD
    ):
        return None
    return Oracle(spine.node, Proof.SUCCESS) if _RUST_LOUD.intersection(spine.names) else None


def _of_macro(node: "Node", name: str, given: list[str]) -> Oracle:
    bare = name.removeprefix("debug_").removeprefix("prop_")
    if bare == "assert!" and given:
        return of_boolean(node, given[0])
    if bare in {"assert_eq!", "assert_ok_eq!"} and len(given) >= PAIR:
        return of_pair(node, given[0], given[1])
    if bare in {"assert_ok!", "assert_some!"}:
        return Oracle(node, Proof.SUCCESS if bare == "assert_ok!" else Proof.PRESENCE)
    return Oracle(node, Proof.VALUE)


_JAVA_ENTRIES: Final = frozenset({"assertThat", "then"})
JAVA_NEUTRAL: Final = frozenset(
    {"as", "describedAs", "withFailMessage", "overridingErrorMessage", "usingRecursiveComparison", "isNotNull"}
    | {"asList", "asString", "usingDefaultComparator", "asInstanceOf", "extracting"}
)


def _java(spine: Spine) -> Oracle | None:
    first = next((number for number, link in enumerate(spine.links) if link.given is not None), 0)
    at = first if spine.links[first].name in _JAVA_ENTRIES else None  # what follows `when(x)` is no entry
    if at is not None and spine.links[at].given is not None:
        return fluent(spine, spine.links[at], spine.links[at + 1 :], JAVA_NEUTRAL)
    last = spine.links[-1]
    if last.name == "assertTrue" and last.given:
        asked = [one for one in last.given if one.type != "string_literal"] or last.given  # a message is first or last
        return of_boolean(spine.node, text_of(asked[-1]))
    if last.given is not None and last.name.startswith("assert"):
        has_message = len(last.given) > 1 and last.given[0].type == "string_literal" and _PRESENCES.fullmatch(last.name)
        return asserted(spine, last, last.given[1:] if has_message else last.given)
    is_fluent = spine.links[0].name.startswith("assert") and "NoException" not in spine.links[0].name
    return Oracle(spine.node, Proof.VALUE) if is_fluent else None


def fluent(spine: Spine, entry: Link, matchers: tuple[Link, ...], neutral: frozenset[str]) -> Oracle | None:
    """`assertThat(x).isEqualTo(y)`: the matchers prove it, about what the entry was given."""
    given = entry.given or []
    subject = text_of(given[0]) if given else ""
    if not matchers:
        loose = proof_of_matcher("is", [text_of(one) for one in given[-2:]])  # Hamcrest
        if loose is not None:
            return _loose(spine.node, loose)
        if len(given) > 1 or spine.node.parent is None or spine.node.parent.type != "expression_statement":
            return Oracle(spine.node, Proof.VALUE)  # Hamcrest, or it goes on elsewhere
        return Oracle(spine.node, Proof.NOTHING, "nothing is expected of it")
    telling = [link for link in matchers if link.name not in neutral and link.given is not None] or [matchers[-1]]
    if len(telling) > 1:
        return Oracle(spine.node, max(_fluent_proof(link) for link in telling))
    return _matched(spine, subject, telling[0], frozenset(link.name for link in matchers))


def _matched(spine: Spine, subject: str, last: Link, names: frozenset[str]) -> Oracle:
    """What one matcher proves of the subject."""
    node, given = spine.node, [text_of(one) for one in last.given or []]
    loose = proof_of_matcher(f"not_{last.name}" if "not" in names else last.name, [subject, *given])
    if loose is not None:
        return _loose(node, loose)
    if last.given is None:
        return _of_word(node, last.name, subject, names)
    if "not" in names:
        return Oracle(node, _NEGATED.get(last.name, Proof.VALUE))
    if _EQUALS.fullmatch(last.name) and given:
        pair = of_pair(node, subject, given[0])
        return pair if given[0] != "true" or pair.proof is Proof.NOTHING else _sure(of_condition(node, subject))
    return _affirmed(node, subject, last)


def _affirmed(node: "Node", subject: str, last: Link) -> Oracle:
    """That it is true, or there."""
    if last.name == "isTrue":
        return of_boolean(node, subject)
    if last.name == "toBeTruthy" and "(" not in subject:
        return of_condition(node, subject)
    is_there = last.name in {"toBeDefined", "isNotNull"}
    if is_there and is_literal(subject) and subject not in {"undefined", "null"}:
        return Oracle(node, Proof.NOTHING, TRUE)
    return Oracle(node, _fluent_proof(last))


_CALLED: Final = frozenset(
    {"equal", "equals", "eq", "eql", "include", "match", "above", "below", "least", "most", "property", "lengthOf"}
    | {"throw", "closeTo", "members", "within", "keys", "oneOf", "isEqualTo", "isTrue", "isFalse", "isNull", "isEmpty"}
)
_WORDS_OF_NOTHING: Final = frozenset({"undefined", "null"})


def _uncalled_matcher(node: "Node") -> Oracle:
    """A matcher without arguments; where a hunk ends within its arguments, the bracket follows it unparsed."""
    after = node.next_sibling
    is_cut = after is not None and after.type == "("
    return Oracle(node, Proof.VALUE) if is_cut else Oracle(node, Proof.NOTHING, NOT_CALLED)


def _of_word(node: "Node", word: str, subject: str, names: frozenset[str]) -> Oracle:
    """`expect(x).to.be.true`, `expect(x).to.exist`: what is asked needs no brackets, or it lacks them."""
    if word in _CALLED:
        return _uncalled_matcher(node)
    if "not" in names:
        return Oracle(node, Proof.PRESENCE if word in _WORDS_OF_NOTHING else Proof.VALUE)
    if word in {"exist", "ok"}:
        return Oracle(node, Proof.NOTHING, TRUE) if is_literal(subject) else Oracle(node, Proof.PRESENCE)
    return _sure(of_condition(node, subject)) if word == "true" else Oracle(node, Proof.VALUE)


def _sure(oracle: Oracle) -> Oracle:
    """Compared with `true` itself, a condition has a value, unless it always holds."""
    return oracle if oracle.proof is Proof.NOTHING else Oracle(oracle.node, Proof.VALUE, pair=oracle.pair)


_NEGATED: Final = {
    "toBeNull": Proof.PRESENCE,
    "toBeUndefined": Proof.PRESENCE,
    "toBeFalsy": Proof.PRESENCE,
    "toThrow": Proof.SUCCESS,
    "toThrowError": Proof.SUCCESS,
    "throw": Proof.SUCCESS,
}
"""With `not` before it."""


def _fluent_proof(link: Link) -> Proof:
    if link.name == "toBeTruthy":
        return Proof.VALUE  # of a call, which tells yes or no
    if _PRESENCES.fullmatch(link.name):
        return Proof.PRESENCE
    return Proof.SUCCESS if _SUCCESSES.fullmatch(link.name) else Proof.VALUE


_SCRIPT_NEUTRAL: Final = frozenset({"not", "resolves", "rejects", "to", "be", "a", "an", "and", "soft", "withContext"})


_SCRIPT_MATCHER: Final = pattern(r"to[A-Z]\w{1,40}")


def _script(spine: Spine) -> Oracle | None:
    root, last = spine.links[0], spine.links[-1]
    if root.name == "expect" and root.given is not None:
        if last.given is None and _SCRIPT_MATCHER.fullmatch(last.name):
            return _uncalled_matcher(spine.node)
        if {"resolves", "rejects", "eventually"}.intersection(spine.names) and _is_floating(spine):
            return Oracle(spine.node, Proof.NOTHING, NOT_AWAITED)
        return fluent(spine, root, spine.links[1:], _SCRIPT_NEUTRAL)
    if root.name in {"assert", "t"} and last.given is not None:
        is_plain = _EQUALS.fullmatch(last.name) or _TRUTHS.fullmatch(last.name)
        if is_plain or proof_of_matcher(last.name, [text_of(one) for one in last.given]) is not None:
            return asserted(spine, last, last.given)
    return Oracle(spine.node, Proof.VALUE) if "should" in spine.names else None


def _is_floating(spine: Spine) -> bool:
    """A promise that nobody waits for: a statement of its own."""
    around = spine.node.parent
    return around is not None and around.type == "expression_statement"
