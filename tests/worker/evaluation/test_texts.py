"""What `assay stats` and `assay history` print."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from inline_snapshot import snapshot

from tests.worker.evaluation.stats.history import (
    HOUR,
    INSTALLATION,
    NOON,
    RawEntry,
    completed_event,
    failed_event,
    milliseconds,
    outcome_entry,
    query_stats,
    rejected_event,
    started_event,
)
from tests.worker.publishing.texts.samples import HOSTILE
from worker.domain.check.overrides import HumanDecisions, Override
from worker.domain.model import EvalId
from worker.domain.verdict.events import Demotion, OutcomeKind, RejectCounts
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.rubric_diff import (
    ComparedChange,
    RubricDifferences,
    RubricOpinion,
    ShareWithInterval,
    StrengthAgreement,
)
from worker.evaluation.stats.figures import StatsTopic
from worker.evaluation.texts import (
    RejudgeForecast,
    RejudgeSummary,
    StatsPage,
    VerdictChange,
    differences_text,
    forecast_text,
    history_text,
    overrides_text,
    promotion_text,
    rubric_ok_text,
    scorecards_text,
    stats_page,
    summary_text,
    would_block_text,
)
from worker.judge.rubric import load_rubric
from worker.publishing.texts.terminal import TerminalPage, bar, sparkline

PAGE, COLOURED = TerminalPage(100), TerminalPage(100, has_colour=True)


def events_of(number: int) -> list[RawEntry]:
    fields: dict[str, Any] = {
        "number": number,
        "judge_kind": "hybrid" if number % 2 else "heuristic",
        "judge_cost_usd": "0.4123" if number % 2 else "0",
        "author_agent": "codex" if number % 4 else None,
    }
    event = (completed_event if number % 3 else rejected_event)(f"e{number}", **fields)
    kind = OutcomeKind.MERGED if number % 3 else OutcomeKind.OVERRIDE
    outcome = outcome_entry(kind, f"e{number}", NOON + HOUR, number=number)
    return [started_event(f"e{number}", number=number), event, outcome]


HISTORY = (
    *(entry for number in range(12) for entry in events_of(number)),
    completed_event(
        "f1", number=1, rubric_version="2", trigger="batch", parent_eval_id="e1", score=0.6, judge_cost_usd=None
    ),
    started_event("f2", NOON - HOUR),
    failed_event("f3", number=50),
    (milliseconds(), b"eval.completed", b"{"),
    *(rejected_event(f"g{number}", number=60 + number, author_agent="devin") for number in range(3)),
    outcome_entry(OutcomeKind.REVERTED, "e1", number=1),
    outcome_entry(OutcomeKind.HELPFUL, "e4", number=4),
)
DAYS = ((3, 0.5), (0, None), (12, 0.8))


def render_page(
    page: TerminalPage, *history: RawEntry, days: tuple[tuple[int, float | None], ...] = (), **parameters: str
) -> str:
    quality, agreement, backlog = (
        query_stats(topic, history, **parameters)
        for topic in (StatsTopic.QUALITY, StatsTopic.AGREEMENT, StatsTopic.BACKLOG)
    )
    cost = query_stats(StatsTopic.COST, history, include_eval="true")
    return stats_page(StatsPage(quality, cost, agreement, backlog, days), page)


def test_page_has_quality_days_agreement_cost_and_backlog() -> None:
    assert render_page(PAGE, *HISTORY, days=DAYS) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC, by author agent
Not counted, since they can't be read or were there before: 1 unreadable.

                       verdicts  mean score                      p50   p10 conf.      cost no help
codex                         9  ######.... 0.63 [0.37, 0.89]   0.90  0.10  0.80     $2.47       0
(a person)                    3  ######.... 0.63 [0.11, 1.00]   0.90  0.10  0.80        $0       0
devin                         3  #......... 0.10 [0.10, 0.10]   0.10  0.10  0.80        $0       0
copilot                       1  ######.... 0.60                0.60  0.60  0.80      $0+?       0

Verdicts a day         -_#  most 12
Mean score a day       + #

Verdicts (devin) score 0.10 on average, below 0.6 (n = 3, [0.10, 0.10]; so few that it may be
chance).

Agreement (scores at most 0.15 apart)
  two rubrics, default@1 | default@2: 0% (0 of 1, [0.00, 0.79])
  with people who said it: 20% (1 of 5, [0.04, 0.62])
    confidence 0.8 to 0.9  ##........ right 20% of 5 [0.04, 0.62]
  with people who did it: 0% (0 of 1, [0.00, 0.79])
    confidence 0.8 to 0.9  .......... right 0% of 1 [0.00, 0.79]
  with people who let it happen: 100% (8 of 8, [0.68, 1.00])
    confidence 0.8 to 0.9  ########## right 100% of 8 [0.68, 1.00]

Judging has cost $2.47; the price of 1 is not known.
Begun and not ended: 1, the oldest for 13 h.
Failed to judge 1 of 17 (submission): 1 judge call failed.
""")


def test_terminal_with_colour_gets_block_characters() -> None:
    assert render_page(COLOURED, completed_event(), days=DAYS) == snapshot("""\
\x1b[1m2026-11-20 00:00 to 2026-11-21 00:00 UTC, by author agent\x1b[0m

\x1b[2m                       verdicts  mean score                      p50   p10 conf.      cost no help\x1b[0m
copilot                       1  █████████░ 0.90                0.90  0.90  0.80        $0       0

Verdicts a day         ▃▁█  most 12
Mean score a day       ▅ █

Judging has cost $0.
""")


def test_page_without_verdicts() -> None:
    assert render_page(PAGE) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC, by author agent

Nothing was judged in this time.

Judging has cost $0.
""")
    assert "all                 " in render_page(PAGE, completed_event(), group_by="none")
    assert "(no category)" in render_page(PAGE, completed_event(), group_by="category")
    assert "(a person)" in render_page(PAGE, completed_event(author_agent=None))


def test_repeated_judgings_are_labelled_by_rubric_and_tier() -> None:
    again = completed_event("e2", trigger="batch", parent_eval_id="e1", judge_model="another")
    page = render_page(PAGE, completed_event("e1"), again)
    assert "one rubric and tier twice, default@1: 100% (1 of 1, [0.21, 1.00])" in page


def test_failures_are_a_share_of_ended_evaluations() -> None:
    began_before = started_event("e1", NOON - 20 * HOUR), failed_event("e1"), failed_event("e2"), completed_event("e3")
    assert "Failed to judge 2 of 3 (submission): 2 judge call failed." in render_page(PAGE, *began_before)


def test_scorecards_say_that_counting_is_behind() -> None:
    agents = {**query_stats(StatsTopic.AGENTS, ()), "is_behind": True}
    assert scorecards_text(agents, PAGE) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC
More has happened than is counted yet: ask again.

Nothing was judged in this time.

In brackets: 95 % intervals. An agent has a rank only where its interval touches no other agent's:
the rest may be noise.
""")


def test_would_block_text_includes_overrides() -> None:
    assert would_block_text(
        query_stats(StatsTopic.QUALITY, HISTORY), query_stats(StatsTopic.OVERRIDES, HISTORY), PAGE
    ) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC, by author agent
Not counted, since they can't be read or were there before: 1 unreadable.

                       verdicts would block  abstains
codex                         9           3         0  ###.......
(a person)                    3           1         0  ###.......
devin                         3           3         0  ##########

By category
  half finished: 7 rejects, objected to 57% (4 of 7, [0.25, 0.84]); 4 overridden

A check blocks where the repository requires it and its mode is `block`; `mode: observe` only tells.
Abstentions follow the policy of the repository, and are not counted as blocked.
""")
    no_verdicts, no_overrides = query_stats(StatsTopic.QUALITY, ()), query_stats(StatsTopic.OVERRIDES, ())
    assert "Nothing was judged" in would_block_text(no_verdicts, no_overrides, PAGE)
    assert "#" not in would_block_text(query_stats(StatsTopic.QUALITY, (failed_event(),)), no_overrides, PAGE)


def test_overrides_are_grouped_by_signal_category_and_rubric() -> None:
    assert overrides_text(query_stats(StatsTopic.OVERRIDES, HISTORY), (), PAGE) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC
Not counted, since they can't be read or were there before: 1 unreadable.

By signal (facts that rejected)
  stub body: 7 rejects, objected to 57% (4 of 7, [0.25, 0.84]); 4 overridden

By category
  half finished: 7 rejects, objected to 57% (4 of 7, [0.25, 0.84]); 4 overridden

By rubric
  default@1: 7 rejects, objected to 57% (4 of 7, [0.25, 0.84]); 4 overridden

All that was heard in this time: 1 helpful, 8 merged, 4 override, 1 reverted.
""")
    assert overrides_text(query_stats(StatsTopic.OVERRIDES, ()), (), PAGE) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC

By signal (facts that rejected)
  No reject.

By category
  No reject.

By rubric
  No reject.
""")


def test_overrides_text_ends_with_demoted_signals() -> None:
    demotion = Demotion(signal="stub_body", tally=RejectCounts(rejects=41, overturned=3), at=NOON)
    text = overrides_text(query_stats(StatsTopic.OVERRIDES, ()), (demotion.notice(INSTALLATION),), PAGE)
    assert text.endswith(
        "By rubric\n  No reject.\n\n"
        "stub_body is a suspicion since 2026-11-20: 3 of its 41 rejects were overridden, more than 5 %\n"
        "(installation 100). `assay rubric promote stub_body --installation 100` takes it back.\n"
    )


def test_scorecard_has_counts_and_intervals() -> None:
    assert scorecards_text(query_stats(StatsTopic.AGENTS, HISTORY), PAGE) == snapshot("""\
2026-11-20 00:00 to 2026-11-21 00:00 UTC
Not counted, since they can't be read or were there before: 1 unreadable.

codex: 9 pull requests
  accepted at the first round: 67% (6 of 9, [0.35, 0.88])
  accepted at all: 67% (6 of 9, [0.35, 0.88])
  rounds to accept: 1.0 on average, 1 in the middle
  reverted: 17% (1 of 6, [0.03, 0.56]); fixed later: 0% (0 of 6, [0.00, 0.39])
  rejected for: 3 half finished
  judging cost $2.47, $0.4123 for each accepted one

people: 3 pull requests
  accepted at the first round: 67% (2 of 3, [0.21, 0.94])
  accepted at all: 67% (2 of 3, [0.21, 0.94])
  rounds to accept: 1.0 on average, 1 in the middle
  reverted: 0% (0 of 2, [0.00, 0.66]); fixed later: 0% (0 of 2, [0.00, 0.66])
  rejected for: 1 half finished
  judging cost $0, $0 for each accepted one

devin: 3 pull requests
  accepted at the first round: 0% (0 of 3, [0.00, 0.56])
  accepted at all: 0% (0 of 3, [0.00, 0.56])
  rejected for: 3 half finished
  judging cost $0

copilot: 0 pull requests
  accepted at the first round: none
  accepted at all: none
  judging cost $0

In brackets: 95 % intervals. An agent has a rank only where its interval touches no other agent's:
the rest may be noise.
""")
    apart = [completed_event(f"a{n}", number=n, author_agent="good") for n in range(30)]
    apart += [rejected_event(f"b{n}", number=100 + n, author_agent="bad") for n in range(30)]
    assert "good: 30 pull requests, rank 1\n" in scorecards_text(query_stats(StatsTopic.AGENTS, tuple(apart)), PAGE)


def test_ages_use_the_largest_fitting_unit() -> None:
    pages = [render_page(PAGE, started_event("e", NOON + (12 - back) * HOUR)) for back in (30, 5, 0.5, 0.01)]
    assert [page.partition("the oldest for ")[2].partition(".")[0] for page in pages] == snapshot(
        ["", "5 h", "30 min", "36 s"]
    )


def test_hostile_text_cannot_move_the_cursor() -> None:
    hostile = render_page(PAGE, completed_event(author_agent=HOSTILE[:190]))
    assert "\x1b" not in hostile


def test_history_lists_verdicts_and_outcomes_in_order() -> None:
    assert history_text("acme/widgets#3", [verdict_row(), verdict_row(**REJUDGED)], OUTCOMES, PAGE) == snapshot("""\
acme/widgets#3: 2 verdicts

2026-11-20 12:00  reject (half finished), round 1  commit aaaaaaaaaaaa
  score #......... 0.10, confidence 0.90, heuristic, default@1, $0
  `refund` is never implemented.
  at src/pay.py:12
  e1

2026-11-20 12:00  abstain (unproven), round 1  commit aaaaaaaaaaaa
  score #......... 0.10, confidence 0.90, heuristic, default@1, price unknown
  `refund` is never implemented.
  at src/pay.py
  e1, beside e1

What was done since
  2026-11-20 13:00  not helpful (about e1)
  2026-11-20 14:00  merged
""")
    assert history_text(
        "acme/widgets#3", [verdict_row(decision="accept", category=None, carried_from="e0")], [], PAGE
    ) == snapshot("""\
acme/widgets#3: 1 verdict

2026-11-20 12:00  accept, round 1  commit aaaaaaaaaaaa
  score #......... 0.10, confidence 0.90, heuristic, default@1, $0
  `refund` is never implemented.
  at src/pay.py:12
  e1, carried over from e0
""")
    assert "\x1b" not in history_text("acme/widgets#3", [verdict_row(concern=HOSTILE)], [], PAGE)


def test_history_names_the_subject_kind_unless_it_is_a_submission() -> None:
    of = verdict_row()["subject"]
    heads = [
        history_text("acme/widgets#3", [verdict_row(subject={**of, "kind": kind.value})], [], PAGE).splitlines()[2]
        for kind in SubjectKind
    ]
    assert [heading.partition("  commit ")[2] for heading in heads] == snapshot(
        [
            "aaaaaaaaaaaa",
            "aaaaaaaaaaaa, in the merge queue",
            "aaaaaaaaaaaa, a CI check",
            "aaaaaaaaaaaa, the whole pull request",
            "aaaaaaaaaaaa",
        ]
    )


def test_human_decisions_follow_the_newest_verdict_of_a_head() -> None:
    override = Override.model_construct(login="ana", reason="no.", at=NOON)
    decisions = {"a" * 40: HumanDecisions(override=override)}
    lines = history_text("acme/widgets#3", [verdict_row(), verdict_row(eval_id="e2")], [], PAGE, decisions).splitlines()
    assert [line for line in lines if "e1" in line or "e2" in line or "Overridden" in line] == snapshot(
        ["  e1", "  e2", "  Overridden by @ana at 2026-11-20 12:00 UTC: no."]
    )


REJUDGED: dict[str, Any] = {
    "decision": "abstain", "category": None, "abstain_reason": "unproven", "parent_eval_id": "e1", "judge_cost_usd": None,
    "evidence": [{"path": "src/pay.py", "line": None}],
}  # fmt: skip
OUTCOMES = [
    {"outcome": "not_helpful", "eval_id": "e1", "at": "2026-11-20T13:00:00.000+00:00"},
    {"outcome": "merged", "eval_id": None, "at": "2026-11-20T14:00:00.000+00:00"},
]


def verdict_row(**changes: Any) -> dict[str, Any]:
    standard: dict[str, Any] = {
        "eval_id": "e1", "created_at": "2026-11-20T12:00:00Z", "decision": "reject", "category": "half_finished",
        "abstain_reason": None, "round": 1, "subject": {"kind": "submission", "head_sha": "a" * 40}, "score": 0.1, "confidence": 0.9,
        "judge_kind": "heuristic", "rubric_id": "default", "rubric_version": "1", "judge_cost_usd": "0",
        "concern": "`refund` is never implemented.", "evidence": [{"path": "src/pay.py", "line": 12}],
        "parent_eval_id": None, "carried_from": None,
    }  # fmt: skip
    return {**standard, **changes}


def test_charts_have_the_requested_width() -> None:
    assert (bar(0.5, 4, PAGE), bar(2, 2, PAGE), bar(-1, 2, COLOURED)) == ("##..", "##", "░░")
    assert (sparkline([0, 0], PAGE), sparkline([], PAGE), sparkline([1, None, 4], COLOURED)) == ("__", "", "▃ █")


NOTHING = RejudgeSummary(0, 0, 0, 0, 0, 0, {}, (), Decimal(0), 0, "default 2")
PLANNED = RejudgeForecast(5, 3, 2, 3, Decimal("0.0123"), Decimal("0.2"), has_model=True, law="default 2 and claude-x")


def test_summary_of_an_empty_window() -> None:
    assert summary_text(NOTHING, TerminalPage(80)) == (
        "0 of 0 subjects re-evaluated by default 2.\nCost: $0.00.\n0 decided otherwise.\n"
    )


def test_summary_lists_all_counts_and_changes() -> None:
    summary = replace(
        NOTHING, subjects=15, answered=5, earlier=2, gone=1, failed=2, capped=3, left=4, unread=1, unpriced=1,
        decisions={"accept": 3, "reject weak_test": 2}, cost_usd=Decimal("0.01234"),
        stopped="The limit of $0.01 is reached. Give a larger --max-usd to go on.",
        changes=(
            VerdictChange("acme/widgets#1", "accept", "reject weak_test", "e1", "It asserts nothing.", ("tests/test_a.py:3",)),
            VerdictChange("acme/widgets#2", "reject weak_test", "accept", "e2", "All of it is there."),
        ),
    )  # fmt: skip
    assert summary_text(summary, TerminalPage(80)) == (
        "The limit of $0.01 is reached. Give a larger --max-usd to go on.\n"
        "5 of 15 subjects re-evaluated by default 2, 2 of them before this run.\n"
        "Now: 3 accept, 2 reject weak_test.\n"
        "1 can't be: the dossier is no longer kept (ASSAY_RETENTION_DAYS).\n"
        "2 failed; `assay work` has logged why, and the same command tries them again.\n"
        "3 were not asked: a cap is reached. The same command asks again, once there is room.\n"
        "4 are left; the same command goes on from there.\n"
        "1 event on the stream can't be read, and were left out.\n"
        "Cost: $0.0123, and 1 judging whose price is not known.\n"
        "2 decided otherwise:\n"
        "  acme/widgets#1  accept -> reject weak_test  e1\n"
        "    tests/test_a.py:3\n"
        "    It asserts nothing.\n"
        "  acme/widgets#2  reject weak_test -> accept  e2\n"
        "    All of it is there.\n"
    )


def test_forecast_of_a_run() -> None:
    assert forecast_text(PLANNED) == (
        "5 subjects in this window, 2 of them re-evaluated by default 2 and claude-x already.\n"
        "3 would be judged; nothing was.\n"
        "About 2 need the model (judged by 3 of them): about $0.01, at the very most $0.20.\n"
    )


def test_forecast_without_a_model_or_a_price() -> None:
    assert forecast_text(replace(PLANNED, has_model=False)).endswith("Cost: $0.00, no model would be asked.\n")
    for unknown in (replace(PLANNED, expected_usd=None), replace(PLANNED, most_usd=None)):
        assert forecast_text(unknown).endswith(
            "Cost: not known, either no dossier is kept or the model has no price in the table.\n"
        )


def test_summary_of_rescoring_has_mean_scores() -> None:
    summary = replace(NOTHING, subjects=3, answered=2, mean_before=0.754, mean_now=0.5, rescored=1, gone=1, missing="x")
    assert summary_text(summary, TerminalPage(80)) == (
        "2 of 3 subjects re-evaluated by default 2.\n"
        "Mean score: 0.75 before, 0.50 now; 1 scored otherwise.\n"
        "1 can't be: x.\n"
        "Cost: $0.00.\n"
        "0 decided otherwise.\n"
    )
    assert "Mean" not in summary_text(replace(summary, mean_now=None), TerminalPage(80))


OLD = RubricOpinion("accept", "accept", 0.9, asks=False)
NEW = RubricOpinion(
    "reject weak_test", "reject", 0.1, asks=False, places=("tests/test_a.py:3",), concern="It asserts nothing."
)
OPEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)
NO_DIFFERENCE = RubricDifferences("default 1", "default 2", 0, 0, 0, (), (), 0, ())


def test_differences_of_no_changes() -> None:
    assert differences_text(NO_DIFFERENCE, TerminalPage(80)) == (
        "0 recorded changes by default 1 and by default 2.\n"
        "0 by verdicts on record of the same model, 0 by code alone, at $0.\n"
        "0 decided otherwise.\n"
        "0 where only one of them asks a model.\n"
        "0 decided alike with another score.\n"
        "Agreement with what people did:\n"
    )


def test_differences_have_locations_and_outcomes() -> None:
    changed = ComparedChange("acme/widgets#1", EvalId("e1"), OLD, NEW, "haiku", ("merged", "reverted"))
    asked = ComparedChange("acme/widgets#2", EvalId("e2"), OPEN, OPEN._replace(asks=False), None, ())
    quiet = ComparedChange("acme/widgets#3", EvalId("e3"), OPEN, OLD, None, ())
    both = StrengthAgreement("explicit", ShareWithInterval(0, 0, None), ShareWithInterval(3, 4, (0.3, 0.954)))
    differences = replace(
        NO_DIFFERENCE, compared=9, by_record=4, left_out=2, unread=1, changes=(changed, quiet), asked=(asked,), moved=3,
        agreement=(both,),
    )  # fmt: skip
    assert differences_text(differences, TerminalPage(80)) == (
        "9 recorded changes by default 1 and by default 2.\n"
        "4 by verdicts on record of the same model, 5 by code alone, at $0.\n"
        "2 are left out: the dossier is no longer kept (ASSAY_RETENTION_DAYS).\n"
        "1 events on the stream can't be read, and were left out.\n"
        "2 decided otherwise:\n"
        "  acme/widgets#1  accept -> reject weak_test  e1  (merged, reverted)\n"
        "    reject weak_test at tests/test_a.py:3\n"
        "      It asserts nothing.\n"
        "  acme/widgets#3  abstain unproven -> accept  e3\n"
        "1 where only one of them asks a model:\n"
        "  acme/widgets#2  asked -> not asked  e2\n"
        "3 decided alike with another score.\n"
        "Agreement with what people did:\n"
        "  explicit: default 1 nothing to go by; default 2 3 of 4 (95 %: 30 to 95 %)\n"
    )


def test_rubric_summary_is_followed_by_a_refusal() -> None:
    rubric = load_rubric().model_copy(update={"id": "x", "version": "7", "signals": {"a": 0.5}})
    line = f'x.yml: "x" version 7, {len(rubric.criteria)} criteria, 1 signals, a model is asked below 0.7.\n'
    assert rubric_ok_text(rubric, "x.yml", None) == line
    assert rubric_ok_text(rubric, "x.yml", "Raise it.") == f"{line}Raise it.\n"


def test_promotion_names_the_signal_and_installation() -> None:
    expected = "stub_body may reject alone again in installation 7. Its rejects are counted from now on.\n"
    assert promotion_text("stub_body", 7, was_demoted=True) == expected
    assert promotion_text("stub_body", 7, was_demoted=False).startswith("stub_body was no suspicion in installation 7.")
