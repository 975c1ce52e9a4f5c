"""The dispatcher, in a thread, against a real Redis and a real queue that nobody works on."""

import dataclasses
import logging
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import count, pairwise
from typing import Any, cast

import pytest
from redis.exceptions import ReadOnlyError
from rq.registry import StartedJobRegistry

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
    wait_until,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.worker.scheduling.conftest import QUICK
from tests.worker.scheduling.scripted_judging import NO_PULL, ScriptedGitHub, ScriptedHandlers, open_scripted_handlers
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.keys import COMMANDS, GROUPS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import CheckRunId
from worker.domain.lifecycle.inbox import RequestDelivery
from worker.domain.lifecycle.intake import NamedHead
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.pull_request_events import PullRequestEventKind
from worker.scheduling import dispatcher as dispatch
from worker.scheduling.dispatcher import BackgroundTask, Dispatcher, TaskHandlers, limit_dispatches, retry_rule_for
from worker.scheduling.queue import JUDGE_JOB, judge_queue, rq_connection
from worker.settings import WRITES_A_MINUTE, Settings, Timing

NAMES = count(1)


OpenApp = Callable[[Settings, Store], AbstractContextManager[TaskHandlers]]


@contextmanager
def dispatching(here: Settings, open_handlers: OpenApp = open_scripted_handlers) -> Generator[threading.Thread]:
    """A dispatcher at work until the block ends."""
    stop = threading.Event()
    with open_store(here) as store:
        dispatcher = Dispatcher(here, store, partial(open_handlers, here, store), SystemClock())
        thread = threading.Thread(target=dispatcher.run, args=(stop.is_set,), name=f"dispatcher-{next(NAMES)}")
        thread.start()
        try:
            yield thread
        finally:
            stop.set()
            thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def dispatcher(settings: Settings, store: Store) -> Iterator[threading.Thread]:
    store.ping()  # Redis is empty from here on
    with dispatching(settings) as thread:
        yield thread


@pytest.fixture
def queued(settings: Settings) -> Iterator[Callable[[], list[str]]]:
    """The ids of the jobs that wait for a worker."""
    connection = rq_connection(settings)
    yield lambda: judge_queue(connection).job_ids
    connection.close()


@pytest.mark.usefixtures("dispatcher")
def test_what_is_due_goes_to_the_queue_under_its_fence(
    settings: Settings, store: Store, queued: Callable[[], list[str]]
) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: len(queued()) == 1)
    connection = rq_connection(settings)
    job = judge_queue(connection).jobs[0]
    assert job.func_name == JUDGE_JOB
    arguments = cast("list[int]", job.args)  # pyright: ignore[reportUnknownMemberType] - RQ can't know them
    assert list(arguments) == [100, 7, 1, int(job.id.removeprefix("judge-"))]
    assert (job.result_ttl, job.timeout) == (0, settings.timing.check_deadline)
    assert StartedJobRegistry(queue=judge_queue(connection)).count == 0
    connection.close()


def test_a_delivery_that_cannot_be_applied_delays_no_other_and_is_tried_again_at_the_next_start(
    settings: Settings, store: Store, queued: Callable[[], list[str]]
) -> None:
    delivery = RequestDelivery(request=judge_request(), named_by=NamedHead())
    store.client.call("RPUSH", keys.INBOX.name, "no delivery", delivery.model_dump_json())
    with dispatching(settings):
        assert wait_until(lambda: len(queued()) == 1)
    assert store.client.call("LRANGE", keys.INBOX_ASIDE.name, 0, -1) == [b"no delivery"]
    later = delivery.model_copy(update={"request": judge_request(2)}).model_dump_json()
    store.client.call("LSET", keys.INBOX_ASIDE.name, 0, later)
    with dispatching(settings):
        assert wait_until(lambda: store.pulls.find_request(pull_ref(2)))


def test_where_nothing_is_due_a_look_is_two_reads_of_redis_and_one_write(settings: Settings, store: Store) -> None:
    def asked(command: str) -> int:
        counts = re.findall(rf"cmdstat_{command}:calls=(\d+)", text(store.client.call("INFO", "commandstats")))
        return sum(map(int, counts))

    def looks() -> tuple[float, float]:
        store.client.call("CONFIG", "RESETSTAT")
        assert wait_until(lambda: asked("set") > 40)  # to lead sets the lease and the count
        count = asked("set") / 2
        return asked("time") / count, asked("evalsha") / count

    with dispatching(replace(settings, timing=replace(QUICK, sweep=3600, catch_up=0))):
        assert wait_until(
            lambda: all(most - 0.2 < count < most + 0.2 for count, most in zip(looks(), (2, 1), strict=True))
        )


@pytest.mark.usefixtures("dispatcher")
def test_a_head_has_its_check_run_before_anybody_judges(store: Store, world: ScriptedGitHub) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: world.checks().get(f"100/1 {HEAD}", "").startswith("in_progress: "))
    world.push(pull_ref(), NEWER)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    assert wait_until(lambda: world.checks().get(f"100/1 {HEAD}", "").startswith("cancelled: "))
    assert wait_until(lambda: not store.client.call("ZCARD", keys.pending_checks(pull_ref().installation_id).name))


@pytest.mark.usefixtures("dispatcher")
@pytest.mark.parametrize("step", ["forbidden", "bug x", "gone"])
def test_a_check_that_can_never_be_opened_is_not_tried_for_ever(store: Store, world: ScriptedGitHub, step: str) -> None:
    world.script(pull_ref(1001), step)
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: not store.client.call("ZCARD", keys.pending_checks(pull_ref().installation_id).name))
    assert world.checks() == {}


AWAY = replace(QUICK, github_delay=0.2, github_outage=3)
LATER: dict[str, tuple[int, list[str], Timing]] = {
    "could not be opened now": (1001, ["unavailable"], replace(QUICK, open_hold=0.05)),
    "GitHub is away": (1001, ["away"] * 6, replace(AWAY, open_hold=3600)),
    "GitHub is away for longer than is waited": (1001, ["away"] * 6, replace(AWAY, open_hold=3600, github_outage=0)),
    "GitHub did not create it": (0, [], replace(QUICK, open_hold=3600, retry_delay=0.05)),
    "GitHub did not create it, and all else is retried late": (0, [], replace(QUICK, open_hold=3600, retry_delay=3600)),
}


@pytest.mark.parametrize(("number", "steps", "timing"), LATER.values(), ids=LATER)
def test_a_check_that_could_not_be_opened_is_opened_later(
    settings: Settings, store: Store, world: ScriptedGitHub, number: int, steps: list[str], timing: Timing
) -> None:
    if steps:
        world.script(pull_ref(number), *steps)
    else:
        world.fail_next_create("502")
    with dispatching(replace(settings, timing=timing)):
        store.pulls.request_judging(judge_request())
        assert wait_until(world.checks)


def test_an_overdue_check_that_github_is_away_for_is_closed_when_it_is_back(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    store.pulls.request_judging(judge_request())
    world.script(pull_ref(2001), *["away"] * 4)
    with dispatching(replace(settings, timing=replace(AWAY, open_hold=3600, check_deadline=1))):
        assert wait_until(lambda: "Assay failed" in world.checks().get(f"100/1 {HEAD}", ""))


def test_what_somebody_looks_at_now_waits_for_less_while_github_is_away(settings: Settings) -> None:
    settings = replace(settings, timing=Timing())
    errand = BackgroundTask(name="answer command", work=lambda _: None, complete=lambda: None)
    long, soon = (
        retry_rule_for(errand, settings),
        retry_rule_for(dataclasses.replace(errand, first_retry_s=2), settings),
    )
    assert [long.outage_delay(one).total_seconds() for one in (1, 9)] == [15, 600]
    assert [soon.outage_delay(one).total_seconds() for one in (1, 9)] == [2, 12]


def test_a_check_that_waits_for_a_rate_limit_is_not_opened_before(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(1001), "limited 3600")
    with dispatching(settings):
        store.pulls.request_judging(judge_request())
        opening, name = keys.pending_checks(pull_ref().installation_id).name, keys.pull(pull_ref()).name
        until = lambda: float(text(store.client.call("ZSCORE", opening, name)) or 0) / 1000  # noqa: E731 - asked again
        now = SystemClock().now().timestamp()
        assert wait_until(lambda: until() > now + 3000)
    assert world.checks() == {}


def test_checks_that_wait_for_one_rate_limit_are_opened_one_after_the_other(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    limit = SystemClock().now() + timedelta(hours=1)
    many = range(1, 9)
    for number in many:
        world.script(pull_ref(number + 1000), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(judge_request(number))
    names = [keys.pull(pull_ref(number)).name for number in many]
    opening = keys.pending_checks(pull_ref().installation_id).name
    due = lambda: sorted(float(text(store.client.call("ZSCORE", opening, one))) / 1000 for one in names)  # noqa: E731 - asked again
    timing = replace(QUICK, retry_delay=15, open_hold=60)
    with dispatching(replace(settings, timing=timing)):
        assert wait_until(lambda: due()[0] > limit.timestamp() - 60)
    gap = timing.write_gap
    assert 60 / gap == WRITES_A_MINUTE
    assert due()[0] >= limit.timestamp() - 1, "not before its end"
    assert all(after - before > gap / 2 for before, after in pairwise(due()))
    assert due()[-1] < limit.timestamp() + 8 * gap
    assert world.checks() == {}


def first_at(store: Store, on: str) -> float:
    """When the first of those that wait in this line comes."""
    return float(text(items(store.client.call("ZRANGE", on, 0, 0, "WITHSCORES"))[1])) / 1000


def test_a_merge_group_waits_for_a_rate_limit_and_for_no_other_errand(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    limit = SystemClock().now() + timedelta(hours=1)
    opening, groups = keys.pending_checks(pull_ref().installation_id).name, GROUPS.order.name
    for number in range(1, 9):
        world.script(pull_ref(number + 1000), f"limited_until {limit.isoformat()}")
        store.pulls.request_judging(judge_request(number))
    world.script(NO_PULL, f"limited_until {limit.isoformat()}")
    with dispatching(replace(settings, timing=replace(QUICK, retry_delay=15, open_hold=60))):
        assert wait_until(lambda: first_at(store, opening) > limit.timestamp() - 60)
        store.groups.put(merge_group())
        assert wait_until(lambda: world.notes("group") and first_at(store, groups) > limit.timestamp() - 60)
    assert abs(first_at(store, groups) - limit.timestamp()) < 0.5


@pytest.mark.usefixtures("dispatcher")
def test_a_command_is_answered_and_becomes_a_judging(
    store: Store, world: ScriptedGitHub, queued: Callable[[], list[str]]
) -> None:
    world.script(pull_ref(), "unavailable")
    store.commands.put(command_request())
    assert wait_until(lambda: len(queued()) == 1)
    assert len(world.notes("asked")) == 2
    assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name))


COMMAND_TROUBLE: dict[str, tuple[list[str], Timing, int, bool]] = {
    "away for a while": (["away"] * 8, AWAY, 9, False),
    "away for longer than is waited": (["away"] * 8, replace(AWAY, github_outage=0), 3, True),
    "unavailable": (["unavailable"] * 3, QUICK, 3, True),
}


@pytest.mark.parametrize(("steps", "timing", "tries", "is_dropped"), COMMAND_TROUBLE.values(), ids=COMMAND_TROUBLE)
def test_a_command_is_answered_when_github_is_back_or_dropped_and_said(  # noqa: PLR0913 - a table
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
    with dispatching(replace(settings, timing=timing)):
        store.commands.put(command_request())
        assert wait_until(lambda: len(world.notes("asked")) == tries)
        assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name))
    assert len(world.notes("asked")) == tries
    assert ("task dropped: GitHub is unavailable: 502" in caplog.text) is is_dropped


def test_what_github_stopped_of_one_installation_is_not_all_tried_again_at_once(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    away = replace(QUICK, retry_delay=0.6, github_delay=0.6)
    for number in range(1, 5):
        world.script(pull_ref(number + 1000), "away")
    with dispatching(replace(settings, timing=replace(away, open_hold=3600))):
        begun = time.monotonic()
        for number in range(1, 5):
            store.pulls.request_judging(judge_request(number))
        assert wait_until(lambda: len(world.checks()) == 4)
    assert time.monotonic() - begun >= 0.6 + 3 * away.retry_gap - 0.05


def test_once_an_errand_goes_well_what_waits_for_github_follows(
    settings: Settings, store: Store, world: ScriptedGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "OPEN_RETRY_S", 1.0)
    waits = replace(QUICK, retry_delay=3600, github_delay=3600, open_hold=3600)
    store.pulls.request_judging(judge_request(2))
    job = store.pulls.next_due("first", DispatchLimits(1, 1))
    taken = store.pulls.take_lease(pull_ref(2), job.fence) if job else None
    assert taken is not None
    store.pulls.finish(taken.lease, Finish.AWAY, timedelta(hours=1))
    world.script(pull_ref(), "away")
    world.script(pull_ref(1003), "away")
    with dispatching(replace(settings, timing=waits)):
        store.commands.put(command_request())
        assert wait_until(lambda: world.notes("asked"))
        store.pulls.request_judging(judge_request(3))
        assert wait_until(lambda: len(world.notes("asked")) == 2), "an hour early"
        name, soon = keys.pull(pull_ref(2)).name, SystemClock().now().timestamp() + 60
        assert wait_until(lambda: float(text(store.client.call("HGET", name, "after"))) / 1000 < soon), (
            "and a judging too"
        )
    assert f"100/3 {HEAD}" in world.checks()


@pytest.mark.usefixtures("dispatcher")
def test_what_happened_is_looked_into_in_its_order_until_it_is_done(store: Store, world: ScriptedGitHub) -> None:
    world.script(pull_ref(), "unavailable")
    store.client.call("HSET", keys.watch(pull_ref()).name, "pull", pull_ref().model_dump_json())
    given = [pull_request_event(PullRequestEventKind.REOPENED), pull_request_event(PullRequestEventKind.CLOSED)]
    for one in given:
        store.pull_request_events.put(one)
    assert wait_until(lambda: not store.client.call("ZCARD", PULL_REQUEST_EVENTS.order.name))
    first, *_ = followed = [one["delivery"] for one in world.notes("followed")]
    assert (len(followed), first) == (3, given[0].delivery_id), "the first was tried again"
    assert not store.client.call("HLEN", PULL_REQUEST_EVENTS.texts.name)


@pytest.mark.parametrize(("step", "tries"), [("none", 1), ("bug x", 1), ("gone", 1), ("unavailable", 2)])
def test_a_pull_request_whose_time_has_come_is_judged_as_a_whole_and_again_after_its_hold_if_that_may_help(
    settings: Settings, store: Store, world: ScriptedGitHub, step: str, tries: int
) -> None:
    world.script(pull_ref(), step)
    store.client.call("HSET", keys.watch(pull_ref()).name, "pull", pull_ref().model_dump_json(), "turn", 1)
    store.client.call("ZADD", keys.LOOKAHEAD.name, 1, keys.watch(pull_ref()).name)
    with dispatching(replace(settings, timing=replace(QUICK, open_hold=0.05))):
        assert wait_until(lambda: not store.client.call("ZCARD", keys.LOOKAHEAD.name))
    assert len(world.notes("concluded")) == tries


@pytest.mark.usefixtures("dispatcher")
def test_a_merge_group_is_answered_and_one_that_differs_goes_to_the_judges(
    store: Store, world: ScriptedGitHub, queued: Callable[[], list[str]]
) -> None:
    store.groups.put(merge_group())
    assert wait_until(lambda: len(world.notes("group")) == 1 and store.client.call("ZCARD", GROUPS.order.name) == 0)
    world.script(NO_PULL, "hand over")
    store.groups.put(merge_group("again"))
    assert wait_until(lambda: [name.partition("-")[0] for name in queued()] == ["group"])


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [(["unavailable"] * 5, [1] * 6), (["forbidden"], [1, 2]), (["bug"], [1, 2])],
    ids=["an outage, which counts as no try", "forbidden", "a bug"],
)
def test_a_merge_group_that_could_not_be_answered_comes_again(
    settings: Settings, store: Store, world: ScriptedGitHub, steps: list[str], attempts: list[int]
) -> None:
    world.script(NO_PULL, *steps)
    store.groups.put(merge_group())
    hold = QUICK.open_hold if len(steps) > 1 else 0.2
    with dispatching(replace(settings, timing=replace(QUICK, open_hold=hold))):
        assert wait_until(lambda: [one["attempt"] for one in world.notes("group")] == attempts)


@pytest.mark.usefixtures("dispatcher")
def test_what_was_lost_comes_back_under_a_new_fence(
    settings: Settings, store: Store, queued: Callable[[], list[str]]
) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: len(queued()) == 1)
    lost = queued()
    expire_lease(store, pull_ref())
    connection = rq_connection(settings)
    judge_queue(connection).empty()
    connection.close()
    expire_lease(store, pull_ref())
    assert wait_until(lambda: len(queued()) == 1)
    assert queued() != lost


def test_a_server_that_became_another_ones_replica_is_not_held_on_to(settings: Settings, store: Store) -> None:
    connection: Any = rq_connection(settings)
    first = connection.client_id()
    store.client.call("REPLICAOF", "127.0.0.1", 1)
    try:
        with pytest.raises(ReadOnlyError):
            judge_queue(connection).push_job_id("judge-1")
        with pytest.raises(ReadOnlyError), connection.pipeline() as batch:
            batch.set("k", "v").execute()
    finally:
        store.client.call("REPLICAOF", "NO", "ONE")
    assert connection.client_id() != first
    connection.close()


@pytest.mark.usefixtures("dispatcher")
def test_the_watchdog_closes_a_check_that_is_older_than_its_deadline(
    settings: Settings, redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    store.pulls.request_judging(judge_request())
    name = f"100/1 {HEAD}"
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: world.checks()[name].startswith("action_required"))
    assert wait_until(lambda: not store.client.call("ZCARD", keys.DEADLINES.name))
    with open_store(settings_for(redis_server.url, replace(settings.timing, check_deadline=0))) as late:
        late.checks().record_opened(pull_ref(2), HEAD, CheckRunId(5))
    assert wait_until(lambda: not store.checks().open_checks(pull_ref(2))), "nobody knows this pull request any more"


def becomes_overdue(store: Store) -> None:
    """It was opened long ago. Returns once the watchdog has seen to it, and the dispatcher heard of that."""
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: store.measures.read_totals(REQUESTED_AT).counts.get(EventCount.OVERDUE))
    store.commands.put(command_request())
    assert wait_until(lambda: not store.client.call("ZCARD", COMMANDS.order.name)), "an errand that came back later"


@pytest.mark.usefixtures("dispatcher")
def test_a_judge_that_begins_right_after_its_check_was_closed_as_overdue_keeps_it_open(
    store: Store, world: ScriptedGitHub
) -> None:
    world.script(pull_ref(2001), "a judge begins")
    store.pulls.request_judging(judge_request())
    becomes_overdue(store)
    assert list(store.checks().open_checks(pull_ref())) == [HEAD]
    assert store.client.call("ZCARD", keys.DEADLINES.name), "and watched"


@pytest.mark.usefixtures("dispatcher")
def test_an_overdue_check_that_nobody_may_write_to_goes_on_being_looked_for(
    store: Store, world: ScriptedGitHub
) -> None:
    store.pulls.request_judging(judge_request())
    assert wait_until(lambda: store.checks().open_checks(pull_ref()))
    world.fail_next_update("checks: write is missing")
    becomes_overdue(store)
    assert store.checks().list_unfinished_heads(pull_ref()) == (HEAD,)


@pytest.mark.parametrize(
    "trouble",
    ["gone", pytest.param("forbidden", marks=pytest.mark.slow), pytest.param("bug x", marks=pytest.mark.slow)],
)
def test_an_overdue_check_that_can_not_be_closed_is_tried_again_however_often(
    settings: Settings, store: Store, world: ScriptedGitHub, trouble: str
) -> None:
    world.script(pull_ref(2001), *[trouble] * 3)
    with dispatching(replace(settings, timing=replace(AWAY, github_outage=0, open_hold=3600, check_deadline=1))):
        store.pulls.request_judging(judge_request())
        assert wait_until(lambda: "Assay failed" in world.checks().get(f"100/1 {HEAD}", ""))


@pytest.mark.usefixtures("dispatcher")
def test_the_watchdog_closes_a_merge_groups_check_too(
    settings: Settings, redis_server: RedisServer, store: Store, world: ScriptedGitHub
) -> None:
    waiting = merge_group()
    store.groups.put(waiting)
    with open_store(settings_for(redis_server.url, replace(settings.timing, check_deadline=0))) as late:
        late.checks().record_opened(pull_ref(0), waiting.head_sha, CheckRunId(5))
    assert wait_until(lambda: [one["head"] for one in world.notes("closed group")] == [waiting.head_sha])
    assert wait_until(lambda: not store.client.call("ZCARD", keys.DEADLINES.name))


@pytest.mark.usefixtures("dispatcher")
def test_a_check_that_was_left_open_by_who_wrote_late_and_died_is_judged_again(
    settings: Settings, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    place, said = keys.pull(pull_ref()).name, "orphaned check run requeued"
    store.client.call("HSET", place, "inst", 100, "seq", 1, "req", judge_request(head_sha=None).model_dump_json())
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(7))
    assert said not in caplog.messages
    store.client.call("ZINCRBY", keys.DEADLINES.name, -settings.timing.lease * 2000, keys.check(pull_ref(), HEAD).name)
    assert wait_until(lambda: said in caplog.messages)
    assert wait_until(lambda: store.client.call("HGET", place, "state"))


@pytest.mark.usefixtures("dispatcher")
def test_the_check_of_a_merge_group_that_was_left_open_has_its_group_answered_again(
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
    """One whose errands of now and then go on only when they are told to."""

    begun: list[str]
    goes_on: threading.Event

    def clean_up(self) -> None:
        self.begun.append("tidy")
        assert self.goes_on.wait(60)

    def reconcile(self) -> None:
        self.begun.append("catch up")
        assert self.goes_on.wait(60)


def test_an_errand_of_now_and_then_is_not_begun_again_while_it_is_under_way(
    settings: Settings, store: Store, world: ScriptedGitHub
) -> None:
    begun, goes_on = list[str](), threading.Event()

    @contextmanager
    def open_slow_handlers(_: Settings, store: Store) -> Generator[SlowHandlers]:
        yield SlowHandlers(store, ScriptedGitHub(store), begun, goes_on)

    always_due = replace(settings, timing=replace(QUICK, tidy=0.001, catch_up=0.001))
    with dispatching(always_due, open_slow_handlers):
        try:
            for number in (1, 2, 3):  # each takes a look of the dispatcher, which finds both due again
                store.pulls.request_judging(judge_request(number))
                assert wait_until(lambda name=f"100/{number} {HEAD}": name in world.checks())
            assert sorted(begun) == ["catch up", "tidy"]
        finally:
            goes_on.set()
        assert wait_until(lambda: begun.count("tidy") > 1 and begun.count("catch up") > 1)


def test_one_of_two_dispatchers_leads_and_the_other_takes_over(
    settings: Settings, store: Store, queued: Callable[[], list[str]]
) -> None:
    with dispatching(settings):
        assert wait_until(lambda: store.client.call("EXISTS", keys.LEADER.name))
        leader = store.client.call("GET", keys.LEADER.name)
        with dispatching(settings):
            store.pulls.request_judging(judge_request(1))
            assert wait_until(lambda: len(queued()) == 1)
            assert store.client.call("GET", keys.LEADER.name) == leader
    with dispatching(settings):
        store.pulls.request_judging(judge_request(2, installation=200))
        assert wait_until(lambda: len(queued()) == 2)


def test_an_outage_of_redis_stops_the_work_and_not_the_dispatcher(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    redis = RedisServer.launch()
    here = settings_for(redis.url, replace(QUICK, redis_timeout=0.5), retries=2)
    try:
        with dispatching(here) as thread, open_store(here) as store:
            redis.kill()
            assert wait_until(lambda: "dispatch postponed: Redis is unavailable" in caplog.text)
            redis.start()
            store.pulls.request_judging(judge_request())
            connection = rq_connection(here)
            assert wait_until(lambda: judge_queue(connection).count == 1)
            connection.close()
            assert thread.is_alive()
    finally:
        redis.end()


@pytest.mark.usefixtures("dispatcher")
def test_every_line_about_a_request_names_its_delivery_and_the_first_check_is_timed(
    store: Store, world: ScriptedGitHub, caplog: pytest.LogCaptureFixture
) -> None:
    world.script(pull_ref(1001), "unavailable")
    with caplog.at_level("INFO", "worker"):
        store.pulls.request_judging(judge_request(delivery_id="guid-1"))
        assert wait_until(world.checks)
        assert wait_until(
            lambda: sum(store.measures.read_totals(REQUESTED_AT).spans[DurationMetric.FIRST_CHECK].counts) == 1
        )
    told = {
        one.msg: vars(one).get("delivery_id") for one in caplog.records if one.name == "worker.scheduling.dispatcher"
    }
    assert told.keys() >= {"judging dispatched", "task postponed: %s"}
    assert set(told.values()) == {"guid-1"}


@pytest.mark.parametrize(
    ("workers", "limits"), [(1, DispatchLimits(1, 3, 2)), (2, DispatchLimits(1, 4, 2)), (8, DispatchLimits(7, 10, 5))]
)
def test_one_installation_never_takes_all_workers(workers: int, limits: DispatchLimits) -> None:
    assert limit_dispatches(workers) == limits
