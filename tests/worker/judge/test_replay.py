"""Replay of audit records, and shared dossiers without secrets."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given

from tests.worker.adapters.redis.outcome_samples import FixedClock
from tests.worker.judge.samples import (
    ScriptedModel,
    accept_answer,
    cannot_tell_answer,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    model_of,
    new_file,
    reject_answer,
    reply,
)
from tests.worker.judge.test_judge import CONTEXTS, DOSSIERS, LARGE_INPUTS
from worker.domain.dossier import Dossier, HeadFile, Issue, Policy
from worker.domain.model import EvalId
from worker.domain.ports import StopReason
from worker.domain.verdict.audit import EvaluatedVerdict, Replay, Stage, Step, dump_audit, read_audit
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import VERDICT_ADAPTER
from worker.dossier.diff import diff_of
from worker.errors import BudgetReached, Unavailable
from worker.judge.context import JudgeContext, Pause
from worker.judge.judge import judge, judge_with_record
from worker.judge.replay import create_child_header, make_shareable, replay, verdict_without_secrets, without_secrets
from worker.judge.rubric import load_prompt, load_rubric

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OVER = BudgetReached(CapLevel(Cap.PULL, Decimal("0.09"), Decimal("0.10")), Decimal("0.02"))
WRONG = accept_answer(evidence=[evidence_at(line=4000)])


def judge_and_store(model: ScriptedModel | None, judged: Dossier | None = None) -> EvaluatedVerdict:
    """The verdict with its audit record after a round trip through storage."""
    made = judge_with_record(judged or dossier(), evaluation_header(), judge_context(model))
    return EvaluatedVerdict(made.verdict, read_audit(dump_audit(made.audit)))


def replay_stored(first: EvaluatedVerdict, judged: Dossier | None = None) -> Replay:
    return replay(first.verdict, first.audit, judged or dossier(), load_rubric(), load_prompt())


@pytest.mark.parametrize(
    "script",
    [
        (accept_answer(),),
        (reject_answer(),),
        (cannot_tell_answer(),),
        (WRONG, accept_answer()),
        ("I think it is fine.", "Really."),
        (reply("", stop=StopReason.REFUSED), reject_answer()),
        (reply("", stop=StopReason.CONTEXT_EXCEEDED),),
        (Unavailable("The model", "status 529"),),
        (WRONG, Unavailable("The model", "status 529")),
        (OVER,),
        (WRONG, OVER),
    ],
)
def test_replay_reproduces_decision_for_any_model_behaviour(script: tuple[object, ...]) -> None:
    first = judge_and_store(model_of(*script))  # pyright: ignore[reportArgumentType] - each is one of what the script takes
    result = replay_stored(first)
    assert result.is_same, result.differing
    assert result.first_difference is None, "the same prompt is built"
    assert (result.replayed.eval_id, result.replayed.created_at) == (first.verdict.eval_id, first.verdict.created_at)


@pytest.mark.parametrize("judged", [dossier(), dossier(diff="", files=()), dossier(diff="diff --git a/x b/x\n@@ no @@\n")])  # fmt: skip
def test_replay_reproduces_decision_of_code(judged: Dossier) -> None:
    result = replay_stored(judge_and_store(None, judged), judged)
    assert (result.is_same, result.first_difference) == (True, None)


@LARGE_INPUTS
@given(DOSSIERS, CONTEXTS)
def test_replay_reproduces_any_stored_verdict(judged: Dossier, context: JudgeContext) -> None:
    entries = tuple(LedgerEntry.model_validate_json(entry.model_dump_json()) for entry in judged.ledger)
    judged = judged.model_copy(update={"ledger": entries})  # a ledger is always deserialized
    made = judge_with_record(judged, evaluation_header(), context)
    stored = Dossier.model_validate_json(judged.model_dump_json(exclude_unset=True))
    audit = read_audit(json.loads(json.dumps(dump_audit(made.audit))))
    result = replay_stored(
        EvaluatedVerdict(VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(made.verdict)), audit), stored
    )
    assert (result.differing, result.first_difference) == ((), None)


def test_paused_judging_is_replayed_as_paused() -> None:
    made = judge_with_record(dossier(), evaluation_header(), replace(judge_context(), pause=Pause.REPOSITORY))
    result = replay_stored(EvaluatedVerdict(made.verdict, read_audit(dump_audit(made.audit))))
    assert (result.is_same, result.first_difference, result.replayed.abstain_reason) == (True, None, "paused")
    assert made.audit.steps[0].reason.endswith("no model, paused by the repository")


def differing_steps(result: Replay) -> tuple[Step, Step]:
    recorded, replayed = result.first_difference or (None, None)
    assert recorded is not None
    assert replayed is not None
    return recorded, replayed


def test_altered_reply_is_the_first_difference() -> None:
    first = judge_and_store(model_of(accept_answer()))
    [exchange] = first.audit.exchanges
    assert exchange.reply is not None
    altered = replace(exchange, reply=replace(exchange.reply, text="I accept."))
    result = replay_stored(replace(first, audit=replace(first.audit, exchanges=(altered,))))
    assert "decision" in result.differing
    recorded, replayed = differing_steps(result)
    assert (recorded.stage, recorded.outcome, replayed.outcome) == (Stage.REPLY, "usable", "not_json")


def test_replay_abstains_when_a_reply_is_missing() -> None:
    first = judge_and_store(model_of(WRONG, accept_answer()))
    result = replay_stored(replace(first, audit=replace(first.audit, exchanges=first.audit.exchanges[:1])))
    assert result.replayed.abstain_reason == "judge_unavailable"
    assert differing_steps(result)[1].reason == "it holds no reply to this question"


def test_another_judge_digest_is_the_first_difference() -> None:
    first = judge_and_store(model_of(accept_answer()))
    rubric = load_rubric().model_copy(update={"version": "another"})
    result = replay(first.verdict, first.audit, dossier(), rubric, load_prompt())
    assert (result.is_same, differing_steps(result)[0].stage) == (True, Stage.LAW)


def test_rejudged_verdict_is_child_of_the_original() -> None:
    first = judge_and_store(model_of(accept_answer()))
    context = judge_context(model_of(reject_answer()))
    made = judge_with_record(
        dossier(), create_child_header(first.verdict, dossier(), context, FixedClock(NOW)), context
    )
    assert made.verdict.parent_eval_id == first.verdict.eval_id
    assert made.verdict.eval_id not in {first.verdict.eval_id, EvalId("")}
    assert (made.verdict.decision, made.verdict.created_at) == ("reject", NOW)
    assert replay_stored(made).replayed.parent_eval_id == first.verdict.eval_id


TOKEN = "ghp_" + "a1B2" * 9
PATH = f"keys/{TOKEN}.txt"


MARK = "[redacted: github token]"


def test_secrets_are_removed_from_audit_and_verdict() -> None:
    quoting = model_of(reply(f"It holds {TOKEN}."), accept_answer(concern=f"It holds {TOKEN}."))
    made = judge_with_record(dossier(), evaluation_header(), judge_context(quoting))
    shown = without_secrets(made.audit)
    assert (TOKEN in str(made.audit), TOKEN in str(shown)) == (True, False)
    assert f"It holds {MARK}." in str(shown.exchanges[0])
    assert verdict_without_secrets(made.verdict).concern == f"It holds {MARK}."
    plain = judge_with_record(dossier(), evaluation_header(), judge_context(model_of(accept_answer())))
    assert (without_secrets(plain.audit), verdict_without_secrets(plain.verdict)) == (plain.audit, plain.verdict)
    assert make_shareable(dossier()) == (dossier(), ())


def test_shared_dossier_holds_no_secret_and_stays_readable() -> None:
    secret = dossier(
        issues=(Issue(number=7, title="503", body=f"use\n{TOKEN}"),),
        diff=new_file("a.py", f'KEY = "{TOKEN}"', "x = 1"),
        files=(HeadFile(path="a.py", text=f'KEY = "{TOKEN}"\nx = 1\n'),),
    )
    shared, taken = make_shareable(secret)
    assert TOKEN not in shared.model_dump_json()
    assert {redaction.where for redaction in taken} == {"issues[7].body", "diff[a.py]", "files[a.py].text"}
    [file] = diff_of(shared.diff).files
    assert [line.text for line in file.added_lines][1] == "x = 1"


def test_secret_in_a_path_is_removed_everywhere() -> None:
    secret = dossier(diff=new_file(PATH, "x"), files=(HeadFile(path=PATH, text="x\n"),), ci=None)
    shared, _ = make_shareable(secret)
    assert TOKEN not in shared.model_dump_json()
    [file] = diff_of(shared.diff).files
    assert shared.files is not None
    assert file.path == shared.files[0].path == f"keys/{MARK}.txt"


BROKEN = f"diff --git a/x b/x\n@@ no @@\n+{TOKEN}\n"


def test_unreadable_diff_is_shared_without_secrets() -> None:
    shared, _ = make_shareable(dossier(diff=BROKEN, files=(HeadFile(path=PATH, text="x\n"),)))
    assert shared.diff == BROKEN.replace(TOKEN, MARK)
    assert TOKEN not in shared.model_dump_json()
    assert judge(shared, evaluation_header(), judge_context()).abstain_reason == "too_large"


def test_never_send_file_and_unreadable_diff_are_not_shared() -> None:
    assert make_shareable(dossier(diff=BROKEN, policy=Policy(never_send=("secret.py",))))[0].diff == ""
    shared, _ = make_shareable(dossier(policy=Policy(never_send=("upload.py",))))
    assert "reply = post(data)" not in shared.model_dump_json()
