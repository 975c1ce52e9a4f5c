"""What people read about money: a cap that is near, and one that is reached."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import Conclusion
from worker.domain.ids import EvalId
from worker.domain.pause import JudgingPause, pause_to_signals
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import (
    AbstainReason,
    ClosingCondition,
    ConditionState,
    JudgeKind,
    ThrottledReason,
    Verdict,
)
from worker.judge.escalation import Pause
from worker.judge.llm.model_judge import cap_signals
from worker.judge.texts import budget, cap_reached, dollars, paused
from worker.publishing.texts.check_run import check_content, conditions_section
from worker.publishing.texts.terminal import TerminalPage, verdict_report

NEAR = CapLevel(Cap.DAY, Decimal("0.823456789"), Decimal("1.00"))


def lines_about_budget(verdict: Verdict) -> list[str]:
    content = check_content(verdict, dossier())
    return [line for line in f"{content.summary}\n{content.text}".split("\n") if line.startswith("**Budget")]


def test_a_cap_that_is_near_is_a_line_on_the_check_run() -> None:
    assert lines_about_budget(accepted(signals=dict(cap_signals(NEAR)))) == snapshot(
        [
            "**Budget:** The budget of today is almost used up: &#36;0.8235 of &#36;1.00. Beyond it no model is asked, and what needs one is not judged."
        ]
    )
    of_pull = CapLevel(Cap.PULL, Decimal("0.08"), Decimal("0.10"))
    assert lines_about_budget(accepted(signals=dict(cap_signals(of_pull)))) == snapshot(
        [
            "**Budget:** The budget of this pull request is almost used up: &#36;0.08 of &#36;0.10. Beyond it no model is asked, and what needs one is not judged."
        ]
    )
    of_share = CapLevel(Cap.SHARE, Decimal("0.40"), Decimal("0.50"))
    [line] = lines_about_budget(accepted(signals=dict(cap_signals(of_share))))
    assert "The budget of this repository's share of today is almost used up: &#36;0.40 of &#36;0.50." in line


def test_a_cap_that_is_not_near_is_no_line() -> None:
    assert cap_signals(None) == {}
    assert lines_about_budget(accepted()) == []


def test_a_verdict_that_is_carried_over_says_nothing_of_the_budget_it_was_paid_from() -> None:
    assert lines_about_budget(accepted(signals=dict(cap_signals(NEAR)), carried_from=EvalId("before"))) == []


@pytest.mark.parametrize("cap", Cap)
def test_every_cap_says_how_full_it_is_and_who_does_what(cap: Cap) -> None:
    said = budget(CapLevel(cap, Decimal("0.0931"), Decimal("0.10")), Decimal("0.0123456"))
    assert (
        said
        == {
            Cap.PULL: snapshot(
                (
                    "The model was not asked: of the budget of this pull request, $0.0931 of $0.10 is spent or reserved, and this question could cost up to $0.0123. This change was not judged.",
                    "The operator raises ASSAY_PR_MAX_USD and a maintainer re-runs this check, or a person reviews the change.",
                )
            ),
            Cap.DAY: snapshot(
                (
                    "The model was not asked: of the budget of today, $0.0931 of $0.10 is spent or reserved, and this question could cost up to $0.0123. This change was not judged.",
                    "A maintainer re-runs this check after midnight UTC, or the operator raises ASSAY_DAY_MAX_USD.",
                )
            ),
            Cap.SHARE: snapshot(
                (
                    "The model was not asked: of the budget of this repository's share of today, $0.0931 of $0.10 is spent or reserved, and this question could cost up to $0.0123. This change was not judged.",
                    "A maintainer re-runs this check after midnight UTC, or the operator raises ASSAY_REPOSITORY_SHARE.",
                )
            ),
            Cap.AUTHOR: snapshot(
                (
                    "The model was not asked: of the budget of this author's share of today, $0.0931 of $0.10 is spent or reserved, and this question could cost up to $0.0123. This change was not judged.",
                    "A maintainer re-runs this check after midnight UTC, or the operator raises ASSAY_AUTHOR_SHARE.",
                )
            ),
        }[cap]
    )
    assert cap_reached(cap).startswith("the budget of ")


@pytest.mark.parametrize("pause", Pause)
def test_a_pause_says_who_stopped_judging(pause: Pause) -> None:
    assert (
        paused(pause)
        == {
            Pause.OPERATOR: snapshot(
                (
                    "Judging is paused: the operator stopped it. This change was not judged.",
                    "A person reviews it, or a maintainer re-runs this check once ASSAY_PAUSED is 0 again.",
                )
            ),
            Pause.REPOSITORY: snapshot(
                (
                    "Judging is paused in this repository, by `assay pause`. This change was not judged.",
                    "A person reviews it, or a maintainer re-runs this check once `assay resume` let judging go on.",
                )
            ),
        }[pause]
    )


STORM = JudgingPause(by="alice", until=datetime(2026, 11, 20, 18, tzinfo=UTC), reason="A storm.")


def test_a_pause_that_somebody_explained_says_by_whom_until_when_and_why() -> None:
    assert [paused(Pause.OPERATOR, STORM), paused(Pause.REPOSITORY, JudgingPause(by="bob"))] == snapshot(
        [
            (
                "Judging is paused by alice until 2026-11-20 18:00 UTC. Reason: A storm. This change was not judged.",
                "Assay judges it by itself once the pause ends. Until then a person reviews it.",
            ),
            (
                "Judging is paused in this repository by bob. This change was not judged.",
                "Assay judges it by itself once `assay resume` ends the pause. Until then a person reviews it.",
            ),
        ]
    )
    assert paused(Pause.REPOSITORY, JudgingPause()) == paused(Pause.REPOSITORY)


def test_a_check_says_until_when_judging_is_paused_and_nothing_of_its_reason_is_markup() -> None:
    hostile = STORM.model_copy(update={"reason": "[click](https://evil.example) @acme/everyone <img src=x>"})
    concern, next_step = paused(Pause.OPERATOR, hostile)
    told = abstained(AbstainReason.PAUSED, concern=concern, next_step=next_step, signals=pause_to_signals(hostile))
    content = check_content(told, dossier())
    assert content.title == "Not judged: judging is paused until 2026-11-20 18:00 UTC"
    assert content.conclusion == "neutral"
    assert content.summary == snapshot("""\
Judging is paused by alice until 2026-11-20 18:00 UTC. Reason: \\[click\\](https:&#8203;//evil.example) @&#8203;acme/everyone &lt;img src=x>. This change was not judged.

**Next step:** Assay judges it by itself once the pause ends. Until then a person reviews it.\
""")


def judged_by(verdict: Verdict) -> str:
    [line] = [one for one in check_content(verdict, dossier()).text.split("\n") if one.startswith("- Judged by")]
    return line


UNHEARD = {
    "judge_kind": JudgeKind.HYBRID,
    "judge_model": "claude-haiku-5-5",
    "judge_cost_usd": Decimal("0.0046"),
    "judge_pricing_version": "2026-11",
    "signals": {"unheard_usd": "0.0046"},
}


def test_a_cap_that_is_reached_stands_in_the_title_and_blocks() -> None:
    titles: list[str] = []
    for reason in ThrottledReason:
        content = check_content(abstained(AbstainReason.BUDGET, throttled_reason=reason), dossier())
        assert content.conclusion is Conclusion.ACTION_REQUIRED
        titles.append(content.title)
    assert titles == snapshot(
        ["Not judged: the budget of this pull request is used up", "Not judged: today's budget is used up"]
    )


def test_what_a_change_over_many_files_is_built_on_stands_above_its_next_step() -> None:
    sides = {"what_works": "The retry itself.", "what_does_not": "No caller reads the reply."}
    told = verdict_report(rejected(signals=sides), dossier(), TerminalPage())
    places = [told.index(one) for one in ("What works\n  The retry", "What does not\n  No caller", "Next step\n")]
    assert places == sorted(places)


TOLD = "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"


def on_check(verdict: Verdict) -> list[str]:
    content = check_content(verdict, dossier())
    return [line for line in f"{content.summary}\n{content.text}".split("\n") if "Opinions" in line]


def on_terminal(verdict: Verdict) -> list[str]:
    return [
        line
        for line in verdict_report(verdict, dossier(), TerminalPage(200)).split("\n")
        if line.startswith("Opinions")
    ]


def test_opinions_that_agree_are_shown_as_such() -> None:
    verdict = accepted(signals={"opinions": TOLD, "opinions_agree": True})
    assert on_terminal(verdict) == [f"Opinions   agreed: {TOLD}"]


def test_one_opinion_is_no_line() -> None:
    assert (on_check(accepted()), on_terminal(accepted())) == ([], [])


TICKED = ClosingCondition(id="c1", text="Retry it on 503.", state=ConditionState.RESOLVED)
OPEN = ClosingCondition(id="c2", text="AC1 is met: uploads are retried")
PAGE = TerminalPage(width=80)


def conditions_on_terminal(verdict: Any) -> str:
    """The paragraph about conditions."""
    text = verdict_report(verdict, dossier(), PAGE)
    return next((part for part in text.split("\n\n") if part.startswith("What close")), "")


def test_open_and_ticked_conditions_in_the_check() -> None:
    assert "\n".join(conditions_section(rejected(closing_conditions=(TICKED, OPEN)))) == snapshot("""\
### What closes this
- [x] c1: Retry it on 503.
- [ ] c2: AC1 is met: uploads are retried\
""")
    assert "\n".join(conditions_section(accepted(closing_conditions=(TICKED,)))) == snapshot("""\
### What closed this
- [x] c1: Retry it on 503.\
""")
    assert conditions_section(accepted()) == []


def test_open_and_ticked_conditions_on_the_terminal() -> None:
    assert conditions_on_terminal(rejected(closing_conditions=(TICKED, OPEN))) == snapshot("""\
What closes this
  [x] c1: Retry it on 503.
  [ ] c2: AC1 is met: uploads are retried\
""")
    assert conditions_on_terminal(accepted(closing_conditions=(TICKED,))) == snapshot("""\
What closed this
  [x] c1: Retry it on 503.\
""")
    assert conditions_on_terminal(accepted()) == ""


def test_a_lone_condition_that_is_the_next_step_is_said_once_on_the_terminal() -> None:
    verdict = rejected(closing_conditions=(ClosingCondition(id="c1", text="Write it."),), next_step="Write it.")
    assert conditions_on_terminal(verdict) == ""
    assert "Write it." in "\n".join(conditions_section(verdict))


def test_a_condition_in_somebodys_words_acts_nowhere() -> None:
    verdict = rejected(closing_conditions=(OPEN.model_copy(update={"text": HOSTILE}),))
    assert "<img" not in "\n".join(conditions_section(verdict))
    assert "\x1b" not in conditions_on_terminal(verdict)


def pages() -> Pages:
    text = verdict_report(accepted(signals=dict(cap_signals(NEAR))), dossier(), TerminalPage(width=200))
    yield (
        "a cap that is near is a row on the terminal",
        "\n".join([line for line in text.split("\n") if line.startswith("Budget")]),
    )
    told = [dollars(Decimal(one)) for one in ("0", "0.1", "1", "0.012345", "0.00005", "12.34")]
    yield "dollars are cents at least and hundredths of one at most", "\n".join(told)
    told = [
        judged_by(abstained(AbstainReason.PAUSED, signals={"paused_by": one})) for one in ("operator", "repository")
    ]
    yield (
        "a paused verdict says whose pause kept code checks too from judging",
        "\n".join([*told, judged_by(abstained(AbstainReason.PAUSED))]),
    )
    away = AbstainReason.JUDGE_UNAVAILABLE
    told = [judged_by(abstained(away, **UNHEARD)), judged_by(abstained(away)), judged_by(accepted(**UNHEARD))]
    yield (
        "what a model may have cost that nobody heard is told as the most",
        "\n".join([*told, judged_by(accepted(**UNHEARD, carried_from=EvalId("0193")))]),
    )
    verdict = accepted(signals={"opinions": TOLD, "opinions_agree": False})
    yield "opinions that differ are shown", "\n".join(on_check(verdict)), "\n".join(on_terminal(verdict))


def test_what_people_read(golden: Golden) -> None:
    golden.holds_pages("prose/texts/budget.md", pages())
