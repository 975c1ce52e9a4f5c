"""Answers to queries about a generated history, against a table and against plain arithmetic."""

import json
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.evaluation.stats.history import (
    HOUR,
    NOON,
    NOW,
    RawEntry,
    completed_event,
    count_figures,
    failed_event,
    milliseconds,
    outcome_entry,
    query_stats,
    rejected_event,
    rows,
    started_event,
)
from tests.worker.publishing.texts import samples
from worker.domain.check.check_run import WaitState, WaitStatus
from worker.domain.verdict.events import OutcomeKind
from worker.evaluation.stats.answers import REPOSITORY_SUMS, answer_query, class_sums, wait_answer
from worker.evaluation.stats.figures import StatsTopic, parse_query
from worker.evaluation.stats.ingest import BEARS_OUT

QUALITY, COST, AGREEMENT, BACKLOG, AGENTS, OVERRIDES = StatsTopic


class ExpectedFigures(NamedTuple):
    """The figures of these names in each row of *of*, or ("") in the answer itself; `a.0.b` is a path."""

    of: str
    names: str
    figures: tuple[object, ...]

    def read(self, answer: Any) -> tuple[object, ...]:
        rows = [
            tuple(_step(row, name) for name in self.names.split()) for row in (answer[self.of] if self.of else [answer])
        ]
        return tuple(map(_flat, rows))


def _flat(figures: tuple[object, ...]) -> object:
    return figures[0] if len(figures) == 1 else figures


def _step(figures: Any, path: str) -> Any:
    for step in path.split("."):
        figures = figures[int(step) if step.isdigit() else step]
    return figures


def each(names: str, *rows: object, of: str = "data") -> ExpectedFigures:
    return ExpectedFigures(of, names, rows)


def only(names: str, *figures: object) -> ExpectedFigures:
    return each(names, _flat(figures))


def whole(names: str, *figures: object) -> ExpectedFigures:
    return each(names, _flat(figures), of="")


def people(*counts: tuple[int, int]) -> ExpectedFigures:
    """How many verdicts have explicit, implicit and lifecycle outcomes, and how many of these agree."""
    return each("count agreed", *counts, of="people")


def verdicts_of(agent: str, count: int, accepted: int, first: int = 0) -> list[RawEntry]:
    return [
        (completed_event if n < accepted else rejected_event)(f"{agent}{n}", number=first + n, author_agent=agent)
        for n in range(count)
    ]


BATCH: dict[str, Any] = {"trigger": "batch", "parent_eval_id": "e1"}
CANARY: dict[str, Any] = {"parent_eval_id": "e1", "signals": {"law": "a", "canary": True}}
CAPPED: dict[str, Any] = CANARY | {"throttled_reason": "daily_cap"}
OPINION: dict[str, Any] = {"parent_eval_id": "e1", "signals": {"opinion_of": "first"}}
UNPROVEN: dict[str, Any] = {"decision": "abstain", "abstain_reason": "unproven", "score": 0.5}
HELPFUL, NOT_HELPFUL, MERGED = OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL, OutcomeKind.MERGED
REVERTED, LATER_FIX = OutcomeKind.REVERTED, OutcomeKind.LATER_FIX
NEXT_HEAD = "b" * 40
LATER = NOON + HOUR
UNTIL_LATER = f"to={LATER:%Y-%m-%dT%H:%MZ}"

UNSURE = completed_event("e1", confidence=0.9, score=0.9), completed_event("e2", number=4, confidence=0.49, score=0.5)
EXACT = completed_event("e1", confidence=0.7, score=0.9), completed_event("e2", number=4, confidence=0.6999, score=0.5)
TWO_AGENTS = completed_event("e1"), completed_event("e2", number=4, author_agent="codex", judge_kind="hybrid")
DISLIKED = completed_event(), outcome_entry(NOT_HELPFUL, when=NOON + 5 * HOUR)
SUBJECTS = completed_event("e1"), completed_event("e2", subject_kind="ci_check", parent_eval_id="e1", score=0.2)
BENCHMARK = (rejected_event(subject_kind="benchmark", trigger="benchmark"),)
VIEWS = (
    completed_event("e1"),
    completed_event("e2", **OPINION, score=0.2),
    completed_event("e3", parent_eval_id="e1", score=0.3),
    completed_event("e4", trigger="batch", **CANARY, score=0.4),
)
FAILURES = (
    completed_event("e1"),
    failed_event("e2", bare=True, **CANARY),
    failed_event("e3", **CANARY),
    failed_event("e4", bare=True),
)
LOW = [completed_event(f"e{n}", number=n, score=0.3 + n % 2 / 10) for n in range(40)]
USD = ("0.0123", "0", "0.000000001", "1.5")
COSTS = [completed_event(f"e{n}", number=n, judge_cost_usd=usd) for n, usd in enumerate(USD)]
RUBRICS = (
    completed_event("e1", score=0.9),
    completed_event("e2", score=0.75, rubric_version="2", **BATCH),
    completed_event("e3", number=4, score=0.9),
    completed_event("e4", number=4, score=0.7499, rubric_version="2", **BATCH),
)
OLDER_NEWER = completed_event("e1", judge_kind="hybrid"), rejected_event("e2", head=NEXT_HEAD)
CHANGED_OPINION = (
    rejected_event(),
    *(outcome_entry(kind, when=NOON + n * HOUR / 9) for n, kind in enumerate((NOT_HELPFUL, HELPFUL, NOT_HELPFUL))),
)
UNENDED = started_event("e1", NOON - 20 * HOUR), started_event("e2"), started_event("e3", subject_kind="ci_check")
REJUDGED = completed_event("e1"), rejected_event("e2", **BATCH, rubric_version="2")
MERGED_LATER = (
    rejected_event("e1", author_agent="codex"),
    completed_event("e2", NOON + 2 * HOUR, head=NEXT_HEAD, round=2),
    outcome_entry(MERGED, "e2", NOON + 3 * HOUR),
    outcome_entry(REVERTED, "e2", NOON + 9 * HOUR),
    outcome_entry(REVERTED, "e1", NOON + 10 * HOUR),
)
OBJECTED = (
    rejected_event("e1"),
    rejected_event("e2", number=4),
    *(outcome_entry(kind, "e1", LATER) for kind in (OutcomeKind.OVERRIDE, NOT_HELPFUL, MERGED)),
    outcome_entry(HELPFUL, "e2", LATER, number=4),
)
OBJECTIONS = "value rejects override not_helpful merged contest objected.count objected.of"
ROWS: dict[str, tuple[StatsTopic, str, Iterable[RawEntry], *tuple[ExpectedFigures, ...]]] = {
    "counts, means and percentiles": (
        QUALITY, "", [completed_event("e1", score=0.9), completed_event("e2", number=4, score=0.8), rejected_event("e3", number=5)],
        only("value verdict_count accepts rejects abstains confident_count", "copilot", 3, 2, 1, 0, 3),
        only("mean_score p50_score p10_score mean_confidence", 0.6, 0.8, 0.1, 0.8),
    ),
    "low confidence leaves the means and stays in the counts": (
        QUALITY, "min_confidence=0.5", UNSURE,
        only("verdict_count confident_count mean_score mean_confidence", 2, 1, 0.9, 0.9),
    ),
    "no verdict is confident enough": (
        QUALITY, "min_confidence=0.95", UNSURE,
        only("verdict_count confident_count mean_score p50_score mean_interval", 2, 0, None, None, None),
    ),
    "confidence equal to the minimum counts": (
        QUALITY, "min_confidence=0.7", EXACT, only("confident_count mean_score p50_score", 1, 0.9, 0.9),
    ),
    "two versions of a rubric are two rows": (
        QUALITY, "group_by=rubric", REJUDGED, each("value verdict_count", ("default@1", 1), ("default@2", 1)),
    ),
    "a person is null": (QUALITY, "", [completed_event(author_agent=None)], only("value", None)),
    "no category is null": (QUALITY, "group_by=category", [completed_event()], only("value", None)),
    "a category": (QUALITY, "group_by=category", [rejected_event()], only("value", "half_finished")),
    "one row where nothing is grouped": (QUALITY, "group_by=none", TWO_AGENTS, only("value verdict_count", None, 2)),
    "one row of what is confident": (QUALITY, "group_by=none&min_confidence=0.1", TWO_AGENTS, only("confident_count", 2)),
    "one row of nothing": (QUALITY, "group_by=none", [], only("verdict_count", 0)),
    "the most judged group comes first": (
        QUALITY, "", [completed_event(f"e{n}", author_agent=name) for n, name in enumerate(("zed", "abe", "zed"))],
        each("value", "zed", "abe"),
    ),
    "opinions and canaries are left out": (QUALITY, "", VIEWS, only("verdict_count", 1)),
    "opinions alone": (QUALITY, "view=opinions", VIEWS, only("mean_score", 0.25)),
    "canaries alone": (QUALITY, "view=canaries", VIEWS, only("mean_score", 0.4)),
    "submissions": (QUALITY, "", SUBJECTS, only("mean_score", 0.9)),
    "another subject": (QUALITY, "subject=ci_check", SUBJECTS, only("mean_score", 0.2)),
    "all subjects": (QUALITY, "subject=all", SUBJECTS, only("verdict_count", 2)),
    "a benchmark is not among all subjects": (QUALITY, "subject=all&group_by=none", BENCHMARK, only("verdict_count", 0)),
    "a benchmark is a subject of its own": (QUALITY, "subject=benchmark", BENCHMARK, only("verdict_count live.verdict_count", 1, 0)),
    "a benchmark is not in the cost": (COST, "", BENCHMARK, each("verdict_count")),
    "a canary is not on a scorecard": (
        AGENTS, "", [completed_event("e1"), completed_event("e2", number=4, signals={"canary": True})],
        only("pull_requests verdicts", 1, 1),
    ),
    "a benchmark is not on a scorecard": (AGENTS, "", BENCHMARK, each("value")),
    "a failure is not a verdict but costs": (
        QUALITY, "", [completed_event("e1"), failed_event("e2", number=4, judge_cost_usd="0.25")],
        only("verdict_count failed_count mean_score judge_cost_usd_total", 1, 1, 0.9, "0.25"),
    ),
    "a failure without an opinion": (
        QUALITY, "", [failed_event("e1", bare=True)], only("value verdict_count failed_count", "?", 0, 1),
    ),
    "a thumb down": (QUALITY, "", DISLIKED, only("thumbs_down_count", 1)),
    "a thumb down counts when its verdict does": (QUALITY, UNTIL_LATER, DISLIKED, only("thumbs_down_count", 1)),
    "a thumb down that was taken back": (QUALITY, "", CHANGED_OPINION, only("thumbs_down_count", 1)),
    "a low mean": (
        QUALITY, "", [*LOW, completed_event("x", author_agent="codex")],
        each("value mean_score verdict_count is_certain", ("copilot", 0.35, 40, True), of="banners"),
    ),
    "a low mean of few": (QUALITY, "", LOW[:19], each("value is_certain", ("copilot", False), of="banners")),
    "a low mean of one": (
        QUALITY, "", [completed_event(score=0.59)], each("mean_interval is_certain", (None, False), of="banners"),
    ),
    "a window is rounded outward and says so": (
        QUALITY, f"from={NOON + HOUR / 2:%Y-%m-%dT%H:%MZ}&to={LATER + HOUR / 60:%Y-%m-%dT%H:%MZ}",
        [completed_event("e1"), completed_event("e2", LATER), completed_event("e3", NOON + 2 * HOUR)],
        whole("window.from window.to", NOON.isoformat(), (NOON + 2 * HOUR).isoformat()), only("verdict_count", 2),
    ),
    "the hour is that of the stream, not of the verdict": (
        QUALITY, "", [completed_event("e1", created_at="2031-01-01T00:00:00.000+00:00"), completed_event("e2", created_at="never")],
        only("verdict_count", 2),
    ),
    "skipped and unreadable entries are in each answer": (
        QUALITY, "", [completed_event(), (milliseconds(), b"eval.completed", b"{"), (milliseconds(), b"case_parse_error", b'{"v":1}'), completed_event()],
        whole("skipped troubles", {"duplicate": 1, "unreadable": 1}, {"case_parse_error": 1}), only("verdict_count", 1),
    ),
    "failures of live judgings": (QUALITY, "", FAILURES, each("value failed_count", ("copilot", 0), ("?", 1))),
    "failures of canaries": (QUALITY, "view=canaries", FAILURES, each("failed_count", 1, 1)),
    "signals of another form": (
        QUALITY, "", [failed_event(bare=True, signals=["canary"])], whole("skipped data", {"broken": 1}, []),
    ),
    "live verdicts are counted apart from rejudgings": (
        QUALITY, "", [completed_event("e1"), rejected_event("e2", **BATCH), rejected_event("e3", **BATCH), rejected_event("e4", number=4)],
        only("verdict_count rejects live", 4, 3, {"verdict_count": 2, "accepts": 1, "rejects": 1, "abstains": 0}),
    ),
    "cost without judging": (COST, "", COSTS, whole("total_usd", "0"), only("judge_cost_usd", None)),
    "cost with judging": (
        COST, "include_eval=true", COSTS, whole("total_usd", "1.512300001"), only("judge_cost_usd", "1.512300001"),
    ),
    "an unknown price is counted and not summed": (
        COST, "include_eval=1",
        [completed_event("e1", judge_cost_usd=None), completed_event("e2", judge_cost_usd="0.5"), failed_event("e3", judge_cost_usd="1.25")],
        only("unknown_price_count known_price_share judge_cost_usd failed_cost_usd", 1, 0.666667, "1.75", "1.25"),
    ),
    "the cost of an opinion is in its verdict, that of a canary is its own": (
        COST, "include_eval=true",
        [
            completed_event("e1", judge_cost_usd="0.3"),
            completed_event("e2", judge_cost_usd="0.1", **OPINION),
            completed_event("e3", judge_cost_usd="0.2", signals={"canary": True}),
        ],
        whole("total_usd", "0.5"),
    ),
    "two rubrics agree within the window, its edge included": (
        AGREEMENT, "", RUBRICS,
        only("between pair count agreed share same_decision", "rubric", "default@1 | default@2", 2, 1, 0.5, 2),
    ),
    "two rubrics in a wider window": (AGREEMENT, "agreement_window=0.1501", RUBRICS, only("agreed", 2)),
    "two rubrics in a window of zero": (AGREEMENT, "agreement_window=0", RUBRICS, only("agreed", 0)),
    "two tiers under one rubric, and one tier with itself": (
        AGREEMENT, "", [completed_event("e1"), completed_event("e2", judge_kind="hybrid", **BATCH), rejected_event("e3", judge_kind="hybrid")],
        each("between pair count same_decision", ("tier", "heuristic | hybrid", 2, 1), ("same", "default@1", 1, 0)),
    ),
    "verdicts on a whole pull request are not compared with one another": (
        AGREEMENT, "",
        [
            completed_event("e1", subject_kind="pull_request", score=0.9),
            completed_event("e2", subject_kind="pull_request", score=0.2, trigger="feedback_arrived"),
        ],
        each("between"),
    ),
    "an opinion is compared apart": (
        AGREEMENT, "", [completed_event("e1"), completed_event("e2", **OPINION, judge_kind="llm")], only("between count", "opinions", 1),
    ),
    "a canary is a rubric of its own": (
        AGREEMENT, "", [completed_event("e1"), completed_event("e2", trigger="batch", **CANARY, rubric_version="2")],
        only("between", "rubric"),
    ),
    "other heads, subjects and failures are not compared": (
        AGREEMENT, "",
        [
            completed_event("e1"),
            completed_event("e2", head=NEXT_HEAD),
            completed_event("e3", subject_kind="merge_group"),
            failed_event("e4", judge_kind="hybrid"),
            completed_event("e5", subject_kind="pull_request"),
            completed_event("e6", subject_kind="ci_check", subject_id=f"7/3/{'a' * 40}/0123456789abcdef"),
            completed_event("e7", subject_kind="ci_check", subject_id=f"7/3/{'a' * 40}/fedcba9876543210"),
            *(completed_event(name, subject_kind="benchmark", trigger="benchmark") for name in ("e8", "e9")),
        ],
        each("between"),
    ),
    "each strength is counted apart and a verdict once in each": (
        AGREEMENT, "", [completed_event(), *map(outcome_entry, (HELPFUL, MERGED, OutcomeKind.EDIT_FOLLOWUP, LATER_FIX))],
        each("strength count agreed", ("explicit", 1, 1), ("implicit", 1, 0), ("lifecycle", 1, 1), of="people"),
    ),
    "the last word of a strength stands": (
        AGREEMENT, "", [completed_event(), outcome_entry(HELPFUL), outcome_entry(NOT_HELPFUL, when=LATER)],
        people((1, 0), (0, 0), (0, 0)), whole("people.0.calibration.0.count people.0.calibration.0.share", 1, 0.0),
    ),
    "a merge that becomes a close": (
        AGREEMENT, "", [rejected_event(), outcome_entry(MERGED), outcome_entry(OutcomeKind.CLOSED_UNMERGED)], people((0, 0), (0, 0), (1, 1)),
    ),
    "a withdrawn and repeated reaction is the last": (
        AGREEMENT, "", CHANGED_OPINION, people((1, 0), (0, 0), (0, 0)), whole("skipped", {}),
    ),
    "an abstention is neither right nor wrong": (
        AGREEMENT, "", [completed_event(**UNPROVEN), outcome_entry(HELPFUL)], people((0, 0), (0, 0), (0, 0)),
    ),
    "a reopening does not count": (
        AGREEMENT, "", [completed_event(), outcome_entry(OutcomeKind.REOPENED)], people((0, 0), (0, 0), (0, 0)),
    ),
    "an outcome without a verdict is about the latest of all": (
        AGREEMENT, "", [*OLDER_NEWER, outcome_entry(MERGED, None)], whole("people.2.by_judge_kind.0.value", "heuristic"),
        people((0, 0), (0, 0), (1, 0)),
    ),
    "an outcome of a head is about the latest on it": (
        AGREEMENT, "", [*OLDER_NEWER, outcome_entry(MERGED, None, head_sha="a" * 40)],
        whole("people.2.by_judge_kind.0.value", "hybrid"), people((0, 0), (0, 0), (1, 1)),
    ),
    "an outcome of an unknown verdict": (
        AGREEMENT, "", [*OLDER_NEWER[:1], outcome_entry(MERGED, "gone")], people((0, 0), (0, 0), (0, 0)),
    ),
    "an outcome of a pull request that was never judged": (AGREEMENT, "", [outcome_entry(MERGED, None)], people((0, 0), (0, 0), (0, 0))),
    "an outcome that is delivered twice counts once": (
        AGREEMENT, "", [completed_event(), outcome_entry(MERGED), outcome_entry(MERGED, when=LATER, at=NOON)],
        whole("skipped", {"duplicate": 1}), people((0, 0), (0, 0), (1, 1)),
    ),
    "the backlog is what has started and not ended": (
        BACKLOG, "", [started_event("e1"), completed_event("e1"), started_event("e2", LATER), started_event("e3"), failed_event("e3")],
        whole("open oldest_open_s", 1, 11 * 3600.0),
        only("subject started completed failed failure_modes", "submission", 3, 1, 1, {"judge_call_failed": 1}),
    ),
    "an evaluation that starts twice is open once": (BACKLOG, "", [started_event("e2"), started_event("e2")], whole("open", 1)),
    "an evaluation that ended without a start": (
        BACKLOG, "", [completed_event(throttled_reason="pr_cap")],
        only("ended_without_start throttled open", 1, {"pr_cap": 1}, 0),
    ),
    "no backlog": (BACKLOG, "", [], whole("oldest_open_s", None)),
    "a canary is not in the backlog": (BACKLOG, "", [started_event("e2", NOON - HOUR), completed_event("e2", **CAPPED)], each("subject")),
    "the backlog holds only what started in the window": (BACKLOG, "subject=submission", UNENDED, whole("open", 1)),
    "the backlog of all subjects": (BACKLOG, "", UNENDED, whole("open", 2)),
    "a scorecard counts pull requests by their first verdict": (
        AGENTS, "",
        [
            completed_event("e1", number=1, judge_cost_usd="0.1"),
            rejected_event("e2", number=2, judge_cost_usd="0.2"),
            completed_event("e3", number=2, head=NEXT_HEAD, round=2, judge_cost_usd=None),
            completed_event("e4", number=3, **UNPROVEN),
        ],
        only("pull_requests verdicts rank first_round.count", 2, 4, None, 1),
        only("accepted.count accepted.of accepted.share", 2, 2, 1.0),
        only("rounds_to_accept top_categories", {"count": 2, "mean": 1.5, "p50": 1.0}, [("half_finished", 1)]),
        only("judge_cost_usd unknown_price_count cost_per_accepted_usd", "0.3", 1, "0.150000"),
    ),
    "without an accept there is no cost per accept": (AGENTS, "", [rejected_event()], only("cost_per_accepted_usd", None)),
    "a pull request is accepted once, at its first accept": (
        AGENTS, "",
        [rejected_event("e1"), *(completed_event(f"e{n}", head=head * 40, round=n) for n, head in ((2, "b"), (3, "b"), (4, "c")))],
        only("accepted.count first_round.count rounds_to_accept", 1, 0, {"count": 1, "mean": 2.0, "p50": 2.0}),
    ),
    "rounds are bounded": (AGENTS, "", [completed_event(round=100)], only("rounds_to_accept.mean", 99.0)),
    "a scorecard names the categories of its own agent": (
        AGENTS, "",
        [
            rejected_event("e1", number=1, author_agent="codex"),
            rejected_event("e2", number=2, author_agent="devin", category="weak_test"),
        ],
        each("value top_categories", ("codex", [("half_finished", 1)]), ("devin", [("weak_test", 1)])),
    ),
    "outcomes of a pull request count where its first verdict does": (
        AGENTS, UNTIL_LATER, MERGED_LATER,
        only("value accepted.count merged reverts.count reverts.of", "codex", 1, 1, 1, 1),
    ),
    "a revert implies a merge": (
        AGENTS, "", [completed_event(), outcome_entry(REVERTED)], only("merged reverts.share", 1, 1.0),
    ),
    "a revert and a later fix": (
        AGENTS, "", [completed_event(), outcome_entry(REVERTED), outcome_entry(LATER_FIX)],
        only("merged reverts.count later_fixes.count", 1, 1, 1),
    ),
    "an abstention is not on a scorecard": (
        AGENTS, "", [completed_event(**UNPROVEN), outcome_entry(MERGED)], only("pull_requests merged", 0, 0),
    ),
    "a rejudging is not on a scorecard": (AGENTS, "", REJUDGED, only("verdicts", 1)),
    "ranks where no interval touches another": (
        AGENTS, "", [*verdicts_of("good", 40, 38), *verdicts_of("bad", 40, 5, 100)], each("value rank", ("bad", 2), ("good", 1)),
    ),
    "no rank where intervals touch": (
        AGENTS, "", [*verdicts_of("good", 10, 8), *verdicts_of("fair", 10, 6, 100)], each("rank", None, None),
    ),
    "a rank only for the agent whose interval is apart": (
        AGENTS, "", [*verdicts_of("good", 40, 38), *verdicts_of("bad", 40, 5, 100), *verdicts_of("fair", 10, 8, 200)],
        each("value rank", ("bad", 3), ("good", None), ("fair", None)),
    ),
    "no rank without a decision": (
        AGENTS, "", [*verdicts_of("good", 9, 9), completed_event("x", number=900, author_agent="new", **UNPROVEN)],
        each("value rank", ("good", None), ("new", None)),
    ),
    "outcomes of rejects count by signal, category and rubric": (
        OVERRIDES, "", OBJECTED,
        *(
            each(OBJECTIONS, (value, 2, 1, 1, 1, 0, 1, 2), of=name)
            for name, value in (("signals", "stub_body"), ("categories", "half_finished"), ("rubrics", "default@1"))
        ),
        whole("outcomes", {"helpful": 1, "merged": 1, "not_helpful": 1, "override": 1}),
    ),
    "the reject of a benchmark has no overrides": (OVERRIDES, "", BENCHMARK, each("value", of="signals")),
    "an accept that is not helpful overrides nothing": (
        OVERRIDES, "", [completed_event(), outcome_entry(NOT_HELPFUL)], each("value", of="signals"),
    ),
    "a rejudged reject has no overrides": (OVERRIDES, "", REJUDGED, each("value", of="rubrics")),
    "a withdrawn and repeated reaction counts once": (
        OVERRIDES, "", CHANGED_OPINION, whole("outcomes", {"helpful": 1, "not_helpful": 2}),
        each("not_helpful objected.count", (1, 1), of="signals"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_query_answers_the_expected_figures(name: str) -> None:
    topic, asked, history, *figures = ROWS[name]
    answer = query_stats(topic, tuple(history), **dict(parse_qsl(asked)))
    for expected in figures:
        assert expected.read(answer) == expected.figures, expected.names


def test_low_mean_banner_has_an_interval() -> None:
    [banner] = query_stats(QUALITY, tuple(LOW))["banners"]
    assert banner["mean_interval"].low < 0.35 < banner["mean_interval"].high < 0.6


def test_calibration_compares_confidence_with_outcomes() -> None:
    history = [completed_event(f"e{n}", number=n, confidence=0.8 if n % 2 else 1) for n in range(20)]
    outcomes = [outcome_entry(HELPFUL if n % 4 else NOT_HELPFUL, f"e{n}", number=n) for n in range(20)]
    explicit = query_stats(AGREEMENT, (*history, *outcomes))["people"][0]
    assert each("confidence_from count share", (0.8, 10, 1.0), (0.9, 10, 0.5), of="calibration").read(explicit) == (
        (0.8, 10, 1.0),
        (0.9, 10, 0.5),
    )
    assert explicit["by_judge_kind"] == [
        {"value": "heuristic", "count": 20, "agreed": 15, "share": 0.75, "interval": explicit["interval"]}
    ]


def test_each_outcome_kind_has_a_meaning() -> None:
    assert set(BEARS_OUT) == set(OutcomeKind)


def test_canaries_do_not_change_the_backlog() -> None:
    live = started_event("e1"), completed_event("e1")
    beside = (
        started_event("e2", NOON - HOUR), completed_event("e2", **CAPPED), completed_event("e3", **CAPPED),
        started_event("e4"), failed_event("e4", **CAPPED), failed_event("e5", bare=True, signals={"canary": True}),
    )  # fmt: skip
    assert query_stats(BACKLOG, (*live, *beside)) == query_stats(BACKLOG, live)


def test_answers_are_json_serializable() -> None:
    for topic in StatsTopic:
        assert json.loads(json.dumps(query_stats(topic, (started_event(), completed_event(), outcome_entry(MERGED)))))


GROUPS = ("author_agent", "judge_kind", "rubric", "repository", "category")
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
def test_figures_match_plain_arithmetic(drawn: list[dict[str, Any]], least: int, group: str) -> None:
    history = [completed_event(f"e{n}", NOON + n % 3 * HOUR, number=n, **verdict) for n, verdict in enumerate(drawn)]
    data = rows(QUALITY, *history, group_by=group, min_confidence=f"{least / 100:.2f}")
    answers = {answer["value"]: answer for answer in data}
    assert set(answers) == {_value(verdict, group) for verdict in drawn}
    for value, answer in answers.items():
        mine = [verdict for verdict in drawn if _value(verdict, group) == value]
        counted = [verdict for verdict in mine if round(verdict["confidence"] * 10_000) >= least * 100]
        assert (answer["verdict_count"], answer["confident_count"]) == (len(mine), len(counted))
        assert answer["mean_score"] == _mean(counted, "score")
        assert answer["mean_confidence"] == _mean(counted, "confidence")
        ordered = sorted(math.floor(round(verdict["score"] * 10_000) / 10) / 1000 for verdict in counted)
        for part, name in ((0.5, "p50_score"), (0.1, "p10_score")):
            assert answer[name] == (ordered[max(1, math.ceil(part * len(ordered))) - 1] if ordered else None)


def _value(verdict: dict[str, Any], group: str) -> str | None:
    match group:
        case "rubric":
            return f"default@{verdict['rubric_version']}"
        case "repository":
            return str(verdict["repository_id"])
        case _:
            return verdict[group]


def _mean(drawn: list[dict[str, Any]], name: str) -> object:
    total = sum((Fraction(round(verdict[name] * 10_000), 10_000) for verdict in drawn), Fraction(0))
    return pytest.approx(float(total / len(drawn)), abs=5.1e-7) if drawn else None


@pytest.mark.parametrize("topic", StatsTopic)
def test_several_installations_are_counted_together(topic: StatsTopic) -> None:

    def make_events(repository_id: int, *names: str) -> list[RawEntry]:
        accept, reject, waiting = names
        return [
            completed_event(accept, number=1, repository_id=repository_id, judge_cost_usd="0.1", score=0.9),
            rejected_event(reject, number=2, repository_id=repository_id, score=0.3),
            completed_event(f"{accept}-later", number=1, repository_id=repository_id, rubric_version="2", score=0.8),
            outcome_entry(OutcomeKind.OVERRIDE, reject, number=2, repository_id=repository_id),
            outcome_entry(OutcomeKind.MERGED, accept, number=1, repository_id=repository_id),
            started_event(waiting, NOON + repository_id * HOUR, number=3, repository_id=repository_id),
        ]

    mine, theirs = make_events(1, "a", "b", "c"), make_events(2, "d", "e", "f")
    question = parse_query({"from": NOON.isoformat(), "group_by": "rubric", "include_eval": "1"}, topic, NOW)
    with count_figures(*mine) as first, count_figures(*theirs) as second, count_figures(*mine, *theirs) as both:
        assert answer_query(topic, question, [first, second]) == answer_query(topic, question, [both])
        answer = answer_query(topic, question, [first._replace(until_ms=5), second._replace(is_behind=True)])
    assert (answer["counted_until"], answer["is_behind"]) == (NOW.isoformat(timespec="milliseconds"), True)


def test_answer_without_streams_is_empty_and_not_behind() -> None:
    answer = answer_query(QUALITY, parse_query({}, QUALITY, NOW), [])
    assert (answer["counted_until"], answer["is_behind"], answer["data"]) == (None, False, [])


@pytest.mark.parametrize("query", [REPOSITORY_SUMS, class_sums(None)])
def test_grouping_queries_use_a_covering_index_and_do_not_sort(query: str) -> None:
    parameters = {"since": 0, "before": milliseconds(), "least": 0, "subjects": "[]", "views": "[]"}
    with count_figures(completed_event("e1")) as stream:
        plan = [step for *_, step in stream.db.execute(f"EXPLAIN QUERY PLAN {query}", parameters)]
    assert any("verdicts USING COVERING INDEX" in step for step in plan)
    assert not any("TEMP B-TREE" in step for step in plan)


SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


def test_wait_answer_has_the_commit_and_a_verdict_without_secrets() -> None:
    verdict = samples.rejected(concern=f"It prints {SECRET} to the log.")
    status = WaitStatus(WaitState.DONE, "It was judged.", 12, verdict=verdict)
    answer = wait_answer(status, "acme/widgets", samples.HEAD)
    assert (answer["repository"], answer["sha"]) == ("acme/widgets", samples.HEAD)
    assert (answer["state"], answer["number"]) == ("done", 12)
    assert (answer["verdict"]["eval_id"], answer["verdict"]["decision"]) == (verdict.eval_id, "reject")
    assert SECRET not in str(answer)


def test_wait_answer_without_a_verdict_names_the_newer_commit() -> None:
    status = WaitStatus(
        WaitState.SUPERSEDED, "A newer commit.", 12, newer_head="2" * 40, others=(13,), reason="newer_commit"
    )
    answer = wait_answer(status, "acme/widgets", samples.HEAD)
    assert (answer["state"], answer["reason"]) == ("superseded", "newer_commit")
    assert (answer["verdict"], answer["superseded_by"], answer["other_pull_requests"]) == (None, "2" * 40, (13,))
