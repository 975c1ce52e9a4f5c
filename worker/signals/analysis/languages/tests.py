"""The tests of Ruby (RSpec, Minitest, Rails), C# (xUnit, NUnit, MSTest), PHP (PHPUnit, Pest) and Kotlin (JUnit, Kotest).

Does not know what a test asserts (`assertions`). Invariant: a test has a body at hand.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.languages.bodies import find_block
from worker.signals.analysis.languages.chains import arguments
from worker.signals.analysis.syntax import ancestors, is_comment, text_of
from worker.signals.analysis.tests import Test

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST: Final = 200


def find_language_tests(source: Source) -> Iterator[Test]:
    """Every test of a source in one of these languages."""
    is_test = _DEFINED[source.language]
    for function in find_functions(source):
        if is_test(function):
            marks = "\n".join(
                [function.attributes, *(text_of(note) for note in function.nodes_above if is_comment(note))]
            )
            yield Test(function.name, tuple(_outer_names(function.node)), function, function.node, marks)
    yield from _find_call_tests(source)


_RUBY_NAME: Final = pattern(r"test_\w")


def _is_ruby(function: Function) -> bool:
    parameters = function.node.child_by_field_name("parameters")
    return _RUBY_NAME.match(function.name) is not None and parameters is None


_CSHARP_MARK: Final = pattern(r"\[[^\]]{0,200}?\b\w*(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|Property)\b")


def _is_csharp(function: Function) -> bool:
    """Marked, and in no private class: nobody runs that, it is what a test tool is tried on."""
    return _CSHARP_MARK.search(function.attributes) is not None and not any(map(_is_private, ancestors(function.node)))


def _is_private(node: "Node") -> bool:
    modifiers = (text_of(child) for child in node.children if child.type == "modifier")
    return node.type == "class_declaration" and "private" in modifiers


_PHP_MARK: Final = pattern(r"#\[[^\]]{0,200}?\bTest\b")
_PHP_TAG: Final = pattern(r"^[^\w\n]*@test\b", 8)
_HELPER_MARK: Final = pattern(r"\b(?:private|protected|static)\b|DataProvider")


def _is_php(function: Function) -> bool:
    if _HELPER_MARK.search(function.attributes):
        return False
    if function.name.startswith("test") or _PHP_MARK.search(function.attributes):
        return True
    return any(_PHP_TAG.search(text_of(note)) for note in function.nodes_above if is_comment(note))


_KOTLIN_MARK: Final = pattern(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property|\w+Test)\b")


def _is_kotlin(function: Function) -> bool:
    return _KOTLIN_MARK.search(function.attributes) is not None


_DEFINED: Final = {
    Language.RUBY: _is_ruby,
    Language.CSHARP: _is_csharp,
    Language.PHP: _is_php,
    Language.KOTLIN: _is_kotlin,
}

_RUNNERS: Final = {
    Language.RUBY: frozenset(
        {"it", "specify", "example", "test", "should", "scenario", "its", "property"}
        | {"xit", "xspecify", "xexample", "xscenario", "fit", "fspecify", "fexample", "pending", "skip"}
    ),
    Language.PHP: frozenset({"it", "test"}),
    Language.KOTLIN: frozenset(
        {
            "test",
            "it",
            "should",
            "expect",
            "then",
            "Then",
            "scenario",
            "xtest",
            "xit",
            "xshould",
            "xexpect",
            "xscenario",
        }
    ),
}
_OUTER_TYPES: Final = frozenset({"class", "module", "class_declaration", "object_declaration", "struct_declaration"})


def _find_call_tests(source: Source) -> Iterator[Test]:
    """Tests that are calls with a block: `it "works" do`, `test('works', function () {`, `"works" { }`."""
    runners = _RUNNERS.get(source.language)
    types = {Language.PHP: "function_call_expression", Language.KOTLIN: "call_expression"}.get(source.language, "call")
    if runners is None or (source.language is Language.KOTLIN and not _SPEC.search(source.text)):
        return
    end = 0
    for call in source.nodes.find((types,)):
        block = _find_block(call)
        name = _runner_name(call)
        if block is None or call.start_byte < end:
            continue
        if name not in runners and "string" not in name:
            end = call.end_byte if name in _SETUP_CALLS else end
            continue
        end = call.end_byte
        body = block.child_by_field_name("body") or block
        arguments = [argument for argument in _arguments(call) if argument != block]
        title = _title(arguments[0] if arguments else call)
        yield Test(
            title, tuple(_outer_names(call)), Function(block, body, source), call, _marks_text(call, name, arguments)
        )


_SETUP_CALLS: Final = frozenset({"let", "let!", "subject", "before", "after", "around"})
"""Tests in these, and in other tests, are what a test tool is tried on."""
_SPEC: Final = pattern(r"\b(?:Fun|String|Should|Describe|Behavior|Word|Free|Feature|Expect)Spec\b")


def _runner_name(call: "Node") -> str:
    """What is called, on nothing; of Kotest's plain titles, that it is a text."""
    if call.child_by_field_name("receiver") is not None:
        return ""
    called = call.child_by_field_name("method") or call.child_by_field_name("function")
    if called is None:
        called = call.named_children[0]
        called = called.named_children[0] if called.type == "call_expression" and called.named_children else called
    return called.type if "string" in called.type and called.parent == call else text_of(called)[:_LONGEST]


def _find_block(call: "Node") -> "Node | None":
    if call.type != "function_call_expression":
        return find_block(call)
    return next(
        (argument for argument in arguments(call) if argument.type in {"anonymous_function", "arrow_function"}), None
    )


def _arguments(call: "Node") -> "list[Node]":
    """What it is given, its title first."""
    if call.type != "call_expression":
        return arguments(call)
    inner = call.named_children[0]
    return arguments(inner) if inner.type == "call_expression" else [inner]


def _marks_text(call: "Node", name: str, arguments: "list[Node]") -> str:
    """How it is called: `xit`, its tags, and what follows it in Pest (`->skip()`)."""
    tags = (text_of(argument)[:_LONGEST] for argument in arguments[1:])
    following = takewhile(lambda around: _is_continued(around, call), ancestors(call))
    return " ".join((name, *tags, *map(_link_text, following)))


def _link_text(call: "Node") -> str:
    return f"->{text_of(call.child_by_field_name('name'))}{text_of(call.child_by_field_name('arguments'))}"


def _is_continued(around: "Node", call: "Node") -> bool:
    return around.type == "member_call_expression" and around.start_byte == call.start_byte


def _title(node: "Node") -> str:
    return " ".join(text_of(node).split()).strip("'\"`")[:_LONGEST]


def _outer_names(node: "Node") -> Iterable[str]:
    """Names of the classes and titles of the groups around it, outermost first."""
    names: list[str] = []
    for around in ancestors(node):
        if around.type in _OUTER_TYPES:
            names.append(text_of(around.child_by_field_name("name")))
        elif around.type in {"call", "call_expression", "function_call_expression"} and _find_block(around) is not None:
            names.append(_title(next(iter(_arguments(around)), around)))
    return reversed(names)
