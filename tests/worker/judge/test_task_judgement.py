"""Criteria, outputs and judgements of delegated tasks."""

import re
from decimal import Decimal

import pytest

from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import CriterionStatus, CriterionVerdict, EvidencePointer, Verdict
from worker.dossier.diff import diff_of
from worker.dossier.issues import MOST_CRITERIA
from worker.judge import texts
from worker.judge.context import ModelSkipReason, Pause
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
    ("source", "expected"),
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
def test_criteria_are_list_items_or_whole_text(source: str | list[str] | None, expected: list[str]) -> None:
    criteria = criteria_from(source)
    assert [criterion.text for criterion in criteria] == expected
    assert [criterion.id for criterion in criteria] == [f"AC{number}" for number in range(1, len(expected) + 1)]


@pytest.mark.parametrize("source", [["x"] * MOST_CRITERIA, "\n".join(f"- rule {number}" for number in range(200))])
def test_too_many_criteria_are_refused(source: str | list[str]) -> None:
    with pytest.raises(ValueError, match="at most 99"):
        criteria_from(source)


@pytest.mark.parametrize("text", ["a", "a\n", "a\nb\n\n", "\n", "\r\n", "\\ No newline at end of file", "+++ b/x\n"])
def test_output_becomes_one_new_file(text: str) -> None:
    dossier = dossier_of(text, criteria_from("x"), ["stub_body"])
    (file,) = diff_of(dossier.diff).files
    lines = text.removesuffix("\n").split("\n")
    assert (file.path, [line.text for line in file.added_lines]) == (OUTPUT, lines)
    assert dossier.files is not None
    assert dossier.files[0].text == text
    assert dossier.policy is not None
    assert dossier.policy.signals == {"stub_body": "off"}


def test_pull_number_and_head_sha_depend_on_output_and_criteria() -> None:
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
def test_accept_passes_and_reject_fails(verdict: Verdict, ruling: TaskRuling) -> None:
    judgement = judgement_of(verdict.model_copy(update={"criteria": ()}), ())
    assert (judgement.verdict, judgement.reasoning, judgement.reason) == (
        ruling, verdict.concern, verdict.abstain_reason
    )  # fmt: skip


def test_criterion_judgement_has_reasoning_and_evidence() -> None:
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


def test_criteria_are_unavailable_without_a_model_opinion() -> None:
    guessed = CriterionVerdict(id="AC1", status=CriterionStatus.MISSING, note="no line speaks of it")
    judgement = judgement_of(abstain_verdict(criteria=(guessed,)), criteria_from(["a"]))
    (criterion,) = judgement.criteria
    assert (criterion.verdict, criterion.reasoning) == (TaskRuling.UNAVAILABLE, "unverifiable")
    undecided = abstain_verdict(criteria=(guessed,), abstain_reason="needs_human", scores=reject_verdict().scores)
    assert judgement_of(undecided, criteria_from(["a"])).criteria[0].verdict is TaskRuling.FAIL


ABSTAIN_TEXTS = {
    "judge_unavailable": texts.judge_unavailable("status 529"),
    "reply_invalid": texts.reply_invalid("The reply was empty."),
    "budget": texts.budget(CapLevel(Cap.PULL, Decimal("0.09"), Decimal("0.10")), Decimal("0.02")),
    "unproven": texts.unproven(ModelSkipReason.NO_MODEL, 0),
    "paused": texts.judging_paused(Pause.OPERATOR),
    "too_large": texts.TOO_LONG,
}


@pytest.mark.parametrize("reason", ABSTAIN_TEXTS)
def test_abstain_texts_speak_of_an_output_not_of_a_change(reason: str) -> None:
    concern, next_step = ABSTAIN_TEXTS[reason]
    judgement = judgement_of(abstain_verdict(abstain_reason=reason, concern=concern, next_step=next_step), [])
    text = f"{judgement.reasoning} {judgement.next_step}"
    assert not re.findall("(?<!to) change|pull request|check |author|issue", text)


def test_model_texts_are_kept_verbatim() -> None:
    verdict = abstain_verdict(
        concern="I can't tell what this change does.", next_step="Ask.", scores=reject_verdict().scores
    )
    judgement = judgement_of(verdict, [])
    assert (judgement.reasoning, judgement.next_step) == (verdict.concern, verdict.next_step)


def test_empty_output_fails_every_criterion() -> None:
    judgement = judge_empty_output(criteria_from(["a", "b"]))
    assert [criterion.verdict for criterion in judgement.criteria] == [TaskRuling.FAIL] * 2
