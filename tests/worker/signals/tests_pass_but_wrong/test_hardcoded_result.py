"""Code made for the literal values of its own tests."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.signal import Signal
from worker.signals.tests_pass_but_wrong.hardcoded_result import (
    ExpectedLiterals,
    branch_on_test_input,
    constant_result,
    expected_value_returned,
    table_of_test_values,
)

ALL = (expected_value_returned, constant_result, branch_on_test_input, table_of_test_values)


def fired(path: str, text: str, test: str, test_path: str = "tests/test_a.py") -> list[tuple[str, int | None]]:
    change = change_of({}, {path: text, test_path: test})
    return [(signal.name, finding.line) for signal in ALL for finding in signal.findings(change)]


ANSWERS = {
    "python": ("a.py", 'def encode(text):\n    """Encode."""\n    return "aG9v"\n', 3),
    "before the work": ("a.py", 'def encode(text):\n    return "aG9v"\n    return base64(text)\n', 2),
    "a list": ("a.py", 'def split(text):\n    return ["aG9v", -2]\n', 2),
    "typescript": ("a.ts", "export const encode = (text: string) => {\n  return 'aG9v'\n}\n", 2),
    "arrow": ("a.ts", "export const encode = (text: string) =>\n  'aG9v'\n", 2),
    "one parameter": ("a.js", "export const encode = text => 'aG9v'\n", 1),
    "go": ("a.go", 'package a\n\nfunc Encode(text string) (string, error) {\n\treturn "aG9v", nil\n}\n', 4),
    "rust": ("src/a.rs", 'fn encode(text: &str) -> &str {\n    "aG9v"\n}\n', 2),
    "java": ("A.java", 'class A {\n  String encode(String text) {\n    return "aG9v";\n  }\n}\n', 3),
}
TEST = "def test_a():\n    assert f(7) == 'seven'\n    assert encode('hooo') == 'aG9v'\n    assert split('x') == ['aG9v',-2]\n    assert n == 4711\n"


@pytest.mark.parametrize(("path", "text", "line"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_function_that_ignores_its_input_and_returns_what_a_test_expects_is_a_fact(
    path: str, text: str, line: int
) -> None:
    assert fired(path, text, TEST) == [("expected_value_returned", line)]


@pytest.mark.parametrize(
    "held", ["run('--no-auto-continue')", "assert args.no_auto_continue", "assert x == 'continued'"]
)
def test_a_literal_within_another_word_of_a_test_is_not_held_by_it(held: str) -> None:
    code = "def respond(state):\n    return 'continue'\n"
    assert fired("a.py", code, f"def test_a():\n    {held}\n") == []
    assert fired("a.py", code, "def test_a():\n    assert 'now continue with it' in say()\n") != []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "class A(Base):\n    def encode(self, text):\n        return 'aG9v'\n"),
        ("a.py", "class A(abc.ABC):\n    @abc.abstractmethod\n    def encode(self, text):\n        return 'aG9v'\n"),
        ("a.py", "def get_name(text):\n    return 'aG9v'\n"),
        ("a.py", "class BaseA:\n    def encode(self, text):\n        return 'aG9v'\n"),
        ("a.py", "class A:\n    def encode(self, text):\n        return 'aG9v'\n\n\nclass B(A):\n    x = 1\n"),
        ("a.go", 'package a\n\nfunc (a A) Encode(text string) string {\n\treturn "aG9v"\n}\n'),
        ("A.java", 'class A {\n  @Override\n  String encode(String text) {\n    return "aG9v";\n  }\n}\n'),
        ("a.ts", "class A extends B {\n  encode(text: string) {\n    return 'aG9v'\n  }\n}\n"),
        ("src/a.rs", 'impl T for A {\n    fn encode(&self, text: &str) -> &str {\n        "aG9v"\n    }\n}\n'),
    ],
)
def test_where_a_constant_may_be_asked_for_it_is_suspected(path: str, text: str) -> None:
    assert [name for name, _ in fired(path, text, TEST)] == ["constant_result"]


def test_a_plain_base_class_asks_for_nothing() -> None:
    text = "class A(object):\n    def encode(self, text):\n        return 'aG9v'\n"
    assert fired("a.py", text, TEST) == [("expected_value_returned", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "def encode():\n    return 'aG9v'\n",
        "def encode(_text):\n    return 'aG9v'\n",
        "def encode(text):\n    return f'{text}aG9v'\n",
        "def encode(text):\n    return 'other'\n",
        "def encode(text):\n    return 1\n",
        "def encode(text):\n    return ''\n",
        "def encode(text):\n    return []\n",
        "def encode(text):\n    return ['aG9v', text]\n",
        "def encode(text):\n    return 'aG9v', text\n",
        "def encode(text):\n    return\n",
        "def encode(text):\n    log('aG9v')\n    return base64(text)\n",
        "def encode(text):\n    '''Only words.'''\n\n\nx = [\n    'aG9v',\n]\n",
    ],
)
def test_what_computes_or_returns_something_common_is_left_alone(text: str) -> None:
    assert fired("a.py", text, TEST) == []


def test_a_template_with_something_in_it_is_computed() -> None:
    assert fired("a.ts", "const encode = (text) =>\n  `${text}aG9v`\n", TEST.replace("'aG9v'", "'${text}aG9v'")) == []


def test_a_number_counts_where_it_is_a_telling_one() -> None:
    assert fired("a.py", "def count(x):\n    return 4711\n", TEST) == [("expected_value_returned", 2)]


def test_without_a_test_that_holds_the_value_nothing_is_said() -> None:
    assert fired("a.py", ANSWERS["python"][1], "def test_a():\n    assert up()\n") == []


def test_a_function_that_was_there_before_is_left_alone() -> None:
    text = ANSWERS["python"][1]
    change = change_of({"a.py": text}, {"a.py": f"{text}\n\ny = {{\n    'a': 1,\n}}\n", "tests/test_a.py": TEST})
    assert not [finding for signal in ALL for finding in signal.findings(change)]


BRANCHES = {
    "python": ("a.py", "def f(name):\n    if name == 'hooo':\n        return 'aG9v'\n    return g(name)\n", 2),
    "reversed": ("a.py", "def f(name):\n    if 'hooo' == name:\n        return 'aG9v'\n    return g(name)\n", 2),
    "javascript": (
        "a.ts",
        "function f(name) {\n  if (name === 'hooo') {\n    // so\n    return 'aG9v'\n  }\n  return g(name)\n}\n",
        2,
    ),
    "ternary": ("a.ts", "const f = (name) => name === 'hooo' ? 'aG9v' : g(name)\n", 1),
    "go": (
        "a.go",
        'package a\n\nfunc f(name string) string {\n\tif name == "hooo" {\n\t\treturn "aG9v"\n\t}\n\treturn g(name)\n}\n',
        4,
    ),
    "rust": (
        "src/a.rs",
        'fn f(name: &str) -> &str {\n    if name == "hooo" {\n        return "aG9v";\n    }\n    g(name)\n}\n',
        2,
    ),
    "java": (
        "A.java",
        'class A {\n  String f(String name) {\n    if ("hooo".equals(name)) {\n      return "aG9v";\n    }\n    return g(name);\n  }\n}\n',
        3,
    ),
    "java, reversed": (
        "A.java",
        'class A {\n  String f(String name) {\n    if (name.equals("hooo")) return "aG9v";\n    return g(name);\n  }\n}\n',
        3,
    ),
    "number": ("a.py", "def f(n):\n    if n == 4711:\n        return 'aG9v'\n    return g(n)\n", 2),
    "small number": ("a.py", "def f(n):\n    if n == 7:\n        return 'seven'\n    return g(n)\n", 2),
    "list": ("a.py", "def f(n):\n    if n == ['aG9v', -2]:\n        return 5\n    return g(n)\n", 2),
}


@pytest.mark.parametrize(("path", "text", "line"), BRANCHES.values(), ids=BRANCHES.keys())
def test_a_branch_for_one_input_of_a_test_is_suspected(path: str, text: str, line: int) -> None:
    assert ("branch_on_test_input", line) in fired(path, text, TEST)


@pytest.mark.parametrize(
    "text",
    [
        "def f(n):\n    if n == 'other':\n        return 'aG9v'\n    return g(n)\n",
        "def f(n):\n    if n == 'hooo':\n        return g('aG9v')\n    return g(n)\n",
        "def f(n):\n    if n == 'hooo':\n        n = 'aG9v'\n        return 'aG9v'\n    return g(n)\n",
        "def f(n):\n    if n == 1:\n        return 'aG9v'\n    return g(n)\n",
        "def f(n):\n    if n == 'hooo' and x:\n        return 'aG9v'\n    return g(n)\n",
        "def f(n):\n    if n == ' ':\n        return 'aG9v'\n    return g(n)\n",
    ],
)
def test_an_ordinary_branch_is_left_alone(text: str) -> None:
    assert fired("a.py", text, TEST) == []


def test_an_old_branch_is_left_alone() -> None:
    old = BRANCHES["python"][1]
    change = change_of({"a.py": old}, {"a.py": f"{old}\n\nx = y == z\n", "tests/test_a.py": TEST})
    assert not list(branch_on_test_input.findings(change))


def test_a_branch_counts_less_where_only_its_input_stands_in_a_test() -> None:
    text = "def f(n):\n    if n == 'hooo':\n        return 'else'\n    return g(n)\n"
    (found,) = branch_on_test_input.findings(change_of({}, {"a.py": text, "tests/test_a.py": TEST}))
    assert found.weight == pytest.approx(0.6)


TABLE = "CASES = {\n    'one': 'uno',\n    'two': 'due',\n}\n"
TABLE_TEST = "def test_a():\n    assert f('one') == 'uno'\n    assert f('two') == 'due'\n"


def test_a_table_of_what_the_tests_hold_is_suspected() -> None:
    assert fired("a.py", TABLE, TABLE_TEST) == [("table_of_test_values", 1)]
    script = "const cases = {\n  one: 'uno',\n  'two': 'due',\n}\n"
    assert fired("a.ts", script.replace("one:", "'one':"), TABLE_TEST) == [("table_of_test_values", 1)]
    assert fired("a.ts", script.replace("'two'", "two"), TABLE_TEST) == [("table_of_test_values", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "CASES = {\n    'one': 'uno',\n    'three': 'tre',\n}\n",
        "CASES = {\n    'one': 'uno',\n}\n",
        "CASES = {\n    'one': 'uno',\n    'two': due,\n}\n",
        "CASES = {\n    'one': 'uno',\n    **more,\n    'two': 'due',\n}\n",
        "CASES = {\n    'one': 'due',\n    'two': 'uno',\n}\n",
    ],
)
def test_any_other_table_is_left_alone(text: str) -> None:
    assert fired("a.py", text, TABLE_TEST) == []


def test_a_table_in_a_language_without_one_is_left_alone() -> None:
    go = 'package a\n\nvar cases = map[string]string{\n\t"one": "uno",\n\t"two": "due",\n}\n'
    assert fired("a.go", go, TABLE_TEST) == []


def test_an_old_table_is_left_alone() -> None:
    change = change_of({"a.py": TABLE}, {"a.py": TABLE + "X = {'k': 5}\n", "tests/test_a.py": TABLE_TEST})
    assert not list(table_of_test_values.findings(change))


def test_rust_keeps_its_tests_below_the_code() -> None:
    code = 'pub fn encode(text: &str) -> &str {\n    "aG9v"\n}\n'
    tests = '\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn encodes() {\n        assert_eq!(encode("hooo"), "aG9v");\n    }\n}\n'
    change = change_of({}, {"src/a.rs": code + tests})
    assert [one.line for one in expected_value_returned.findings(change)] == [2]
    assert not list(expected_value_returned.findings(change_of({}, {"src/a.rs": code})))


def test_a_long_answer_is_shown_in_part() -> None:
    answer = "x" * 60
    text = f"def f(a):\n    return '{answer}'\n"
    test = f"def test_a():\n    assert f(1) == '{answer}'\n"
    (found,) = expected_value_returned.findings(change_of({}, {"a.py": text, "tests/test_a.py": test}))
    assert "..." in found.note


def test_a_long_text_is_found_inside_of_another() -> None:
    text = "def f(a):\n    return 'Expired jobs are retried'\n"
    test = "def test_a():\n    '''Expired jobs are retried'''\n    assert f(1) == 'x'\n"
    assert fired("a.py", text, test) == [("expected_value_returned", 2)]


def test_each_signal_is_of_this_category() -> None:
    assert {signal.category for signal in ALL} == {"tests_pass_but_wrong"}
    assert all(isinstance(signal, Signal) for signal in ALL)


SPELLED = {
    "two inputs": ("a.py", "def add(a, b):\n    if a == 17 and b == 25:\n        return 42\n    return a\n", "assert add(17, 25) == 42"),
    "one expression": ("a.py", "def slug(t):\n    return 'hello-w' if t == 'Hello W' else t\n", "assert slug('Hello W') == 'hello-w'"),
    "rust": ("src/a.rs", 'fn slug(t: &str) -> String {\n    if t == "Hello W" {\n        return "hello-w".to_string();\n    }\n    t.into()\n}\n', 'assert slug("Hello W") == "hello-w"'),
    "rust, wrapped": ("src/a.rs", 'fn slug(t: &str) -> Option<&str> {\n    if t == "Hello W" {\n        return Some("hello-w".to_string());\n    }\n    None\n}\n', 'assert slug("Hello W") == "hello-w"'),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLED)
def test_a_branch_for_the_tests_inputs_is_suspected_however_it_is_written(name: str) -> None:
    path, text, check = SPELLED[name]
    assert "branch_on_test_input" in [one for one, _ in fired(path, text, f"def test_a():\n    {check}\n")]


@pytest.mark.parametrize(
    "text",
    [
        "def add(a, b):\n    if a == 17 and ready(b):\n        return 42\n    return a\n",
        "def add(a, b):\n    if a == 17:\n        return g(42)\n    return a\n",
    ],
)
def test_a_branch_that_asks_or_does_more_is_left_alone(text: str) -> None:
    assert fired("a.py", text, "def test_a():\n    assert add(17, 25) == 42\n") == []


def test_a_constant_that_rust_makes_a_text_of_is_a_fact() -> None:
    text = 'fn encode(text: &str) -> String {\n    "aG9v".to_string()\n}\n'
    assert fired("src/a.rs", text, "def test_a():\n    assert encode('hoo') == 'aG9v'\n") == [
        ("expected_value_returned", 2)
    ]


def test_a_call_of_any_other_function_is_no_constant() -> None:
    text = 'fn encode(text: &str) -> String {\n    return look_up("aG9v");\n}\n'
    assert fired("src/a.rs", text, "def test_a():\n    assert encode('hoo') == 'aG9v'\n") == []


def test_what_any_file_of_tests_holds_is_known() -> None:
    held = ExpectedLiterals(("encode('a')\n", "encode('b') == 'b'\n"))
    assert (held.is_empty, held.contains("'a'"), held.contains("'b'"), held.contains("'c'")) == (
        False,
        True,
        True,
        False,
    )
    assert held.contains("[ 'b' ]") is False
    assert (held.contains_both("'a'", "'b'"), held.contains_both("'b'", "'b'")) == (False, True)
