"""Until when a pause lasts, and what a verdict remembers of it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from worker.domain.pause import (
    JudgingPause,
    UntilError,
    format_time,
    parse_end,
    pause_from_signals,
    pause_to_signals,
)

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("90m", NOW + timedelta(minutes=90)),
        ("2h", NOW + timedelta(hours=2)),
        ("3d", NOW + timedelta(days=3)),
        ("1w", NOW + timedelta(weeks=1)),
        ("2026-11-20T18:00Z", datetime(2026, 11, 20, 18, tzinfo=UTC)),
        ("2026-11-20T18:00", datetime(2026, 11, 20, 18, tzinfo=UTC)),
        ("2026-11-20T18:00+02:00", datetime(2026, 11, 20, 16, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_an_end_is_a_span_from_now_or_a_time_which_is_utc_without_a_zone(text: str, meant: datetime) -> None:
    assert parse_end(text, NOW) == meant


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tomorrow", '"tomorrow" is no time. Expected: how long, like 90m, 2h or 3d'),
        ("9999-12-31T23:59-12:00", '"9999-12-31T23:59-12:00" is no time. Expected'),
        ("0001-01-01T00:00+12:00", '"0001-01-01T00:00+12:00" is no time. Expected'),
        ("0m", '"0m" is over already: it is 2026-11-20 15:00 UTC.'),
        ("2026-11-20T15:00Z", "is over already"),
        ("2026-11-01", "is over already"),
    ],
)
def test_an_end_that_is_none_or_is_over_is_refused(text: str, why: str) -> None:
    with pytest.raises(UntilError) as refused:
        parse_end(text, NOW)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "suspension",
    [
        JudgingPause(by="alice", until=NOW, reason="a storm"),
        JudgingPause(by="alice"),
        JudgingPause(until=NOW),
        JudgingPause(reason="a storm"),
    ],
)
def test_a_verdict_remembers_who_until_when_and_why(suspension: JudgingPause) -> None:
    assert pause_from_signals(pause_to_signals(suspension)) == suspension


def test_a_verdict_that_was_not_paused_remembers_nothing() -> None:
    assert pause_to_signals(JudgingPause(at=NOW, repository="acme/widgets")) == {}
    assert pause_from_signals({"paused_by": "operator"}) is None


def test_times_are_told_in_utc() -> None:
    assert format_time(NOW.astimezone(timezone(timedelta(hours=5)))) == "2026-11-20 15:00 UTC"
