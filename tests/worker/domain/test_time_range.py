"""Parsing of time windows."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.domain.time_range import Window, WindowError, parse_moment_ms, parse_window, to_milliseconds

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
