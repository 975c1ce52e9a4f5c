"""Retry decisions of errors."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from worker.errors import (
    Bug,
    Discard,
    FailCheck,
    Forbidden,
    LeaseLost,
    Outage,
    RateLimited,
    RetryAfterOutage,
    RetryAt,
    RetryDecision,
    RetryIn,
    RetryRule,
    RubricRefused,
    SubjectGone,
    Unavailable,
    Unreadable,
    classify,
)

RULE = RetryRule(attempts=3, first_delay=timedelta(seconds=15))
AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
DOWN = Unavailable("Redis", "no answer")
AWAY = Outage("GitHub", "502")
HOURS = RetryRule(attempts=3, first_delay=timedelta(seconds=15), outage_limit=timedelta(hours=6))


@pytest.mark.parametrize(
    ("error", "attempt", "decision"),
    [
        (DOWN, 1, RetryIn(timedelta(seconds=15))),
        (DOWN, 3, RetryIn(timedelta(seconds=135))),
        (DOWN, 4, FailCheck("Redis is unavailable: no answer")),
        (RateLimited("GitHub", AT), 1, RetryAt(AT)),
        (RateLimited("GitHub", AT), 99, RetryAt(AT)),
        (Forbidden("no"), 1, FailCheck("no")),
        (RubricRefused("raise it"), 1, FailCheck("raise it")),
        (Unreadable("no key"), 1, FailCheck("no key")),
        (SubjectGone("closed"), 1, Discard("closed")),
        (LeaseLost(), 1, Discard("another judge took over")),
        (KeyError("x"), 1, Bug()),
    ],
    ids=(
        [
            "first failure",
            "third failure",
            "too many",
            "limit",
            "repeated limit",
            "forbidden",
            "rubric",
            "unreadable",
            "gone",
            "lost",
            "bug",
        ]
    ),
)
def test_each_error_has_one_retry_decision(error: Exception, attempt: int, decision: RetryDecision) -> None:
    assert classify(error, attempt, RULE) == decision


def test_outage_delays_grow_up_to_the_longest() -> None:
    waits = [classify(AWAY, attempt, HOURS) for attempt in (1, 2, 3, 4, 5, 39)]
    assert waits == [RetryAfterOutage(timedelta(seconds=seconds)) for seconds in (15, 45, 135, 405, 600, 600)]


def test_outage_is_retried_for_the_configured_time() -> None:
    waited = sum((HOURS.outage_delay(attempt) for attempt in range(1, HOURS.outage_attempts + 1)), timedelta(0))
    assert timedelta(hours=6) <= waited < timedelta(hours=6, minutes=10)
    assert classify(AWAY, HOURS.outage_attempts + 1, HOURS) == FailCheck("GitHub is unavailable: 502")


@pytest.mark.parametrize(("outage", "attempts"), [(0, 3), (15, 3), (600, 4), (601, 5), (86_400, 147)])
def test_outage_is_retried_at_least_as_often_as_other_errors(outage: float, attempts: int) -> None:
    rule = replace(HOURS, outage_limit=timedelta(seconds=outage))
    assert rule.outage_attempts == attempts
    assert isinstance(classify(AWAY, attempts, rule), RetryAfterOutage)


def test_outage_is_delayed_without_a_configured_delay() -> None:
    rule = RetryRule(attempts=3, first_delay=timedelta(0), outage_limit=timedelta(hours=6))
    assert rule.outage_delay(1) == rule.outage_delay(1000) == timedelta(seconds=15)
