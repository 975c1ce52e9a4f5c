"""Backlog, scorecards and overrides of a made-up history."""

from datetime import timedelta
from typing import Any

from tests.worker.evaluation.stats.told import (
    HOUR,
    NOON,
    Told,
    ask,
    completed,
    failed,
    outcome,
    rejected,
    row,
    rows,
    started,
)
from worker.domain.verdict.outcomes import OutcomeKind
from worker.evaluation.stats.stats_query import StatsTopic

NEXT_HEAD = "b" * 40


def judged(agent: str, count: int, accepted: int, first: int = 0) -> list[Told]:
    return [
        (completed if n < accepted else rejected)(f"{agent}{n}", number=first + n, author_agent=agent)
        for n in range(count)
    ]


def test_what_was_begun_and_has_not_ended_is_the_backlog() -> None:
    told = ask(
        StatsTopic.BACKLOG,
        (started("e1"), completed("e1"), started("e2", NOON + HOUR), started("e3", NOON), failed("e3")),
    )
    assert (told["open"], told["oldest_open_s"]) == (1, timedelta(hours=11).total_seconds())
    [found] = told["data"]
    assert (found["subject"], found["started"], found["completed"], found["failed"]) == ("submission", 3, 1, 1)
    assert found["failure_modes"] == {"judge_call_failed": 1}
    assert ask(StatsTopic.BACKLOG, (started("e2"), started("e2")))["open"] == 1


def test_what_ended_without_a_start_is_told() -> None:
    found = row(StatsTopic.BACKLOG, completed(throttled_reason="pr_cap"))
    assert (found["ended_without_start"], found["throttled"], found["open"]) == (1, {"pr_cap": 1}, 0)
    assert ask(StatsTopic.BACKLOG, ())["oldest_open_s"] is None


def test_nobody_waits_for_a_canary() -> None:
    canary: dict[str, Any] = {"parent_eval_id": "e1", "signals": {"canary": True}, "throttled_reason": "daily_cap"}
    live = started("e1"), completed("e1")
    beside = (
        started("e2", NOON - HOUR), completed("e2", **canary), completed("e3", **canary),
        started("e4"), failed("e4", **canary), failed("e5", bare=True, signals={"canary": True}),
    )  # fmt: skip
    assert ask(StatsTopic.BACKLOG, (*live, *beside)) == ask(StatsTopic.BACKLOG, live)
    alone = (started("e2", NOON - HOUR), completed("e2", **canary))
    assert rows(StatsTopic.BACKLOG, *alone) == []


def test_only_what_was_begun_in_the_window_is_its_backlog() -> None:
    history = started("e1", NOON - 20 * HOUR), started("e2"), started("e3", subject_kind="ci_check")
    assert ask(StatsTopic.BACKLOG, history, subject="submission")["open"] == 1
    assert ask(StatsTopic.BACKLOG, history)["open"] == 2


def test_a_scorecard_counts_pull_requests_by_their_first_verdict() -> None:
    history = (
        completed("e1", number=1, judge_cost_usd="0.1"),
        rejected("e2", number=2, judge_cost_usd="0.2"),
        completed("e3", number=2, head=NEXT_HEAD, round=2, judge_cost_usd=None),
        completed("e4", number=3, decision="abstain", abstain_reason="unproven", score=0.5),
    )
    found = row(StatsTopic.AGENTS, *history)
    assert (found["pull_requests"], found["verdicts"], found["rank"]) == (2, 4, None)
    assert found["first_round"]["count"] == 1
    assert (found["accepted"]["count"], found["accepted"]["of"], found["accepted"]["share"]) == (2, 2, 1.0)
    assert found["rounds_to_accept"] == {"count": 2, "mean": 1.5, "p50": 1.0}
    assert found["top_categories"] == [("half_finished", 1)]
    assert (found["judge_cost_usd"], found["unknown_price_count"]) == ("0.3", 1)
    assert found["cost_per_accepted_usd"] == "0.150000"
    assert row(StatsTopic.AGENTS, rejected())["cost_per_accepted_usd"] is None


def test_a_pull_request_is_accepted_once_at_its_first_accept() -> None:
    history = (
        rejected("e1", round=1),
        completed("e2", head=NEXT_HEAD, round=2),
        completed("e3", head=NEXT_HEAD, round=3),
        completed("e4", head="c" * 40, round=4),
    )
    found = row(StatsTopic.AGENTS, *history)
    assert (found["accepted"]["count"], found["first_round"]["count"]) == (1, 0)
    assert found["rounds_to_accept"] == {"count": 1, "mean": 2.0, "p50": 2.0}
    assert row(StatsTopic.AGENTS, completed(round=100))["rounds_to_accept"]["mean"] == 99.0, "as a bound"


def test_a_scorecard_names_only_what_its_own_agent_was_rejected_for() -> None:
    history = (
        rejected("e1", number=1, author_agent="codex"),
        rejected("e2", number=2, author_agent="devin", category="weak_test"),
    )
    named = {row["value"]: row["top_categories"] for row in rows(StatsTopic.AGENTS, *history)}
    assert named == {"codex": [("half_finished", 1)], "devin": [("weak_test", 1)]}


def test_what_became_of_a_pull_request_counts_where_its_first_verdict_does() -> None:
    history = (
        rejected("e1", author_agent="codex"),
        completed("e2", NOON + 2 * HOUR, head=NEXT_HEAD, round=2),
        outcome(OutcomeKind.MERGED, "e2", NOON + 3 * HOUR),
        outcome(OutcomeKind.REVERTED, "e2", NOON + 9 * HOUR),
        outcome(OutcomeKind.REVERTED, "e1", NOON + 10 * HOUR),
    )
    cards = {one["value"]: one for one in rows(StatsTopic.AGENTS, *history, to=(NOON + HOUR).isoformat())}
    assert cards["codex"]["accepted"]["count"] == 1
    assert (cards["codex"]["merged"], cards["codex"]["reverts"]["count"], cards["codex"]["reverts"]["of"]) == (1, 1, 1)


def test_who_reverts_a_change_knows_that_it_was_merged() -> None:
    found = row(StatsTopic.AGENTS, completed(), outcome(OutcomeKind.REVERTED))
    assert (found["merged"], found["reverts"]["share"]) == (1, 1.0)
    both = row(StatsTopic.AGENTS, completed(), outcome(OutcomeKind.REVERTED), outcome(OutcomeKind.LATER_FIX))
    assert (both["merged"], both["reverts"]["count"], both["later_fixes"]["count"]) == (1, 1, 1)
    unjudged = row(
        StatsTopic.AGENTS, completed(decision="abstain", abstain_reason="unproven"), outcome(OutcomeKind.MERGED)
    )
    assert (unjudged["pull_requests"], unjudged["merged"]) == (0, 0)


def test_what_was_judged_anew_is_not_on_a_scorecard() -> None:
    history = completed("e1"), rejected("e2", parent_eval_id="e1", trigger="batch", rubric_version="2")
    assert row(StatsTopic.AGENTS, *history)["verdicts"] == 1
    assert [one["value"] for one in ask(StatsTopic.OVERRIDES, history)["rubrics"]] == []


def test_there_is_a_rank_only_where_no_interval_touches_another() -> None:
    apart = rows(StatsTopic.AGENTS, *judged("good", 40, 38), *judged("bad", 40, 5, 100))
    assert [(one["value"], one["rank"]) for one in apart] == [("bad", 2), ("good", 1)]
    near = rows(StatsTopic.AGENTS, *judged("good", 10, 8), *judged("fair", 10, 6, 100))
    assert [one["rank"] for one in near] == [None, None]
    mixed = rows(StatsTopic.AGENTS, *judged("good", 40, 38), *judged("bad", 40, 5, 100), *judged("fair", 10, 8, 200))
    assert [(one["value"], one["rank"]) for one in mixed] == [("bad", 3), ("good", None), ("fair", None)]
    nobody = (completed("x", number=900, author_agent="new", decision="abstain", abstain_reason="unproven"),)
    assert rows(StatsTopic.AGENTS, *judged("good", 9, 9), *nobody)[1]["rank"] is None


def test_what_people_did_about_rejects_counts_by_signal_category_and_rubric() -> None:
    history = (
        rejected("e1"),
        rejected("e2", number=4),
        outcome(OutcomeKind.OVERRIDE, "e1", NOON + HOUR),
        outcome(OutcomeKind.NOT_HELPFUL, "e1", NOON + HOUR),
        outcome(OutcomeKind.MERGED, "e1", NOON + HOUR),
        outcome(OutcomeKind.HELPFUL, "e2", NOON + HOUR, number=4),
    )
    told = ask(StatsTopic.OVERRIDES, history)
    for name, value in (("signals", "stub_body"), ("categories", "half_finished"), ("rubrics", "default@1")):
        [found] = told[name]
        assert (found["value"], found["rejects"], found["override"], found["not_helpful"], found["merged"]) == (
            value,
            2,
            1,
            1,
            1,
        )
        assert (found["objected"]["count"], found["objected"]["of"], found["contest"]) == (1, 2, 0)
    assert told["outcomes"] == {"helpful": 1, "merged": 1, "not_helpful": 1, "override": 1}


def test_an_accept_that_is_not_helpful_overrides_nothing() -> None:
    assert ask(StatsTopic.OVERRIDES, (completed(), outcome(OutcomeKind.NOT_HELPFUL)))["signals"] == []
