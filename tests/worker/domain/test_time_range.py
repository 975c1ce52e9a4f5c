"""Times, windows and pauses as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from worker.domain.time_range import (
    JudgingPause,
    UntilError,
    Window,
    WindowError,
    format_time,
    parse_end,
    parse_moment_ms,
    parse_window,
    pause_from_signals,
    pause_to_signals,
    to_milliseconds,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("24h", NOW - timedelta(hours=24)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-19", datetime(2026, 11, 19, tzinfo=UTC)),
        ("2026-11-19T08:30", datetime(2026, 11, 19, 8, 30, tzinfo=UTC)),
        ("2026-11-19T08:30Z", datetime(2026, 11, 19, 8, 30, tzinfo=UTC)),
        ("2026-11-19T08:30+02:00", datetime(2026, 11, 19, 6, 30, tzinfo=UTC)),
    ],
)
def test_moment_is_a_date_a_time_or_an_age(text: str, moment: datetime) -> None:
    assert parse_moment_ms(text, NOW) == to_milliseconds(moment)


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7y", "2026-13-01", "-3d"])
def test_invalid_time_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(WindowError, match=r"is no time\. Expected: a date like"):
        parse_moment_ms(text, NOW)


def test_window_without_an_end_holds_everything_until_now() -> None:
    window = parse_window("24h", None, NOW)
    assert window.contains(to_milliseconds(NOW))
    assert window.contains(to_milliseconds(NOW - timedelta(hours=24)))
    assert not window.contains(to_milliseconds(NOW - timedelta(hours=24)) - 1)


def test_window_excludes_its_end() -> None:
    start, end = (to_milliseconds(NOW - timedelta(days=days)) for days in (2, 1))
    assert parse_window("48h", "24h", NOW) == Window(start, end)
    assert not parse_window("48h", "24h", NOW).contains(end)


@pytest.mark.parametrize(("since", "until"), [("24h", "48h"), ("24h", "24h"), ("2026-11-21", None)])
def test_window_that_ends_before_it_begins_is_refused(since: str, until: str | None) -> None:
    with pytest.raises(WindowError, match="before it begins"):
        parse_window(since, until, NOW)


PAUSE_NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", PAUSE_NOW + timedelta(minutes=90)),
        ("2h", PAUSE_NOW + timedelta(hours=2)),
        ("3d", PAUSE_NOW + timedelta(days=3)),
        ("1w", PAUSE_NOW + timedelta(weeks=1)),
        ("2026-11-20T18:00Z", datetime(2026, 11, 20, 18, tzinfo=UTC)),
        ("2026-11-20T18:00", datetime(2026, 11, 20, 18, tzinfo=UTC)),
        ("2026-11-20T18:00+02:00", datetime(2026, 11, 20, 16, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_pause_end_is_a_duration_or_a_time_in_utc(text: str, expected: datetime) -> None:
    assert parse_end(text, PAUSE_NOW) == expected


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
        parse_end(text, PAUSE_NOW)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "suspension",
    [
        JudgingPause(by="alice", until=PAUSE_NOW, reason="a storm"),
        JudgingPause(by="alice"),
        JudgingPause(until=PAUSE_NOW),
        JudgingPause(reason="a storm"),
    ],
)
def test_verdict_signals_keep_the_pause(suspension: JudgingPause) -> None:
    assert pause_from_signals(pause_to_signals(suspension)) == suspension


def test_unpaused_verdict_has_no_pause_signals() -> None:
    assert pause_to_signals(JudgingPause(at=PAUSE_NOW, repository="acme/widgets")) == {}
    assert pause_from_signals({"paused_by": "operator"}) is None


def test_times_are_shown_in_utc() -> None:
    assert format_time(PAUSE_NOW.astimezone(timezone(timedelta(hours=5)))) == "2026-11-20 15:00 UTC"
