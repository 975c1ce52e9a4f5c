"""The context: one whole verdict for every dossier, and who decided it."""

from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.making import (
    BASE,
    DIFF,
    DOCUMENTED,
    NOW,
    ScriptedModel,
    accept,
    bench,
    cannot_tell,
    criteria,
    docket,
    dossier,
    entry,
    model_of,
    new_file,
    place,
    reject,
    rejected,
    reply,
    scores,
)
from worker.domain.dossier import Ci, CiCheck, CiState, Criterion, Dossier, HeadFile, Policy, UnreadFile, UnreadReason
from worker.domain.ids import Fingerprint
from worker.domain.judge_request import JudgeRequest
from worker.domain.ports import StopReason
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    Abstain,
    AbstainReason,
    Accept,
    Category,
    ClaimStatus,
    CriterionStatus,
    JudgeKind,
    Reject,
    Tokens,
)
from worker.errors import BudgetReached, Unavailable
from worker.judge.judge import create_header as open_docket
from worker.judge.judge import fingerprint_of, judge

STUB = new_file("upload.py", "def send(data):", "    raise NotImplementedError")
OUTAGE = Unavailable("The model", "status 529 (overloaded_error)")
NEVER, ALWAYS = 0.0, 2.0


def judged(model: ScriptedModel | None = None, threshold: float = 0.7, **changes: Any) -> Accept | Reject | Abstain:
    return judge(dossier(**changes), docket(), bench(model, threshold))


def stubbed(model: ScriptedModel | None = None, threshold: float = 0.7) -> Accept | Reject | Abstain:
    files = (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),)
    return judged(model, threshold, diff=STUB, files=files)


def documented(model: ScriptedModel | None = None, threshold: float = 0.7, **changes: Any) -> Accept | Reject | Abstain:
    return judged(model, threshold, **{**DOCUMENTED, **changes})


# --- the heuristic tier alone ---------------------------------------------------------------------


def test_an_empty_diff_is_an_acceptance_gap_and_costs_nothing() -> None:
    model = model_of()
    verdict = judged(model, diff="", files=())
    assert isinstance(verdict, Reject)
    assert (verdict.category, verdict.judge_kind) == (Category.ACCEPTANCE_GAP, JudgeKind.HEURISTIC)
    assert (verdict.judge_cost_usd, verdict.judge_model, verdict.judge_pricing_version) == (Decimal(0), None, None)
    assert [criterion.status for criterion in verdict.criteria] == [CriterionStatus.MISSING] * 2
    assert "AC1, AC2" in verdict.next_step
    assert not model.asked
    assert not verdict.escalated


def test_an_empty_diff_that_nobody_asked_for_is_a_reject_all_the_same() -> None:
    verdict = judged(diff="", files=(), criteria=())
    assert isinstance(verdict, Reject)
    assert [(criterion.id, criterion.status) for criterion in verdict.criteria] == [
        ("any-change", CriterionStatus.MISSING)
    ]


def test_a_fact_rejects_at_its_line_with_the_line_quoted() -> None:
    verdict = stubbed(model_of())
    assert isinstance(verdict, Reject)
    assert verdict.category is Category.HALF_FINISHED
    assert verdict.evidence[0].path == "upload.py"
    assert verdict.evidence[0].quote in {"def send(data):", "    raise NotImplementedError"}
    assert verdict.score < 0.5
    assert "upload.py" in verdict.next_step
    assert CriterionStatus.MET not in {criterion.status for criterion in verdict.criteria}
    assert verdict.escalation_reason.startswith("confidence 0.95 ≥ 0.70: ")


def test_a_reject_freezes_what_would_close_it() -> None:
    verdict = judged(diff="", files=())
    assert [(condition.id, condition.state) for condition in verdict.closing_conditions] == [
        ("c1", "open"),
        ("c2", "open"),
        ("c3", "open"),
    ]
    assert verdict.closing_conditions[0].text == verdict.next_step
    assert verdict.closing_conditions[1].text == "AC1 is met: an upload is retried on 503"


def test_documentation_alone_is_accepted_with_the_changed_lines_and_no_criterion_is_called_met() -> None:
    verdict = documented(model_of())
    assert isinstance(verdict, Accept)
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.HEURISTIC, Decimal(0))
    assert {criterion.status for criterion in verdict.criteria} == {CriterionStatus.UNVERIFIABLE}
    assert [(pointer.line, pointer.quote) for pointer in verdict.evidence] == [(3, "The server is busy at noon.")]


def test_an_abstain_says_which_line_of_documentation_stood_in_the_way() -> None:
    diff = (
        DOCUMENTED["diff"]
        .replace("-The", "-[The](https://example.org/a)")
        .replace("+The", "+[The](https://evil.net/a)")
    )
    files = (
        HeadFile(path="docs/busy.md", text="# A busy server\n\n[The](https://evil.net/a) server is busy at noon.\n"),
    )
    verdict = documented(diff=diff, files=files)
    why = "docs/busy.md:3: the changed link leaves `example.org` for `evil.net`"
    assert verdict.abstain_reason is AbstainReason.UNPROVEN
    assert f"Only documentation changed, and a reader has to look at it: {why}." in verdict.concern
    assert verdict.escalation_reason == f"confidence 0.50 < 0.70: {why}; no model is configured"


def test_a_repository_may_accept_nothing_without_a_model() -> None:
    verdict = documented(policy=Policy(accept_alone=False))
    assert verdict.abstain_reason is AbstainReason.UNPROVEN
    assert "this repository accepts nothing without a model (`accept_alone`)" in verdict.concern


@pytest.mark.parametrize(("threshold", "skipped"), [(0.7, "no_model"), (ALWAYS, "no_model"), (NEVER, "tier")])
def test_where_no_model_may_be_asked_the_rest_is_unproven(threshold: float, skipped: str) -> None:
    verdict = judged(threshold=threshold)
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.UNPROVEN
    assert verdict.signals["escalation_skipped"] == skipped
    assert (verdict.judge_kind, verdict.escalated) == (JudgeKind.HEURISTIC, False)


@pytest.mark.parametrize("never_send", ["**", "*.py"])
def test_a_model_is_not_asked_about_a_change_of_which_it_may_see_nothing(never_send: str) -> None:
    model = model_of(accept())
    result = judged(model, ALWAYS, policy=Policy(never_send=(never_send,)))
    assert not model.asked
    assert (result.abstain_reason, result.signals["escalation_skipped"]) == (AbstainReason.UNPROVEN, "withheld")
    assert "`never_send` keeps every changed file from it" in (result.concern or "")


# --- validators first -----------------------------------------------------------------------------


def red(*checks: CiCheck) -> Ci:
    return Ci(state=CiState.FAILURE, checks=checks)


@pytest.mark.parametrize("diff", [DIFF, STUB, DOCUMENTED["diff"], ""], ids=["code", "stub", "docs", "empty"])
def test_red_ci_is_not_judged_and_its_report_is_the_feedback(diff: str) -> None:
    model = model_of()
    log = "FAILED tests/test_upload.py::test_503 - assert 503 == 200"
    ci = red(CiCheck(name="unit", conclusion="failure", log_tail=log), CiCheck(name="lint", conclusion="timed_out"))
    verdict = judged(model, ALWAYS, diff=diff, files=None, ci=ci)
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.CI_FAILED
    assert verdict.concern == (
        "CI failed on this head: unit (failure), lint (timed out). Failing tests: tests/test_upload.py::test_503."
    )
    assert "unit, lint" in verdict.next_step
    assert not model.asked


# --- the model ------------------------------------------------------------------------------------


def test_below_the_threshold_the_model_decides_and_both_tiers_are_on_record() -> None:
    model = model_of(accept())
    verdict = judged(model)
    assert isinstance(verdict, Accept)
    assert (verdict.judge_kind, verdict.escalated) == (JudgeKind.HYBRID, True)
    assert (verdict.judge_model, verdict.judge_pricing_version) == ("claude-haiku-5-5", "2026-11")
    assert (verdict.judge_cost_usd, verdict.tokens) == (
        Decimal("0.001"),
        Tokens(input=1_000, output=100, cache_read=10, cache_write=1),
    )
    assert verdict.escalation_reason.startswith("confidence 0.")
    assert " < 0.70: " in verdict.escalation_reason
    assert (verdict.composite, verdict.score, verdict.confidence) == (8.0, 0.778, 0.9)
    assert verdict.signals.keys() >= {"heuristic_score", "heuristic_confidence"}
    assert verdict.prompt_version == bench().prompt.version
    assert verdict.evidence[0].quote == "    for attempt in range(3):"
    assert len(model.asked) == 1


def test_above_one_the_model_is_always_asked() -> None:
    verdict = documented(
        model_of(accept(criteria=criteria("met", at=[place("docs/busy.md", 3, quote="The server is busy at noon.")]))),
        ALWAYS,
    )
    assert isinstance(verdict, Accept)
    assert (verdict.judge_kind, verdict.escalated) == (JudgeKind.LLM, True)


def test_a_reject_of_the_model_is_a_reject_with_its_one_next_step() -> None:
    verdict = judged(model_of(reject()))
    assert isinstance(verdict, Reject)
    assert (verdict.category, verdict.next_step) == (Category.WEAK_TEST, "Assert the number of attempts.")
    assert verdict.evidence[0].location == "tests/test_upload.py:6"
    assert [condition.text for condition in verdict.closing_conditions] == [
        "Assert the number of attempts.",
        "AC2 is met: a test shows it",
    ]


def test_a_model_that_can_not_tell_leaves_it_to_a_person() -> None:
    verdict = judged(model_of(cannot_tell()))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
    assert verdict.concern == "The server's side is not shown."
    assert verdict.next_step == "A person who knows the issue decides."
    assert verdict.composite == 5.0


@pytest.mark.parametrize(
    "answer",
    [
        "I accept.",
        accept(criteria=criteria("met", "met", at=[place(line=99)])),
        accept(scores=scores(1)),
        reply("", stop=StopReason.REFUSED),
        reply(accept(), stop=StopReason.TRUNCATED),
    ],
    ids=["prose", "pointer", "contradiction", "refusal", "truncated"],
)
def test_two_unusable_replies_are_no_verdict(answer: Any) -> None:
    verdict = judged(model_of(answer, answer))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.REPLY_INVALID
    assert verdict.signals["parse_failed"] is True
    assert verdict.judge_cost_usd == Decimal("0.002")
    assert (verdict.category, verdict.judge_kind) == (None, JudgeKind.HYBRID)


def test_an_outage_is_neither_a_reject_nor_a_pass() -> None:
    verdict = judged(model_of(OUTAGE))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE
    assert "status 529 (overloaded_error)" in verdict.concern
    assert (verdict.judge_cost_usd, verdict.escalated) == (Decimal(0), True)
    assert (verdict.judge_kind, verdict.judge_model) == (JudgeKind.HEURISTIC, None)


LOST = Unavailable("The model", "it did not answer in time", Decimal("0.003"))


def test_a_question_that_may_have_been_billed_without_an_answer_is_counted_at_its_most() -> None:
    verdict = judged(model_of(LOST))
    assert (verdict.judge_kind, verdict.judge_model) == (JudgeKind.HYBRID, "claude-haiku-5-5")
    assert (verdict.judge_cost_usd, verdict.signals["unheard_usd"]) == (Decimal("0.003"), "0.003")
    corrected = judged(model_of("prose", LOST))
    assert (corrected.judge_cost_usd, corrected.signals["unheard_usd"]) == (Decimal("0.004"), "0.003")
    again = judged(model_of(reply(accept(), lost_usd=Decimal("0.002"))))
    assert (again.decision, again.judge_cost_usd, again.signals["unheard_usd"]) == ("accept", Decimal("0.003"), "0.002")
    assert "unheard_usd" not in judged(model_of(accept())).signals


def test_a_cap_reached_by_a_try_that_nobody_answered_tells_what_it_may_have_cost() -> None:
    full = CapLevel(Cap.PULL, Decimal("0.099"), Decimal("0.10"))
    verdict = judged(model_of(BudgetReached(full, Decimal("0.003"), Decimal("0.004"))))
    assert (verdict.throttled_reason, verdict.judge_cost_usd) == ("pr_cap", Decimal("0.004"))
    assert (verdict.judge_kind, verdict.escalated) == (JudgeKind.HYBRID, True)
    untold = judged(model_of(BudgetReached(full, Decimal("0.003"))))
    assert (untold.judge_kind, untold.judge_cost_usd, untold.escalated) == (JudgeKind.HEURISTIC, Decimal(0), False)


def test_an_unknown_price_is_null_and_never_zero() -> None:
    verdict = judged(model_of(reply(accept(), cost_usd=None)))
    assert verdict.judge_cost_usd is None
    assert verdict.model_dump(mode="json")["judge_cost_usd"] is None


def test_a_change_too_large_for_the_question_is_not_accepted_and_names_its_files() -> None:
    lines = [f"x{n} = '{'y' * 70}'" for n in range(2_500)]
    answer = accept(criteria=criteria("met", "met", at=[place("a.py", 1, quote=f"x0 = '{'y' * 70}'")]))
    verdict = judged(
        model_of(answer, answer),
        diff=new_file("a.py", *lines) + new_file("b.py", *lines),
        files=None,
    )
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.TOO_LARGE
    assert verdict.coverage.partly == ("a.py",)
    assert verdict.coverage.unread == ("b.py",)
    assert "b.py, a.py" in verdict.concern


def test_an_issue_that_fits_no_model_is_not_asked_about() -> None:
    model = model_of()
    many = tuple(Criterion(id=f"AC{n}", text="x" * 300) for n in range(1_000))
    verdict = judged(model, criteria=many)
    assert isinstance(verdict, Abstain)
    assert (verdict.abstain_reason, verdict.judge_kind) == (AbstainReason.TOO_LARGE, JudgeKind.HEURISTIC)
    assert not model.asked
    empty = judged(model, ALWAYS, criteria=many, diff="", files=())
    assert isinstance(empty, Reject)


# --- facts and the model --------------------------------------------------------------------------


STUB_AT = place("upload.py", 2, quote="raise NotImplementedError")


def test_a_fact_rejects_whatever_the_model_says() -> None:
    answer = accept(criteria=criteria("met", "met", at=[STUB_AT]))
    verdict = stubbed(model_of(answer), ALWAYS)
    assert isinstance(verdict, Reject)
    assert verdict.category is Category.HALF_FINISHED
    assert verdict.concern.endswith("The model, asked too, said accept; a fact stands whatever a model says.")
    assert (verdict.judge_kind, verdict.judge_cost_usd) == (JudgeKind.LLM, Decimal("0.001"))
    assert verdict.signals["model_decision"] == "accept"
    assert verdict.score < 0.5


def test_a_model_that_rejects_for_the_same_reason_words_it() -> None:
    unmet = criteria("met", "missing", at=[STUB_AT])
    answer = reject(
        category="half_finished",
        evidence=[STUB_AT],
        criteria=unmet,
        concern="send() only raises.",
        next_step="Post the data.",
    )
    verdict = stubbed(model_of(answer), ALWAYS)
    assert isinstance(verdict, Reject)
    assert (verdict.concern, verdict.next_step) == ("send() only raises.", "Post the data.")
    assert STUB_AT["note"] in {pointer.note for pointer in verdict.evidence}


def test_a_model_that_rejects_for_another_reason_is_quoted() -> None:
    answer = reject(evidence=[STUB_AT], criteria=criteria("met", "missing", at=[STUB_AT]))
    verdict = stubbed(model_of(answer), ALWAYS)
    assert isinstance(verdict, Reject)
    assert verdict.category is Category.HALF_FINISHED
    assert verdict.concern.endswith(
        "rejects for another reason (weak_test): The test proves nothing of what is made when send is busy."
    )


# --- what is written above every verdict ----------------------------------------------------------


def test_claims_are_checked_in_every_verdict() -> None:
    case = Case(summary="s", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="upload.py:send"),))
    for verdict in (judged(case=case), judged(model_of(accept()), case=case)):
        assert [claim.status for claim in verdict.claims] == [ClaimStatus.VERIFIED, ClaimStatus.OMITTED]
        assert [criterion.claimed for criterion in verdict.criteria] == [True, False]


def test_a_round_counts_rejects_on_different_content() -> None:
    earlier = rejected(fingerprint="sha256:other")
    assert judged(ledger=(entry(earlier, head_sha=BASE),)).round == 2
    assert judged(ledger=(entry(earlier),)).round == 1, "the same head, rejected by another tier"
    again = rejected(fingerprint="sha256:another")
    assert judged(ledger=(entry(earlier, head_sha=BASE), entry(again, head_sha=BASE))).round == 2
    empty_commit = entry(earlier, head_sha="c" * 40)
    assert judged(ledger=(entry(earlier, head_sha=BASE), empty_commit)).round == 2
    assert judged(ledger=(entry(rejected(fingerprint="sha256:now")),)).round == 1


def test_a_verdict_says_what_it_is_about_and_survives_json() -> None:
    verdict = judged(model_of(reject()))
    assert (verdict.eval_id, verdict.fingerprint, verdict.created_at) == ("0193-eval", "sha256:now", NOW)
    assert (verdict.author_agent, verdict.rubric_id) == ("copilot", "default")
    assert verdict.judge_latency_ms == 75, (
        "this clock goes on by 25 at each look: at the start, before and at the question, at the end"
    )
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(verdict)) == verdict


def test_the_same_dossier_and_replies_give_the_same_decision() -> None:
    def decision(eval_id: str) -> object:
        verdict = judge(dossier(), docket(eval_id=eval_id), bench(model_of(WRONG, reject())))
        return verdict.model_dump(exclude={"eval_id", "judge_latency_ms"})

    assert decision("one") == decision("two")


WRONG = accept(scores=scores(1))


def test_a_diff_that_git_did_not_print_is_not_judged_and_says_why() -> None:
    model = model_of()
    verdict = judged(model, diff="hello", files=(HeadFile(path="a.py", text="x"),))
    assert isinstance(verdict, Abstain)
    assert verdict.abstain_reason is AbstainReason.TOO_LARGE
    assert 'expected "diff --git"' in verdict.concern
    assert verdict.coverage.unread == ("a.py",)
    assert not model.asked


@pytest.mark.parametrize("ids", [(" ",), ("AC1", "AC1"), ("AC2", " ", "AC1", "AC1 ")], ids=str)
def test_criteria_without_an_id_of_their_own_get_one(ids: tuple[str, ...]) -> None:
    verdict = judged(criteria=tuple(Criterion(id=id_, text="x") for id_ in ids))
    named = [criterion.id for criterion in verdict.criteria]
    assert len(set(named)) == len(ids)
    assert all(name.startswith("AC") for name in named)


def test_a_docket_names_the_head_and_its_content() -> None:
    class Stopped:
        def now(self) -> Any:
            return NOW

        def monotonic_ms(self) -> int:
            return 5

    request = JudgeRequest.model_validate(
        {
            "pull": {"installation_id": 100, "repository_id": 7, "number": 12},
            "repository": "acme/widgets",
            "head_sha": None,
            "trigger": "opened",
            "delivery_id": "d1",
            "requested_at": NOW,
        }
    )
    opened = open_docket(request, dossier(), bench(), Stopped())
    assert (opened.subject.head_sha, opened.subject.installation_id) == (dossier().pull_request.head_sha, 100)
    assert (opened.created_at, opened.monotonic_ms()) == (NOW, 5)
    assert opened.fingerprint == fingerprint_of(dossier(), bench())
    assert opened.eval_id.count("-") == 4


def fingerprint(judged: Dossier, **changes: Any) -> Fingerprint:
    return fingerprint_of(judged, bench(**changes))


def test_the_fingerprint_knows_who_may_judge_and_bears_a_broken_diff() -> None:
    plain = fingerprint(dossier())
    assert plain == fingerprint(dossier())
    others = [
        fingerprint(dossier(), threshold=0.0),
        fingerprint(dossier(), model=model_of()),
        fingerprint(dossier(diff="x")),
    ]
    assert len({plain, *others}) == 4


def test_what_could_not_be_read_is_told_before_replies_that_could_not_be_used() -> None:
    unread = (UnreadFile(path="big.txt", reason=UnreadReason.OVER_LIMIT),)
    verdict = judge(dossier(files_unread=unread), docket(), bench(model_of("I accept.", "I accept.")))
    assert (verdict.decision, verdict.abstain_reason) == ("abstain", "too_large")
    assert verdict.signals["parse_failed"] is True
    assert "big.txt" in verdict.concern


def test_what_is_missed_in_a_change_that_was_not_shown_whole_is_no_reject() -> None:
    unread = (UnreadFile(path="upload.py", reason=UnreadReason.OVER_LIMIT),)
    gap = criteria("missing", "missing", at=[])
    missed = reject(evidence=[], category="acceptance_gap", criteria=gap, concern="Nothing shows it.")
    verdict = judge(dossier(files_unread=unread), docket(), bench(model_of(missed)))
    assert judge(dossier(), docket(), bench(model_of(missed))).decision == "reject"
    assert (verdict.decision, verdict.abstain_reason) == ("abstain", "too_large")


@pytest.mark.parametrize(
    ("concern", "stands"),
    [("`big.py` lacks what shows the cap.", False), ("Nothing shows a cap of the loop.", True)],
    ids=["of it", "of another"],
)
def test_a_reject_that_misses_something_of_a_file_that_nobody_read_does_not_stand(
    concern: str, *, stands: bool
) -> None:
    hidden = (UnreadFile(path="big.py", reason=UnreadReason.NEVER_SEND),)
    missed = reject(concern=concern)
    verdict = judge(
        dossier(diff=DIFF + new_file("big.py", "x = 1"), files_unread=hidden), docket(), bench(model_of(missed))
    )
    assert (verdict.decision, verdict.abstain_reason) == (("reject", None) if stands else ("abstain", "too_large"))


# --- who decides, case by case --------------------------------------------------------------------


UNREAD = {"files_unread": (UnreadFile(path="huge.json", reason=UnreadReason.OVER_LIMIT),)}
RED = red(CiCheck(name="test", conclusion="failure"))
RUNNING = Ci(state=CiState.PENDING, checks=(CiCheck(name="e2e", conclusion=None, status="queued"),))
STUBBED = {
    "diff": STUB,
    "files": (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),),
}
WANTS_ISSUE = {"policy": Policy(require_issue=True)}
LEFT_OUT = {"policy": Policy(never_send=("other.py",))}
CAP = BudgetReached(CapLevel(Cap.PULL, Decimal("0.09"), Decimal("0.10")), Decimal("0.02"))
TOO_LONG = reply("", stop=StopReason.CONTEXT_EXCEEDED)
NOTHING = {"diff": "", "files": (), **UNREAD}


@pytest.mark.parametrize(
    ("changes", "answers", "threshold", "outcome", "concern"),
    [
        ({"ci": RUNNING}, (), 0.7, "abstain ci_pending", "e2e"),
        ({"ci": red()}, (), 0.7, "abstain ci_failed", "CI failed on this head."),
        ({"ci": RED, **NOTHING}, (), 0.7, "abstain ci_failed", "test (failure)"),
        ({"ci": None}, (accept(),), 0.7, "accept", "It retries."),
        (NOTHING, (), 0.7, "abstain too_large", "huge.json"),
        (
            {**WANTS_ISSUE, "issues": ()},
            (),
            0.7,
            "abstain no_criteria",
            "No issue is linked, and this repository wants",
        ),
        (WANTS_ISSUE, (accept(),), 0.7, "accept", "It retries."),
        (LEFT_OUT, (accept(),), ALWAYS, "accept", "It retries."),
        ({}, (), NEVER, "abstain unproven", "this tier asks no model"),
        (STUBBED, (), NEVER, "reject half_finished", "stub"),
        (STUBBED, (OUTAGE,), ALWAYS, "reject half_finished", "stub"),
        (STUBBED, ("prose", "prose"), ALWAYS, "reject half_finished", "stub"),
        (STUBBED, (CAP,), ALWAYS, "reject half_finished", "stub"),
        (DOCUMENTED, (), NEVER, "accept", "spelling"),
        (DOCUMENTED, (OUTAGE,), ALWAYS, "abstain judge_unavailable", "status 529"),
        (DOCUMENTED, (CAP,), ALWAYS, "accept", "spelling"),
        ({**DOCUMENTED, **UNREAD}, (CAP,), ALWAYS, "abstain too_large", "huge.json"),
        ({**DOCUMENTED, **UNREAD}, (), 0.7, "abstain too_large", "huge.json"),
        (UNREAD, (accept(),), 0.7, "abstain too_large", "huge.json"),
        (UNREAD, (reject(),), 0.7, "reject weak_test", "The test proves nothing"),
        ({}, (TOO_LONG,), 0.7, "abstain too_large", "too long for the model"),
        ({}, (accept(category="weak_test"), accept()), 0.7, "accept", "It retries."),
    ],
)
def test_who_decides_what(
    changes: dict[str, Any], answers: tuple[Any, ...], threshold: float, outcome: str, concern: str
) -> None:
    model = model_of(*answers)
    verdict = judged(model, threshold, **changes)
    assert f"{verdict.decision} {verdict.category or verdict.abstain_reason or ''}".strip() == outcome
    assert concern in verdict.concern
    assert len(model.asked) == len(answers), "every answer is asked for, and no other"
    assert (verdict.throttled_reason is None) is (CAP not in answers)
    assert verdict.escalated is any(answer is not CAP for answer in answers)
    replies = sum(answer not in (OUTAGE, CAP) for answer in answers)
    assert verdict.judge_cost_usd == Decimal("0.001") * replies
