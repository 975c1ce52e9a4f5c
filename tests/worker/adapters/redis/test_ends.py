"""What is remembered of a pull request goes some time after it was closed, with all that is written of it then; not before."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, NEWER, becomes_due, close_pull, pull, wish
from tests.worker.adapters.redis.test_kept import entry
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.overrides import Contest, Override
from worker.domain.ids import EvalId
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, LeasedJob
from worker.domain.verdict.budget import Caps

LEFT = timedelta(days=90)
REMEMBERED = (keys.ledger, keys.decisions, keys.pull_request_cost)


def judging(store: Store, head_sha: str = HEAD) -> LeasedJob:
    intake.request_judging(store.client, wish(head_sha=head_sha), store.timing)
    becomes_due(store, pull())
    given = store.pulls.next_due(f"call-{head_sha}", DispatchLimits(3, 3))
    assert given is not None
    taken = store.pulls.take_lease(pull(), given.fence)
    assert taken is not None
    return taken


def recorded(store: Store, taken: LeasedJob, name: str) -> None:
    store.ledger.append(pull(), entry(name, taken.lease.fence))


def pays(store: Store, name: str) -> None:
    store.budget(Caps(), SystemClock()).reserve(name, pull(), Decimal("0.01"))


def contests(store: Store, at: PullRef | None = None) -> None:
    word = Contest(login="bob", reason="It is there.", at=AT, eval_id=EvalId("a"))
    store.decisions.contest(at or pull(), HEAD, word)


def closes(store: Store) -> None:
    close_pull(store, pull(), LEFT)


def without_end(store: Store) -> set[str]:
    """What stays for good of what is kept under the pull request's number."""
    of_pull = f":{pull().repository_id}:{pull().number}"
    names = [text(one) for one in items(store.client.call("KEYS", "assay:*"))]
    return {one.split(":")[2] for one in names if of_pull in one and store.client.call("TTL", one) == -1}


def days_left(store: Store) -> set[int]:
    """Of the ledger and what goes with it; 0: for good."""
    lives = {whole(store.client.call("TTL", key(pull()).name)) for key in REMEMBERED}
    return {round(one / 86_400) for one in lives}


def test_nothing_that_is_written_after_the_close_stays_for_good(store: Store) -> None:
    taken = judging(store)
    recorded(store, taken, "a")
    store.pulls.finish(taken.lease, Finish.JUDGED)
    closes(store)
    pays(store, "after")
    contests(store)
    assert (without_end(store), days_left(store)) == (set(), {90})


def test_nothing_of_a_first_judging_that_ends_after_the_close_stays_for_good(store: Store) -> None:
    taken = judging(store)
    closes(store)
    pays(store, "between")
    contests(store)
    assert without_end(store) == {"pull"}, "it is looked at once more"
    recorded(store, taken, "a")
    assert (without_end(store), days_left(store)) == ({"pull"}, {90})


def test_what_was_there_at_the_close_goes_whoever_judges_then(store: Store) -> None:
    taken = judging(store)
    pays(store, "before")
    contests(store)
    recorded(store, taken, "a")
    assert without_end(store) == {"pull", "ledger", "decisions", "spent"}
    closes(store)
    recorded(store, taken, "b")
    contests(store)
    assert days_left(store) == {90}


def test_what_is_judged_anew_for_curiosity_keeps_nothing_alive(store: Store) -> None:
    taken = judging(store)
    recorded(store, taken, "a")
    closes(store)
    store.ledger.append(pull(), entry("b", taken.lease.fence, parent_eval_id=EvalId("a")))
    assert store.client.call("TTL", keys.ledger(pull()).name) == LEFT.total_seconds()


def closed(store: Store) -> None:
    taken = judging(store)
    pays(store, "before")
    contests(store)
    recorded(store, taken, "a")
    closes(store)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    assert days_left(store) == {90}


def test_a_reopened_one_lives_on_with_all_that_was_known_of_it(store: Store) -> None:
    closed(store)
    intake.request_judging(store.client, wish(trigger=Trigger.REOPENED), store.timing)
    assert days_left(store) == {0}
    pays(store, "again")
    store.decisions.override(pull(), HEAD, Override(login="bob", reason="fine", at=AT, eval_id=None))
    assert days_left(store) == {0}


def test_one_that_is_judged_again_lives_on_though_nobody_heard_that_it_was_reopened(store: Store) -> None:
    closed(store)
    recorded(store, judging(store, NEWER), "b")
    assert days_left(store) == {0}


def test_one_that_an_older_version_reopened_lives_on(store: Store) -> None:
    closed(store)
    ends = text(store.client.call("HGET", keys.pull(pull()).name, "ends"))
    intake.request_judging(store.client, wish(trigger=Trigger.REOPENED), store.timing)
    taken = judging(store, NEWER)
    store.client.call("HSET", keys.pull(pull()).name, "ends", ends)  # that version leaves it there
    recorded(store, taken, "b")
    pays(store, "again")
    contests(store)
    assert days_left(store) == {0}


def test_the_next_close_counts_from_then(store: Store) -> None:
    closed(store)
    intake.request_judging(store.client, wish(trigger=Trigger.REOPENED), store.timing)
    taken = judging(store, NEWER)
    close_pull(store, pull(), timedelta(days=40))
    recorded(store, taken, "b")
    assert days_left(store) == {40}


def test_money_for_what_is_judged_anew_long_after_the_close_goes_with_the_ledger(store: Store) -> None:
    closed(store)
    store.client.call("DEL", keys.pull(pull()).name, keys.pull_request_cost(pull()).name)
    pays(store, "anew")
    assert days_left(store) == {90}


@pytest.mark.parametrize("is_closed", [True, False])
def test_words_about_one_that_nobody_judged_go_after_its_close_alone(store: Store, *, is_closed: bool) -> None:
    contests(store)
    if is_closed:
        closes(store)
        contests(store)
    left = whole(store.client.call("TTL", keys.decisions(pull()).name))
    assert left == (LEFT.total_seconds() if is_closed else -1)
