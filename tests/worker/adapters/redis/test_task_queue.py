"""Lines of verdicts about which something is still to be done."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, pull
from worker.adapters.redis import keys
from worker.adapters.redis.delayed_queue import RedisTaskQueue
from worker.adapters.redis.keys import COMMENT_JOBS, SCANS, QueueKeys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.ids import DeliveryId, EvalId, Sha


def letter(number: int = 1, head_sha: Sha = HEAD) -> CommentJob:
    return CommentJob(
        pull=pull(number), head_sha=head_sha, eval_id=EvalId(f"eval-{head_sha[0]}"), delivery_id=DeliveryId("d")
    )


def scan(number: int = 1, head_sha: Sha = HEAD) -> SarifUpload:
    eval_id = EvalId(f"eval-{head_sha[0]}")
    return SarifUpload(
        pull=pull(number), head_sha=head_sha, eval_id=eval_id, origin=eval_id, delivery_id=DeliveryId("d")
    )


def letters(store: Store) -> RedisTaskQueue[Any]:
    return store.comment_jobs


def scans(store: Store) -> RedisTaskQueue[Any]:
    return store.scans


class Kind(NamedTuple):
    line: Callable[[Store], RedisTaskQueue[Any]]
    made: Callable[..., CommentJob | SarifUpload]
    keys: QueueKeys


LINES = (Kind(letters, letter, COMMENT_JOBS), Kind(scans, scan, SCANS))
KINDS = [pytest.param(kind, id=kind.keys.order.name) for kind in LINES]


@pytest.mark.parametrize("kind", KINDS)
def test_one_comes_again_until_it_is_done_and_leaves_nothing(store: Store, kind: Kind) -> None:
    line, one = kind.line(store), kind.made()
    assert not line.is_waiting(pull())
    line.put(one)
    first = line.next()
    assert line.is_waiting(pull())
    assert not line.is_waiting(pull(2))
    assert first is not None
    assert (first.follow_up, first.attempt) == (one, 1)
    assert line.next() is None

    line.postpone(one, timedelta(0))
    again = line.next()
    assert again is not None
    assert again.attempt == 2

    line.complete(again)
    line.complete(again)
    assert not line.is_waiting(pull())
    line.postpone(one, timedelta(0))
    assert line.next() is None
    assert [store.client.call("EXISTS", key.name) for key in kind.keys.keys] == [0, 0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_verdict_takes_the_place_of_the_older_and_is_not_done_with_it(store: Store, kind: Kind) -> None:
    line = kind.line(store)
    line.put(kind.made())
    older = line.next()
    assert older is not None
    line.put(kind.made(head_sha=NEWER))
    line.complete(older)
    found = line.next()
    assert found is not None
    assert (found.follow_up.head_sha, found.attempt) == (NEWER, 1)


def test_a_letter_that_another_version_wrote_in_other_words_is_done_all_the_same(store: Store) -> None:
    store.comment_jobs.put(letter())
    fields = {"delivery_id": "d", "eval_id": "e", "head_sha": HEAD, "pull": pull().model_dump()}
    store.client.call("HSET", COMMENT_JOBS.texts.name, keys.pull(pull()).name, json.dumps(fields))
    opened = store.comment_jobs.next()
    assert opened is not None
    assert opened.follow_up == letter().model_copy(update={"eval_id": "e"})
    store.comment_jobs.complete(opened)
    assert not store.comment_jobs.is_waiting(pull())


@pytest.mark.parametrize("kind", KINDS)
def test_those_of_other_pull_requests_stay_apart(store: Store, kind: Kind) -> None:
    line = kind.line(store)
    line.put(kind.made(1))
    line.put(kind.made(2))
    assert {found.follow_up.pull.number for found in (line.next(), line.next()) if found} == {1, 2}
