"""What code holds against an accept of the model, whatever the model says."""

from typing import Any

import pytest

from tests.worker.judge.making import (
    ALWAYS,
    accept,
    bench,
    cannot_tell,
    claiming,
    criteria,
    docket,
    dossier,
    judged,
    model_of,
    new_file,
    outcome,
    place,
    reject,
)
from worker.domain.dossier import Criterion, Policy, UnreadFile, UnreadReason
from worker.domain.verdict.ledger import Case
from worker.judge.checks.vetoes import is_test_or_text
from worker.judge.judge import judge_with_record

AT_TEST = place("tests/test_upload.py", 6)
BY_TEST = accept(criteria=criteria("met", "met", at=[AT_TEST]))
ANSWERED = accept(settled=[{"id": "q1", "why": "It is here.", "evidence": [place("upload.py", 3)]}])
"""What code suspects of the claims of the case has its answer."""

DEMOTED = Policy(signals={"cited_line_missing": "suspicion"})
"""Else a claim whose line is behind the end is a fact, and rejects before the model's word counts."""


@pytest.mark.parametrize("reason", list(UnreadReason))
def test_a_file_that_was_not_read_vetoes_an_accept(reason: UnreadReason) -> None:
    verdict = judged(model_of(accept()), ALWAYS, files_unread=(UnreadFile(path="big.json", reason=reason),))
    assert outcome(verdict) == "abstain too_large"


@pytest.mark.parametrize("criterion", ["AC1", "AC1: retried", "an upload is retried on 503"])
def test_a_contradicted_claim_vetoes_an_accept_of_that_criterion(criterion: str) -> None:
    verdict = judged(model_of(ANSWERED), ALWAYS, policy=DEMOTED, case=claiming((criterion, "upload.py:99")))
    assert outcome(verdict) == "abstain needs_human"
    assert verdict.concern == (
        f'The model accepts, but what the author claims for AC1 is not so: "{criterion} -> upload.py:99": '
        "upload.py has 9 lines."
    )
    assert (verdict.next_step or "").startswith("The author corrects the claim for AC1")
    assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("claims", "accept")
    assert verdict.composite == 8.0, "what the model thought stays on record"


WRONG = claiming(("AC1", "upload.py:99"))


@pytest.mark.parametrize(
    ("answer", "case", "expected"),
    [
        (ANSWERED, claiming(("AC1", "upload.py:2"), ("AC2", "tests/test_upload.py:6")), "accept"),
        (ANSWERED, claiming(("AC9", "upload.py:99")), "accept"),
        (ANSWERED, claiming(("AC1", "elsewhere.py:2")), "accept"),
        (ANSWERED, claiming(), "accept"),
        (ANSWERED, None, "accept"),
        (reject(), WRONG, "reject weak_test"),
        (cannot_tell(), WRONG, "abstain needs_human"),
    ],
    ids=["verified", "no such criterion", "unsupported", "omitted", "no case", "a reject", "no decision"],
)
def test_what_is_not_contradicted_or_not_accepted_is_not_vetoed(
    answer: dict[str, Any], case: Case | None, expected: str
) -> None:
    verdict = judged(model_of(answer), ALWAYS, policy=DEMOTED, case=case)
    assert (outcome(verdict), verdict.signals.get("vetoed_by")) == (expected, None)


# --- what a test alone does not show --------------------------------------------------------------


def test_code_that_is_shown_by_a_test_alone_is_asked_for_once() -> None:
    model = model_of(BY_TEST, accept())
    assert outcome(judged(model, ALWAYS)) == "accept"
    assert "1. AC1: you point at tests or texts only" in model.asked[1].turns[2]
    assert "AC2" not in model.asked[1].turns[2], "a test is what AC2 asks for"


def test_code_that_is_shown_by_a_test_alone_again_is_a_persons_to_look_at() -> None:
    heard = judge_with_record(dossier(), docket(), bench(model_of(BY_TEST, BY_TEST), ALWAYS))
    assert (outcome(heard.verdict), heard.verdict.signals["vetoed_by"]) == ("abstain needs_human", "evidence")
    assert "shows AC1 by tests or texts only" in heard.verdict.concern
    assert [exchange.fault for exchange in heard.audit.exchanges] == ["evidence", None]


@pytest.mark.parametrize(
    "text",
    [
        "a test covers the retry",
        "the README tells about it",
        "CI runs it on Windows",
        "the docstring says when",
        "typo",
    ],
)
def test_what_asks_for_a_test_or_a_text_is_shown_by_one(text: str) -> None:
    asked = (Criterion(id="AC1", text=text), Criterion(id="AC2", text="a test shows it"))
    answer = {**BY_TEST, "settled": [{"id": "q1", "why": "It does.", "evidence": [AT_TEST]}]}
    assert outcome(judged(model_of(answer), ALWAYS, criteria=asked)) == "accept"


def test_a_change_of_tests_alone_is_shown_by_tests() -> None:
    diff = new_file("tests/test_more.py", "def test_more():", "    assert send(b'x')")
    met = criteria("met", "met", at=[place("tests/test_more.py", 2, quote="assert send(b'x')")])
    assert outcome(judged(model_of(accept(criteria=met)), ALWAYS, diff=diff, files=None)) == "accept"


@pytest.mark.parametrize(
    ("paths", "is_one"),
    [
        ("tests/test_a.py src/a.test.ts README.md docs/guide.rst LICENSE", True),
        ("src/a.py docs/conf.py settings.yml a.rb", False),
    ],
)
def test_tests_and_texts_are_known_by_their_paths(paths: str, *, is_one: bool) -> None:
    assert {path: is_test_or_text(path) for path in paths.split()} == dict.fromkeys(paths.split(), is_one)


# --- a run that is suspected ----------------------------------------------------------------------


@pytest.mark.parametrize("scored", [{"scores": []}, {}], ids=["no scores", "scores"])
def test_a_suspected_run_is_repeated_instead_of_scored(scored: dict[str, Any]) -> None:
    answer = cannot_tell(breakdown="infrastructure", next_step="Run e2e again.", evidence=[place()], **scored)
    verdict = judged(model_of(answer), ALWAYS)
    assert (outcome(verdict), verdict.next_step) == ("abstain needs_human", "Run e2e again.")
    assert verdict.concern.startswith("The run, and not the change, seems to have failed, so nothing was scored: ")
    assert (verdict.scores, verdict.composite, verdict.confidence) == ((), None, 0.3)
    assert verdict.signals["breakdown"] == "infrastructure"


def test_a_complete_failure_scores_one_and_aims_at_its_cause() -> None:
    scores = [{**score, "score": 1} for score in reject()["scores"]]
    answer = reject(breakdown="complete_failure", scores=scores, evidence=[place()], next_step="In upload.py, return.")
    verdict = judged(model_of(answer), ALWAYS)
    assert (verdict.decision, verdict.composite, verdict.score) == ("reject", 1.0, 0.0)
