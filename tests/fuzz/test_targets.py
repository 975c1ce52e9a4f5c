"""Each fuzz target for a moment, from a fixed seed; and that the fuzzer finds what is wrong."""

from collections.abc import Callable
from random import Random

import pytest

from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import MOST, Target, spoil, try_input
from tests.fuzz.targets import TARGETS

FEW = {"heuristics": 15, "criteria": 30, "links": 30, "case_block": 30}
PARTS = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2))]
"""The first third of the first inputs, and the others."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_nothing_is_found_in_the_first_inputs(target: Target, part: int) -> None:
    inputs = range(FEW.get(target.name, 100))
    found = [
        try_input(target, 4, number).wrong for number in inputs[len(inputs) * part // 3 : len(inputs) * (part + 1) // 3]
    ]
    assert not list(filter(None, found))


def test_the_same_seed_and_number_give_the_same_input() -> None:
    assert try_input(TARGETS["diff"], 1, 2).raw == try_input(TARGETS["diff"], 1, 2).raw
    assert try_input(TARGETS["diff"], 1, 2).raw != try_input(TARGETS["diff"], 1, 3).raw


def test_no_input_is_larger_than_the_bound() -> None:
    random = Random(3)  # noqa: S311 - the same inputs again
    assert all(len(spoil(b"a b\n" * 50_000, random, (b"word",))) <= MOST for _ in range(40))


def broken(_: bytes) -> None:
    raise KeyError("it")


def endless(_: bytes) -> None:
    while True:
        pass


@pytest.mark.parametrize(("run", "says"), [(broken, "KeyError"), (endless, "took longer than")])
def test_what_raises_and_what_does_not_end_is_found(
    run: Callable[[bytes], None], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "LIMIT", 0.05)
    target = Target("made", lambda _: b"x", run)
    assert says in (try_input(target, 1, 1).wrong or "")


def test_what_is_refused_by_right_is_not_found() -> None:
    assert try_input(Target("made", lambda _: b"x", broken, (KeyError,)), 1, 1).wrong is None
