"""Delayed queues: an item is returned until it is completed, and one read tells which queues have work."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from tests.worker.adapters.redis.outcome_samples import revert_event
from tests.worker.adapters.redis.store_samples import HEAD, NEWER, command_request, judge_request, pull_ref, require
from tests.worker.adapters.redis.test_merge_groups import merge_group
from worker.adapters.redis import keys
from worker.adapters.redis.encryption_and_tokens import Codec
from worker.adapters.redis.keys import COMMENT_JOBS, SCANS, QueueKeys
from worker.adapters.redis.queues import WORK_KEYS, RedisCommandQueue, RedisTaskQueue, find_pending_work
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.work import DispatchLimits, PendingWork
from worker.domain.model import DeliveryId, EvalId, Sha


def verdict_fields(number: int, head_sha: Sha) -> dict[str, Any]:
    eval_id = EvalId(f"eval-{head_sha[0]}")
    return {"pull": pull_ref(number), "head_sha": head_sha, "eval_id": eval_id, "delivery_id": DeliveryId("d")}


def comment_job(number: int = 1, head_sha: Sha = HEAD) -> CommentJob:
    return CommentJob(**verdict_fields(number, head_sha))


def sarif_upload(number: int = 1, head_sha: Sha = HEAD) -> SarifUpload:
    return SarifUpload(**verdict_fields(number, head_sha), origin=EvalId("eval"))


class Kind(NamedTuple):
    name: str
    task: Callable[..., CommentJob | SarifUpload]
    keys: QueueKeys

    def queue(self, store: Store) -> RedisTaskQueue[Any]:
        return getattr(store, self.name)


for_each_kind = pytest.mark.parametrize(
    "kind",
    [Kind("comment_jobs", comment_job, COMMENT_JOBS), Kind("scans", sarif_upload, SCANS)],
    ids=["comments", "scans"],
)


@for_each_kind
def test_task_is_returned_until_it_is_completed(store: Store, kind: Kind) -> None:
    queue, task = kind.queue(store), kind.task()
    queue.put(task)
    queue.put(kind.task(2))
    first, other = require(queue.next()), require(queue.next())
    assert [(first.follow_up, first.attempt), other.follow_up] == [(task, 1), kind.task(2)]
    assert (queue.is_waiting(pull_ref()), queue.is_waiting(pull_ref(3)), queue.next()) == (True, False, None)
    queue.complete(other)
    queue.postpone(task, timedelta(0))
    again = require(queue.next())
    assert again.attempt == 2
    for _ in range(2):
        queue.complete(again)
    queue.postpone(task, timedelta(0))
    assert (queue.is_waiting(pull_ref()), queue.next()) == (False, None)
    assert [store.client.call("EXISTS", key.name) for key in kind.keys.keys] == [0, 0, 0]


@for_each_kind
def test_task_of_a_newer_verdict_replaces_the_older(store: Store, kind: Kind) -> None:
    queue = kind.queue(store)
    queue.put(kind.task())
    older = require(queue.next())
    queue.put(kind.task(head_sha=NEWER))
    queue.complete(older)
    newer = require(queue.next())
    assert (newer.follow_up.head_sha, newer.attempt) == (NEWER, 1)


def test_comment_job_of_another_version_is_read(store: Store) -> None:
    store.comment_jobs.put(comment_job())
    fields = {"delivery_id": "d", "eval_id": "e", "head_sha": HEAD, "pull": pull_ref().model_dump()}
    store.client.call("HSET", COMMENT_JOBS.texts.name, keys.pull(pull_ref()).name, json.dumps(fields))
    opened = require(store.comment_jobs.next())
    assert opened.follow_up == comment_job().model_copy(update={"eval_id": "e"})
    store.comment_jobs.complete(opened)
    assert not store.comment_jobs.is_waiting(pull_ref())


def test_command_is_queued_once_and_kept_until_completed(store: Store) -> None:
    assert store.commands.next() is None
    assert store.commands.put(command_request()) is IntakeOutcome.QUEUED
    assert store.commands.put(command_request()) is IntakeOutcome.DUPLICATE
    first = require(store.commands.next())
    assert (first.command, first.attempt) == (command_request(), 1)
    assert store.commands.next() is None, "it is being handled"
    store.commands.postpone(command_request(), timedelta(0))
    assert require(store.commands.next()).attempt == 2
    store.commands.complete(command_request())
    assert store.commands.next() is None
    assert store.commands.put(command_request()) is IntakeOutcome.DUPLICATE


def test_command_and_judge_request_may_share_a_delivery_id(store: Store) -> None:
    store.commands.put(command_request("d"))
    assert store.pulls.request_judging(judge_request(delivery_id="d")).outcome is IntakeOutcome.QUEUED


@pytest.mark.parametrize("has_key", [True, False])
def test_reason_of_a_command_is_encrypted_and_empty_without_its_key(
    store: Store, caplog: pytest.LogCaptureFixture, *, has_key: bool
) -> None:
    written = command_request().model_copy(update={"reason": "canary-words é"})
    store.commands.put(written)
    assert "canary" not in str(store.client.call("HGETALL", keys.COMMANDS.texts.name))
    codec = store.codec if has_key else Codec([b"o" * 32])
    pending = require(RedisCommandQueue(store.client, codec, store.timing).next())
    assert pending.command == (written if has_key else command_request())
    assert "canary" not in caplog.text


QUEUES: dict[PendingWork, tuple[Callable[[Store], Any], object]] = {
    PendingWork.ANSWER_COMMAND: (lambda store: store.commands, command_request()),
    PendingWork.WRITE_COMMENT: (lambda store: store.comment_jobs, comment_job()),
    PendingWork.UPLOAD_SARIF: (lambda store: store.scans, sarif_upload()),
    PendingWork.RECORD_OUTCOMES: (lambda store: store.pull_request_events, revert_event()),
    PendingWork.ANSWER_GROUP: (lambda store: store.groups, merge_group()),
}


@pytest.mark.parametrize("work", QUEUES)
def test_queued_work_is_pending_until_it_is_taken(store: Store, work: PendingWork) -> None:
    find_queue, item = QUEUES[work]
    queue = find_queue(store)
    assert find_pending_work(store.client, "call") == frozenset()
    queue.put(item)
    assert find_pending_work(store.client, "call") == {work}
    assert queue.next() is not None
    assert queue.next() is None
    assert find_pending_work(store.client, "call") == frozenset()


def test_check_run_is_pending_until_its_opening_is_taken(store: Store) -> None:
    store.pulls.request_judging(judge_request())
    assert find_pending_work(store.client, "call") == {PendingWork.OPEN_CHECK, PendingWork.JUDGE}
    assert store.pulls.next_to_open() is not None
    assert store.pulls.next_to_open() is None
    assert find_pending_work(store.client, "call") == {PendingWork.JUDGE}


@pytest.mark.parametrize(("work", "order"), [pytest.param(work, order, id=order.name) for work, order in WORK_KEYS])
def test_queue_is_pending_from_its_earliest_time(store: Store, work: PendingWork, order: keys.Key) -> None:
    store.client.call("ZADD", order.name, 4_000_000_000_000, "later")
    assert find_pending_work(store.client, "call") == frozenset()
    store.client.call("ZADD", order.name, 1, "now")
    assert find_pending_work(store.client, "call") == {work}


def test_every_queue_is_checked_for_pending_work() -> None:
    turns = {keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS}
    queues = {value.order for value in vars(keys).values() if isinstance(value, QueueKeys)}
    assert queues | turns | {keys.LOOKAHEAD} == {order for _, order in WORK_KEYS}


def test_dispatch_with_a_lost_answer_is_pending_for_the_same_call(store: Store) -> None:
    limits = DispatchLimits(1, 4, 2)
    store.pulls.request_judging(judge_request())
    job = require(store.pulls.next_due("call", limits))
    assert store.pulls.next_due("other", limits) is None
    assert PendingWork.JUDGE not in find_pending_work(store.client, "other")
    assert PendingWork.JUDGE in find_pending_work(store.client, "call")
    assert store.pulls.next_due("call", limits) == job
