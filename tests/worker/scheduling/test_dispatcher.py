"""The dispatcher in a thread, with a real Redis and a queue without workers."""

import logging
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any, cast

import pytest
from redis.exceptions import ReadOnlyError
from rq.registry import StartedJobRegistry
from typing_extensions import override

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    command_request,
    expire_lease,
    judge_request,
    pull_ref,
    settings_for,
    start_judging,
    wait_until,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.worker.scheduling.conftest import QUICK
from tests.worker.scheduling.scripted_judging import NO_PULL, ScriptedGitHub, ScriptedHandlers, open_scripted_handlers
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry
from worker.adapters.redis.keys import COMMANDS, GROUPS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store, open_store
from worker.domain.github_events import PullRequestEventKind
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.intake import NamedHead, RequestDelivery
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.model import CheckRunId
from worker.process import SystemClock
from worker.scheduling import dispatcher as dispatch
from worker.scheduling.dispatcher import BackgroundTask, Dispatcher, TaskHandlers, limit_dispatches, retry_rule_for
from worker.scheduling.queue import JUDGE_JOB, JUDGE_QUEUE, open_queue, rq_connection
from worker.settings import WRITES_A_MINUTE, Settings, Timing

JobIds = Callable[[], list[str]]
OpenApp = Callable[[Settings, Store], AbstractContextManager[TaskHandlers]]


@contextmanager
def run_dispatcher(settings: Settings, open_handlers: OpenApp = open_scripted_handlers) -> Generator[threading.Thread]:
    """Run a dispatcher until the block ends."""
    stop = threading.Event()
    with open_store(settings) as store:
        dispatcher = Dispatcher(settings, store, partial(open_handlers, settings, store), SystemClock())
        thread = threading.Thread(target=dispatcher.run, args=(stop.is_set,))
        thread.start()
        try:
            yield thread
        finally:
            stop.set()
            thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def dispatcher(settings: Settings, store: Store) -> Iterator[threading.Thread]:
    store.ping()  # after Redis was emptied
    with run_dispatcher(settings) as thread:
        yield thread


@pytest.fixture
def queued_jobs(settings: Settings) -> Iterator[JobIds]:
    """Return a function that lists the ids of queued jobs."""
    connection = rq_connection(settings)
    yield lambda: open_queue(JUDGE_QUEUE, connection).job_ids
    connection.close()


@pytest.mark.usefixtures("dispatcher")
def test_due_judging_is_queued_with_its_fence(settings: Settings, store: Store, queued_jobs: JobIds) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: len(queued_jobs()) == 1)
    connection = rq_connection(settings)
    job = open_queue(JUDGE_QUEUE, connection).jobs[0]
    assert job.func_name == JUDGE_JOB
    arguments = cast("list[int]", job.args)  # pyright: ignore[reportUnknownMemberType] - RQ can't know them
    assert list(arguments) == [100, 7, 1, int(job.id.removeprefix("judge-"))]
    assert (job.result_ttl, job.timeout) == (0, settings.timing.check_deadline)
    assert StartedJobRegistry(queue=open_queue(JUDGE_QUEUE, connection)).count == 0
    connection.close()


def test_invalid_delivery_is_set_aside_and_retried_at_the_next_start(
    settings: Settings, store: Store, queued_jobs: JobIds
) -> None:
    delivery = RequestDelivery(request=judge_request(), named_by=NamedHead())
    store.client.call("RPUSH", keys.INBOX.name, "no delivery", delivery.model_dump_json())
    with run_dispatcher(settings):
        assert wait_until(lambda: len(queued_jobs()) == 1)
    assert store.client.call("LRANGE", keys.INBOX_ASIDE.name, 0, -1) == [b"no delivery"]
    later = delivery.model_copy(update={"request": judge_request(2)}).model_dump_json()
    store.client.call("LSET", keys.INBOX_ASIDE.name, 0, later)
    with run_dispatcher(settings):
        assert wait_until(lambda: store.pulls.find_request(pull_ref(2)))


def test_idle_tick_costs_two_reads_and_one_write_of_redis(settings: Settings, store: Store) -> None:
    def calls_of(command: str) -> int:
        counts = re.findall(rf"cmdstat_{command}:calls=(\d+)", text(store.client.call("INFO", "commandstats")))
        return sum(map(int, counts))

    def calls_per_tick() -> tuple[float, float]:
        store.client.call("CONFIG", "RESETSTAT")
        assert wait_until(lambda: calls_of("set") > 40)  # leadership sets two keys per tick
        ticks = calls_of("set") / 2
        return calls_of("time") / ticks, calls_of("evalsha") / ticks

    with run_dispatcher(replace(settings, timing=replace(QUICK, sweep=3600, catch_up=0))):
        assert wait_until(
            lambda: all(most - 0.2 < ticks < most + 0.2 for ticks, most in zip(calls_per_tick(), (2, 1), strict=True))
        )


@pytest.mark.usefixtures("dispatcher")
def test_check_run_is_opened_before_a_judging_starts(store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: world.checks().get(f"100/1 {HEAD}", "").startswith("in_progress: "))
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    assert wait_until(lambda: world.checks().get(f"100/1 {HEAD}", "").startswith("cancelled: "))
    assert wait_until(lambda: not store.client.call("ZCARD", keys.pending_checks(pull_ref().installation_id).name))


@pytest.mark.usefixtures("dispatcher")
@pytest.mark.parametrize("steps", [[], ["unavailable"], ["gone"]], ids=["now", "later", "never"])
def test_push_of_unknown_order_counts_once_github_was_asked(
    store: Store, world: ScriptedGitHub, steps: list[str]
) -> None:
    store.pulls.request_judging(judge_request())
    world.push(pull_ref(), NEWER)
    world.script(pull_ref(3001), *steps, "ok")
    push = judge_request(head_sha=HEAD[::-1].replace("1", "4"), trigger=Trigger.PUSHED)
    delivery = RequestDelivery(request=push, named_by=NamedHead("5" * 40))
    store.client.call("RPUSH", keys.INBOX.name, delivery.model_dump_json())
    assert wait_until(lambda: not store.client.call("LLEN", keys.INBOX.name))
    assert wait_until(lambda: not store.client.call("HLEN", keys.UNCONFIRMED.texts.name))
    newest = store.checks().newest_head(pull_ref())
    assert newest == (HEAD if steps == ["gone"] else NEWER)


@pytest.mark.usefixtures("dispatcher")
@pytest.mark.parametrize("step", ["forbidden", "bug x", "gone"])
def test_check_run_that_can_not_be_opened_is_dropped(store: Store, world: ScriptedGitHub, step: str) -> None:
    world.script(pull_ref(1001), step)
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: not store.client.call("ZCARD", keys.pending_checks(pull_ref().installation_id).name))
    assert world.checks() == {}


DURING_OUTAGE = replace(QUICK, github_delay=0.2, github_outage=3)
OPENED_LATER: dict[str, tuple[int, list[str], Timing]] = {
    "could not be opened now": (1001, ["unavailable"], replace(QUICK, open_hold=0.05)),
    "GitHub is away": (1001, ["away"] * 6, replace(DURING_OUTAGE, open_hold=3600)),
    "GitHub is away for longer than is waited": (
        1001,
        ["away"] * 6,
        replace(DURING_OUTAGE, open_hold=3600, github_outage=0),
    ),
    "GitHub did not create it": (0, [], replace(QUICK, open_hold=3600, retry_delay=0.05)),
    "GitHub did not create it, and all else is retried late": (0, [], replace(QUICK, open_hold=3600, retry_delay=3600)),
}


@pytest.mark.parametrize(("number", "steps", "timing"), OPENED_LATER.values(), ids=OPENED_LATER)
def test_failed_check_run_is_opened_later(
    settings: Settings, store: Store, world: ScriptedGitHub, number: int, steps: list[str], timing: Timing
) -> None:
    if steps:
        world.script(pull_ref(number), *steps)
    else:
        world.fail_next_create("502")
    with run_dispatcher(replace(settings, timing=timing)):
        store.pulls.request_judging(judge_request())
        assert wait_until(world.checks)


def test_task_with_a_first_retry_waits_less_during_an_outage(settings: Settings) -> None:
    settings = replace(settings, timing=Timing())
    task = BackgroundTask(name="answer command", work=lambda _: None, complete=lambda: None)
    long, soon = (retry_rule_for(each, settings) for each in (task, replace(task, first_retry_s=2)))
    assert [long.outage_delay(attempt).total_seconds() for attempt in (1, 9)] == [15, 600]
    assert [soon.outage_delay(attempt).total_seconds() for attempt in (1, 9)] == [2, 12]


def test_check_runs_after_a_rate_limit_are_spread_out(settings: Settings, store: Store, world: ScriptedGitHub) -> None:
    limit = SystemClock().now() + timedelta(hours=1)
    numbers = range(1, 9)
    for number in numbers:
        world.script(pull_ref(number + 1000), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(judge_request(number))
    names = [keys.pull(pull_ref(number)).name for number in numbers]
    opening = keys.pending_checks(pull_ref().installation_id).name
    due = lambda: sorted(float(text(store.client.call("ZSCORE", opening, name))) / 1000 for name in names)  # noqa: E731 - asked again
    timing = replace(QUICK, retry_delay=15, open_hold=60)
    with run_dispatcher(replace(settings, timing=timing)):
        assert wait_until(lambda: due()[0] > limit.timestamp() - 60)
    gap = timing.write_gap
    assert 60 / gap == WRITES_A_MINUTE
    assert due()[0] >= limit.timestamp() - 1, "not before its end"
    assert all(after - before > gap / 2 for before, after in pairwise(due()))
    assert due()[-1] < limit.timestamp() + 8 * gap
    assert world.checks() == {}


def first_due_at(store: Store, on: str) -> float:
    """Return when the first member of this sorted set is due."""
    return float(text(items(store.client.call("ZRANGE", on, 0, 0, "WITHSCORES"))[1])) / 1000


def test_merge_group_waits_for_a_rate_limit_and_no_other_task(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    limit = SystemClock().now() + timedelta(hours=1)
    opening, groups = keys.pending_checks(pull_ref().installation_id).name, GROUPS.order.name
    for number in range(1, 9):
        world.script(pull_ref(number + 1000), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(judge_request(number))
    world.script(NO_PULL, f"limited_until {limit.isoformat()}")
    with run_dispatcher(replace(settings, timing=replace(QUICK, retry_delay=15, open_hold=60))):
        assert wait_until(lambda: first_due_at(store, opening) > limit.timestamp() - 60)
        store.groups.put(merge_group())
        assert wait_until(lambda: world.notes("group") and first_due_at(store, groups) > limit.timestamp() - 60)
    assert abs(first_due_at(store, groups) - limit.timestamp()) < 0.5


@pytest.mark.usefixtures("dispatcher")
def test_answered_command_queues_a_judging(store: Store, world: ScriptedGitHub, queued_jobs: JobIds) -> None:
    world.script(pull_ref(), "unavailable")
    store.commands.put(command_request())
    assert wait_until(lambda: len(queued_jobs()) == 1)
    assert len(world.notes("asked")) == 2
    assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name))


COMMAND_FAILURES: dict[str, tuple[list[str], Timing, int, bool]] = {
    "short outage": (["away"] * 8, DURING_OUTAGE, 9, False),
    "long outage": (["away"] * 8, replace(DURING_OUTAGE, github_outage=0), 3, True),
    "unavailable": (["unavailable"] * 3, QUICK, 3, True),
}


@pytest.mark.parametrize(("steps", "timing", "tries", "is_dropped"), COMMAND_FAILURES.values(), ids=COMMAND_FAILURES)
def test_failing_command_is_answered_after_an_outage_or_dropped_with_a_log_line(  # noqa: PLR0913 - a table
    settings: Settings,
    store: Store,
    world: ScriptedGitHub,
    caplog: pytest.LogCaptureFixture,
    *,
    steps: list[str],
    timing: Timing,
    tries: int,
    is_dropped: bool,
) -> None:
    world.script(pull_ref(), *steps)
    with run_dispatcher(replace(settings, timing=timing)):
        store.commands.put(command_request())
        assert wait_until(lambda: len(world.notes("asked")) == tries)
        assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name))
    assert len(world.notes("asked")) == tries
    assert ("task dropped: GitHub is unavailable: 502" in caplog.text) is is_dropped


def test_retries_of_one_installation_are_spread_out(settings: Settings, store: Store, world: ScriptedGitHub) -> None:
    away = replace(QUICK, retry_delay=0.6, github_delay=0.6)
    for number in range(1, 5):
        world.script(pull_ref(number + 1000), "away")
    with run_dispatcher(replace(settings, timing=replace(away, open_hold=3600))):
        begun = time.monotonic()
        for number in range(1, 5):
            store.pulls.request_judging(judge_request(number))
        assert wait_until(lambda: len(world.checks()) == 4)
    assert time.monotonic() - begun >= 0.6 + 3 * away.retry_gap - 0.05


def test_successful_task_releases_waiting_ones_of_its_installation(
    settings: Settings, store: Store, world: ScriptedGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "OPEN_RETRY_S", 1.0)
    waits = replace(QUICK, retry_delay=3600, github_delay=3600, open_hold=3600)
    store.pulls.request_judging(judge_request(2))
    store.pulls.finish(start_judging(store).lease, Finish.AWAY, timedelta(hours=1))
    world.script(pull_ref(), "away")
    world.script(pull_ref(1003), "away")
    with run_dispatcher(replace(settings, timing=waits)):
        store.commands.put(command_request())
        assert wait_until(lambda: world.notes("asked"))
        store.pulls.request_judging(judge_request(3))
        assert wait_until(lambda: len(world.notes("asked")) == 2), "an hour early"
        name, soon = keys.pull(pull_ref(2)).name, SystemClock().now().timestamp() + 60
        assert wait_until(lambda: float(text(store.client.call("HGET", name, "after"))) / 1000 < soon), "also a judging"
    assert f"100/3 {HEAD}" in world.checks()


@pytest.mark.usefixtures("dispatcher")
def test_pull_request_events_are_processed_in_order_and_retried(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "unavailable")
    store.client.call("HSET", keys.watch(pull_ref()).name, "pull", pull_ref().model_dump_json())
    events = [pull_request_event(PullRequestEventKind.REOPENED), pull_request_event(PullRequestEventKind.CLOSED)]
    for event in events:
        store.pull_request_events.put(event)
    assert wait_until(lambda: not store.client.call("ZCARD", PULL_REQUEST_EVENTS.order.name))
    first, *_ = processed = [note["delivery"] for note in world.notes("followed")]
    assert (len(processed), first) == (3, events[0].delivery_id), "the first was tried again"
    assert not store.client.call("HLEN", PULL_REQUEST_EVENTS.texts.name)


@pytest.mark.parametrize(("step", "tries"), [("none", 1), ("bug x", 1), ("gone", 1), ("unavailable", 2)])
def test_due_pull_request_is_judged_as_a_whole_and_retried_if_useful(
    settings: Settings, store: Store, world: ScriptedGitHub, step: str, tries: int
) -> None:
    world.script(pull_ref(), step)
    store.client.call("HSET", keys.watch(pull_ref()).name, "pull", pull_ref().model_dump_json(), "turn", 1)
    store.client.call("ZADD", keys.LOOKAHEAD.name, 1, keys.watch(pull_ref()).name)
    with run_dispatcher(replace(settings, timing=replace(QUICK, open_hold=0.05))):
        assert wait_until(lambda: not store.client.call("ZCARD", keys.LOOKAHEAD.name))
    assert len(world.notes("concluded")) == tries


@pytest.mark.usefixtures("dispatcher")
def test_merge_group_is_answered_or_queued_for_a_judge(
    store: Store, world: ScriptedGitHub, queued_jobs: JobIds
) -> None:
    store.groups.put(merge_group())
    assert wait_until(lambda: len(world.notes("group")) == 1 and store.client.call("ZCARD", GROUPS.order.name) == 0)
    world.script(NO_PULL, "dispatch")
    store.groups.put(merge_group("again"))
    assert wait_until(lambda: [name.partition("-")[0] for name in queued_jobs()] == ["group"])


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [(["unavailable"] * 5, [1] * 6), (["forbidden"], [1, 2]), (["bug"], [1, 2])],
    ids=["outage, which counts as no attempt", "forbidden", "bug"],
)
def test_failed_merge_group_is_answered_again(
    settings: Settings, store: Store, world: ScriptedGitHub, steps: list[str], attempts: list[int]
) -> None:
    world.script(NO_PULL, *steps)
    store.groups.put(merge_group())
    hold = QUICK.open_hold if len(steps) > 1 else 0.2
    with run_dispatcher(replace(settings, timing=replace(QUICK, open_hold=hold))):
        assert wait_until(lambda: [note["attempt"] for note in world.notes("group")] == attempts)


@pytest.mark.usefixtures("dispatcher")
def test_lost_job_is_queued_again_with_a_new_fence(settings: Settings, store: Store, queued_jobs: JobIds) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: len(queued_jobs()) == 1)
    lost = queued_jobs()
    expire_lease(store, pull_ref())
    connection = rq_connection(settings)
    open_queue(JUDGE_QUEUE, connection).empty()
    connection.close()
    expire_lease(store, pull_ref())
    assert wait_until(lambda: len(queued_jobs()) == 1)
    assert queued_jobs() != lost


def test_queue_reconnects_if_its_server_became_a_replica(settings: Settings, store: Store) -> None:
    connection: Any = rq_connection(settings)
    first = connection.client_id()
    store.client.call("REPLICAOF", "127.0.0.1", 1)
    try:
        with pytest.raises(ReadOnlyError):
            open_queue(JUDGE_QUEUE, connection).push_job_id("judge-1")
        with pytest.raises(ReadOnlyError), connection.pipeline() as batch:
            batch.set("k", "v").execute()
    finally:
        store.client.call("REPLICAOF", "NO", "ONE")
    assert connection.client_id() != first
    connection.close()


@pytest.mark.usefixtures("dispatcher")
def test_watchdog_closes_a_check_run_past_its_deadline(store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    name = f"100/1 {HEAD}"
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: world.checks()[name].startswith("action_required"))
    assert wait_until(lambda: not store.client.call("ZCARD", keys.DEADLINES.name))
    RedisCheckRegistry(store.client, Timing(check_deadline=0)).record_opened(pull_ref(2), HEAD, CheckRunId(5))
    assert wait_until(lambda: not store.checks().open_checks(pull_ref(2))), "also of an unknown pull request"


def expire_check(store: Store) -> None:
    """Make the check run overdue, and wait until the watchdog and the dispatcher are done with it."""
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: store.measures.read_totals(REQUESTED_AT).counts.get(EventCount.OVERDUE))
    store.commands.put(command_request())
    assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name)), "a later task"


@pytest.mark.usefixtures("dispatcher")
def test_overdue_check_stays_open_if_a_judging_starts(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(2001), "a judge begins")
    store.pulls.request_judging(judge_request())
    expire_check(store)
    assert list(store.checks().open_checks(pull_ref())) == [HEAD]
    assert store.client.call("ZCARD", keys.DEADLINES.name), "its deadline is set"


@pytest.mark.usefixtures("dispatcher")
def test_overdue_check_without_write_access_stays_unfinished(store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    world.fail_next_update("checks: write is missing")
    expire_check(store)
    assert store.checks().list_unfinished_heads(pull_ref()) == (HEAD,)


@pytest.mark.parametrize(
    ("steps", "outage"),
    [
        (["away"] * 4, 3),
        (["gone"] * 3, 0),
        pytest.param(["forbidden"] * 3, 0, marks=pytest.mark.slow),
        pytest.param(["bug x"] * 3, 0, marks=pytest.mark.slow),
    ],
)
def test_overdue_check_is_retried_until_it_is_closed(
    settings: Settings, store: Store, world: ScriptedGitHub, steps: list[str], outage: int
) -> None:
    world.script(pull_ref(2001), *steps)
    timing = replace(DURING_OUTAGE, github_outage=outage, open_hold=3600, check_deadline=1)
    with run_dispatcher(replace(settings, timing=timing)):
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: "Assay failed" in world.checks().get(f"100/1 {HEAD}", ""))


@pytest.mark.usefixtures("dispatcher")
def test_watchdog_closes_the_check_run_of_a_merge_group(store: Store, world: ScriptedGitHub) -> None:
    waiting = merge_group()
    store.groups.put(waiting)
    registry = RedisCheckRegistry(store.client, Timing(check_deadline=0))
    registry.record_opened(pull_ref(0), waiting.head_sha, CheckRunId(5))
    assert wait_until(lambda: [note["head"] for note in world.notes("closed group")] == [waiting.head_sha])
    assert wait_until(lambda: not store.client.call("ZCARD", keys.DEADLINES.name))


@pytest.mark.usefixtures("dispatcher")
def test_orphaned_check_run_is_judged_again(settings: Settings, store: Store, caplog: pytest.LogCaptureFixture) -> None:
    name, message = keys.pull(pull_ref()).name, "orphaned check run requeued"
    store.client.call("HSET", name, "inst", 100, "seq", 1, "req", judge_request(head_sha=None).model_dump_json())
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(7))
    assert message not in caplog.messages
    store.client.call("ZINCRBY", keys.DEADLINES.name, -settings.timing.lease * 2000, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: message in caplog.messages)
    assert wait_until(lambda: store.client.call("HGET", name, "state"))


@pytest.mark.usefixtures("dispatcher")
def test_orphaned_check_run_of_a_merge_group_is_answered_again(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    left = merge_group()
    store.groups.put(left)
    assert wait_until(lambda: world.notes("group"))
    assert wait_until(lambda: store.client.call("ZCARD", GROUPS.order.name) == 0)
    store.checks().record_opened(pull_ref(0), left.head_sha, CheckRunId(7))
    store.client.call(
        "ZINCRBY", keys.DEADLINES.name, -settings.timing.lease * 2000, keys.check(pull_ref(0), left.head_sha).name
    )
    assert wait_until(lambda: len(world.notes("group")) == 2)


@dataclass(frozen=True, slots=True)
class SlowHandlers(ScriptedHandlers):
    """Handlers whose periodic tasks block until `released`."""

    begun: list[str]
    released: threading.Event

    @override
    def clean_up(self) -> None:
        self.begun.append("tidy")
        assert self.released.wait(60)

    @override
    def reconcile(self) -> None:
        self.begun.append("catch up")
        assert self.released.wait(60)


def test_periodic_task_is_not_started_while_it_is_running(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    begun, released = list[str](), threading.Event()

    @contextmanager
    def open_slow_handlers(_: Settings, store: Store) -> Generator[SlowHandlers]:
        yield SlowHandlers(store, ScriptedGitHub(store), begun, released)

    always_due = replace(settings, timing=replace(QUICK, tidy=0.001, catch_up=0.001))
    with run_dispatcher(always_due, open_slow_handlers):
        try:
            for number in (1, 2, 3):  # each takes a tick, in which both tasks are due
                store.pulls.request_judging(judge_request(number))
                assert wait_until(lambda name=f"100/{number} {HEAD}": name in world.checks())
            assert sorted(begun) == ["catch up", "tidy"]
        finally:
            released.set()
        assert wait_until(lambda: begun.count("tidy") > 1 and begun.count("catch up") > 1)


def test_second_dispatcher_takes_over_from_the_leader(settings: Settings, store: Store, queued_jobs: JobIds) -> None:
    with run_dispatcher(settings):
        assert wait_until(lambda: store.client.call("EXISTS", keys.LEADER.name))
        leader = store.client.call("GET", keys.LEADER.name)
        with run_dispatcher(settings):
            store.pulls.request_judging(judge_request(1))
            assert wait_until(lambda: len(queued_jobs()) == 1)
            assert store.client.call("GET", keys.LEADER.name) == leader
    with run_dispatcher(settings):
        store.pulls.request_judging(judge_request(2, installation=200))
        assert wait_until(lambda: len(queued_jobs()) == 2)


def test_dispatcher_survives_an_outage_of_redis(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    redis = RedisServer.launch()
    settings = settings_for(redis.url, replace(QUICK, redis_timeout=0.5), retries=2)
    try:
        with run_dispatcher(settings) as thread, open_store(settings) as store:
            redis.kill()
            assert wait_until(lambda: "dispatch postponed: Redis is unavailable" in caplog.text)
            redis.start()
            store.pulls.request_judging(judge_request())
            connection = rq_connection(settings)
            assert wait_until(lambda: open_queue(JUDGE_QUEUE, connection).count == 1)
            connection.close()
            assert thread.is_alive()
    finally:
        redis.end()


@pytest.mark.usefixtures("dispatcher")
def test_dispatcher_logs_the_delivery_id_and_times_the_first_check(
    store: Store, world: ScriptedGitHub, caplog: pytest.LogCaptureFixture
) -> None:
    world.script(pull_ref(1001), "unavailable")
    with caplog.at_level("INFO", "worker"):
        store.pulls.request_judging(judge_request(delivery_id="guid-1"))
        assert wait_until(world.checks)
        assert wait_until(
            lambda: sum(store.measures.read_totals(REQUESTED_AT).spans[DurationMetric.FIRST_CHECK].counts) == 1
        )
    records = [record for record in caplog.records if record.name == "worker.scheduling.dispatcher"]
    assert {record.msg for record in records} >= {"judging dispatched", "task postponed: %s"}
    assert {vars(record).get("delivery_id") for record in records} == {"guid-1"}


@pytest.mark.parametrize(
    ("workers", "limits"), [(1, DispatchLimits(1, 3, 2)), (2, DispatchLimits(1, 4, 2)), (8, DispatchLimits(7, 10, 5))]
)
def test_dispatch_limits_leave_workers_for_other_installations(workers: int, limits: DispatchLimits) -> None:
    assert limit_dispatches(workers) == limits
