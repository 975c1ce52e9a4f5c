"""The verdicts that code gives on a whole pull request and on each CI check."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.dossier import CiCheck
from worker.domain.model import EvalId, new_eval_id
from worker.domain.verdict.events import EvalTrigger, Outcome, OutcomeKind, Strength, subject_id, terminal_event
from worker.domain.verdict.ledger import LedgerEntry
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


def entry_of(verdict: Accept | Reject | Abstain, head: str = "a") -> LedgerEntry:
    return ledger_entry(verdict, created_at=verdict.created_at, head_sha=head * 40)


def outcomes_of(*kinds: str, about: str | None = None) -> list[Outcome]:
    return [Outcome(kind=OutcomeKind(kind), eval_id=EvalId(about) if about else None, at=AT) for kind in kinds]


def judge_pull_request(*kinds: str, last: Any = None, before: Any = ()) -> Accept | Reject | Abstain:
    verdict = last or accepted()
    entries = [*(entry_of(verdict, "b") for verdict in before), entry_of(verdict)]
    return pull_request_verdict(ID, AT, entries, outcomes_of(*kinds, about=verdict.eval_id), RUBRIC)


def test_submissions_are_newest_verdict_of_each_head_without_children() -> None:
    first, rejudged = accepted(eval_id=EvalId("1")), rejected(eval_id=EvalId("2"))
    second = accepted(eval_id=EvalId("3"))
    child = accepted(eval_id=EvalId("4"), parent_eval_id=EvalId("3"))
    group = accepted(eval_id=EvalId("5"))
    group = group.model_copy(update={"subject": group.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP})})
    given_entries = zip((first, second, rejudged, child, group), "ababc", strict=True)
    assert [entry.eval_id for entry in submissions_of([entry_of(*each) for each in given_entries])] == ["3", "2"]


def test_score_without_outcomes_weighs_submissions_at_half_confidence() -> None:
    verdict = judge_pull_request(last=accepted(score=0.9), before=[rejected(score=0.1, eval_id=EvalId("r"))])
    assert (verdict.score, verdict.confidence) == (round(0.7 * 0.9 + 0.3 * 0.5, 4), 0.5)
    assert verdict.signals["strongest"] is None


def test_outcomes_raise_and_lower_the_score() -> None:
    assert judge_pull_request("merged", "reverted").score < 0.5 < judge_pull_request().score
    assert judge_pull_request().score < judge_pull_request("merged").score
    disputed = judge_pull_request("helpful", "not_helpful")
    assert judge_pull_request("not_helpful").score < disputed.score < judge_pull_request("helpful").score


def test_last_lifecycle_state_and_worst_implicit_outcome_count() -> None:
    assert judge_pull_request("closed_unmerged", "reopened").score == judge_pull_request().score
    assert judge_pull_request("closed_unmerged", "reopened", "merged").score == judge_pull_request("merged").score
    assert judge_pull_request("closed_unmerged", "merged").score == judge_pull_request("merged").score
    reverted = judge_pull_request("reverted").score
    assert judge_pull_request("retry", "reverted").score == reverted < judge_pull_request("retry").score


def test_explicit_outcomes_outweigh_implicit_and_implicit_outweigh_lifecycle() -> None:
    assert judge_pull_request("merged", "reverted").score < 0.5
    assert judge_pull_request("closed_unmerged", "helpful").score > 0.5
    assert judge_pull_request("merged", "reverted", "helpful").score > 0.5
    assert judge_pull_request("merged", "not_helpful").score < 0.5


@given(st.lists(st.sampled_from(sorted(OutcomeKind)), max_size=8), st.floats(0.5, 1))
def test_strongest_outcomes_decide_side_of_the_score(kinds: list[OutcomeKind], score: float) -> None:
    verdict = accepted(score=score)
    weighed = score_pull_request([entry_of(verdict)], outcomes_of(*kinds, about=verdict.eval_id), RUBRIC)
    assert 0 <= weighed.score <= 1
    assert 0 <= weighed.confidence <= 1
    strongest = next((weighed.targets[strength] for strength in Strength if strength in weighed.targets), None)
    if set(weighed.targets) - {Strength.LIFECYCLE} and strongest in {0.0, 1.0}:
        assert (weighed.score >= 0.5) == (strongest == 1.0)


def test_helpful_confirms_a_reject_and_not_helpful_contradicts_it() -> None:
    assert isinstance(judge_pull_request("helpful", last=rejected()), Reject)
    against = judge_pull_request("not_helpful", last=rejected())
    assert (against.abstain_reason, against.score > 0.5) == (AbstainReason.NEEDS_HUMAN, True)


def test_abstain_score_ignores_not_helpful() -> None:
    verdict = abstained(AbstainReason.UNPROVEN, score=0.5)
    assert judge_pull_request("not_helpful", last=verdict).score == judge_pull_request(last=verdict).score


def test_outcome_without_eval_id_is_ignored() -> None:
    verdict = accepted()
    weighed = score_pull_request([entry_of(verdict)], outcomes_of("not_helpful"), RUBRIC)
    assert weighed.targets == {}


def test_outcome_of_superseded_verdict_counts() -> None:
    first, again = accepted(eval_id=EvalId("1")), accepted(eval_id=EvalId("2"))
    weighed = score_pull_request([entry_of(first), entry_of(again)], outcomes_of("not_helpful", about="1"), RUBRIC)
    assert weighed.targets == {Strength.EXPLICIT: 0.0}


def test_contradicting_outcomes_lower_confidence() -> None:
    outcomes = (("merged", "reverted"), ("merged",), ("merged", "helpful"))
    contradicted, alone, confirmed = (judge_pull_request(*kinds).confidence for kinds in outcomes)
    assert contradicted < alone < confirmed


def test_pull_request_verdict_copies_last_submission() -> None:
    accept, reject = judge_pull_request("merged"), judge_pull_request("closed_unmerged", last=rejected())
    assert isinstance(accept, Accept)
    assert (accept.evidence, accept.criteria) == (accepted().evidence, accepted().criteria)
    assert isinstance(reject, Reject)
    assert (reject.category, reject.next_step) == (rejected().category, rejected().next_step)


def test_outcomes_against_last_decision_need_a_human() -> None:
    verdict = judge_pull_request("merged", "reverted")
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert "speaks against that: merged, reverted." in verdict.concern


def test_earlier_submissions_against_last_decision_need_a_human() -> None:
    last = accepted(score=0.5)
    verdict = judge_pull_request(last=last, before=[rejected(score=0.0, eval_id=EvalId("r"))])
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert "earlier submissions" in verdict.concern


def test_abstain_of_last_submission_is_kept_with_its_reason() -> None:
    last = abstained(AbstainReason.BUDGET)
    verdict = judge_pull_request("merged", "helpful", last=last)
    assert (verdict.abstain_reason, verdict.next_step) == (AbstainReason.BUDGET, last.next_step)


def test_pull_request_verdict_names_children_parent_and_outcomes() -> None:
    first, second, last = rejected(eval_id=EvalId("q")), rejected(eval_id=EvalId("r")), accepted()
    entries = [entry_of(first, "c"), entry_of(second, "b"), entry_of(last)]
    came = outcomes_of("merged", "not_helpful", "not_helpful", about=last.eval_id)
    verdict = pull_request_verdict(ID, AT, entries, came, RUBRIC)
    assert verdict.signals["child_eval_ids"] == ("q", "r", last.eval_id)
    assert (verdict.parent_eval_id, verdict.subject.kind) == (accepted().eval_id, SubjectKind.PULL_REQUEST)
    assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
    counted = {name: count for name, count in verdict.signals.items() if name.startswith("outcome")}
    assert counted == {"outcomes": 3, "outcome_merged": 1, "outcome_not_helpful": 2}
    assert verdict.signals["strongest"] == "explicit"


def test_next_eval_id_is_greater_than_recorded_ids_when_clock_is_behind() -> None:
    ahead = new_eval_id(AT + timedelta(hours=3))
    recorded = [entry_of(accepted(eval_id=ahead)), entry_of(accepted(eval_id=new_eval_id(AT)))]
    ids = [next_eval_id(AT, recorded) for _ in range(50)]
    assert min(ids) > ahead
    assert next_eval_id(AT, []) < ahead


CHECK_RUBRIC = load_ci_check_rubric()


def ci_check(conclusion: str | None = "success", attempt: int = 1, name: str = "test") -> CiCheck:
    return CiCheck(name=name, conclusion=conclusion, attempt=attempt, app="github-actions")


def ci_weakening(signal: str = "check_cannot_fail", *, fact: bool = True, path: str | None = "ci.yml") -> Finding:
    return Finding(
        signal=signal, category=Category.TESTS_PASS_BUT_WRONG, fact=fact, path=path, line=4, note="`|| true`"
    )


def judge_check(check: CiCheck, *findings: Finding) -> Accept | Reject | Abstain:
    [verdict] = ci_check_verdicts(accepted(findings=findings), [check], CHECK_RUBRIC)
    return verdict.verdict


def test_check_that_passed_first_time_is_accepted_with_full_score() -> None:
    verdict = judge_check(ci_check())
    assert isinstance(verdict, Accept)
    assert (verdict.score, verdict.concern) == (1.0, "test passed.")


@pytest.mark.parametrize(("attempt", "score"), [(2, 0.8), (3, 0.6), (9, 0.5)])
def test_check_score_falls_with_each_rerun(attempt: int, score: float) -> None:
    verdict = judge_check(ci_check(attempt=attempt))
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
def test_check_that_did_not_pass_abstains(conclusion: str | None, reason: AbstainReason, score: float) -> None:
    verdict = judge_check(ci_check(conclusion))
    assert (verdict.abstain_reason, verdict.score) == (reason, score)


def test_check_that_cannot_fail_is_rejected_at_the_edited_line() -> None:
    verdict = judge_check(ci_check(), ci_weakening())
    assert isinstance(verdict, Reject)
    assert (verdict.score, verdict.evidence[0].location) == (0.4, "ci.yml:4")
    assert verdict.signals["loosened_by"] == ("check_cannot_fail",)


@pytest.mark.parametrize(
    "finding",
    [
        ci_weakening("strictness_off", fact=False),
        ci_weakening(fact=False),
        ci_weakening("tests_left_out"),
        ci_weakening(path=None),
    ],
)
def test_possibly_weakened_check_needs_a_human(finding: Finding) -> None:
    verdict = judge_check(ci_check(), finding)
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert verdict.score < 1


def test_repeated_signal_counts_once() -> None:
    once, twice = (score_check(ci_check(), [ci_weakening()] * times, CHECK_RUBRIC) for times in (1, 2))
    assert once == twice


def test_unrelated_finding_leaves_check_score_unchanged() -> None:
    assert judge_check(ci_check(), ci_weakening("stub_body")).score == 1.0


def test_worst_checks_are_recorded_up_to_rubric_limit() -> None:
    checks = [ci_check(name=f"ok {number:02}") for number in range(30)]
    checks += [ci_check("failure", name="red"), ci_check(attempt=2, name="flaky")]
    result = ci_check_verdicts(accepted(), checks, CHECK_RUBRIC)
    assert [verdict.part for verdict in result[:3]] == [
        "github-actions/red",
        "github-actions/flaky",
        "github-actions/ok 00",
    ]
    assert len(result) == CHECK_RUBRIC.most


def test_check_verdict_is_free_child_of_its_submission() -> None:
    parent = rejected()
    [check] = ci_check_verdicts(parent, [ci_check()], CHECK_RUBRIC)
    verdict = check.verdict
    assert (verdict.parent_eval_id, verdict.subject.kind) == (parent.eval_id, SubjectKind.CI_CHECK)
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HEURISTIC, Decimal(0))
    made_at = new_eval_id(parent.created_at)
    assert verdict.eval_id > made_at, "the id of a child is greater than its parent's"
    assert (verdict.findings, verdict.closing_conditions) == ((), ())


def test_checks_of_one_head_are_separate_subjects_without_names() -> None:
    result = ci_check_verdicts(accepted(), [ci_check(name="unit"), ci_check(name="lint")], CHECK_RUBRIC)
    events: list[Any] = [terminal_event(verdict.verdict, EvalTrigger.BUS, part=verdict.part).body for verdict in result]
    assert len({event["subject_id"] for event in events}) == 2
    assert events[0]["subject_id"] == subject_id(result[0].verdict.subject, "github-actions/lint")
    assert not any(name in str(events) for name in ("unit", "lint"))


def test_checks_of_same_name_from_two_apps_are_kept_apart() -> None:
    checks = [CiCheck(name="test", conclusion="success", app=app) for app in ("circle", None)]
    assert {verdict.part for verdict in ci_check_verdicts(accepted(), checks, CHECK_RUBRIC)} == {"circle/test", "/test"}
