"""One of several pull requests of a commit decides what all of their checks say."""

import pytest

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.shared_head import (
    IDLE,
    IN_PROGRESS,
    QUEUED,
    Sibling,
    Strictness,
    state_of,
    strictest,
    strictness,
)

INCREASING = (
    (IDLE,),
    (Conclusion.SUCCESS, Conclusion.NEUTRAL, Conclusion.SKIPPED),
    (QUEUED, IN_PROGRESS, Conclusion.CANCELLED),
    (Conclusion.ACTION_REQUIRED, Conclusion.FAILURE),
)


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (CheckContent("", "", conclusion=Conclusion.FAILURE), "failure"),
        (CheckContent("", "", is_queued=True), QUEUED),
        (CheckContent("", ""), IN_PROGRESS),
        (CheckContent("", "", is_queued=True, is_idle=True), IDLE),
    ],
)
def test_a_state_is_one_word(content: CheckContent, state: str) -> None:
    assert state_of(content) == state


def test_every_conclusion_has_its_strictness() -> None:
    ranked = {state: Strictness(rank) for rank, states in enumerate(INCREASING) for state in states}
    assert {state: strictness(state) for state in ranked} == ranked
    assert set(Conclusion) <= set(ranked)


def test_a_word_of_a_later_version_lets_nothing_pass() -> None:
    assert strictness("timed_out_twice") is Strictness.WAITS


def test_the_strictest_decides_and_of_several_the_first_pull_request() -> None:
    accepted, rejected, waits = Sibling(1, "success"), Sibling(3, "failure"), Sibling(2, QUEUED)
    assert strictest([accepted, rejected, waits]) == rejected
    assert strictest([Sibling(4, "failure"), rejected]) == rejected
    assert strictest([accepted, Sibling(9, "skipped")]) == Sibling(9, "skipped")
    assert strictest([]) is None
