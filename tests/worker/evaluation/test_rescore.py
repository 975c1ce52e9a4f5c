"""Verdicts on checks and whole pull requests rescored by other weights from the records of their time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from tests.worker.judge.test_outcome_scores import entry_of, outcomes_of
from tests.worker.publishing.texts.samples import accepted, dossier, rejected
from worker.domain.dossier import Ci, CiCheck, Dossier
from worker.domain.model import EvalId, new_eval_id
from worker.domain.verdict.events import subject_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import CiCheckRubric, Outcome
from worker.domain.verdict.verdict import Category, Finding, Verdict
from worker.evaluation.rescore import Rescoring
from worker.judge.outcome_scores import CheckVerdict, ci_check_verdicts, pull_request_verdict
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric

CHECK_WEIGHTS, WEIGHTS = load_ci_check_rubric(), load_pull_request_rubric()
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
JUDGE_DIGEST = "aaaabbbbccccdddd"
UNIT = CiCheck(name="unit", app="actions", conclusion="success")
LINT = CiCheck(name="lint", app="actions", conclusion="success", attempt=3)


@cache
def at(seconds: int) -> EvalId:
    return new_eval_id(AT + timedelta(seconds=seconds))


def first(**changes: Any) -> LedgerEntry:
    return entry_of(rejected(**{"eval_id": at(1), **changes}), "a")


def second(**changes: Any) -> LedgerEntry:
    return entry_of(accepted(**{"eval_id": at(2), **changes}), "b")


def pull_request_entry(entries: Sequence[LedgerEntry], reactions: Sequence[Outcome] = ()) -> LedgerEntry:
    """The current verdict on the whole pull request."""
    return entry_of(pull_request_verdict(at(10), AT, entries, reactions, WEIGHTS), "b")


def rescoring(current: LedgerEntry, *entries: LedgerEntry, answers: Sequence[LedgerEntry] = ()) -> Rescoring:
    by_parent = {answer.verdict.parent_eval_id: answer for answer in answers}
    return Rescoring(current, (*entries, current, *answers), by_parent, JUDGE_DIGEST, AT)  # pyright: ignore[reportArgumentType] - all have one


def rescore(
    current: LedgerEntry, *entries: LedgerEntry, reactions: Sequence[Outcome] = (), answers: Sequence[LedgerEntry] = ()
) -> Verdict:
    verdict = rescoring(current, *entries, answers=answers).rescore_pull_request(reactions, WEIGHTS)
    assert verdict is not None
    return verdict


def comparable_fields(verdict: Verdict) -> dict[str, Any]:
    """The verdict without its ids, time and judge digest."""
    ids = {"eval_id", "parent_eval_id", "created_at"}
    fields = {name: value for name, value in dict(verdict).items() if name not in ids}
    return {**fields, "signals": {name: value for name, value in verdict.signals.items() if name != "law"}}


def test_same_weights_give_the_same_pull_request_verdict() -> None:
    reactions = outcomes_of("merged", "not_helpful", about=at(2))
    current = pull_request_entry([first(), second()], reactions)
    rescored = rescore(current, first(), second(), reactions=reactions)
    assert comparable_fields(rescored) == comparable_fields(current.verdict)
    assert (rescored.parent_eval_id, rescored.created_at) == (current.eval_id, AT)
    assert rescored.signals["law"] == JUDGE_DIGEST
    assert rescored.eval_id > current.eval_id, "despite the older clock"


def test_later_outcomes_and_verdicts_do_not_count() -> None:
    reactions = outcomes_of("merged")
    current = pull_request_entry([first(), second()], reactions)
    later = [entry_of(rejected(eval_id=at(20)), "c"), entry_of(rejected(eval_id=at(21)), "b")]
    rescored = rescore(current, first(), second(), *later, reactions=[*reactions, *outcomes_of("reverted")])
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_verdict_recorded_later_does_not_count_despite_its_earlier_id() -> None:
    current = pull_request_entry([second()])
    rescored = rescore(current, entry_of(rejected(eval_id=at(1)), "c"), second())
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_reaction_to_a_rejudged_verdict_still_counts() -> None:
    reactions, again = outcomes_of("not_helpful", about=at(2)), entry_of(accepted(eval_id=at(3), score=0.9), "b")
    current = pull_request_entry([first(), second(), again], reactions)
    assert current.verdict.signals["said_explicit"] == 0
    rescored = rescore(current, first(), second(), again, reactions=reactions)
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_submissions_beyond_the_listed_ones_count() -> None:
    many = [entry_of(accepted(eval_id=at(n), score=0.5 + n / 200), "b") for n in range(60)]
    many = [submission.model_copy(update={"head_sha": f"{n:040x}"}) for n, submission in enumerate(many)]
    current = entry_of(pull_request_verdict(at(99), AT, many, (), WEIGHTS), "b")
    assert (current.verdict.signals["submissions"], len(current.verdict.signals["child_eval_ids"])) == (60, 50)  # type: ignore[arg-type]
    assert comparable_fields(rescore(current, *many)) == comparable_fields(current.verdict)


def test_other_weights_change_score_and_decision() -> None:
    reactions = outcomes_of("merged", "reverted")
    current = pull_request_entry([second()], reactions)
    speaks_for = {**WEIGHTS.speaks_for, reactions[1].kind: 1.0}
    gentle = WEIGHTS.model_copy(update={"id": "gentle", "speaks_for": speaks_for})
    rescored = rescoring(current, second()).rescore_pull_request(reactions, gentle)
    assert rescored is not None
    assert (current.verdict.decision, rescored.decision, rescored.rubric_id) == ("abstain", "accept", "gentle")
    assert rescored.score > 0.5 > current.verdict.score


def test_rejudged_submission_counts_by_its_answer_and_reactions_by_the_original() -> None:
    reactions = outcomes_of("helpful", about=at(2))
    current = pull_request_entry([first(), second()], reactions)
    answer = entry_of(rejected(eval_id=at(30), parent_eval_id=at(2), score=0.1), "b")
    rescored = rescore(current, first(), second(), reactions=reactions, answers=[answer])
    assert (rescored.signals["child_eval_ids"], rescored.signals["last_score"]) == ((at(1), at(30)), 0.1)
    assert rescored.signals["said_explicit"] == 1.0, "the reaction is to the original accept"
    assert (rescored.decision, rescored.parent_eval_id) == ("abstain", current.eval_id)


def test_answer_to_an_earlier_submission_does_not_become_the_last() -> None:
    current = pull_request_entry([first(), second()])
    answer = entry_of(accepted(eval_id=at(30), parent_eval_id=at(1), score=0.8), "a")
    rescored = rescore(current, first(), second(), answers=[answer])
    assert rescored.signals["child_eval_ids"] == (at(30), at(2))
    assert rescored.signals["last_score"] == second().verdict.score


def test_incomplete_records_are_not_rescored() -> None:
    reactions = outcomes_of("merged", "reverted")
    current = pull_request_entry([first(), second()], reactions)
    assert rescoring(current, first(), second()).rescore_pull_request(reactions[:1], WEIGHTS) is None
    assert rescoring(current, second()).rescore_pull_request(reactions, WEIGHTS) is None
    nameless = entry_of(current.verdict.model_copy(update={"signals": {}}), "b")
    assert rescoring(nameless, first(), second()).rescore_pull_request(reactions, WEIGHTS) is None


def check_entry(check: CiCheck, *findings: Finding) -> LedgerEntry:
    """The verdict on a check of the second submission."""
    [scored] = ci_check_verdicts(second(findings=findings).verdict, [check], CHECK_WEIGHTS)
    return entry_of(scored.verdict, "b")


def dossier_with(*checks: CiCheck) -> Dossier:
    return dossier().model_copy(update={"ci": Ci(checks=checks)})


def rescore_check(
    context: Rescoring, check: CiCheck, whole: Dossier, weights: CiCheckRubric = CHECK_WEIGHTS
) -> CheckVerdict | None:
    name = subject_id(context.entry.verdict.subject, f"{check.app}/{check.name}")
    return context.rescore_check(name, whole, weights)


def test_same_weights_give_the_same_check_verdict() -> None:
    for check in (UNIT, LINT):
        current = check_entry(check)
        rescored = rescore_check(rescoring(current, second()), check, dossier_with(UNIT, LINT))
        assert rescored is not None
        assert comparable_fields(rescored.verdict) == comparable_fields(current.verdict)
        assert (rescored.part, rescored.verdict.parent_eval_id) == (f"actions/{check.name}", current.eval_id)
        assert rescored.verdict.signals["law"] == JUDGE_DIGEST
        assert rescored.verdict.eval_id > current.eval_id


def test_other_weights_change_a_checks_score_despite_the_recording_limit() -> None:
    current = check_entry(UNIT)
    strict = CHECK_WEIGHTS.model_copy(update={"passed": 0.9, "most": 1})
    rescored = rescore_check(rescoring(current, second()), UNIT, dossier_with(LINT, UNIT), strict)
    assert rescored is not None
    assert (current.verdict.score, rescored.verdict.score) == (1.0, 0.9)


def test_loosened_check_follows_the_findings_of_the_latest_answer() -> None:
    category = Category.TESTS_PASS_BUT_WRONG
    loosened = Finding(signal="check_cannot_fail", category=category, fact=True, path="ci.yml", line=4, note="|| true")
    current, submission = check_entry(UNIT, loosened), second(findings=(loosened,))
    same = rescore_check(rescoring(current, submission), UNIT, dossier_with(UNIT))
    answer = entry_of(accepted(eval_id=at(30), parent_eval_id=at(2), findings=()), "b")
    now = rescore_check(rescoring(current, submission, answers=[answer]), UNIT, dossier_with(UNIT))
    assert same is not None
    assert now is not None
    assert (same.verdict.decision, now.verdict.decision, now.verdict.signals["loosened_by"]) == ("reject", "accept", ())
    assert now.verdict.parent_eval_id == current.eval_id


@pytest.mark.parametrize("kept", [dossier_with(LINT), dossier_with(), dossier().model_copy(update={"ci": None})])
def test_check_missing_from_the_dossier_is_not_rescored(kept: Dossier) -> None:
    assert rescore_check(rescoring(check_entry(UNIT), second()), UNIT, kept) is None


def test_check_without_its_submission_is_not_rescored() -> None:
    assert rescore_check(rescoring(check_entry(UNIT), first()), UNIT, dossier_with(UNIT)) is None
