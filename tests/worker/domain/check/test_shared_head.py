"""One of several pull requests of a commit decides what all of their checks say."""

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
    assert check_state(content) == state


def test_every_conclusion_has_its_strictness() -> None:
    ranked = {state: Strictness(rank) for rank, states in enumerate(INCREASING) for state in states}
    assert {state: strictness_of(state) for state in ranked} == ranked
    assert set(Conclusion) <= set(ranked)


def test_a_word_of_a_later_version_lets_nothing_pass() -> None:
    assert strictness_of("timed_out_twice") is Strictness.WAITS


def test_the_strictest_decides_and_of_several_the_first_pull_request() -> None:
    accepted, rejected, waits = (
        SharedHeadMember(1, "success"),
        SharedHeadMember(3, "failure"),
        SharedHeadMember(2, QUEUED),
    )
    assert find_strictest([accepted, rejected, waits]) == rejected
    assert find_strictest([SharedHeadMember(4, "failure"), rejected]) == rejected
    assert find_strictest([accepted, SharedHeadMember(9, "skipped")]) == SharedHeadMember(9, "skipped")
    assert find_strictest([]) is None


def test_each_pull_request_sees_the_others_that_are_open_with_this_head() -> None:
    left, open_ = SharedHeadMember(7, Conclusion.FAILURE, is_here=False), SharedHeadMember(8, QUEUED)
    state = SharedHeadState(4, (left, open_))
    assert (state.others(7), state.others(8), state.others(9)) == ((open_,), (), (open_,))
    assert [state.is_here(number) for number in (7, 8, 9)] == [False, True, False]
    again = SharedHeadMember(7, IN_PROGRESS)
    assert state.record(again) == SharedHeadState(5, (open_, again))


def test_the_hash_of_a_content_is_of_its_words_and_not_of_its_annotations() -> None:
    content = CheckContent("title", "summary", conclusion=Conclusion.FAILURE)
    noted = replace(content, annotations=(Annotation("a.py", 1, 1, AnnotationLevel.NOTICE, "t", "m"),))
    assert hash_content(content) == hash_content(noted) != hash_content(replace(content, title="other"))
    assert json.loads(dump_content(content))["conclusion"] == "failure"
