"""Figures for `/metrics` over all processes: current gauges, and counters since the store's start.

A lost update is not repeated. Names of figures are closed sets without repositories, pull requests or people.
"""

import secrets
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.budget import RedisRates
from worker.adapters.redis.connection.client import field_values, items, member_scores, parse_time, text, whole
from worker.adapters.redis.connection.transactions import Operation, RedisPart, Transaction, run
from worker.adapters.redis.judging.intake import milliseconds
from worker.adapters.redis.keys import (
    ADDED_REPOSITORIES,
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    UNCONFIRMED,
)
from worker.domain.lifecycle.state import Phase
from worker.domain.metrics import BOUNDS_S, CurrentGauges, DurationMetric, EventCount, Histogram, MetricTotals
from worker.domain.model import InstallationId
from worker.domain.verdict.budget import from_nano

INFINITE_BOUND: Final = "inf"
RECENT_SPAN: Final = timedelta(days=2)
MOST_INSTALLATIONS: Final = 1_000


QUEUES: Final = MappingProxyType(
    {
        "command": COMMANDS.order,
        "unconfirmed": UNCONFIRMED.order,
        "happening": PULL_REQUEST_EVENTS.order,
        "greeting": ADDED_REPOSITORIES.order,
        "letter": COMMENT_JOBS.order,
        "scan": SCANS.order,
        "merge_group": GROUPS.order,
    }
)
"""Queues of the dispatcher's background tasks."""


class RedisMeasures(RedisPart):
    """Metrics in Redis. All methods raise Unavailable and are idempotent."""

    def count(self, what: EventCount) -> None:
        self._add({f"count:{what}": 1})

    def record_duration(self, span: DurationMetric, seconds: float) -> None:
        self._add(_duration_counts(span, seconds))

    def count_verdict(self, installation: InstallationId, decision: str, reason: str, seconds: float | None) -> None:
        """Count a published verdict, *seconds* after its request if that is meaningful."""
        spans = {} if seconds is None else _duration_counts(DurationMetric.VERDICT, seconds)
        self._add({f"verdict:{decision}:{reason}": 1, **spans}, installation)

    def _add(self, numbers: Mapping[str, int], installation: InstallationId | None = None) -> None:
        marker = keys.counted_measure(secrets.token_hex(16))
        run(self._client, partial(add_counts, marker=marker, numbers=numbers, installation=installation))

    def read_gauges(self) -> CurrentGauges:
        """Current figures of all installations; at most a thousand of them are read."""
        turns = (keys.DUE_TURNS, keys.DUE_OUTSIDE_TURNS, keys.PENDING_CHECK_TURNS, keys.PENDING_CHECK_OUTSIDE_TURNS)
        clock, open_checks, leads, is_paused, inbox, whole_due, dispatched, *rest = self._client.pipeline(
            [
                ("TIME",),
                ("ZCARD", keys.DEADLINES.name),
                ("EXISTS", keys.LEADER.name),
                ("EXISTS", keys.PAUSE_ALL.name),
                ("LLEN", keys.INBOX.name),
                ("ZCARD", keys.LOOKAHEAD.name),
                *(("ZRANGE", key.name, 0, MOST_INSTALLATIONS - 1) for key in (keys.DISPATCHED, *turns)),
                *(("ZCARD", key.name) for key in QUEUES.values()),
            ]
        )
        now = parse_time(clock)
        due_outcomes = self._client.call("ZCOUNT", keys.LOOKAHEAD.name, 0, now) if whole_due else 0
        jobs = [text(name) for name in items(dispatched)]
        phases = [text(phase) for phase in self._client.pipeline([("HGET", name, "state") for name in jobs])]
        installations = {whole(member) for members in rest[: len(turns)] for member in items(members)}
        installations |= {keys.parse_pull(name).installation_id for name in jobs}
        due, late, opening, age_ms = self._read_queues([InstallationId(number) for number in installations], now)
        waiting = (whole(inbox), opening, whole(due_outcomes), *map(whole, rest[len(turns) :]))
        return CurrentGauges(
            due,
            late,
            age_ms / 1000,
            phases.count(Phase.DISPATCHED),
            phases.count(Phase.JUDGING),
            whole(open_checks),
            bool(leads),
            bool(is_paused),
            dict(zip(("delivery", "open_check", "whole", *QUEUES), waiting, strict=True)),
        )

    def _read_queues(self, installations: Sequence[InstallationId], now: float) -> tuple[int, int, int, float]:
        """Judgings that are due, those whose time has come, check runs to open, and the age of the oldest of them in ms."""
        queues = ((keys.due, keys.pending_checks), (keys.due_outside, keys.pending_checks_outside))
        due = late = opening = 0
        age_ms = 0.0
        for name, checks in (
            (queue(owner).name, check(owner).name) for owner in installations for queue, check in queues
        ):
            count, overdue, pending, oldest = self._client.pipeline(
                [("ZCARD", name), ("ZCOUNT", name, 0, now), ("ZCARD", checks), ("ZRANGE", name, 0, 0, "WITHSCORES")]
            )
            due, late, opening = due + whole(count), late + whole(overdue), opening + whole(pending)
            age_ms = max([age_ms, *(now - score for _, score in member_scores(oldest))])
        return due, late, opening, age_ms

    def read_totals(self, now: datetime) -> MetricTotals:
        stored = field_values(self._client.call("HGETALL", keys.MEASURES.name))
        numbers = {name: whole(number) for name, number in stored.items()}
        named = items(self._client.call("ZREVRANGE", keys.MEASURED_INSTALLATIONS.name, 0, MOST_INSTALLATIONS - 1))
        lately = sorted(InstallationId(whole(name)) for name in named)
        verdicts = [(name.split(":", 2), count) for name, count in numbers.items() if name.startswith("verdict:")]
        books = [keys.installation_budget(installation, f"{now:%Y-%m-%d}") for installation in lately]
        spent = self._client.pipeline([("HGET", book.name, "spent") for book in books]) if books else []
        return MetricTotals(
            verdicts={(decision, reason): count for (_, decision, reason), count in sorted(verdicts)},
            counts={count: numbers.get(f"count:{count}", 0) for count in EventCount},
            spans={
                span: Histogram(
                    tuple(numbers.get(f"span:{span}:{bound}", 0) for bound in (*BOUNDS_S, INFINITE_BOUND)),
                    numbers.get(f"span:{span}:sum_ms", 0) / 1000,
                )
                for span in DurationMetric
            },
            spent_usd={
                installation: from_nano(whole(spent)) for installation, spent in zip(lately, spent, strict=True)
            },
            left={
                (installation, budget): left
                for installation in lately
                for budget, left in self._remaining_requests(installation)
            },
        )

    def _remaining_requests(self, installation: InstallationId) -> list[tuple[str, int]]:
        """Remaining requests, by GitHub's names of its budgets."""
        limits = RedisRates(self._client).find_limits(installation)
        return [(name, limit.remaining) for name, limit in limits.items() if name.isascii() and name.isidentifier()]


def add_counts(
    transaction: Transaction, marker: keys.Key, numbers: Mapping[str, int], installation: InstallationId | None
) -> Operation[None]:
    """Add to the counters, once under this marker."""
    if not (yield from transaction.mark_once(marker)):
        return
    for name, number in numbers.items():
        transaction.write("HINCRBY", keys.MEASURES.name, name, number)
    if installation is not None:
        recent, span_ms = keys.MEASURED_INSTALLATIONS.name, milliseconds(RECENT_SPAN.total_seconds())
        transaction.write("ZADD", recent, transaction.now, installation)
        transaction.write("ZREMRANGEBYSCORE", recent, 0, transaction.now - span_ms)


def _duration_counts(span: DurationMetric, seconds: float) -> dict[str, int]:
    """Bucket and sum of a duration. A clock that was set back counts as 0."""
    at = bisect_left(BOUNDS_S, seconds)
    bound = BOUNDS_S[at] if at < len(BOUNDS_S) else INFINITE_BOUND
    return {f"span:{span}:{bound}": 1, f"span:{span}:sum_ms": max(0, milliseconds(seconds))}
