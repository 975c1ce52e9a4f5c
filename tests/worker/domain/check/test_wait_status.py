"""What somebody who waits for a commit's verdict is told."""

from typing import Any

import pytest

from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.check.wait_status import PENDING, UNKNOWN, Awaited, Awaiting, Due, SeenPull, awaited, reason_to_wait
from worker.domain.verdict.verdict import AbstainReason, Verdict

A, B = "a" * 40, "b" * 40


def seen(number: int = 1, **changes: Any) -> SeenPull:
    standard: dict[str, Any] = {"head": A, "pending": None, "is_held": False, "verdict": None}
    return SeenPull(number=number, **{**standard, **changes})


def test_a_commit_that_nobody_knows_may_still_be_announced() -> None:
    assert awaited([], A) is UNKNOWN
    assert (UNKNOWN.state, UNKNOWN.is_final) == (Awaiting.NONE, False)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"pending": "judging"}, Awaiting.PENDING),
        ({"pending": "judging", "verdict": accepted()}, Awaiting.PENDING),
        ({"verdict": accepted()}, Awaiting.DONE),
        ({"head": None, "verdict": accepted()}, Awaiting.DONE),
        ({"head": B, "verdict": accepted()}, Awaiting.SUPERSEDED),
        ({"head": B, "pending": "judging"}, Awaiting.SUPERSEDED),
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
    for other in ({"head": B}, {"pending": "judging"}):
        told: dict[str, Any] = {**changes, **other, "overridden_by": "alice"}
        assert awaited([seen(**told)], A).overridden_by is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"head": B}, "newer_commit"),
        ({"pending": "waiting_for_ci"}, "waiting_for_ci"),
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
    found: Awaited = awaited([seen(1, verdict=accepted()), seen(2, head=B), seen(3, head=B, pending="judging")], A)
    assert (found.number, found.state, found.others) == (1, Awaiting.DONE, (2, 3))
    assert awaited([seen(1), seen(2, verdict=accepted())], A).number == 2


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ({"verdict": rejected()}, {"verdict": accepted()}, Awaiting.DONE),
        ({"pending": "judging"}, {"verdict": rejected()}, Awaiting.PENDING),
        ({"pending": "judging"}, {"is_held": True}, Awaiting.PENDING),
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


NOW = 1_000_000
AWAY = abstained(AbstainReason.JUDGE_UNAVAILABLE)


@pytest.mark.parametrize(
    ("noted", "reason"),
    [
        ({"is_begun": True, "limit": NOW + 1, "aways": 2}, "judging"),
        ({"is_begun": True, "waiting": 1, "aways": 2}, "waiting_for_ci"),
        ({"due": NOW - 1, "since": NOW - 9}, "judging"),
        ({"due": NOW, "since": NOW}, "judging"),
        ({"due": NOW + 9, "since": NOW}, "quiet_window"),
        ({"due": NOW + 9}, "judging"),
        ({"due": NOW + 9, "waiting": NOW - 1}, "waiting_for_ci"),
        ({"due": NOW - 9, "waiting": NOW - 1}, "waiting_for_ci"),
        ({"aways": 1}, "github_outage"),
        ({"limit": NOW + 1, "aways": 1}, "rate_limit"),
        ({"limit": NOW, "aways": 1}, "github_outage"),
        ({"limit": NOW}, "judging"),
    ],
)
def test_why_there_is_no_verdict_yet_is_told_by_what_is_waited_for(noted: dict[str, Any], reason: str) -> None:
    standard: dict[str, Any] = {"now": NOW, "is_begun": False}
    due = Due(**{**standard, **noted})
    assert reason_to_wait(due, None) == reason
    assert awaited([seen(pending=reason)], A).why == PENDING[reason]


@pytest.mark.parametrize(
    ("noted", "verdict", "reason"),
    [
        ({"due": NOW + 9}, AWAY, "judge_unavailable"),
        ({"due": NOW + 9, "since": NOW}, AWAY, "quiet_window"),
        ({"due": NOW - 9}, AWAY, "judging"),
        ({"due": NOW + 9}, rejected(), "judging"),
    ],
)
def test_what_nobody_could_judge_and_is_judged_again_by_itself_says_why(
    noted: dict[str, int], verdict: Verdict, reason: str
) -> None:
    assert reason_to_wait(Due(is_begun=False, now=NOW, **noted), verdict) == reason
    assert (
        awaited([seen(pending="judge_unavailable")], A).why == "It could not be judged, and is judged again by itself."
    )
