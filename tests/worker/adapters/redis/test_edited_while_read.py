"""Who is judged for the first time hears of what was edited between its being read and the beginning, when nobody was known by it."""

from collections.abc import Callable
from itertools import count

import pytest

from tests.worker.adapters.redis.played import becomes_due, pull, wish
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.ids import BaseHash, InstallationId, RepositoryId, hash_base
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, LeasedJob
from worker.domain.pull_request_events import hash_issue

CALLS = count(1)
HERE = (InstallationId(100), RepositoryId(7))
MAIN, OWN = hash_base("main"), hash_base("agents-own")
ISSUE: tuple[str, int] = ("acme/specs", 9)


def handed_out(store: Store, ref: PullRef | None = None) -> LeasedJob:
    ref = ref or pull()
    store.pulls.request_judging(wish(pull=ref))
    becomes_due(store, ref)
    given = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(3, 3))
    assert given is not None
    taken = store.pulls.take_lease(ref, given.fence)
    assert taken is not None
    return taken


def issue_edited(store: Store, number: int = 9) -> list[PullRef]:
    return [one.pull for one in intake.find_requests_by_issue(store.client, HERE[0], hash_issue("acme/specs", number))]


def rules_pushed(store: Store, base: BaseHash = MAIN) -> list[PullRef]:
    return [one.pull for one in intake.find_requests_by_base(store.client, *HERE, base)]


def begins(store: Store, *issues: tuple[str, int]) -> bool:
    return store.outcomes.begin_submission(pull(), "alice", MAIN, issues)


@pytest.mark.parametrize("edit", [issue_edited, rules_pushed])
def test_what_was_edited_while_it_was_read_is_read_again_and_once(
    store: Store, edit: Callable[[Store], list[PullRef]]
) -> None:
    lease = handed_out(store).lease
    assert edit(store) == [], "nobody is known by it yet"
    assert [begins(store, ISSUE), begins(store, ISSUE)] == [False, False], "also where the answer was lost"
    store.pulls.finish(lease, Finish.AGAIN)
    handed_out(store)
    assert [begins(store, ISSUE), begins(store, ISSUE)] == [True, True]
    assert edit(store) == [pull()], "from now on it is woken"


def test_what_was_edited_before_it_was_handed_out_was_read_as_it_is_now(store: Store) -> None:
    issue_edited(store)
    rules_pushed(store)
    handed_out(store)
    assert begins(store, ISSUE)


def test_who_was_known_by_it_was_woken_and_is_not_read_again_for_it(store: Store) -> None:
    lease = handed_out(store).lease
    assert begins(store, ISSUE)
    store.pulls.finish(lease, Finish.JUDGED)
    handed_out(store)
    assert (issue_edited(store), rules_pushed(store)) == ([pull()], [pull()])
    assert begins(store, ISSUE)


def test_an_issue_that_it_closes_only_since_its_last_verdict_is_looked_after_as_well(store: Store) -> None:
    lease = handed_out(store).lease
    assert begins(store)
    store.pulls.finish(lease, Finish.JUDGED)
    handed_out(store)
    issue_edited(store)
    assert not begins(store, ISSUE)


def test_what_is_edited_elsewhere_is_nothing_to_it(store: Store) -> None:
    handed_out(store)
    issue_edited(store, 8)
    rules_pushed(store, OWN)
    intake.find_requests_by_issue(store.client, InstallationId(101), hash_issue(*ISSUE))
    intake.find_requests_by_base(store.client, HERE[0], RepositoryId(8), MAIN)
    assert begins(store, ISSUE)


def test_that_something_was_edited_is_forgotten_after_a_while_and_tells_nothing_of_it(store: Store) -> None:
    issue_edited(store)
    name = keys.last_change(HERE[0], hash_issue(*ISSUE)).name
    assert 0 < whole(store.client.call("TTL", name)) <= 86_400
    assert text(store.client.call("GET", name)).isdigit()
    assert "specs" not in name
