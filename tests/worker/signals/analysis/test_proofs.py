"""What a condition, a matcher and the name of a helper prove."""

import pytest

from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.proofs import (
    Proof,
    can_assert,
    is_check_name,
    is_literal,
    is_name,
    is_self_comparison,
    negate,
    proof_of_matcher,
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


LOOSE = [
    ("satisfiesAnyOf", ["x", "one -> f(one)", "one -> { }"], Proof.NOTHING),
    ("toEqual", ["x", "expect.anything()"], Proof.PRESENCE),
    ("assertEqual", ["x", "mock.ANY"], Proof.PRESENCE),
    ("is", ["x", "anything()"], Proof.PRESENCE),
    ("notStrictEqual", ["x", "undefined"], Proof.PRESENCE),
    ("assertNotEquals", ["null", "x"], Proof.PRESENCE),
    ("not_toBe", ["x", "null"], Proof.PRESENCE),
    ("assert_ne!", ["x", "None"], Proof.PRESENCE),
    ("not_toBe", ["typeof x", "'undefined'"], Proof.PRESENCE),
    ("type", ["typeof x", "'string'"], Proof.NOTHING),
    ("equal", ["typeof typeof x", "'string'"], Proof.NOTHING),
    ("assertIsInstance", ["x", "object"], Proof.PRESENCE),
    ("isInstanceOf", ["x", "Object.class"], Proof.PRESENCE),
    ("toContain", ["x", "''"], Proof.PRESENCE),
    ("toContain", ["[true, false]", "!!x"], Proof.NOTHING),
    ("assertIn", ["''", "x"], Proof.PRESENCE),
    ("toMatch", ["x", "/.*/"], Proof.PRESENCE),
    ("toMatchObject", ["x", "{}"], Proof.PRESENCE),
    ("Regexp", ['".*"', "x"], Proof.PRESENCE),
    ("assertGreaterEqual", ["len(f(x))", "0"], Proof.NOTHING),
    ("GreaterOrEqual", ["len(x)", "1"], Proof.PRESENCE),
    ("toBeGreaterThan", ["x.length", "-1"], Proof.NOTHING),
    ("isPositive", ["x.size()"], Proof.PRESENCE),
    ("isNotNegative", ["x.size()"], Proof.NOTHING),
    ("toBeLessThan", ["x", "Infinity"], Proof.PRESENCE),
    ("InDelta", ["3", "x", "1e9"], Proof.PRESENCE),
    ("isCloseTo", ["x", "3", "within(1e9)"], Proof.PRESENCE),
    ("assertEquals", ["3", "x", "1000000000"], Proof.PRESENCE),
]
TELLING: list[tuple[str, list[str]]] = [
    ("toEqual", []),
    ("toEqual", ["x"]),
    ("toEqual", ["x", "y"]),
    ("toEqual", ["x", "a" * 300]),
    ("notEqual", ["x", "y"]),
    ("not_toBe", ["typeof x", "'string'"]),
    ("type", ["typeof x", "'number'"]),
    ("type", ["x", "'string'"]),
    ("toContain", ["x", "'a'"]),
    ("toContain", ["x"]),
    ("toMatch", ["x", "/a.*/"]),
    ("toBeGreaterThan", ["x.length", "1"]),
    ("toBeGreaterThan", ["x", "0"]),
    ("toBeGreaterThanOrEqual", ["x.length", "2"]),
    ("toHaveLength", ["x.length", "0"]),
    ("toBeLessThan", ["x", "10"]),
    ("toBeLessThan", ["x", "10000000"]),
    ("InDelta", ["3", "x", "0.1"]),
    ("toHaveBeenCalledWith", ["x", "expect.anything()"]),
]


@pytest.mark.parametrize(("name", "texts", "proof"), LOOSE, ids=str)
def test_a_matcher_that_lets_nearly_all_through_is_known(name: str, texts: list[str], proof: Proof) -> None:
    assert proof_of_matcher(name, texts) is proof


@pytest.mark.parametrize(("name", "texts"), TELLING, ids=str)
def test_in_doubt_a_matcher_asks_for_a_value(name: str, texts: list[str]) -> None:
    assert proof_of_matcher(name, texts) is None


@pytest.mark.parametrize(
    ("name", "sounds"),
    [
        ("assert_clean", True),
        ("assertClean", True),
        ("fnmatch_lines", True),
        ("toMatchSnapshot", True),
        ("getByText", True),
        ("diff", True),
        ("is_ok", True),
        ("run_tests", True),
        ("setup_checks", False),
        ("get_matches", False),
        ("added_diff_lines", False),
        ("run", False),
        ("_", False),
        ("thenReturn", False),
        ("required", False),
        ("require", True),
        ("willThrow", False),
        ("then", True),
        ("throws", True),
        ("assert" * 20, False),
    ],
)
def test_a_name_sounds_like_a_check_or_not(name: str, *, sounds: bool) -> None:
    assert is_check_name(name) is sounds


@pytest.mark.parametrize(
    ("language", "text", "may"),
    [
        (Language.PYTHON, "run()", True),
        (Language.RUST, "fn this() { run(self.is).unwrap() }", False),
        (Language.RUST, "fn a() { assert_eq!(b(), 1) }", True),
        (Language.RUST, "fn a() { self.assert_ok(b()).unwrap() }", True),
        (Language.RUST, "fn a() { b().unwrap_err(); }", True),
        (Language.RUST, "fn a() { is.equal(b()).unwrap(); }", True),
        (Language.RUST, "fn a() { require.equal(b()).unwrap(); }", True),
    ],
)
def test_code_of_rust_without_an_asserting_word_asserts_nothing(language: Language, text: str, *, may: bool) -> None:
    assert can_assert(Source(text, 1, is_whole=True, language=language)) is may
