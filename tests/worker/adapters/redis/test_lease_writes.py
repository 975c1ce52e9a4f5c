"""Ledger, archive, vault, check runs and commands, against a real server."""

import base64
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    KEY,
    expire_lease,
    judge_request,
    make_due,
    pull_ref,
    settings_for,
    start_judging,
    ttl_s,
)
from tests.worker.publishing.texts.samples import dossier, rejected
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.dossier import ConfigOrigin, Dossier
from worker.domain.ids import EvalId, Fingerprint, hash_base
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import LeasedJob, PullRequestLease
from worker.domain.verdict.audit import AuditRecord, JudgeSettings, Stage, Step
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, assemble
from worker.scheduling.record import VerdictRecorder
from worker.wiring.cli import RecordedSource

CANARY_LINE = "    return canary_in_the_source_7f3a()"
CANARY_TOKEN = b"ghs_canaryTokenOfTheInstallation"


def ledger_entry_of(eval_id: str, fence: int, **changes: Any) -> LedgerEntry:
    verdict = rejected(eval_id=EvalId(eval_id), concern=f"`{CANARY_LINE}` is never implemented.", **changes)
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=1,
        fence=fence,
        head_sha=HEAD,
        fingerprint=Fingerprint("sha256:f"),
        diff_summary="1 file, +1 -0",
        verdict=verdict,
    )


def start_judging_new(store: Store) -> LeasedJob:
    store.pulls.request_judging(judge_request())
    return start_judging(store)


def appended(store: Store, eval_id: str, fence: int, **changes: Any) -> LedgerEntry:
    made = ledger_entry_of(eval_id, fence, **changes)
    store.ledger.append(pull_ref(), made)
    return made


def test_the_judge_appends_once_and_entries_come_oldest_first(store: Store) -> None:
    first = start_judging_new(store)
    written = appended(store, "b", first.lease.fence)
    store.ledger.append(pull_ref(), written)
    store.pulls.finish(first.lease, Finish.JUDGED)
    store.ledger.append(pull_ref(), written)  # its answer was lost
    second = start_judging_new(store)
    written = (written, appended(store, "a", second.lease.fence))
    assert (store.ledger.entries(pull_ref()), store.ledger.entries(pull_ref(2))) == (written, ())


def test_whoever_does_not_hold_the_pull_request_appends_and_keeps_nothing(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    with pytest.raises(LeaseLost):
        appended(store, "a", fence + 1)
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        archive(store, ledger_entry_of("a", fence))
    with pytest.raises(LeaseLost):
        appended(store, "a", fence)
    store.pulls.requeue_lost("none")
    make_due(store, pull_ref())
    with pytest.raises(LeaseLost):
        appended(store, "a", fence)
    assert (store.ledger.entries(pull_ref()), store.archive.find(EvalId("a"))) == ((), None)


def audit_record(eval_id: str) -> AuditRecord:
    law = JudgeSettings("default 1", "sha256:r", "sha256:p", 0.7, None, None)
    return AuditRecord(EvalId(eval_id), law, (Step(Stage.RULING, "reject", CANARY_LINE),))


def archive(store: Store, made: LedgerEntry, of: Dossier | None = None) -> Dossier:
    whole = of or dossier(diff=CANARY_LINE)
    store.archive.store(pull_ref(), made, whole, audit_record(made.eval_id))
    return whole


def test_a_dossier_and_its_audit_are_kept_for_a_month(store: Store) -> None:
    whole = archive(store, ledger_entry_of("e", start_judging_new(store).lease.fence))
    found = store.archive.find(EvalId("e"))
    assert found == whole
    assert found is not None
    assert found.model_fields_set == whole.model_fields_set, "what was left out stays left out"
    assert store.archive.audit(EvalId("e")) == audit_record("e")
    assert store.archive.time_left(EvalId("e")) == timedelta(days=30)
    assert ttl_s(store, keys.audit(EvalId("e"))) == timedelta(days=30).total_seconds()
    assert (store.archive.find(EvalId("other")), store.archive.audit(EvalId("other"))) == (None, None)
    assert store.archive.time_left(EvalId("other")) is None


def test_what_is_kept_lasts_as_long_as_the_operator_says_and_is_listed_as_long(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    archive(store, ledger_entry_of("e", fence))
    short = replace(store, retention=timedelta(days=2))
    archive(short, ledger_entry_of("f", fence))
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2)
    listed = keys.archived_evals(pull_ref().installation_id, pull_ref().repository_id)
    assert ttl_s(store, listed) == timedelta(days=30).total_seconds(), "the older one is listed on"
    assert store.client.call("ZRANGE", listed.name, 0, -1) == [b"f", b"e"]


def test_with_a_retention_of_nothing_nothing_but_the_ledger_is_written(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    nothing = replace(store, retention=timedelta(0))
    archive(nothing, ledger_entry_of("e", fence))
    nothing.ledger.append(pull_ref(), ledger_entry_of("e", fence))
    assert (store.archive.find(EvalId("e")), store.archive.audit(EvalId("e"))) == (None, None)
    assert len(store.ledger.entries(pull_ref())) == 1


def test_what_is_judged_anew_stands_beside_its_parent_and_stays_no_longer(store: Store) -> None:
    taken = start_judging_new(store)
    archive(replace(store, retention=timedelta(days=2)), appended(store, "e", taken.lease.fence))
    store.pulls.finish(taken.lease, Finish.JUDGED)
    archive(store, appended(store, "f", taken.lease.fence, parent_eval_id=EvalId("e")))
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2)
    assert [made.eval_id for made in store.ledger.entries(pull_ref())] == ["e", "f"]


def test_an_opinion_is_kept_before_its_verdict_is_on_record_by_the_judge_that_holds_the_pull_request_alone(
    store: Store,
) -> None:
    fence = start_judging_new(store).lease.fence
    short = replace(store, retention=timedelta(days=2))
    opinion = ledger_entry_of("f", fence, parent_eval_id=EvalId("e"))
    archive(short, ledger_entry_of("e", fence))
    archive(store, opinion)
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2), "as long as its verdict's"
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        archive(store, opinion)


def dependencies(store: Store, read: Dossier, lease: PullRequestLease) -> JudgingDependencies:
    """What a judging of this recorded dossier needs."""
    source = RecordedSource(read)
    return JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, lease),
        context=JudgeContext(load_rubric(), load_prompt(), 0.0),
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
    )


def test_what_was_judged_anew_is_on_record_and_no_judge_sees_it(store: Store) -> None:
    lease = start_judging_new(store).lease
    parent = appended(store, "e", lease.fence)
    appended(store, "f", lease.fence, parent_eval_id=EvalId("e"))
    assert assemble(judge_request(), dependencies(store, dossier(), lease)).ledger == (parent,)


def test_beside_a_verdict_that_is_not_there_nothing_is_recorded(store: Store) -> None:
    orphan = ledger_entry_of("f", 1, parent_eval_id=EvalId("e"))
    with pytest.raises(LeaseLost):
        archive(store, orphan)
    with pytest.raises(LeaseLost):
        store.ledger.append(pull_ref(), orphan)
    assert store.ledger.entries(pull_ref()) == ()


def test_an_audit_of_a_newer_version_is_not_guessed_at(store: Store) -> None:
    key = keys.audit(EvalId("e"))
    store.client.call("SET", key.name, store.codec.seal(b'{"audit_version": 2}', key.name))
    with pytest.raises(Unreadable, match="Run the newer Assay that wrote it"):
        store.archive.audit(EvalId("e"))


def test_what_can_be_had_again_is_as_good_as_not_there_without_its_key(redis_server: RedisServer) -> None:
    base = hash_base("main")
    with open_store(settings_for(redis_server.url)) as store:
        store.vault.put("token:1", CANARY_TOKEN, timedelta(hours=1))
        store.configs.exchange(pull_ref(), base, {ConfigOrigin.REPOSITORY: "people: judge"}, ())
    other = SecretStr(base64.b64encode(b"n" * 32).decode())
    with open_store(settings_for(redis_server.url, store_keys=(other,))) as without:
        assert without.is_key_missing()
        assert without.vault.get("token:1") is None
        assert without.configs.exchange(pull_ref(), base, {}, [ConfigOrigin.REPOSITORY]) == {}
    with open_store(settings_for(redis_server.url, store_keys=(other, KEY))) as rotated:
        assert not rotated.is_key_missing()
        assert rotated.vault.get("token:1") == CANARY_TOKEN


def test_the_vault_keeps_a_secret_for_as_long_as_it_is_good(store: Store) -> None:
    store.vault.put("token:1", CANARY_TOKEN, timedelta(minutes=59))
    assert store.vault.get("token:1") == CANARY_TOKEN
    assert ttl_s(store, keys.vault("token:1")) == 59 * 60


def test_nothing_private_stands_in_the_files_of_redis() -> None:
    redis = RedisServer.launch()
    try:
        with open_store(settings_for(redis.url)) as store:
            keep_private_things(store)
            files_show_nothing_private(redis.folder)
            rewrites(store, redis.folder)
            files_show_nothing_private(redis.folder)
    finally:
        redis.end()


def keep_private_things(store: Store) -> None:
    taken = start_judging_new(store)
    store.vault.put("token:1", CANARY_TOKEN, timedelta(hours=1))
    archive(store, ledger_entry_of("e", taken.lease.fence))
    store.ledger.append(pull_ref(), ledger_entry_of("e", taken.lease.fence))
    store.client.call("SET", "visible", "canary that is not private")


def files_show_nothing_private(folder: Path) -> None:
    written = b"".join(path.read_bytes() for path in folder.rglob("*.*") if path.is_file())
    assert b"canary that is not private" in written, "or this test looks in the wrong place"
    assert CANARY_TOKEN not in written
    assert b"canary_in_the_source" not in written
    assert KEY.get_secret_value().encode() not in written


def rewrites(store: Store, folder: Path) -> None:
    """Have the server write its file anew, and wait for the end of it."""
    store.client.call("CONFIG", "SET", "rdbcompression", "no")
    store.client.call("BGREWRITEAOF")
    while "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0" not in text(store.client.call("INFO", "persistence")):
        pass
    subprocess.run(["sync", str(folder)], check=True)
