"""The one check run of a merge group: told, and closed when its time is over. Invariant: no answer is left written over."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import HEAD as PULLS_HEAD
from tests.worker.adapters.redis.played import pull
from tests.worker.adapters.redis.test_merge_groups import HEAD, group
from tests.worker.adapters.redis.watching import Standing
from tests.worker.scheduling.scripted_court import Checks, World
from tests.worker.scheduling.test_answering_groups import Office, Played, accepted_on_record
from worker.adapters.github.merge_groups import MergeGroupHead
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.check_run import CheckContent
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import CheckRunId
from worker.domain.judge_request import JudgeRequest
from worker.errors import Forbidden, Outage
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.merge_group import GroupLocation, looking_content, waiting_content
from worker.scheduling.merge_queue import MergeGroupHandler
from worker.wiring.app import NO_PULL, MergeGroupCheck

PLACE = GroupLocation("https://github.com", "acme/widgets", 7)
NAME = f"100/{NO_PULL} {HEAD}"
FAILED = "action_required: Not judged: Assay failed"
ACCEPTED = "success: Accepted with #7: the same change"


@pytest.fixture
def office(store: Store) -> Office:
    """GitHub tells that pull request 7 is accepted."""
    made = Office(
        store, Played(MergeGroupHead(PULLS_HEAD, is_closed=False)), Standing(group().at + timedelta(seconds=1))
    )
    accepted_on_record(made)
    return made


def screen_of(store: Store, checks: Checks | None = None) -> MergeGroupCheck:
    return MergeGroupCheck(lambda _: checks or Checks(store), store.checks())


def clerk(office: Office, screen: MergeGroupCheck | None = None) -> MergeGroupHandler:
    """Who answers and closes groups, before one and the same GitHub."""
    return replace(office.clerk, check=screen or screen_of(office.store))


def answers(office: Office) -> bool:
    """The next group is looked at; False: there is none."""
    opened = office.store.groups.next()
    if opened is not None:
        clerk(office).answer(opened)
    return opened is not None


def check_of(store: Store) -> CheckRunId:
    return store.checks().open_checks(pull(NO_PULL))[HEAD]


@pytest.fixture
def screen(store: Store) -> MergeGroupCheck:
    return screen_of(store)


def test_one_that_nobody_answered_in_time_is_closed_and_lets_nothing_pass(
    office: Office, screen: MergeGroupCheck
) -> None:
    screen.show(group(), 7, looking_content(PLACE), no_lease)
    assert screen.is_open(group())
    clerk(office).expire(group(), check_of(office.store))
    assert (World(office.store).checks(), screen.is_open(group())) == ({NAME: FAILED}, False)
    assert office.store.groups.next() is None


def test_one_of_a_group_that_names_no_pull_request_is_closed_too(office: Office, screen: MergeGroupCheck) -> None:
    strange = group().model_copy(update={"head_ref": "refs/heads/other"})
    screen.show(strange, 0, looking_content(PLACE), no_lease)
    clerk(office).expire(strange, check_of(office.store))
    assert World(office.store).checks() == {NAME: FAILED}


def test_one_of_a_group_that_github_gave_up_says_so(office: Office, screen: MergeGroupCheck) -> None:
    screen.show(group(), 7, looking_content(PLACE), no_lease)
    clerk(office).expire(group(ended=GroupEnd.INVALIDATED), check_of(office.store))
    assert World(office.store).checks() == {NAME: "cancelled: Not needed any more"}


def test_one_that_was_answered_meanwhile_stays_as_it_is(office: Office, screen: MergeGroupCheck) -> None:
    screen.show(group(), 7, waiting_content(PLACE, SystemClock().now()), no_lease)
    said = World(office.store).checks()
    clerk(office).expire(group(), CheckRunId(99))
    assert World(office.store).checks() == said


class Looked(RedisClient):
    """Redis; right after it first told which checks are open, something else happens."""

    def __init__(self, store: Store, happens: Callable[[], object]) -> None:
        super().__init__(store.url.get_secret_value(), store.timing.redis_timeout)
        self._happens = [happens]

    def call(self, *command: Argument) -> Reply:
        reply = super().call(*command)
        if command == ("HGETALL", keys.checks(pull(NO_PULL)).name) and self._happens:
            self._happens.pop()()
        return reply


class Unanswered(Checks):
    """GitHub writes it, and the answer is lost."""

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        super().update(request, check, content)
        raise Outage("GitHub", "the connection broke")


@pytest.mark.parametrize("writes", [Checks, Unanswered])
def test_an_accept_that_comes_while_its_check_is_closed_as_overdue_is_shown_again(
    office: Office, screen: MergeGroupCheck, writes: type[Checks]
) -> None:
    store = office.store
    store.groups.put(group())
    screen.show(group(), 7, looking_content(PLACE), no_lease)
    late = Looked(store, lambda: answers(office))
    watchdog = clerk(office, MergeGroupCheck(lambda _: writes(store), RedisCheckRegistry(late, store.timing)))
    watchdog.expire(group(), check_of(store))
    late.close()
    assert World(store).checks() == {NAME: FAILED}, "written over"
    assert not screen.is_open(group()), "and nobody would look"
    assert answers(office)
    assert World(store).checks() == {NAME: ACCEPTED}
    assert not answers(office)


def test_an_overdue_one_that_github_does_not_let_us_close_stays_watched(
    office: Office, screen: MergeGroupCheck
) -> None:
    store = office.store
    screen.show(group(), 7, looking_content(PLACE), no_lease)
    with pytest.raises(Outage):
        clerk(office, screen_of(store, Unanswered(store))).expire(group(), check_of(store))
    assert screen.is_open(group())
    assert store.client.call("ZCARD", keys.DEADLINES.name) == 1


class Refusing(Checks):
    """GitHub lets us write nothing."""

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        raise Forbidden(f"{request.repository} {check} {content.title}")


def test_one_that_may_not_be_written_to_is_looked_for_when_it_is_answered(
    office: Office, screen: MergeGroupCheck
) -> None:
    store = office.store
    screen.show(group(), 7, looking_content(PLACE), no_lease)
    clerk(office, screen_of(store, Refusing(store))).expire(group(), check_of(store))
    assert store.client.call("ZCARD", keys.DEADLINES.name) == 0
    store.groups.put(group())
    assert answers(office)
    assert World(store).checks() == {NAME: ACCEPTED}
