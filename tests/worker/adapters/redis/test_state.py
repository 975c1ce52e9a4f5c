"""The stored state of a pull request, and the queues that follow from it; transitions are tested with the lifecycle."""

from typing import Final

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, pull_ref, ttl_s
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.judging.state import PULL_S, load, save
from worker.adapters.redis.store import Store
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.state import Phase, PullRequestState, Retention
from worker.domain.model import EvalId, InstallationId

HERE: Final = InstallationId(100)
ABSENT: Final = PullRequestState(HERE)
NOT_STORED: Final = {"installation", "version", "retention"}
FULL: Final = PullRequestState(
    HERE,
    phase=Phase.JUDGING,
    seq=1_800_000_000_001,
    read_seq=2,
    request="{}",
    head=HEAD,
    base="b" * 32,
    flags=("asked", "forced"),
    quiet_ms=3,
    due_at=1.5,
    first_event_at=2.5,
    not_before=3.5,
    limit_until=4.5,
    fence=5,
    token="t",
    attempts=6,
    server_run="r",
    spared=7,
    served_run="s",
    outage_count=0,
    waiting_since=8.5,
    is_outside=True,
    head_first_seen_at="2026-11-20T20:05:00+00:00",
    is_idle_draft=True,
    closed_at=9,
    expires_at=10,
    ci_request="{}",
    news_at=11.5,
    look_at=12.5,
    looks=13,
    eval_id=EvalId("e"),
    outdated_by=Trigger.RULES,
    is_reopening=True,
    known_outdated_by=Trigger.BASE,
    judged_by="base issue",
    author="a",
    published_head=NEWER,
    finished_token="u",
    finish_result="closed",
    queued_at=14.5,
    opening_at=15.5,
    lease_until=16.5,
)


def save_and_load(store: Store, after: PullRequestState) -> PullRequestState:

    def apply(transaction: Transaction) -> Operation[None]:
        save(transaction, pull_ref(), (yield from load(transaction, pull_ref())), after)

    run(store.client, apply)
    return run(store.client, lambda transaction: load(transaction, pull_ref()))


@pytest.mark.parametrize("before", [ABSENT, FULL], ids=["absent", "full"])
def test_each_field_is_read_back(store: Store, before: PullRequestState) -> None:
    other = FULL if before is ABSENT else ABSENT
    for field in set(PullRequestState._fields) - NOT_STORED:
        assert getattr(FULL, field) != getattr(ABSENT, field), f"{field} lacks a value in FULL"
        if field == "is_reopening" and before is ABSENT:
            continue  # needs a reason why the verdict is outdated
        start = save_and_load(store, before)
        after = start._replace(**{field: getattr(other, field)})
        if field == "outdated_by" and before is FULL:
            after = after._replace(is_reopening=False)
        assert save_and_load(store, after) == after._replace(version=start.version + 1), field
    stored = save_and_load(store, FULL)
    assert stored == FULL._replace(version=stored.version)


@pytest.mark.parametrize("is_outside", [False, True])
def test_queues_and_turns_follow_from_the_state(store: Store, *, is_outside: bool) -> None:
    save_and_load(store, FULL._replace(is_outside=not is_outside))
    save_and_load(store, FULL._replace(is_outside=is_outside))
    outside = (keys.due_outside(HERE), keys.pending_checks_outside(HERE))
    inside = (keys.due(HERE), keys.pending_checks(HERE))
    for key in outside if is_outside else inside:
        assert text(store.client.call("ZSCORE", key.name, keys.pull(pull_ref()).name)) in ("14.5", "15.5")
    assert not store.client.call("EXISTS", *(key.name for key in (inside if is_outside else outside)))
    turns = (keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS)
    for key in turns if is_outside else (keys.DUE_TURNS, keys.PENDING_CHECK_TURNS):
        assert items(store.client.call("ZRANGE", key.name, 0, -1)) == [b"100"]
    save_and_load(store, ABSENT)
    left = (*outside, *inside, keys.DISPATCHED, keys.DISPATCHED_OUTSIDE, keys.dispatched(HERE))
    assert not store.client.call("EXISTS", *(key.name for key in left))


@pytest.mark.parametrize("is_outside", [False, True])
def test_lease_is_counted_by_the_origin_of_its_pull_request(store: Store, *, is_outside: bool) -> None:
    save_and_load(store, ABSENT._replace(seq=1, is_outside=is_outside, lease_until=5))
    counted = [keys.dispatched(HERE), keys.DISPATCHED_OUTSIDE]
    assert [store.client.call("EXISTS", key.name) for key in counted] == [not is_outside, is_outside]
    assert store.client.call("ZSCORE", keys.DISPATCHED.name, keys.pull(pull_ref()).name) == b"5"
    save_and_load(store, ABSENT._replace(seq=1, is_outside=is_outside, lease_until=6))
    assert store.client.call("ZSCORE", keys.DUE_TURNS.name, HERE) is None
    save_and_load(store, ABSENT._replace(seq=1, is_outside=is_outside))
    assert store.client.call("ZSCORE", keys.DUE_TURNS.name, HERE) is not None, "its turn is restored"


def test_state_expires_a_month_after_nothing_is_pending(store: Store) -> None:
    key, seconds = keys.pull(pull_ref()), list[int]()
    for retention in (Retention.UNCHANGED, Retention.EXPIRING, Retention.UNCHANGED, Retention.OPEN):
        save_and_load(store, FULL._replace(retention=retention))
        seconds.append(ttl_s(store, key))
    assert seconds == [-1, 30 * 86_400, 30 * 86_400, -1]


def test_state_and_heads_keys_have_the_same_lifetime() -> None:
    heads = keys.heads(HERE, pull_ref().repository_id, HEAD)
    assert keys.pull(pull_ref()).seconds == heads.seconds == PULL_S


def test_retry_is_removed_when_its_outage_ends(store: Store) -> None:
    save_and_load(store, ABSENT._replace(seq=1, outage_count=1))
    store.client.call("ZADD", keys.retries(HERE).name, 5, keys.pull(pull_ref()).name)
    save_and_load(store, ABSENT._replace(seq=1, outage_count=2))
    assert store.client.call("ZCARD", keys.retries(HERE).name) == 1
    save_and_load(store, ABSENT._replace(seq=1, outage_count=0))
    assert store.client.call("ZCARD", keys.retries(HERE).name) == 0
