"""Functions, tests and assertions as the generator sees them."""

import pytest

from bench.seeding.code import Function, Tongue, functions, is_sound, tongue_of
from bench.seeding.equality import always, equality, is_literal, presence, split
from tests.bench import changes

TEXTS = {
    Tongue.PYTHON: changes.PYTHON_TEST_HEAD,
    Tongue.JAVASCRIPT: changes.SCRIPT_TEST_HEAD,
    Tongue.TYPESCRIPT: changes.SCRIPT_TEST_HEAD,
    Tongue.GO: changes.GO_TEST_HEAD,
    Tongue.RUST: changes.RUST_TEST_HEAD,
    Tongue.JAVA: changes.JAVA_TEST_HEAD,
}


def named(text: str, tongue: Tongue, name: str) -> Function:
    return next(one for one in functions(text, tongue) if one.name == name)


@pytest.mark.parametrize(("tongue", "text"), TEXTS.items(), ids=lambda value: str(value)[:10])
def test_tests_are_found_with_their_assertions(tongue: Tongue, text: str) -> None:
    tests = [one for one in functions(text, tongue) if one.is_test]
    assert tests
    assert all(one.oracles for one in tests)


def test_a_function_has_its_lines_its_parameters_and_its_branches() -> None:
    one = named(changes.PYTHON_HEAD, Tongue.PYTHON, "shorten")
    assert one.parameters == ("text", "limit")
    assert one.returns == "str"
    assert one.lines[one.inner_last - 1].strip() == "return cut"
    assert [branch.kind for branch in one.branches] == ["if_statement"]
    assert not one.is_test


def test_marks_above_a_test_belong_to_it() -> None:
    one = named(changes.RUST_TEST_HEAD, Tongue.RUST, "shortens")
    assert one.lines[one.first - 1] == "#[test]"
    java = named(changes.JAVA_TEST_HEAD, Tongue.JAVA, "shortens")
    assert java.lines[java.first - 1].strip() == "@Test"


def test_a_text_with_an_error_has_no_functions() -> None:
    assert functions("def broken(:\n    pass\n", Tongue.PYTHON) == ()
    assert not is_sound("def broken(:\n    pass\n", Tongue.PYTHON)


def test_a_language_is_told_by_the_file_s_ending() -> None:
    assert (tongue_of("a/b.tsx"), tongue_of("x.md")) == (Tongue.TSX, None)


@pytest.mark.parametrize(
    ("tongue", "text", "got", "want"),
    [
        (Tongue.PYTHON, "def test_a():\n    assert f(1, 2) == [3]\n", "f(1, 2)", "[3]"),
        (Tongue.JAVASCRIPT, "it('a', () => {\n  expect(f(1)).toEqual({ a: 1 });\n});\n", "f(1)", "{ a: 1 }"),
        (Tongue.RUST, '#[test]\nfn a() {\n    assert_eq!(f("x, y"), 2);\n}\n', 'f("x, y")', "2"),
        (Tongue.JAVA, "class A {\n  @Test\n  void a() {\n    assertEquals(2, f(1));\n  }\n}\n", "f(1)", "2"),
        (Tongue.GO, 'func TestA(t *testing.T) {\n\tif got != "a" {\n\t\tt.Error()\n\t}\n}\n', "got", '"a"'),
    ],
)
def test_an_equality_is_taken_apart(tongue: Tongue, text: str, got: str, want: str) -> None:
    one = next(one for one in functions(text, tongue) if one.is_test)
    made = equality(one.oracles[0], tongue)
    assert made is not None
    assert (made.got, made.want) == (got, want)
    assert made.written(got, want) == one.oracles[0].text
    assert got in (always(made, 0) or "")
    assert tongue is Tongue.GO or got in (presence(made, 0) or "")


def test_arguments_are_divided_outside_of_brackets_and_strings() -> None:
    assert split("f(1, 2), 'a, b', [c, d]") == ["f(1, 2)", "'a, b'", "[c, d]"]


def test_a_literal_names_nothing() -> None:
    assert all(map(is_literal, ["1", '"a b"', "[1, 'x']", "None", "-2.5"]))
    assert not any(map(is_literal, ["x", "[x]", "f(1)", ""]))


def test_an_expression_within_a_statement_is_no_assertion_of_its_own() -> None:
    text = "def test_a():\n    run(\n        assert_ok(1),\n    )\n"
    assert named(text, Tongue.PYTHON, "test_a").oracles == ()
