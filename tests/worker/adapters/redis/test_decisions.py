"""What people said about heads, in a real Redis."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, NEWER, command, pull, wish
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.connection.encryption import Codec
from worker.adapters.redis.delayed_queue import RedisCommandQueue
from worker.adapters.redis.keys import COMMANDS
from worker.adapters.redis.records.documents import MOST_ANSWERS
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.overrides import NO_DECISIONS, Contest, Override, ReviewDecision
from worker.domain.ids import DeliveryId, EvalId
from worker.domain.judge_request import FirstSeen, Trigger

OVERRIDE = Override(login="alice", reason="canary-words", at=AT, eval_id=EvalId("e1"))
CONTEST = Contest(login="bob", reason="canary-words", at=AT)
ONE, OTHER = DeliveryId("one"), DeliveryId("other")


def test_what_is_said_is_about_one_head_and_no_other(store: Store) -> None:
    store.decisions.override(pull(), HEAD, OVERRIDE)
    assert store.decisions.find_decisions(pull(), HEAD).override == OVERRIDE
    assert store.decisions.find_decisions(pull(), NEWER) == NO_DECISIONS
    assert store.decisions.find_decisions(pull(2), HEAD) == NO_DECISIONS


def test_the_first_override_stands(store: Store) -> None:
    assert store.decisions.override(pull(), HEAD, OVERRIDE)
    assert not store.decisions.override(pull(), HEAD, OVERRIDE.model_copy(update={"login": "carol"}))
    assert store.decisions.find_decisions(pull(), HEAD).override == OVERRIDE


@pytest.mark.parametrize("draft", [False, True])
def test_an_override_ends_where_the_pull_request_goes_into_another_base(store: Store, draft: bool) -> None:  # noqa: FBT001 - pytest gives it
    store.decisions.override(pull(), HEAD, OVERRIDE)
    store.pulls.request_judging(wish(trigger=Trigger.EDITED))
    assert store.decisions.find_decisions(pull(), HEAD).override == OVERRIDE
    store.pulls.request_judging(wish(trigger=Trigger.BASE, draft=draft))
    assert store.decisions.find_decisions(pull(), HEAD) == NO_DECISIONS
    later = OVERRIDE.model_copy(update={"login": "carol", "at": SystemClock().now() + timedelta(seconds=1)})
    assert store.decisions.override(pull(), HEAD, later)
    assert store.decisions.find_decisions(pull(), HEAD).override == later


def test_what_is_noted_of_another_base_goes_with_the_ledger(store: Store) -> None:
    store.client.call("SET", keys.ledger(pull()).name, "x", "EX", 100)
    store.pulls.request_judging(wish(trigger=Trigger.BASE))
    assert 0 < whole(store.client.call("TTL", keys.decisions(pull()).name)) <= 100


def test_words_and_names_are_encrypted(store: Store) -> None:
    store.decisions.override(pull(), HEAD, OVERRIDE)
    store.decisions.contest(pull(), HEAD, CONTEST)
    store.decisions.record_requested_reviewers(pull(), ("canary-words",))
    store.decisions.claim_action(pull(), "canary-words", ONE, AT)
    store.decisions.claim_answer(pull(), "canary-words", ONE)
    kept = [store.client.call("HGETALL", make(pull()).name) for make in (keys.decisions, keys.answered_topics)]
    assert not any(word in str(kept) for word in ("canary", "alice", "bob"))


def test_a_contest_is_open_until_it_was_judged_and_stays_on_record(store: Store) -> None:
    store.decisions.contest(pull(), HEAD, CONTEST)
    said = store.decisions.find_decisions(pull(), HEAD)
    assert (said.open_contest_reason, said.rejudge_requested_at) == ("canary-words", AT)
    store.decisions.record_judged(pull(), HEAD, said)
    after = store.decisions.find_decisions(pull(), HEAD)
    assert (after.contest, after.rejudge_requested_at) == (CONTEST, None)


def test_what_is_asked_again_meanwhile_stays_open(store: Store) -> None:
    store.decisions.contest(pull(), HEAD, CONTEST)
    store.decisions.force(pull(), HEAD, AT)
    before = store.decisions.find_decisions(pull(), HEAD)
    again = CONTEST.model_copy(update={"at": AT + timedelta(minutes=1)})
    store.decisions.contest(pull(), HEAD, again)
    store.decisions.record_judged(pull(), HEAD, before)
    after = store.decisions.find_decisions(pull(), HEAD)
    assert (after.contest, after.contested_at, after.forced_at) == (again, again.at, None)


def test_nothing_asked_for_leaves_nothing_to_be_done(store: Store) -> None:
    store.decisions.record_judged(pull(), HEAD, NO_DECISIONS)
    assert store.client.call("EXISTS", keys.decisions(pull()).name) == 0


def test_the_newest_review_counts(store: Store) -> None:
    for is_approved in (True, False):
        store.decisions.review(pull(), HEAD, ReviewDecision(login="alice", at=AT, is_approved=is_approved))
    review = store.decisions.find_decisions(pull(), HEAD).review
    assert review is not None
    assert not review.is_approved


def test_nobody_is_asked_for_a_review_twice(store: Store) -> None:
    assert store.decisions.find_requested_reviewers(pull()) is None
    store.decisions.record_requested_reviewers(pull(), ("alice", "acme/platform"))
    store.decisions.record_requested_reviewers(pull(), ())
    assert store.decisions.find_requested_reviewers(pull()) == ("alice", "acme/platform")
    store.decisions.record_requested_reviewers(pull(2), ())
    assert store.decisions.find_requested_reviewers(pull(2)) == ()


def test_the_same_words_are_followed_once_and_a_broken_errand_goes_on(store: Store) -> None:
    later = AT + timedelta(minutes=1)
    assert store.decisions.claim_action(pull(), "5 rejudge", ONE, AT) == AT
    assert store.decisions.claim_action(pull(), "5 rejudge", ONE, later) == AT
    assert store.decisions.claim_action(pull(), "5 rejudge", OTHER, later) is None
    assert store.decisions.claim_action(pull(), "6 rejudge", OTHER, later) == later


def test_nobody_is_told_the_same_twice_nor_for_ever(store: Store) -> None:
    assert store.decisions.claim_answer(pull(), "bob role", ONE)
    assert store.decisions.claim_answer(pull(), "bob role", ONE), "its errand broke off"
    assert not store.decisions.claim_answer(pull(), "bob role", OTHER)
    told = [store.decisions.claim_answer(pull(), f"bob {number}", OTHER) for number in range(100)]
    assert sum(told) == MOST_ANSWERS - 1
    assert store.decisions.claim_answer(pull(2), "bob role", OTHER)


def test_when_the_newest_head_came_is_known(store: Store) -> None:
    assert store.decisions.newest_arrival(pull()) is None
    store.pulls.request_judging(wish(arrived=FirstSeen(head_sha=HEAD, at=AT)))
    arrival = store.decisions.newest_arrival(pull())
    assert arrival is not None
    assert (arrival.head_sha, arrival.at) == (HEAD, AT)


def test_what_is_written_beside_a_command_waits_encrypted(store: Store) -> None:
    given = command().model_copy(update={"reason": "canary-words é"})
    store.commands.put(given)
    assert "canary" not in str(store.client.call("HGETALL", COMMANDS.texts.name))
    found = store.commands.next()
    assert found is not None
    assert found.command == given


def test_words_whose_key_is_gone_are_as_if_nobody_had_written_them(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.commands.put(command().model_copy(update={"reason": "canary-words"}))
    other = RedisCommandQueue(store.client, Codec([b"o" * 32]), store.timing)
    found = other.next()
    assert found is not None
    assert (found.command, found.command.reason) == (command(), "")
    assert "canary" not in caplog.text
