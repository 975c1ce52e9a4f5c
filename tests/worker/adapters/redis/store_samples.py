"""Requests to judge, and functions that let time pass in Redis, so that no test has to wait."""

import base64
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import SecretStr

from tests.worker.publishing.texts.samples import dossier, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.connection.transactions import run
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.dossier import Dossier
from worker.domain.judge_request import CommandName, CommandRequest, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchedJob, DispatchLimits, LeasedJob
from worker.domain.model import EvalId, Fingerprint, Sha
from worker.domain.verdict.audit import AuditRecord, JudgeSettings, Stage, Step
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Verdict
from worker.settings import Settings, Timing

REQUESTED_AT: Final = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
HEAD, NEWER = "1" * 40, "2" * 40
KEY: Final = SecretStr(base64.b64encode(b"k" * 32).decode())
CANARY_LINE: Final = "    return canary_in_the_source_7f3a()"
CANARY_TOKEN: Final = b"ghs_canaryTokenOfTheInstallation"
DELIVERIES: Final = count(1)
CALLS: Final = count(1)
T = TypeVar("T")


def require(value: T | None) -> T:
    """The value, which must not be None."""
    assert value is not None
    return value


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether *condition* holds before the time is over."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.005)
    return True


def pull_ref(number: int = 1, installation: int = 100, repository: int = 7) -> PullRef:
    fields = {"installation_id": installation, "repository_id": repository, "number": number}
    return PullRef.model_validate(fields)


def register_pull_requests(store: Store, *refs: PullRef) -> None:
    names = [keys.pull(ref).name for ref in refs]
    store.client.call("EVAL", "for _, key in ipairs(KEYS) do redis.call('HSET', key, 'seq', 1) end", len(names), *names)


NO_LIMITS: Final = DispatchLimits(per_installation=1_000, total=1_000, outside=1_000)


def dispatch_next(store: Store, limits: DispatchLimits = NO_LIMITS) -> DispatchedJob | None:
    return store.pulls.next_due(f"call-{next(CALLS)}", limits)


def start_judging(store: Store, ref: PullRef | None = None) -> LeasedJob:
    """Lease this pull request, or the next one that is due."""
    if ref is not None:
        make_due(store, ref)
    while job := dispatch_next(store):
        if ref in (None, job.request.pull):
            return require(store.pulls.take_lease(job.request.pull, job.fence))
    raise AssertionError(ref)


def start_judging_new(store: Store, number: int = 1, **changes: Any) -> LeasedJob:
    store.pulls.request_judging(judge_request(number, **changes))
    return start_judging(store, pull_ref(number))


def ttl_s(store: Store, key: keys.Key) -> int:
    """Seconds until a key expires; -1 if it never does."""
    return whole(store.client.call("TTL", key.name))


def ledger_entry(verdict: Verdict, fence: int, head_sha: Sha = HEAD) -> LedgerEntry:
    return LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=1,
        fence=fence,
        head_sha=head_sha,
        fingerprint=Fingerprint("sha256:f"),
        diff_summary="1 file, +1 -0",
        verdict=verdict,
    )


def ledger_entry_of(eval_id: str, fence: int, **changes: Any) -> LedgerEntry:
    verdict = rejected(eval_id=EvalId(eval_id), concern=f"`{CANARY_LINE}` is never implemented.", **changes)
    return ledger_entry(verdict, fence)


def audit_record(eval_id: str) -> AuditRecord:
    settings = JudgeSettings("default 1", "sha256:r", "sha256:p", 0.7, None, None)
    return AuditRecord(EvalId(eval_id), settings, (Step(Stage.RULING, "reject", CANARY_LINE),))


def archive(store: Store, entry: LedgerEntry, of: Dossier | None = None) -> Dossier:
    source = of or dossier(diff=CANARY_LINE)
    store.archive.store(pull_ref(), entry, source, audit_record(entry.eval_id))
    return source


def record_verdict(store: Store) -> None:
    """Record a verdict and forget the state of its pull request."""
    leased = start_judging_new(store)
    store.ledger.append(pull_ref(), ledger_entry(rejected(), leased.lease.fence))
    store.pulls.finish(leased.lease, Finish.JUDGED)
    store.client.call("DEL", keys.pull(pull_ref()).name)


def judge_request(number: int = 1, installation: int = 100, **changes: Any) -> JudgeRequest:
    """A request with a new delivery ID."""
    standard: dict[str, Any] = {
        "pull": pull_ref(number, installation),
        "repository": "acme/widgets",
        "head_sha": HEAD,
        "trigger": Trigger.PUSHED,
        "delivery_id": f"delivery-{next(DELIVERIES)}",
        "requested_at": REQUESTED_AT,
    }
    return JudgeRequest(**{**standard, **changes})


def command_request(delivery: str = "comment-1") -> CommandRequest:
    return CommandRequest.model_validate(
        {
            "pull": pull_ref(),
            "repository": "acme/widgets",
            "comment_id": 5,
            "login": "alice",
            "command": CommandName.REJUDGE,
            "delivery_id": delivery,
            "asked_at": REQUESTED_AT,
        }
    )


def settings_for(url: str, timing: Timing | None = None, **changes: Any) -> Settings:
    standard: dict[str, Any] = {
        "data_dir": Path("/dev/null/nowhere"),
        "redis_url": SecretStr(url),
        "store_keys": (KEY,),
    }
    return Settings(timing=timing or Timing(quiet_window=0), **{**standard, **changes})


def expire_lease(store: Store, ref: PullRef) -> None:
    store.client.call("ZADD", keys.DISPATCHED.name, "XX", 1, keys.pull(ref).name)


def make_due(store: Store, ref: PullRef) -> None:
    """End its quiet window or its delay."""
    store.client.call("HDEL", keys.pull(ref).name, "after")
    store.client.call("HSET", keys.pull(ref).name, "due", 1)
    store.client.call("ZADD", keys.due(ref.installation_id).name, "XX", 1, keys.pull(ref).name)
    store.client.call("ZADD", keys.DUE_TURNS.name, 1, ref.installation_id)


def expire_hold(store: Store, key: keys.Key, member: str) -> None:
    store.client.call("ZADD", key.name, "XX", 1, member)


def close_pull_request(store: Store, ref: PullRef, left: timedelta) -> None:
    run(store.client, lambda transaction: intake.close_pull_request(transaction, ref, left))


def complete_check(store: Store, at: intake.CommitIdentity, timing: Timing, *, is_green: bool = False) -> IntakeOutcome:
    return run(store.client, lambda transaction: intake.retrigger_ci(transaction, at, timing, is_green=is_green))
