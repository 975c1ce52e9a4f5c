"""Check runs of several pull requests that share a head commit."""

import json
from dataclasses import replace

import pytest

from worker.domain.check.check_run import Annotation, AnnotationLevel, CheckContent, Conclusion
from worker.domain.check.shared_head import (
    IDLE,
    IN_PROGRESS,
    QUEUED,
    SharedHeadMember,
    SharedHeadState,
    Strictness,
    check_state,
    dump_content,
    find_strictest,
    hash_content,
    strictness_of,
)

PASSING = (Conclusion.SUCCESS, Conclusion.NEUTRAL, Conclusion.SKIPPED)
WAITING, BLOCKING = (QUEUED, IN_PROGRESS, Conclusion.CANCELLED), (Conclusion.ACTION_REQUIRED, Conclusion.FAILURE)


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (CheckContent("", "", conclusion=Conclusion.FAILURE), "failure"),
        (CheckContent("", "", is_queued=True), QUEUED),
        (CheckContent("", ""), IN_PROGRESS),
        (CheckContent("", "", is_queued=True, is_idle=True), IDLE),
    ],
)
def test_check_state_is_one_word(content: CheckContent, state: str) -> None:
    assert check_state(content) == state


def test_every_conclusion_has_its_strictness() -> None:
    ranked = {
        state: Strictness(rank) for rank, states in enumerate(((IDLE,), PASSING, WAITING, BLOCKING)) for state in states
    }
    assert {state: strictness_of(state) for state in ranked} == ranked
    assert set(Conclusion) <= set(ranked)


def test_unknown_state_of_a_later_version_waits() -> None:
    assert strictness_of("timed_out_twice") is Strictness.WAITS


def test_strictest_member_decides_and_the_lowest_number_among_equals() -> None:
    accepted, rejected, waits = (SharedHeadMember(*row) for row in ((1, "success"), (3, "failure"), (2, QUEUED)))
    assert find_strictest([accepted, rejected, waits]) == rejected
    assert find_strictest([SharedHeadMember(4, "failure"), rejected]) == rejected
    assert find_strictest([accepted, SharedHeadMember(9, "skipped")]) == SharedHeadMember(9, "skipped")
    assert find_strictest([]) is None


def test_shared_head_lists_the_other_open_pull_requests() -> None:
    left, open_ = SharedHeadMember(7, Conclusion.FAILURE, is_here=False), SharedHeadMember(8, QUEUED)
    state = SharedHeadState(4, (left, open_))
    assert (state.others(7), state.others(8), state.others(9)) == ((open_,), (), (open_,))
    assert [state.is_here(number) for number in (7, 8, 9)] == [False, True, False]
    again = SharedHeadMember(7, IN_PROGRESS)
    assert state.record(again) == SharedHeadState(5, (open_, again))


def test_content_hash_covers_the_text_without_annotations() -> None:
    content = CheckContent("title", "summary", conclusion=Conclusion.FAILURE)
    noted = replace(content, annotations=(Annotation("a.py", 1, 1, AnnotationLevel.NOTICE, "t", "m"),))
    assert hash_content(content) == hash_content(noted) != hash_content(replace(content, title="other"))
    assert json.loads(dump_content(content))["conclusion"] == "failure"
