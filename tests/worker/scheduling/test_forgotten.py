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
from worker.judge.merge_group import Published
from worker.scheduling.forgotten import MOST_ASKED, Forgotten
from worker.wiring.watch_court import RedisEnds

HERE, CHECK = InstallationId(100), CheckRunId(77)
OPEN, ENDED = Published(CHECK, None, "Judging"), Published(CHECK, "success", "Accepted")


class GitHub:
    """Shows the same for every head. `then` happens between its answer and what is made of it."""

    def __init__(self, run: Published | None) -> None:
        self.run = run
        self.asked: list[int] = []
        self.then: Callable[[], object] = lambda: None

    def shown(self, installation: InstallationId, asked: Sequence[JudgeRequest]) -> Sequence[Published | None]:
        assert installation == HERE
        self.asked += [one.pull.number for one in asked]
        self.then()
        return [self.run] * len(asked)


def judged(store: Store, ref: PullRef | None = None) -> None:
    store.pulls.want(wish())
    store.pulls.finish(taken(store).lease, Finish.JUDGED)
    store.checks().concluded(ref or pull(), HEAD)


def restored(store: Store) -> None:
    """What is known was noted by a server that is none any more."""
    store.wire.call("HSET", keys.pull(pull()).name, "served", "another")


def look(store: Store, github: GitHub, *numbers: int) -> int:
    known = [wish(number) for number in numbers or (1,)]
    return Forgotten(github, RedisEnds(store)).look(HERE, known)


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
def test_one_that_ended_at_github_too_is_asked_about_once(store: Store, run: Published | None) -> None:
    judged(store)
    restored(store)
    github = GitHub(run)
    assert [look(store, github), look(store, github)] == [0, 0]
    assert github.asked == [1]


def test_nobody_is_doubted_who_is_to_be_judged_or_whose_check_is_watched(store: Store) -> None:
    judged(store)
    restored(store)
    store.checks().opened(pull(), HEAD, CHECK)
    github = GitHub(OPEN)
    assert look(store, github) == 0
    store.checks().concluded(pull(), HEAD)
    store.pulls.want(wish())
    assert (look(store, github), github.asked) == (0, [])


def test_what_happens_after_github_answered_leaves_its_answer_behind(store: Store) -> None:
    judged(store)
    restored(store)
    github = GitHub(OPEN)
    github.then = lambda: store.pulls.want(wish())
    assert look(store, github) == 0, "who judges by now ends the check himself"
    assert taken(store).request.trigger is not Trigger.LATE


def test_what_happens_while_it_is_found_as_known_leaves_it_in_doubt(store: Store) -> None:
    judged(store)
    restored(store)
    before = store.checks().doubt(pull(), HEAD)
    store.wire.call("HINCRBY", keys.pull(pull()).name, "seq", 1)
    store.checks().is_as_known(pull(), HEAD, before)
    assert store.checks().doubt(pull(), HEAD) not in {"", before}


def test_one_that_was_only_greeted_is_judged_if_somebody_had_asked_for_that(store: Store) -> None:
    store.pulls.greeted(pull(), HEAD)
    assert look(store, GitHub(OPEN)) == 1
    assert taken(store).request.delivery_id.startswith(f"late-check-{CHECK}-")


def test_one_that_was_greeted_and_ended_at_github_too_is_asked_about_once(store: Store) -> None:
    store.pulls.greeted(pull(), HEAD)
    github = GitHub(ENDED)
    assert [look(store, github), look(store, github)] == [0, 0]
    assert github.asked == [1]
    assert store.pulls.greeted_head(pull()) == HEAD


def test_a_head_that_nobody_named_is_none(store: Store) -> None:
    github = GitHub(OPEN)
    assert Forgotten(github, RedisEnds(store)).look(HERE, [wish().model_copy(update={"head_sha": None})]) == 0
    assert github.asked == []


def test_one_look_asks_about_so_many_and_the_next_one_about_the_others(store: Store) -> None:
    for number in range(1, MOST_ASKED + 3):
        store.pulls.greeted(pull(number), HEAD)
    github = GitHub(ENDED)
    look(store, github, *range(1, MOST_ASKED + 3))
    assert len(github.asked) == MOST_ASKED
    look(store, github, *range(1, MOST_ASKED + 3))
    assert github.asked[MOST_ASKED:] == [MOST_ASKED + 1, MOST_ASKED + 2]


def test_what_is_not_known_of_a_pull_request_is_not_made_by_asking_about_it(store: Store) -> None:
    store.pulls.greeted(pull(), HEAD)
    assert look(store, GitHub(ENDED)) == 0
    assert store.wire.call("EXISTS", keys.pull(pull()).name) == 0, "nobody ever asked for it"
    store.arrivals.gone(HERE, [pull().repository_id])
    store.wire.call("DEL", keys.arrival(HERE, pull().repository_id).name)  # as it is forgotten
    assert look(store, GitHub(ENDED)) == 0
    left = [keys.pull(pull()).name, keys.arrival(HERE, pull().repository_id).name]
    assert [store.wire.call("EXISTS", name) for name in left] == [0, 0]
