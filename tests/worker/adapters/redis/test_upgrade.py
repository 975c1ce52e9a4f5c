"""A store that the version before wrote in the middle of a judging is taken over.

`store_of_version_before.json` holds it as that version left it: one pull request with a judge and a newer head, one that waits for CI, one
that waits for GitHub, one with a verdict, and two in the queue.
"""

import json
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, becomes_due, lease_runs_out, pull
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob

WRITTEN: Final[dict[str, tuple[str, Any]]] = json.loads(
    Path(__file__).with_name("store_of_version_before.json").read_text(encoding="utf-8")
)
ALL_AT_ONCE: Final = DispatchLimits(99, 99)


@pytest.fixture
def taken_over(store: Store) -> Store:
    for name, (kind, value) in WRITTEN.items():
        pairs = [value[at : at + 2] for at in range(0, len(value), 2)]
        match kind:
            case "string":
                store.client.call("SET", name, value)
            case "hash":
                store.client.call("HSET", name, *value)
            case "set":
                store.client.call("SADD", name, *value)
            case _:
                store.client.call("ZADD", name, *(part for member, score in pairs for part in (score, member)))
    return store


def judge_all(store: Store) -> dict[int, LeasedJob]:
    """Judge what is due, until nothing is."""
    judged = dict[int, LeasedJob]()
    for number in (1, 2, 3, 5, 6):
        becomes_due(store, pull(number))
    for call in count():
        job = store.pulls.next_due(f"upgrade-{call}", ALL_AT_ONCE)
        if job is None:
            return judged
        leased = store.pulls.take_lease(job.request.pull, job.fence)
        assert leased is not None
        end = JudgedHead(job.request.head_sha or "", "b" * 32)
        assert store.pulls.finish(leased.lease, Finish.JUDGED, of=end) is FinishResult.CLOSED
        judged[job.request.pull.number] = leased
    raise AssertionError


def test_each_pull_request_is_judged_once_and_nothing_of_it_is_forgotten(taken_over: Store) -> None:
    store = taken_over
    assert store.pulls.requeue_lost() == 1, "the judge of the version before is gone"
    judged = judge_all(store)
    assert sorted(judged) == [1, 2, 3, 5, 6]
    assert (judged[1].request.head_sha, judged[1].attempt) == (NEWER, 1), (
        "its server has ended, so the first does not count"
    )
    assert judged[2].waiting_since is not None
    assert judged[3].outage_count == 1
    assert store.checks().open_checks(pull(1)) == {HEAD: CheckRunId(5)}
    assert judge_all(store) == {}


def test_a_judge_of_the_version_before_keeps_its_lease_until_it_ends(taken_over: Store) -> None:
    store = taken_over
    store.client.call("ZADD", "assay:out", "XX", 4_000_000_000_000, "assay:100:pull:7:1")
    assert store.pulls.requeue_lost() == 0
    assert store.pulls.take_lease(pull(1), 7) is None
    lease_runs_out(store, pull(1))
    assert store.pulls.requeue_lost() == 1


def test_each_merge_group_is_answered_where_it_was_and_by_one_judge(taken_over: Store) -> None:
    groups, holds = taken_over.groups, dict(zip(*[iter(WRITTEN["assay:groups:holds"][1])] * 2, strict=True))
    waiting, queued, held = (f"100:7:{digit * 40}" for digit in "123")
    token = holds[queued].removeprefix("given ")
    leased = groups.take_lease(queued, token)
    assert leased is not None
    leased.lease.renew()
    pending = {group.group.id: group for group in iter(groups.next, None)}
    assert {name: (group.attempt, group.queued.waits) for name, group in pending.items()} == {
        waiting: (1, True),
        held: (1, False),
    }, "the server of the judge has ended, so that does not count"
    (_, lost, _) = holds[held].split(" ")
    assert groups.take_lease(held, lost) is None
    newer = groups.take_lease(held, groups.dispatch(pending[held].group) or "")
    assert newer is not None
    assert not groups.requeue_dead(held, lost), "whose process ended late"
    newer.lease.renew()
