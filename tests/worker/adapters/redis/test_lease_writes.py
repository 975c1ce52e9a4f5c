"""Ledger, archive and vault: writes need the lease, and private content is encrypted."""

import base64
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import (
    CANARY_TOKEN,
    KEY,
    archive,
    audit_record,
    expire_lease,
    judge_request,
    ledger_entry_of,
    make_due,
    pull_ref,
    require,
    settings_for,
    start_judging_new,
    ttl_s,
)
from tests.worker.publishing.texts.samples import dossier
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import ConfigOrigin, Dossier
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import PullRequestLease
from worker.domain.model import EvalId, hash_base
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost, Unreadable
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.process import SystemClock
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, assemble
from worker.scheduling.record import VerdictRecorder
from worker.wiring.cli import RecordedSource


def append_entry(store: Store, eval_id: str, fence: int, **changes: Any) -> LedgerEntry:
    entry = ledger_entry_of(eval_id, fence, **changes)
    store.ledger.append(pull_ref(), entry)
    return entry


def test_ledger_entry_is_appended_once_and_read_oldest_first(store: Store) -> None:
    first = start_judging_new(store)
    written = append_entry(store, "b", first.lease.fence)
    store.ledger.append(pull_ref(), written)
    store.pulls.finish(first.lease, Finish.JUDGED)
    store.ledger.append(pull_ref(), written)  # after a lost reply
    second = start_judging_new(store)
    written = (written, append_entry(store, "a", second.lease.fence))
    assert (store.ledger.entries(pull_ref()), store.ledger.entries(pull_ref(2))) == (written, ())


def test_stale_lease_holder_cannot_append_or_archive(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    with pytest.raises(LeaseLost):
        append_entry(store, "a", fence + 1)
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        archive(store, ledger_entry_of("a", fence))
    with pytest.raises(LeaseLost):
        append_entry(store, "a", fence)
    store.pulls.requeue_lost("none")
    make_due(store, pull_ref())
    with pytest.raises(LeaseLost):
        append_entry(store, "a", fence)
    assert (store.ledger.entries(pull_ref()), store.archive.find(EvalId("a"))) == ((), None)


def test_dossier_and_audit_are_kept_for_a_month(store: Store) -> None:
    source = archive(store, ledger_entry_of("e", start_judging_new(store).lease.fence))
    stored = store.archive.find(EvalId("e"))
    assert stored == source
    assert require(stored).model_fields_set == source.model_fields_set, "unset fields stay unset"
    assert store.archive.audit(EvalId("e")) == audit_record("e")
    assert store.archive.time_left(EvalId("e")) == timedelta(days=30)
    assert ttl_s(store, keys.audit(EvalId("e"))) == timedelta(days=30).total_seconds()
    assert (store.archive.find(EvalId("other")), store.archive.audit(EvalId("other"))) == (None, None)
    assert store.archive.time_left(EvalId("other")) is None


def test_archive_keeps_and_lists_dossiers_for_the_set_retention(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    archive(store, ledger_entry_of("e", fence))
    short = replace(store, retention=timedelta(days=2))
    archive(short, ledger_entry_of("f", fence))
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2)
    listed = keys.archived_evals(pull_ref().installation_id, pull_ref().repository_id)
    assert ttl_s(store, listed) == timedelta(days=30).total_seconds(), "as long as the older dossier"
    assert store.client.call("ZRANGE", listed.name, 0, -1) == [b"f", b"e"]


def test_zero_retention_writes_the_ledger_only(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    nothing = replace(store, retention=timedelta(0))
    archive(nothing, ledger_entry_of("e", fence))
    nothing.ledger.append(pull_ref(), ledger_entry_of("e", fence))
    assert (store.archive.find(EvalId("e")), store.archive.audit(EvalId("e"))) == (None, None)
    assert len(store.ledger.entries(pull_ref())) == 1


def test_reevaluation_expires_with_its_parent(store: Store) -> None:
    leased = start_judging_new(store)
    archive(replace(store, retention=timedelta(days=2)), append_entry(store, "e", leased.lease.fence))
    store.pulls.finish(leased.lease, Finish.JUDGED)
    archive(store, append_entry(store, "f", leased.lease.fence, parent_eval_id=EvalId("e")))
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2)
    assert [entry.eval_id for entry in store.ledger.entries(pull_ref())] == ["e", "f"]


def test_child_dossier_is_archived_before_its_parent_by_the_lease_holder_only(store: Store) -> None:
    fence = start_judging_new(store).lease.fence
    short = replace(store, retention=timedelta(days=2))
    opinion = ledger_entry_of("f", fence, parent_eval_id=EvalId("e"))
    archive(short, ledger_entry_of("e", fence))
    archive(store, opinion)
    assert store.archive.time_left(EvalId("f")) == timedelta(days=2), "as long as the dossier of its verdict"
    expire_lease(store, pull_ref())
    with pytest.raises(LeaseLost):
        archive(store, opinion)


def dependencies(store: Store, recorded: Dossier, lease: PullRequestLease) -> JudgingDependencies:
    """The dependencies of a judging of this recorded dossier."""
    source = RecordedSource(recorded)
    return JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, lease),
        context=JudgeContext(load_rubric(), load_prompt(), 0.0),
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
    )


def test_reevaluation_is_not_in_the_assembled_ledger(store: Store) -> None:
    lease = start_judging_new(store).lease
    parent = append_entry(store, "e", lease.fence)
    append_entry(store, "f", lease.fence, parent_eval_id=EvalId("e"))
    assert assemble(judge_request(), dependencies(store, dossier(), lease)).ledger == (parent,)


def test_entry_without_its_parent_is_refused(store: Store) -> None:
    orphan = ledger_entry_of("f", 1, parent_eval_id=EvalId("e"))
    with pytest.raises(LeaseLost):
        archive(store, orphan)
    with pytest.raises(LeaseLost):
        store.ledger.append(pull_ref(), orphan)
    assert store.ledger.entries(pull_ref()) == ()


def test_audit_of_a_newer_version_is_refused(store: Store) -> None:
    key = keys.audit(EvalId("e"))
    store.client.call("SET", key.name, store.codec.seal(b'{"audit_version": 2}', key.name))
    with pytest.raises(Unreadable, match="Run the newer Assay that wrote it"):
        store.archive.audit(EvalId("e"))


def test_replaceable_values_read_as_absent_without_their_key(redis_server: RedisServer) -> None:
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


def test_vault_keeps_a_secret_for_its_lifetime(store: Store) -> None:
    store.vault.put("token:1", CANARY_TOKEN, timedelta(minutes=59))
    assert store.vault.get("token:1") == CANARY_TOKEN
    assert ttl_s(store, keys.vault("token:1")) == 59 * 60


def test_redis_files_hide_private_content(own_server: RedisServer) -> None:
    with open_store(settings_for(own_server.url)) as store:
        store_secrets(store)
        assert_files_hide_secrets(own_server.folder)
        rewrite_file(store, own_server.folder)
        assert_files_hide_secrets(own_server.folder)


def store_secrets(store: Store) -> None:
    leased = start_judging_new(store)
    store.vault.put("token:1", CANARY_TOKEN, timedelta(hours=1))
    archive(store, ledger_entry_of("e", leased.lease.fence))
    store.ledger.append(pull_ref(), ledger_entry_of("e", leased.lease.fence))
    store.client.call("SET", "visible", "canary that is not private")


def assert_files_hide_secrets(folder: Path) -> None:
    written = b"".join(path.read_bytes() for path in folder.rglob("*.*") if path.is_file())
    assert b"canary that is not private" in written, "these are the files of Redis"
    assert CANARY_TOKEN not in written
    assert b"canary_in_the_source" not in written
    assert KEY.get_secret_value().encode() not in written


def rewrite_file(store: Store, folder: Path) -> None:
    """Let the server rewrite its file, and wait until it has."""
    store.client.call("CONFIG", "SET", "rdbcompression", "no")
    store.client.call("BGREWRITEAOF")
    while "aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0" not in text(store.client.call("INFO", "persistence")):
        pass
    subprocess.run(["sync", str(folder)], check=True)
