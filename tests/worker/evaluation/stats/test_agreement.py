"""Verdicts on one subject against each other, and against what became of the change."""

from typing import Any

from tests.worker.evaluation.stats.told import HOUR, NOON, ask, completed, failed, outcome, rejected, row, rows
from worker.domain.verdict.outcomes import OutcomeKind
from worker.evaluation.stats.agreement import BEARS_OUT
from worker.evaluation.stats.stats_query import StatsTopic

ANEW: dict[str, Any] = {"trigger": "batch", "parent_eval_id": "e1"}


def people(strength: str, *history: Any) -> dict[str, Any]:
    return next(one for one in ask(StatsTopic.AGREEMENT, history)["people"] if one["strength"] == strength)


def test_two_rubrics_agree_within_the_window_its_edge_included() -> None:
    history = (
        completed("e1", score=0.9),
        completed("e2", score=0.75, rubric_version="2", **ANEW),
        completed("e3", number=4, score=0.9),
        completed("e4", number=4, score=0.7499, rubric_version="2", **ANEW),
    )
    found = row(StatsTopic.AGREEMENT, *history)
    assert (found["between"], found["pair"]) == ("rubric", "default@1 | default@2")
    assert (found["count"], found["agreed"], found["share"], found["same_decision"]) == (2, 1, 0.5, 2)
    assert row(StatsTopic.AGREEMENT, *history, agreement_window="0.1501")["agreed"] == 2
    assert row(StatsTopic.AGREEMENT, *history, agreement_window="0")["agreed"] == 0


def test_two_tiers_are_compared_under_one_rubric_and_one_tier_with_itself() -> None:
    history = (
        completed("e1"),
        completed("e2", judge_kind="hybrid", **ANEW),
        rejected("e3", judge_kind="hybrid", trigger="bus"),
    )
    told = [
        (one["between"], one["pair"], one["count"], one["same_decision"])
        for one in rows(StatsTopic.AGREEMENT, *history)
    ]
    assert told == [("tier", "heuristic | hybrid", 2, 1), ("same", "default@1", 1, 0)]


def test_a_whole_pull_request_that_was_judged_again_since_more_is_known_disagrees_with_nobody() -> None:
    history = (
        completed("e1", subject_kind="pull_request", score=0.9),
        completed("e2", subject_kind="pull_request", score=0.2, trigger="feedback_arrived"),
    )
    assert rows(StatsTopic.AGREEMENT, *history) == []


def test_an_opinion_is_compared_apart() -> None:
    history = completed("e1"), completed("e2", parent_eval_id="e1", signals={"opinion_of": "second"}, judge_kind="llm")
    assert [(one["between"], one["count"]) for one in rows(StatsTopic.AGREEMENT, *history)] == [("opinions", 1)]


def test_a_canary_is_a_rubric_of_its_own() -> None:
    history = completed("e1"), completed("e2", signals={"canary": True}, rubric_version="2", **ANEW)
    assert [one["between"] for one in rows(StatsTopic.AGREEMENT, *history)] == ["rubric"]


def test_verdicts_on_other_heads_subjects_and_failures_are_not_compared() -> None:
    history = (
        completed("e1"),
        completed("e2", head="b" * 40),
        completed("e3", subject_kind="merge_group"),
        failed("e4", judge_kind="hybrid"),
        completed("e5", subject_kind="pull_request"),
        completed("e6", subject_kind="ci_check", subject_id=f"7/3/{'a' * 40}/0123456789abcdef"),
        completed("e7", subject_kind="ci_check", subject_id=f"7/3/{'a' * 40}/fedcba9876543210"),
    )
    assert rows(StatsTopic.AGREEMENT, *history) == []


def test_each_strength_is_counted_apart_and_a_verdict_once_in_each() -> None:
    history = (
        completed("e1"),
        outcome(OutcomeKind.HELPFUL),
        outcome(OutcomeKind.MERGED),
        outcome(OutcomeKind.EDIT_FOLLOWUP),
        outcome(OutcomeKind.LATER_FIX),
    )
    told = {one["strength"]: (one["count"], one["agreed"]) for one in ask(StatsTopic.AGREEMENT, history)["people"]}
    assert told == {"explicit": (1, 1), "implicit": (1, 0), "lifecycle": (1, 1)}


def test_the_last_word_of_a_strength_stands() -> None:
    history = completed("e1"), outcome(OutcomeKind.HELPFUL), outcome(OutcomeKind.NOT_HELPFUL, when=NOON + HOUR)
    found = people("explicit", *history)
    assert (found["count"], found["agreed"]) == (1, 0)
    assert [(one["count"], one["share"]) for one in found["calibration"]] == [(1, 0.0)]
    back = people("lifecycle", rejected("e1"), outcome(OutcomeKind.MERGED), outcome(OutcomeKind.CLOSED_UNMERGED))
    assert (back["count"], back["agreed"]) == (1, 1)


def test_confidence_is_held_against_what_was_borne_out() -> None:
    history = [completed(f"e{n}", number=n, confidence=0.8 if n % 2 else 1) for n in range(20)]
    told = [outcome(OutcomeKind.HELPFUL if n % 4 else OutcomeKind.NOT_HELPFUL, f"e{n}", number=n) for n in range(20)]
    found = people("explicit", *history, *told)
    assert [(one["confidence_from"], one["count"], one["share"]) for one in found["calibration"]] == [
        (0.8, 10, 1.0),
        (0.9, 10, 0.5),
    ]
    assert found["by_judge_kind"] == [
        {"value": "heuristic", "count": 20, "agreed": 15, "share": 0.75, "interval": found["interval"]}
    ]


def test_an_abstention_is_neither_right_nor_wrong() -> None:
    history = completed("e1", decision="abstain", abstain_reason="unproven", score=0.5), outcome(OutcomeKind.HELPFUL)
    assert people("explicit", *history)["count"] == 0
    assert people("lifecycle", completed(), outcome(OutcomeKind.REOPENED))["count"] == 0


def test_an_outcome_without_its_verdict_is_about_the_latest_on_its_head_or_of_all() -> None:
    older, newer = completed("e1", judge_kind="hybrid"), rejected("e2", head="b" * 40)
    latest = people("lifecycle", older, newer, outcome(OutcomeKind.MERGED, None))
    assert [one["value"] for one in latest["by_judge_kind"]] == ["heuristic"]
    on_head = people("lifecycle", older, newer, outcome(OutcomeKind.MERGED, None, head_sha="a" * 40))
    assert [one["value"] for one in on_head["by_judge_kind"]] == ["hybrid"]
    assert people("lifecycle", older, outcome(OutcomeKind.MERGED, "gone"))["count"] == 0
    assert people("lifecycle", outcome(OutcomeKind.MERGED, None))["count"] == 0


def test_an_outcome_that_is_delivered_twice_counts_once() -> None:
    twice = ask(
        StatsTopic.AGREEMENT,
        (completed(), outcome(OutcomeKind.MERGED), outcome(OutcomeKind.MERGED, when=NOON + HOUR, said=NOON)),
    )
    assert twice["skipped"] == {"duplicate": 1}
    assert next(one for one in twice["people"] if one["strength"] == "lifecycle")["count"] == 1


def test_every_outcome_says_what_it_means() -> None:
    assert set(BEARS_OUT) == set(OutcomeKind)


def test_who_takes_a_word_back_and_says_it_again_has_said_it_last() -> None:
    words = (OutcomeKind.NOT_HELPFUL, OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL)
    history = (rejected("e1"), *(outcome(word, when=NOON + n * HOUR / 9) for n, word in enumerate(words)))
    found = people("explicit", *history)
    assert (found["count"], found["agreed"]) == (1, 0)
    assert ask(StatsTopic.AGREEMENT, history)["skipped"] == {}
    assert row(StatsTopic.QUALITY, *history)["thumbs_down_count"] == 1
    told = ask(StatsTopic.OVERRIDES, history)
    assert told["outcomes"] == {"helpful": 1, "not_helpful": 2}
    assert (told["signals"][0]["not_helpful"], told["signals"][0]["objected"]["count"]) == (1, 1)
