"""Measure figures at many verdicts: rebuild time, p95 of answers, peak memory, disk and Redis bytes, each against its baseline.

Fills a private Redis with made verdicts of a month over a thousand repositories. Run from the checkout:
`nice .venv/bin/python bench/analytics.py --verdicts 1000000`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.stage import at, memory_mib
from tests.worker.adapters.redis.store_samples import settings_for
from tests.worker.evaluation.stats.history import event_body
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store, open_store, with_store_url
from worker.domain.model import InstallationId
from worker.evaluation.stats.answers import answer_query
from worker.evaluation.stats.export import TERMINAL_EVENTS, SkippedCount, export_jsonl
from worker.evaluation.stats.figures import StatsTopic, parse_query
from worker.process import SystemClock
from worker.settings import Settings, child_environment
from worker.wiring.store import open_figures_cache

HERE: Final = InstallationId(100)
REPOSITORIES: Final = 1_000
DAYS: Final = 30
AGENTS: Final = ("copilot", "codex", "claude", "devin", "cursor", None)
CATEGORIES: Final = ("scope_creep", "acceptance_gap", "weak_test", "tests_pass_but_wrong", "half_finished")
OUTCOMES: Final = (
    ("merged", "lifecycle"), ("closed_unmerged", "lifecycle"), ("reverted", "implicit"), ("not_helpful", "explicit"),
)  # fmt: skip
SIGNALS: Final = {"heuristic_score": 0.4213, "heuristic_confidence": 0.55, "findings": 3, "changed_lines": 211}
ASKED: Final = 40
BATCH: Final = 500


def make_entries(count: int, now: datetime) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(id, kind, body) of *count* verdicts in the order of their times, each with its start, every fifth with an outcome."""
    chance = random.Random(20261121)  # noqa: S311 - the same made verdicts every time
    first_ms, step = int((now - timedelta(days=DAYS)).timestamp() * 1000), DAYS * 86_400_000 / count
    for number in range(count):
        at_ms, seq = first_ms + int(number * step), number % 1000 * 4
        ended = _make_body(number, at_ms, chance)
        frame = {name: ended[name] for name in tuple(ended)[:7]}
        plan = {"rubric_id": "default", "rubric_version": "3", "judge_kind_planned": "hybrid", "trigger": "bus"}
        yield f"{at_ms}-{seq}", "eval.started", frame | plan
        yield f"{at_ms}-{seq + 1}", "eval.completed", ended
        if number % 5 == 0:
            outcome, strength = chance.choice(OUTCOMES)
            about = {"subject_kind": "pull_request", "subject_id": f"{ended['repository_id']}/{ended['number']}"}
            what = {"outcome": outcome, "strength": strength, "head_sha": None, "at": ended["created_at"]}
            yield f"{at_ms}-{seq + 2}", "outcome.recorded", frame | about | what


def _make_body(number: int, at_ms: int, chance: random.Random) -> dict[str, Any]:
    """Two verdicts a pull request on average; half by code with few distinct scores, half by a model with many."""
    pull_request, by_model, score = number // 2, chance.random() < 0.5, chance.random()
    repository = int(REPOSITORIES * (pull_request * 0.6180339887 % 1) ** 2)
    score = round(score, 4) if by_model else round(score, 1)
    decision = "reject" if score < 0.5 else "accept"
    confidence = chance.choice((0.55, 0.62, 0.7, 0.85, 0.95)) + (chance.random() / 50 if by_model else 0)
    random_bits = chance.getrandbits(12) << 64 | 2 << 62 | chance.getrandbits(62)
    return event_body(
        str(UUID(int=at_ms << 80 | 7 << 76 | random_bits)),
        repository_id=repository,
        number=pull_request,
        head=f"{chance.getrandbits(160):040x}",
        decision=decision,
        category=chance.choice(CATEGORIES) if decision == "reject" else None,
        score=score,
        confidence=round(confidence, 4),
        round=1 + number % 2,
        author_agent=AGENTS[pull_request % len(AGENTS)],
        judge_latency_ms=chance.randrange(20, 20_000),
        facts=["stub_body"] if score < 0.1 else [],
        signals=SIGNALS,
        rubric_version="3",
        created_at=datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        **_make_model_fields(chance) if by_model else {},
    )


def _make_model_fields(chance: random.Random) -> dict[str, Any]:
    return {
        "judge_kind": "hybrid",
        "judge_model": "claude-haiku-5-5",
        "judge_cost_usd": f"0.{chance.randrange(1000, 9000000):09d}",
        "judge_pricing_version": "2026-11-01",
        "tokens_in": chance.randrange(1_000, 30_000),
        "tokens_out": chance.randrange(100, 2_000),
        "escalated": True,
    }


def fill(redis: RedisServer, entries: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
    """Add entries to the stream, many commands at a time."""
    name, left = keys.events(HERE).name, iter(entries)
    with redis.client as typed:
        client: Any = typed
        while some := list(islice(left, BATCH)):
            pipeline = client.pipeline(transaction=False)
            for entry_id, kind, event in some:
                fields = {"k": kind, "j": json.dumps(event, separators=(",", ":"))}
                pipeline.xadd(name, fields, id=entry_id)
            pipeline.execute()


def redis_bytes(redis: RedisServer) -> int:
    with redis.client as client:
        return int(cast("Any", client).info("memory")["used_memory"])


def build(of: Settings) -> tuple[float, float, float]:
    """Count all in a process of its own, as the web process has it done. Seconds by the clock and of its CPU; peak MB."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "worker.wiring.store", str(os.getpid()), str(of.figures_folder), str(HERE)]
    child = subprocess.Popen(command, env=child_environment(of))
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def p95_ms(work: Any, times: int = ASKED) -> str:
    """The 95th percentile by the clock, and of this process's CPU."""
    wall, cpu = list[float](), list[float]()
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        work()
        cpu.append((time.process_time() - worked) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    return f"{at(wall, 0.95):,.0f} ms (CPU {at(cpu, 0.95):,.0f})"


def measure(store: Store, redis: RedisServer, of: Settings, count: int, now: datetime) -> None:
    """Print every figure beside its baseline."""

    def print_row(name: str, measured: str, baseline: str) -> None:
        print(f"{name:40} {measured:>24}   {baseline}", flush=True)

    empty = redis_bytes(redis)
    fill(redis, make_entries(count, now))
    full = redis_bytes(redis) - empty
    size = f"{full / 1e6:,.0f} MB, {full / count:,.0f} B a verdict"
    print_row("Redis, all of it", size, "with rollups in Redis: 1,400 B a verdict")
    seconds, cpu, peak = build(of)
    print_row("rebuild", f"{seconds:,.0f} s (CPU {cpu:,.0f})", "limit 60 s; rollups: 133 s")
    print_row("peak memory of the rebuild", f"{peak:,.0f} MB", "web machine of fly.toml: 256 MB")
    disk = sum(path.stat().st_size for path in of.figures_folder.iterdir())
    print_row("disk", f"{disk / 1e6:,.0f} MB, {disk / count:,.0f} B a verdict", "none before")
    figures = open_figures_cache(of, store)
    week = {"from": (now - timedelta(days=7)).isoformat(), "to": now.isoformat()}
    topics: list[tuple[StatsTopic, dict[str, str]]] = [(topic, {}) for topic in StatsTopic]
    for topic, group in [(StatsTopic.QUALITY, {"group_by": "repository"}), *topics]:
        question = parse_query(week | group, topic, now)
        spent = p95_ms(lambda: figures.query([HERE], now, lambda streams: answer_query(topic, question, streams)))  # noqa: B023 - called here
        limit = f"limit 300 ms; rollups: {90 if group else 20} ms" if topic is StatsTopic.QUALITY else ""
        print_row(f"p95 of {topic}, 7 days{' by repository' if group else ''}", spent, limit)
    began = time.perf_counter()
    ends = store.events.read(HERE, kinds=tuple(TERMINAL_EVENTS.values()))
    lines = sum(chunk.count(b"\n") for chunk in export_jsonl(ends, HERE, SkippedCount()))
    print_row("export, verdicts a second", f"{lines / (time.perf_counter() - began):,.0f}", "before: 82,200")
    memory = f"{memory_mib(os.getpid(), 'VmRSS'):,.0f} MB"
    print_row("memory of the asking process", memory, "web machine of fly.toml: 256 MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=100_000)
    arguments = parser.parse_args()
    redis = RedisServer.launch()
    try:
        with tempfile.TemporaryDirectory() as folder:
            of = replace(settings_for(redis.url), data_dir=Path(folder))
            with open_store(of) as store:
                measure(store, redis, with_store_url(of, store), arguments.verdicts, SystemClock().now())
    finally:
        redis.end()


if __name__ == "__main__":
    main()
