"""What a condition proves when it is asserted."""

import pytest

from worker.signals.analysis.conditions import (
    Proof,
    is_literal,
    is_name,
    is_self_comparison,
    negate,
    prove_condition,
    prove_equality,
    split_arguments,
)

NOTHING = [
    "True",
    "(True)",
    "true",
    "!false",
    "not False",
    "1",
    "'text'",
    "x == x",
    "a.b === a.b",
    "1 == 1",
    "1 > 0",
    "1 !== 2",
    "found or True",
    "found || true",
    "len(found) >= 0",
    "found.length >= 0",
    "f'{x}' is not None",
    "(f(x) == 1) in (True, False)",
    "isinstance(x, object)",
    "a.b == c or a.b != c",
    "a == b || a != b",
    "x is x",
    "x or not x",
    "!x || x",
    "x is None or x is not None",
    "x.is_ok() || x.is_err()",
    "matches!(x, _)",
    "len(f(x)) > -1",
    "typeof x === 'object' || typeof x !== 'object'",
    "reflect.DeepEqual(x, x)",
    "x.equals(x)",
    "f(x) == f(x)",
    "\n  x\n  ==\n  x",
]
THERE = [
    "x",
    "x.y",
    "x is not None",
    "f(x) !== undefined",
    "x.is_some()",
    "len(x) > 0",
    "hasattr(x, 'y')",
    "x == mock.ANY",
    "x instanceof Object",
    "'' in x",
    'x.contains("")',
    "abs(x - 3) < 1e9",
    "(x - 3.0).abs() < 1e9",
    "!!x.y(1)",
    "x.enabled in (True, False)",
    "repr(f(x))",
]
VALUES = [
    "x == y",
    "x in y",
    "str(x) == str(y)",
    "x == 1 and y is not None",
    "x in x",
    "x or y",
    "abs(x - 3) < 1e-9",
    "x.contains('a')",
    "f(x)",
    "x > 0",
    "detect(|| true)",
    "detect(x, || true)",
    "x == 1",
    "a" * 500,
    "x == x" + " " * 500 + "y",
]


@pytest.mark.parametrize("condition", NOTHING)
def test_what_always_holds_proves_nothing(condition: str) -> None:
    assert prove_condition(condition) is Proof.NOTHING


@pytest.mark.parametrize("condition", THERE)
def test_that_something_is_there_says_nothing_about_its_value(condition: str) -> None:
    assert prove_condition(condition) is Proof.PRESENCE


@pytest.mark.parametrize("condition", VALUES)
def test_in_doubt_a_condition_proves_a_value(condition: str) -> None:
    assert prove_condition(condition) is Proof.VALUE


def test_a_thing_equals_itself_also_where_it_is_computed_twice() -> None:
    assert prove_equality("a.b", "a.b") is Proof.NOTHING
    assert prove_equality("1", "1") is Proof.NOTHING
    assert prove_equality("f(a, b)", "f(a,  b)") is Proof.NOTHING
    assert prove_equality("a", "b") is Proof.VALUE


def test_literals_and_names_are_told_apart() -> None:
    assert is_literal("'x'")
    assert not is_literal("x")
    assert is_name("x.y")
    assert not is_name("f(x)")


def test_the_arguments_of_a_macro_are_split_outside_of_brackets_and_strings() -> None:
    assert split_arguments(r'vec![a, b], "x, \", y", f(a, b),') == ["vec![a, b]", r'"x, \", y"', "f(a, b)"]


def test_a_comparison_of_a_thing_with_itself_is_told_from_what_else_always_holds() -> None:
    assert is_self_comparison("(x == x)")
    assert not is_self_comparison("x == y")
    assert not is_self_comparison("True")


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        ("x != y", "x == y"),
        ("len(x) < 0", "len(x) >= 0"),
        ("!f(x)", "f(x)"),
        ("x", ""),
        ("x != y && z", ""),
        ("x" * 500, ""),
    ],
)
def test_of_one_comparison_the_opposite_is_known(condition: str, opposite: str) -> None:
    assert negate(condition) == opposite
