"""Queues of what is still to be done: an item comes again until it is done, and one look tells what all of them hold."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from tests.worker.adapters.redis.outcome_samples import revert_event
from tests.worker.adapters.redis.store_samples import HEAD, NEWER, command_request, judge_request, pull_ref
from tests.worker.adapters.redis.test_merge_groups import merge_group
from worker.adapters.redis import keys
from worker.adapters.redis.connection.encryption import Codec
from worker.adapters.redis.delayed_queue import WORK_KEYS, RedisCommandQueue, RedisTaskQueue, find_pending_work
from worker.adapters.redis.keys import COMMENT_JOBS, SCANS, QueueKeys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.work import DispatchLimits, PendingWork

# Tasks about a verdict


def of_verdict(number: int, head_sha: Sha) -> dict[str, Any]:
    eval_id = EvalId(f"eval-{head_sha[0]}")
    return {"pull": pull_ref(number), "head_sha": head_sha, "eval_id": eval_id, "delivery_id": DeliveryId("d")}


def letter(number: int = 1, head_sha: Sha = HEAD) -> CommentJob:
    return CommentJob(**of_verdict(number, head_sha))


def scan(number: int = 1, head_sha: Sha = HEAD) -> SarifUpload:
    return SarifUpload(**of_verdict(number, head_sha), origin=EvalId("eval"))


class Kind(NamedTuple):
    name: str
    made: Callable[..., CommentJob | SarifUpload]
    keys: QueueKeys

    def queue(self, store: Store) -> RedisTaskQueue[Any]:
        return getattr(store, self.name)


on_each_kind = pytest.mark.parametrize(
    "kind",
    [Kind("comment_jobs", letter, COMMENT_JOBS), Kind("scans", scan, SCANS)],
    ids=["comments", "scans"],
)


@on_each_kind
def test_one_comes_again_until_it_is_done_and_leaves_nothing(store: Store, kind: Kind) -> None:
    queue, task = kind.queue(store), kind.made()
    queue.put(task)
    queue.put(kind.made(2))
    first, other = queue.next(), queue.next()
    assert first is not None
    assert other is not None
    assert [(first.follow_up, first.attempt), other.follow_up] == [(task, 1), kind.made(2)]
    assert (queue.is_waiting(pull_ref()), queue.is_waiting(pull_ref(3)), queue.next()) == (True, False, None)
    queue.complete(other)
    queue.postpone(task, timedelta(0))
    again = queue.next()
    assert again is not None
    assert again.attempt == 2
    for _ in range(2):
        queue.complete(again)
    queue.postpone(task, timedelta(0))
    assert (queue.is_waiting(pull_ref()), queue.next()) == (False, None)
    assert [store.client.call("EXISTS", key.name) for key in kind.keys.keys] == [0, 0, 0]


@on_each_kind
def test_a_newer_verdict_takes_the_place_of_the_older_and_is_not_done_with_it(store: Store, kind: Kind) -> None:
    queue = kind.queue(store)
    queue.put(kind.made())
    older = queue.next()
    assert older is not None
    queue.put(kind.made(head_sha=NEWER))
    queue.complete(older)
    newer = queue.next()
    assert newer is not None
    assert (newer.follow_up.head_sha, newer.attempt) == (NEWER, 1)


def test_a_letter_that_another_version_wrote_in_other_words_is_done_all_the_same(store: Store) -> None:
    store.comment_jobs.put(letter())
    fields = {"delivery_id": "d", "eval_id": "e", "head_sha": HEAD, "pull": pull_ref().model_dump()}
    store.client.call("HSET", COMMENT_JOBS.texts.name, keys.pull(pull_ref()).name, json.dumps(fields))
    opened = store.comment_jobs.next()
    assert opened is not None
    assert opened.follow_up == letter().model_copy(update={"eval_id": "e"})
    store.comment_jobs.complete(opened)
    assert not store.comment_jobs.is_waiting(pull_ref())


# Commands


def test_a_command_is_taken_down_once_and_stays_until_done(store: Store) -> None:
    assert store.commands.next() is None
    assert store.commands.put(command_request()) is IntakeOutcome.QUEUED
    assert store.commands.put(command_request()) is IntakeOutcome.DUPLICATE
    first = store.commands.next()
    assert first is not None
    assert (first.command, first.attempt) == (command_request(), 1)
    assert store.commands.next() is None, "somebody is at it"
    store.commands.postpone(command_request(), timedelta(0))
    again = store.commands.next()
    assert again is not None
    assert again.attempt == 2
    store.commands.complete(command_request())
    assert store.commands.next() is None
    assert store.commands.put(command_request()) is IntakeOutcome.DUPLICATE


def test_a_command_and_the_request_that_follows_it_may_share_their_delivery(store: Store) -> None:
    store.commands.put(command_request("d"))
    assert store.pulls.request_judging(judge_request(delivery_id="d")).outcome is IntakeOutcome.QUEUED


@pytest.mark.parametrize("has_key", [True, False])
def test_what_is_written_beside_a_command_waits_encrypted_and_is_empty_without_its_key(
    store: Store, caplog: pytest.LogCaptureFixture, *, has_key: bool
) -> None:
    written = command_request().model_copy(update={"reason": "canary-words é"})
    store.commands.put(written)
    assert "canary" not in str(store.client.call("HGETALL", keys.COMMANDS.texts.name))
    codec = store.codec if has_key else Codec([b"o" * 32])
    read = RedisCommandQueue(store.client, codec, store.timing).next()
    assert read is not None
    assert read.command == (written if has_key else command_request())
    assert "canary" not in caplog.text


# All queues

PUTS: dict[PendingWork, tuple[Callable[[Store], object], Callable[[Store], object]]] = {
    PendingWork.ANSWER_COMMAND: (
        lambda store: store.commands.put(command_request()),
        lambda store: store.commands.next(),
    ),
    PendingWork.WRITE_COMMENT: (
        lambda store: store.comment_jobs.put(letter()),
        lambda store: store.comment_jobs.next(),
    ),
    PendingWork.UPLOAD_SARIF: (lambda store: store.scans.put(scan()), lambda store: store.scans.next()),
    PendingWork.RECORD_OUTCOMES: (
        lambda store: store.pull_request_events.put(revert_event()),
        lambda store: store.pull_request_events.next(),
    ),
    PendingWork.ANSWER_GROUP: (lambda store: store.groups.put(merge_group()), lambda store: store.groups.next()),
    PendingWork.OPEN_CHECK: (
        lambda store: store.pulls.request_judging(judge_request()),
        lambda store: store.pulls.next_to_open(),
    ),
}


@pytest.mark.parametrize("work", PUTS)
def test_what_waits_is_due_until_somebody_is_at_it(store: Store, work: PendingWork) -> None:
    put, take = PUTS[work]
    assert find_pending_work(store.client, "call") == frozenset()
    put(store)
    beside = {PendingWork.JUDGE} if work is PendingWork.OPEN_CHECK else set[PendingWork]()
    assert find_pending_work(store.client, "call") == {work, *beside}
    assert take(store) is not None
    assert take(store) is None
    assert find_pending_work(store.client, "call") == beside


@pytest.mark.parametrize(("work", "order"), [pytest.param(work, order, id=order.name) for work, order in WORK_KEYS])
def test_each_queue_is_due_by_its_own_first_moment(store: Store, work: PendingWork, order: keys.Key) -> None:
    store.client.call("ZADD", order.name, 4_000_000_000_000, "later")
    assert find_pending_work(store.client, "call") == frozenset()
    store.client.call("ZADD", order.name, 1, "now")
    assert find_pending_work(store.client, "call") == {work}


def test_every_queue_is_looked_at() -> None:
    turns = {keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS}
    queues = {value.order for value in vars(keys).values() if isinstance(value, QueueKeys)}
    assert queues | turns | {keys.LOOKAHEAD} == {order for _, order in WORK_KEYS}


def test_a_judging_whose_answer_was_lost_is_due_for_the_same_call_alone(store: Store) -> None:
    limits = DispatchLimits(1, 4, 2)
    store.pulls.request_judging(judge_request())
    job = store.pulls.next_due("call", limits)
    assert job
    assert store.pulls.next_due("other", limits) is None
    assert PendingWork.JUDGE not in find_pending_work(store.client, "other")
    assert PendingWork.JUDGE in find_pending_work(store.client, "call")
    assert store.pulls.next_due("call", limits) == job
