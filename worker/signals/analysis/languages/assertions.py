"""What checks something in tests of Ruby, C#, PHP and Kotlin: the assertions of their usual frameworks.

Does not judge a test. Invariant: as in `assertions`, in doubt a call is a check.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.assertions import (
    JAVA_NEUTRAL,
    PAIR,
    TRUE,
    Oracle,
    asserted,
    fluent,
    of_boolean,
    of_pair,
)
from worker.signals.analysis.call_chains import Link, Spine
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.languages.chains import arguments
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.truths import Proof, is_literal

if TYPE_CHECKING:
    from tree_sitter import Node


def checked_by(spine: Spine, language: Language) -> Oracle | None:
    """What this chain of calls checks, as far as the language's frameworks tell."""
    match language:
        case Language.RUBY:
            return _ruby(spine)
        case Language.CSHARP:
            return _csharp(spine)
        case Language.PHP:
            return _php(spine)
        case _:
            return _kotlin(spine)


_NOTHING_EXPECTED: Final = "nothing is expected of it"
_SAYS: Final = frozenset({"to", "not_to", "to_not"})
_RUBY_ENTRIES: Final = frozenset({"expect", "is_expected", "are_expected"})
_RUBY_EQUALS: Final = frozenset({"eq", "eql", "equal", "be"})
_STATEMENTS: Final = frozenset({"body_statement", "block_body"})


def _last_call(spine: Spine) -> "tuple[Link, list[Node]]":
    """The last link that is called, and what it is given: a field of its result may follow. `f.(x)` of Ruby names none."""
    last = next((link for link in reversed(spine.links) if link.given is not None), spine.links[-1])
    return last, last.given or []


def _ruby(spine: Spine) -> Oracle | None:
    root, (last, given) = spine.links[0], _last_call(spine)
    if root.name in _RUBY_ENTRIES and spine.names[1:2] and spine.names[1] in _SAYS:
        return _rspec(spine, root, spine.links[1])
    if root.name == "expect" and len(spine.links) == 1 and root.given:
        is_dropped = spine.node.parent is not None and spine.node.parent.type in _STATEMENTS
        return Oracle(spine.node, Proof.NOTHING, _NOTHING_EXPECTED) if is_dropped else Oracle(spine.node, Proof.VALUE)
    if last.name.startswith("assert"):
        return _minitest(spine, last, given)
    if last.name.startswith("refute"):
        return _refuted(spine.node, last, [text_of(one) for one in given])
    if "should" in spine.names or last.name.startswith(("must_", "wont_")):
        return Oracle(spine.node, Proof.PRESENCE if last.name == "wont_be_nil" else Proof.VALUE)
    return None


def _rspec(spine: Spine, root: Link, says: Link) -> Oracle:
    """`expect(x).to eq(1)`: the matcher is what `to` is given."""
    subject = text_of(root.given[0]) if root.given else ""
    matcher = says.given[0] if says.given else None
    if matcher is None:
        return Oracle(spine.node, Proof.VALUE)  # `to` with an operator, or cut
    name = text_of(matcher.child_by_field_name("method")) or text_of(matcher)
    if matcher.child_by_field_name("receiver") is not None:
        return Oracle(spine.node, Proof.VALUE)  # `be_within(1).of(2)`, `change { }.by(1)`
    given = [text_of(one) for one in arguments(matcher)]
    return _matched(spine.node, subject, name, given) if says.name == "to" else _unmatched(spine.node, name)


def _matched(node: "Node", subject: str, name: str, given: list[str]) -> Oracle:
    if name in _RUBY_EQUALS and subject and given:
        return of_pair(node, subject, given[0])
    if name == "be_nil" and subject == "nil":
        return Oracle(node, Proof.NOTHING, TRUE)
    if name in {"be_truthy", "be_present"}:
        is_sure = is_literal(subject) and subject not in {"nil", "false"}
        return Oracle(node, Proof.NOTHING, TRUE) if is_sure else Oracle(node, Proof.PRESENCE)
    return Oracle(node, Proof.VALUE)


def _unmatched(node: "Node", name: str) -> Oracle:
    if name == "raise_error":
        return Oracle(node, Proof.SUCCESS)
    return Oracle(node, Proof.PRESENCE if name in {"be_nil", "be_empty", "be_blank"} else Proof.VALUE)


def _minitest(spine: Spine, last: Link, given: "list[Node]") -> Oracle:
    if last.name == "assert_nothing_raised":
        return Oracle(spine.node, Proof.SUCCESS)
    return asserted(spine, last, given)


def _refuted(node: "Node", last: Link, given: list[str]) -> Oracle:
    if last.name == "refute" and given[:1] in (["false"], ["nil"]):
        return Oracle(node, Proof.NOTHING, TRUE)
    is_there = last.name in {"refute_nil", "refute_empty", "refute_blank"}
    return Oracle(node, Proof.PRESENCE if is_there else Proof.VALUE)


_CSHARP_ROOTS: Final = pattern(r"(?:\w*Assert|CollectionAssert|StringAssert|Check|Ensure)")
_ARE: Final = pattern(r"^(?:Are|Is)(?=[A-Z])")
_LOUD: Final = pattern(r"(?:DoesNotThrow|NotThrow|Pass|ShouldNotThrow)(?:Async|After)?")
_THERE: Final = frozenset({"NotBeNull", "ShouldNotBeNull", "NotBeEmpty", "NotBeNullOrEmpty", "ShouldNotBeEmpty"})
_RECEIVED: Final = frozenset({"Received", "ReceivedWithAnyArgs", "DidNotReceive", "DidNotReceiveWithAnyArgs"})


def _csharp(spine: Spine) -> Oracle | None:
    root, (last, given) = spine.links[0], _last_call(spine)
    if _LOUD.fullmatch(last.name):
        return Oracle(spine.node, Proof.SUCCESS)
    if _CSHARP_ROOTS.fullmatch(root.name) and len(spine.links) > 1:
        return _of_assert(spine, last, given)
    if last.name in _THERE:
        return Oracle(spine.node, Proof.PRESENCE)
    if last.name in {"Be", "ShouldBe"} and given:
        return of_pair(spine.node, _subject(spine), text_of(given[0]))
    is_fluent = any(name.startswith("Should") or name in _RECEIVED for name in spine.names)
    return Oracle(spine.node, Proof.VALUE) if is_fluent else None


def _subject(spine: Spine) -> str:
    """Of `x.Should().Be(1)` and `x.ShouldBe(1)`, what stands before."""
    return text_of(spine.node).partition(".Should")[0]


def _of_assert(spine: Spine, last: Link, given: "list[Node]") -> Oracle | None:
    if last.name in {"Multiple", "MultipleAsync", "EnterMultipleScope"}:
        return None  # the checks in it count
    if last.name == "That" and given:
        return _that(spine, [text_of(one) for one in given])
    name = _ARE.sub("", last.name)
    if name == "True" and given:
        return of_boolean(spine.node, text_of(given[0]))
    return asserted(spine, Link(name, given), given)


def _that(spine: Spine, given: list[str]) -> Oracle:
    """NUnit: `Assert.That(x, Is.EqualTo(1))`."""
    if len(given) < PAIR:
        return of_boolean(spine.node, given[0])
    subject, wanted = given[:PAIR]
    if wanted == "Is.Not.Null":
        return Oracle(spine.node, Proof.PRESENCE)
    if wanted == "Throws.Nothing":
        return Oracle(spine.node, Proof.SUCCESS)
    if wanted == "Is.True":
        return of_boolean(spine.node, subject)
    equal = _EQUAL_TO.fullmatch(wanted)
    return Oracle(spine.node, Proof.VALUE) if equal is None else of_pair(spine.node, subject, equal[1])


_EQUAL_TO: Final = pattern(r"Is\.(?:EqualTo|SameAs)\((.{1,200})\)")
_PHP_EXPECTS: Final = pattern(
    r"expect(?:Exception\w*|Output\w+|NotToPerformAssertions|Deprecation\w*)|addToAssertionCount"
)


def _php(spine: Spine) -> Oracle | None:
    root, (last, given) = spine.links[0], _last_call(spine)
    if last.name == "assertThat":
        return Oracle(spine.node, Proof.VALUE)  # what its constraint asks for is made elsewhere
    if last.name.startswith("assert"):
        return asserted(spine, last, given)
    if root.name == "expect" and root.given is not None and len(spine.links) > 1:
        return _pest(spine, root.given, last)
    return Oracle(spine.node, Proof.VALUE) if _PHP_EXPECTS.fullmatch(last.name) else None


def _pest(spine: Spine, given: "list[Node]", last: Link) -> Oracle:
    subject = text_of(given[0]) if given else ""
    wanted = [text_of(one) for one in last.given or []]
    if "not" in spine.names:
        is_there = last.name in {"toBeNull", "toBeEmpty"}
        return Oracle(spine.node, Proof.PRESENCE if is_there else Proof.VALUE)
    if last.name in {"toBe", "toEqual"} and wanted and subject:
        return of_pair(spine.node, subject, wanted[0])
    if last.name == "toBeTrue":
        return of_boolean(spine.node, subject) if is_literal(subject) else Oracle(spine.node, Proof.VALUE)
    return Oracle(spine.node, Proof.VALUE)


_KOTLIN_ENTRIES: Final = frozenset({"assertThat", "expectThat"})


def _kotlin(spine: Spine) -> Oracle | None:
    root, (last, given) = spine.links[0], _last_call(spine)
    if root.name in _KOTLIN_ENTRIES and root.given is not None and len(spine.links) > 1:
        return fluent(spine, root, spine.links[1:], JAVA_NEUTRAL)
    if last.name in {"assertTrue", "assert"} and given:
        return of_boolean(spine.node, text_of(given[0]))
    if last.name.startswith("assert"):
        return asserted(spine, last, given)
    if last.name == "shouldBe" and given:
        return of_pair(spine.node, _before(spine), text_of(given[0]))
    return _kotest(spine.node, last.name, [text_of(one) for one in given])


def _kotest(node: "Node", name: str, given: list[str]) -> Oracle | None:
    if not name.startswith("should"):
        return None
    is_there = name == "shouldNotBeNull" or (name == "shouldNotBe" and given == ["null"])
    return Oracle(node, Proof.PRESENCE if is_there else Proof.VALUE)


def _before(spine: Spine) -> str:
    return text_of(spine.node).partition("shouldBe")[0].strip(" .")
