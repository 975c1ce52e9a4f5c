"""Matchers that let nearly everything through."""

import pytest

from worker.signals.analysis.conditions import Proof
from worker.signals.analysis.matchers import proof_of_matcher

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
