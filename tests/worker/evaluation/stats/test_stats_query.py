"""Parameters are read, or refused with their name, what is expected and what was found."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.evaluation.stats.figures import first_kept_hour, make_window
from worker.evaluation.stats.stats_query import PARAMETERS, GroupDimension, ParameterError, StatsTopic, parse_query
from worker.evaluation.stats.stream_entries import VerdictView

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


def test_the_last_seven_days_of_submissions_by_agent_are_asked_about_where_nothing_is_said() -> None:
    question = parse_query({}, StatsTopic.QUALITY, NOW)
    assert question.window == make_window(NOW - timedelta(days=7), NOW)
    assert (question.subject, question.group_by, question.view) == (
        "submission",
        GroupDimension.AUTHOR_AGENT,
        VerdictView.VERDICTS,
    )
    assert (question.min_confidence, question.include_eval, question.tolerance) == (0, False, 1500)
    assert parse_query({}, StatsTopic.COST, NOW).subject == "all"
    everything = parse_query({"subject": "all"}, StatsTopic.QUALITY, NOW).subjects
    assert everything == ("submission", "merge_group", "ci_check", "pull_request")
    assert parse_query({"subject": "benchmark"}, StatsTopic.QUALITY, NOW).subjects == ("benchmark",)


def test_a_time_may_be_told_as_how_long_ago() -> None:
    assert parse_query({"from": "24h"}, StatsTopic.QUALITY, NOW).window == make_window(NOW - timedelta(days=1), NOW)


def test_every_parameter_is_read() -> None:
    given = {
        "from": "2026-11-01", "to": "2026-11-02T12:00+02:00", "subject": "ci_check", "view": "canaries", "group_by": "none",
        "min_confidence": "0.75", "include_eval": "true", "agreement_window": "0.2",
    }  # fmt: skip
    assert set(given) == set(PARAMETERS)
    question = parse_query(given, StatsTopic.QUALITY, NOW)
    assert (question.window.since, question.window.until) == (
        datetime(2026, 11, 1, tzinfo=UTC),
        datetime(2026, 11, 2, 10, tzinfo=UTC),
    )
    assert (question.subjects, question.view, question.group_by) == (("ci_check",), VerdictView.CANARIES, None)
    assert (question.min_confidence, question.include_eval, question.tolerance) == (7500, True, 2000)


@pytest.mark.parametrize(
    ("name", "found", "expected"),
    [
        ("from", "yesterday", "an ISO 8601"),
        ("to", "1969-12-31", "an ISO 8601 date or time after 1970"),
        ("to", "0001-01-01T00:00+23:00", "an ISO 8601"),
        ("from", "99999w", "an ISO 8601"),
        ("from", "2026-11-22", "a time before 2026-11-21T10:30"),
        ("subject", "turn", "one of submission,"),
        ("group_by", "model", "one of author_agent,"),
        ("view", "all", "one of verdicts,"),
        ("min_confidence", "0.755", "a number from 0 to 1 with at most 2 digits"),
        ("min_confidence", "1.1", "a number from 0 to 1"),
        ("min_confidence", "nan", "a number from 0 to 1"),
        ("min_confidence", "\u0661", "a number from 0 to 1"),
        ("agreement_window", "-1", "a number from 0 to 1"),
        ("include_eval", "yes", "one of true, false"),
        ("group", "rubric", "one of from, to,"),
    ],
)
def test_what_can_not_be_used_is_told(name: str, found: str, expected: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_query({name: found}, StatsTopic.QUALITY, NOW)
    assert (refused.value.parameter, refused.value.received) == (name, found)
    assert str(refused.value).startswith(f"{name}: expected {expected}")


def test_a_window_begins_where_every_entry_is_still_there() -> None:
    hour = 3_600_000
    assert first_kept_hour(100 * hour + 1, 10 * hour) == 91
    assert first_kept_hour(100 * hour, 10 * hour) == 90
    assert first_kept_hour(100 * hour, 0) == 0
