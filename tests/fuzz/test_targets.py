"""The first inputs of each fuzz target, and the findings of the fuzzer."""

from collections.abc import Callable
from random import Random

import pytest

from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import MOST, Target, spoil, try_input
from tests.fuzz.targets import TARGETS

FEW = {"heuristics": 15, "criteria": 30, "links": 30, "case_block": 30}
PARTS = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2))]
"""Thirds of the first inputs."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_first_inputs_have_no_finding(target: Target, part: int) -> None:
    inputs = range(FEW.get(target.name, 100))
    findings = [
        try_input(target, 4, number).wrong for number in inputs[len(inputs) * part // 3 : len(inputs) * (part + 1) // 3]
    ]
    assert not list(filter(None, findings))


def test_same_seed_and_number_give_the_same_input() -> None:
    assert try_input(TARGETS["diff"], 1, 2).raw == try_input(TARGETS["diff"], 1, 2).raw
    assert try_input(TARGETS["diff"], 1, 2).raw != try_input(TARGETS["diff"], 1, 3).raw


def test_input_size_is_bounded() -> None:
    random = Random(3)  # noqa: S311 - the same inputs again
    assert all(len(spoil(b"a b\n" * 50_000, random, (b"word",))) <= MOST for _ in range(40))


def raise_key_error(_: bytes) -> None:
    raise KeyError("it")


def run_forever(_: bytes) -> None:
    while True:
        pass


@pytest.mark.parametrize(("run", "message"), [(raise_key_error, "KeyError"), (run_forever, "took longer than")])
def test_crash_or_endless_run_is_found(
    run: Callable[[bytes], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "LIMIT", 0.05)
    target = Target("made", lambda _: b"x", run)
    assert message in (try_input(target, 1, 1).wrong or "")


def test_allowed_refusal_is_not_a_finding() -> None:
    assert try_input(Target("made", lambda _: b"x", raise_key_error, (KeyError,)), 1, 1).wrong is None
