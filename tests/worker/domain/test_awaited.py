"""What somebody who waits for a commit's verdict is told."""

from typing import Any

import pytest

from tests.worker.render.samples import abstained, accepted, rejected
from worker.domain.awaited import UNKNOWN, Awaited, Awaiting, SeenPull, awaited
from worker.domain.verdict import AbstainReason

A, B = "a" * 40, "b" * 40


def seen(number: int = 1, **changes: Any) -> SeenPull:
    standard: dict[str, Any] = {"head": A, "is_busy": False, "is_held": False, "verdict": None}
    return SeenPull(number=number, **{**standard, **changes})


def test_a_commit_that_nobody_knows_may_still_be_announced() -> None:
    assert awaited([], A) is UNKNOWN
    assert (UNKNOWN.state, UNKNOWN.is_final) == (Awaiting.NONE, False)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"is_busy": True}, Awaiting.PENDING),
        ({"is_busy": True, "verdict": accepted()}, Awaiting.PENDING),
        ({"verdict": accepted()}, Awaiting.DONE),
        ({"head": None, "verdict": accepted()}, Awaiting.DONE),
        ({"head": B, "verdict": accepted()}, Awaiting.SUPERSEDED),
        ({"head": B, "is_busy": True}, Awaiting.SUPERSEDED),
        ({"is_held": True}, Awaiting.NONE),
        ({}, Awaiting.NONE),
    ],
)
def test_each_state_of_a_pull_request_is_one_answer(changes: dict[str, Any], state: Awaiting) -> None:
    found = awaited([seen(**changes)], A)
    assert (found.state, found.number) == (state, 1)
    assert found.is_final is (state is not Awaiting.PENDING)
    assert (found.verdict is not None) is (state is Awaiting.DONE)
    assert found.newer == (B if state is Awaiting.SUPERSEDED else None)


@pytest.mark.parametrize(
    ("changes", "state"),
    [({"verdict": rejected()}, Awaiting.DONE), ({}, Awaiting.NONE), ({"is_held": True}, Awaiting.NONE)],
)
def test_who_overrode_a_commit_is_told_beside_its_verdict(changes: dict[str, Any], state: Awaiting) -> None:
    found = awaited([seen(overridden_by="alice", **changes)], A)
    assert (found.state, found.overridden_by) == (state, "alice")
    assert found.why == "@alice overrode what is said of this commit: nothing is left to do."
    for other in ({"head": B}, {"is_busy": True}):
        told: dict[str, Any] = {**changes, **other, "overridden_by": "alice"}
        assert awaited([seen(**told)], A).overridden_by is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"head": B}, "newer_commit"),
        ({"is_busy": True}, None),
        ({"verdict": accepted()}, None),
        ({"verdict": rejected()}, "half_finished"),
        ({"verdict": abstained(AbstainReason.JUDGE_UNAVAILABLE)}, "judge_unavailable"),
        ({"verdict": rejected(), "overridden_by": "alice"}, "half_finished"),
        ({"overridden_by": "alice"}, "overridden"),
        ({"is_held": True}, "draft"),
        ({}, None),
    ],
)
def test_why_is_told_in_the_word_that_the_check_says(changes: dict[str, Any], reason: str | None) -> None:
    assert awaited([seen(**changes)], A).reason == reason


def test_a_draft_is_told_apart_from_what_nobody_judges() -> None:
    assert "draft" in awaited([seen(is_held=True)], A).why
    assert "skipped" in awaited([seen()], A).why


def test_of_several_pull_requests_the_one_whose_head_it_still_is_answers() -> None:
    found: Awaited = awaited([seen(1, verdict=accepted()), seen(2, head=B), seen(3, head=B, is_busy=True)], A)
    assert (found.number, found.state, found.others) == (1, Awaiting.DONE, (2, 3))
    assert awaited([seen(1), seen(2, verdict=accepted())], A).number == 2


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ({"verdict": rejected()}, {"verdict": accepted()}, Awaiting.DONE),
        ({"is_busy": True}, {"verdict": rejected()}, Awaiting.PENDING),
        ({"is_busy": True}, {"is_held": True}, Awaiting.PENDING),
        ({"verdict": rejected()}, {"verdict": abstained(AbstainReason.NEEDS_HUMAN)}, Awaiting.DONE),
        ({"verdict": abstained(AbstainReason.NEEDS_HUMAN)}, {"verdict": accepted()}, Awaiting.DONE),
        ({"verdict": accepted()}, {"verdict": rejected(), "is_over": True}, Awaiting.DONE),
        ({"verdict": accepted()}, {"verdict": rejected(), "overridden_by": "alice", "is_over": True}, Awaiting.DONE),
        ({"verdict": accepted()}, {"is_held": True}, Awaiting.DONE),
        ({"verdict": accepted()}, {}, Awaiting.DONE),
        ({}, {"is_held": True}, Awaiting.NONE),
    ],
)
def test_of_several_with_this_head_an_open_one_answers_that_stands_most_in_the_way(
    first: dict[str, Any], second: dict[str, Any], state: Awaiting
) -> None:
    for one, other in ((1, 2), (2, 1)):
        found = awaited([seen(one, **first), seen(other, **second)], A)
        assert (found.number, found.state, found.others) == (one, state, (other,))


def test_of_several_that_say_the_same_the_newest_answers() -> None:
    passing = [seen(1, verdict=accepted()), seen(2, verdict=rejected(), overridden_by="alice")]
    assert awaited(passing, A).number == 2
    assert awaited([seen(1, verdict=rejected()), seen(2, verdict=rejected())], A).number == 2
