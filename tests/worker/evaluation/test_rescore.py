"""What code alone made of other verdicts, made again: by other weights, of what was known when it was made."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from tests.worker.judge.test_outcome_scores import entry, outcomes
from tests.worker.publishing.texts.samples import accepted, dossier, rejected
from worker.domain.dossier import Ci, CiCheck, Dossier
from worker.domain.ids import EvalId, new_eval_id
from worker.domain.verdict.events import subject_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome
from worker.domain.verdict.verdict import Abstain, Accept, Category, Finding, Reject
from worker.evaluation.rescore import Rescoring
from worker.judge.outcome_scores import ci_check_verdicts, pull_request_verdict
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric

CHECKS, WHOLES = load_ci_check_rubric(), load_pull_request_rubric()
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
LAW = "aaaabbbbccccdddd"
UNIT = CiCheck(name="unit", app="actions", conclusion="success")
LINT = CiCheck(name="lint", app="actions", conclusion="success", attempt=3)


@cache
def at(seconds: int) -> EvalId:
    return new_eval_id(AT + timedelta(seconds=seconds))


def first(**changes: Any) -> LedgerEntry:
    return entry(rejected(**{"eval_id": at(1), **changes}), "a")


def second(**changes: Any) -> LedgerEntry:
    return entry(accepted(**{"eval_id": at(2), **changes}), "b")


def whole(entries: Sequence[LedgerEntry], said: Sequence[Outcome] = ()) -> LedgerEntry:
    """The verdict on the whole that stands."""
    return entry(pull_request_verdict(at(10), AT, entries, said, WHOLES), "b")


def weighing(standing: LedgerEntry, *entries: LedgerEntry, anew: Sequence[LedgerEntry] = ()) -> Rescoring:
    answers = {one.verdict.parent_eval_id: one for one in anew}
    return Rescoring(standing, (*entries, standing, *anew), answers, LAW, AT)  # pyright: ignore[reportArgumentType] - all have one


def plain(verdict: Accept | Reject | Abstain | None) -> dict[str, Any]:
    """What it says, but for what tells one answer from another."""
    assert verdict is not None
    named = {"eval_id", "parent_eval_id", "created_at"}
    said = {name: value for name, value in dict(verdict).items() if name not in named}
    return {**said, "signals": {name: value for name, value in verdict.signals.items() if name != "law"}}


def test_by_the_same_weights_a_whole_comes_out_as_it_was_and_says_what_it_answers() -> None:
    said = outcomes("merged", "not_helpful", about=at(2))
    standing = whole([first(), second()], said)
    made = weighing(standing, first(), second()).rescore_pull_request(said, WHOLES)
    assert plain(made) == plain(standing.verdict)
    assert made is not None
    assert (made.parent_eval_id, made.signals["law"], made.created_at) == (standing.eval_id, LAW, AT)
    assert made.eval_id > standing.eval_id, "though this clock is behind"


def test_what_was_said_and_judged_since_counts_in_the_next_verdict_only() -> None:
    said = outcomes("merged")
    standing = whole([first(), second()], said)
    later = [entry(rejected(eval_id=at(20)), "c"), entry(rejected(eval_id=at(21)), "b")]
    made = weighing(standing, first(), second(), *later).rescore_pull_request([*said, *outcomes("reverted")], WHOLES)
    assert plain(made) == plain(standing.verdict)


def test_who_judged_long_and_was_recorded_after_it_was_not_known_either() -> None:
    standing = whole([second()])
    assert plain(
        weighing(standing, entry(rejected(eval_id=at(1)), "c"), second()).rescore_pull_request((), WHOLES)
    ) == plain(standing.verdict)


def test_a_thumb_about_a_verdict_that_was_made_anew_since_still_counts() -> None:
    said, again = outcomes("not_helpful", about=at(2)), entry(accepted(eval_id=at(3), score=0.9), "b")
    standing = whole([first(), second(), again], said)
    assert standing.verdict.signals["said_explicit"] == 0
    assert plain(weighing(standing, first(), second(), again).rescore_pull_request(said, WHOLES)) == plain(
        standing.verdict
    )


def test_of_more_submissions_than_a_verdict_lists_all_count() -> None:
    many = [entry(accepted(eval_id=at(n), score=0.5 + n / 200), "b") for n in range(60)]
    many = [one.model_copy(update={"head_sha": f"{n:040x}"}) for n, one in enumerate(many)]
    standing = entry(pull_request_verdict(at(99), AT, many, (), WHOLES), "b")
    assert (standing.verdict.signals["submissions"], len(standing.verdict.signals["child_eval_ids"])) == (60, 50)  # type: ignore[arg-type]
    assert plain(weighing(standing, *many).rescore_pull_request((), WHOLES)) == plain(standing.verdict)


def test_other_weights_move_the_score_and_with_it_the_decision() -> None:
    said = outcomes("merged", "reverted")
    standing = whole([second()], said)
    gentle = WHOLES.model_copy(update={"id": "gentle", "speaks_for": {**WHOLES.speaks_for, said[1].kind: 1.0}})
    made = weighing(standing, second()).rescore_pull_request(said, gentle)
    assert made is not None
    assert (standing.verdict.decision, made.decision, made.rubric_id) == ("abstain", "accept", "gentle")
    assert made.score > 0.5 > standing.verdict.score


def test_who_was_judged_anew_counts_by_that_and_a_thumb_is_about_what_people_saw() -> None:
    said = outcomes("helpful", about=at(2))
    standing = whole([first(), second()], said)
    answer = entry(rejected(eval_id=at(30), parent_eval_id=at(2), score=0.1), "b")
    made = weighing(standing, first(), second(), anew=[answer]).rescore_pull_request(said, WHOLES)
    assert made is not None
    assert (made.signals["child_eval_ids"], made.signals["last_score"]) == ((at(1), at(30)), 0.1)
    assert made.signals["said_explicit"] == 1.0, "they found the accept helpful, and saw no reject"
    assert (made.decision, made.parent_eval_id) == ("abstain", standing.eval_id)


def test_an_answer_to_an_earlier_submission_does_not_become_the_last() -> None:
    standing = whole([first(), second()])
    answer = entry(accepted(eval_id=at(30), parent_eval_id=at(1), score=0.8), "a")
    made = weighing(standing, first(), second(), anew=[answer]).rescore_pull_request((), WHOLES)
    assert made is not None
    assert made.signals["child_eval_ids"] == (at(30), at(2))
    assert made.signals["last_score"] == second().verdict.score


def test_what_is_not_kept_whole_is_not_weighed() -> None:
    said = outcomes("merged", "reverted")
    standing = whole([first(), second()], said)
    assert weighing(standing, first(), second()).rescore_pull_request(said[:1], WHOLES) is None
    assert weighing(standing, second()).rescore_pull_request(said, WHOLES) is None
    nameless = entry(standing.verdict.model_copy(update={"signals": {}}), "b")
    assert weighing(nameless, first(), second()).rescore_pull_request(said, WHOLES) is None


def of_check(check: CiCheck, *findings: Finding) -> LedgerEntry:
    """The verdict on a check that stands beside the second submission."""
    [one] = ci_check_verdicts(second(findings=findings).verdict, [check], CHECKS)
    return entry(one.verdict, "b")


def seen(*checks: CiCheck) -> Dossier:
    return dossier().model_copy(update={"ci": Ci(checks=checks)})


def told_as(standing: LedgerEntry, check: CiCheck) -> str:
    return subject_id(standing.verdict.subject, f"{check.app or ''}/{check.name}")


def test_by_the_same_weights_a_check_comes_out_as_it_was_and_is_the_same_check() -> None:
    for check in (UNIT, LINT):
        standing = of_check(check)
        made = weighing(standing, second()).rescore_check(told_as(standing, check), seen(UNIT, LINT), CHECKS)
        assert made is not None
        assert (made.part, plain(made.verdict)) == (f"actions/{check.name}", plain(standing.verdict))
        assert (made.verdict.parent_eval_id, made.verdict.signals["law"]) == (standing.eval_id, LAW)
        assert made.verdict.eval_id > standing.eval_id


def test_other_weights_move_a_checks_score_however_few_they_would_record() -> None:
    standing = of_check(UNIT)
    strict = CHECKS.model_copy(update={"passed": 0.9, "most": 1})
    made = weighing(standing, second()).rescore_check(told_as(standing, UNIT), seen(LINT, UNIT), strict)
    assert made is not None
    assert (standing.verdict.score, made.verdict.score) == (1.0, 0.9)


def test_what_loosened_a_check_is_what_its_submission_was_found_to_do_or_is_found_to_do_now() -> None:
    loosened = Finding(
        signal="check_cannot_fail",
        category=Category.TESTS_PASS_BUT_WRONG,
        fact=True,
        path="ci.yml",
        line=4,
        note="|| true",
    )
    standing = of_check(UNIT, loosened)
    submission = second(findings=(loosened,))
    same = weighing(standing, submission).rescore_check(told_as(standing, UNIT), seen(UNIT), CHECKS)
    answer = entry(accepted(eval_id=at(30), parent_eval_id=at(2), findings=()), "b")
    now = weighing(standing, submission, anew=[answer]).rescore_check(told_as(standing, UNIT), seen(UNIT), CHECKS)
    assert same is not None
    assert now is not None
    assert (same.verdict.decision, now.verdict.decision, now.verdict.signals["loosened_by"]) == ("reject", "accept", ())
    assert now.verdict.parent_eval_id == standing.eval_id


@pytest.mark.parametrize("kept", [seen(LINT), seen(), dossier().model_copy(update={"ci": None})])
def test_a_check_that_the_dossier_does_not_have_is_not_weighed(kept: Dossier) -> None:
    standing = of_check(UNIT)
    assert weighing(standing, second()).rescore_check(told_as(standing, UNIT), kept, CHECKS) is None


def test_a_check_whose_submission_is_not_on_record_is_not_weighed() -> None:
    standing = of_check(UNIT)
    assert weighing(standing, first()).rescore_check(told_as(standing, UNIT), seen(UNIT), CHECKS) is None
