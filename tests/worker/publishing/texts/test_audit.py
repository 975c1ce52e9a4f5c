"""Texts about recorded verdicts, API tokens and wait statuses."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.samples import HEAD, HOSTILE, STUB, abstained, accepted, dossier, rejected
from worker.adapters.redis.encryption_and_tokens import ApiTokenGrant
from worker.domain.dossier import Commit, Guidance, HeadFile
from worker.domain.model import EvalId, InstallationId
from worker.domain.verdict.audit import (
    AuditRecord,
    Exchange,
    JudgeSettings,
    RecordedRedaction,
    RecordedReply,
    Replay,
    Stage,
    Step,
)
from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    AbstainReason,
    CiFailure,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    JudgeKind,
    Side,
    SubjectKind,
    Tokens,
    Verdict,
)
from worker.judge.task_judgement import (
    CriterionJudgement,
    TaskJudgement,
    TaskRuling,
    judge_unavailable,
    judge_without_criteria,
)
from worker.publishing.texts.audit import (
    StoredCounts,
    StoredKind,
    VerdictRecord,
    created_message,
    deletion_report,
    dossier_report,
    judgement_report,
    name_taken_message,
    rejudged_note,
    replay_report,
    revoked_message,
    token_list,
    unknown_name_message,
    verdict_record,
    wait_status_text,
)
from worker.publishing.texts.terminal import TerminalPage

EVAL = EvalId("0199aaaa-0000-7000-8000-000000000001")
UNTIL = datetime(2026, 12, 20, 20, 5, tzinfo=UTC)
PAGE = TerminalPage(100)
SETTINGS = JudgeSettings("default 1", "sha256:0011", "sha256:2233", 0.7, "claude-haiku-5-5", "2026-11")
STEPS = (
    Step(Stage.LAW, "rubric default 1 (sha256:0011)", "prompt sha256:2233, threshold 0.7, model claude-haiku-5-5"),
    Step(Stage.VALIDATORS, "success"),
    Step(Stage.ROUTE, "the model is asked", "confidence 0.48 < 0.70: nothing settles it " + "and so on " * 12),
    Step(Stage.VERDICT, "reject", "score 0.10, round 1, 1 closing conditions"),
)
TOKENS = Tokens(input=812, output=95, cache_read=7, cache_write=3)
REPLY = RecordedReply("{}", "end_turn", "", TOKENS, Decimal("0.00130"), "req_1")
EXCHANGES = (
    Exchange(
        "sha256:4455", "sha256:f", ("Is it done?\n\tx = 1",), REPLY, fault="schema", problems=("score: missing.",)
    ),
    Exchange("sha256:4455", "sha256:f", ("Is it done?", "{}", "Again."), failure="status 529 (overloaded_error)"),
)


def record(**changes: object) -> AuditRecord:
    fields = {"eval_id": EVAL, "law": SETTINGS, "steps": STEPS, **changes}
    return AuditRecord(**fields)  # pyright: ignore[reportArgumentType] - each is what the field takes


def test_hostile_text_emits_no_control_characters() -> None:
    reply = RecordedReply(HOSTILE, HOSTILE, "", Tokens(), None, HOSTILE)
    hostile = record(
        steps=(Step(Stage.REPLY, HOSTILE, HOSTILE),),
        exchanges=(Exchange("s", "f", (HOSTILE,), reply, HOSTILE, (HOSTILE,)), Exchange("s", "f", ("q",), failure=HOSTILE)),
        redactions=(RecordedRedaction("jwt", HOSTILE, 1),),
    )  # fmt: skip
    pointer = EvidencePointer(path=HOSTILE, quote=HOSTILE, line=1)
    verdict = rejected(concern=HOSTILE, next_step=HOSTILE, evidence=(pointer,))
    parts = (Step(Stage.REPLY, HOSTILE), Step(Stage.REPLY, "b", HOSTILE))
    for text in (
        verdict_record(VerdictRecord(verdict, hostile, UNTIL), PAGE),
        replay_report(Replay(verdict, verdict, ("score",), parts), PAGE),
        dossier_report(dossier(), HOSTILE, (RecordedRedaction("jwt", HOSTILE, 1),), PAGE),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text


def counts(at: datetime | None = None, **counts: int) -> StoredCounts:
    return StoredCounts("acme/widgets", {StoredKind[name]: count for name, count in counts.items()}, at)


POINTER = EvidencePointer(path="output.txt", line=1, quote="name,\x1b[31mprice", note="no price")
AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def status_text(verdict: Verdict | None = None, **changes: Any) -> str:
    standard: dict[str, Any] = {"repository": "acme/widgets", "sha": HEAD, "state": "done", "why": "It was judged."}
    shown = verdict and verdict.model_dump(mode="json")
    return wait_status_text({**standard, "number": 12, "verdict": shown, **changes}, TerminalPage())


def changed_reject(**changes: Any) -> Verdict:
    """The sample reject as another decision."""
    return VERDICT_ADAPTER.validate_python(rejected().model_dump() | {"category": None, **changes})


def replay(other: Verdict, fields: tuple[str, ...] = (), parts: tuple[Step | None, Step | None] | None = None) -> str:
    return replay_report(Replay(rejected(), other, fields, parts), PAGE)


def records() -> Pages:
    verdict = rejected(
        judge_kind=JudgeKind.HYBRID, judge_model="claude-haiku-5-5", judge_cost_usd=Decimal("0.0013"),
        judge_pricing_version="2026-11", tokens=Tokens(input=812, output=95),
    )  # fmt: skip
    audit = record(exchanges=EXCHANGES, redactions=(RecordedRedaction("github token", "issues[7].body", 2),))
    whole = VerdictRecord(verdict, audit, UNTIL)
    yield "a verdict is shown with its way its evidence and every exchange", verdict_record(whole, PAGE)
    met = CriterionVerdict(
        id="AC1",
        status=CriterionStatus.MET,
        evidence=(STUB, EvidencePointer(path="old.py", line=3, side=Side.BASE, quote="x"), EvidencePointer(path="logo.png")),
    )  # fmt: skip
    origins = {"parent_eval_id": "0199-parent", "carried_from": "0199-first"}
    accept = changed_reject(decision="accept", next_step=None, score=0.9, criteria=(met,), **origins)
    yield "a verdict of code alone sent nothing", verdict_record(VerdictRecord(accept, record(), UNTIL), PAGE)
    abstain = changed_reject(decision="abstain", abstain_reason=AbstainReason.REPLY_INVALID, evidence=())
    yield "what is not kept is said", verdict_record(VerdictRecord(abstain, None, None), PAGE)


def replays_and_deletions() -> Pages:
    yield "the same decision is said to come out again", replay(rejected())
    parts = (STEPS[0], Step(Stage.LAW, "rubric default 2 (sha256:9)"))
    yield "the same decision on another way names where they part", replay(rejected(), (), parts)
    abstain = changed_reject(decision="abstain", abstain_reason="reply_invalid")
    yield (
        "another decision names the fields and the first stage that differs",
        replay(abstain, ("decision", "category"), (None, Step(Stage.CORRECTION, "12 bytes"))),
    )
    yield "fields that differ without another way are said to", replay(rejected(score=0.2), ("score",))
    yield "a re-evaluation is named as one", rejudged_note(EVAL)
    stored = counts(VERDICTS=3, PULLS=1, DOSSIERS=1, AUDITS=2, CHECKS=1, COMMANDS=1, OTHER=0)
    yield "what is stored is counted before anything is deleted", deletion_report(stored, PAGE)
    none, single = counts(VERDICTS=0), counts(VERDICTS=1)
    yield "what was forgotten is counted", deletion_report(none, PAGE, counts(VERDICTS=1, OTHER=4))
    yield "what was stored meanwhile is said", deletion_report(single, PAGE, single)
    forgotten = deletion_report(counts(UNTIL), PAGE)
    yield "nothing stored is said with the day of the forgetting", deletion_report(none, PAGE), forgotten


def records_in_part() -> Pages:
    met = CriterionVerdict(id="AC1", status=CriterionStatus.MISSING)
    unredacted = VerdictRecord(rejected(evidence=(), criteria=(met,)), record(exchanges=EXCHANGES[1:]), UNTIL)
    reply = RecordedReply("", "refusal", "cyber", Tokens(), None, None)
    unpriced = VerdictRecord(rejected(), record(exchanges=(Exchange("s", "f", ("q",), reply),)), UNTIL)
    yield (
        "a question from which nothing was taken, and a reply without price or id",
        *(verdict_record(shown, PAGE) for shown in (unredacted, unpriced)),
    )
    for kind, signals in (
        (SubjectKind.CI_CHECK, {}),
        (SubjectKind.PULL_REQUEST, {}),
        (SubjectKind.CI_CHECK, {"law": "l"}),
        (SubjectKind.PULL_REQUEST, {"law": "l"}),
        (SubjectKind.SUBMISSION, {"canary": True}),
    ):
        verdict = rejected(parent_eval_id=EvalId("0199-p"), signals=signals)
        verdict = verdict.model_copy(update={"subject": verdict.subject.model_copy(update={"kind": kind})})
        rows = verdict_record(VerdictRecord(verdict, None, None), TerminalPage(400)).partition("Redacted")
        yield f"a verdict that never had a dossier: {kind} {[*signals]}", "".join(rows[1:]).partition("\n\n")[0]


def reports() -> Pages:
    commits = (Commit(sha="a" * 40), Commit(sha="c" * 40))
    whole = dossier(
        pull_request=dossier().pull_request.model_copy(update={"commits": commits}), diff="x" * 1234,
        files=(HeadFile(path="a.py", text=""),), guidance=(Guidance(path="AGENTS.md", text=""),), case=Case(summary="done"),
    )  # fmt: skip
    redactions = (RecordedRedaction("jwt", "diff[a.py]", 7),)
    yield "a report names what it holds and what was taken out", dossier_report(whole, "report.json", redactions, PAGE)
    little = dossier_report(dossier(ci=None), "report.json", (), PAGE)
    yield "a report of little says that nothing was taken out", little
    no_price: dict[str, Any] = {"reasoning": "partial: no price", "evidence": (POINTER,)}
    judgement = TaskJudgement(
        verdict=TaskRuling.FAIL,
        reasoning="The price is missing.\nReally.",
        criteria=(
            CriterionJudgement(id="AC1", text="has a price", verdict=TaskRuling.FAIL, **no_price),
            CriterionJudgement(id="AC2", text="has a name", verdict=TaskRuling.PASS, reasoning="met"),
        ),
        next_step="Add the price.",
        cost_usd=Decimal("0.0012"),
        eval_id="e1",
    )
    yield "a judgement says each criterion with its lines", judgement_report(judgement)
    unpriced = TaskJudgement(verdict=TaskRuling.PASS, reasoning="x", cost_usd=None, eval_id="e")
    yield "a cost that is not known is not nothing", judgement_report(unpriced)
    unjudged = (judge_unavailable("status 529"), judge_without_criteria())
    yield "an output that was not judged says why", *map(judgement_report, unjudged)


def tokens_and_waits() -> Pages:
    grant = ApiTokenGrant("grafana", frozenset([InstallationId(100)]), AT)
    other_grant = ApiTokenGrant("ci", frozenset([InstallationId(200), InstallationId(100)]), AT)
    yield "tokens are listed in columns", token_list([grant, other_grant]), token_list([])
    created = (created_message("grafana", "assay_secret", installations) for installations in ([200, 100], [100]))
    yield "a new token stands alone on its line", *created
    messages = (name_taken_message("ci"), unknown_name_message("ci"), revoked_message("ci"))
    yield "what can not be done says what can", *messages
    yield "a verdict is told with its one next step", *map(status_text, (rejected(), accepted()))
    why = "@alice overrode what is said of this commit: nothing is left to do."
    yield "what was overridden asks for no next step", status_text(rejected(), overridden_by="alice", why=why)
    yield (
        "why there is none is told",
        status_text(state="pending", why="It is being judged, or is next."),
        status_text(state="superseded", why="A newer commit was pushed: \x1b[2J."),
        status_text(state="none", why="No judge is at work.", number=None),
    )
    refused = rejected(case_error="Case refused at summary (line 1 of the block): the text is empty.")
    yield "a case that cant be read is told with the one thing to mend", status_text(refused)
    log = "def f():\n    x\x1b[2J = 1\n"
    failures = (CiFailure(check="unit tests", test="tests/test_retry.py::test_503", log=log), CiFailure(check="lint"))
    red = (abstained(AbstainReason.CI_FAILED, ci_failure=failure) for failure in failures)
    yield "red ci is told with its first failing test and the log of that", *map(status_text, red)


def test_audit_texts_match_the_golden_pages(golden: Golden) -> None:
    pages = (*records(), *replays_and_deletions(), *records_in_part(), *reports(), *tokens_and_waits())
    golden.check_pages("prose/texts/audit.md", pages)
