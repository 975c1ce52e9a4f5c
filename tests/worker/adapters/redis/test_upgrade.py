"""Two versions share one Redis: each reads the values of the other, or leaves them to it.

`written_before.json` holds values of an earlier version; it is added to, never edited.
`store_of_version_before.json` holds a store of that version during a judging: one pull request with a judge and a newer head, one that waits
for CI, one that waits for GitHub, one with a verdict, and two in the queue.
"""

import json
import logging
from pathlib import Path
from typing import Any, Final

import pytest

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    command_request,
    dispatch_next,
    expire_hold,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
    require,
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import read_json, read_json_or_none
from worker.adapters.redis.keys import COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store
from worker.domain.dossier import Dossier
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import ExpiredCheckRun, JudgedHead, LeasedJob
from worker.domain.model import CheckRunId, Frozen
from worker.domain.verdict.events import Demotion
from worker.domain.verdict.ledger import LedgerEntry

BEFORE: dict[str, Any] = json.loads(Path(__file__).with_name("written_before.json").read_text(encoding="utf-8"))
KINDS: dict[str, type[Frozen]] = {
    kind.__name__: kind
    for kind in (CommandRequest, Demotion, Dossier, PullRequestEvent, JudgeRequest, LedgerEntry, ExpiredCheckRun)
}
NESTED = ("pull", "verdict", "subject", "tally", "pull_request")


def with_unknown_fields(value: Any) -> Any:
    """The same value with an unknown field, also in nested values."""
    nested = {name: with_unknown_fields(part) if name in NESTED else part for name, part in value.items()}
    return {**nested, "colour": ["red", {"since": 7}]}


@pytest.mark.parametrize("name", BEFORE)
def test_value_of_another_version_is_read(name: str) -> None:
    kind = KINDS[name.split(maxsplit=1)[0]]
    value = read_json(kind, json.dumps(BEFORE[name]))
    assert json.loads(value.model_dump_json(exclude_unset=True)) == BEFORE[name]
    later = read_json(kind, json.dumps(with_unknown_fields(BEFORE[name])))
    assert later == value, "unknown fields are dropped"


def test_each_kind_of_stored_value_has_an_example() -> None:
    assert {name.split(maxsplit=1)[0] for name in BEFORE} == set(KINDS)


def test_request_with_an_unknown_trigger_is_judged(store: Store) -> None:
    later = judge_request().model_dump_json().replace('"pushed"', '"the_moon_is_full"')
    assert read_json(JudgeRequest, later).trigger is Trigger.LATE
    store.pulls.request_judging(judge_request())
    store.client.call("HSET", keys.pull(pull_ref()).name, "req", later)
    assert require(store.pulls.find_request(pull_ref())).trigger is Trigger.LATE


def test_unknown_command_is_left_to_the_later_version(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.commands.put(command_request("comment-1"))
    later = command_request("comment-1").model_dump_json().replace('"rejudge"', '"dance"')
    store.client.call("HSET", COMMANDS.texts.name, "comment-1", later)
    with caplog.at_level(logging.WARNING):
        assert store.commands.next() is None
    assert caplog.messages == ["left for a later version: CommandRequest in command"]
    assert "dance" not in caplog.text, "private text"
    store.commands.put(command_request("comment-2"))
    assert require(store.commands.next()).command == command_request("comment-2")
    expire_hold(store, COMMANDS.order, "comment-1")
    assert store.client.call("HGET", COMMANDS.texts.name, "comment-1") == later.encode()


def test_unknown_event_kind_is_left_to_the_later_version(store: Store) -> None:
    event = pull_request_event(PullRequestEventKind.REVERTED)
    store.pull_request_events.put(event)
    later = event.model_dump_json().replace('"reverted"', '"danced"')
    store.client.call("HSET", PULL_REQUEST_EVENTS.texts.name, event.delivery_id, later)
    assert store.pull_request_events.next() is None
    assert read_json_or_none(PullRequestEvent, later) is None


def test_stored_values_are_read_ignoring_unknown_fields() -> None:
    strict = [
        f"{path.name}: {line.strip()}"
        for path in sorted(Path(keys.__file__).parent.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if ".model_validate_json(" in line and 'extra="ignore"' not in line
    ]
    assert strict == []


WRITTEN: Final[dict[str, tuple[str, Any]]] = json.loads(
    Path(__file__).with_name("store_of_version_before.json").read_text(encoding="utf-8")
)


@pytest.fixture
def earlier_store(store: Store) -> Store:
    for name, (kind, value) in WRITTEN.items():
        if kind == "string":
            store.client.call("SET", name, value)
        elif kind == "zset":
            for member, score in zip(value[::2], value[1::2], strict=True):
                store.client.call("ZADD", name, score, member)
        else:
            store.client.call("HSET" if kind == "hash" else "SADD", name, *value)
    return store


def judge_all(store: Store) -> dict[int, LeasedJob]:
    """Judge what is due, until nothing is."""
    judged = dict[int, LeasedJob]()
    for number in (1, 2, 3, 5, 6):
        make_due(store, pull_ref(number))
    while job := dispatch_next(store):
        leased = require(store.pulls.take_lease(job.request.pull, job.fence))
        end = JudgedHead(job.request.head_sha or "", "b" * 32)
        assert store.pulls.finish(leased.lease, Finish.JUDGED, of=end) is FinishResult.CLOSED
        judged[job.request.pull.number] = leased
    return judged


def test_each_pull_request_of_an_earlier_store_is_judged_once(earlier_store: Store) -> None:
    store = earlier_store
    assert store.pulls.requeue_lost() == 1, "the earlier version's judge is lost"
    judged = judge_all(store)
    assert sorted(judged) == [1, 2, 3, 5, 6]
    assert (judged[1].request.head_sha, judged[1].attempt) == (NEWER, 1), "a restart of Redis counts as no attempt"
    assert judged[2].waiting_since is not None
    assert judged[3].outage_count == 1
    assert store.checks().open_checks(pull_ref(1)) == {HEAD: CheckRunId(5)}
    assert judge_all(store) == {}


def test_lease_of_an_earlier_version_is_kept_until_it_ends(earlier_store: Store) -> None:
    store = earlier_store
    store.client.call("ZADD", "assay:out", "XX", 4_000_000_000_000, "assay:100:pull:7:1")
    assert store.pulls.requeue_lost() == 0
    assert store.pulls.take_lease(pull_ref(1), 7) is None
    expire_lease(store, pull_ref(1))
    assert store.pulls.requeue_lost() == 1


def test_each_merge_group_of_an_earlier_store_has_one_judge(earlier_store: Store) -> None:
    groups, holds = earlier_store.groups, dict(zip(*[iter(WRITTEN["assay:groups:holds"][1])] * 2, strict=True))
    waiting, queued, held = (f"100:7:{digit * 40}" for digit in "123")
    token = holds[queued].removeprefix("given ")
    leased = require(groups.take_lease(queued, token))
    leased.lease.renew()
    pending = {group.group.id: group for group in iter(groups.next, None)}
    assert {name: (group.attempt, group.queued.waits) for name, group in pending.items()} == {
        waiting: (1, True),
        held: (1, False),
    }, "a restart of Redis counts as no attempt"
    (_, lost, _) = holds[held].split(" ")
    assert groups.take_lease(held, lost) is None
    newer = require(groups.take_lease(held, groups.dispatch(pending[held].group) or ""))
    assert not groups.requeue_dead(held, lost), "its process ended late"
    newer.lease.renew()
