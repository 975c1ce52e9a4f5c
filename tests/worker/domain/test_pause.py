"""The end of a pause, and its signals in a verdict."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from worker.domain.pause import JudgingPause, UntilError, format_time, parse_end, pause_from_signals, pause_to_signals

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_pause_end_is_a_duration_or_a_time_in_utc(text: str, expected: datetime) -> None:
    assert parse_end(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tomorrow", '"tomorrow" is no time. Expected: how long, like 90m, 2h or 3d'),
        ("9999-12-31T23:59-12:00", '"9999-12-31T23:59-12:00" is no time. Expected'),
        ("0001-01-01T00:00+12:00", '"0001-01-01T00:00+12:00" is no time. Expected'),
        ("0m", '"0m" is over already: it is 2026-11-20 15:00 UTC.'),
        ("2026-11-20T15:00Z", "is over already"),
        ("2026-11-01", "is over already"),
    ],
)
def test_invalid_or_past_pause_end_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UntilError) as refused:
        parse_end(text, NOW)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "suspension",
    [
        JudgingPause(by="alice", until=NOW, reason="a storm"),
        JudgingPause(by="alice"),
        JudgingPause(until=NOW),
        JudgingPause(reason="a storm"),
    ],
)
def test_verdict_signals_keep_the_pause(suspension: JudgingPause) -> None:
    assert pause_from_signals(pause_to_signals(suspension)) == suspension


def test_unpaused_verdict_has_no_pause_signals() -> None:
    assert pause_to_signals(JudgingPause(at=NOW, repository="acme/widgets")) == {}
    assert pause_from_signals({"paused_by": "operator"}) is None


def test_times_are_shown_in_utc() -> None:
    assert format_time(NOW.astimezone(timezone(timedelta(hours=5)))) == "2026-11-20 15:00 UTC"
