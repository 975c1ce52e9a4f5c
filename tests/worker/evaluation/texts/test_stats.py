"""What `assay stats` and `assay history` print."""

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
from worker.domain.verdict.outcomes import Demotion, OutcomeKind, RejectCounts
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.stats.stats_query import StatsTopic
from worker.evaluation.texts.stats import (
    StatsPage,
    history_text,
    overrides_text,
    scorecards_text,
    stats_page,
    would_block_text,
)
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
