"""Vetoes of code against accepts without proof, and rejects that the change contradicts, deny a name or cite a missing rule."""

from typing import Any

import pytest

from tests.worker.judge.samples import (
    ALWAYS_ASK,
    HEAD_TEXTS,
    accept_answer,
    cannot_tell_answer,
    case_with_claims,
    criteria,
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
from worker.domain.dossier import Ci, CiCheck, CiState, Criterion, Guidance, HeadFile, Policy, UnreadFile, UnreadReason
from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import (
    Category,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Leaning,
    ModelOpinion,
)
from worker.judge.checks.vetoes import (
    MOST_CHARACTERS,
    SHOWN_CHARACTERS,
    find_missing_rule,
    find_refuted_claim,
    is_test_or_text,
)
from worker.judge.judge import judge_with_record
from worker.judge.llm.reply import ReplyFault

AT_TEST = evidence_at("tests/test_upload.py", 6)
BY_TESTS = accept_answer(criteria=criteria("met", "met", evidence=[AT_TEST]))
SETTLED = accept_answer(settled=[{"id": "q1", "why": "It is here.", "evidence": [evidence_at("upload.py", 3)]}])
"""An accept that settles the suspicions about the case."""

POLICY = Policy(signals={"cited_line_missing": "suspicion"})
"""Makes a claim past the end of a file a suspicion; as a fact it rejects on its own."""


@pytest.mark.parametrize("reason", list(UnreadReason))
def test_unread_file_vetoes_an_accept(reason: UnreadReason) -> None:
    verdict = judge_dossier(
        model_of(accept_answer()), ALWAYS_ASK, files_unread=(UnreadFile(path="big.json", reason=reason),)
    )
    assert decision_of(verdict) == "abstain too_large"


@pytest.mark.parametrize("criterion", ["AC1", "AC1: retried", "an upload is retried on 503"])
def test_contradicted_claim_vetoes_an_accept(criterion: str) -> None:
    case = case_with_claims((criterion, "upload.py:99"))
    verdict = judge_dossier(model_of(SETTLED), ALWAYS_ASK, policy=POLICY, case=case)
    assert decision_of(verdict) == "abstain needs_human"
    assert verdict.concern == (
        f'The model accepts, but what the author claims for AC1 is not so: "{criterion} -> upload.py:99": '
        "upload.py has 9 lines."
    )
    assert (verdict.next_step or "").startswith("The author corrects the claim for AC1")
    assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("claims", "accept")
    assert verdict.composite == 8.0, "the scores of the model are recorded"


WRONG_CLAIM = case_with_claims(("AC1", "upload.py:99"))


@pytest.mark.parametrize(
    ("answer", "case", "expected"),
    [
        (SETTLED, case_with_claims(("AC1", "upload.py:2"), ("AC2", "tests/test_upload.py:6")), "accept"),
        (SETTLED, case_with_claims(("AC9", "upload.py:99")), "accept"),
        (SETTLED, case_with_claims(("AC1", "elsewhere.py:2")), "accept"),
        (SETTLED, case_with_claims(), "accept"),
        (SETTLED, None, "accept"),
        (reject_answer(), WRONG_CLAIM, "reject weak_test"),
        (cannot_tell_answer(), WRONG_CLAIM, "abstain needs_human"),
    ],
    ids=["verified", "no such criterion", "unsupported", "omitted", "no case", "a reject", "no decision"],
)
def test_claims_veto_only_contradicted_accepts(answer: dict[str, Any], case: Case | None, expected: str) -> None:
    verdict = judge_dossier(model_of(answer), ALWAYS_ASK, policy=POLICY, case=case)
    assert (decision_of(verdict), verdict.signals.get("vetoed_by")) == (expected, None)


# --- criteria shown by tests only -----------------------------------------------------------------


def test_accept_shown_by_tests_only_is_corrected_once() -> None:
    model = model_of(BY_TESTS, accept_answer())
    assert decision_of(judge_dossier(model, ALWAYS_ASK)) == "accept"
    assert "1. AC1: you point at tests or texts only" in model.prompts[1].turns[2]
    assert "AC2" not in model.prompts[1].turns[2], "AC2 asks for a test"


def test_accept_shown_by_tests_only_twice_needs_a_human() -> None:
    judged = judge_with_record(dossier(), evaluation_header(), judge_context(model_of(BY_TESTS, BY_TESTS), ALWAYS_ASK))
    assert (decision_of(judged.verdict), judged.verdict.signals["vetoed_by"]) == ("abstain needs_human", "evidence")
    assert "shows AC1 by tests or texts only" in judged.verdict.concern
    assert [exchange.fault for exchange in judged.audit.exchanges] == ["evidence", None]


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
def test_criterion_about_a_test_or_text_may_be_shown_by_one(text: str) -> None:
    asked = (Criterion(id="AC1", text=text), Criterion(id="AC2", text="a test shows it"))
    answer = {**BY_TESTS, "settled": [{"id": "q1", "why": "It does.", "evidence": [AT_TEST]}]}
    assert decision_of(judge_dossier(model_of(answer), ALWAYS_ASK, criteria=asked)) == "accept"


def test_test_only_change_may_be_shown_by_tests() -> None:
    diff = new_file("tests/test_more.py", "def test_more():", "    assert send(b'x')")
    met = criteria("met", "met", evidence=[evidence_at("tests/test_more.py", 2, quote="assert send(b'x')")])
    verdict = judge_dossier(model_of(accept_answer(criteria=met)), ALWAYS_ASK, diff=diff, files=None)
    assert verdict.decision == "accept"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ("tests/test_a.py src/a.test.ts README.md docs/guide.rst LICENSE", True),
        ("src/a.py docs/conf.py settings.yml a.rb", False),
    ],
)
def test_tests_and_texts_are_recognized_by_path(paths: str, *, expected: bool) -> None:
    assert {path: is_test_or_text(path) for path in paths.split()} == dict.fromkeys(paths.split(), expected)


# --- breakdowns -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [{"scores": []}, {}], ids=["no scores", "scores"])
def test_suspected_infrastructure_failure_is_not_scored(scores: dict[str, Any]) -> None:
    answer = cannot_tell_answer(
        breakdown="infrastructure", next_step="Run e2e again.", evidence=[evidence_at()], **scores
    )
    verdict = judge_dossier(model_of(answer), ALWAYS_ASK)
    assert (decision_of(verdict), verdict.next_step) == ("abstain needs_human", "Run e2e again.")
    assert verdict.concern.startswith("The run, and not the change, seems to have failed, so nothing was scored: ")
    assert (verdict.scores, verdict.composite, verdict.confidence) == ((), None, 0.3)
    assert verdict.signals["breakdown"] == "infrastructure"


# --- rejects --------------------------------------------------------------------------------------


VAGUE = "This must not be merged."
AT_CODE = evidence_at("upload.py", 3)
OPEN = criteria("unverifiable", "unverifiable")


def reject_for(category: str, evidence: dict[str, Any] | None, concern: str = VAGUE, **changes: Any) -> dict[str, Any]:
    bare = {**evidence, "note": ""} if evidence else None
    fields = {"category": category, "evidence": [bare] if bare else [], "concern": concern, "next_step": "Mend it."}
    return reject_answer(**{"criteria": OPEN, **fields, **changes})


def is_kept(reply: dict[str, Any], **changes: Any) -> bool:
    """Whether the reject is published when the model repeats it."""
    verdict = judge_dossier(model_of(reply, reply), ALWAYS_ASK, **changes)
    if verdict.decision != "reject":
        assert (decision_of(verdict), verdict.evidence) == ("abstain needs_human", ())
        assert (verdict.signals["vetoed_by"], verdict.signals["model_decision"]) == ("change", "reject")
    return verdict.decision == "reject"


def unmet(status: str, *evidence: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": "AC1", "status": status, "evidence": [{**location, "note": ""} for location in evidence]}]


def criterion_of(text: str, *, inferred: bool = False) -> tuple[Criterion, ...]:
    return (Criterion(id="AC1", text=text, inferred=inferred),)


RETRIED, LOGGED = "`send` tries on each `attempt`", "each try is written to `audit_log`"
SPREAD = "A busy upload gets another attempt"
"""A text whose words are in the change but not on one line."""
UNLOGGED = "Nothing is written to the audit log."
UNPRINTED = "Invoices are not printed, and uploads fail."
NOTES = new_file("notes.md", "`send` tries on each `attempt`.")


OVER, NO_ATTEMPT = "`post` is called once too often.", "A busy upload gets no attempt."


@pytest.mark.parametrize(
    ("status", "text", "evidence", "concern", "is_supported"),
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
        ("missing", "x", (), VAGUE, True),  # no word to search for
        ("missing", SPREAD, (), NO_ATTEMPT, False),
        ("partial", SPREAD, (AT_CODE,), NO_ATTEMPT, True),
        ("missing", "A busy printer gets another invoice", (), "No busy printer gets an invoice.", True),
        ("missing", "A test covers a busy upload at another hour", (), "No test covers an hour.", True),
    ],
)
def test_unmet_criterion_supports_reject_that_names_it_unless_changed(
    status: str, text: str, evidence: tuple[Any, ...], concern: str, *, is_supported: bool
) -> None:
    reply = reject_for("acceptance_gap", AT_CODE, concern, criteria=unmet(status, *evidence))
    assert is_kept(reply, criteria=criterion_of(text)) is is_supported


@pytest.mark.parametrize(
    ("status", "evidence", "criteria", "concern", "changes", "is_supported"),
    [
        ("partial", (AT_CODE,), criterion_of(LOGGED), OVER, {}, True),  # evidence of a criterion is enough
        # of an inferred criterion some words are enough
        ("missing", (), criterion_of("Uploads fail when a reply has a busy status", inferred=True), UNPRINTED, {}, False),
        ("missing", (), criterion_of("Print invoices as PDF", inferred=True), UNPRINTED, {}, True),
        ("missing", (), criterion_of(RETRIED), VAGUE, {"diff": NOTES, "files": None}, True),  # a text file does not count
    ],
)  # fmt: skip
def test_unmet_criterion_supports_reject_without_evidence(
    status: str,
    evidence: tuple[Any, ...],
    criteria: tuple[Criterion, ...],
    concern: str,
    changes: dict[str, Any],
    *,
    is_supported: bool,
) -> None:
    reply = reject_for("acceptance_gap", None, concern, criteria=unmet(status, *evidence))
    assert is_kept(reply, criteria=criteria, **changes) is is_supported


@pytest.mark.parametrize(
    ("category", "evidence", "concern", "is_supported"),
    [
        ("half_finished", AT_CODE, "The loop ends before `post` was tried again.", True),
        ("half_finished", AT_CODE, VAGUE, False),
        ("tests_pass_but_wrong", AT_CODE, "`send` returns whatever `post` says.", True),
        ("tests_pass_but_wrong", AT_CODE, VAGUE, False),
        ("weak_test", AT_TEST, "A busy server is not shown to be asked again.", True),
        ("weak_test", AT_TEST, VAGUE, False),
        ("weak_test", AT_CODE, "`post` is not shown to be asked again.", True),
        ("spec_violation", AT_CODE, "AGENTS.md forbids loops around `post`.", True),
        ("spec_violation", AT_CODE, 'It breaks "no loops around post".', True),
        ("spec_violation", AT_CODE, "AC1 forbids loops around `post`.", True),
        ("spec_violation", AT_CODE, "Loops around `post` are forbidden.", False),
        # code is not a rule
        ("spec_violation", AT_CODE, 'Wrong: "for attempt in range(3):" loops around `post`.', False),
        ("spec_violation", AT_CODE, 'Broken: "post must stay the last call" stands above `send`.', True),
    ],
)
def test_evidence_supports_reject_that_is_about_its_line(
    category: str, evidence: dict[str, Any], concern: str, *, is_supported: bool
) -> None:
    rules = (Guidance(path="AGENTS.md", text="No loops around post."),)
    file = HeadFile(path="upload.py", text=f"{HEAD_TEXTS['upload.py']}# post must stay the last call\n")
    assert is_kept(reject_for(category, evidence, concern), guidance=rules, files=(file,)) is is_supported


@pytest.mark.parametrize(
    ("next_step", "status"),
    [("Change `post` in upload.py:3 so that it tries again.", "missing"), ("Write to the audit log.", "partial")],
)
def test_next_step_does_not_support_a_reject(next_step: str, status: str) -> None:
    assert not is_kept(reject_for("half_finished", AT_CODE, next_step=next_step))
    vague = reject_for("acceptance_gap", AT_CODE, criteria=unmet(status), next_step=next_step)
    assert not is_kept(vague, criteria=criterion_of(LOGGED))


def test_spec_violation_must_name_the_broken_rule() -> None:
    reply = reject_for("spec_violation", AT_CODE, UNLOGGED, criteria=unmet("missing"))
    assert not is_kept(reply, criteria=criterion_of(LOGGED))
    assert not is_kept({**reply, "evidence": []}, criteria=criterion_of(LOGGED))
    named = reject_for("spec_violation", AT_CODE, f"AC1 is broken. {UNLOGGED}", criteria=unmet("missing"))
    assert is_kept(named, criteria=criterion_of(LOGGED))


def test_suspicion_at_same_line_supports_a_reject() -> None:
    debug = new_file("upload.py", "def send(data):", "    print(data)", "    return post(data)")
    here = evidence_at("upload.py", 2, quote="    print(data)")
    changes: dict[str, Any] = {"diff": debug, "files": None}
    assert is_kept(reject_for("half_finished", here), **changes)
    assert not is_kept(reject_for("tests_pass_but_wrong", here), **changes)


def test_unsupported_claim_supports_a_spec_violation() -> None:
    broken = reject_for("spec_violation", AT_CODE, "The case claims `post` is called with jitter.")
    assert is_kept(broken, case=case_with_claims(("AC1", "upload.py:jitter")))
    assert not is_kept(broken)


def test_file_without_lines_supports_reject_that_names_it() -> None:
    runs = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    changes: dict[str, Any] = {"diff": runs + new_file("a.py", "x = 1"), "files": None}
    named = reject_for("half_finished", evidence_at("run.sh", None), "Nothing says why run.sh may run.")
    assert is_kept(named, **changes)
    assert not is_kept(reject_for("half_finished", evidence_at("run.sh", None)), **changes)


OTHERS = "".join(
    new_file(f"uploads/retry_{name}.py", f"def retry_upload_{name}(data):", f"    return retry_{name}(upload(data))")
    for name in "abc"
)
FOREIGN = new_file(
    "billing/invoice_pdf.py",
    *(f"def render_ledger_{name}(canvas): return paint_{name}(canvas)" for name in "abcdefghijkl"),
)


def test_scope_creep_does_not_stand_on_related_file() -> None:
    changes: dict[str, Any] = {
        "diff": OTHERS + FOREIGN, "files": None, "pull_request": pull_request(title="Retry uploads"),
    }  # fmt: skip
    tied = evidence_at("uploads/retry_a.py", 1, quote="def retry_upload_a(data):")
    apart = evidence_at("billing/invoice_pdf.py", 1, quote="def render_ledger_a(canvas): return paint_a(canvas)")
    concern = "No issue asks for ledgers."
    assert not is_kept(reject_for("scope_creep", tied, concern), **changes)
    assert is_kept(reject_for("scope_creep", apart, "No issue asks for invoice_pdf."), **changes)
    assert is_kept(reject_for("scope_creep", apart), **changes), "code suspects it too"
    both = {**reject_for("scope_creep", apart, concern), "evidence": [{**tied, "note": ""}, {**apart, "note": ""}]}
    verdict = judge_dossier(model_of(both, both), ALWAYS_ASK, **changes)
    assert decision_of(verdict) == "reject scope_creep"
    assert [pointer.path for pointer in verdict.evidence] == ["billing/invoice_pdf.py"], (
        "unsupported evidence is dropped"
    )


def test_scope_creep_stands_in_a_change_of_many_files() -> None:
    many = "".join(new_file(f"uploads/retry_{number}.py", f"retry_upload = {number}") for number in range(31))
    here = evidence_at("uploads/retry_3.py", 1, quote="retry_upload = 3")
    assert is_kept(reject_for("scope_creep", here, "No issue asks for uploads."), diff=many, files=None)
    assert not is_kept(reject_for("scope_creep", here, "No issue asks for this."), diff=many, files=None)


def test_unsupported_unmet_criterion_becomes_unverifiable() -> None:
    asks = (Criterion(id="AC1", text=RETRIED), Criterion(id="AC2", text=LOGGED))
    missed = reject_for("acceptance_gap", None, UNLOGGED, criteria=criteria("missing", "missing"))
    verdict = judge_dossier(model_of(missed, missed), ALWAYS_ASK, criteria=asks)
    assert decision_of(verdict) == "reject acceptance_gap"
    assert [criterion.status for criterion in verdict.criteria] == ["unverifiable", "missing"]
    assert verdict.criteria[0].note == "called unmet, though the change speaks of it"


def test_unsupported_reject_is_corrected_once() -> None:
    model = model_of(reject_for("half_finished", AT_CODE), accept_answer())
    judged = judge_with_record(dossier(), evaluation_header(), judge_context(model, ALWAYS_ASK))
    assert judged.verdict.decision == "accept"
    first = judged.audit.exchanges[0]
    assert first.fault == ReplyFault.EVIDENCE
    assert "No word of the reject is about what stands at upload.py:3." in first.problems[0]


UPLOAD = "from net import backoff\n\n\ndef upload(data):\n    return backoff(send(data))\n\n\nclass Sender:\n    async def send(self): ...\n"
NET = "LIMIT = 3\n\n\ndef backoff(reply):\n    return reply\n\n\ndef jitter():\n    return 0\n"
GO = "package a\n\nfunc (s *Sender) Dial() error { return nil }\n"
SCRIPT = "const { post } = require('./http')\nexport default async function go() {}\nexport const get = () => 1\n"
HTTP = "module.exports = { post }\nfunction post() {}\n"
BUSY = "try:\n    go()\nexcept BusyError:\n    raise TimeoutError\n"
JAVA = "class Sender {\n    public void close() throws IOException {\n    }\n}\n"
TEXTS = {
    "upload.py": UPLOAD,
    "net.py": NET,
    "a.go": GO,
    "go.js": SCRIPT,
    "http.js": HTTP,
    "Sender.java": JAVA,
    "busy.py": BUSY,
}
FILES = (*(HeadFile(path=path, text=text) for path, text in TEXTS.items()), HeadFile(path="gone.py", exists=False))


def reject_saying(
    concern: str, path: str = "upload.py", category: Category = Category.HALF_FINISHED, **changes: Any
) -> ModelOpinion:
    fields: dict[str, Any] = {
        "decision": Leaning.REJECT,
        "category": category,
        "concern": concern,
        "evidence": (EvidencePointer(path=path, line=1),),
        "next_step": "Do it.",
        "score": 0.2,
        "confidence": 0.9,
    }
    return ModelOpinion(**{**fields, **changes})


def find_definition(answer: ModelOpinion, **changes: Any) -> str | None:
    """The location of the name that the reject denies."""
    claim = find_refuted_claim(answer, dossier(**changes))
    if claim is None:
        return None
    assert f"`{claim.name}" in answer.concern
    return f"{claim.path}:{claim.line}{' (imported)' if claim.is_imported else ''}"


@pytest.mark.parametrize(
    ("concern", "path", "expected"),
    [
        ("`send` is not defined.", "upload.py", "upload.py:9"),
        ("It calls `send()`, but `send()` is never defined anywhere", "upload.py", "upload.py:9"),
        ("The helper `send` in upload.py does not exist.", "upload.py", "upload.py:9"),
        ("The function `backoff` is missing.", "upload.py", "net.py:4"),
        ("`backoff` function is absent; nothing works.", "upload.py", "net.py:4"),
        ("The loop uses the undefined function `backoff`.", "upload.py", "net.py:4"),
        ("There is no function `upload` here.", "upload.py", "upload.py:4"),
        ("The definition of `backoff` is missing.", "upload.py", "net.py:4"),
        ("It imports `backoff`. `backoff` doesn't exist.", "upload.py", "net.py:4"),
        ("`Dial` is not defined.", "a.go", "a.go:3"),
        ("`go` is not declared.", "go.js", "go.js:2"),
        ("`get` is not declared.", "go.js", "go.js:3"),
        ("`post` does not exist.", "go.js", "http.js:2"),
        ("`nothing` is not defined, and `send` is not defined.", "upload.py", "upload.py:9"),
        ("`jitter` is not defined.", "upload.py", "net.py:8"),  # whatever the evidence names
        ("`backoff` is not defined.", "a.go", "net.py:4"),
        ("`send` is not defined.", "elsewhere.py", "upload.py:9"),
        ("`jitter` is missing.", "upload.py", "net.py:8"),
        ("There is no `jitter`.", "upload.py", "net.py:8"),
        ("`LIMIT` does not exist.", "upload.py", "net.py:1"),
        ("`close` does not exist.", "upload.py", "Sender.java:2"),
        ("`send` isn't defined.", "upload.py", "upload.py:9"),
        ("`send` hasn't been added", "upload.py", "upload.py:9"),
        ("`send` was never introduced by this change.", "upload.py", "upload.py:9"),
        ("`send` no longer exists.", "upload.py", "upload.py:9"),
        ("`send` appears nowhere.", "upload.py", "upload.py:9"),
        ("`send` cannot be found in the repository.", "upload.py", "upload.py:9"),
        ("Yet `send` has no definition.", "upload.py", "upload.py:9"),
        ("`send` is undefined.", "upload.py", "upload.py:9"),
        ("The methods `jump` and `send` do not exist.", "upload.py", "upload.py:9"),
        ("Neither `jump` nor `send` exists.", "upload.py", "upload.py:9"),
        ("Nothing defines `send`.", "upload.py", "upload.py:9"),
        ("The change never adds the `send` method.", "upload.py", "upload.py:9"),
        ("net.py does not define `backoff`.", "upload.py", "net.py:4"),
        ("The module lacks `backoff`.", "upload.py", "net.py:4"),
        ("The class has no `send`.", "upload.py", "upload.py:9"),
        ("The change comes without a `backoff` helper.", "upload.py", "net.py:4"),
        ("I could not find `backoff`.", "upload.py", "net.py:4"),
        ("It omits the function `backoff`.", "upload.py", "net.py:4"),
        ("`BusyError` is not handled.", "upload.py", "busy.py:3"),
        ("`BusyError` is never caught", "upload.py", "busy.py:3"),
        ("Nothing handles `BusyError`.", "upload.py", "busy.py:3"),
        ("The loop leaves an unhandled `BusyError`.", "upload.py", "busy.py:3"),
        ("`TimeoutError` is not handled.", "upload.py", None),  # it is only raised
        ("`send` is not handled.", "upload.py", None),
        ("The loop returns without `send`.", "upload.py", None),  # denies the call
        ("The finally block lacks `send`.", "upload.py", None),
        ("The loop has no `send` call.", "upload.py", None),
        ("Nothing calls `send`.", "upload.py", None),
        ("`send` is not called.", "upload.py", None),
        ("`send` is not implemented.", "upload.py", None),  # a stub exists
        ("`send` is not tested.", "upload.py", None),
        ("`send` is missing in the changelog.", "upload.py", None),
        ("`send` is not there in the documentation.", "upload.py", None),
        ("If `send` is undefined, nothing is told.", "upload.py", None),
        ("The change does not add `send` to the exports.", "upload.py", None),
        ("Nothing defines what `send` returns.", "upload.py", None),
        ("It does not exist only as `send`.", "upload.py", None),
        ("`LIMITS` is not defined.", "net.py", None),
        ("A call of `send` is missing.", "upload.py", None),
        ("`send` is missing its argument.", "upload.py", None),
        ("The function `send` is missing a return.", "upload.py", None),
        ("When `send` does not exist, nothing is told.", "upload.py", None),
        ("`send` is not defined for empty data.", "upload.py", None),
        ("send is not defined.", "upload.py", None),
        ("`send` is defined and never called.", "upload.py", None),
        ("`Sender.send` does not exist.", "upload.py", None),
    ],
)
def test_denied_name_is_found_at_its_definition(concern: str, path: str, expected: str | None) -> None:
    assert find_definition(reject_saying(concern, path), files=FILES) == expected


IMPORTING_TEXTS = {
    "upload.py": "from net import backoff\nfrom pkg.retry import jitter\nfrom pkg.late import wait, pause\nfrom tools import clock\nimport limits\n\n\ndef upload(data):\n    return send(data)\n",
    "pkg/retry.py": "def wait():\n    return 0\n",
    "pkg/__init__.py": "",
    "tools/__init__.py": "",
    "src/main.rs": "use crate::net::dial;\nuse crate::wire::{send, take};\nuse crate::far::look;\n",
    "src/net.rs": "pub fn hang_up() {}\n",
    "src/wire/mod.rs": "mod a;\n",
    "send.ts": "import { post } from './http'\nimport { get } from './api'\nimport { late } from '../net/wait.js';\n",
    "net/wait.ts": "export const soon = 1\n",
    "api/index.ts": "export * from './get'\nexport { get } from './get'\n",
}


@pytest.mark.parametrize(
    ("concern", "path", "expected"),
    [
        ("`backoff` is not defined anywhere.", "upload.py", "upload.py:1 (imported)"),
        ("`post` does not exist.", "send.ts", "send.ts:1 (imported)"),
        ("`get` does not exist.", "send.ts", "send.ts:2 (imported)"),  # re-exported from an unread file
        ("`pause` is not defined.", "upload.py", "upload.py:3 (imported)"),  # pkg/late.py was not read
        ("`look` is not defined.", "src/main.rs", "src/main.rs:3 (imported)"),
        ("`dial` is not defined.", "src/main.rs", None),  # src/net.rs was read
        ("`take` is not defined.", "src/main.rs", None),
        ("`late` is not defined.", "send.ts", None),  # net/wait.ts was read
        ("`jitter` is not defined.", "upload.py", None),  # pkg/retry.py was read
        ("`clock` is not defined.", "upload.py", None),  # tools/__init__.py was read
        ("`send` is not defined.", "upload.py", None),  # no import names it
    ],
)
def test_denied_name_is_found_at_import_from_unread_file(concern: str, path: str, expected: str | None) -> None:
    files = tuple(HeadFile(path=path, text=text) for path, text in IMPORTING_TEXTS.items())
    assert find_definition(reject_saying(concern, path), files=files) == expected


def test_denied_name_is_found_in_the_diff_without_head_texts() -> None:
    added = "diff --git a/net.py b/net.py\n--- a/net.py\n+++ b/net.py\n@@ -3,0 +4,2 @@\n+def wait(seconds):\n+    sleep(seconds)\n"
    assert find_definition(reject_saying("`wait` is missing."), files=None, diff=added) == "net.py:4"
    assert find_definition(reject_saying("`sleep` is missing."), files=None, diff=added) is None


def test_denied_name_is_not_refuted_when_diff_removes_its_definition() -> None:
    files = (HeadFile(path="upload.py", text=IMPORTING_TEXTS["upload.py"]),)
    gone = "diff --git a/net.py b/net.py\n--- a/net.py\n+++ b/net.py\n@@ -1,3 +1,1 @@\n-def backoff(reply):\n-    return reply\n LIMIT = 3\n"
    answer = reject_saying("`backoff` is not defined anywhere.")
    assert find_definition(answer, files=files, diff=gone) is None
    assert find_definition(answer, files=files, diff=gone.replace("backoff", "other")) is not None


def test_denied_name_is_searched_with_evidence_of_criteria() -> None:
    evidence = (EvidencePointer(path="net.py", line=1),)
    unmet = CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=evidence)
    answer = reject_saying("`jitter` is not defined.", evidence=(), criteria=(unmet,))
    assert find_definition(answer, files=FILES) == "net.py:8"


@pytest.mark.parametrize("decision", [Leaning.ACCEPT, Leaning.CANNOT_TELL])
def test_only_rejects_are_searched_for_denied_names(decision: Leaning) -> None:
    bare: dict[str, Any] = {"decision": decision, "category": None, "next_step": None}
    assert find_definition(reject_saying("`send` is not defined.", **bare), files=FILES) is None
    assert find_missing_rule(reject_saying("CLAUDE.md forbids it.", **bare), dossier()) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        UPLOAD + " " * MOST_CHARACTERS,
        # patterns that once took minutes
        "static\n" * 50_000,
        "static " * 50_000,
        "import a, " * 40_000,
        "fn (" * 90_000,
    ],
    ids=["none", "too long", "static lines", "static", "import", "fn"],
)
def test_missing_and_too_long_texts_are_skipped(text: str | None) -> None:
    files = None if text is None else (HeadFile(path="upload.py", text=text),)
    assert find_definition(reject_saying("`send` is not defined."), files=files) is None


def answer_denying(category: str, concern: str) -> dict[str, Any]:
    return reject_answer(category=category, evidence=[evidence_at("upload.py", 2)], concern=concern)


DENIES_DEFINED = answer_denying("half_finished", "`send` is not defined.")
OBJECTS = answer_denying("half_finished", "The loop ends at any attempt.")
INVENTS_RULE = answer_denying("spec_violation", "CLAUDE.md forbids loops.")


@pytest.mark.parametrize(
    ("answers", "expected", "veto"),
    [
        ((DENIES_DEFINED, DENIES_DEFINED), "abstain needs_human", "names"),
        ((DENIES_DEFINED, accept_answer()), "accept", None),
        ((DENIES_DEFINED, OBJECTS), "reject half_finished", None),
        ((INVENTS_RULE, INVENTS_RULE), "abstain needs_human", "rules"),
        ((INVENTS_RULE, accept_answer()), "accept", None),
    ],
)
def test_refuted_reject_is_corrected_once_and_then_needs_a_human(
    answers: tuple[dict[str, Any], ...], expected: str, veto: str | None
) -> None:
    verdict = judge_dossier(model_of(*answers))
    assert (decision_of(verdict), verdict.signals.get("vetoed_by")) == (expected, veto)
    assert veto != "rules" or "CLAUDE.md" in verdict.concern


def test_repeated_denial_of_imported_name_needs_a_human() -> None:
    files = (HeadFile(path="upload.py", text=f"{HEAD_TEXTS['upload.py']}from net import backoff\n"),)
    denial = answer_denying("half_finished", "`backoff` is not defined anywhere.")
    verdict = judge_dossier(model := model_of(denial, denial), files=files)
    assert (decision_of(verdict), len(model.prompts)) == ("abstain needs_human", 2)
    assert verdict.concern == (
        "The model rejects because backoff is not there, also when told that line 10 of upload.py takes it from elsewhere."
    )
    assert verdict.next_step == "A person looks whether backoff is there: what defines it was not read."


RULES = Guidance(
    path="AGENTS.md",
    text="# Rules\n\n- **Never** edit files in `dist/`: run\n  `make gen` instead.\n- See docs/CONTRIBUTING.md, too.\n",
)
CHECKED = Ci(
    state=CiState.SUCCESS, checks=(CiCheck(name="lint", conclusion="success", summary="3 warnings: line too long"),)
)


def missing_rule(concern: str, category: Category = Category.SPEC_VIOLATION, **changes: Any) -> str | None:
    return find_missing_rule(reject_saying(concern, category=category), dossier(**changes))


@pytest.mark.parametrize(
    ("concern", "rule"),
    [
        ('AGENTS.md says "never edit files in dist".', None),
        ("AGENTS.md says \u201cNever edit files in `dist/`: run `make gen`\u201d.", None),
        ('AGENTS.md says "Never edit \u2026 run `make gen` instead".', None),
        ('AGENTS.md says "Never edit files in ... always".', "Never edit files in ... always"),
        ('AGENTS.md says "never write to the log".', "never write to the log"),
        ('The issue asks: "Never edit files in src".', "Never edit files in src"),
        ("CLAUDE.md forbids it.", "CLAUDE.md"),
        ("docs/agents/AGENTS.md forbids it.", "docs/agents/AGENTS.md"),
        ("docs/CONTRIBUTING.md forbids it.", None),  # a read file names it
        ("agents.md forbids it.", None),
        ("It breaks .cursorrules of this repository.", ".cursorrules"),
        ('The function is called "too early".', None),
        ('It prints "line too long" again.', None),
        ('It breaks "reply = post(data)" of the module.', None),
        ("It breaks the rule on generated files.", None),
    ],
)
def test_spec_violation_must_quote_an_existing_rule(concern: str, rule: str | None) -> None:
    assert missing_rule(concern, guidance=(RULES,), ci=CHECKED) == rule


def test_unread_rules_file_counts_as_existing() -> None:
    unread = (UnreadFile(path="CLAUDE.md", reason=UnreadReason.TOO_LARGE),)
    assert missing_rule("CLAUDE.md forbids it.", files_unread=unread) is None


def test_only_spec_violations_are_checked_for_rules() -> None:
    assert missing_rule("CLAUDE.md forbids it.", Category.HALF_FINISHED) is None


def test_long_rule_quote_is_cut() -> None:
    rule = missing_rule(f'AGENTS.md says "{"never edit it " * 20}".', guidance=(RULES,))
    assert rule is not None
    assert (len(rule), rule[-1]) == (SHOWN_CHARACTERS, "…")
