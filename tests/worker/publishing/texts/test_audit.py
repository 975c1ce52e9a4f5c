"""What is on record of a verdict, as people read it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from inline_snapshot import snapshot

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


def test_a_verdict_is_shown_with_its_way_its_evidence_and_every_exchange() -> None:
    assert verdict_record(decided(), PAGE) == snapshot("""\
Rejected: half finished at upload.py:17
  `retry` is added and never implemented.
  Next step: Implement `retry` in upload.py: three tries on 503.

Verdict      0199aaaa-0000-7000-8000-000000000001
Of           acme/widgets#12, commit aaaaaaaaaaaa, round 1, 2026-11-20 20:05 UTC
Judged by    code checks and claude-haiku-5-5, 12 ms
Cost         $0.0013 (prices of 2026-11), tokens: 812 in, 95 out
Redacted     github token at issues[7].body:2
Kept         dossier and way until 2026-12-20 20:05 UTC

The way to it
  law          rubric default 1 (sha256:0011)
                 prompt sha256:2233, threshold 0.7, model claude-haiku-5-5
  validators   success
  route        the model is asked
                 confidence 0.48 < 0.70: nothing settles it and so on and so on and so on and so on
                 and so on and so on and so on and so on and so on and so on and so on and so on
  verdict      reject
                 score 0.10, round 1, 1 closing conditions

Evidence
  upload.py:17: found
    |     raise NotImplementedError

Question (18 bytes, after the system part sha256:4455)
  | Is it done?
  | 	x = 1

Reply (req_1, end_turn, 812 in, 95 out, 7 cached, 3 to cache, $0.00130)
  | {}
  Not usable, schema: score: missing.

Correction (6 bytes, after the system part sha256:4455)
  | Again.

No reply
  status 529 (overloaded_error)
""")


def test_a_verdict_of_code_alone_sent_nothing() -> None:
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
        "decision": "accept", "category": None, "next_step": None, "score": 0.9, "criteria": (met,),
        "parent_eval_id": "0199-parent", "carried_from": "0199-first",
    }  # fmt: skip
    assert verdict_record(VerdictRecord(Accept.model_validate(fields), record(), UNTIL), PAGE) == snapshot("""\
Accepted
  `retry` is added and never implemented.

Verdict      0199aaaa-0000-7000-8000-000000000001
Anew after   0199-parent
Carried from 0199-first
Of           acme/widgets#12, commit aaaaaaaaaaaa, round 1, 2026-11-20 20:05 UTC
Judged by    code checks alone, 12 ms
Cost         $0
Redacted     nothing was sent to a model
Kept         dossier and way until 2026-12-20 20:05 UTC

The way to it
  law          rubric default 1 (sha256:0011)
                 prompt sha256:2233, threshold 0.7, model claude-haiku-5-5
  validators   success
  route        the model is asked
                 confidence 0.48 < 0.70: nothing settles it and so on and so on and so on and so on
                 and so on and so on and so on and so on and so on and so on and so on and so on
  verdict      reject
                 score 0.10, round 1, 1 closing conditions

Evidence
  upload.py:17: found
    |     raise NotImplementedError
  old.py:3 (before the change): found
    | x
  logo.png: the file alone
""")


def test_what_is_not_kept_is_said() -> None:
    fields = rejected().model_dump() | {
        "decision": "abstain", "category": None, "abstain_reason": AbstainReason.REPLY_INVALID, "evidence": (),
    }  # fmt: skip
    assert verdict_record(VerdictRecord(Abstain.model_validate(fields), None, None), PAGE) == snapshot("""\
Not judged: the model's answer could not be used
  `retry` is added and never implemented.
  Next step: Implement `retry` in upload.py: three tries on 503.

Verdict      0199aaaa-0000-7000-8000-000000000001
Of           acme/widgets#12, commit aaaaaaaaaaaa, round 1, 2026-11-20 20:05 UTC
Judged by    code checks alone, 12 ms
Cost         $0
Redacted     unknown: how it came about is not kept
Kept         this entry of the ledger alone, so that it can be neither replayed nor reported
             (ASSAY_RETENTION_DAYS)
""")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"kind": SubjectKind.CI_CHECK},
            "a verdict on a CI check has no dossier of its own. Code made it beside 0199-p",
        ),
        ({"kind": SubjectKind.PULL_REQUEST}, "Code made it of its submissions' verdicts, the last of them 0199-p"),
        *(
            ({"kind": kind, "signals": {"law": "l"}}, "code weighed 0199-p anew. That has no dossier")
            for kind in (SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST)
        ),
        (
            {"signals": {"canary": True}},
            "a canary's verdict has no dossier of its own. It was judged from that of 0199-p",
        ),
    ],
)
def test_a_verdict_that_never_had_a_dossier_does_not_say_that_it_was_not_kept(
    changes: dict[str, Any], said: str
) -> None:
    verdict = rejected(parent_eval_id=EvalId("0199-p"), signals=changes.get("signals", {}))
    kind = changes.get("kind", SubjectKind.SUBMISSION)
    verdict = verdict.model_copy(update={"subject": verdict.subject.model_copy(update={"kind": kind})})
    told = " ".join(verdict_record(VerdictRecord(verdict, None, None), PAGE).split())
    assert said in told
    assert "ASSAY_RETENTION_DAYS" not in told
    is_code = kind is not SubjectKind.SUBMISSION
    assert ("Redacted nothing was sent to a model" if is_code else "Redacted unknown") in told


def test_a_question_from_which_nothing_had_to_be_taken_says_so() -> None:
    one = VerdictRecord(rejected(evidence=(), criteria=(CriterionVerdict(id="AC1", status=CriterionStatus.MISSING),)),
                record(exchanges=EXCHANGES[1:]), UNTIL)  # fmt: skip
    text = verdict_record(one, PAGE)
    assert "Redacted     nothing\n" in text
    assert text.startswith("Rejected: half finished\n")


def test_a_reply_without_a_price_or_an_id_says_so() -> None:
    said = RecordedReply("", "refusal", "cyber", Tokens(), None, None)
    text = verdict_record(VerdictRecord(rejected(), record(exchanges=(Exchange("s", "f", ("q",), said),)), UNTIL), PAGE)
    assert "Reply (no request id, refusal cyber, price unknown)" in text


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


def test_the_same_decision_is_said_to_come_out_again() -> None:
    assert replay_report(Replay(rejected(), rejected(), (), None), PAGE) == snapshot("""\
The same decision comes out again.
  0199aaaa-0000-7000-8000-000000000001: reject, from the recorded dossier and replies.
""")


def test_the_same_decision_on_another_way_names_where_they_part() -> None:
    parts = (STEPS[0], Step(Stage.LAW, "rubric default 2 (sha256:9)"))
    assert replay_report(Replay(rejected(), rejected(), (), parts), PAGE) == snapshot("""\
The same decision comes out again.
  0199aaaa-0000-7000-8000-000000000001: reject, from the recorded dossier and replies.
  The first stage that differs: law
    then: law: rubric default 1 (sha256:0011). prompt sha256:2233, threshold 0.7, model
    claude-haiku-5-5
    now: law: rubric default 2 (sha256:9).
""")


def test_another_decision_names_the_fields_and_the_first_stage_that_differs() -> None:
    parts = (None, Step(Stage.CORRECTION, "12 bytes"))
    abstained = Abstain.model_validate(
        rejected().model_dump() | {"decision": "abstain", "category": None, "abstain_reason": "reply_invalid"}
    )
    assert replay_report(Replay(rejected(), abstained, ("decision", "category"), parts), PAGE) == snapshot("""\
It comes out differently: reject then, abstain now.
  0199aaaa-0000-7000-8000-000000000001 differs in: decision, category.
  The first stage that differs: correction
    then: the way had ended
    now: correction: 12 bytes.
""")


def test_fields_that_differ_without_another_way_are_said_to() -> None:
    assert replay_report(Replay(rejected(), rejected(score=0.2), ("score",), None), PAGE) == snapshot("""\
It comes out differently: reject again, and not the same.
  0199aaaa-0000-7000-8000-000000000001 differs in: score.
  Every stage went the same way: what differs is in the fields alone.
""")


def test_a_judging_anew_is_told_what_it_is() -> None:
    assert rejudged_note(EVAL) == snapshot(
        "A new entry beside 0199aaaa-0000-7000-8000-000000000001. It is on record, and decides nothing about the pull request; nothing was posted."
    )


def stored(at: datetime | None = None, **counts: int) -> StoredCounts:
    return StoredCounts("acme/widgets", {StoredKind[name]: count for name, count in counts.items()}, at)


def test_what_is_stored_is_counted_before_anything_is_deleted() -> None:
    found = stored(VERDICTS=3, PULLS=1, DOSSIERS=1, AUDITS=2, CHECKS=1, COMMANDS=1, OTHER=0)
    assert deletion_report(found, PAGE) == snapshot("""\
Stored about acme/widgets: 3 verdicts, 1 pull request's state, 1 dossier, 2 records of how verdicts
came about, 1 check run's number, 1 comment not answered yet.
Nothing was deleted. This can't be undone: say --yes to delete it.
""")


def test_what_was_forgotten_is_counted() -> None:
    assert deletion_report(stored(VERDICTS=0), PAGE, stored(VERDICTS=1, OTHER=4)) == snapshot(
        "Forgotten: 1 verdict, 4 other keys of acme/widgets.\n"
    )


def test_what_was_stored_meanwhile_is_said() -> None:
    assert deletion_report(stored(VERDICTS=1), PAGE, stored(VERDICTS=1)) == snapshot("""\
Forgotten: 1 verdict of acme/widgets.
While that was deleted, more was stored: 1 verdict. Stop the App there first, then say it again.
""")


def test_nothing_stored_is_said_with_the_day_of_the_forgetting() -> None:
    assert deletion_report(stored(VERDICTS=0), PAGE) == snapshot("Nothing is stored about acme/widgets.\n")
    assert deletion_report(stored(UNTIL), PAGE) == snapshot(
        "Nothing is stored about acme/widgets; it was forgotten on 2026-12-20 20:05 UTC.\n"
    )


def test_a_report_names_what_it_holds_and_what_was_taken_out() -> None:
    pull = PullRequest(
        repository="acme/widgets", number=12, title="", body="", author="a", base_sha="b" * 40, head_sha="a" * 40,
        commits=(Commit(sha="a" * 40), Commit(sha="c" * 40)),
    )  # fmt: skip
    whole = dossier(
        pull_request=pull,
        diff="x" * 1234,
        files=(HeadFile(path="a.py", text=""),),
        guidance=(Guidance(path="AGENTS.md", text=""),),
        case=Case(summary="done"),
    )
    assert dossier_report(whole, "report.json", (RecordedRedaction("jwt", "diff[a.py]", 7),), PAGE) == snapshot("""\
Written to report.json. It holds, for each of its readers:
pull_request acme/widgets#12, title, text, 2 commits, names
diff         1,234 bytes
issues       1 issue
criteria     1 text
files        1 file
guidance     1 file
case         whole
ci           1 check, with the ends of their logs
redacted     jwt at diff[a.py]:7
Read it before you share it: what does not look like a secret was not redacted.
To judge it: assay judge --dossier report.json
""")


def test_a_report_of_little_says_that_nothing_was_taken_out() -> None:
    assert "redacted     nothing" in dossier_report(dossier(ci=None), "report.json", (), PAGE)


PLACE = EvidencePointer(path="output.txt", line=1, quote="name,\x1b[31mprice", note="no price")


def test_a_judgement_says_each_criterion_with_its_lines() -> None:
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
    assert judgement_report(judgement) == snapshot("""\
FAIL: The price is missing. Really.
  FAIL        AC1  has a price
              partial: no price
              line 1: name,␛[31mprice
  PASS        AC2  has a name
              met
Next step: Add the price.
Cost: $0.0012. More: assay show e1
""")


def test_a_cost_that_is_not_known_is_not_nothing() -> None:
    assert "Cost: not known" in judgement_report(
        TaskJudgement(verdict=TaskRuling.PASS, reasoning="x", cost_usd=None, eval_id="e")
    )


def test_what_nobody_judged_says_why() -> None:
    assert judgement_report(judge_unavailable("status 529")) == snapshot(
        "UNAVAILABLE: The judge is unavailable: status 529\n"
    )
    assert judgement_report(judge_without_criteria()) == snapshot(
        "PASS: No acceptance criteria were given, so nothing was judged.\n"
    )


AT = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


def test_a_new_token_stands_alone_on_its_line() -> None:
    assert created_message("grafana", "assay_secret", [200, 100]) == snapshot("""\
assay_secret
This is the token "grafana". It is not shown again: only its hash is kept.
It reads the figures of installations 100, 200, and the verdicts there with the lines that they quote:
  curl -H "Authorization: Bearer TOKEN" https://YOUR-ASSAY/api/analytics/quality
""")
    assert "installation 100, and" in created_message("grafana", "assay_secret", [100])


def test_tokens_are_listed_in_columns() -> None:
    one = ApiTokenGrant("grafana", frozenset([InstallationId(100)]), AT)
    other = ApiTokenGrant("ci", frozenset([InstallationId(200), InstallationId(100)]), AT)
    assert token_list([one, other]) == snapshot("""\
grafana  2026-11-20  installation 100
ci       2026-11-20  installations 100, 200
""")
    assert token_list([]) == snapshot("There is no token. Make one: assay token create NAME --installation NUMBER\n")


def test_what_can_not_be_done_says_what_can() -> None:
    assert name_taken_message("ci") == snapshot(
        'There is a token "ci" already. Choose another name, or revoke it first: assay token revoke ci\n'
    )
    assert unknown_name_message("ci") == snapshot('There is no token "ci". All there are: assay token list\n')
    assert revoked_message("ci") == snapshot('The token "ci" opens nothing any more.\n')


WAIT_PAGE = TerminalPage()


def said(**changes: Any) -> str:
    standard: dict[str, Any] = {
        "repository": "acme/widgets", "sha": HEAD, "state": "done", "why": "It was judged.", "number": 12, "verdict": None,
    }  # fmt: skip
    return wait_status_text({**standard, **changes}, WAIT_PAGE)


def test_a_verdict_is_told_with_its_one_next_step() -> None:
    assert said(verdict=rejected().model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  Next step: Implement `retry` in upload.py: three tries on 503.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
    assert said(verdict=accepted().model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): accepted
  Uploads are retried three times on 503, and a test proves it.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")


def test_what_was_overridden_asks_for_no_next_step() -> None:
    why = "@alice overrode what is said of this commit: nothing is left to do."
    assert said(verdict=rejected().model_dump(mode="json"), overridden_by="alice", why=why) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  @alice overrode what is said of this commit: nothing is left to do.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")


def test_why_there_is_none_is_told() -> None:
    assert said(state="pending", why="It is being judged, or is next.") == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): not judged yet
  It is being judged, or is next.
""")
    assert said(state="superseded", why="A newer commit was pushed: \x1b[2J.") == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): superseded
  A newer commit was pushed: ␛[2J.
""")
    assert said(state="none", why="Nobody judges it.", number=None) == snapshot("""\
acme/widgets@aaaaaaaaaaaa: no verdict is coming
  Nobody judges it.
""")


def test_red_ci_is_told_with_its_first_failing_test_and_the_log_of_that() -> None:
    failure = CiFailure(check="unit tests", test="tests/test_retry.py::test_503", log="def f():\n    x\x1b[2J = 1\n")
    verdict = abstained(AbstainReason.CI_FAILED, ci_failure=failure).model_dump(mode="json")
    assert said(verdict=verdict) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): not judged, ci failed
  Nothing was found against this change.
  First failing test: tests/test_retry.py::test_503
    def f():
        x␛[2J = 1
  Next step: Have a person review it, or configure a model.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
    bare = abstained(AbstainReason.CI_FAILED, ci_failure=CiFailure(check="lint")).model_dump(mode="json")
    assert "failing test" not in said(verdict=bare)


def test_a_case_that_cant_be_read_is_told_with_the_one_thing_to_mend() -> None:
    refused = rejected(case_error="Case refused at summary (line 1 of the block): the text is empty.")
    assert said(verdict=refused.model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  The author's case could not be read, so the change was judged without it.
  Mending it uses no round: Case refused at summary (line 1 of the block): the
  text is empty.
  Next step: Implement `retry` in upload.py: three tries on 503.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
