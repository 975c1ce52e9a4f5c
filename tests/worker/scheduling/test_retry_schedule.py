"""What a rate limit put off comes back one after the other, what somebody asked for first."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from tests.worker.adapters.redis.played import AT, wish
from worker.domain.ids import RepositoryId
from worker.domain.request.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.scheduling.retry_schedule import RetrySchedule

SPREAD = RetrySchedule(gap=timedelta(seconds=1), longest_delay=timedelta(seconds=60))


def asked(number: int, trigger: Trigger = Trigger.PUSHED, repository: int = 7) -> JudgeRequest:
    request = wish(number)
    pull = request.pull.model_copy(update={"repository_id": RepositoryId(repository)})
    return request.model_copy(update={"pull": pull, "trigger": trigger})


def turns(requests: Iterable[JudgeRequest], crowd: int) -> list[datetime]:
    return [SPREAD.retry_at(AT, one, crowd) for one in requests]


@pytest.mark.parametrize("first", [1, 480, 90_210])
@pytest.mark.parametrize("many", [5, 30, 60])
def test_as_many_come_back_in_as_many_gaps_and_no_two_of_a_repository_together(first: int, many: int) -> None:
    found = sorted(turns((asked(number) for number in range(first, first + many)), many))
    assert found[0] >= AT
    assert found[-1] < AT + many * SPREAD.gap
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(found))


def test_however_many_they_are_none_waits_for_longer_than_that() -> None:
    found = sorted(turns((asked(number) for number in range(1, 601)), 600))
    assert AT + SPREAD.longest_delay - SPREAD.gap < found[-1] < AT + SPREAD.longest_delay
    each_second = [sum(1 for one in found if int((one - AT).total_seconds()) == second) for second in range(15, 60)]
    assert (min(each_second) > 10, max(each_second) < 17) == (True, True), "13 on average"


def test_pull_requests_of_one_number_in_many_repositories_are_spread_as_well() -> None:
    found = sorted(turns((asked(7, repository=900 + one) for one in range(30)), 30))
    assert all(after - before > SPREAD.gap / 3 for before, after in pairwise(found))


@pytest.mark.parametrize("trigger", Trigger)
def test_who_is_alone_is_judged_when_github_said(trigger: Trigger) -> None:
    assert turns([asked(3, trigger)], 1) == [AT]


def test_what_somebody_asked_for_by_hand_comes_before_the_rest() -> None:
    requests = [asked(number, trigger) for number, trigger in enumerate(Trigger)]
    found = {one: SPREAD.retry_at(AT, one, 30) for one in requests}
    by_hand = [at for one, at in found.items() if one.trigger in MANUAL_TRIGGERS]
    rest = [at for one, at in found.items() if one.trigger not in MANUAL_TRIGGERS]
    assert max(by_hand) < min(rest)


def test_the_same_pull_request_has_the_same_turn() -> None:
    assert len(set(turns([asked(3)] * 3, 30))) == 1
