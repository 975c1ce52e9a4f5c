"""One verdict for each CI check of a head, by code alone, that says nothing about the submission."""

from decimal import Decimal
from typing import Any

import pytest

from tests.worker.publishing.texts.samples import accepted, rejected
from worker.domain.dossier.dossier import CiCheck
from worker.domain.ids import new_eval_id
from worker.domain.value import Value
from worker.domain.verdict.events import EvalTrigger, subject_id, terminal_event
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
from worker.judge.ci_checks import ci_check_verdicts, score_check
from worker.judge.rubric import load_ci_check_rubric

RUBRIC = load_ci_check_rubric()


class Check(Value):
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
    [verdict] = ci_check_verdicts(accepted(findings=findings), [check.made()], RUBRIC)
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
    once, twice = (score_check(Check().made(), [loosened()] * times, RUBRIC) for times in (1, 2))
    assert once == twice


def test_what_loosens_no_check_changes_nothing() -> None:
    assert judged(Check(), loosened("stub_body")).score == 1.0


def test_the_worst_checks_are_recorded_and_no_more_than_the_rubric_wants() -> None:
    checks = [Check(name=f"ok {number:02}").made() for number in range(30)]
    checks += [Check("failure", name="red").made(), Check(attempt=2, name="flaky").made()]
    result = ci_check_verdicts(accepted(), checks, RUBRIC)
    assert [verdict.part for verdict in result[:3]] == [
        "github-actions/red",
        "github-actions/flaky",
        "github-actions/ok 00",
    ]
    assert len(result) == RUBRIC.most


def test_a_check_is_a_child_of_the_submission_judged_by_code_for_nothing() -> None:
    parent = rejected()
    [check] = ci_check_verdicts(parent, [Check().made()], RUBRIC)
    verdict = check.verdict
    assert (verdict.parent_eval_id, verdict.subject.kind) == (parent.eval_id, SubjectKind.CI_CHECK)
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HEURISTIC, Decimal(0))
    made_at = new_eval_id(parent.created_at)
    assert verdict.eval_id > made_at, "a child stands behind its parent"
    assert (verdict.findings, verdict.closing_conditions) == ((), ())


def test_two_checks_of_a_head_are_two_subjects_and_their_names_are_not_told() -> None:
    result = ci_check_verdicts(accepted(), [Check(name="unit").made(), Check(name="lint").made()], RUBRIC)
    events: list[Any] = [terminal_event(verdict.verdict, EvalTrigger.BUS, part=verdict.part).body for verdict in result]
    assert len({event["subject_id"] for event in events}) == 2
    assert events[0]["subject_id"] == subject_id(result[0].verdict.subject, "github-actions/lint")
    assert not any(name in str(events) for name in ("unit", "lint"))


def test_two_apps_may_each_have_a_check_of_one_name() -> None:
    checks = [CiCheck(name="test", conclusion="success", app=app) for app in ("circle", None)]
    assert {verdict.part for verdict in ci_check_verdicts(accepted(), checks, RUBRIC)} == {"circle/test", "/test"}
