"""Checks that were opened again after the backup that Redis was restored from."""

from collections.abc import Callable, Sequence

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, pull, wish
from tests.worker.adapters.redis.test_pull_requests import taken
from worker.adapters.redis import keys
from worker.adapters.redis.pull_requests import Finish
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, InstallationId
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.judge.merge_group import PublishedCheckRun
from worker.scheduling.reopened_checks import MAX_HEADS, ReopenedCheckSweep
from worker.wiring.reconcile import RedisEndedChecks

HERE, CHECK = InstallationId(100), CheckRunId(77)
OPEN, ENDED = PublishedCheckRun(CHECK, None, "Judging"), PublishedCheckRun(CHECK, "success", "Accepted")


class GitHub:
    """Shows the same for every head. `then` happens between its answer and what is made of it."""

    def __init__(self, run: PublishedCheckRun | None) -> None:
        self.run = run
        self.asked: list[int] = []
        self.then: Callable[[], object] = lambda: None

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> Sequence[PublishedCheckRun | None]:
        assert installation == HERE
        self.asked += [one.pull.number for one in asked]
        self.then()
        return [self.run] * len(asked)


def judged(store: Store, ref: PullRef | None = None) -> None:
    store.pulls.request_judging(wish())
    store.pulls.finish(taken(store).lease, Finish.JUDGED)
    store.checks().record_concluded(ref or pull(), HEAD)


def restored(store: Store) -> None:
    """What is known was noted by a server that is none any more."""
    store.client.call("HSET", keys.pull(pull()).name, "served", "another")


def look(store: Store, github: GitHub, *numbers: int) -> int:
    known = [wish(number) for number in numbers or (1,)]
    return ReopenedCheckSweep(github, RedisEndedChecks(store)).requeue_reopened(HERE, known)


def test_what_this_server_saw_judged_is_asked_about_no_more(store: Store) -> None:
    judged(store)
    github = GitHub(OPEN)
    assert (look(store, github), github.asked) == (0, [])


def test_a_check_that_is_open_at_github_alone_is_looked_at_again_and_once(store: Store) -> None:
    judged(store)
    restored(store)
    github = GitHub(OPEN)
    assert look(store, github) == 1
    again = taken(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    assert again.request.requested_at == AT, "what answered that is an answer still"
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert (look(store, github), github.asked) == (0, [1])
    restored(store)
    assert look(store, github) == 0, "this server asked for that check once"


@pytest.mark.parametrize("run", [ENDED, None])
def test_one_that_ended_at_github_too_is_asked_about_once(store: Store, run: PublishedCheckRun | None) -> None:
    judged(store)
    restored(store)
    github = GitHub(run)
    assert [look(store, github), look(store, github)] == [0, 0]
    assert github.asked == [1]


def test_nobody_is_doubted_who_is_to_be_judged_or_whose_check_is_watched(store: Store) -> None:
    judged(store)
    restored(store)
    store.checks().record_opened(pull(), HEAD, CHECK)
    github = GitHub(OPEN)
    assert look(store, github) == 0
    store.checks().record_concluded(pull(), HEAD)
    store.pulls.request_judging(wish())
    assert (look(store, github), github.asked) == (0, [])


def test_what_happens_after_github_answered_leaves_its_answer_behind(store: Store) -> None:
    judged(store)
    restored(store)
    github = GitHub(OPEN)
    github.then = lambda: store.pulls.request_judging(wish())
    assert look(store, github) == 0, "who judges by now ends the check himself"
    assert taken(store).request.trigger is not Trigger.LATE


def test_what_happens_while_it_is_found_as_known_leaves_it_in_doubt(store: Store) -> None:
    judged(store)
    restored(store)
    before = store.checks().doubt(pull(), HEAD)
    store.client.call("HINCRBY", keys.pull(pull()).name, "seq", 1)
    store.checks().is_as_known(pull(), HEAD, before)
    assert store.checks().doubt(pull(), HEAD) not in {"", before}


def test_one_that_was_only_greeted_is_judged_if_somebody_had_asked_for_that(store: Store) -> None:
    store.pulls.record_initial_head(pull(), HEAD)
    assert look(store, GitHub(OPEN)) == 1
    assert taken(store).request.delivery_id.startswith(f"late-check-{CHECK}-")


def test_one_that_was_greeted_and_ended_at_github_too_is_asked_about_once(store: Store) -> None:
    store.pulls.record_initial_head(pull(), HEAD)
    github = GitHub(ENDED)
    assert [look(store, github), look(store, github)] == [0, 0]
    assert github.asked == [1]
    assert store.pulls.find_initial_head(pull()) == HEAD


def test_a_head_that_nobody_named_is_none(store: Store) -> None:
    github = GitHub(OPEN)
    assert (
        ReopenedCheckSweep(github, RedisEndedChecks(store)).requeue_reopened(
            HERE, [wish().model_copy(update={"head_sha": None})]
        )
        == 0
    )
    assert github.asked == []


def test_one_look_asks_about_so_many_and_the_next_one_about_the_others(store: Store) -> None:
    for number in range(1, MAX_HEADS + 3):
        store.pulls.record_initial_head(pull(number), HEAD)
    github = GitHub(ENDED)
    look(store, github, *range(1, MAX_HEADS + 3))
    assert len(github.asked) == MAX_HEADS
    look(store, github, *range(1, MAX_HEADS + 3))
    assert github.asked[MAX_HEADS:] == [MAX_HEADS + 1, MAX_HEADS + 2]


def test_what_is_not_known_of_a_pull_request_is_not_made_by_asking_about_it(store: Store) -> None:
    store.pulls.record_initial_head(pull(), HEAD)
    assert look(store, GitHub(ENDED)) == 0
    assert store.client.call("EXISTS", keys.pull(pull()).name) == 0, "nobody ever asked for it"
    store.first_seen.remove(HERE, [pull().repository_id])
    store.client.call("DEL", keys.first_seen(HERE, pull().repository_id).name)  # as it is forgotten
    assert look(store, GitHub(ENDED)) == 0
    left = [keys.pull(pull()).name, keys.first_seen(HERE, pull().repository_id).name]
    assert [store.client.call("EXISTS", name) for name in left] == [0, 0]
