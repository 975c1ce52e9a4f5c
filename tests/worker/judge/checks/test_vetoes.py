"""What code holds against an accept of the model, whatever the model says."""

from typing import Any

import pytest

from tests.worker.judge.making import (
    ScriptedModel,
    accept,
    bench,
    cannot_tell,
    criteria,
    docket,
    dossier,
    model_of,
    new_file,
    place,
    reject,
)
from worker.domain.dossier import Criterion, Dossier, Policy, UnreadFile, UnreadReason
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject
from worker.judge.checks.vetoes import is_test_or_text
from worker.judge.judge import judge, judge_with_record

ALWAYS = 2.0
AT_TEST = place("tests/test_upload.py", 6)
BY_TEST = accept(criteria=criteria("met", "met", at=[AT_TEST]))


ANSWERED = accept(settled=[{"id": "q1", "why": "It is here.", "evidence": [place("upload.py", 3)]}])
"""What code suspects of the claims of the case has its answer."""

DEMOTED = Policy(signals={"cited_line_missing": "suspicion"})
"""Else a claim whose line is behind the end is a fact, and rejects before the model's word counts."""


def judged(model: ScriptedModel, **changes: Any) -> Accept | Reject | Abstain:
    return judge(dossier(policy=DEMOTED, **changes), docket(), bench(model, ALWAYS))


def claims(*pairs: tuple[str, str]) -> Case:
    covered = tuple(CoverageClaim(criterion=criterion, addressed_by=path) for criterion, path in pairs)
    return Case(summary="s", ac_coverage=covered)


# --- unread files -----------------------------------------------------------------------------


@pytest.mark.parametrize("reason", list(UnreadReason))
def test_a_file_that_was_not_read_vetoes_an_accept(reason: UnreadReason) -> None:
    verdict = judged(model_of(accept()), files_unread=(UnreadFile(path="big.json", reason=reason),))
    assert verdict.abstain_reason is AbstainReason.TOO_LARGE


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["AC1", "AC1: retried", "an upload is retried on 503"])
def test_a_contradicted_claim_vetoes_an_accept_of_that_criterion(criterion: str) -> None:
    verdict = judged(model_of(ANSWERED), case=claims((criterion, "upload.py:99")))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert verdict.concern == (
        f'The model accepts, but what the author claims for AC1 is not so: "{criterion} -> upload.py:99": '
        "upload.py has 9 lines."
    )
    assert verdict.next_step.startswith("The author corrects the claim for AC1")
    assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("claims", "accept")
    assert verdict.composite == 8.0, "what the model thought stays on record"


@pytest.mark.parametrize(
    "case",
    [
        claims(("AC1", "upload.py:2"), ("AC2", "tests/test_upload.py:6")),
        claims(("AC9", "upload.py:99")),
        claims(("AC1", "elsewhere.py:2")),
        claims(),
        None,
    ],
    ids=["verified", "no such criterion", "unsupported", "omitted", "no case"],
)
def test_what_is_not_contradicted_vetoes_nothing(case: Case | None) -> None:
    assert isinstance(judged(model_of(ANSWERED), case=case), Accept)


def test_a_contradicted_claim_changes_nothing_about_a_reject() -> None:
    wrong = claims(("AC1", "upload.py:99"))
    assert isinstance(judged(model_of(reject()), case=wrong), Reject)
    assert judged(model_of(cannot_tell()), case=wrong).signals.get("vetoed_by") is None


# --- what a test alone does not show --------------------------------------------------------------


def test_code_that_is_shown_by_a_test_alone_is_asked_for_once() -> None:
    model = model_of(BY_TEST, accept())
    assert isinstance(judged(model), Accept)
    assert "1. AC1: you point at tests or texts only" in model.asked[1].turns[2]
    assert "AC2" not in model.asked[1].turns[2], "a test is what AC2 asks for"


def test_code_that_is_shown_by_a_test_alone_again_is_a_persons_to_look_at() -> None:
    heard = judge_with_record(dossier(), docket(), bench(model_of(BY_TEST, BY_TEST), ALWAYS))
    assert heard.verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert heard.verdict.signals["vetoed_by"] == "evidence"
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
    model = model_of({**BY_TEST, "settled": [{"id": "q1", "why": "It does.", "evidence": [AT_TEST]}]})
    assert isinstance(judged(model, criteria=asked), Accept)


def test_a_change_of_tests_alone_is_shown_by_tests() -> None:
    diff = new_file("tests/test_more.py", "def test_more():", "    assert send(b'x')")
    met = criteria("met", "met", at=[place("tests/test_more.py", 2, quote="assert send(b'x')")])
    of_tests: Dossier = dossier(diff=diff, files=None)
    assert judge(of_tests, docket(), bench(model_of(accept(criteria=met)), ALWAYS)).decision == "accept"


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("tests/test_a.py", True),
        ("src/a.test.ts", True),
        ("README.md", True),
        ("docs/guide.rst", True),
        ("LICENSE", True),
        ("src/a.py", False),
        ("docs/conf.py", False),
        ("settings.yml", False),
        ("a.rb", False),
    ],
)
def test_tests_and_texts_are_known_by_their_paths(path: str, is_one: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_test_or_text(path) is is_one


# --- a run that is suspected ----------------------------------------------------------------------


@pytest.mark.parametrize("exchanges", [[], None], ids=["no scores", "scores"])
def test_a_suspected_run_is_repeated_instead_of_scored(exchanges: list[Any] | None) -> None:
    changes = {} if exchanges is None else {"scores": exchanges}
    answer = cannot_tell(breakdown="infrastructure", next_step="Run e2e again.", evidence=[place()], **changes)
    verdict = judged(model_of(answer))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert verdict.concern.startswith("The run, and not the change, seems to have failed, so nothing was scored: ")
    assert verdict.next_step == "Run e2e again."
    assert (verdict.scores, verdict.composite, verdict.confidence) == ((), None, 0.3)
    assert verdict.signals["breakdown"] == "infrastructure"


def test_a_complete_failure_scores_one_and_aims_at_its_cause() -> None:
    scores = [{**score, "score": 1} for score in reject()["scores"]]
    answer = reject(breakdown="complete_failure", scores=scores, evidence=[place()], next_step="In upload.py, return.")
    verdict = judged(model_of(answer))
    assert isinstance(verdict, Reject)
    assert (verdict.composite, verdict.score) == (1.0, 0.0)
