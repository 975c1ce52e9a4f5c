"""Quality and cost of a made-up history; against plain arithmetic over all that was told."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.evaluation.stats.told import (
    HOUR,
    NOON,
    NOW,
    Told,
    ask,
    at,
    completed,
    counted,
    failed,
    outcome,
    rejected,
    row,
    rows,
    started,
)
from worker.domain.verdict.outcomes import OutcomeKind
from worker.evaluation.stats.answers import answer_query
from worker.evaluation.stats.quality import REPOSITORY_SUMS, class_sums
from worker.evaluation.stats.stats_query import StatsTopic, parse_query

GROUPS = ("author_agent", "judge_kind", "rubric", "repository", "category")


def test_a_group_has_counts_means_and_percentiles() -> None:
    found = row(
        StatsTopic.QUALITY, completed("e1", score=0.9), completed("e2", number=4, score=0.8), rejected("e3", number=5)
    )
    assert found["value"] == "copilot"
    assert (found["verdict_count"], found["accepts"], found["rejects"], found["abstains"]) == (3, 2, 1, 0)
    assert (found["mean_score"], found["p50_score"], found["p10_score"]) == (0.6, 0.8, 0.1)
    assert found["mean_confidence"] == 0.8
    assert found["confident_count"] == 3


def test_what_is_not_confident_enough_leaves_the_means_and_stays_in_the_counts() -> None:
    history = completed("e1", confidence=0.9, score=0.9), completed("e2", number=4, confidence=0.49, score=0.5)
    found = row(StatsTopic.QUALITY, *history, min_confidence="0.5")
    assert (found["verdict_count"], found["confident_count"]) == (2, 1)
    assert (found["mean_score"], found["mean_confidence"]) == (0.9, 0.9)
    nobody = row(StatsTopic.QUALITY, *history, min_confidence="0.95")
    assert (nobody["verdict_count"], nobody["confident_count"]) == (2, 0)
    assert (nobody["mean_score"], nobody["p50_score"], nobody["mean_interval"]) == (None, None, None)


def test_what_is_exactly_as_confident_as_was_asked_for_is_in_the_means() -> None:
    history = completed("e1", confidence=0.7, score=0.9), completed("e2", number=4, confidence=0.6999, score=0.5)
    found = row(StatsTopic.QUALITY, *history, min_confidence="0.7")
    assert (found["confident_count"], found["mean_score"], found["p50_score"]) == (1, 0.9, 0.9)


def test_two_versions_of_a_rubric_are_two_rows() -> None:
    history = (
        completed("e1", rubric_version="1"),
        completed("e2", rubric_version="2", trigger="batch", parent_eval_id="e1"),
    )
    assert [(one["value"], one["verdict_count"]) for one in rows(StatsTopic.QUALITY, *history, group_by="rubric")] == [
        ("default@1", 1),
        ("default@2", 1),
    ]


def test_a_person_and_what_has_no_category_are_null() -> None:
    assert row(StatsTopic.QUALITY, completed(author_agent=None))["value"] is None
    assert row(StatsTopic.QUALITY, completed(), group_by="category")["value"] is None
    assert row(StatsTopic.QUALITY, rejected(), group_by="category")["value"] == "half_finished"


def test_one_row_for_all_where_nothing_is_grouped() -> None:
    history = completed("e1"), completed("e2", number=4, author_agent="codex", judge_kind="hybrid")
    found = row(StatsTopic.QUALITY, *history, group_by="none")
    assert (found["value"], found["verdict_count"]) == (None, 2)
    assert row(StatsTopic.QUALITY, *history, group_by="none", min_confidence="0.1")["confident_count"] == 2
    assert row(StatsTopic.QUALITY, group_by="none")["verdict_count"] == 0


def test_the_most_judged_group_comes_first() -> None:
    history = (
        completed("e1", author_agent="zed"),
        completed("e2", author_agent="abe"),
        completed("e3", author_agent="zed"),
    )
    assert [one["value"] for one in rows(StatsTopic.QUALITY, *history)] == ["zed", "abe"]


def test_opinions_and_canaries_are_counted_only_where_they_are_asked_for() -> None:
    history = (
        completed("e1"),
        completed("e2", parent_eval_id="e1", signals={"opinion_of": "first"}, score=0.2),
        completed("e3", parent_eval_id="e1", score=0.3),
        completed("e4", parent_eval_id="e1", trigger="batch", signals={"canary": True}, score=0.4),
    )
    assert row(StatsTopic.QUALITY, *history)["verdict_count"] == 1
    assert row(StatsTopic.QUALITY, *history, view="opinions")["mean_score"] == 0.25
    assert row(StatsTopic.QUALITY, *history, view="canaries")["mean_score"] == 0.4


def test_subjects_are_counted_apart() -> None:
    history = completed("e1"), completed("e2", subject_kind="ci_check", parent_eval_id="e1", score=0.2)
    assert row(StatsTopic.QUALITY, *history)["mean_score"] == 0.9
    assert row(StatsTopic.QUALITY, *history, subject="ci_check")["mean_score"] == 0.2
    assert row(StatsTopic.QUALITY, *history, subject="all")["verdict_count"] == 2


def test_a_failure_is_no_verdict_and_what_it_cost_is_counted() -> None:
    history = completed("e1"), failed("e2", number=4, judge_cost_usd="0.25")
    found = row(StatsTopic.QUALITY, *history)
    assert (found["verdict_count"], found["failed_count"], found["mean_score"]) == (1, 1, 0.9)
    assert found["judge_cost_usd_total"] == "0.25"
    nameless = rows(StatsTopic.QUALITY, failed("e1", bare=True))
    assert [(one["value"], one["verdict_count"], one["failed_count"]) for one in nameless] == [("?", 0, 1)]


def test_not_helpful_is_a_thumb_down_at_its_verdict() -> None:
    history = completed("e1", NOON), outcome(OutcomeKind.NOT_HELPFUL, "e1", NOON + 5 * HOUR)
    assert row(StatsTopic.QUALITY, *history)["thumbs_down_count"] == 1
    assert row(StatsTopic.QUALITY, *history, to=(NOON + HOUR).isoformat())["thumbs_down_count"] == 1


def test_a_low_mean_is_told_with_its_count_and_interval() -> None:
    low = [completed(f"e{n}", number=n, score=0.3 + n % 2 / 10) for n in range(40)]
    [banner] = ask(StatsTopic.QUALITY, (*low, completed("x", author_agent="codex")))["banners"]
    assert (banner["value"], banner["mean_score"], banner["verdict_count"]) == ("copilot", 0.35, 40)
    assert banner["is_certain"]
    assert banner["mean_interval"].low < 0.35 < banner["mean_interval"].high < 0.6
    [alone] = ask(StatsTopic.QUALITY, (completed(score=0.59),))["banners"]
    assert (alone["mean_interval"], alone["is_certain"]) == (None, False)
    [few] = ask(StatsTopic.QUALITY, tuple(low[:19]))["banners"]
    assert not few["is_certain"]


def test_a_window_is_rounded_outward_and_says_so() -> None:
    minutes = HOUR / 60
    told = ask(
        StatsTopic.QUALITY,
        (completed("e1", NOON), completed("e2", NOON + HOUR), completed("e3", NOON + 2 * HOUR)),
        since=(NOON + 30 * minutes).isoformat(),
        to=(NOON + 61 * minutes).isoformat(),
    )
    assert told["window"] == {"from": NOON.isoformat(), "to": (NOON + 2 * HOUR).isoformat()}
    assert told["data"][0]["verdict_count"] == 2


def test_the_hour_is_the_servers_whatever_the_clock_of_a_worker_says() -> None:
    history = (
        completed("e1", NOON, created_at="2031-01-01T00:00:00.000+00:00"),
        completed("e2", NOON, created_at="never"),
    )
    assert row(StatsTopic.QUALITY, *history)["verdict_count"] == 2


def test_what_was_skipped_and_what_was_not_readable_is_in_every_answer() -> None:
    broken: Told = completed("e2")[0], b"eval.completed", b"{"
    trouble: Told = completed("e2")[0], b"case_parse_error", b'{"v":1}'
    told = ask(StatsTopic.QUALITY, (completed("e1"), broken, trouble, completed("e1")))
    assert told["skipped"] == {"duplicate": 1, "unreadable": 1}
    assert told["troubles"] == {"case_parse_error": 1}
    assert told["data"][0]["verdict_count"] == 1


def test_with_and_without_judging_cost_differs_by_what_all_verdicts_cost() -> None:
    costs = ["0.0123", "0", "0.000000001", "1.5"]
    history = [completed(f"e{n}", number=n, judge_cost_usd=cost) for n, cost in enumerate(costs)]
    without = ask(StatsTopic.COST, tuple(history))
    within = ask(StatsTopic.COST, tuple(history), include_eval="true")
    assert Decimal(within["total_usd"]) - Decimal(without["total_usd"]) == sum(map(Decimal, costs))
    assert (without["total_usd"], without["data"][0]["judge_cost_usd"]) == ("0", None)
    assert within["data"][0]["judge_cost_usd"] == "1.512300001"


def test_an_unknown_price_is_counted_and_no_sum() -> None:
    history = (
        completed("e1", judge_cost_usd=None),
        completed("e2", judge_cost_usd="0.5"),
        failed("e3", judge_cost_usd="1.25"),
    )
    found = row(StatsTopic.COST, *history, include_eval="1")
    assert (found["unknown_price_count"], found["known_price_share"]) == (1, 0.666667)
    assert (found["judge_cost_usd"], found["failed_cost_usd"]) == ("1.75", "1.25")


def test_an_opinion_is_paid_for_with_its_verdict_and_a_canary_for_itself() -> None:
    history = (
        completed("e1", judge_cost_usd="0.3"),
        completed("e2", judge_cost_usd="0.1", parent_eval_id="e1", signals={"opinion_of": "first"}),
        completed("e3", judge_cost_usd="0.2", signals={"canary": True}),
    )
    assert ask(StatsTopic.COST, history, include_eval="true")["total_usd"] == "0.5"


def test_an_answer_can_be_sent() -> None:
    for topic in StatsTopic:
        assert json.loads(json.dumps(ask(topic, (started(), completed(), outcome(OutcomeKind.MERGED)))))


verdicts = st.lists(
    st.fixed_dictionaries(
        {
            "score": st.integers(0, 10_000).map(lambda n: n / 10_000),
            "confidence": st.integers(0, 10_000).map(lambda n: n / 10_000),
            "author_agent": st.sampled_from(["copilot", "codex", None]),
            "judge_kind": st.sampled_from(["heuristic", "hybrid"]),
            "rubric_version": st.sampled_from(["1", "2"]),
            "repository_id": st.integers(1, 3),
            "category": st.sampled_from([None, "weak_test"]),
        }
    ),
    min_size=1,
    max_size=30,
)


@given(verdicts, st.integers(0, 100), st.sampled_from(GROUPS))
def test_every_figure_is_what_plain_arithmetic_says(some: list[dict[str, Any]], least: int, group: str) -> None:
    history = [completed(f"e{n}", NOON + n % 3 * HOUR, number=n, **one) for n, one in enumerate(some)]
    told = {
        one["value"]: one
        for one in rows(StatsTopic.QUALITY, *history, group_by=group, min_confidence=f"{least / 100:.2f}")
    }
    assert set(told) == {_value(one, group) for one in some}
    for value, found in told.items():
        mine = [one for one in some if _value(one, group) == value]
        counted = [one for one in mine if round(one["confidence"] * 10_000) >= least * 100]
        assert (found["verdict_count"], found["confident_count"]) == (len(mine), len(counted))
        assert found["mean_score"] == _mean(counted, "score")
        assert found["mean_confidence"] == _mean(counted, "confidence")
        ordered = sorted(math.floor(round(one["score"] * 10_000) / 10) / 1000 for one in counted)
        for part, name in ((0.5, "p50_score"), (0.1, "p10_score")):
            assert found[name] == (ordered[max(1, math.ceil(part * len(ordered))) - 1] if ordered else None)


def _value(one: dict[str, Any], group: str) -> str | None:
    match group:
        case "rubric":
            return f"default@{one['rubric_version']}"
        case "repository":
            return str(one["repository_id"])
        case _:
            return one[group]


def _mean(some: list[dict[str, Any]], name: str) -> object:
    total = sum((Fraction(round(one[name] * 10_000), 10_000) for one in some), Fraction(0))
    return pytest.approx(float(total / len(some)), abs=5.1e-7) if some else None


@pytest.mark.parametrize("topic", StatsTopic)
def test_several_installations_are_counted_together(topic: StatsTopic) -> None:
    """As one stream with the pull requests of both, whose numbers may be the same."""

    def judged(repository_id: int, *names: str) -> list[Told]:
        accept, reject, waiting = names
        return [
            completed(accept, number=1, repository_id=repository_id, judge_cost_usd="0.1", score=0.9),
            rejected(reject, number=2, repository_id=repository_id, score=0.3),
            completed(f"{accept}-later", number=1, repository_id=repository_id, rubric_version="2", score=0.8),
            outcome(OutcomeKind.OVERRIDE, reject, number=2, repository_id=repository_id),
            outcome(OutcomeKind.MERGED, accept, number=1, repository_id=repository_id),
            started(waiting, NOON + repository_id * HOUR, number=3, repository_id=repository_id),
        ]

    one, other = judged(1, "a", "b", "c"), judged(2, "d", "e", "f")
    question = parse_query({"from": NOON.isoformat(), "group_by": "rubric", "include_eval": "1"}, topic, NOW)
    with counted(*one) as first, counted(*other) as second, counted(*one, *other) as both:
        assert answer_query(topic, question, [first, second]) == answer_query(topic, question, [both])
        answer = answer_query(topic, question, [first._replace(until_ms=5), second._replace(is_behind=True)])
    assert (answer["counted_until"], answer["is_behind"]) == (NOW.isoformat(timespec="milliseconds"), True)


def test_where_nothing_is_counted_nothing_is_behind() -> None:
    nobody = answer_query(StatsTopic.QUALITY, parse_query({}, StatsTopic.QUALITY, NOW), [])
    assert (nobody["counted_until"], nobody["is_behind"], nobody["data"]) == (None, False, [])


def test_a_canarys_failure_is_a_canarys_also_where_nobody_has_an_opinion() -> None:
    canary: dict[str, Any] = {"parent_eval_id": "e1", "trigger": "bus", "signals": {"law": "a", "canary": True}}
    history = completed("e1"), failed("e2", bare=True, **canary), failed("e3", **canary), failed("e4", bare=True)
    assert sum(one["failed_count"] for one in rows(StatsTopic.QUALITY, *history)) == 1
    assert sum(one["failed_count"] for one in rows(StatsTopic.QUALITY, *history, view="canaries")) == 2
    broken = ask(StatsTopic.QUALITY, (failed("e5", bare=True, signals=["canary"]),))
    assert (broken["skipped"], broken["data"]) == ({"broken": 1}, [])


def test_what_was_judged_live_is_told_apart_from_what_was_judged_anew() -> None:
    anew: dict[str, Any] = {"parent_eval_id": "e1", "trigger": "batch"}
    history = completed("e1"), rejected("e2", **anew), rejected("e3", **anew), rejected("e4", number=4)
    found = row(StatsTopic.QUALITY, *history)
    assert (found["verdict_count"], found["rejects"]) == (4, 3)
    assert found["live"] == {"verdict_count": 2, "accepts": 1, "rejects": 1, "abstains": 0}


@pytest.mark.parametrize("query", [REPOSITORY_SUMS, class_sums(None)])
def test_no_verdict_is_sorted_to_be_grouped(query: str) -> None:
    parameters = {"since": 0, "before": at(), "least": 0, "subjects": "[]", "views": "[]"}
    with counted(completed("e1")) as stream:
        plan = [step for *_, step in stream.db.execute(f"EXPLAIN QUERY PLAN {query}", parameters)]
    assert any("verdicts USING COVERING INDEX" in step for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan)
