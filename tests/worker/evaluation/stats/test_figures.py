"""Parameters of a query are parsed, or refused with their name and the expected form."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.evaluation.stats.figures import (
    PARAMETERS,
    GroupDimension,
    ParameterError,
    StatsTopic,
    VerdictView,
    first_kept_hour,
    make_window,
    parse_query,
)

NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)


def test_default_query_is_seven_days_of_submissions_by_agent() -> None:
    question = parse_query({}, StatsTopic.QUALITY, NOW)
    assert question.window == make_window(NOW - timedelta(days=7), NOW)
    assert (question.subject, question.view) == ("submission", VerdictView.VERDICTS)
    assert question.group_by is GroupDimension.AUTHOR_AGENT
    assert (question.min_confidence, question.include_eval, question.tolerance) == (0, False, 1500)
    assert parse_query({}, StatsTopic.COST, NOW).subject == "all"
    everything = parse_query({"subject": "all"}, StatsTopic.QUALITY, NOW).subjects
    assert everything == ("submission", "merge_group", "ci_check", "pull_request")
    assert parse_query({"subject": "benchmark"}, StatsTopic.QUALITY, NOW).subjects == ("benchmark",)


def test_from_accepts_a_relative_time() -> None:
    assert parse_query({"from": "24h"}, StatsTopic.QUALITY, NOW).window == make_window(NOW - timedelta(days=1), NOW)


def test_each_parameter_is_parsed() -> None:
    parameters = {
        "from": "2026-11-01", "to": "2026-11-02T12:00+02:00", "subject": "ci_check", "view": "canaries", "group_by": "none",
        "min_confidence": "0.75", "include_eval": "true", "agreement_window": "0.2",
    }  # fmt: skip
    assert set(parameters) == set(PARAMETERS)
    question = parse_query(parameters, StatsTopic.QUALITY, NOW)
    assert question.window.since == datetime(2026, 11, 1, tzinfo=UTC)
    assert question.window.until == datetime(2026, 11, 2, 10, tzinfo=UTC)
    assert (question.subjects, question.view, question.group_by) == (("ci_check",), VerdictView.CANARIES, None)
    assert (question.min_confidence, question.include_eval, question.tolerance) == (7500, True, 2000)


@pytest.mark.parametrize(
    ("name", "received", "expected"),
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
def test_invalid_parameter_is_refused_with_the_expected_form(name: str, received: str, expected: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_query({name: received}, StatsTopic.QUALITY, NOW)
    assert (refused.value.parameter, refused.value.received) == (name, received)
    assert str(refused.value).startswith(f"{name}: expected {expected}")


def test_window_starts_at_the_first_fully_kept_hour() -> None:
    hour = 3_600_000
    assert first_kept_hour(100 * hour + 1, 10 * hour) == 91
    assert first_kept_hour(100 * hour, 10 * hour) == 90
    assert first_kept_hour(100 * hour, 0) == 0
