"""The inbox: each delivery is applied once, in order of arrival, and none blocks the others."""

import asyncio
from contextlib import closing
from typing import Any

import pytest
from pydantic import ValidationError

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request, pull_ref, require
from worker.adapters.redis import keys
from worker.adapters.redis.connection.async_client import AsyncRedisClient
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.queues import append_delivery
from worker.adapters.redis.store import Store
from worker.domain.github_events import PullRequestEventKind
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.intake import CheckDelivery, InboxDelivery, IntakeOutcome, NamedHead, RequestDelivery


def append(store: Store, *deliveries: InboxDelivery) -> list[IntakeOutcome]:
    async def append_all() -> list[IntakeOutcome]:
        with closing(AsyncRedisClient(store.url.get_secret_value(), 5)) as client:
            return [await append_delivery(client, delivery) for delivery in deliveries]

    return asyncio.run(append_all())


def push_delivery(number: int = 1) -> RequestDelivery:
    request = judge_request(number, head_sha=HEAD, trigger=Trigger.PUSHED)
    return RequestDelivery(request=request, named_by=NamedHead(previous_sha=NEWER))


def apply_all(store: Store) -> list[IntakeOutcome]:
    return [applied.outcome for entry in store.inbox.read(10) if (applied := store.inbox.apply(entry))]


def test_delivery_takes_effect_when_applied_and_counts_once(store: Store) -> None:
    delivery = push_delivery()
    assert append(store, delivery, delivery) == [IntakeOutcome.QUEUED, IntakeOutcome.DUPLICATE]
    assert store.pulls.find_request(pull_ref()) is None
    assert apply_all(store) == [IntakeOutcome.QUEUED]
    assert (store.pulls.find_request(pull_ref()), store.inbox.read(10)) == (delivery.request, [])
    assert append(store, delivery) == [IntakeOutcome.DUPLICATE]


def test_event_of_an_unconfirmed_delivery_is_recorded_once(store: Store) -> None:
    append(store, push_delivery())
    event = pull_request_event(PullRequestEventKind.PUSHED_BY_ANOTHER)
    store.client.call("SET", keys.watch(pull_ref()).name, "x")
    push = RequestDelivery(
        request=judge_request(head_sha="3" * 40), named_by=NamedHead(previous_sha="4" * 40), event=event
    )
    append(store, push)
    assert apply_all(store) == [IntakeOutcome.QUEUED, IntakeOutcome.UNCONFIRMED]
    assert require(store.pull_request_events.next()).event == event
    assert require(store.unconfirmed.next()).delivery == push.model_copy(update={"event": None})


def test_completed_check_is_accepted_however_often_it_is_delivered(store: Store) -> None:
    fields: dict[str, Any] = {"installation_id": pull_ref().installation_id, "repository_id": pull_ref().repository_id}
    check = CheckDelivery(**fields, head_sha=HEAD, is_green=True)
    assert append(store, push_delivery(), check, check) == [IntakeOutcome.QUEUED] * 3
    assert apply_all(store) == [IntakeOutcome.QUEUED, IntakeOutcome.COALESCED, IntakeOutcome.COALESCED]


def test_delivery_applied_by_another_process_is_skipped(store: Store) -> None:
    append(store, push_delivery(), push_delivery(2))
    first, second = store.inbox.read(10)
    assert store.inbox.apply(second) is None, "it is not the first"
    assert store.inbox.apply(first) is not None
    assert store.inbox.apply(first) is None
    store.inbox.put_aside(first)
    assert store.inbox.read(10) == [second]


def test_invalid_delivery_is_put_aside_and_restored_later(store: Store) -> None:
    append(store, push_delivery(), push_delivery(2))
    first, _ = store.inbox.read(10)
    store.client.call("LSET", keys.INBOX.name, 0, '{"kind": "of a later version"}')
    store.client.call("RPUSH", keys.INBOX.name, first)
    invalid, *_ = store.inbox.read(1)
    with pytest.raises(ValidationError):
        store.inbox.apply(invalid)
    store.inbox.put_aside(invalid)
    assert apply_all(store) == [IntakeOutcome.QUEUED] * 2
    assert 0 < whole(store.client.call("TTL", keys.INBOX_ASIDE.name)) <= keys.MONTH.total_seconds()
    store.inbox.restore()
    assert store.inbox.read(10) == [invalid]


def test_field_of_a_later_version_is_ignored(store: Store) -> None:
    append(store, push_delivery())
    [entry] = store.inbox.read(10)
    store.client.call("LSET", keys.INBOX.name, 0, entry.replace('{"kind"', '{"later":1,"kind"'))
    assert apply_all(store) == [IntakeOutcome.QUEUED]
