"""What can make a test fail: assertions of the usual frameworks in every language, and calls into helpers that assert.

In doubt a call is an assertion. One that proves nothing could not fail whatever the code does.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import MORE_LANGUAGES, SCRIPT_LANGUAGES, Language
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
from worker.signals.analysis.references import CallChain, ChainLink, arguments_and_block, find_call_chains
from worker.signals.analysis.syntax import ancestors, is_comment, register_types, text_of


@dataclass(frozen=True)
class Assertion:
    """One check, at its outermost node."""

    node: Node
    proof: Proof
    weakness: str = ""
    """Why it proves nothing."""
    is_guess: bool = False
    """Only its name sounds like a check."""
    pair: tuple[str, str] | None = None
    """The two texts that it holds to be equal."""

    @cached_property
    def text(self) -> str:
        return " ".join(text_of(self.node).split())


ALWAYS_TRUE: Final = "always true"
SELF_COMPARED: Final = "compared with itself"
LITERAL_COMPARED: Final = "a literal compared with itself"
NOT_CALLED: Final = "not called"
NOT_AWAITED: Final = "not awaited"
_NOTHING_EXPECTED: Final = "nothing is expected of it"
_PAIR_SIZE: Final = 2


def find_assertions(
    source: Source, within: Node | None = None, rows: frozenset[int] | None = None
) -> Iterator[Assertion]:
    """Every check *within* a node of the source, in the order of its kind; the functions that it calls are not read.

    With *rows*, at least those that begin in one of these rows.
    """
    language, nodes = source.language, source.nodes
    body = source.root if within is None else within
    yield from _find_statements(body, source, rows)
    reach = rows
    if language is Language.GO and rows:  # an `if` begins before the call that it fails with
        ifs = (if_ for if_ in nodes.find(("if_statement",), body, rows) if if_.start_point.row in rows)
        reach = rows.union(*(range(if_.start_point.row, if_.end_point.row + 1) for if_ in ifs))
    for chain in find_call_chains(source, body, reach):
        if language in MORE_LANGUAGES:  # there several chains may end in one node
            assertion = _read_chain(chain.node, chain, language)
        else:
            assertion = nodes.cache(_read_chain, chain.node, chain, language)
        if assertion is not None:
            yield assertion


def _read_chain(node: Node, chain: CallChain, language: Language) -> Assertion | None:
    assertion = _READERS[language](chain)
    if assertion is not None:
        return assertion
    is_guess = any(link.arguments is not None and is_check_name(link.name) for link in chain.links)
    return Assertion(node, Proof.VALUE, is_guess=True) if is_guess and not chain.is_result_bound else None


_LONGEST_END: Final = 80
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
)
_ALONE: Final = register_types({Language.PYTHON: ("expression_statement",)})
ASKS_THE_COMPILER: Final = pattern(r"@ts-expect-error|(?://|/\*)\s{0,8}\$Expect(?:Type|Error|(?:No)?Deprecation)\b")
"""A comment that makes a type checker or a linter fail where the type, the error or the mark is another one."""
_NAMED_TYPE: Final = pattern(r"= ?typeof [\w.]+;?$")
"""Gives a type a name; any other alias may check something as it is compiled."""
_MATCHER: Final = pattern(r"\.(?:assert_\w{1,40}|called_(?:once|with|once_with))$")


def _find_statements(body: Node, source: Source, rows: frozenset[int] | None) -> Iterator[Assertion]:
    """Checks that are no calls."""
    language, nodes = source.language, source.nodes

    def list_nodes(types: tuple[str, ...]) -> Iterator[Node]:
        return (node for node in nodes.find(types, body, rows) if rows is None or node.start_point.row in rows)

    if language in SCRIPT_LANGUAGES and ASKS_THE_COMPILER.search(text_of(body)) is not None:
        yield Assertion(body, Proof.VALUE)
    for node in list_nodes(_STATEMENTS.get(language, ())):
        if node.type != "type_alias_declaration" or not _NAMED_TYPE.search(text_of(node)):
            yield nodes.cache(_read_statement, node)
    for statement in list_nodes(_ALONE.get(language, ())):  # `mock.assert_called_once` without brackets
        only = statement.named_children[0] if statement.named_child_count == 1 else None
        if only is not None and only.type == "attribute" and _MATCHER.search(text_of(only)[-_LONGEST_END:]):
            yield Assertion(only, Proof.NOTHING, NOT_CALLED)


def _read_statement(node: Node) -> Assertion:
    if node.type != "assert_statement":
        return Assertion(node, Proof.VALUE, is_guess="Assert" not in text_of(node)[:_LONGEST_END])
    asserted = next((child for child in node.named_children if not is_comment(child)), None)
    if asserted is not None and asserted.type == "tuple" and asserted.named_child_count:
        return Assertion(node, Proof.NOTHING, "a tuple is always true")
    return _from_condition(node, text_of(asserted))


def _from_condition(node: Node, condition: str) -> Assertion:
    proof = prove_condition(condition)
    why = SELF_COMPARED if is_self_comparison(condition) else ALWAYS_TRUE
    return Assertion(node, proof, why if proof is Proof.NOTHING else "", pair=split_equality(condition))


def _from_boolean(node: Node, condition: str) -> Assertion:
    """In a language with types the condition is true or false, and so a value."""
    is_value = is_name(condition) and condition != "true"
    return Assertion(node, Proof.VALUE) if is_value else _from_condition(node, condition)


def _from_pair(node: Node, left: str, other: str) -> Assertion:
    proof = prove_equality(left, other)
    is_boolean = left.casefold() in {"true", "false"}
    alike = ALWAYS_TRUE if is_boolean else LITERAL_COMPARED if is_literal(left) else SELF_COMPARED
    return Assertion(node, proof, alike if proof is Proof.NOTHING else "", pair=(left, other))


def _always_true(node: Node) -> Assertion:
    return Assertion(node, Proof.NOTHING, ALWAYS_TRUE)


def _value_or_presence(node: Node, *, is_there: bool) -> Assertion:
    return Assertion(node, Proof.PRESENCE if is_there else Proof.VALUE)


def _from_loose_matcher(node: Node, proof: Proof) -> Assertion:
    return Assertion(node, proof, "" if proof is Proof.PRESENCE else ALWAYS_TRUE)


def _texts(nodes: list[Node] | None) -> list[str]:
    return [text_of(node) for node in nodes or []]


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


def _from_plain_assertion(chain: CallChain, last: ChainLink, arguments: list[Node]) -> Assertion:
    """What a plain assertion proves, by its name and its arguments."""
    node, texts = chain.node, _texts(arguments)
    loose = proof_of_matcher(last.name, texts)
    if loose is not None:
        return _from_loose_matcher(node, loose)
    if _SUCCESSES.fullmatch(last.name):
        return Assertion(node, Proof.SUCCESS)
    if _PRESENCES.fullmatch(last.name):
        is_sure = bool(texts) and is_literal(texts[0]) and texts[0] not in {"None", "null", "nil", "undefined"}
        return _always_true(node) if is_sure else Assertion(node, Proof.PRESENCE)
    if _EQUALS.fullmatch(last.name) and len(texts) >= _PAIR_SIZE:
        return _from_pair(node, texts[0], texts[1])
    if _TRUTHS.fullmatch(last.name) and texts:
        return _from_condition(node, texts[0])
    return Assertion(node, Proof.VALUE)


def _read_python(chain: CallChain) -> Assertion | None:
    last = chain.links[-1]
    if last.arguments is not None and last.name.lower().startswith("assert"):
        return _from_plain_assertion(chain, last, last.arguments)
    return Assertion(chain.node, Proof.VALUE) if last.arguments is not None and last.name == "deprecated_call" else None


_GO_RUNS: Final = frozenset({"Run", "It"})
_GO_WITHIN: Final = frozenset({"expression_statement", "statement_list", "block"})
_GO_FAILS: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_GO_ROOTS: Final = frozenset(
    {"assert", "require", "is", "s", "suite", "c", "qt", "be", "must", "check", "expect", "a", "r"}
)
_ERROR_CHECK: Final = pattern(r"(?:\w+ ?:?= ?.{1,200}; )?\w*[eE]rr\w* != nil", 16)
_NEVER: Final = pattern(r"false|.* && false|false && .*|(.+) != (.+) && \1 == \2|(.+) == (.+) && \3 != \4", re.DOTALL)
_NIL_CHECK: Final = pattern(r"(?!\w*[eE]rr\b)[\w.\[\]]+ == nil")
_LONGEST_CONDITION: Final = 300


def _read_go(chain: CallChain) -> Assertion | None:
    root, last = chain.links[0], chain.links[-1]
    if last.arguments is None or last.name == "New" or (last.name == "Error" and not last.arguments):
        return None  # `assert := assert.New(t)`; `err.Error()` is a text
    if last.name in _GO_RUNS and last.arguments[1:] and last.arguments[-1].type != "func_literal":
        return Assertion(chain.node, Proof.VALUE, is_guess=True)
    if last.name in _GO_FAILS and len(chain.links) <= 3 and root.name not in {"log", "fmt", "errors"}:  # noqa: PLR2004 - s.T().Error
        return _from_failing_call(chain.node)
    if root.name not in _GO_ROOTS or not last.name[:1].isupper() or not _is_direct(chain):
        return None
    is_standard = root.name in {"assert", "require"}
    arguments = last.arguments[1:] if is_standard else last.arguments
    if _TRUTHS.fullmatch(last.name) is not None and arguments:
        assertion = _from_boolean(chain.node, text_of(arguments[0]))
    else:
        assertion = _from_plain_assertion(chain, last, arguments)
    is_guess = not is_standard and assertion.proof is Proof.VALUE
    return Assertion(assertion.node, assertion.proof, assertion.weakness, is_guess, assertion.pair)


def _is_direct(chain: CallChain) -> bool:
    """`c.Assert(x)`, `s.Require().Equal(x)`, `s.assert.Nil(x)`, and not `r.Body.Close()`."""
    between = chain.links[1:-1]
    return len(chain.links) > 1 and all(
        link.arguments is not None or link.name.lower() in _GO_ROOTS for link in between
    )


def _from_failing_call(call: Node) -> Assertion:
    """`if got != want { t.Error(...) }`: the check is the whole `if` around the call."""
    around = next((ancestor for ancestor in ancestors(call) if ancestor.type not in _GO_WITHIN), None)
    if around is None or around.type != "if_statement":
        return Assertion(call, Proof.VALUE)
    condition = " ".join(text_of(around.child_by_field_name("condition"))[:_LONGEST_CONDITION].split())
    if _ERROR_CHECK.fullmatch(condition):
        return Assertion(around, Proof.SUCCESS)
    if _NIL_CHECK.fullmatch(condition):
        return Assertion(around, Proof.PRESENCE)
    if _NEVER.fullmatch(condition):
        return Assertion(around, Proof.NOTHING, "it is never reached")
    wanted = negate(condition)
    return Assertion(around, Proof.VALUE) if _ERROR_CHECK.fullmatch(wanted) else _from_boolean(around, wanted)


_RUST_ASSERTS: Final = pattern(r"\w*(?:assert|panic|unreachable|expect|check|matches_snapshot)\w*!")
_RUST_LOUD: Final = frozenset({"unwrap", "expect", "?"})


def _read_rust(chain: CallChain) -> Assertion | None:
    last = chain.links[-1]
    if last.name.endswith("!"):
        return _from_macro(chain.node, last.name) if _RUST_ASSERTS.fullmatch(last.name) else None
    if any(link.name in {"unwrap_err", "expect_err"} for link in chain.links):
        return Assertion(chain.node, Proof.VALUE)
    quiet = (link for link in chain.links if link.arguments is not None and link.name not in _RUST_LOUD)
    if any(is_check_name(link.name) for link in quiet):
        return None
    return Assertion(chain.node, Proof.SUCCESS) if _RUST_LOUD.intersection(chain.names) else None


def _from_macro(node: Node, name: str) -> Assertion:
    bare = name.rpartition("::")[2].removeprefix("debug_").removeprefix("prop_")
    arguments = split_arguments(text_of(node).partition("!")[2].strip()[1:-1])
    if bare == "assert!" and arguments:
        return _from_boolean(node, arguments[0])
    if bare in {"assert_eq!", "assert_ok_eq!"} and len(arguments) >= _PAIR_SIZE:
        return _from_pair(node, arguments[0], arguments[1])
    if bare in {"assert_ok!", "assert_some!"}:
        return Assertion(node, Proof.SUCCESS if bare == "assert_ok!" else Proof.PRESENCE)
    return Assertion(node, Proof.VALUE)


_JAVA_ENTRIES: Final = frozenset({"assertThat", "then"})
_JAVA_NEUTRAL: Final = frozenset(
    {"as", "describedAs", "withFailMessage", "overridingErrorMessage", "usingRecursiveComparison", "isNotNull"}
    | {"asList", "asString", "usingDefaultComparator", "asInstanceOf", "extracting"}
)


def _read_java(chain: CallChain) -> Assertion | None:
    first = next((number for number, link in enumerate(chain.links) if link.arguments is not None), 0)
    entry, last = chain.links[first], chain.links[-1]  # what follows `when(x)` is no entry
    if entry.name in _JAVA_ENTRIES and entry.arguments is not None:
        return _from_fluent_chain(chain, entry, chain.links[first + 1 :], _JAVA_NEUTRAL)
    if last.name == "assertTrue" and last.arguments:
        asked = [argument for argument in last.arguments if argument.type != "string_literal"]
        return _from_boolean(chain.node, text_of((asked or last.arguments)[-1]))  # a message is first or last
    if last.arguments is not None and last.name.startswith("assert"):
        is_text = len(last.arguments) > 1 and last.arguments[0].type == "string_literal"
        has_message = is_text and _PRESENCES.fullmatch(last.name)
        return _from_plain_assertion(chain, last, last.arguments[1:] if has_message else last.arguments)
    is_fluent = chain.links[0].name.startswith("assert") and "NoException" not in chain.links[0].name
    return Assertion(chain.node, Proof.VALUE) if is_fluent else None


def _from_fluent_chain(
    chain: CallChain, entry: ChainLink, matchers: tuple[ChainLink, ...], neutral: frozenset[str]
) -> Assertion | None:
    """`assertThat(x).isEqualTo(y)`: what the matchers prove of the entry's argument."""
    texts = _texts(entry.arguments)
    if not matchers:
        loose = proof_of_matcher("is", texts[-2:])  # Hamcrest
        if loose is not None:
            return _from_loose_matcher(chain.node, loose)
        if len(texts) > 1 or not _is_statement(chain):
            return Assertion(chain.node, Proof.VALUE)  # Hamcrest, or it goes on elsewhere
        return Assertion(chain.node, Proof.NOTHING, _NOTHING_EXPECTED)
    telling = [link for link in matchers if link.name not in neutral and link.arguments is not None] or [matchers[-1]]
    if len(telling) > 1:
        return Assertion(chain.node, max(map(_fluent_proof, telling)))
    return _from_matcher(chain.node, texts[0] if texts else "", telling[0], frozenset(link.name for link in matchers))


def _is_statement(chain: CallChain) -> bool:
    around = chain.node.parent
    return around is not None and around.type == "expression_statement"


def _from_matcher(node: Node, subject: str, last: ChainLink, names: frozenset[str]) -> Assertion:
    """What one matcher proves of the subject."""
    texts = _texts(last.arguments)
    loose = proof_of_matcher(f"not_{last.name}" if "not" in names else last.name, [subject, *texts])
    if loose is not None:
        return _from_loose_matcher(node, loose)
    if last.arguments is None:
        return _from_word(node, last.name, subject, names)
    if "not" in names:
        return Assertion(node, _NEGATED.get(last.name, Proof.VALUE))
    if _EQUALS.fullmatch(last.name) and texts:
        pair = _from_pair(node, subject, texts[0])
        return pair if texts[0] != "true" or pair.proof is Proof.NOTHING else _from_comparison_with_true(node, subject)
    return _from_truth(node, subject, last)


def _from_truth(node: Node, subject: str, last: ChainLink) -> Assertion:
    """What `isTrue`, `toBeTruthy`, `toBeDefined` and `isNotNull` prove."""
    if last.name == "isTrue":
        return _from_boolean(node, subject)
    if last.name == "toBeTruthy" and "(" not in subject:
        return _from_condition(node, subject)
    is_there = last.name in {"toBeDefined", "isNotNull"}
    if is_there and is_literal(subject) and subject not in {"undefined", "null"}:
        return _always_true(node)
    return Assertion(node, _fluent_proof(last))


_MATCHERS_TO_CALL: Final = frozenset(
    {"equal", "equals", "eq", "eql", "include", "match", "above", "below", "least", "most", "property", "lengthOf"}
    | {"throw", "closeTo", "members", "within", "keys", "oneOf", "isEqualTo", "isTrue", "isFalse", "isNull", "isEmpty"}
)
_NEGATED: Final = {
    **dict.fromkeys(("toBeNull", "toBeUndefined", "toBeFalsy"), Proof.PRESENCE),
    **dict.fromkeys(("toThrow", "toThrowError", "throw"), Proof.SUCCESS),
}
"""With `not` before it."""
_SCRIPT_NEUTRAL: Final = frozenset({"not", "resolves", "rejects", "to", "be", "a", "an", "and", "soft", "withContext"})
_SCRIPT_MATCHER: Final = pattern(r"to[A-Z]\w{1,40}")


def _from_uncalled_matcher(node: Node) -> Assertion:
    """A matcher without arguments; where a hunk ends within its arguments, the bracket follows it unparsed."""
    after = node.next_sibling
    is_cut = after is not None and after.type == "("
    return Assertion(node, Proof.VALUE) if is_cut else Assertion(node, Proof.NOTHING, NOT_CALLED)


def _from_word(node: Node, word: str, subject: str, names: frozenset[str]) -> Assertion:
    """`expect(x).to.be.true`, `expect(x).to.exist`: a matcher that needs no brackets, or lacks them."""
    if word in _MATCHERS_TO_CALL:
        return _from_uncalled_matcher(node)
    if "not" in names:
        return _value_or_presence(node, is_there=word in {"undefined", "null"})
    if word in {"exist", "ok"}:
        return _always_true(node) if is_literal(subject) else Assertion(node, Proof.PRESENCE)
    return _from_comparison_with_true(node, subject) if word == "true" else Assertion(node, Proof.VALUE)


def _from_comparison_with_true(node: Node, condition: str) -> Assertion:
    """Compared with `true` itself, a condition has a value, unless it always holds."""
    assertion = _from_condition(node, condition)
    return assertion if assertion.proof is Proof.NOTHING else Assertion(node, Proof.VALUE, pair=assertion.pair)


def _fluent_proof(link: ChainLink) -> Proof:
    if link.name == "toBeTruthy":
        return Proof.VALUE  # of a call, which returns yes or no
    if _PRESENCES.fullmatch(link.name):
        return Proof.PRESENCE
    return Proof.SUCCESS if _SUCCESSES.fullmatch(link.name) else Proof.VALUE


def _read_script(chain: CallChain) -> Assertion | None:
    root, last = chain.links[0], chain.links[-1]
    if root.name == "expect" and root.arguments is not None:
        if last.arguments is None and _SCRIPT_MATCHER.fullmatch(last.name):
            return _from_uncalled_matcher(chain.node)
        if {"resolves", "rejects", "eventually"}.intersection(chain.names) and _is_statement(chain):
            return Assertion(chain.node, Proof.NOTHING, NOT_AWAITED)
        return _from_fluent_chain(chain, root, chain.links[1:], _SCRIPT_NEUTRAL)
    if root.name in {"assert", "t"} and last.arguments is not None:
        is_plain = _EQUALS.fullmatch(last.name) or _TRUTHS.fullmatch(last.name)
        if is_plain or proof_of_matcher(last.name, _texts(last.arguments)) is not None:
            return _from_plain_assertion(chain, last, last.arguments)
    return Assertion(chain.node, Proof.VALUE) if "should" in chain.names else None


def _find_last_call(chain: CallChain) -> tuple[ChainLink, list[Node]]:
    """The last link that is called, and its arguments. `f.(x)` of Ruby has none."""
    last = next((link for link in reversed(chain.links) if link.arguments is not None), chain.links[-1])
    return last, last.arguments or []


_RUBY_ENTRIES: Final = frozenset({"expect", "is_expected", "are_expected"})
_RUBY_EQUALS: Final = frozenset({"eq", "eql", "equal", "be"})
_RUBY_BLOCKS: Final = frozenset({"body_statement", "block_body"})


def _read_ruby(chain: CallChain) -> Assertion | None:
    node, root, (last, arguments) = chain.node, chain.links[0], _find_last_call(chain)
    if root.name in _RUBY_ENTRIES and chain.names[1:2] and chain.names[1] in {"to", "not_to", "to_not"}:
        return _read_rspec(node, root, chain.links[1])
    if root.name == "expect" and len(chain.links) == 1 and root.arguments:
        is_dropped = node.parent is not None and node.parent.type in _RUBY_BLOCKS
        return Assertion(node, Proof.NOTHING, _NOTHING_EXPECTED) if is_dropped else Assertion(node, Proof.VALUE)
    if last.name == "assert_nothing_raised":
        return Assertion(node, Proof.SUCCESS)
    if last.name.startswith("assert"):
        return _from_plain_assertion(chain, last, arguments)
    if last.name.startswith("refute"):
        is_sure = last.name == "refute" and _texts(arguments[:1]) in (["false"], ["nil"])
        is_there = last.name in {"refute_nil", "refute_empty", "refute_blank"}
        return _always_true(node) if is_sure else _value_or_presence(node, is_there=is_there)
    is_fluent = "should" in chain.names or last.name.startswith(("must_", "wont_"))
    return _value_or_presence(node, is_there=last.name == "wont_be_nil") if is_fluent else None


def _read_rspec(node: Node, root: ChainLink, to: ChainLink) -> Assertion:
    """`expect(x).to eq(1)`: the matcher is the argument of `to`."""
    subject = text_of(root.arguments[0]) if root.arguments else ""
    matcher = to.arguments[0] if to.arguments else None
    if matcher is None or matcher.child_by_field_name("receiver") is not None:
        return Assertion(node, Proof.VALUE)  # an operator, or cut; `be_within(1).of(2)`, `change { }.by(1)`
    name = text_of(matcher.child_by_field_name("method")) or text_of(matcher)
    texts = _texts(arguments_and_block(matcher))
    if to.name != "to":
        if name == "raise_error":
            return Assertion(node, Proof.SUCCESS)
        return _value_or_presence(node, is_there=name in {"be_nil", "be_empty", "be_blank"})
    if name in _RUBY_EQUALS and subject and texts:
        return _from_pair(node, subject, texts[0])
    is_presence = name in {"be_truthy", "be_present"}
    is_sure = is_presence and is_literal(subject) and subject not in {"nil", "false"}
    if is_sure or (name == "be_nil" and subject == "nil"):
        return _always_true(node)
    return _value_or_presence(node, is_there=is_presence)


_CSHARP_ROOTS: Final = pattern(r"(?:\w*Assert|CollectionAssert|StringAssert|Check|Ensure)")
_ARE: Final = pattern(r"^(?:Are|Is)(?=[A-Z])")
_LOUD: Final = pattern(r"(?:DoesNotThrow|NotThrow|Pass|ShouldNotThrow)(?:Async|After)?")
_PRESENCE_MATCHERS: Final = frozenset(
    {"NotBeNull", "ShouldNotBeNull", "NotBeEmpty", "NotBeNullOrEmpty", "ShouldNotBeEmpty"}
)
_RECEIVED: Final = frozenset({"Received", "ReceivedWithAnyArgs", "DidNotReceive", "DidNotReceiveWithAnyArgs"})
_EQUAL_TO: Final = pattern(r"Is\.(?:EqualTo|SameAs)\((.{1,200})\)")


def _read_csharp(chain: CallChain) -> Assertion | None:
    node, root, (last, arguments) = chain.node, chain.links[0], _find_last_call(chain)
    if _LOUD.fullmatch(last.name):
        return Assertion(node, Proof.SUCCESS)
    if _CSHARP_ROOTS.fullmatch(root.name) and len(chain.links) > 1:
        return _from_assert_class(chain, last, arguments)
    if last.name in _PRESENCE_MATCHERS:
        return Assertion(node, Proof.PRESENCE)
    if last.name in {"Be", "ShouldBe"} and arguments:
        return _from_pair(node, text_of(node).partition(".Should")[0], text_of(arguments[0]))
    is_fluent = any(name.startswith("Should") or name in _RECEIVED for name in chain.names)
    return Assertion(node, Proof.VALUE) if is_fluent else None


def _from_assert_class(chain: CallChain, last: ChainLink, arguments: list[Node]) -> Assertion | None:
    if last.name in {"Multiple", "MultipleAsync", "EnterMultipleScope"}:
        return None  # the checks in it count
    if last.name == "That" and arguments:
        return _from_assert_that(chain.node, _texts(arguments))
    name = _ARE.sub("", last.name)
    if name == "True" and arguments:
        return _from_boolean(chain.node, text_of(arguments[0]))
    return _from_plain_assertion(chain, ChainLink(name, arguments), arguments)


def _from_assert_that(node: Node, texts: list[str]) -> Assertion:
    """NUnit: `Assert.That(x, Is.EqualTo(1))`."""
    subject, wanted = (*texts, "Is.True")[:_PAIR_SIZE]
    if wanted == "Is.True":
        return _from_boolean(node, subject)
    if wanted == "Throws.Nothing":
        return Assertion(node, Proof.SUCCESS)
    equal = _EQUAL_TO.fullmatch(wanted)
    return (
        _value_or_presence(node, is_there=wanted == "Is.Not.Null")
        if equal is None
        else _from_pair(node, subject, equal[1])
    )


_PHP_EXPECTS: Final = pattern(
    r"expect(?:Exception\w*|Output\w+|NotToPerformAssertions|Deprecation\w*)|addToAssertionCount"
)


def _read_php(chain: CallChain) -> Assertion | None:
    root, (last, arguments) = chain.links[0], _find_last_call(chain)
    if last.name == "assertThat":
        return Assertion(chain.node, Proof.VALUE)  # its constraint is made elsewhere
    if last.name.startswith("assert"):
        return _from_plain_assertion(chain, last, arguments)
    if root.name == "expect" and root.arguments is not None and len(chain.links) > 1:
        return _read_pest(chain, root.arguments, last)
    return Assertion(chain.node, Proof.VALUE) if _PHP_EXPECTS.fullmatch(last.name) else None


def _read_pest(chain: CallChain, arguments: list[Node], last: ChainLink) -> Assertion:
    subject = text_of(arguments[0]) if arguments else ""
    wanted = _texts(last.arguments)
    if "not" in chain.names:
        return _value_or_presence(chain.node, is_there=last.name in {"toBeNull", "toBeEmpty"})
    if last.name in {"toBe", "toEqual"} and wanted and subject:
        return _from_pair(chain.node, subject, wanted[0])
    if last.name == "toBeTrue" and is_literal(subject):
        return _from_boolean(chain.node, subject)
    return Assertion(chain.node, Proof.VALUE)


_KOTLIN_ENTRIES: Final = frozenset({"assertThat", "expectThat"})


def _read_kotlin(chain: CallChain) -> Assertion | None:
    node, root, (last, arguments) = chain.node, chain.links[0], _find_last_call(chain)
    if root.name in _KOTLIN_ENTRIES and root.arguments is not None and len(chain.links) > 1:
        return _from_fluent_chain(chain, root, chain.links[1:], _JAVA_NEUTRAL)
    if last.name in {"assertTrue", "assert"} and arguments:
        return _from_boolean(node, text_of(arguments[0]))
    if last.name.startswith("assert"):
        return _from_plain_assertion(chain, last, arguments)
    if last.name == "shouldBe" and arguments:
        return _from_pair(node, text_of(node).partition("shouldBe")[0].strip(" ."), text_of(arguments[0]))
    is_there = last.name == "shouldNotBeNull" or (last.name == "shouldNotBe" and _texts(arguments) == ["null"])
    return _value_or_presence(node, is_there=is_there) if last.name.startswith("should") else None


_READERS: Final[dict[Language, Callable[[CallChain], Assertion | None]]] = {
    Language.PYTHON: _read_python,
    Language.GO: _read_go,
    Language.RUST: _read_rust,
    Language.JAVA: _read_java,
    Language.RUBY: _read_ruby,
    Language.CSHARP: _read_csharp,
    Language.PHP: _read_php,
    Language.KOTLIN: _read_kotlin,
    **dict.fromkeys(SCRIPT_LANGUAGES, _read_script),
}
