"""The verdict on a whole pull request, and one for each CI check of a head, by code alone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.dossier import CiCheck
from worker.domain.ids import EvalId, new_eval_id
from worker.domain.verdict.events import EvalTrigger, subject_id, terminal_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome, OutcomeKind, Strength
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    Category,
    Finding,
    JudgeKind,
    Reject,
    SubjectKind,
)
from worker.judge.outcome_scores import (
    ci_check_verdicts,
    next_eval_id,
    pull_request_verdict,
    score_check,
    score_pull_request,
    submissions_of,
)
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric

RUBRIC = load_pull_request_rubric()
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
ID = EvalId("0199bbbb-0000-7000-8000-000000000009")


def entry(verdict: Accept | Reject | Abstain, head: str = "a") -> LedgerEntry:
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=verdict.round,
        fence=1,
        head_sha=head * 40,
        fingerprint=verdict.fingerprint,
        diff_summary="1 file, +1 -0",
        verdict=verdict,
    )


def outcomes(*kinds: str, about: str | None = None) -> list[Outcome]:
    return [Outcome(kind=OutcomeKind(kind), eval_id=EvalId(about) if about else None, at=AT) for kind in kinds]


def whole(*kinds: str, last: Any = None, before: Any = ()) -> Accept | Reject | Abstain:
    verdict = last or accepted()
    entries = [*(entry(verdict, "b") for verdict in before), entry(verdict)]
    return pull_request_verdict(ID, AT, entries, outcomes(*kinds, about=verdict.eval_id), RUBRIC)


def test_the_newest_verdict_on_each_head_counts_and_children_do_not() -> None:
    first, again = accepted(eval_id=EvalId("1")), rejected(eval_id=EvalId("2"))
    second = accepted(eval_id=EvalId("3"))
    child = accepted(eval_id=EvalId("4"), parent_eval_id=EvalId("3"))
    group = accepted(eval_id=EvalId("5"))
    group = group.model_copy(update={"subject": group.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP})})
    entries = [entry(first, "a"), entry(second, "b"), entry(again, "a"), entry(child, "b"), entry(group, "c")]
    assert [entry.eval_id for entry in submissions_of(entries)] == ["3", "2"]


def test_without_outcomes_the_score_is_of_the_submissions_and_not_very_sure() -> None:
    verdict = whole(last=accepted(score=0.9), before=[rejected(score=0.1, eval_id=EvalId("r"))])
    assert (verdict.score, verdict.confidence) == (round(0.7 * 0.9 + 0.3 * 0.5, 4), 0.5)
    assert verdict.signals["strongest"] is None


def test_a_merge_raises_the_score_and_a_revert_takes_more_than_that() -> None:
    alone, merged, reverted = whole(), whole("merged"), whole("merged", "reverted")
    assert reverted.score < 0.5 < alone.score < merged.score


def test_explicit_beats_implicit_beats_lifecycle() -> None:
    assert whole("merged", "reverted").score < 0.5
    assert whole("closed_unmerged", "helpful").score > 0.5
    assert whole("merged", "reverted", "helpful").score > 0.5
    assert whole("merged", "not_helpful").score < 0.5


@given(st.lists(st.sampled_from(sorted(OutcomeKind)), max_size=8), st.floats(0.5, 1))
def test_the_strongest_outcomes_decide_the_side(kinds: list[OutcomeKind], score: float) -> None:
    verdict = accepted(score=score)
    weighed = score_pull_request([entry(verdict)], outcomes(*kinds, about=verdict.eval_id), RUBRIC)
    assert 0 <= weighed.score <= 1
    assert 0 <= weighed.confidence <= 1
    strongest = next((weighed.targets[strength] for strength in Strength if strength in weighed.targets), None)
    if set(weighed.targets) - {Strength.LIFECYCLE} and strongest in {0.0, 1.0}:
        assert (weighed.score >= 0.5) == (strongest == 1.0)


def test_of_the_lifecycle_the_last_state_counts() -> None:
    assert whole("closed_unmerged", "reopened").score == whole().score
    assert whole("closed_unmerged", "reopened", "merged").score == whole("merged").score


def test_helpful_confirms_a_reject_and_not_helpful_speaks_against_it() -> None:
    assert isinstance(whole("helpful", last=rejected()), Reject)
    against = whole("not_helpful", last=rejected())
    assert (against.abstain_reason, against.score > 0.5) == (AbstainReason.NEEDS_HUMAN, True)


def test_what_was_not_decided_can_not_be_called_wrong() -> None:
    verdict = abstained(AbstainReason.UNPROVEN, score=0.5)
    assert whole("not_helpful", last=verdict).score == whole(last=verdict).score


def test_a_thumb_about_no_verdict_moves_nothing() -> None:
    verdict = accepted()
    weighed = score_pull_request([entry(verdict)], outcomes("not_helpful"), RUBRIC)
    assert weighed.targets == {}


def test_a_thumb_about_a_verdict_that_was_made_anew_since_still_counts() -> None:
    first, again = accepted(eval_id=EvalId("1")), accepted(eval_id=EvalId("2"))
    weighed = score_pull_request([entry(first), entry(again)], outcomes("not_helpful", about="1"), RUBRIC)
    assert weighed.targets == {Strength.EXPLICIT: 0.0}


def test_people_who_disagree_leave_the_score_between() -> None:
    outcome = whole("helpful", "not_helpful")
    assert whole("not_helpful").score < outcome.score < whole("helpful").score


def test_of_what_was_done_the_worst_sign_counts() -> None:
    assert whole("retry", "reverted").score == whole("reverted").score < whole("retry").score


def test_contradictions_cost_confidence() -> None:
    assert whole("merged", "reverted").confidence < whole("merged").confidence < whole("merged", "helpful").confidence


def test_accept_and_reject_are_those_of_the_last_submission_with_its_evidence() -> None:
    accept, reject = whole("merged"), whole("closed_unmerged", last=rejected())
    assert isinstance(accept, Accept)
    assert (accept.evidence, accept.criteria) == (accepted().evidence, accepted().criteria)
    assert isinstance(reject, Reject)
    assert (reject.category, reject.next_step) == (rejected().category, rejected().next_step)


def test_where_outcomes_speak_against_the_last_decision_it_is_for_a_person() -> None:
    verdict = whole("merged", "reverted")
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert "speaks against that: merged, reverted." in verdict.concern


def test_earlier_submissions_may_speak_against_it_too() -> None:
    last = accepted(score=0.5)
    verdict = whole(last=last, before=[rejected(score=0.0, eval_id=EvalId("r"))])
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert "earlier submissions" in verdict.concern


def test_an_abstention_stays_one_with_its_reason() -> None:
    last = abstained(AbstainReason.BUDGET)
    verdict = whole("merged", "helpful", last=last)
    assert (verdict.abstain_reason, verdict.next_step) == (AbstainReason.BUDGET, last.next_step)


def test_the_verdict_names_its_children_its_parent_and_its_outcomes() -> None:
    first, second, last = rejected(eval_id=EvalId("q")), rejected(eval_id=EvalId("r")), accepted()
    entries = [entry(first, "c"), entry(second, "b"), entry(last)]
    came = outcomes("merged", "not_helpful", "not_helpful", about=last.eval_id)
    verdict = pull_request_verdict(ID, AT, entries, came, RUBRIC)
    assert verdict.signals["child_eval_ids"] == ("q", "r", last.eval_id)
    assert (verdict.parent_eval_id, verdict.subject.kind) == (accepted().eval_id, SubjectKind.PULL_REQUEST)
    assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
    counted = {name: count for name, count in verdict.signals.items() if name.startswith("outcome")}
    assert counted == {"outcomes": 3, "outcome_merged": 1, "outcome_not_helpful": 2}
    assert verdict.signals["strongest"] == "explicit"


def test_a_new_id_comes_after_all_on_record_though_this_clock_is_behind() -> None:
    ahead = new_eval_id(AT + timedelta(hours=3))
    recorded = [entry(accepted(eval_id=ahead)), entry(accepted(eval_id=new_eval_id(AT)))]
    ids = [next_eval_id(AT, recorded) for _ in range(50)]
    assert min(ids) > ahead
    assert next_eval_id(AT, []) < ahead


@pytest.mark.parametrize("kind", ["override", "contest"])
def test_what_no_command_says_yet_has_its_place(kind: str) -> None:
    assert whole(kind, last=rejected()).signals[f"outcome_{kind}"] == 1


CHECK_RUBRIC = load_ci_check_rubric()


@dataclass(frozen=True)
class Check:
    """A check in short."""

    conclusion: str | None = "success"
    attempt: int = 1
    name: str = "test"

    def made(self) -> CiCheck:
        return CiCheck(name=self.name, conclusion=self.conclusion, attempt=self.attempt, app="github-actions")


def loosened(signal: str = "check_cannot_fail", *, fact: bool = True, path: str | None = "ci.yml") -> Finding:
    return Finding(
        signal=signal, category=Category.TESTS_PASS_BUT_WRONG, fact=fact, path=path, line=4, note="`|| true`"
    )


def judged(check: Check, *findings: Finding) -> Accept | Reject | Abstain:
    [verdict] = ci_check_verdicts(accepted(findings=findings), [check.made()], CHECK_RUBRIC)
    return verdict.verdict


def test_a_check_that_passed_at_once_is_accepted_at_the_best_score() -> None:
    verdict = judged(Check())
    assert isinstance(verdict, Accept)
    assert (verdict.score, verdict.concern) == (1.0, "test passed.")


@pytest.mark.parametrize(("attempt", "score"), [(2, 0.8), (3, 0.6), (9, 0.5)])
def test_a_check_that_passed_when_it_was_run_again_scores_less_with_every_run(attempt: int, score: float) -> None:
    verdict = judged(Check(attempt=attempt))
    assert isinstance(verdict, Accept)
    assert (verdict.score, verdict.signals["is_flaky"], verdict.signals["reruns"]) == (score, True, attempt - 1)


@pytest.mark.parametrize(
    ("conclusion", "reason", "score"),
    [
        ("failure", AbstainReason.CI_FAILED, 0.05),
        ("cancelled", AbstainReason.CI_FAILED, 0.05),
        (None, AbstainReason.CI_PENDING, 0.5),
        ("skipped", AbstainReason.UNPROVEN, 0.5),
        ("neutral", AbstainReason.UNPROVEN, 0.5),
    ],
)
def test_a_check_that_did_not_pass_is_no_verdict_about_the_change(
    conclusion: str | None, reason: AbstainReason, score: float
) -> None:
    verdict = judged(Check(conclusion))
    assert (verdict.abstain_reason, verdict.score) == (reason, score)


def test_a_check_that_the_change_made_unable_to_fail_is_rejected_where_it_did_so() -> None:
    verdict = judged(Check(), loosened())
    assert isinstance(verdict, Reject)
    assert (verdict.score, verdict.evidence[0].location) == (0.4, "ci.yml:4")
    assert verdict.signals["loosened_by"] == ("check_cannot_fail",)


@pytest.mark.parametrize(
    "finding",
    [
        loosened("strictness_off", fact=False),
        loosened(fact=False),
        loosened("tests_left_out"),
        loosened(path=None),
    ],
)
def test_a_check_that_was_perhaps_loosened_is_for_a_person(finding: Finding) -> None:
    verdict = judged(Check(), finding)
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert verdict.score < 1


def test_the_same_signal_in_two_places_counts_once() -> None:
    once, twice = (score_check(Check().made(), [loosened()] * times, CHECK_RUBRIC) for times in (1, 2))
    assert once == twice


def test_what_loosens_no_check_changes_nothing() -> None:
    assert judged(Check(), loosened("stub_body")).score == 1.0


def test_the_worst_checks_are_recorded_and_no_more_than_the_rubric_wants() -> None:
    checks = [Check(name=f"ok {number:02}").made() for number in range(30)]
    checks += [Check("failure", name="red").made(), Check(attempt=2, name="flaky").made()]
    result = ci_check_verdicts(accepted(), checks, CHECK_RUBRIC)
    assert [verdict.part for verdict in result[:3]] == [
        "github-actions/red",
        "github-actions/flaky",
        "github-actions/ok 00",
    ]
    assert len(result) == CHECK_RUBRIC.most


def test_a_check_is_a_child_of_the_submission_judged_by_code_for_nothing() -> None:
    parent = rejected()
    [check] = ci_check_verdicts(parent, [Check().made()], CHECK_RUBRIC)
    verdict = check.verdict
    assert (verdict.parent_eval_id, verdict.subject.kind) == (parent.eval_id, SubjectKind.CI_CHECK)
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HEURISTIC, Decimal(0))
    made_at = new_eval_id(parent.created_at)
    assert verdict.eval_id > made_at, "a child stands behind its parent"
    assert (verdict.findings, verdict.closing_conditions) == ((), ())


def test_two_checks_of_a_head_are_two_subjects_and_their_names_are_not_told() -> None:
    result = ci_check_verdicts(accepted(), [Check(name="unit").made(), Check(name="lint").made()], CHECK_RUBRIC)
    events: list[Any] = [terminal_event(verdict.verdict, EvalTrigger.BUS, part=verdict.part).body for verdict in result]
    assert len({event["subject_id"] for event in events}) == 2
    assert events[0]["subject_id"] == subject_id(result[0].verdict.subject, "github-actions/lint")
    assert not any(name in str(events) for name in ("unit", "lint"))


def test_two_apps_may_each_have_a_check_of_one_name() -> None:
    checks = [CiCheck(name="test", conclusion="success", app=app) for app in ("circle", None)]
    assert {verdict.part for verdict in ci_check_verdicts(accepted(), checks, CHECK_RUBRIC)} == {"circle/test", "/test"}
