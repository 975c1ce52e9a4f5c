"""What is on record of a verdict, as people read it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.samples import HEAD, HOSTILE, STUB, abstained, accepted, dossier, rejected
from worker.adapters.redis.tokens import ApiTokenGrant
from worker.domain.dossier import Commit, Guidance, HeadFile, PullRequest
from worker.domain.ids import EvalId, InstallationId
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
    Abstain,
    AbstainReason,
    Accept,
    CiFailure,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    JudgeKind,
    Side,
    SubjectKind,
    Tokens,
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
LAW = JudgeSettings("default 1", "sha256:0011", "sha256:2233", 0.7, "claude-haiku-5-5", "2026-11")
STEPS = (
    Step(Stage.LAW, "rubric default 1 (sha256:0011)", "prompt sha256:2233, threshold 0.7, model claude-haiku-5-5"),
    Step(Stage.VALIDATORS, "success"),
    Step(Stage.ROUTE, "the model is asked", "confidence 0.48 < 0.70: nothing settles it " + "and so on " * 12),
    Step(Stage.VERDICT, "reject", "score 0.10, round 1, 1 closing conditions"),
)
WRONG = RecordedReply(
    "{}", "end_turn", "", Tokens(input=812, output=95, cache_read=7, cache_write=3), Decimal("0.00130"), "req_1"
)
EXCHANGES = (
    Exchange(
        "sha256:4455", "sha256:f", ("Is it done?\n\tx = 1",), WRONG, fault="schema", problems=("score: missing.",)
    ),
    Exchange("sha256:4455", "sha256:f", ("Is it done?", "{}", "Again."), failure="status 529 (overloaded_error)"),
)


def record(**changes: object) -> AuditRecord:
    fields = {"eval_id": EVAL, "law": LAW, "steps": STEPS, **changes}
    return AuditRecord(**fields)  # pyright: ignore[reportArgumentType] - each is what the field takes


def decided(**changes: object) -> VerdictRecord:
    verdict = rejected(
        judge_kind=JudgeKind.HYBRID,
        judge_model="claude-haiku-5-5",
        judge_cost_usd=Decimal("0.0013"),
        judge_pricing_version="2026-11",
        tokens=Tokens(input=812, output=95),
        **changes,
    )
    taken = (RecordedRedaction("github token", "issues[7].body", 2),)
    return VerdictRecord(verdict, record(exchanges=EXCHANGES, redactions=taken), UNTIL)


def test_what_others_wrote_can_neither_colour_nor_move_anything() -> None:
    said = RecordedReply(HOSTILE, HOSTILE, "", Tokens(), None, HOSTILE)
    hostile = record(
        steps=(Step(Stage.REPLY, HOSTILE, HOSTILE),),
        exchanges=(
            Exchange("s", "f", (HOSTILE,), said, HOSTILE, (HOSTILE,)),
            Exchange("s", "f", ("q",), failure=HOSTILE),
        ),
        redactions=(RecordedRedaction("jwt", HOSTILE, 1),),
    )
    verdict = rejected(
        concern=HOSTILE, next_step=HOSTILE, evidence=(EvidencePointer(path=HOSTILE, quote=HOSTILE, line=1),)
    )
    parts = (Step(Stage.REPLY, HOSTILE), Step(Stage.REPLY, "b", HOSTILE))
    for text in (
        verdict_record(VerdictRecord(verdict, hostile, UNTIL), PAGE),
        replay_report(Replay(verdict, verdict, ("score",), parts), PAGE),
        dossier_report(dossier(), HOSTILE, (RecordedRedaction("jwt", HOSTILE, 1),), PAGE),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text


def stored(at: datetime | None = None, **counts: int) -> StoredCounts:
    return StoredCounts("acme/widgets", {StoredKind[name]: count for name, count in counts.items()}, at)


PLACE = EvidencePointer(path="output.txt", line=1, quote="name,\x1b[31mprice", note="no price")
AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
WAIT_PAGE = TerminalPage()


def said(**changes: Any) -> str:
    standard: dict[str, Any] = {
        "repository": "acme/widgets", "sha": HEAD, "state": "done", "why": "It was judged.", "number": 12, "verdict": None,
    }  # fmt: skip
    return wait_status_text({**standard, **changes}, WAIT_PAGE)


def records() -> Pages:
    yield "a verdict is shown with its way its evidence and every exchange", verdict_record(decided(), PAGE)
    met = CriterionVerdict(
        id="AC1",
        status=CriterionStatus.MET,
        evidence=(
            STUB,
            EvidencePointer(path="old.py", line=3, side=Side.BASE, quote="x"),
            EvidencePointer(path="logo.png"),
        ),
    )
    fields = rejected().model_dump() | {
        "decision": "accept",
        "category": None,
        "next_step": None,
        "score": 0.9,
        "criteria": (met,),
        "parent_eval_id": "0199-parent",
        "carried_from": "0199-first",
    }
    yield (
        "a verdict of code alone sent nothing",
        verdict_record(VerdictRecord(Accept.model_validate(fields), record(), UNTIL), PAGE),
    )
    fields = rejected().model_dump() | {
        "decision": "abstain",
        "category": None,
        "abstain_reason": AbstainReason.REPLY_INVALID,
        "evidence": (),
    }
    yield "what is not kept is said", verdict_record(VerdictRecord(Abstain.model_validate(fields), None, None), PAGE)


def replays_and_deletions() -> Pages:
    yield "the same decision is said to come out again", replay_report(Replay(rejected(), rejected(), (), None), PAGE)
    parts = (STEPS[0], Step(Stage.LAW, "rubric default 2 (sha256:9)"))
    yield (
        "the same decision on another way names where they part",
        replay_report(Replay(rejected(), rejected(), (), parts), PAGE),
    )
    parts = (None, Step(Stage.CORRECTION, "12 bytes"))
    abstained = Abstain.model_validate(
        rejected().model_dump() | {"decision": "abstain", "category": None, "abstain_reason": "reply_invalid"}
    )
    yield (
        "another decision names the fields and the first stage that differs",
        replay_report(Replay(rejected(), abstained, ("decision", "category"), parts), PAGE),
    )
    yield (
        "fields that differ without another way are said to",
        replay_report(Replay(rejected(), rejected(score=0.2), ("score",), None), PAGE),
    )
    yield "a judging anew is told what it is", rejudged_note(EVAL)
    found = stored(VERDICTS=3, PULLS=1, DOSSIERS=1, AUDITS=2, CHECKS=1, COMMANDS=1, OTHER=0)
    yield "what is stored is counted before anything is deleted", deletion_report(found, PAGE)
    yield "what was forgotten is counted", deletion_report(stored(VERDICTS=0), PAGE, stored(VERDICTS=1, OTHER=4))
    yield "what was stored meanwhile is said", deletion_report(stored(VERDICTS=1), PAGE, stored(VERDICTS=1))
    yield (
        "nothing stored is said with the day of the forgetting",
        deletion_report(stored(VERDICTS=0), PAGE),
        deletion_report(stored(UNTIL), PAGE),
    )


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
    pull = PullRequest(
        repository="acme/widgets",
        number=12,
        title="",
        body="",
        author="a",
        base_sha="b" * 40,
        head_sha="a" * 40,
        commits=(Commit(sha="a" * 40), Commit(sha="c" * 40)),
    )
    whole = dossier(
        pull_request=pull,
        diff="x" * 1234,
        files=(HeadFile(path="a.py", text=""),),
        guidance=(Guidance(path="AGENTS.md", text=""),),
        case=Case(summary="done"),
    )
    yield (
        "a report names what it holds and what was taken out",
        dossier_report(whole, "report.json", (RecordedRedaction("jwt", "diff[a.py]", 7),), PAGE),
    )
    yield (
        "a report of little says that nothing was taken out",
        dossier_report(dossier(ci=None), "report.json", (), PAGE),
    )
    judgement = TaskJudgement(
        verdict=TaskRuling.FAIL,
        reasoning="The price is missing.\nReally.",
        criteria=(
            CriterionJudgement(
                id="AC1", text="has a price", verdict=TaskRuling.FAIL, reasoning="partial: no price", evidence=(PLACE,)
            ),
            CriterionJudgement(id="AC2", text="has a name", verdict=TaskRuling.PASS, reasoning="met"),
        ),
        next_step="Add the price.",
        cost_usd=Decimal("0.0012"),
        eval_id="e1",
    )
    yield "a judgement says each criterion with its lines", judgement_report(judgement)
    unpriced = TaskJudgement(verdict=TaskRuling.PASS, reasoning="x", cost_usd=None, eval_id="e")
    yield "a cost that is not known is not nothing", judgement_report(unpriced)
    yield (
        "what nobody judged says why",
        judgement_report(judge_unavailable("status 529")),
        judgement_report(judge_without_criteria()),
    )


def tokens_and_waits() -> Pages:
    one = ApiTokenGrant("grafana", frozenset([InstallationId(100)]), AT)
    other = ApiTokenGrant("ci", frozenset([InstallationId(200), InstallationId(100)]), AT)
    yield "tokens are listed in columns", token_list([one, other]), token_list([])
    yield (
        "a new token stands alone on its line",
        *(created_message("grafana", "assay_secret", installations) for installations in ([200, 100], [100])),
    )
    yield (
        "what can not be done says what can",
        name_taken_message("ci"),
        unknown_name_message("ci"),
        revoked_message("ci"),
    )
    yield (
        "a verdict is told with its one next step",
        said(verdict=rejected().model_dump(mode="json")),
        said(verdict=accepted().model_dump(mode="json")),
    )
    why = "@alice overrode what is said of this commit: nothing is left to do."
    yield (
        "what was overridden asks for no next step",
        said(verdict=rejected().model_dump(mode="json"), overridden_by="alice", why=why),
    )
    yield (
        "why there is none is told",
        said(state="pending", why="It is being judged, or is next."),
        said(state="superseded", why="A newer commit was pushed: \x1b[2J."),
        said(state="none", why="No judge is at work.", number=None),
    )
    refused = rejected(case_error="Case refused at summary (line 1 of the block): the text is empty.")
    yield "a case that cant be read is told with the one thing to mend", said(verdict=refused.model_dump(mode="json"))
    log = "def f():\n    x\x1b[2J = 1\n"
    failures = (CiFailure(check="unit tests", test="tests/test_retry.py::test_503", log=log), CiFailure(check="lint"))
    red = (abstained(AbstainReason.CI_FAILED, ci_failure=failure) for failure in failures)
    yield (
        "red ci is told with its first failing test and the log of that",
        *(said(verdict=verdict.model_dump(mode="json")) for verdict in red),
    )


def test_what_people_read(golden: Golden) -> None:
    golden.check_pages(
        "prose/texts/audit.md",
        [*records(), *replays_and_deletions(), *records_in_part(), *reports(), *tokens_and_waits()],
    )
