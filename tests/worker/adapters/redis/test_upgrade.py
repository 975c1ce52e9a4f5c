"""Two versions run side by side over one Redis, or one after the other: each reads what the other wrote, or leaves it to the other.

`written_before.json` holds what an earlier version stored, as it stored it; it is added to, never edited.
`store_of_version_before.json` holds a store as that version left it in the middle of a judging: one pull request with a judge and a newer
head, one that waits for CI, one that waits for GitHub, one with a verdict, and two in the queue.
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
)
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import read_json, read_json_or_none
from worker.adapters.redis.keys import COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store
from worker.domain.dossier import Dossier
from worker.domain.ids import CheckRunId
from worker.domain.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.work import ExpiredCheckRun, JudgedHead, LeasedJob
from worker.domain.model import Frozen
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Demotion

# One value


BEFORE: dict[str, Any] = json.loads(Path(__file__).with_name("written_before.json").read_text(encoding="utf-8"))
KINDS: dict[str, type[Frozen]] = {
    kind.__name__: kind
    for kind in (CommandRequest, Demotion, Dossier, PullRequestEvent, JudgeRequest, LedgerEntry, ExpiredCheckRun)
}
NESTED = ("pull", "verdict", "subject", "tally", "pull_request")


def of_a_later_version(value: Any) -> Any:
    """The same with a field that we don't know, here and in what is inside."""
    inside = {name: of_a_later_version(part) if name in NESTED else part for name, part in value.items()}
    return {**inside, "colour": ["red", {"since": 7}]}


def kind_of(name: str) -> type[Frozen]:
    return KINDS[name.split(maxsplit=1)[0]]


@pytest.mark.parametrize("name", BEFORE)
def test_what_another_version_stored_is_read(name: str) -> None:
    value = read_json(kind_of(name), json.dumps(BEFORE[name]))
    assert json.loads(value.model_dump_json(exclude_unset=True)) == BEFORE[name]
    later = read_json(kind_of(name), json.dumps(of_a_later_version(BEFORE[name])))
    assert later == value, "what only a later version knows is left out"


def test_each_kind_of_stored_value_has_an_example() -> None:
    assert {name.split(maxsplit=1)[0] for name in BEFORE} == set(KINDS)


def test_a_request_for_a_reason_that_only_a_later_version_knows_is_judged_all_the_same(store: Store) -> None:
    said = judge_request().model_dump_json().replace('"pushed"', '"the_moon_is_full"')
    assert read_json(JudgeRequest, said).trigger is Trigger.LATE
    store.pulls.request_judging(judge_request())
    store.client.call("HSET", keys.pull(pull_ref()).name, "req", said)
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    assert request.trigger is Trigger.LATE


def test_a_command_that_only_a_later_version_knows_is_left_to_it_and_nobody_waits_behind_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.commands.put(command_request("comment-1"))
    later = command_request("comment-1").model_dump_json().replace('"rejudge"', '"dance"')
    store.client.call("HSET", COMMANDS.texts.name, "comment-1", later)
    with caplog.at_level(logging.WARNING):
        assert store.commands.next() is None
    assert caplog.messages == ["left for a later version: CommandRequest in command"]
    assert "dance" not in caplog.text, "it is somebody's text"
    store.commands.put(command_request("comment-2"))
    other = store.commands.next()
    assert other is not None
    assert other.command == command_request("comment-2")
    expire_hold(store, COMMANDS.order, "comment-1")
    assert store.client.call("HGET", COMMANDS.texts.name, "comment-1") == later.encode()


def test_what_happened_in_words_of_a_later_version_is_left_to_it(store: Store) -> None:
    one = pull_request_event(PullRequestEventKind.REVERTED)
    store.pull_request_events.put(one)
    said = one.model_dump_json().replace('"reverted"', '"danced"')
    store.client.call("HSET", PULL_REQUEST_EVENTS.texts.name, one.delivery_id, said)
    assert store.pull_request_events.next() is None
    assert read_json_or_none(PullRequestEvent, said) is None


def test_every_stored_value_is_read_this_way() -> None:
    strict = [
        f"{path.name}: {line.strip()}"
        for path in sorted(Path(keys.__file__).parent.rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if ".model_validate_json(" in line and 'extra="ignore"' not in line
    ]
    assert strict == []


# A store

WRITTEN: Final[dict[str, tuple[str, Any]]] = json.loads(
    Path(__file__).with_name("store_of_version_before.json").read_text(encoding="utf-8")
)


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
        make_due(store, pull_ref(number))
    while job := dispatch_next(store):
        leased = store.pulls.take_lease(job.request.pull, job.fence)
        assert leased is not None
        end = JudgedHead(job.request.head_sha or "", "b" * 32)
        assert store.pulls.finish(leased.lease, Finish.JUDGED, of=end) is FinishResult.CLOSED
        judged[job.request.pull.number] = leased
    return judged


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
    assert store.checks().open_checks(pull_ref(1)) == {HEAD: CheckRunId(5)}
    assert judge_all(store) == {}


def test_a_judge_of_the_version_before_keeps_its_lease_until_it_ends(taken_over: Store) -> None:
    store = taken_over
    store.client.call("ZADD", "assay:out", "XX", 4_000_000_000_000, "assay:100:pull:7:1")
    assert store.pulls.requeue_lost() == 0
    assert store.pulls.take_lease(pull_ref(1), 7) is None
    expire_lease(store, pull_ref(1))
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
