from decimal import Decimal

import pytest

from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import CriterionStatus, CriterionVerdict, EvidencePointer, Verdict
from worker.dossier.criteria import MOST_CRITERIA
from worker.dossier.diff.parser import diff_of
from worker.judge import texts as words
from worker.judge.escalation import ModelSkipReason, Pause
from worker.judge.task_judgement import (
    OUTPUT,
    STATES,
    TaskRuling,
    criteria_from,
    dossier_of,
    judge_empty_output,
    judgement_of,
)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (None, []),
        ("", []),
        (" \n", []),
        ([], []),
        (["", "a"], ["a"]),
        ("It has a header.", ["It has a header."]),
        ("- one\n- two\n", ["one", "two"]),
        ("1. one\n2. two", ["one", "two"]),
        ("# Acceptance criteria\n\n- one\n- two\n", ["one", "two"]),
        ("# Something else\n\nIt has a header.", ["# Something else\n\nIt has a header."]),
        ("a\ud800", ["a\\ud800"]),
    ],
)
def test_criteria_are_the_items_of_a_list_and_else_the_text(source: str | list[str] | None, texts: list[str]) -> None:
    criteria = criteria_from(source)
    assert [criterion.text for criterion in criteria] == texts
    assert [criterion.id for criterion in criteria] == [f"AC{number}" for number in range(1, len(texts) + 1)]


@pytest.mark.parametrize("source", [["x"] * MOST_CRITERIA, "\n".join(f"- rule {number}" for number in range(200))])
def test_more_criteria_than_one_question_holds_are_refused_and_not_left_out(source: str | list[str]) -> None:
    with pytest.raises(ValueError, match="at most 99"):
        criteria_from(source)


@pytest.mark.parametrize("text", ["a", "a\n", "a\nb\n\n", "\n", "\r\n", "\\ No newline at end of file", "+++ b/x\n"])
def test_the_output_is_one_new_file_line_for_line(text: str) -> None:
    dossier = dossier_of(text, criteria_from("x"), ["stub_body"])
    (file,) = diff_of(dossier.diff).files
    lines = text.removesuffix("\n").split("\n")
    assert (file.path, [line.text for line in file.added_lines]) == (OUTPUT, lines)
    assert dossier.files is not None
    assert dossier.files[0].text == text
    assert dossier.policy is not None
    assert dossier.policy.signals == {"stub_body": "off"}


def test_another_output_or_another_criterion_is_another_account() -> None:
    source, same, other, asked = (
        dossier_of(output, criteria_from(criteria), []).pull_request
        for output, criteria in (("a", "x"), ("a", "x"), ("b", "x"), ("a", "y"))
    )
    assert source == same
    assert len({pull.number for pull in (source, other, asked)}) == 3
    assert len({pull.head_sha for pull in (source, other, asked)}) == 3


@pytest.mark.parametrize(
    ("verdict", "ruling"),
    [
        (accept_verdict(), TaskRuling.PASS),
        (reject_verdict(), TaskRuling.FAIL),
        (abstain_verdict(), TaskRuling.UNAVAILABLE),
    ],
)
def test_only_an_accept_passes_and_only_a_reject_fails(verdict: Verdict, ruling: TaskRuling) -> None:
    judgement = judgement_of(verdict.model_copy(update={"criteria": ()}), ())
    assert (judgement.verdict, judgement.reasoning, judgement.reason) == (
        ruling, verdict.concern, verdict.abstain_reason
    )  # fmt: skip


def test_each_criterion_says_why_and_where() -> None:
    pointer = EvidencePointer(path=OUTPUT, line=1, quote="name", note="no price")
    states = [
        CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=(pointer,)),
        CriterionVerdict(id="AC2", status=CriterionStatus.MISSING),
    ]
    judgement = judgement_of(reject_verdict().model_copy(update={"criteria": tuple(states)}), criteria_from(["a", "b"]))
    judged = [
        (criterion.text, criterion.verdict, criterion.reasoning, criterion.evidence) for criterion in judgement.criteria
    ]
    assert judged == [("a", TaskRuling.FAIL, "partial: no price", (pointer,)), ("b", TaskRuling.FAIL, "missing", ())]
    assert set(STATES) == set(CriterionStatus)


def test_where_nobody_judged_no_criterion_fails_on_what_code_guessed() -> None:
    guessed = CriterionVerdict(id="AC1", status=CriterionStatus.MISSING, note="no line speaks of it")
    judgement = judgement_of(abstain_verdict(criteria=(guessed,)), criteria_from(["a"]))
    assert [(criterion.verdict, criterion.reasoning) for criterion in judgement.criteria] == [
        (TaskRuling.UNAVAILABLE, "unverifiable")
    ]
    undecided = abstain_verdict(criteria=(guessed,), abstain_reason="needs_human", scores=reject_verdict().scores)
    assert judgement_of(undecided, criteria_from(["a"])).criteria[0].verdict is TaskRuling.FAIL


UNTOLD = {
    "judge_unavailable": words.judge_unavailable("status 529"),
    "reply_invalid": words.reply_invalid("The reply was empty."),
    "budget": words.budget(CapLevel(Cap.PULL, Decimal("0.09"), Decimal("0.10")), Decimal("0.02")),
    "unproven": words.unproven(ModelSkipReason.NO_MODEL, 0),
    "paused": words.judging_paused(Pause.OPERATOR),
    "too_large": words.TOO_LONG,
}


@pytest.mark.parametrize("reason", UNTOLD)
def test_where_nobody_judged_it_is_told_of_an_output_and_not_of_a_change(reason: str) -> None:
    concern, next_step = UNTOLD[reason]
    judgement = judgement_of(abstain_verdict(abstain_reason=reason, concern=concern, next_step=next_step), [])
    text = f"{judgement.reasoning} {judgement.next_step}"
    assert not [
        word
        for word in (" change", "pull request", "check ", "author", "issue")
        if word in text.replace("to change", "")
    ]


def test_what_a_model_said_is_left_as_it_said_it() -> None:
    verdict = abstain_verdict(
        concern="I can't tell what this change does.", next_step="Ask.", scores=reject_verdict().scores
    )
    judgement = judgement_of(verdict, [])
    assert (judgement.reasoning, judgement.next_step) == (verdict.concern, verdict.next_step)


def test_nothing_at_all_meets_nothing() -> None:
    assert [criterion.verdict for criterion in judge_empty_output(criteria_from(["a", "b"])).criteria] == [
        TaskRuling.FAIL
    ] * 2
