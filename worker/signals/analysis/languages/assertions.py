"""What checks something in tests of Ruby, C#, PHP and Kotlin: the assertions of their usual frameworks.

Does not judge a test. Invariant: as in `assertions`, in doubt a call is a check.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import (
    ALWAYS_TRUE,
    JAVA_NEUTRAL,
    PAIR_SIZE,
    Assertion,
    from_boolean,
    from_fluent_chain,
    from_pair,
    from_plain_assertion,
)
from worker.signals.analysis.call_chains import CallChain, ChainLink
from worker.signals.analysis.conditions import Proof, is_literal
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.languages.chains import arguments
from worker.signals.analysis.syntax import text_of

if TYPE_CHECKING:
    from tree_sitter import Node


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
_STATEMENTS: Final = frozenset({"body_statement", "block_body"})


def _find_last_call(spine: CallChain) -> "tuple[ChainLink, list[Node]]":
    """The last link that is called, and what it is given: a field of its result may follow. `f.(x)` of Ruby names none."""
    last = next((link for link in reversed(spine.links) if link.arguments is not None), spine.links[-1])
    return last, last.arguments or []


def _read_ruby(spine: CallChain) -> Assertion | None:
    root, (last, arguments) = spine.links[0], _find_last_call(spine)
    if root.name in _RUBY_ENTRIES and spine.names[1:2] and spine.names[1] in _SAYS:
        return _read_rspec(spine, root, spine.links[1])
    if root.name == "expect" and len(spine.links) == 1 and root.arguments:
        is_dropped = spine.node.parent is not None and spine.node.parent.type in _STATEMENTS
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
    texts = [text_of(argument) for argument in arguments(matcher)]
    return (
        _from_matcher(spine.node, subject, name, texts)
        if says.name == "to"
        else _from_negated_matcher(spine.node, name)
    )


def _from_matcher(node: "Node", subject: str, name: str, arguments: list[str]) -> Assertion:
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
