"""What in a test can make it fail: assertions of the usual frameworks, calls into helpers that assert, and what is none.

Does not judge a test. Invariant: in doubt a call is an oracle; an oracle that proves nothing is one that could not fail
whatever the code does.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.call_chains import CallChain, ChainLink, arguments_and_block, find_call_chains
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function
from worker.signals.analysis.proofs import (
    Proof,
    is_check_name,
    is_literal,
    is_name,
    is_self_comparison,
    negate,
    proof_of_matcher,
    prove_condition,
    prove_equality,
    split_arguments,
    split_equality,
)
from worker.signals.analysis.syntax import NodeGroup, NodeIndex, ancestors, is_comment, register_types, text_of
from worker.signals.analysis.tests import Test

if TYPE_CHECKING:
    from tree_sitter import Node


class Assertion(Value):
    """One check, at its outermost node. `is_guess`: only its name says so."""

    node: "Node"
    proof: Proof
    weakness: str = ""
    """Of one that proves nothing: why not."""
    is_guess: bool = False
    pair: tuple[str, str] | None = None
    """The two that it holds to be equal."""

    @cached_property
    def text(self) -> str:
        return " ".join(text_of(self.node).split())


ALWAYS_TRUE: Final = "always true"
SELF_COMPARED: Final = "compared with itself"
LITERAL_COMPARED: Final = "a literal compared with itself"
NOT_CALLED: Final = "not called"
NOT_AWAITED: Final = "not awaited"
PAIR_SIZE: Final = 2


def find_assertions(
    body: "Node", language: Language, rows: frozenset[int] | None = None, nodes: NodeIndex | None = None
) -> Iterator[Assertion]:
    """Every check below *body*, in the order of its kind; what it calls in the same file is not looked into.

    With *rows*, at least those that begin in one of these rows. *nodes*: those of the whole tree, where somebody keeps them.
    """
    index = NodeIndex(body, language) if nodes is None else nodes
    reach = _find_call_rows(body, rows, index) if language is Language.GO and rows else rows
    yield from _find_statements(body, language, rows, index)
    if language is Language.PYTHON:
        yield from _find_uncalled(body, rows, index)
    for spine in find_call_chains(body, language, reach, index):
        is_one = language not in MORE_LANGUAGES
        assertion = (
            index.cached(_read_chain, spine.node, spine, language)
            if is_one
            else _read_chain(spine.node, spine, language)
        )
        if assertion is not None:
            yield assertion


def _find_call_rows(body: "Node", rows: frozenset[int], nodes: NodeIndex) -> frozenset[int]:
    """Where the calls may stand of checks that begin in these rows: an `if` begins before what it fails with."""
    ifs = (if_ for if_ in nodes.find(("if_statement",), body, rows) if if_.start_point.row in rows)
    return rows.union(*(range(if_.start_point.row, if_.end_point.row + 1) for if_ in ifs))


def _read_chain(_: "Node", spine: CallChain, language: Language) -> Assertion | None:
    """What this chain of calls checks, which is the only one that ends in the node."""
    match language:
        case Language.PYTHON:
            assertion = _read_python(spine)
        case Language.GO:
            assertion = _read_go(spine)
        case Language.RUST:
            assertion = _read_rust(spine)
        case Language.JAVA:
            assertion = _read_java(spine)
        case _ if language in MORE_LANGUAGES:
            assertion = read_assertion(spine, language)
        case _:
            assertion = _read_script(spine)
    return assertion or _guess_from_name(spine)


def _guess_from_name(spine: CallChain) -> Assertion | None:
    """A helper that checks, as its name sounds."""
    for link in spine.links:
        if link.arguments is not None and is_check_name(link.name):
            return None if spine.is_result_bound else Assertion(spine.node, Proof.VALUE, is_guess=True)
    return None


_NAME: Final = 80
_STATEMENTS: Final = register_types(
    {
        Language.PYTHON: ("assert_statement", "raise_statement"),
        Language.JAVA: ("assert_statement", "throw_statement"),
        **dict.fromkeys((Language.JAVASCRIPT, Language.CSHARP), ("throw_statement",)),
        **dict.fromkeys((Language.PHP, Language.KOTLIN), ("throw_expression",)),
        **dict.fromkeys(
            SCRIPT_LANGUAGES - {Language.JAVASCRIPT},
            ("throw_statement", "type_alias_declaration", "satisfies_expression"),
        ),
    },
    NodeGroup.TESTS,
)


def _find_statements(
    body: "Node", language: Language, rows: frozenset[int] | None, nodes: NodeIndex
) -> Iterator[Assertion]:
    if language in SCRIPT_LANGUAGES and ASKS_THE_COMPILER.search(text_of(body)) is not None:
        yield Assertion(body, Proof.VALUE)
    types = _STATEMENTS.get(language)
    for node in () if types is None else _starting_in(nodes.find(types, body, rows), rows):
        if node.type == "type_alias_declaration" and _NAMED_TYPE.search(text_of(node)):
            continue
        yield nodes.cached(_read_statement, node)


ASKS_THE_COMPILER: Final = pattern(r"@ts-expect-error|(?://|/\*)\s{0,8}\$Expect(?:Type|Error|(?:No)?Deprecation)\b")
"""A comment that a type checker or a linter holds the code to: it fails where the type, the error or the mark is another."""


def _read_statement(node: "Node") -> Assertion:
    if node.type != "assert_statement":
        return Assertion(node, Proof.VALUE, is_guess="Assert" not in text_of(node)[:_NAME])
    return _read_assert(node, next((child for child in node.named_children if not is_comment(child)), None))


_NAMED_TYPE: Final = pattern(r"= ?typeof [\w.]+;?$")
"""It only gives a type a name; one that is put together may check something as it is compiled."""


def _starting_in(nodes: "list[Node]", rows: frozenset[int] | None) -> "list[Node]":
    return nodes if rows is None else [node for node in nodes if node.start_point.row in rows]


def _read_assert(node: "Node", asserted: "Node | None") -> Assertion:
    if asserted is not None and asserted.type == "tuple" and asserted.named_child_count:
        return Assertion(node, Proof.NOTHING, "a tuple is always true")
    return from_condition(node, text_of(asserted))


def from_condition(node: "Node", condition: str) -> Assertion:
    proof = prove_condition(condition)
    why = SELF_COMPARED if is_self_comparison(condition) else ALWAYS_TRUE
    return Assertion(node, proof, why if proof is Proof.NOTHING else "", pair=split_equality(condition))


def from_boolean(node: "Node", condition: str) -> Assertion:
    """In a language with types what is asserted is true or false, and so a value."""
    return (
        Assertion(node, Proof.VALUE) if is_name(condition) and condition != "true" else from_condition(node, condition)
    )


def from_pair(node: "Node", left: str, other: str) -> Assertion:
    proof = prove_equality(left, other)
    alike = (
        ALWAYS_TRUE if left.casefold() in {"true", "false"} else LITERAL_COMPARED if is_literal(left) else SELF_COMPARED
    )
    return Assertion(node, proof, alike if proof is Proof.NOTHING else "", pair=(left, other))


_MATCHER: Final = pattern(r"\.(?:assert_\w{1,40}|called_(?:once|with|once_with))$")


_ALONE: Final = register_types({Language.PYTHON: ("expression_statement",)}, NodeGroup.TESTS)


def _find_uncalled(body: "Node", rows: frozenset[int] | None, nodes: NodeIndex) -> Iterator[Assertion]:
    """A check that nobody calls: `mock.assert_called_once`."""
    for statement in _starting_in(nodes.find(_ALONE[Language.PYTHON], body, rows), rows):
        only = statement.named_children[0] if statement.named_child_count == 1 else None
        if only is not None and only.type == "attribute" and _MATCHER.search(text_of(only)[-_NAME:]):
            yield Assertion(only, Proof.NOTHING, NOT_CALLED)


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


def from_plain_assertion(spine: CallChain, last: ChainLink, arguments: "list[Node]") -> Assertion:
    """What a plain assertion proves: by its name and its arguments."""
    node, texts = spine.node, [text_of(argument) for argument in arguments]
    loose = proof_of_matcher(last.name, texts)
    if loose is not None:
        return _guess_assertion(node, loose)
    if _SUCCESSES.fullmatch(last.name):
        return Assertion(node, Proof.SUCCESS)
    if _PRESENCES.fullmatch(last.name):
        is_sure = bool(texts) and is_literal(texts[0]) and texts[0] not in {"None", "null", "nil", "undefined"}
        return Assertion(node, Proof.NOTHING if is_sure else Proof.PRESENCE, ALWAYS_TRUE if is_sure else "")
    if _EQUALS.fullmatch(last.name) and len(texts) >= PAIR_SIZE:
        return from_pair(node, texts[0], texts[1])
    if _TRUTHS.fullmatch(last.name) and texts:
        return from_condition(node, texts[0])
    return Assertion(node, Proof.VALUE)


def _guess_assertion(node: "Node", proof: Proof) -> Assertion:
    return Assertion(node, proof, "" if proof is Proof.PRESENCE else ALWAYS_TRUE)


def _read_python(spine: CallChain) -> Assertion | None:
    last = spine.links[-1]
    if last.arguments is not None and last.name.lower().startswith("assert"):
        return from_plain_assertion(spine, last, last.arguments)
    return Assertion(spine.node, Proof.VALUE) if last.arguments is not None and last.name == "deprecated_call" else None


_GO_RUNS: Final = frozenset({"Run", "It"})
_GO_WITHIN: Final = frozenset({"expression_statement", "statement_list", "block"})
_GO_FAILS: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_GO_ROOTS: Final = frozenset(
    {"assert", "require", "is", "s", "suite", "c", "qt", "be", "must", "check", "expect", "a", "r"}
)
_ERROR_CHECK: Final = pattern(r"(?:\w+ ?:?= ?.{1,200}; )?\w*[eE]rr\w* != nil", 16)
_NEVER: Final = pattern(r"false|.* && false|false && .*|(.+) != (.+) && \1 == \2|(.+) == (.+) && \3 != \4", re.DOTALL)
_NIL_CHECK: Final = pattern(r"(?!\w*[eE]rr\b)[\w.\[\]]+ == nil")


def _read_go(spine: CallChain) -> Assertion | None:
    root, last = spine.links[0], spine.links[-1]
    if last.arguments is None or (last.name == "Error" and not last.arguments):  # `err.Error()` is a text
        return None
    if last.name == "New":  # `assert := assert.New(t)`
        return None
    if last.name in _GO_RUNS and last.arguments[1:] and last.arguments[-1].type != "func_literal":
        return Assertion(spine.node, Proof.VALUE, is_guess=True)
    if last.name in _GO_FAILS and len(spine.links) <= 3 and root.name not in {"log", "fmt", "errors"}:  # noqa: PLR2004 - s.T().Error
        return _go_failing(spine.node)
    if root.name in _GO_ROOTS and last.name[:1].isupper() and _is_direct(spine):
        arguments = last.arguments[1:] if root.name in {"assert", "require"} else last.arguments
        is_truth = _TRUTHS.fullmatch(last.name) is not None and bool(arguments)
        assertion = (
            from_boolean(spine.node, text_of(arguments[0]))
            if is_truth
            else from_plain_assertion(spine, last, arguments)
        )
        is_guess = root.name not in {"assert", "require"} and assertion.proof is Proof.VALUE
        return Assertion(assertion.node, assertion.proof, assertion.weakness, is_guess, assertion.pair)
    return None


def _is_direct(spine: CallChain) -> bool:
    """`c.Assert(x)`, `s.Require().Equal(x)`, `s.assert.Nil(x)`, and not `r.Body.Close()`."""
    between = spine.links[1:-1]
    return len(spine.links) > 1 and all(
        link.arguments is not None or link.name.lower() in _GO_ROOTS for link in between
    )


def _go_failing(call: "Node") -> Assertion:
    """`if got != want { t.Error(...) }`: the check is the whole `if`, where it holds this call."""
    around = next((ancestor for ancestor in ancestors(call) if ancestor.type not in _GO_WITHIN), None)
    if around is None or around.type != "if_statement":
        return Assertion(call, Proof.VALUE)
    condition = " ".join(text_of(around.child_by_field_name("condition"))[:_CONDITION].split())
    if _ERROR_CHECK.fullmatch(condition):
        return Assertion(around, Proof.SUCCESS)
    if _NIL_CHECK.fullmatch(condition):
        return Assertion(around, Proof.PRESENCE)
    if _NEVER.fullmatch(condition):
        return Assertion(around, Proof.NOTHING, "it is never reached")
    wanted = negate(condition)
    return Assertion(around, Proof.VALUE) if _ERROR_CHECK.fullmatch(wanted) else from_boolean(around, wanted)


_CONDITION: Final = 300
_RUST_ASSERTS: Final = pattern(r"\w*(?:assert|panic|unreachable|expect|check|matches_snapshot)\w*!")
_RUST_LOUD: Final = frozenset({"unwrap", "expect", "?"})


def _read_rust(spine: CallChain) -> Assertion | None:
    last = spine.links[-1]
    if last.name.endswith("!"):
        if not _RUST_ASSERTS.fullmatch(last.name):
            return None
        inside = text_of(spine.node).partition("!")[2].strip()[1:-1]
        return _from_macro(spine.node, last.name.rpartition("::")[2], split_arguments(inside))
    if any(link.name in {"unwrap_err", "expect_err"} for link in spine.links):
        return Assertion(spine.node, Proof.VALUE)
    if any(
        is_check_name(link.name) for link in spine.links if link.arguments is not None and link.name not in _RUST_LOUD
    ):
        return None
    return Assertion(spine.node, Proof.SUCCESS) if _RUST_LOUD.intersection(spine.names) else None


def _from_macro(node: "Node", name: str, arguments: list[str]) -> Assertion:
    bare = name.removeprefix("debug_").removeprefix("prop_")
    if bare == "assert!" and arguments:
        return from_boolean(node, arguments[0])
    if bare in {"assert_eq!", "assert_ok_eq!"} and len(arguments) >= PAIR_SIZE:
        return from_pair(node, arguments[0], arguments[1])
    if bare in {"assert_ok!", "assert_some!"}:
        return Assertion(node, Proof.SUCCESS if bare == "assert_ok!" else Proof.PRESENCE)
    return Assertion(node, Proof.VALUE)


_JAVA_ENTRIES: Final = frozenset({"assertThat", "then"})
JAVA_NEUTRAL: Final = frozenset(
    {"as", "describedAs", "withFailMessage", "overridingErrorMessage", "usingRecursiveComparison", "isNotNull"}
    | {"asList", "asString", "usingDefaultComparator", "asInstanceOf", "extracting"}
)


def _read_java(spine: CallChain) -> Assertion | None:
    first = next((number for number, link in enumerate(spine.links) if link.arguments is not None), 0)
    at = first if spine.links[first].name in _JAVA_ENTRIES else None  # what follows `when(x)` is no entry
    if at is not None and spine.links[at].arguments is not None:
        return from_fluent_chain(spine, spine.links[at], spine.links[at + 1 :], JAVA_NEUTRAL)
    last = spine.links[-1]
    if last.name == "assertTrue" and last.arguments:
        asked = [
            argument for argument in last.arguments if argument.type != "string_literal"
        ] or last.arguments  # a message is first or last
        return from_boolean(spine.node, text_of(asked[-1]))
    if last.arguments is not None and last.name.startswith("assert"):
        has_message = (
            len(last.arguments) > 1 and last.arguments[0].type == "string_literal" and _PRESENCES.fullmatch(last.name)
        )
        return from_plain_assertion(spine, last, last.arguments[1:] if has_message else last.arguments)
    is_fluent = spine.links[0].name.startswith("assert") and "NoException" not in spine.links[0].name
    return Assertion(spine.node, Proof.VALUE) if is_fluent else None


def from_fluent_chain(
    spine: CallChain, entry: ChainLink, matchers: tuple[ChainLink, ...], neutral: frozenset[str]
) -> Assertion | None:
    """`assertThat(x).isEqualTo(y)`: the matchers prove it, about what the entry was given."""
    arguments = entry.arguments or []
    subject = text_of(arguments[0]) if arguments else ""
    if not matchers:
        loose = proof_of_matcher("is", [text_of(argument) for argument in arguments[-2:]])  # Hamcrest
        if loose is not None:
            return _guess_assertion(spine.node, loose)
        if len(arguments) > 1 or spine.node.parent is None or spine.node.parent.type != "expression_statement":
            return Assertion(spine.node, Proof.VALUE)  # Hamcrest, or it goes on elsewhere
        return Assertion(spine.node, Proof.NOTHING, "nothing is expected of it")
    telling = [link for link in matchers if link.name not in neutral and link.arguments is not None] or [matchers[-1]]
    if len(telling) > 1:
        return Assertion(spine.node, max(_fluent_proof(link) for link in telling))
    return _from_matcher(spine, subject, telling[0], frozenset(link.name for link in matchers))


def _from_matcher(spine: CallChain, subject: str, last: ChainLink, names: frozenset[str]) -> Assertion:
    """What one matcher proves of the subject."""
    node, arguments = spine.node, [text_of(argument) for argument in last.arguments or []]
    loose = proof_of_matcher(f"not_{last.name}" if "not" in names else last.name, [subject, *arguments])
    if loose is not None:
        return _guess_assertion(node, loose)
    if last.arguments is None:
        return _from_word(node, last.name, subject, names)
    if "not" in names:
        return Assertion(node, _NEGATED.get(last.name, Proof.VALUE))
    if _EQUALS.fullmatch(last.name) and arguments:
        pair = from_pair(node, subject, arguments[0])
        return (
            pair
            if arguments[0] != "true" or pair.proof is Proof.NOTHING
            else _strengthen(from_condition(node, subject))
        )
    return _from_truth(node, subject, last)


def _from_truth(node: "Node", subject: str, last: ChainLink) -> Assertion:
    """That it is true, or there."""
    if last.name == "isTrue":
        return from_boolean(node, subject)
    if last.name == "toBeTruthy" and "(" not in subject:
        return from_condition(node, subject)
    is_there = last.name in {"toBeDefined", "isNotNull"}
    if is_there and is_literal(subject) and subject not in {"undefined", "null"}:
        return Assertion(node, Proof.NOTHING, ALWAYS_TRUE)
    return Assertion(node, _fluent_proof(last))


_MATCHERS_TO_CALL: Final = frozenset(
    {"equal", "equals", "eq", "eql", "include", "match", "above", "below", "least", "most", "property", "lengthOf"}
    | {"throw", "closeTo", "members", "within", "keys", "oneOf", "isEqualTo", "isTrue", "isFalse", "isNull", "isEmpty"}
)
_WORDS_OF_NOTHING: Final = frozenset({"undefined", "null"})


def _from_uncalled_matcher(node: "Node") -> Assertion:
    """A matcher without arguments; where a hunk ends within its arguments, the bracket follows it unparsed."""
    after = node.next_sibling
    is_cut = after is not None and after.type == "("
    return Assertion(node, Proof.VALUE) if is_cut else Assertion(node, Proof.NOTHING, NOT_CALLED)


def _from_word(node: "Node", word: str, subject: str, names: frozenset[str]) -> Assertion:
    """`expect(x).to.be.true`, `expect(x).to.exist`: what is asked needs no brackets, or it lacks them."""
    if word in _MATCHERS_TO_CALL:
        return _from_uncalled_matcher(node)
    if "not" in names:
        return Assertion(node, Proof.PRESENCE if word in _WORDS_OF_NOTHING else Proof.VALUE)
    if word in {"exist", "ok"}:
        return Assertion(node, Proof.NOTHING, ALWAYS_TRUE) if is_literal(subject) else Assertion(node, Proof.PRESENCE)
    return _strengthen(from_condition(node, subject)) if word == "true" else Assertion(node, Proof.VALUE)


def _strengthen(oracle: Assertion) -> Assertion:
    """Compared with `true` itself, a condition has a value, unless it always holds."""
    return oracle if oracle.proof is Proof.NOTHING else Assertion(oracle.node, Proof.VALUE, pair=oracle.pair)


_NEGATED: Final = {
    "toBeNull": Proof.PRESENCE,
    "toBeUndefined": Proof.PRESENCE,
    "toBeFalsy": Proof.PRESENCE,
    "toThrow": Proof.SUCCESS,
    "toThrowError": Proof.SUCCESS,
    "throw": Proof.SUCCESS,
}
"""With `not` before it."""


def _fluent_proof(link: ChainLink) -> Proof:
    if link.name == "toBeTruthy":
        return Proof.VALUE  # of a call, which tells yes or no
    if _PRESENCES.fullmatch(link.name):
        return Proof.PRESENCE
    return Proof.SUCCESS if _SUCCESSES.fullmatch(link.name) else Proof.VALUE


_SCRIPT_NEUTRAL: Final = frozenset({"not", "resolves", "rejects", "to", "be", "a", "an", "and", "soft", "withContext"})


_SCRIPT_MATCHER: Final = pattern(r"to[A-Z]\w{1,40}")


def _read_script(spine: CallChain) -> Assertion | None:
    root, last = spine.links[0], spine.links[-1]
    if root.name == "expect" and root.arguments is not None:
        if last.arguments is None and _SCRIPT_MATCHER.fullmatch(last.name):
            return _from_uncalled_matcher(spine.node)
        if {"resolves", "rejects", "eventually"}.intersection(spine.names) and _is_floating(spine):
            return Assertion(spine.node, Proof.NOTHING, NOT_AWAITED)
        return from_fluent_chain(spine, root, spine.links[1:], _SCRIPT_NEUTRAL)
    if root.name in {"assert", "t"} and last.arguments is not None:
        is_plain = _EQUALS.fullmatch(last.name) or _TRUTHS.fullmatch(last.name)
        if is_plain or proof_of_matcher(last.name, [text_of(argument) for argument in last.arguments]) is not None:
            return from_plain_assertion(spine, last, last.arguments)
    return Assertion(spine.node, Proof.VALUE) if "should" in spine.names else None


def _is_floating(spine: CallChain) -> bool:
    """A promise that nobody waits for: a statement of its own."""
    around = spine.node.parent
    return around is not None and around.type == "expression_statement"


def read_assertion(spine: CallChain, language: Language) -> Assertion | None:
    """What this chain of calls checks, as far as the language's frameworks tell."""
    match language:
        case Language.RUBY:
            return _read_ruby(spine)
        case Language.CSHARP:
            return _read_csharp(spine)
        case Language.PHP:
            return _read_php(spine)
        case _:
            return _read_kotlin(spine)


_NOTHING_EXPECTED: Final = "nothing is expected of it"
_SAYS: Final = frozenset({"to", "not_to", "to_not"})
_RUBY_ENTRIES: Final = frozenset({"expect", "is_expected", "are_expected"})
_RUBY_EQUALS: Final = frozenset({"eq", "eql", "equal", "be"})
_RUBY_BLOCKS: Final = frozenset({"body_statement", "block_body"})


def _find_last_call(spine: CallChain) -> "tuple[ChainLink, list[Node]]":
    """The last link that is called, and what it is given: a field of its result may follow. `f.(x)` of Ruby names none."""
    last = next((link for link in reversed(spine.links) if link.arguments is not None), spine.links[-1])
    return last, last.arguments or []


def _read_ruby(spine: CallChain) -> Assertion | None:
    root, (last, arguments) = spine.links[0], _find_last_call(spine)
    if root.name in _RUBY_ENTRIES and spine.names[1:2] and spine.names[1] in _SAYS:
        return _read_rspec(spine, root, spine.links[1])
    if root.name == "expect" and len(spine.links) == 1 and root.arguments:
        is_dropped = spine.node.parent is not None and spine.node.parent.type in _RUBY_BLOCKS
        return (
            Assertion(spine.node, Proof.NOTHING, _NOTHING_EXPECTED)
            if is_dropped
            else Assertion(spine.node, Proof.VALUE)
        )
    if last.name.startswith("assert"):
        return _read_minitest(spine, last, arguments)
    if last.name.startswith("refute"):
        return _from_refutation(spine.node, last, [text_of(argument) for argument in arguments])
    if "should" in spine.names or last.name.startswith(("must_", "wont_")):
        return Assertion(spine.node, Proof.PRESENCE if last.name == "wont_be_nil" else Proof.VALUE)
    return None


def _read_rspec(spine: CallChain, root: ChainLink, says: ChainLink) -> Assertion:
    """`expect(x).to eq(1)`: the matcher is what `to` is given."""
    subject = text_of(root.arguments[0]) if root.arguments else ""
    matcher = says.arguments[0] if says.arguments else None
    if matcher is None:
        return Assertion(spine.node, Proof.VALUE)  # `to` with an operator, or cut
    name = text_of(matcher.child_by_field_name("method")) or text_of(matcher)
    if matcher.child_by_field_name("receiver") is not None:
        return Assertion(spine.node, Proof.VALUE)  # `be_within(1).of(2)`, `change { }.by(1)`
    texts = [text_of(argument) for argument in arguments_and_block(matcher)]
    return (
        _from_rspec_matcher(spine.node, subject, name, texts)
        if says.name == "to"
        else _from_negated_matcher(spine.node, name)
    )


def _from_rspec_matcher(node: "Node", subject: str, name: str, arguments: list[str]) -> Assertion:
    if name in _RUBY_EQUALS and subject and arguments:
        return from_pair(node, subject, arguments[0])
    if name == "be_nil" and subject == "nil":
        return Assertion(node, Proof.NOTHING, ALWAYS_TRUE)
    if name in {"be_truthy", "be_present"}:
        is_sure = is_literal(subject) and subject not in {"nil", "false"}
        return Assertion(node, Proof.NOTHING, ALWAYS_TRUE) if is_sure else Assertion(node, Proof.PRESENCE)
    return Assertion(node, Proof.VALUE)


def _from_negated_matcher(node: "Node", name: str) -> Assertion:
    if name == "raise_error":
        return Assertion(node, Proof.SUCCESS)
    return Assertion(node, Proof.PRESENCE if name in {"be_nil", "be_empty", "be_blank"} else Proof.VALUE)


def _read_minitest(spine: CallChain, last: ChainLink, arguments: "list[Node]") -> Assertion:
    if last.name == "assert_nothing_raised":
        return Assertion(spine.node, Proof.SUCCESS)
    return from_plain_assertion(spine, last, arguments)


def _from_refutation(node: "Node", last: ChainLink, arguments: list[str]) -> Assertion:
    if last.name == "refute" and arguments[:1] in (["false"], ["nil"]):
        return Assertion(node, Proof.NOTHING, ALWAYS_TRUE)
    is_there = last.name in {"refute_nil", "refute_empty", "refute_blank"}
    return Assertion(node, Proof.PRESENCE if is_there else Proof.VALUE)


_CSHARP_ROOTS: Final = pattern(r"(?:\w*Assert|CollectionAssert|StringAssert|Check|Ensure)")
_ARE: Final = pattern(r"^(?:Are|Is)(?=[A-Z])")
_LOUD: Final = pattern(r"(?:DoesNotThrow|NotThrow|Pass|ShouldNotThrow)(?:Async|After)?")
_PRESENCE_MATCHERS: Final = frozenset(
    {"NotBeNull", "ShouldNotBeNull", "NotBeEmpty", "NotBeNullOrEmpty", "ShouldNotBeEmpty"}
)
_RECEIVED: Final = frozenset({"Received", "ReceivedWithAnyArgs", "DidNotReceive", "DidNotReceiveWithAnyArgs"})


def _read_csharp(spine: CallChain) -> Assertion | None:
    root, (last, arguments) = spine.links[0], _find_last_call(spine)
    if _LOUD.fullmatch(last.name):
        return Assertion(spine.node, Proof.SUCCESS)
    if _CSHARP_ROOTS.fullmatch(root.name) and len(spine.links) > 1:
        return _from_assert(spine, last, arguments)
    if last.name in _PRESENCE_MATCHERS:
        return Assertion(spine.node, Proof.PRESENCE)
    if last.name in {"Be", "ShouldBe"} and arguments:
        return from_pair(spine.node, _subject_text(spine), text_of(arguments[0]))
    is_fluent = any(name.startswith("Should") or name in _RECEIVED for name in spine.names)
    return Assertion(spine.node, Proof.VALUE) if is_fluent else None


def _subject_text(spine: CallChain) -> str:
    """Of `x.Should().Be(1)` and `x.ShouldBe(1)`, what stands before."""
    return text_of(spine.node).partition(".Should")[0]


def _from_assert(spine: CallChain, last: ChainLink, arguments: "list[Node]") -> Assertion | None:
    if last.name in {"Multiple", "MultipleAsync", "EnterMultipleScope"}:
        return None  # the checks in it count
    if last.name == "That" and arguments:
        return _from_assert_that(spine, [text_of(argument) for argument in arguments])
    name = _ARE.sub("", last.name)
    if name == "True" and arguments:
        return from_boolean(spine.node, text_of(arguments[0]))
    return from_plain_assertion(spine, ChainLink(name, arguments), arguments)


def _from_assert_that(spine: CallChain, arguments: list[str]) -> Assertion:
    """NUnit: `Assert.That(x, Is.EqualTo(1))`."""
    if len(arguments) < PAIR_SIZE:
        return from_boolean(spine.node, arguments[0])
    subject, wanted = arguments[:PAIR_SIZE]
    if wanted == "Is.Not.Null":
        return Assertion(spine.node, Proof.PRESENCE)
    if wanted == "Throws.Nothing":
        return Assertion(spine.node, Proof.SUCCESS)
    if wanted == "Is.True":
        return from_boolean(spine.node, subject)
    equal = _EQUAL_TO.fullmatch(wanted)
    return Assertion(spine.node, Proof.VALUE) if equal is None else from_pair(spine.node, subject, equal[1])


_EQUAL_TO: Final = pattern(r"Is\.(?:EqualTo|SameAs)\((.{1,200})\)")
_PHP_EXPECTS: Final = pattern(
    r"expect(?:Exception\w*|Output\w+|NotToPerformAssertions|Deprecation\w*)|addToAssertionCount"
)


def _read_php(spine: CallChain) -> Assertion | None:
    root, (last, arguments) = spine.links[0], _find_last_call(spine)
    if last.name == "assertThat":
        return Assertion(spine.node, Proof.VALUE)  # what its constraint asks for is made elsewhere
    if last.name.startswith("assert"):
        return from_plain_assertion(spine, last, arguments)
    if root.name == "expect" and root.arguments is not None and len(spine.links) > 1:
        return _read_pest(spine, root.arguments, last)
    return Assertion(spine.node, Proof.VALUE) if _PHP_EXPECTS.fullmatch(last.name) else None


def _read_pest(spine: CallChain, arguments: "list[Node]", last: ChainLink) -> Assertion:
    subject = text_of(arguments[0]) if arguments else ""
    wanted = [text_of(argument) for argument in last.arguments or []]
    if "not" in spine.names:
        is_there = last.name in {"toBeNull", "toBeEmpty"}
        return Assertion(spine.node, Proof.PRESENCE if is_there else Proof.VALUE)
    if last.name in {"toBe", "toEqual"} and wanted and subject:
        return from_pair(spine.node, subject, wanted[0])
    if last.name == "toBeTrue":
        return from_boolean(spine.node, subject) if is_literal(subject) else Assertion(spine.node, Proof.VALUE)
    return Assertion(spine.node, Proof.VALUE)


_KOTLIN_ENTRIES: Final = frozenset({"assertThat", "expectThat"})


def _read_kotlin(spine: CallChain) -> Assertion | None:
    root, (last, arguments) = spine.links[0], _find_last_call(spine)
    if root.name in _KOTLIN_ENTRIES and root.arguments is not None and len(spine.links) > 1:
        return from_fluent_chain(spine, root, spine.links[1:], JAVA_NEUTRAL)
    if last.name in {"assertTrue", "assert"} and arguments:
        return from_boolean(spine.node, text_of(arguments[0]))
    if last.name.startswith("assert"):
        return from_plain_assertion(spine, last, arguments)
    if last.name == "shouldBe" and arguments:
        return from_pair(spine.node, _text_before(spine), text_of(arguments[0]))
    return _read_kotest(spine.node, last.name, [text_of(argument) for argument in arguments])


def _read_kotest(node: "Node", name: str, arguments: list[str]) -> Assertion | None:
    if not name.startswith("should"):
        return None
    is_there = name == "shouldNotBeNull" or (name == "shouldNotBe" and arguments == ["null"])
    return Assertion(node, Proof.PRESENCE if is_there else Proof.VALUE)


def _text_before(spine: CallChain) -> str:
    return text_of(spine.node).partition("shouldBe")[0].strip(" .")


AFTER_EACH_TEST: Final = "(after each test)"
_AFTER_EACH_PATTERN: Final = pattern(r"@After|^ ?tear_?down|autouse", 2)


def find_asserting_names(functions: Iterable[Function]) -> frozenset[str]:
    """Names of those that check something, themselves or in what they call among each other."""
    calls: dict[str, set[str]] = {}
    asserting: set[str] = set()
    for function in functions:
        language = function.source.language
        calls.setdefault(function.name, set()).update(
            spine.names[-1]
            for spine in find_call_chains(function.body, language, nodes=function.source.nodes)
            if spine.links[-1].arguments is not None
        )
        if any(
            assertion.proof >= Proof.PRESENCE and not assertion.is_guess
            for assertion in find_assertions(function.body, language, nodes=function.source.nodes)
        ):
            is_hook = _AFTER_EACH_PATTERN.search(f"{function.attributes} {function.name}")
            asserting.add(AFTER_EACH_TEST if is_hook else function.name)
    return frozenset(_find_callers(calls, asserting))


def _find_callers(calls: dict[str, set[str]], asserting: set[str]) -> set[str]:
    """What calls one of them, and what calls that."""
    callers: dict[str, set[str]] = {}
    for name, called in calls.items():
        for callee in called & calls.keys():
            callers.setdefault(callee, set()).add(name)
    waiting = list(asserting)
    while waiting:
        for caller in callers.get(waiting.pop(), set()) - asserting:
            asserting.add(caller)
            waiting.append(caller)
    return asserting


_MARKS_PROVE: Final = pattern(
    r"should_panic|\bexpected\w*\s*=|=>|^\w+\.(?:fails|failing|prop)\b|quickcheck|proptest"
    r"|@(?:\w+\.)*\w*(?:expect|raises|xfail|compare|check|given|benchmark|snapshot|verif|figures|image|property|theory)",
    re.IGNORECASE,
)


def has_expecting_mark(test: Test) -> bool:
    """Whether a decorator or an annotation says what is expected of it."""
    return _MARKS_PROVE.search(test.marks) is not None
