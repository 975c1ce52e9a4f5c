"""Every error has one fate."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.errors import (
    Bug,
    Drop,
    Fate,
    Forbidden,
    GiveUp,
    Gone,
    LeaseLost,
    RateLimited,
    RetryAt,
    RetryIn,
    RetryRule,
    RubricRefused,
    Unavailable,
    classify,
)

RULE = RetryRule(attempts=3, first_delay=timedelta(seconds=15))
AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
OUTAGE = Unavailable("GitHub", "502")


@pytest.mark.parametrize(
    ("error", "attempt", "fate"),
    [
        (OUTAGE, 1, RetryIn(timedelta(seconds=15))),
        (OUTAGE, 3, RetryIn(timedelta(seconds=135))),
        (OUTAGE, 4, GiveUp("GitHub is unavailable: 502")),
        (RateLimited("GitHub", AT), 1, RetryAt(AT)),
        (RateLimited("GitHub", AT), 99, RetryAt(AT)),
        (Forbidden("no"), 1, GiveUp("no")),
        (RubricRefused("raise it"), 1, GiveUp("raise it")),
        (Gone("closed"), 1, Drop("closed")),
        (LeaseLost(), 1, Drop("another judge took over")),
        (KeyError("x"), 1, Bug()),
    ],
    ids=[
        "first outage",
        "third outage",
        "too many",
        "limit",
        "limit, however often",
        "forbidden",
        "rubric",
        "gone",
        "lost",
        "bug",
    ],
)
def test_every_error_has_one_fate(error: Exception, attempt: int, fate: Fate) -> None:
    assert classify(error, attempt, RULE) == fate
