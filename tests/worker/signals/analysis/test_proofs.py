"""The strength of proof of conditions, matchers and helper names."""

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
PRESENCES = [
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


@pytest.mark.parametrize(
    ("condition", "proof"),
    [
        *((condition, Proof.NOTHING) for condition in NOTHING),
        *((condition, Proof.PRESENCE) for condition in PRESENCES),
        *((condition, Proof.VALUE) for condition in VALUES),
    ],
)
def test_condition_has_its_strength_of_proof(condition: str, proof: Proof) -> None:
    assert prove_condition(condition) is proof


@pytest.mark.parametrize(
    ("left", "other", "proof"),
    [
        ("a.b", "a.b", Proof.NOTHING),
        ("1", "1", Proof.NOTHING),
        ("f(a, b)", "f(a,  b)", Proof.NOTHING),
        ("a", "b", Proof.VALUE),
    ],
)
def test_equality_of_identical_expressions_proves_nothing(left: str, other: str, proof: Proof) -> None:
    assert prove_equality(left, other) is proof


def test_literals_names_and_self_comparisons_are_recognized() -> None:
    assert [is_literal(text) for text in ("'x'", "x")] == [True, False]
    assert [is_name(text) for text in ("x.y", "f(x)")] == [True, False]
    assert [is_self_comparison(text) for text in ("(x == x)", "x == y", "True")] == [True, False, False]


def test_macro_arguments_are_split_outside_brackets_and_strings() -> None:
    assert split_arguments(r'vec![a, b], "x, \", y", f(a, b),') == ["vec![a, b]", r'"x, \", y"', "f(a, b)"]


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
def test_single_comparison_is_negated(condition: str, opposite: str) -> None:
    assert negate(condition) == opposite


MATCHERS: list[tuple[str, list[str], Proof | None]] = [
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
    ("toEqual", [], None),
    ("toEqual", ["x"], None),
    ("toEqual", ["x", "y"], None),
    ("toEqual", ["x", "a" * 300], None),
    ("notEqual", ["x", "y"], None),
    ("not_toBe", ["typeof x", "'string'"], None),
    ("type", ["typeof x", "'number'"], None),
    ("type", ["x", "'string'"], None),
    ("toContain", ["x", "'a'"], None),
    ("toContain", ["x"], None),
    ("toMatch", ["x", "/a.*/"], None),
    ("toBeGreaterThan", ["x.length", "1"], None),
    ("toBeGreaterThan", ["x", "0"], None),
    ("toBeGreaterThanOrEqual", ["x.length", "2"], None),
    ("toHaveLength", ["x.length", "0"], None),
    ("toBeLessThan", ["x", "10"], None),
    ("toBeLessThan", ["x", "10000000"], None),
    ("InDelta", ["3", "x", "0.1"], None),
    ("toHaveBeenCalledWith", ["x", "expect.anything()"], None),
]


@pytest.mark.parametrize(("name", "texts", "proof"), MATCHERS, ids=str)
def test_matcher_has_its_strength_of_proof(name: str, texts: list[str], proof: Proof | None) -> None:
    assert proof_of_matcher(name, texts) is proof


@pytest.mark.parametrize(
    ("name", "expected"),
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
def test_check_name_is_recognized(name: str, *, expected: bool) -> None:
    assert is_check_name(name) is expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
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
def test_rust_code_without_assertion_word_asserts_nothing(language: Language, text: str, *, expected: bool) -> None:
    assert can_assert(Source(text, 1, is_whole=True, language=language)) is expected
