"""Syntax trees and their nodes, unreadable texts, and sources of hunks."""

import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import tree_sitter
import tree_sitter_python

from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.syntax import (
    DEEPEST,
    LONGEST_ROW,
    MOST_CACHED,
    MOST_WORDS,
    NodeIndex,
    ancestors,
    begins_in_text,
    comments_in,
    find,
    is_too_deep,
    is_unreadable,
    outermost,
    parse,
    text_of,
    with_ancestors,
)

if TYPE_CHECKING:
    from tree_sitter import Node
from tests.worker.signals.samples import changed_file
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.syntax import without_partial_string

NESTED_CALLS = "a(\n  b(1),\n  c(2)\n)\nd(3)\n"


def test_find_returns_only_nodes_that_touch_the_rows() -> None:
    root = parse(NESTED_CALLS, Language.PYTHON)
    calls = find(root, Language.PYTHON, ("call",), frozenset({2}))
    assert [text_of(call.child_by_field_name("function")) for call in calls] == ["a", "c"]


MANY_FUNCTIONS = "".join(
    f"def f{n}(a, b=g(1)):\n    if a:\n        return [h(x) for x in k(b)]\n    l(m(n())); o(1)\n    return p(\n        q()\n    )\n\n\n"
    for n in range(40)
)
BROKEN = MANY_FUNCTIONS.replace("(m(", "(((m((("), MANY_FUNCTIONS.replace("return [", "return @[")


@pytest.mark.parametrize("text", [MANY_FUNCTIONS, *BROKEN])
@pytest.mark.parametrize("rows", [None, frozenset({3}), frozenset({9, 12}), frozenset({40, 200}), frozenset({10_000})])
def test_find_in_subtree_equals_find_in_tree_there(text: str, rows: frozenset[int] | None) -> None:
    root = parse(text, Language.PYTHON)
    functions = find(root, Language.PYTHON, ("function_definition",))
    assert functions
    everything = find(root, Language.PYTHON, ("call", "identifier"), rows)
    for function in functions:
        nodes = [
            node for node in everything if function.start_byte <= node.start_byte and node.end_byte <= function.end_byte
        ]
        assert find(function, Language.PYTHON, ("call", "identifier"), rows) == nodes


KINDS = ("call",), ("expression_statement",), ("call", "assert_statement"), ("call", "function_definition")


@pytest.mark.parametrize("text", [MANY_FUNCTIONS, *BROKEN, NESTED_CALLS])
@pytest.mark.parametrize("kinds", [*KINDS, ("call", "list_comprehension"), ("identifier",)])
def test_node_index_finds_the_same_nodes_as_find(text: str, kinds: tuple[str, ...]) -> None:
    root = parse(text, Language.PYTHON)
    nodes = NodeIndex(root, Language.PYTHON)
    assert nodes.find(kinds) == find(root, Language.PYTHON, kinds)
    for part in find(root, Language.PYTHON, ("function_definition", "block", "expression_statement", "call")):
        assert nodes.find(kinds, part) == find(part, Language.PYTHON, kinds)


def test_node_index_finds_nodes_that_begin_in_the_rows() -> None:
    nodes = NodeIndex(parse(NESTED_CALLS, Language.PYTHON), Language.PYTHON)
    calls = nodes.find(("call",), rows=frozenset({1, 2}))
    assert [text_of(node) for node in calls] == ["b(1)", "c(2)"]
    (statement,) = (node for node in nodes.find(("expression_statement",)) if text_of(node) == "d(3)")
    assert [text_of(node) for node in nodes.find(("call",), statement, frozenset({0, 4}))] == ["d(3)"]


@pytest.mark.parametrize("language", Language)
def test_grammar_accepts_the_query_of_all_node_types(language: Language) -> None:
    """A grammar refuses a query with an unknown node type."""
    root = parse(")", language)
    assert NodeIndex(root, language).find(("ERROR",)) == find(root, language, ("ERROR",))


def test_node_index_of_large_tree_caches_nothing() -> None:
    root = parse("a(b(1))\n" * MOST_CACHED, Language.PYTHON)
    nodes = NodeIndex(root, Language.PYTHON)
    assert len(nodes.find(("call",))) == 2 * MOST_CACHED
    assert nodes.find(("call",))[0] is not nodes.find(("call",))[0]
    assert nodes.cache(text_of, root) == text_of(root)
    small = NodeIndex(parse(NESTED_CALLS, Language.PYTHON), Language.PYTHON)
    assert small.find(("call",))[0] is small.find(("call",))[0]


def test_value_cached_for_a_node_is_computed_once() -> None:
    nodes = NodeIndex(parse(NESTED_CALLS, Language.PYTHON), Language.PYTHON)
    names: list[str] = []

    def add_name(node: "Node", mark: str) -> None:
        names.append(text_of(node.child_by_field_name("function")) + mark)

    for call in (*nodes.find(("call",)), *nodes.find(("call",))):
        assert nodes.cache(add_name, call, "!") is None
    assert names == ["a!", "b!", "c!", "d!"]


@pytest.mark.parametrize(
    "language",
    [
        language
        if language in {Language.PYTHON, Language.RUST, Language.KOTLIN}
        else pytest.param(language, marks=pytest.mark.slow)
        for language in Language
    ],
)
def test_text_with_exponential_parse_is_given_up(language: Language) -> None:
    """A Markdown table in an open bracket."""
    table = ("| - " * 1_000 + "\n") * 10
    text = {Language.PYTHON: "f(", Language.RUST: "fn f() { a::<"}.get(language, "") + table
    root = parse(text, language)
    assert root.has_error
    if language not in {Language.RUST, Language.KOTLIN}:  # whose grammars get through
        assert text_of(root) == ")"


def test_line_with_too_many_words_is_unreadable() -> None:
    long = " ".join(["x"] * (MOST_WORDS + 1))
    assert is_unreadable(parse(long, Language.PYTHON))
    data = f"x = '{'a1b2' * 10_000}'\n"
    assert text_of(parse(data, Language.PYTHON)) == data


CHAINS: dict[Language, Callable[[int], str]] = {
    Language.PYTHON: lambda many: "x = a" + ".b" * many,
    Language.JAVASCRIPT: lambda many: "f(a" + ".Skip()" * many + ");",
    Language.TYPESCRIPT: lambda many: "f(a" + "!()" * many + ");",
    Language.TSX: lambda many: "<a>" * many + "</a>" * many,
    Language.GO: lambda many: "package a\nvar x = " + "-" * many + "1\n",
    Language.RUST: lambda many: "fn f() { a" + "[0]" * many + "; }",
    Language.JAVA: lambda many: "class A { int x = " + "1 + " * many + "1; }",
    Language.RUBY: lambda many: "class A\n" * many + "end\n" * many,
    Language.CSHARP: lambda many: "class A { bool x = " + "!" * many + "y; }",
    Language.PHP: lambda many: "$x = $a" + "->b()" * many + ";",
    Language.KOTLIN: lambda many: "val x = a" + ".b()" * many + "\n",
}
"""Deeply nested with few nested brackets or none."""


@pytest.mark.parametrize("language", Language)
def test_deeply_nested_text_is_unreadable(language: Language) -> None:
    assert not is_unreadable(parse(CHAINS[language](20), language))
    assert is_unreadable(parse(CHAINS[language](3_000), language))


def raw_tree(text: str) -> "Node":
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language())).parse(text.encode()).root_node


def deepest_in(root: "Node") -> "Node":
    node = root
    while node.named_children:
        node = node.named_children[-1]
    return node


def depth_of(node: "Node") -> int:
    return 0 if node.parent is None else 1 + depth_of(node.parent)


def test_long_row_of_meaningless_signs_is_unreadable() -> None:
    row = "*\n" * LONGEST_ROW
    for text in (f"{row}*\n", f"a = 1\n{row * 2}b = 2\n", f"def f():\n    g()\n{row}{row}"):
        assert is_unreadable(parse(text, Language.PYTHON))
    for text in (f"{row}", f"{row}a = 1\n{row}", "f(\n" + "a,\n" * 2 * LONGEST_ROW):
        assert parse(text, Language.PYTHON).has_error
        assert not is_unreadable(parse(text, Language.PYTHON)), "several rows"
    assert not parse(f"x = [{',' * 2 * LONGEST_ROW}];", Language.JAVASCRIPT).has_error


@pytest.mark.parametrize("many", range(150, 300, 7))
def test_tree_depth_is_that_of_its_deepest_node(many: int) -> None:
    root = raw_tree("a = 1\n" * many + f"x = {'not ' * many}y\nb = 2\n")
    depth = many + depth_of(deepest_in(raw_tree("x = y\n")))
    assert is_too_deep(root) or depth <= DEEPEST
    assert not is_too_deep(root) or depth > DEEPEST - 50


def test_ancestors_stop_at_the_maximum_depth() -> None:
    node = deepest_in(raw_tree(f"x = {'not ' * 2 * DEEPEST}y\n"))
    assert len(list(ancestors(node))) == DEEPEST
    assert len(list(with_ancestors(node))) == DEEPEST + 1
    steps: list[str] = []
    outermost(node, lambda around: not steps.append(around.type))
    assert len(steps) == DEEPEST


def test_ancestors_run_from_inner_to_outer_node() -> None:
    root = parse("def f():\n    if a:\n        b(c)\n", Language.PYTHON)
    (call,) = find(root, Language.PYTHON, ("call",))
    (branch,) = find(root, Language.PYTHON, ("if_statement",))
    inside = ["expression_statement", "block"]
    assert [node.type for node in ancestors(call, branch)] == inside
    assert [node.type for node in ancestors(call)] == [
        *inside,
        "if_statement",
        "block",
        "function_definition",
        "module",
    ]
    assert [node.type for node in with_ancestors(call, branch)] == ["call", *inside]
    assert list(with_ancestors(call, call)) == []
    assert list(with_ancestors(None)) == []
    assert outermost(call, lambda around: around.type in inside) == branch.child_by_field_name("consequence")
    assert outermost(call, lambda around: around.type == "module") == call


@pytest.mark.parametrize("language", Language)
def test_comments_are_found_in_every_language(language: Language) -> None:
    mark = "#" if language in {Language.PYTHON, Language.RUBY} else "//"
    (comment,) = comments_in(parse(f"{mark} a\n", language), language)
    assert text_of(comment).strip() == f"{mark} a"


def test_text_of_small_node_copies_little_of_a_long_file() -> None:
    root = parse("x = f(1)\n" * 20_000, Language.PYTHON)
    first = root.named_children[0]
    tracemalloc.start()
    assert text_of(first) == "x = f(1)"
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000


FILL = "x\n" * 5
GO_BEFORE = f"package a\n\nfunc One() error {{\n{FILL}\tif b {{\n\t\tc()\n\t}}\n\treturn nil\n}}\n"
GO = "\n// Two is new.\nfunc Two() error {\n\treturn nil\n}\n"
PYTHON_BEFORE = "def one(\n" + "    a,\n" * 8 + "):\n    return f(\n        a)\n"


PYTHON_AFTER = PYTHON_BEFORE.replace("        a)\n", "        a)\n@b\ndef two(c):\n    return 2\n")
JAVA = "class A {\n" + "  // x\n" * 8 + "  int a() {\n    // x\n    b();\n    return c(\n      d);\n  }\n%s}\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("a.go", GO_BEFORE, GO_BEFORE + GO, [("Two", (GO_BEFORE + GO).count("\n") - 2)]),
        ("A.java", JAVA % "", JAVA % "\n  int two() {\n    return 2;\n  }\n", [("two", 17)]),
        ("a.py", PYTHON_BEFORE, PYTHON_AFTER, [("two", 14)]),
    ],
    ids=["go", "java", "python"],
)
def test_function_after_partial_function_is_found(
    path: str, before: str, after: str, expected: list[tuple[str, int]]
) -> None:
    file = changed_file(path, before, after, texts=False)
    functions = [function for source in file.sources for function in find_functions(source)]
    assert [(function.name, function.first_line) for function in functions] == expected


@pytest.mark.parametrize("change", ["\treturn err\n", "\tgo()\n\treturn nil\n"])
def test_source_of_hunk_keeps_every_changed_line(change: str) -> None:
    after = GO_BEFORE.replace("\treturn nil\n", change) + GO
    (source,) = changed_file("a.go", GO_BEFORE, after, texts=False).sources
    assert change in source.text


def test_readable_hunk_stays_unchanged_and_unreadable_hunk_has_no_source() -> None:
    before = "".join(f"int a{number};\n" for number in range(9))
    (source,) = changed_file("A.java", before, before + "int b() {\n}\n", texts=False).sources
    assert source.text == "int a6;\nint a7;\nint a8;\nint b() {\n}\n"
    deep = f"x = {'(' * 300}1{')' * 300};\n}}\n"
    assert changed_file("A.java", before + deep, before + deep + "int b() {\n}\n", texts=False).sources == ()


CUT = 'x = make("""\n  a\n""")\ny = 1\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('  def test_a\n  """)\ny = 1\n', "\n   )\ny = 1\n"),
        ('y = 1\nx = """\n  def test_a\n', 'y = 1\nx = """"""\n\n'),
        (CUT, CUT),
        ('  Some words.\n  """\ny = 1\nx = """\n  more words\n', '\n   \ny = 1\nx = """"""\n\n'),
        ('if x:\n  """\ny = (\nx = """\n  more words\n', 'if x:\n  """\ny = (\nx = """\n  more words\n'),
    ],
)
def test_partial_string_of_fragment_is_left_out(text: str, left: str) -> None:
    assert without_partial_string(text, Language.PYTHON) == left
    assert without_partial_string(text, Language.GO) == text


@pytest.mark.parametrize(
    ("language", "text", "row", "column"),
    [
        (Language.RUBY, "x = <<~TEXT\n  inside\nTEXT\n", 1, 2),
        (Language.RUBY, "=begin\ninside\n=end\n", 1, 0),
        (Language.RUBY, "x = 1\n__END__\ninside\n", 2, 0),
        (Language.CSHARP, 'var x = """\n  inside\n  """;\n', 1, 2),
        (Language.CSHARP, 'var x = @"\ninside";\n', 1, 0),
        (Language.PHP, "<?php\n$x = <<<EOT\ninside\nEOT;\n", 2, 0),
        (Language.PHP, "<?php\n$x = <<<'EOT'\ninside\nEOT;\n", 2, 0),
        (Language.KOTLIN, 'val x = """\ninside\n"""\n', 1, 0),
    ],
)
def test_position_inside_a_string_or_comment_is_text(language: Language, text: str, row: int, column: int) -> None:
    assert begins_in_text(parse(text, language), row, column)
    assert not begins_in_text(parse("\n" + text, language), 1, 0) or text.startswith("=")
