"""What code holds against a decision of the model: an accept without its proof, a reject that the change speaks against."""

from typing import Any

import pytest

from tests.worker.judge.samples import (
    ALWAYS_ESCALATE,
    HEAD_TEXTS,
    accept_answer,
    cannot_tell_answer,
    case_with_claims,
    criterion_answers,
    decision_of,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    judge_dossier,
    model_of,
    new_file,
    pull_request,
    reject_answer,
)
from worker.domain.dossier import Criterion, Guidance, HeadFile, Policy, UnreadFile, UnreadReason
from worker.domain.verdict.ledger import Case
from worker.judge.checks.vetoes import is_test_or_text
from worker.judge.judge import judge_with_record
from worker.judge.llm.reply import ReplyFault

AT_TEST = evidence_at("tests/test_upload.py", 6)
BY_TEST = accept_answer(criteria=criterion_answers("met", "met", evidence=[AT_TEST]))
ANSWERED = accept_answer(settled=[{"id": "q1", "why": "It is here.", "evidence": [evidence_at("upload.py", 3)]}])
"""What code suspects of the claims of the case has its answer."""

DEMOTED = Policy(signals={"cited_line_missing": "suspicion"})
"""Else a claim whose line is behind the end is a fact, and rejects before the model's word counts."""


@pytest.mark.parametrize("reason", list(UnreadReason))
def test_a_file_that_was_not_read_vetoes_an_accept(reason: UnreadReason) -> None:
    verdict = judge_dossier(
        model_of(accept_answer()), ALWAYS_ESCALATE, files_unread=(UnreadFile(path="big.json", reason=reason),)
    )
    assert decision_of(verdict) == "abstain too_large"


@pytest.mark.parametrize("criterion", ["AC1", "AC1: retried", "an upload is retried on 503"])
def test_a_contradicted_claim_vetoes_an_accept_of_that_criterion(criterion: str) -> None:
    verdict = judge_dossier(
        model_of(ANSWERED), ALWAYS_ESCALATE, policy=DEMOTED, case=case_with_claims((criterion, "upload.py:99"))
    )
    assert decision_of(verdict) == "abstain needs_human"
    assert verdict.concern == (
        f'The model accepts, but what the author claims for AC1 is not so: "{criterion} -> upload.py:99": '
        "upload.py has 9 lines."
    )
    assert (verdict.next_step or "").startswith("The author corrects the claim for AC1")
    assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("claims", "accept")
    assert verdict.composite == 8.0, "what the model thought stays on record"


WRONG = case_with_claims(("AC1", "upload.py:99"))


@pytest.mark.parametrize(
    ("answer", "case", "expected"),
    [
        (ANSWERED, case_with_claims(("AC1", "upload.py:2"), ("AC2", "tests/test_upload.py:6")), "accept"),
        (ANSWERED, case_with_claims(("AC9", "upload.py:99")), "accept"),
        (ANSWERED, case_with_claims(("AC1", "elsewhere.py:2")), "accept"),
        (ANSWERED, case_with_claims(), "accept"),
        (ANSWERED, None, "accept"),
        (reject_answer(), WRONG, "reject weak_test"),
        (cannot_tell_answer(), WRONG, "abstain needs_human"),
    ],
    ids=["verified", "no such criterion", "unsupported", "omitted", "no case", "a reject", "no decision"],
)
def test_what_is_not_contradicted_or_not_accepted_is_not_vetoed(
    answer: dict[str, Any], case: Case | None, expected: str
) -> None:
    verdict = judge_dossier(model_of(answer), ALWAYS_ESCALATE, policy=DEMOTED, case=case)
    assert (decision_of(verdict), verdict.signals.get("vetoed_by")) == (expected, None)


# --- what a test alone does not show --------------------------------------------------------------


def test_code_that_is_shown_by_a_test_alone_is_asked_for_once() -> None:
    model = model_of(BY_TEST, accept_answer())
    assert decision_of(judge_dossier(model, ALWAYS_ESCALATE)) == "accept"
    assert "1. AC1: you point at tests or texts only" in model.prompts[1].turns[2]
    assert "AC2" not in model.prompts[1].turns[2], "a test is what AC2 asks for"


def test_code_that_is_shown_by_a_test_alone_again_is_a_persons_to_look_at() -> None:
    heard = judge_with_record(
        dossier(), evaluation_header(), judge_context(model_of(BY_TEST, BY_TEST), ALWAYS_ESCALATE)
    )
    assert (decision_of(heard.verdict), heard.verdict.signals["vetoed_by"]) == ("abstain needs_human", "evidence")
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
    assert decision_of(judge_dossier(model_of(answer), ALWAYS_ESCALATE, criteria=asked)) == "accept"


def test_a_change_of_tests_alone_is_shown_by_tests() -> None:
    diff = new_file("tests/test_more.py", "def test_more():", "    assert send(b'x')")
    met = criterion_answers("met", "met", evidence=[evidence_at("tests/test_more.py", 2, quote="assert send(b'x')")])
    assert (
        decision_of(judge_dossier(model_of(accept_answer(criteria=met)), ALWAYS_ESCALATE, diff=diff, files=None))
        == "accept"
    )


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
    answer = cannot_tell_answer(
        breakdown="infrastructure", next_step="Run e2e again.", evidence=[evidence_at()], **scored
    )
    verdict = judge_dossier(model_of(answer), ALWAYS_ESCALATE)
    assert (decision_of(verdict), verdict.next_step) == ("abstain needs_human", "Run e2e again.")
    assert verdict.concern.startswith("The run, and not the change, seems to have failed, so nothing was scored: ")
    assert (verdict.scores, verdict.composite, verdict.confidence) == ((), None, 0.3)
    assert verdict.signals["breakdown"] == "infrastructure"


def test_a_complete_failure_scores_one_and_aims_at_its_cause() -> None:
    scores = [{**score, "score": 1} for score in reject_answer()["scores"]]
    answer = reject_answer(
        breakdown="complete_failure", scores=scores, evidence=[evidence_at()], next_step="In upload.py, return."
    )
    verdict = judge_dossier(model_of(answer), ALWAYS_ESCALATE)
    assert (verdict.decision, verdict.composite, verdict.score) == ("reject", 1.0, 0.0)


# --- what survives of a reject --------------------------------------------------------------------


VAGUE = "This must not be merged."
AT_CODE, AT_A_TEST = evidence_at("upload.py", 3), evidence_at("tests/test_upload.py", 6)
OPEN = criterion_answers("unverifiable", "unverifiable")


def said(category: str, at: dict[str, Any] | None, concern: str = VAGUE, **changes: Any) -> dict[str, Any]:
    bare = {**at, "note": ""} if at else None
    fields = {"category": category, "evidence": [bare] if bare else [], "concern": concern, "next_step": "Mend it."}
    return reject_answer(**{"criteria": OPEN, **fields, **changes})


def stands(reply: dict[str, Any], **changes: Any) -> bool:
    """The model says the same twice."""
    verdict = judge_dossier(model_of(reply, reply), ALWAYS_ESCALATE, **changes)
    if verdict.decision != "reject":
        assert (decision_of(verdict), verdict.evidence) == ("abstain needs_human", ())
        assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("change", "reject")
    return verdict.decision == "reject"


def unmet(status: str, *at: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "AC1", "status": status, "evidence": [{**location, "note": ""} for location in at]}]


def wanting(text: str, *, inferred: bool = False) -> tuple[Criterion, ...]:
    return (Criterion(id="AC1", text=text, inferred=inferred),)


RETRIED, LOGGED = "`send` tries on each `attempt`", "each try is written to `audit_log`"
SPREAD = "A busy upload gets another attempt"
"""Most of its words stand in the change, and no line holds them all."""
UNLOGGED = "Nothing is written to the audit log."
UNPRINTED = "Invoices are not printed, and uploads fail."
NOTES = new_file("notes.md", "`send` tries on each `attempt`.")


OVER, NO_ATTEMPT = "`post` is called once too often.", "A busy upload gets no attempt."


@pytest.mark.parametrize(
    ("status", "text", "at", "concern", "holds"),
    [
        ("missing", LOGGED, (), UNLOGGED, True),
        ("partial", LOGGED, (), UNLOGGED, True),
        ("missing", LOGGED, (), VAGUE, False),
        ("partial", LOGGED, (AT_CODE,), VAGUE, False),
        ("missing", RETRIED, (), VAGUE, False),
        ("partial", RETRIED, (), VAGUE, False),
        ("missing", RETRIED, (AT_CODE,), OVER, False),
        ("partial", RETRIED, (AT_CODE,), OVER, True),
        ("partial", RETRIED, (AT_CODE,), VAGUE, False),
        ("missing", "x", (), VAGUE, True),  # no word to look for
        ("missing", SPREAD, (), NO_ATTEMPT, False),
        ("partial", SPREAD, (AT_CODE,), NO_ATTEMPT, True),
        ("missing", "A busy printer gets another invoice", (), "No busy printer gets an invoice.", True),
        ("missing", "A test covers a busy upload at another hour", (), "No test covers an hour.", True),
    ],
)
def test_an_unmet_criterion_counts_if_the_reject_speaks_of_it_and_the_change_does_not(
    status: str, text: str, at: tuple[Any, ...], concern: str, *, holds: bool
) -> None:
    reply = said("acceptance_gap", AT_CODE, concern, criteria=unmet(status, *at))
    assert stands(reply, criteria=wanting(text)) is holds


@pytest.mark.parametrize(
    ("status", "at", "wanted", "concern", "changes", "holds"),
    [
        ("partial", (AT_CODE,), wanting(LOGGED), OVER, {}, True),  # a place of a criterion is enough
        # of prose some of its words will do
        ("missing", (), wanting("Uploads fail when a reply has a busy status", inferred=True), UNPRINTED, {}, False),
        ("missing", (), wanting("Print invoices as PDF", inferred=True), UNPRINTED, {}, True),
        ("missing", (), wanting(RETRIED), VAGUE, {"diff": NOTES, "files": None}, True),  # a text does nothing
    ],
)
def test_a_criterion_carries_a_reject_without_a_place(
    status: str,
    at: tuple[Any, ...],
    wanted: tuple[Criterion, ...],
    concern: str,
    changes: dict[str, Any],
    *,
    holds: bool,
) -> None:
    reply = said("acceptance_gap", None, concern, criteria=unmet(status, *at))
    assert stands(reply, criteria=wanted, **changes) is holds


@pytest.mark.parametrize(
    ("category", "at", "concern", "holds"),
    [
        ("half_finished", AT_CODE, "The loop ends before `post` was tried again.", True),
        ("half_finished", AT_CODE, VAGUE, False),
        ("tests_pass_but_wrong", AT_CODE, "`send` returns whatever `post` says.", True),
        ("tests_pass_but_wrong", AT_CODE, VAGUE, False),
        ("weak_test", AT_A_TEST, "A busy server is not shown to be wanting again.", True),
        ("weak_test", AT_A_TEST, VAGUE, False),
        ("weak_test", AT_CODE, "`post` is not shown to be wanting again.", True),
        ("spec_violation", AT_CODE, "AGENTS.md forbids loops around `post`.", True),
        ("spec_violation", AT_CODE, 'It breaks "no loops around post".', True),
        ("spec_violation", AT_CODE, "AC1 forbids loops around `post`.", True),
        ("spec_violation", AT_CODE, "Loops around `post` are forbidden.", False),
        ("spec_violation", AT_CODE, 'Wrong: "for attempt in range(3):" loops around `post`.', False),  # code is no rule
        ("spec_violation", AT_CODE, 'Broken: "post must stay the last call" stands above `send`.', True),
    ],
)
def test_a_place_counts_if_the_reject_is_about_what_stands_there(
    category: str, at: dict[str, Any], concern: str, *, holds: bool
) -> None:
    rules = (Guidance(path="AGENTS.md", text="No loops around post."),)
    file = HeadFile(path="upload.py", text=f"{HEAD_TEXTS['upload.py']}# post must stay the last call\n")
    assert stands(said(category, at, concern), guidance=rules, files=(file,)) is holds


@pytest.mark.parametrize(
    ("next_step", "status"),
    [("Change `post` in upload.py:3 so that it tries again.", "missing"), ("Write to the audit log.", "partial")],
)
def test_what_is_to_be_done_next_is_not_what_the_reject_is_about(next_step: str, status: str) -> None:
    assert not stands(said("half_finished", AT_CODE, next_step=next_step))
    vague = said("acceptance_gap", AT_CODE, criteria=unmet(status), next_step=next_step)
    assert not stands(vague, criteria=wanting(LOGGED))


def test_a_broken_rule_that_nobody_names_is_not_carried_by_a_criterion() -> None:
    reply = said("spec_violation", AT_CODE, UNLOGGED, criteria=unmet("missing"))
    assert not stands(reply, criteria=wanting(LOGGED))
    assert not stands({**reply, "evidence": []}, criteria=wanting(LOGGED))
    named = said("spec_violation", AT_CODE, f"AC1 is broken. {UNLOGGED}", criteria=unmet("missing"))
    assert stands(named, criteria=wanting(LOGGED))


def test_what_code_suspects_there_too_needs_no_words() -> None:
    debug = new_file("upload.py", "def send(data):", "    print(data)", "    return post(data)")
    here = evidence_at("upload.py", 2, quote="    print(data)")
    changes: dict[str, Any] = {"diff": debug, "files": None}
    assert stands(said("half_finished", here), **changes)
    assert not stands(said("tests_pass_but_wrong", here), **changes)


def test_a_case_that_claims_what_is_not_there_is_a_broken_rule() -> None:
    broken = said("spec_violation", AT_CODE, "The case claims `post` is called with jitter.")
    assert stands(broken, case=case_with_claims(("AC1", "upload.py:jitter")))
    assert not stands(broken)


def test_a_file_without_lines_has_its_name() -> None:
    runs = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    changes: dict[str, Any] = {"diff": runs + new_file("a.py", "x = 1"), "files": None}
    assert stands(said("half_finished", evidence_at("run.sh", None), "Nothing says why run.sh may run."), **changes)
    assert not stands(said("half_finished", evidence_at("run.sh", None)), **changes)


OTHERS = "".join(
    new_file(f"uploads/retry_{name}.py", f"def retry_upload_{name}(data):", f"    return retry_{name}(upload(data))")
    for name in "abc"
)
FOREIGN = new_file(
    "billing/invoice_pdf.py",
    *(f"def render_ledger_{name}(canvas): return paint_{name}(canvas)" for name in "abcdefghijkl"),
)


def test_work_that_nobody_asked_for_is_held_against_what_ties_its_file() -> None:
    changes: dict[str, Any] = {
        "diff": OTHERS + FOREIGN, "files": None, "pull_request": pull_request(title="Retry uploads"),
    }  # fmt: skip
    tied = evidence_at("uploads/retry_a.py", 1, quote="def retry_upload_a(data):")
    apart = evidence_at("billing/invoice_pdf.py", 1, quote="def render_ledger_a(canvas): return paint_a(canvas)")
    concern = "Nobody wanting for ledgers."
    assert not stands(said("scope_creep", tied, concern), **changes)
    assert stands(said("scope_creep", apart, "Nobody wanting for invoice_pdf."), **changes)
    assert stands(said("scope_creep", apart), **changes), "code suspects it, too"
    both = {**said("scope_creep", apart, concern), "evidence": [{**tied, "note": ""}, {**apart, "note": ""}]}
    verdict = judge_dossier(model_of(both, both), ALWAYS_ESCALATE, **changes)
    assert decision_of(verdict) == "reject scope_creep"
    assert [pointer.path for pointer in verdict.evidence] == ["billing/invoice_pdf.py"], "the other one falls away"


def test_of_very_many_files_any_may_be_of_another_task() -> None:
    many = "".join(new_file(f"uploads/retry_{number}.py", f"retry_upload = {number}") for number in range(31))
    here = evidence_at("uploads/retry_3.py", 1, quote="retry_upload = 3")
    assert stands(said("scope_creep", here, "Nobody wanting for uploads."), diff=many, files=None)
    assert not stands(said("scope_creep", here, "Nobody wanting for this."), diff=many, files=None)


def test_a_criterion_that_does_not_survive_is_open_where_another_one_does() -> None:
    asks = (Criterion(id="AC1", text=RETRIED), Criterion(id="AC2", text=LOGGED))
    missed = said("acceptance_gap", None, UNLOGGED, criteria=criterion_answers("missing", "missing"))
    verdict = judge_dossier(model_of(missed, missed), ALWAYS_ESCALATE, criteria=asks)
    assert decision_of(verdict) == "reject acceptance_gap"
    assert [criterion.status for criterion in verdict.criteria] == ["unverifiable", "missing"]
    assert verdict.criteria[0].note == "called unmet, though the change speaks of it"


def test_the_model_is_told_once_why_its_reject_can_not_stand() -> None:
    model = model_of(said("half_finished", AT_CODE), accept_answer())
    heard = judge_with_record(dossier(), evaluation_header(), judge_context(model, ALWAYS_ESCALATE))
    assert heard.verdict.decision == "accept"
    first = heard.audit.exchanges[0]
    assert first.fault == ReplyFault.EVIDENCE
    assert "No word of the reject is about what stands at upload.py:3." in first.problems[0]
