"""How analytics fare with many verdicts: what telling costs, what is kept, how soon questions are answered.

Fills a private Redis with made verdicts of a month over a thousand repositories, in four sizes up to `--verdicts`, and prints a
table; with `--plot FILE.svg` it draws how they grow, too. Does not judge anything. Run from the checkout:
`nice .venv/bin/python bench/analytics.py --verdicts 1000000`.
"""

import argparse
import gc
import json
import os
import random
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from litestar.serialization import encode_json

from tests.worker.adapters.redis.played import pull, settings
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.world.redis import Redis
from worker.adapters.redis import keys
from worker.adapters.redis.client import encode_command, text
from worker.adapters.redis.store import Store, open_store
from worker.adapters.redis.stream_pages import read_entries_ahead
from worker.domain.ids import InstallationId
from worker.domain.verdict.events import EvalTrigger, terminal_event
from worker.evaluation.stats.evaluations import list_evaluations
from worker.evaluation.stats.export import TERMINAL_EVENTS, SkippedCount, export_jsonl
from worker.evaluation.stats.queries import answer_query, combine_tables, tables_needed
from worker.evaluation.stats.rollups import open_rollups
from worker.evaluation.stats.stats_query import StatsQuery, StatsTopic
from worker.evaluation.stats.tables import GroupDimension
from worker.evaluation.stats.windows import make_window
from worker.scheduling.record import EventPublishing, evaluation_started
from worker.settings import Timing

HERE: Final = InstallationId(100)
REPOSITORIES: Final = 1_000
DAYS: Final = 30
AGENTS: Final = ("copilot", "codex", "claude", "devin", "cursor", None)
CATEGORIES: Final = ("scope_creep", "acceptance_gap", "weak_test", "tests_pass_but_wrong", "half_finished")
SIGNALS: Final = {"heuristic_score": 0.4213, "heuristic_confidence": 0.55, "findings": 3, "changed_lines": 211}
BATCH: Final = 500
APPENDS: Final = 3_000
ASKED: Final = 40


def made(count: int, now: datetime) -> Iterator[tuple[str, str, str]]:
    """(id, kind, body) of *count* verdicts, each with its start, and what became of some; in the order of their times."""
    chance = random.Random(20261121)  # noqa: S311 - the same made verdicts every time
    first = int((now - timedelta(days=DAYS)).timestamp() * 1000)
    step = DAYS * 86_400_000 / count
    for number in range(count):
        at = first + int(number * step)
        body = _body(number, at, chance)
        started = {name: body[name] for name in tuple(body)[:7]}
        started |= {"rubric_id": "default", "rubric_version": "3", "judge_kind_planned": "hybrid", "trigger": "bus"}
        yield f"{at}-{number % 1000 * 4}", "eval.started", json.dumps(started, separators=(",", ":"))
        yield f"{at}-{number % 1000 * 4 + 1}", "eval.completed", json.dumps(body, separators=(",", ":"))
        if number % 5 == 0:
            yield (
                f"{at}-{number % 1000 * 4 + 2}",
                "outcome.recorded",
                json.dumps(_outcome(body, chance), separators=(",", ":")),
            )


def _body(number: int, at: int, chance: random.Random) -> dict[str, Any]:
    """Two verdicts a pull request on average; half by code with few distinct scores, half by a model with many."""
    pull_request = number // 2
    repository = int(REPOSITORIES * (pull_request * 0.6180339887 % 1) ** 2)
    head = f"{chance.getrandbits(160):040x}"
    by_model, score = chance.random() < 0.5, chance.random()
    score = round(score, 4) if by_model else round(score, 1)
    decision = "reject" if score < 0.5 else "accept"
    return {
        "v": 1,
        "eval_id": str(UUID(int=at << 80 | 7 << 76 | chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62))),
        "subject_kind": "submission",
        "subject_id": f"{repository}/{pull_request}/{head}",
        "repository_id": repository,
        "number": pull_request,
        "sensitivity": "pseudonymous",
        "decision": decision,
        "category": chance.choice(CATEGORIES) if decision == "reject" else None,
        "abstain_reason": None,
        "throttled_reason": None,
        "score": score,
        "confidence": round(
            chance.choice((0.55, 0.62, 0.7, 0.85, 0.95)) + (chance.random() / 50 if by_model else 0), 4
        ),
        "round": 1 + number % 2,
        "author_agent": AGENTS[pull_request % len(AGENTS)],
        "judge_kind": "hybrid" if by_model else "heuristic",
        "judge_model": "claude-haiku-5-5" if by_model else None,
        "judge_cost_usd": f"0.{chance.randrange(1000, 9000000):09d}" if by_model else "0",
        "judge_pricing_version": "2026-11-01" if by_model else None,
        "judge_latency_ms": chance.randrange(20, 20_000),
        "tokens_in": chance.randrange(1_000, 30_000) if by_model else 0,
        "tokens_out": chance.randrange(100, 2_000) if by_model else 0,
        "escalated": by_model,
        "rubric_id": "default",
        "rubric_version": "3",
        "parent_eval_id": None,
        "carried_from": None,
        "facts": ["stub_body"] if score < 0.1 else [],
        "signals": SIGNALS,
        "created_at": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds"),
        "trigger": "bus",
    }


def _outcome(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    kept = {name: body[name] for name in ("v", "repository_id", "number", "sensitivity", "eval_id")}
    what, strength = chance.choice(
        (
            ("merged", "lifecycle"),
            ("closed_unmerged", "lifecycle"),
            ("reverted", "implicit"),
            ("not_helpful", "explicit"),
        )
    )
    about = {"subject_kind": "pull_request", "subject_id": f"{body['repository_id']}/{body['number']}"}
    return {**kept, **about, "outcome": what, "strength": strength, "head_sha": None, "at": body["created_at"]}


class Pipe:
    """Many commands under way at once; what they answer is only counted."""

    def __init__(self, redis: Redis) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(redis.socket))
        self._replies = self._socket.makefile("rb")

    def fill(self, name: str, entries: Iterable[tuple[str, str, str]]) -> None:
        waiting: list[bytes] = []
        for entry_id, kind, body in entries:
            waiting.append(encode_command(("XADD", name, entry_id, "k", kind, "j", body)))
            if len(waiting) == BATCH:
                self._send(waiting)
        self._send(waiting)

    def _send(self, waiting: list[bytes]) -> None:
        self._socket.sendall(b"".join(waiting))
        for _ in waiting:
            head = self._replies.readline()
            assert head.startswith(b"$"), head
            self._replies.readline()
        waiting.clear()

    def close(self) -> None:
        self._replies.close()
        self._socket.close()


def used(store: Store) -> int:
    said = text(store.client.call("INFO", "memory"))
    return int(said.split("used_memory:")[1].split("\r")[0])


class Spent(NamedTuple):
    """Milliseconds of each call, in order of size: by the clock, and of our own processor alone."""

    wall: list[float]
    own: list[float]

    @property
    def p95(self) -> float:
        return self.wall[int(len(self.wall) * 0.95)]

    @property
    def own_p95(self) -> float:
        return self.own[int(len(self.own) * 0.95)]

    def __str__(self) -> str:
        middle = statistics.median
        return (
            f"p50 {middle(self.wall):7.2f} ms, p95 {self.p95:7.2f} ms (CPU {middle(self.own):.2f}, {self.own_p95:.2f})"
        )


def timed(what: Callable[[], object], times: int = ASKED) -> Spent:
    wall: list[float] = []
    own: list[float] = []
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        what()
        own.append((time.process_time() - worked) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    return Spent(sorted(wall), sorted(own))


def appending(store: Store) -> None:
    """The event's part of recording a verdict, against the same bytes added bare, in turns."""
    store.client.call("FLUSHALL", "SYNC")
    lease = judging(store).lease
    spent: dict[str, list[float]] = {"bare": [], "plain": [], "told": [], "begun": []}
    raw = b""
    for number in range(APPENDS):
        one = entry(f"0190aaaa-bbbb-7ccc-8ddd-{number:012x}", lease.fence)
        other = entry(f"0190aaaa-bbbb-7ccc-8ddd-{number + 10**9:012x}", lease.fence)
        event = terminal_event(one.verdict, EvalTrigger.BUS)
        raw, begun = event.dump(), evaluation_started(one.verdict, EventPublishing())
        spent["bare"] += timed(partial(store.client.call, "XADD", "bare", "*", "k", event.kind, "j", raw), 1).wall
        spent["plain"] += timed(partial(store.ledger.append, pull(), other), 1).wall
        spent["begun"] += timed(partial(store.events.record_started, pull(), lease.fence, begun), 1).wall
        spent["told"] += timed(partial(store.ledger.append, pull(), one, (event,)), 1).wall
    middle = {name: statistics.median(each) for name, each in spent.items()}
    part = middle["told"] - middle["plain"]
    print(f"append, medians of {APPENDS} calls in turns over a unix socket ({len(raw)} bytes an event):")
    print(f"  bare XADD of the event's bytes            {middle['bare']:.3f} ms")
    print(f"  ledger.append without an event            {middle['plain']:.3f} ms")
    print(f"  ledger.append with its event              {middle['told']:.3f} ms")
    print(f"  the event's part of it                    {part:.3f} ms = {part / middle['bare']:.2f} x bare")
    print(
        f"  events.begin (mark, watchdog, XADD)       {middle['begun']:.3f} ms = {middle['begun'] / middle['bare']:.2f} x bare"
    )
    store.client.call("FLUSHALL", "SYNC")


def measured(store: Store, redis: Redis, count: int, now: datetime) -> dict[str, float]:
    """Everything at one size."""
    store.client.call("FLUSHALL", "SYNC")
    empty = used(store)
    pipe = Pipe(redis)
    pipe.fill(keys.events(HERE).name, made(count, now))
    pipe.close()
    stream = used(store) - empty
    rollups = open_rollups(store)
    began, worked = time.perf_counter(), time.process_time()
    rollups.rebuild(HERE)
    rebuilt, worked = time.perf_counter() - began, time.process_time() - worked
    everything = used(store) - empty
    print(
        f"  {stream / count:,.0f} B a verdict on the stream, {everything / count:,.0f} B with rollups; counted in {rebuilt:.0f} s",
        flush=True,
    )
    week, month = make_window(now - timedelta(days=7), now), make_window(now - timedelta(days=DAYS), now)
    figures = {
        "verdicts": count,
        "stream B": stream / count,
        "all B": everything / count,
        "rebuild s": rebuilt,
        "rebuild CPU s": worked,
    }
    for group in (GroupDimension.AUTHOR_AGENT, GroupDimension.REPOSITORY):
        question = StatsQuery(week, group_by=group)
        spent = timed(partial(_asked, store, StatsTopic.QUALITY, question, now))
        print(f"  quality, 7 days by {group}: {spent}", flush=True)
        figures |= {f"quality {group} p95 ms": spent.p95, f"quality {group} CPU p95 ms": spent.own_p95}
    for topic in (StatsTopic.COST, StatsTopic.AGREEMENT, StatsTopic.BACKLOG, StatsTopic.AGENTS, StatsTopic.OVERRIDES):
        print(
            f"  {topic}, 7 days: {timed(partial(_asked, store, topic, StatsQuery(week), now), 10)}",
            flush=True,
        )
    spent = timed(partial(_asked, store, StatsTopic.QUALITY, StatsQuery(month), now), 10)
    print(f"  quality, {DAYS} days: {spent}", flush=True)
    spent = history(store)
    figures |= {"history p95 ms": spent.p95, "history CPU p95 ms": spent.own_p95}
    began, worked = time.perf_counter(), time.process_time()
    lines = sum(
        chunk.count(b"\n")
        for chunk in export_jsonl(
            read_entries_ahead(store.client, HERE, kinds=tuple(TERMINAL_EVENTS.values())), HERE, SkippedCount()
        )
    )
    figures["export /s"] = lines / (time.perf_counter() - began)
    figures["export /CPU s"] = lines / (time.process_time() - worked)
    return figures


def history(store: Store) -> Spent:
    """A pull request of eight verdicts, out of the ledger and the rollup."""
    lease = judging(store).lease
    for number in range(8):
        store.ledger.append(pull(), entry(f"0190aaaa-bbbb-7ccc-8ddd-{number:012x}", lease.fence))
    spent = timed(lambda: (list_evaluations(store.ledger.entries(pull())), open_rollups(store).pull(pull())))
    print(f"  history of 8 verdicts: {spent}", flush=True)
    return spent


def _asked(store: Store, topic: StatsTopic, question: StatsQuery, now: datetime) -> object:
    """As the API answers."""
    found = open_rollups(store).find(HERE, tables_needed(topic, question), question.window, now)
    return encode_json(answer_query(topic, question, combine_tables([found])))


PANELS: Final[Mapping[str, Mapping[str, str]]] = {
    "bytes a verdict": {"stream B": "its events", "all B": "with rollups"},
    "p95 in ms (CPU)": {
        "quality author_agent CPU p95 ms": "quality by agent",
        "quality repository CPU p95 ms": "quality by repository",
        "history CPU p95 ms": "history",
    },
    "counting all again, CPU s": {"rebuild CPU s": "rebuild"},
    "export, verdicts a CPU second": {"export /CPU s": "jsonl"},
}


def plotted(rows: Sequence[Mapping[str, float]], to: Path) -> None:
    """How the figures grow with the verdicts."""
    import matplotlib as mpl  # noqa: PLC0415 - of the extra `bench`

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "assay", "svg.fonttype": "none", "axes.grid": True, "font.size": 9})
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(1, len(PANELS), figsize=(4 * len(PANELS), 3.2), layout="constrained")
    sizes = [row["verdicts"] for row in rows]
    for axis, (title, lines) in zip(axes, PANELS.items(), strict=True):
        for name, label in lines.items():
            axis.plot(sizes, [row[name] for row in rows], marker="o", label=label)
        axis.set(title=title, xscale="log", xlabel="verdicts", ylim=(0, None))
        axis.legend(fontsize="small")
    figure.savefig(to, metadata={"Date": None})  # pyright: ignore[reportUnknownMemberType] - numpy leaves it open
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=100_000)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    options = parser.parse_args()
    count = options.verdicts
    gc.freeze()  # as the web process does
    redis = Redis.started()
    now = datetime.now(UTC)  # noqa: TID251 - a bench has no clock
    try:
        with open_store(settings(redis.url, Timing(redis_timeout=60.0, quiet_window=0))) as store:
            store.client.call("CONFIG", "SET", "appendonly", "no")
            appending(store)
            rows: list[dict[str, float]] = []
            for size in sorted({max(1_000, count // part) for part in (100, 30, 10, 1)}, reverse=True):
                print(f"{size:,} verdicts", flush=True)
                rows.insert(0, measured(store, redis, size, now))
        print("growth:")
        for name in rows[0]:
            print(f"  {name:34}" + "".join(f"{row[name]:>14,.1f}" for row in rows))
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        if options.plot:
            plotted(rows, options.plot)
    finally:
        redis.end()


if __name__ == "__main__":
    main()
