"""An installation moves from one Redis, a cell, to another with all that is stored of it."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import TypeVar

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.outcome_samples import judge_head, pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    command_request,
    judge_request,
    pull_ref,
    require,
    settings_for,
    wait_until,
)
from tests.worker.adapters.redis.test_keys import every_key
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.cells import (
    SHARED,
    TASK_QUEUES,
    TURNS,
    CellMove,
    Residence,
    find_residence,
    has_move,
    in_cell,
    is_resident,
)
from worker.adapters.redis.connection.client import (
    Argument,
    RedisClient,
    Reply,
    blob,
    field_values,
    items,
    member_scores,
    whole,
)
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.author_comment import CommentJob
from worker.domain.github_events import PullRequestEventKind
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchedJob, DispatchLimits
from worker.domain.model import DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.time_range import JudgingPause
from worker.errors import InputError, Unavailable
from worker.settings import Timing

OURS, OTHERS = InstallationId(100), InstallationId(1001)
HASTY = Timing(quiet_window=0, redis_timeout=0.001, open_hold=0.02, tick=0.001)
STAYS = {
    keys.PAUSE_ALL, keys.MEASURES, keys.CELLS, keys.DISPATCHED, keys.DISPATCHED_OUTSIDE, keys.COUNT, keys.LAST_DISPATCH,
    keys.LEADER, keys.TOKENS, keys.TOKEN_NAMES, keys.SETUP, keys.RUBRICS, keys.RECONCILED_AT, keys.RECONCILE_PLACE,
    keys.MISSED_DELIVERIES, keys.RECONCILE_ROUND, keys.ENCRYPTION_KEYS, keys.GROUP_HOLDS, keys.INBOX,
}  # fmt: skip
"""Keys of a cell itself, and keys without data of an installation that moves."""

Cells = dict[str, Store]
T = TypeVar("T")


@pytest.fixture(scope="module")
def west_server() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.fixture
def cells(store: Store, west_server: RedisServer) -> Iterator[Cells]:
    with open_store(settings_for(west_server.url)) as west:
        west.client.call("FLUSHALL")
        fill(store)
        yield {"main": replace(store, timing=HASTY), "west": replace(west, timing=HASTY)}


def fill(store: Store) -> None:
    """Store a verdict and, for two installations, entries of every queue."""
    judge_head(store)
    for installation in (OURS, OTHERS):
        ref, other = pull_ref(2, installation), {"installation_id": installation}
        task = {
            "pull": ref,
            "head_sha": HEAD,
            "eval_id": EvalId("e"),
            "delivery_id": DeliveryId(f"task-{installation}"),
        }
        store.pulls.request_judging(judge_request(2, installation))
        store.pulls.request_judging(judge_request(3, installation, outside=True))
        store.commands.put(command_request(f"comment-{installation}").model_copy(update={"pull": ref}))
        store.comment_jobs.put(CommentJob.model_validate(task))
        store.groups.put(merge_group(f"group-{installation}").model_copy(update=other))
        store.uninstallations().record_uninstalled(installation)
        store.paused_heads.put(judge_request(2, installation))
        store.pauses.pause(installation, RepositoryId(7), JudgingPause(by="alice"))
        note, check = f"{keys.pull(ref).name}\n1", keys.check(ref, HEAD).name
        event = pull_request_event(PullRequestEventKind.REVERTED, None, **other).model_dump_json()
        for order, texts, member, value in (
            (keys.EVALUATION_DEADLINES, keys.OPEN_EVALUATIONS, f"e{installation}", note),
            (keys.DEADLINES, keys.DEADLINE_NOTES, check, "{}"),
            *((queue.order, queue.texts, f"{installation}", event) for queue in TASK_QUEUES),
        ):
            store.client.call("ZADD", order.name, 5, member)
            store.client.call("HSET", texts.name, member, value)
        for queue in TASK_QUEUES:
            store.client.call("HSET", queue.tries.name, f"{installation}", 1, f"{installation} run", "r")
        store.client.call("RPUSH", keys.INBOX_ASIDE.name, event)
        store.client.call("ZADD", keys.MEASURED_INSTALLATIONS.name, 5, installation)


READS = {
    b"string": ("GET", ()), b"hash": ("HGETALL", ()), b"set": ("SMEMBERS", ()), b"list": ("LRANGE", (0, -1)),
    b"zset": ("ZRANGE", (0, -1, "WITHSCORES")), b"stream": ("XRANGE", ("-", "+")),
}  # fmt: skip


def read_value(store: Store, name: bytes) -> object:
    """The value of a key, in an order that does not depend on the server."""
    kind = store.client.call("TYPE", name)
    command, rest = READS[blob(kind)]
    value = store.client.call(command, name, *rest)
    if kind == b"hash":
        return dict(zip(items(value)[::2], items(value)[1::2], strict=True))
    return set(map(blob, items(value))) if kind == b"set" else value


def contents(store: Store, installation: InstallationId) -> dict[bytes, object]:
    """All that is stored of an installation: its keys with their lifetimes in hours, and its part of shared keys."""
    client, is_named = store.client, re.compile(rb"(?<!\d)%d(?!\d)" % installation).search
    stored, shared = dict[bytes, object](), [[key.name.encode() for key in queue] for queue in SHARED]
    for name in map(blob, items(client.call("KEYS", "assay:*"))):
        kind = name.split(b":")[1]
        if kind == b"%d" % installation or (kind in (b"dossier", b"audit") and installation == OURS):
            stored[name] = read_value(store, name), round(whole(client.call("PTTL", name)) / 3_600_000)
        elif kind == b"named":
            stored[name] = sorted(
                member for member in map(blob, items(client.call("SMEMBERS", name))) if is_named(member)
            )
        elif name == keys.INBOX_ASIDE.name.encode():
            stored[name] = [
                member for member in map(blob, items(client.call("LRANGE", name, 0, -1))) if is_named(member)
            ]
        elif kind == b"turn":
            stored[name] = [
                member for member in map(blob, items(client.call("ZRANGE", name, 0, -1))) if is_named(member)
            ]
    for order, *hashes in shared:
        scores = member_scores(client.call("ZRANGE", order, 0, -1, "WITHSCORES"))
        stored[order] = {name: at for name, at in scores if is_named(name.encode())}
        for key in hashes:
            fields = field_values(client.call("HGETALL", key))
            stored[key] = {name: value for name, value in fields.items() if is_named(f"{name} {value}".encode())}
    return {name: value for name, value in stored.items() if value}


def move(cells: Cells, to: str = "west") -> bool:
    return CellMove(cells, OURS).run(to)


def test_move_takes_all_keys_with_their_lifetimes_and_no_others(cells: Cells) -> None:
    main, west = cells.values()
    before, others = contents(main, OURS), contents(main, OTHERS)
    assert {key.name.encode() for queue in SHARED for key in queue} <= set(before)

    assert move(cells)
    assert contents(west, OURS) == before
    assert contents(main, OTHERS) == others
    assert not contents(main, OURS)
    assert not contents(west, OTHERS)


def test_each_shared_key_is_listed_as_moving_or_staying() -> None:
    moved = {key for queue in SHARED for key in queue} | {turns for _, turns in TURNS}
    assert not moved & STAYS
    fixed = {key for key in every_key() if key in vars(keys).values()}
    queued = {key for value in vars(keys).values() if isinstance(value, keys.QueueKeys) for key in value.keys}
    assert moved | STAYS | {keys.INBOX_ASIDE} == fixed | queued


class LossyClient(RedisClient):
    """Loses its connection at the *left*-th command, before it is sent or before the reply."""

    left = 0
    is_sent = False

    def call(self, *command: Argument) -> Reply:
        return self._breaks(lambda: super(LossyClient, self).call(*command))

    def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        return self._breaks(lambda: super(LossyClient, self).pipeline(commands))

    def _breaks(self, work: Callable[[], T]) -> T:
        LossyClient.left -= 1
        if LossyClient.left == 0:
            if LossyClient.is_sent:
                work()
            raise Unavailable("Redis", "connection lost")
        return work()


@pytest.mark.slow
@pytest.mark.parametrize("is_sent", [False, True])
def test_interrupted_move_is_resumed_with_the_same_result(
    cells: Cells, store: Store, west_server: RedisServer, *, is_sent: bool
) -> None:
    whole_move = contents(cells["main"], OURS)
    saved = {name: store.client.call("DUMP", name) for name in map(blob, items(store.client.call("KEYS", "assay:*")))}
    urls = store.url.get_secret_value(), west_server.url
    broken = {
        name: replace(cell, client=LossyClient(url, 5), timing=HASTY)
        for (name, cell), url in zip(cells.items(), urls, strict=True)
    }
    at = 0
    for at in count(1):
        for cell in cells.values():
            cell.client.call("FLUSHALL")
        cells["main"].client.pipeline([("RESTORE", name, 0, blob(dump)) for name, dump in saved.items()])
        LossyClient.left, LossyClient.is_sent = at, is_sent
        try:
            move(broken)
        except Unavailable:
            assert not is_judged_twice(cells)
            move(cells)
        else:
            break
        assert without_lifetimes(contents(cells["west"], OURS)) == without_lifetimes(whole_move), at
        assert not contents(cells["main"], OURS)
    assert at > 20
    for cell in broken.values():
        cell.close()


def is_judged_twice(cells: Cells) -> bool:
    """Whether both cells would judge the installation."""
    turns = [cell.client.call("ZSCORE", keys.DUE_TURNS.name, OURS) for cell in cells.values()]
    return None not in turns


def without_lifetimes(stored: dict[bytes, object]) -> dict[bytes, object]:
    return {name: value[0] if isinstance(value, tuple) else value for name, value in stored.items()}


def test_interrupted_move_can_be_taken_back(cells: Cells) -> None:
    main, west = cells.values()
    before = contents(main, OURS)
    stopped = CellMove(cells, OURS, stops_at("copied"))
    with pytest.raises(KeyboardInterrupt):
        stopped.run("west")
    assert find_residence(main.client, OURS) == Residence("west", "moving", "main")
    assert has_move(main.client)
    assert not any(is_resident(cell.client, name, OURS) for name, cell in cells.items())
    with pytest.raises(InputError, match="--to west"):
        CellMove({**cells, "east": west}, OURS).run("east")

    assert move(cells, "main")
    assert contents(main, OURS) == before
    assert not contents(west, OURS)
    assert [is_resident(cell.client, name, OURS) for name, cell in cells.items()] == [True, False]


def stops_at(step: str) -> Callable[[str], None]:
    def report(text: str) -> None:
        if text.startswith(step):
            raise KeyboardInterrupt

    return report


def test_move_there_and_back_restores_the_cell(cells: Cells) -> None:
    main, west = cells.values()
    before = contents(main, OURS)
    assert move(cells)
    assert not move(cells), "it is there already"
    assert [is_resident(cell.client, name, OURS) for name, cell in cells.items()] == [False, True]
    assert [is_resident(cell.client, name, OTHERS) for name, cell in cells.items()] == [True, False]
    assert move(cells, "main")
    assert contents(main, OURS) == before
    assert not contents(west, OURS)
    assert [is_resident(cell.client, name, OURS) for name, cell in cells.items()] == [True, False]


def test_move_waits_for_a_judging_and_starts_no_other(cells: Cells) -> None:
    main = cells["main"]
    job = require(main.pulls.next_due("before", DispatchLimits(9, 9)))
    ref = job.request.pull
    leased = require(main.pulls.take_lease(ref, job.fence))
    main.client.call("ZREM", keys.DUE_TURNS.name, OTHERS)
    with ThreadPoolExecutor(1) as pool:
        moved = pool.submit(move, cells)
        assert wait_until(lambda: main.client.call("ZSCORE", keys.DUE_TURNS.name, ref.installation_id) is None)
        assert find_residence(main.client, OURS).is_moving
        assert not moved.done()
        main.pulls.finish(leased.lease, Finish.JUDGED)
        assert moved.result(20)
    assert cells["west"].client.call("EXISTS", keys.pull(ref).name) == 1


def test_move_waits_for_a_judging_that_starts_at_the_last_moment(cells: Cells) -> None:
    main, ref, jobs = cells["main"], pull_ref(2), list[DispatchedJob | None]()

    def report(step: str) -> None:
        if step == "idle":
            main.client.pipeline([("DEL", turns.name) for _, turns in TURNS])
            main.client.call("ZADD", keys.DUE_TURNS.name, 1, OURS)
            jobs.append(main.pulls.next_due("late", DispatchLimits(9, 9)))
        elif step.startswith("copied"):
            assert main.client.call("ZSCORE", keys.DUE_TURNS.name, OURS) is None

    with ThreadPoolExecutor(1) as pool:
        moved = pool.submit(CellMove(cells, OURS, report).run, "west")
        assert wait_until(lambda: jobs)
        assert jobs[0] is not None
        leased = require(main.pulls.take_lease(ref, jobs[0].fence))
        assert not moved.done()
        main.pulls.finish(leased.lease, Finish.JUDGED)
        assert moved.result(20)
    assert not cells["west"].client.call("HGET", keys.pull(ref).name, "state"), "the end of the judging has moved"


def test_move_waits_for_deliveries_in_the_inbox(cells: Cells) -> None:
    main = cells["main"].client
    main.pipeline(
        [("RPUSH", keys.INBOX.name, f'{{"pull":{{"installation_id":{number}}}}}') for number in (OTHERS, OURS)]
    )
    with ThreadPoolExecutor(1) as pool:
        moved = pool.submit(move, cells)
        assert wait_until(lambda: main.call("ZSCORE", keys.DUE_TURNS.name, OURS) is None)
        assert not moved.done()
        main.call("RPOP", keys.INBOX.name)
        assert moved.result(20)


def test_move_is_refused_when_the_target_lacks_an_encryption_key(cells: Cells) -> None:
    cells["main"].client.call("HSET", keys.ENCRYPTION_KEYS.name, "0badc0de", int(time.time()))
    with pytest.raises(InputError, match="lacks a key"):
        move(cells)
    assert find_residence(cells["main"].client, OURS) == Residence("main")


def test_cell_can_be_opened_without_an_answer(store: Store) -> None:
    away = in_cell(store, SecretStr("redis://127.0.0.1:1"))
    with pytest.raises(Unavailable):
        away.ping()
