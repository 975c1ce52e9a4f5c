"""The one check run of a merge group: told, and closed when its time is over."""

import pytest

from tests.worker.processes.scripted_court import Checks, World
from tests.worker.store.played import pull
from tests.worker.store.test_groups import HEAD, group
from worker.domain.ids import CheckRunId
from worker.domain.merge_group import GroupEnd
from worker.group_court import NO_PULL, GroupScreen
from worker.render.group import Place, looking, waiting
from worker.store.connection import Store
from worker.system_clock import SystemClock

SITE = "https://github.com"
PLACE = Place(SITE, "acme/widgets", 7)
NAME = f"100/{NO_PULL} {HEAD}"
FAILED = "action_required: Not judged: Assay failed"


@pytest.fixture
def screen(store: Store) -> GroupScreen:
    return GroupScreen(lambda _: Checks(store), store.checks())


def check_of(store: Store) -> CheckRunId:
    return store.checks().open_checks(pull(NO_PULL))[HEAD]


def test_one_that_nobody_answered_in_time_is_closed_and_lets_nothing_pass(store: Store, screen: GroupScreen) -> None:
    screen.show(group(), 7, looking(PLACE))
    assert screen.is_open(group())
    screen.expire(group(), check_of(store), SITE)
    assert (World(store).checks(), screen.is_open(group())) == ({NAME: FAILED}, False)


def test_one_of_a_group_that_names_no_pull_request_is_closed_too(store: Store, screen: GroupScreen) -> None:
    strange = group().model_copy(update={"head_ref": "refs/heads/other"})
    screen.show(strange, 0, looking(PLACE))
    screen.expire(strange, check_of(store), SITE)
    assert World(store).checks() == {NAME: FAILED}


def test_one_of_a_group_that_github_gave_up_says_so(store: Store, screen: GroupScreen) -> None:
    screen.show(group(), 7, looking(PLACE))
    screen.expire(group(ended=GroupEnd.INVALIDATED), check_of(store), SITE)
    assert World(store).checks() == {NAME: "cancelled: Not needed any more"}


def test_one_that_was_answered_meanwhile_stays_as_it_is(store: Store, screen: GroupScreen) -> None:
    screen.show(group(), 7, waiting(PLACE, SystemClock().now()))
    said = World(store).checks()
    screen.expire(group(), CheckRunId(99), SITE)
    assert World(store).checks() == said
