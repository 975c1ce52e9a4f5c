"""The verdict on a dossier: who decides, its content, its costs and its audit record."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.worker.adapters.redis.outcome_samples import FixedClock
from tests.worker.adapters.redis.store_samples import judge_request
from tests.worker.judge.samples import (
    ALWAYS_ASK,
    BASE,
    DIFF,
    DOCS_CHANGE,
    HEAD_TEXTS,
    NEVER_ASK,
    NOW,
    ScriptedModel,
    abstain_verdict,
    accept_answer,
    accept_verdict,
    cannot_tell_answer,
    case_with_claims,
    criteria,
    decision_of,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    judge_dossier,
    ledger_entry,
    model_of,
    new_file,
    reject_answer,
    reject_verdict,
    reply,
    scores,
)
from worker.domain.dossier import (
    Ci,
    CiCheck,
    CiState,
    Criterion,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    Policy,
    UnreadFile,
    UnreadReason,
)
from worker.domain.ports import StopReason
from worker.domain.verdict.audit import AuditRecord, OverBudget, RecordedRedaction, Stage, Step
from worker.domain.verdict.budget import Cap, CapLevel, TokenBudget
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    Abstain,
    Accept,
    Category,
    ConditionState,
    JudgeKind,
    Leaning,
    ModelOpinion,
    Reject,
    Score,
    Tokens,
)
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import JudgeContext, Ruling
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import carry_over_record, carry_over_verdict, create_header, judge, judge_with_record
from worker.judge.llm.opinions import opinion_steps
from worker.judge.replay import first_difference

STUB = new_file("upload.py", "def send(data):", "    raise NotImplementedError")
STUB_CHANGE: dict[str, Any] = {
    "diff": STUB,
    "files": (HeadFile(path="upload.py", text="def send(data):\n    raise NotImplementedError\n"),),
}
EMPTY_CHANGE: dict[str, Any] = {"diff": "", "files": ()}
OUTAGE = Unavailable("The model", "status 529 (overloaded_error)")
LOST_REPLY = Unavailable("The model", "it did not answer in time", Decimal("0.003"))
FULL = CapLevel(Cap.PULL, Decimal("0.099"), Decimal("0.10"))
CAP_REACHED = BudgetReached(FULL, Decimal("0.02"))


def with_unread_file(path: str, reason: UnreadReason = UnreadReason.OVER_LIMIT, **changes: Any) -> dict[str, Any]:
    return {"files_unread": (UnreadFile(path=path, reason=reason),), **changes}


def failed_ci(*checks: CiCheck) -> Ci:
    return Ci(state=CiState.FAILURE, checks=checks)


# --- decisions ------------------------------------------------------------------------------------


UNREAD = with_unread_file("huge.json")
FAILED = failed_ci(CiCheck(name="test", conclusion="failure"))
RUNNING = Ci(state=CiState.PENDING, checks=(CiCheck(name="e2e", conclusion=None, status="queued"),))
WANTS_ISSUE = {"policy": Policy(require_issue=True)}
DOCS_WITHOUT_ACCEPT_ALONE = {**DOCS_CHANGE, "policy": Policy(accept_alone=False)}
TOO_LONG = reply("", stop=StopReason.CONTEXT_EXCEEDED)
NOTHING_READABLE = {**EMPTY_CHANGE, **UNREAD}
BROKEN_DIFF = {"diff": "hello", "files": (HeadFile(path="a.py", text="x"),)}
CONTRADICTION, TRUNCATED = accept_answer(scores=scores(1)), reply(accept_answer(), stop=StopReason.TRUNCATED)
PAST_END, REFUSED = (
    accept_answer(criteria=criteria("met", "met", evidence=[evidence_at(line=99)])),
    reply("", stop=StopReason.REFUSED),
)
GAP = {"evidence": [], "category": "acceptance_gap", "criteria": criteria("missing", "missing", evidence=[])}
MISSED = reject_answer(**GAP, concern="Nothing shows it.")
WITHHELD = with_unread_file("big.py", UnreadReason.NEVER_SEND, diff=DIFF + new_file("big.py", "x = 1"))


@pytest.mark.parametrize(
    ("changes", "answers", "threshold", "expected", "concern"),
    [
        ({"ci": RUNNING}, (), 0.7, "abstain ci_pending", "e2e"),
        ({"ci": failed_ci()}, (), 0.7, "abstain ci_failed", "CI failed on this head."),
        ({"ci": FAILED, **NOTHING_READABLE}, (), 0.7, "abstain ci_failed", "test (failure)"),
        ({"ci": None}, (accept_answer(),), 0.7, "accept", "It retries."),
        (NOTHING_READABLE, (), 0.7, "abstain too_large", "huge.json"),
        ({**WANTS_ISSUE, "issues": ()}, (), 0.7, "abstain no_criteria", "No issue is linked, and this repository"),
        (WANTS_ISSUE, (accept_answer(),), 0.7, "accept", "It retries."),
        ({"policy": Policy(never_send=("other.py",))}, (accept_answer(),), ALWAYS_ASK, "accept", "It retries."),
        ({}, (), NEVER_ASK, "abstain unproven", "this tier asks no model"),
        (STUB_CHANGE, (), NEVER_ASK, "reject half_finished", "stub"),
        (STUB_CHANGE, (OUTAGE,), ALWAYS_ASK, "reject half_finished", "stub"),
        (STUB_CHANGE, ("prose", "prose"), ALWAYS_ASK, "reject half_finished", "stub"),
        (STUB_CHANGE, (CAP_REACHED,), ALWAYS_ASK, "reject half_finished", "stub"),
        (DOCS_CHANGE, (), NEVER_ASK, "accept", "spelling"),
        (DOCS_CHANGE, (OUTAGE,), ALWAYS_ASK, "abstain judge_unavailable", "status 529 (overloaded_error)"),
        (DOCS_CHANGE, (CAP_REACHED,), ALWAYS_ASK, "accept", "spelling"),
        (DOCS_WITHOUT_ACCEPT_ALONE, (), NEVER_ASK, "abstain unproven", "this repository accepts nothing without a model (`accept_alone`)"),
        ({**DOCS_CHANGE, **UNREAD}, (CAP_REACHED,), ALWAYS_ASK, "abstain too_large", "huge.json"),
        ({**DOCS_CHANGE, **UNREAD}, (), 0.7, "abstain too_large", "huge.json"),
        (UNREAD, (accept_answer(),), 0.7, "abstain too_large", "huge.json"),
        (UNREAD, (reject_answer(),), 0.7, "reject weak_test", "The test proves nothing"),
        (UNREAD, ("prose", "prose"), 0.7, "abstain too_large", "huge.json"),
        ({}, (MISSED,), 0.7, "reject acceptance_gap", "Nothing shows it."),
        (with_unread_file("upload.py"), (MISSED,), 0.7, "abstain too_large", "upload.py"),
        (WITHHELD, (reject_answer(concern="`big.py` lacks what shows the cap."),), 0.7, "abstain too_large", "big.py"),
        (WITHHELD, (reject_answer(concern="Nothing shows a cap of the loop."),), 0.7, "reject weak_test", "a cap of the loop"),
        (BROKEN_DIFF, (), 0.7, "abstain too_large", 'expected "diff --git"'),
        ({}, (TOO_LONG,), 0.7, "abstain too_large", "too long for the model"),
        ({}, (accept_answer(category="weak_test"), accept_answer()), 0.7, "accept", "It retries."),
        ({}, (cannot_tell_answer(),), 0.7, "abstain needs_human", "The server's side is not shown."),
        ({}, (OUTAGE,), 0.7, "abstain judge_unavailable", "status 529 (overloaded_error)"),
        ({}, ("I accept.", "I accept."), 0.7, "abstain reply_invalid", "could not be used"),
        ({}, (PAST_END, PAST_END), 0.7, "abstain reply_invalid", "An accept needs every criterion met"),
        ({}, (CONTRADICTION, CONTRADICTION), 0.7, "abstain reply_invalid", "contradict the accept"),
        ({}, (REFUSED, REFUSED), 0.7, "abstain reply_invalid", "declined"),
        ({}, (TRUNCATED, TRUNCATED), 0.7, "abstain reply_invalid", "cut off"),
    ],
)  # fmt: skip
def test_decision_follows_from_dossier_threshold_and_answers(
    changes: dict[str, Any], answers: tuple[Any, ...], threshold: float, expected: str, concern: str
) -> None:
    model = model_of(*answers)
    verdict = judge_dossier(model, threshold, **changes)
    assert (decision_of(verdict), concern in verdict.concern) == (expected, True), verdict.concern
    assert len(model.prompts) == len(answers), "the model is asked once per answer"
    assert (verdict.throttled_reason is None) is (CAP_REACHED not in answers)
    assert verdict.escalated is any(answer is not CAP_REACHED for answer in answers)
    replies = sum(answer not in (OUTAGE, CAP_REACHED) for answer in answers)
    assert verdict.judge_cost_usd == Decimal("0.001") * replies
    tier = "heuristic" if not replies else "llm" if threshold == ALWAYS_ASK else "hybrid"
    assert (verdict.judge_kind, verdict.judge_model is None) == (tier, tier == "heuristic")
    assert ("parse_failed" in verdict.signals) is (len(answers) > 1 and expected.startswith("abstain"))


@pytest.mark.parametrize("diff", [DIFF, STUB, DOCS_CHANGE["diff"], ""], ids=["code", "stub", "docs", "empty"])
def test_failed_ci_abstains_with_the_ci_report(diff: str) -> None:
    log = "FAILED tests/test_upload.py::test_503 - assert 503 == 200"
    ci = failed_ci(
        CiCheck(name="unit", conclusion="failure", log_tail=log), CiCheck(name="lint", conclusion="timed_out")
    )
    verdict = judge_dossier(model_of(), ALWAYS_ASK, diff=diff, files=None, ci=ci)
    assert (decision_of(verdict), verdict.concern) == (
        "abstain ci_failed",
        "CI failed on this head: unit (failure), lint (timed out). Failing tests: tests/test_upload.py::test_503.",
    )
    assert "unit, lint" in (verdict.next_step or "")


@pytest.mark.parametrize(
    ("threshold", "model", "globs", "skipped"),
    [
        (0.7, None, (), "no_model"),
        (ALWAYS_ASK, None, (), "no_model"),
        (NEVER_ASK, None, (), "tier"),
        (ALWAYS_ASK, model_of(), ("**",), "withheld"),
        (ALWAYS_ASK, model_of(), ("*.py",), "withheld"),
    ],
)
def test_change_is_unproven_when_no_model_may_be_asked(
    threshold: float, model: ScriptedModel | None, globs: tuple[str, ...], skipped: str
) -> None:
    verdict = judge_dossier(model, threshold, policy=Policy(never_send=globs))
    assert (decision_of(verdict), verdict.signals["escalation_skipped"]) == ("abstain unproven", skipped)
    assert (verdict.judge_kind, verdict.escalated) == ("heuristic", False)
    assert ("`never_send` keeps every changed file from it" in verdict.concern) is (skipped == "withheld")


# --- code alone -----------------------------------------------------------------------------------


def test_empty_diff_is_an_acceptance_gap_with_closing_conditions() -> None:
    verdict = judge_dossier(model_of(), **EMPTY_CHANGE)
    assert (decision_of(verdict), verdict.judge_pricing_version) == ("reject acceptance_gap", None)
    assert [criterion.status for criterion in verdict.criteria] == ["missing"] * 2
    assert "AC1, AC2" in (verdict.next_step or "")
    assert [(condition.id, condition.state, condition.text) for condition in verdict.closing_conditions] == [
        ("c1", "open", verdict.next_step),
        ("c2", "open", "AC1 is met: an upload is retried on 503"),
        ("c3", "open", "AC2 is met: a test shows it"),
    ]
    unasked = judge_dossier(**EMPTY_CHANGE, criteria=())
    assert [(criterion.id, criterion.status) for criterion in unasked.criteria] == [("any-change", "missing")]


def test_fact_rejects_with_its_line_quoted() -> None:
    verdict = judge_dossier(model_of(), **STUB_CHANGE)
    assert decision_of(verdict) == "reject half_finished"
    assert (verdict.evidence[0].path, verdict.evidence[0].quote) == ("upload.py", "    raise NotImplementedError")
    assert verdict.score < 0.5
    assert "upload.py" in (verdict.next_step or "")
    assert "met" not in {criterion.status for criterion in verdict.criteria}
    assert verdict.escalation_reason.startswith("confidence 0.95 ≥ 0.70: ")


def test_docs_change_is_accepted_without_meeting_a_criterion() -> None:
    verdict = judge_dossier(model_of(), **DOCS_CHANGE)
    assert decision_of(verdict) == "accept"
    assert {criterion.status for criterion in verdict.criteria} == {"unverifiable"}
    assert [(pointer.line, pointer.quote) for pointer in verdict.evidence] == [(3, "The server is busy at noon.")]


def test_abstain_names_the_documentation_line_to_review() -> None:
    text = "# A busy server\n\n[The](https://evil.net/a) server is busy at noon.\n"
    linked: dict[str, Any] = {
        **DOCS_CHANGE,
        "diff": DOCS_CHANGE["diff"].replace("-The", "-[The](https://example.org/a)").replace("+The", "+[The](https://evil.net/a)"),
        "files": (HeadFile(path="docs/busy.md", text=text),),
    }  # fmt: skip
    verdict = judge_dossier(**linked)
    why = "docs/busy.md:3: the changed link leaves `example.org` for `evil.net`"
    assert decision_of(verdict) == "abstain unproven"
    assert f"Only documentation changed, and a reader has to look at it: {why}." in verdict.concern
    assert verdict.escalation_reason == f"confidence 0.50 < 0.70: {why}; no model is configured"


# --- the model ------------------------------------------------------------------------------------


def test_model_decides_below_threshold_and_both_tiers_are_recorded() -> None:
    verdict = judge_dossier(model_of(accept_answer()))
    assert (verdict.judge_model, verdict.judge_pricing_version) == ("claude-haiku-5-5", "2026-11")
    assert verdict.tokens == Tokens(input=1_000, output=100, cache_read=10, cache_write=1)
    assert verdict.escalation_reason.startswith("confidence 0.")
    assert " < 0.70: " in verdict.escalation_reason
    assert (verdict.composite, verdict.score, verdict.confidence) == (8.0, 0.778, 0.9)
    assert verdict.signals.keys() >= {"heuristic_score", "heuristic_confidence"}
    assert verdict.prompt_version == judge_context().prompt.version
    assert verdict.evidence[0].quote == "    for attempt in range(3):"


def test_model_reject_keeps_next_step_and_evidence() -> None:
    verdict = judge_dossier(model_of(reject_answer()))
    assert (decision_of(verdict), verdict.next_step) == ("reject weak_test", "Assert the number of attempts.")
    assert verdict.evidence[0].location == "tests/test_upload.py:6"
    assert [condition.text for condition in verdict.closing_conditions] == [
        "Assert the number of attempts.",
        "AC2 is met: a test shows it",
    ]


def test_reject_without_evidence_takes_none_from_met_criteria() -> None:
    gap = reject_answer(evidence=[], category="acceptance_gap", concern="Nothing shows it.")
    verdict = judge_dossier(model_of(gap))
    assert (decision_of(verdict), verdict.evidence) == ("reject acceptance_gap", ())


def test_undecided_model_leaves_decision_to_a_human() -> None:
    verdict = judge_dossier(model_of(cannot_tell_answer()))
    assert (verdict.next_step, verdict.composite) == ("A person who knows the issue decides.", 5.0)


@pytest.mark.parametrize(
    ("answers", "expected", "cost", "lost", "kind"),
    [
        ((LOST_REPLY,), "abstain judge_unavailable", "0.003", "0.003", "hybrid"),
        (("prose", LOST_REPLY), "abstain judge_unavailable", "0.004", "0.003", "hybrid"),
        ((reply(accept_answer(), lost_usd=Decimal("0.002")),), "accept", "0.003", "0.002", "hybrid"),
        ((BudgetReached(FULL, Decimal("0.003"), Decimal("0.004")),), "abstain budget", "0.004", "0.004", "hybrid"),
        ((BudgetReached(FULL, Decimal("0.003")),), "abstain budget", "0", None, "heuristic"),
        ((reply(accept_answer(), cost_usd=None),), "accept", None, None, "hybrid"),
        ((accept_answer(),), "accept", "0.001", None, "hybrid"),
    ],
)
def test_lost_replies_count_at_their_maximum_and_unknown_price_is_null(
    answers: tuple[Any, ...], expected: str, cost: str | None, lost: str | None, kind: str
) -> None:
    verdict = judge_dossier(model_of(*answers))
    assert (decision_of(verdict), verdict.judge_kind, verdict.escalated) == (expected, kind, kind == "hybrid")
    assert verdict.model_dump(mode="json")["judge_cost_usd"] == cost
    assert verdict.signals.get("unheard_usd") == lost
    assert verdict.throttled_reason == ("pr_cap" if "budget" in expected else None)


def test_change_too_large_for_the_prompt_is_not_accepted() -> None:
    lines = [f"x{n} = '{'y' * 70}'" for n in range(300)]
    answer = accept_answer(
        criteria=criteria("met", "met", evidence=[evidence_at("a.py", 1, quote=f"x0 = '{'y' * 70}'")])
    )
    large = dossier(diff=new_file("a.py", *lines) + new_file("b.py", *lines), files=None)
    verdict = judge(
        large, evaluation_header(), replace(judge_context(model_of(answer, answer)), token_budget=TokenBudget(40_000))
    )
    assert (decision_of(verdict), verdict.coverage.partly, verdict.coverage.unread) == (
        "abstain too_large", ("a.py",), ("b.py",),
    )  # fmt: skip
    assert "b.py, a.py" in verdict.concern


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, "abstain too_large"), (EMPTY_CHANGE, "reject acceptance_gap")],
    ids=["change", "none"],
)
def test_issue_too_long_for_any_model_is_not_sent(changes: dict[str, Any], expected: str) -> None:
    many = tuple(Criterion(id=f"AC{n}", text="x" * 300) for n in range(100))
    tight = replace(judge_context(model_of(), ALWAYS_ASK), token_budget=TokenBudget(30_000))
    verdict = judge(dossier(criteria=many, **changes), evaluation_header(), tight)
    assert (decision_of(verdict), verdict.judge_kind) == (expected, "heuristic")


# --- facts and the model --------------------------------------------------------------------------


STUB_AT = evidence_at("upload.py", 2, quote="raise NotImplementedError")
UNMET = {"evidence": [STUB_AT], "criteria": criteria("met", "missing", evidence=[STUB_AT])}


@pytest.mark.parametrize(
    ("answer", "concern", "next_step"),
    [
        (
            accept_answer(criteria=criteria("met", "met", evidence=[STUB_AT])),
            "The model, asked too, said accept; a fact stands whatever a model says.",
            None,
        ),
        (reject_answer(**UNMET), "rejects for another reason (weak_test): The test proves nothing of what is made when send is busy.", None),
        (
            reject_answer(**UNMET, category="half_finished", concern="send() only raises.", next_step="Post the data."),
            "send() only raises.",
            "Post the data.",
        ),
    ],
    ids=["accept", "another reason", "the same reason"],
)  # fmt: skip
def test_fact_rejects_whatever_the_model_answers(answer: dict[str, Any], concern: str, next_step: str | None) -> None:
    verdict = judge_dossier(model_of(answer), ALWAYS_ASK, **STUB_CHANGE)
    assert (decision_of(verdict), verdict.judge_kind) == ("reject half_finished", "llm")
    assert verdict.concern.endswith(concern)
    assert (verdict.concern == concern, verdict.next_step == next_step) == (next_step is not None,) * 2
    assert (STUB_AT["note"] in {pointer.note for pointer in verdict.evidence}) is (next_step is not None)
    assert verdict.signals["model_decision"] == answer["decision"]
    assert verdict.score < 0.5


# --- every verdict --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, model_of(accept_answer())], ids=["code", "model"])
def test_claims_are_checked_in_every_verdict(model: ScriptedModel | None) -> None:
    verdict = judge_dossier(model, case=case_with_claims(("AC1", "upload.py:send")))
    assert [claim.status for claim in verdict.claims] == ["verified", "omitted"]
    assert [criterion.claimed for criterion in verdict.criteria] == [True, False]


def reject_entry(name: str, **changes: Any) -> Any:
    return ledger_entry(reject_verdict(fingerprint=f"sha256:{name}"), **changes)


@pytest.mark.parametrize(
    ("ledger", "expected"),
    [
        ([reject_entry("other", head_sha=BASE)], 2),
        ([reject_entry("other")], 1),  # the same head, rejected by another tier
        ([reject_entry("other", head_sha=BASE), reject_entry("another", head_sha=BASE)], 2),
        ([reject_entry("other", head_sha=BASE), reject_entry("other", head_sha="c" * 40)], 2),  # an empty commit
        ([reject_entry("now")], 1),
    ],
)
def test_round_counts_rejects_of_different_content(ledger: list[Any], expected: int) -> None:
    assert judge_dossier(ledger=ledger).round == expected


def test_verdict_names_its_subject_and_survives_json() -> None:
    verdict = judge_dossier(model_of(reject_answer()))
    assert (verdict.eval_id, verdict.fingerprint, verdict.created_at) == ("0193-eval", "sha256:now", NOW)
    assert (verdict.author_agent, verdict.rubric_id) == ("copilot", "default")
    assert verdict.judge_latency_ms == 75, "four readings of a clock that advances by 25 ms"
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(verdict)) == verdict


@pytest.mark.parametrize("ids", [(" ",), ("AC1", "AC1"), ("AC2", " ", "AC1", "AC1 ")], ids=str)
def test_criteria_with_blank_or_repeated_ids_get_unique_ids(ids: tuple[str, ...]) -> None:
    verdict = judge_dossier(criteria=tuple(Criterion(id=id_, text="x") for id_ in ids))
    named = [criterion.id for criterion in verdict.criteria]
    assert len(set(named)) == len(ids)
    assert all(name.startswith("AC") for name in named)


def test_header_names_head_sha_and_fingerprint() -> None:
    header = create_header(judge_request(12, head_sha=None), dossier(), judge_context(), FixedClock(NOW))
    assert (header.subject.head_sha, header.subject.installation_id) == (dossier().pull_request.head_sha, 100)
    assert (header.created_at, header.monotonic_ms()) == (NOW, 5)
    assert header.fingerprint == fingerprint_of(dossier(), judge_context())
    assert header.eval_id.count("-") == 4


# --- any dossier ----------------------------------------------------------------------------------


WORD = st.sampled_from(
    ["retry", "docs", "é", "\u202e", "\x00", " ", "", "AC1", "a" * 300, "[[x end]]", "```", "fix: x"]
)
PROSE = st.lists(WORD, max_size=6).map(" ".join)
PATHS = "upload.py|tests/test_upload.py|README.md|a b.go|src/Main.java|x.rs|Makefile|ä.ts|gone.py|g.lock"
PATH = st.sampled_from(PATHS.split("|"))
LINE = st.sampled_from([
    "def send(data):", "    pass", "    return post(data)", "    raise NotImplementedError", "# TODO: finish", "-- a", "++ b",
    "<<<<<<< HEAD", "=======", ">>>>>>> theirs", "@pytest.mark.skip", "def test_x():", "    assert True",
    "fn main() { todo!() }", "", "\tx\r", "\u2028\ufeff", "Some prose.",
])  # fmt: skip
LINES = st.lists(LINE, min_size=1, max_size=8)


def head_file(path: str, text: str | None) -> HeadFile:
    return HeadFile(path=path, text=text, exists=text is not None)


def deleted_file(path: str, lines: list[str]) -> str:
    body = "".join(f"-{line}\n" for line in lines)
    header = (
        f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/{path}\n+++ /dev/null\n"
    )
    return f"{header}@@ -1,{len(lines)} +0,0 @@\n{body}"


def edited_file(path: str, old: list[str], new: list[str]) -> str:
    body = "".join([*(f"-{line}\n" for line in old), *(f"+{line}\n" for line in new)])
    header = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{header}@@ -1,{len(old)} +1,{len(new)} @@ def x():\n{body}\\ No newline at end of file\n"


def context_of(threshold: float, answers: list[Any] | None) -> JudgeContext:
    return judge_context(None if answers is None else model_of(*answers), threshold)


def unusual_files(path: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1\nBinary files /dev/null and b/{path} differ\n",
            f"diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n",
            f"diff --git a/{path} b/moved\nsimilarity index 100%\nrename from {path}\nrename to moved\n",
            new_file(path, "target", mode="120000"),
            new_file(path, "Subproject commit 1111111", mode="160000"),
            new_file(path),
            new_file(path) * 2,
        ]
    )


FILE = st.one_of(
    st.tuples(PATH, LINES).map(lambda drawn: new_file(drawn[0], *drawn[1])),
    st.builds(deleted_file, PATH, LINES),
    st.builds(edited_file, PATH, LINES, LINES),
    PATH.flatmap(unusual_files),
)
DIFFS = st.one_of(st.just(DIFF), st.lists(FILE, max_size=5).map("".join), st.just(""), PROSE, st.text(max_size=40))
TEXT = st.one_of(LINES.map("\n".join), st.sampled_from(list(HEAD_TEXTS.values())), st.text(max_size=30))
HEADS = st.builds(head_file, PATH, st.none() | TEXT)
CLAIM = st.builds(
    CoverageClaim,
    criterion=st.sampled_from(["AC1", "AC9", "retry"]),
    addressed_by=st.sampled_from(["upload.py:send", "gone.py", "x", "upload.py:99"]),
    evidence=st.none() | st.just("a.py"),
)
CASES = st.builds(
    Case, summary=st.just("s"), ac_coverage=st.lists(CLAIM, max_size=3).map(tuple), work_arounds=st.just(("w",))
)
CHECK = st.builds(
    CiCheck,
    name=WORD,
    conclusion=st.sampled_from([None, "success", "failure", "neutral", "odd"]),
    required=st.sampled_from([None, True, False]),
    log_tail=PROSE,
)
CIS = st.builds(Ci, state=st.none() | st.sampled_from(CiState), checks=st.lists(CHECK, max_size=3).map(tuple))
ENTRIES = st.sampled_from(
    [ledger_entry(reject_verdict()), ledger_entry(accept_verdict()), ledger_entry(abstain_verdict())]
)
DOSSIERS = st.builds(
    dossier,
    diff=DIFFS,
    files=st.none() | st.lists(HEADS, max_size=4),
    criteria=st.lists(
        st.builds(Criterion, id=st.sampled_from(["AC1", "AC2", " ", "x"]), text=st.just("docs")), max_size=4
    ),
    issues=st.lists(st.builds(Issue, number=st.just(7), title=PROSE, body=PROSE), max_size=2),
    case=st.none() | CASES,
    ci=st.none() | CIS,
    guidance=st.lists(st.builds(Guidance, path=PATH, text=PROSE), max_size=2),
    files_unread=st.lists(st.builds(UnreadFile, path=PATH, reason=st.sampled_from(UnreadReason)), max_size=2),
    ledger=st.lists(ENTRIES, max_size=7),
    contest=st.none() | PROSE,
)
DOWN = Unavailable("The model", "down")
ANSWERS = st.one_of(
    st.sampled_from(
        [
            accept_answer(),
            reject_answer(),
            cannot_tell_answer(),
            accept_answer(criteria=[], evidence=[]),
            reject_answer(criteria=[]),
            DOWN,
        ]
    ),
    st.text(max_size=20),
    st.builds(
        json.dumps, st.dictionaries(st.sampled_from(sorted(accept_answer())), st.integers() | st.text(max_size=3))
    ),
)
SCRIPTS = st.none() | st.just([DOWN]) | st.lists(ANSWERS, min_size=2, max_size=2)
THRESHOLDS = st.sampled_from([0.0, 0.5, 0.7, 1.0, 2.0])
CONTEXTS = st.builds(context_of, THRESHOLDS, SCRIPTS)
LARGE_INPUTS = settings(
    max_examples=settings().max_examples * 6 // 10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(LARGE_INPUTS, max_examples=settings().max_examples)
@given(DOSSIERS, THRESHOLDS, SCRIPTS)
def test_any_dossier_gets_the_same_valid_verdict_twice(
    judged: Dossier, threshold: float, answers: list[Any] | None
) -> None:
    verdict, repeated = (judge(judged, evaluation_header(), context_of(threshold, answers)) for _ in range(2))
    assert repeated == verdict
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(verdict)) == verdict
    facts = [finding for finding in verdict.findings if finding.fact]
    if facts and not (isinstance(verdict, Abstain) and verdict.signals.get("escalation_skipped") == "ci"):
        assert isinstance(verdict, Reject)
    if isinstance(verdict, Accept):
        assert not facts
        assert verdict.evidence
    if isinstance(verdict, Reject):
        left = [condition.text for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN]
        assert left if judged.ledger else left[0] == verdict.next_step
    if answers is None:
        assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
        assert not isinstance(verdict, Accept) or not verdict.findings
        assert not isinstance(verdict, Accept) or verdict.confidence >= min(threshold, 0.7)
    if answers == [DOWN] and threshold > 1:
        assert not isinstance(verdict, Accept), "an outage is no accept"
    if answers == [DOWN] and isinstance(verdict, Reject):
        assert facts, "an outage is no reject"


EMPTY: dict[str, Any] = {"diff": "", "files": ()}
OVER = BudgetReached(CapLevel(Cap.DAY, Decimal("0.99"), Decimal("1.00")), Decimal("0.02"))


def audit_of(model: ScriptedModel | None, of: Dossier | None = None) -> AuditRecord:
    return judge_with_record(of or dossier(), evaluation_header(), judge_context(model)).audit


def stage_outcomes(audit: AuditRecord) -> list[tuple[str, str]]:
    """The stages after the judge digest with their outcomes, without prompt sizes and signal names."""
    steps = [(step.stage.value, step.outcome) for step in audit.steps[1:]]
    bare = {Stage.HEURISTICS.value: "", Stage.QUESTION.value: "sent", Stage.CORRECTION.value: "sent"}
    return [(stage, bare.get(stage, outcome)) for stage, outcome in steps]


def test_model_accept_passes_every_stage() -> None:
    assert stage_outcomes(audit_of(model_of(accept_answer()))) == snapshot([
        ("validators", "success"),
        ("code checks", ""),
        ("route", "the model is asked"),
        ("question", "sent"),
        ("reply", "usable"),
        ("evidence", "2 places, each found"),
        ("vetoes", "none"),
        ("ruling", "accept"),
        ("verdict", "accept"),
    ])  # fmt: skip


def test_correction_is_recorded_as_second_exchange_with_the_fault() -> None:
    result = audit_of(
        model_of(accept_answer(evidence=[evidence_at(line=4000)]), accept_answer(evidence=[evidence_at()]))
    )
    assert [stage for stage, _ in stage_outcomes(result)][2:8] == snapshot(
        ["route", "question", "reply", "correction", "reply", "evidence"]
    )
    first, second = result.exchanges
    assert first.fault == "pointer"
    assert (second.turns[0], len(second.turns)) == (first.turns[0], 3)
    assert second.reply is not None
    assert (second.reply.request_id, second.reply.cost_usd) == ("req_1", Decimal("0.001"))


RED = Ci(
    state=CiState.FAILURE, checks=(CiCheck(name="unit", conclusion="failure"), CiCheck(name="lint", conclusion=None))
)
WRONG = accept_answer(evidence=[evidence_at(line=4000)])


@pytest.mark.parametrize(
    ("answers", "changes", "stage", "outcome", "reason"),
    [
        ((WRONG, accept_answer()), {}, "reply", "pointer", "`upload.py` has 9 lines at the head commit, line 4000 does not exist."),
        ((OUTAGE,), {}, "question", None, None),
        ((OUTAGE,), {}, "reply", "none came", "status 529 (overloaded_error)"),
        ((OUTAGE,), {}, "ruling", "abstain, judge_unavailable", None),
        ((TOO_LONG,), {}, "reply", "too_long", None),
        ((OVER,), {}, "ruling", "abstain, budget", None),
        ((cannot_tell_answer(),), {}, "vetoes", "none", ""),
        ((reject_answer(),), {}, "vetoes", "none", ""),
        ((reject_answer(),), {}, "evidence", None, "tests/test_upload.py:6, upload.py:2"),
        ((reject_answer(),), {}, "ruling", "reject, weak_test", "The test proves nothing of what is made when send is busy."),
        ((), EMPTY, "route", "code alone", None),
        (None, EMPTY, "code checks", None, "fact empty_diff; suspicion test_not_found"),
        (None, EMPTY, "law", None, "threshold 0.7, 5 rounds, no model"),
        (None, {"ci": RED}, "validators", "failure", "failed: unit, not finished: lint"),
        (None, {"diff": "diff --git a/x b/x\n@@ nonsense @@\n"}, "ruling", "abstain, too_large", None),
    ],
)  # fmt: skip
def test_audit_records_each_stage_with_its_reason(
    answers: tuple[Any, ...] | None, changes: dict[str, Any], stage: str, outcome: str | None, reason: str | None
) -> None:
    result = audit_of(None if answers is None else model_of(*answers), dossier(**changes))
    step = next(step for step in result.steps if step.stage == stage)
    assert outcome is None or step.outcome == outcome
    assert reason is None or step.reason.endswith(reason)
    assert len(result.exchanges) == len(answers or ())


def test_unanswered_question_is_recorded_with_budget_or_failure() -> None:
    assert audit_of(model_of(OVER)).exchanges[0].over == OverBudget(
        "day", Decimal("0.99"), Decimal("1.00"), Decimal("0.02")
    )
    assert audit_of(model_of(OUTAGE)).exchanges[0].failure == "status 529 (overloaded_error)"


LEANING = ModelOpinion(
    decision=Leaning.REJECT,
    category=Category.WEAK_TEST,
    concern="The test proves nothing.",
    next_step="Assert it.",
    scores=(Score(criterion="proof", score=2, reasoning="", improvement=""),),
    score=0.2,
    confidence=0.8,
)
REJECTED = Ruling("`retry` is a stub.", "Write it.", 0.1, 0.9, category=Category.HALF_FINISHED)


@pytest.mark.parametrize("decision", Leaning)
def test_overruled_opinion_is_recorded_as_veto_with_its_reason(decision: Leaning) -> None:
    veto = opinion_steps(LEANING.model_copy(update={"decision": decision}), REJECTED)[1]
    assert veto == Step(Stage.VETOES, f"the model's {decision} does not stand", "`retry` is a stub.")
    assert opinion_steps(None, REJECTED) == ()


def test_redaction_is_recorded_without_the_secret() -> None:
    token = "ghp_" + "a1B2" * 9
    result = audit_of(model_of(accept_answer()), dossier(issues=(Issue(number=7, title="503", body=f"use\n{token}"),)))
    assert result.redactions == (RecordedRedaction("github token", "issues[7].body", 2),)
    assert token not in str(result.exchanges)


def test_carried_over_verdict_records_no_judging_stages() -> None:
    quoted = {"path": "upload.py", "line": 9, "quote": "LIMIT = 10"}
    earlier = ledger_entry(reject_verdict(fingerprint="sha256:now", evidence=[quoted]))
    verdict = carry_over_verdict(dossier(ledger=(earlier,)), evaluation_header(), judge_context())
    assert verdict is not None
    result = carry_over_record(verdict, judge_context())
    assert [step.stage for step in result.steps] == [Stage.LAW, Stage.CARRIED, Stage.VERDICT]
    assert result.steps[1].outcome == f"from {earlier.eval_id}"


FIRST, OTHER = Step(Stage.LAW, "a"), Step(Stage.LAW, "b")


@pytest.mark.parametrize(
    ("recorded", "replayed", "difference"),
    [
        ([FIRST, FIRST], [FIRST, FIRST], None),
        ([FIRST, FIRST], [FIRST, OTHER], (FIRST, OTHER)),
        ([FIRST], [FIRST, OTHER], (None, OTHER)),
        ([FIRST, OTHER], [FIRST], (OTHER, None)),
    ],
)
def test_first_difference_is_first_stage_that_differs_or_is_missing(
    recorded: list[Step], replayed: list[Step], difference: object
) -> None:
    assert first_difference(recorded, replayed) == difference
