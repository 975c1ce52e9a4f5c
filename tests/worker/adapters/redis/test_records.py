"""Records are found by ID, counted by repository, and forgotten completely."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    REQUESTED_AT,
    audit_record,
    command_request,
    dispatch_next,
    judge_request,
    ledger_entry_of,
    pull_ref,
    require,
    start_judging_new,
)
from tests.worker.adapters.redis.test_cells import read_value
from tests.worker.adapters.redis.test_ledger_and_events import evaluation_started
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys, records
from worker.adapters.redis.connection.client import blob, items, text
from worker.adapters.redis.keys import ADDED_REPOSITORIES, PULL_REQUEST_EVENTS
from worker.adapters.redis.records import RedisUninstallations, RepositoryHoldings, add_repositories
from worker.adapters.redis.store import Store
from worker.domain.github_events import PullRequestEventKind, RepositoryAdded
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import CheckRunId, EvalId, InstallationId, RepositoryId
from worker.domain.time_range import JudgingPause
from worker.domain.verdict.events import EvalTrigger, Event, EventKind, terminal_event
from worker.errors import LeaseLost

REPOSITORY = "acme/widgets"


def dump_keys(store: Store) -> dict[str, bytes]:
    """All keys of the server with their values as bytes."""
    return {text(name): repr(read_value(store, blob(name))).encode() for name in items(store.client.call("KEYS", "*"))}


EMPTIED_STREAM = keys.events(pull_ref().installation_id).name
"""A stream without entries still holds the ID of its last entry."""


def judge_once(store: Store, eval_id: str = "e") -> None:
    """Judge a pull request, with a dossier, events and an open check run."""
    leased = start_judging_new(store)
    entry = ledger_entry_of(eval_id, leased.lease.fence)
    store.events.record_started(pull_ref(), leased.lease.fence, evaluation_started(eval_id))
    store.archive.store(pull_ref(), entry, dossier(), audit_record(eval_id))
    store.ledger.append(pull_ref(), entry, (terminal_event(entry.verdict, EvalTrigger.BUS),))
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(77))
    store.pulls.finish(leased.lease, Finish.JUDGED)


def queue_work(store: Store) -> None:
    store.pulls.request_judging(judge_request(2))
    store.checks().claim(pull_ref(2), HEAD)
    store.commands.put(command_request())


def find_holdings(store: Store, repository: str = REPOSITORY) -> RepositoryHoldings:
    return store.records().find_holdings(repository)


def forget(store: Store) -> None:
    store.records().forget(find_holdings(store), REQUESTED_AT)


@pytest.mark.parametrize("batch", [records.BATCH, 5])
def test_ledger_entry_is_found_by_its_eval_id(store: Store, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(records, "BATCH", batch)
    judge_once(store)
    for number in range(40):
        store.client.call("SET", f"other:{number}", "")
    entry = require(store.records().find_entry(EvalId("e")))
    assert (entry.eval_id, entry.verdict.subject.repository) == ("e", REPOSITORY)
    assert store.records().find_entry(EvalId("f")) is None
    assert find_holdings(store).verdicts == 1


def test_holdings_of_a_repository_are_counted(store: Store) -> None:
    judge_once(store)
    queue_work(store)
    assert find_holdings(store, "acme/other").is_empty
    held = find_holdings(store, "Acme/Widgets")
    assert not held.is_empty
    assert (held.verdicts, len(held.commands), held.forgotten_at) == (1, 1, None)
    counts = {what: held.count(what) for what in ("pull", "ledger", "dossier", "audit", "checks", "check", "kept")}
    assert counts == {"pull": 2, "ledger": 1, "dossier": 1, "audit": 1, "checks": 2, "check": 2, "kept": 1}


@pytest.mark.parametrize("is_installation", [False, True])
def test_forgotten_repository_or_installation_leaves_nothing(store: Store, *, is_installation: bool) -> None:
    before, ids = dump_keys(store), (pull_ref().installation_id, pull_ref().repository_id)
    judge_once(store)
    queue_work(store)
    store.pauses.pause(*ids)
    store.uninstallations().record_uninstalled(pull_ref().installation_id)
    if is_installation:
        assert store.records().forget_installation(pull_ref().installation_id, REQUESTED_AT) > 5
    else:
        forget(store)
        store.uninstallations().record_installed(pull_ref().installation_id)
        assert (find_holdings(store).is_empty, find_holdings(store).forgotten_at) == (True, REQUESTED_AT)
    left = {name: content for name, content in dump_keys(store).items() if name not in before}
    prefixes = ("assay:delivery:", "assay:asked:", "assay:forgotten:")
    may_stay = {"assay:count", "assay:turn:due", "assay:turn:opening", "" if is_installation else EMPTIED_STREAM}
    assert {name for name in left if not name.startswith(prefixes)} <= may_stay
    everything = b"".join([*left.values(), *(name.encode() for name in left)])
    for secret in (b"widgets", b":7:", b"canary", HEAD.encode(), b"pull:"):
        assert secret not in everything, secret
    assert not store.pauses.is_paused(*ids)
    assert (dispatch_next(store), store.pulls.next_to_open(), store.commands.next()) == (None, None, None)
    assert (store.checks().take_expired(), store.uninstallations().list_due()) == ((), ())


def test_open_evaluation_is_forgotten_with_its_repository(store: Store) -> None:
    leased = start_judging_new(store)
    store.events.record_started(pull_ref(), leased.lease.fence, evaluation_started("e"))
    held = find_holdings(store)
    assert (held.events, [pull_keys.evals for pull_keys in held.owned]) == (1, [("e",)])
    store.records().forget(held, REQUESTED_AT)
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, "XX", 0, "e")
    assert store.events.end_orphaned() == 0
    assert list(store.events.read(pull_ref().installation_id)) == []


def test_issue_keeps_its_pull_requests_of_other_repositories(store: Store) -> None:
    judge_once(store)
    for repository in (7, 8):
        store.outcomes.competing_pulls(pull_ref(repository=repository), "mark")
    forget(store)
    name = keys.issue_pulls(pull_ref().installation_id, "mark").name
    assert items(store.client.call("ZRANGE", name, 0, -1)) == [b"8:1"]


def test_uninstalled_installation_is_due_after_the_grace_period(store: Store) -> None:
    immediate = RedisUninstallations(store.client, timedelta(0))
    store.uninstallations().record_uninstalled(pull_ref().installation_id)
    assert store.uninstallations().list_due() == ()
    immediate.record_uninstalled(InstallationId(200))
    immediate.record_uninstalled(InstallationId(300))
    assert set(immediate.list_due()) == {200, 300}
    immediate.record_installed(InstallationId(300))
    assert immediate.list_due() == (200,)
    immediate.record_uninstalled(pull_ref().installation_id)
    assert immediate.list_due() == (200,), "the grace period starts with the first event"


def test_queued_events_are_forgotten_with_their_repository(store: Store) -> None:
    judge_once(store)
    for repository in (7, 9, 77):
        fields = {"repository_id": repository, "delivery_id": f"push-{repository}", "reverted_shas": (HEAD,)}
        store.pull_request_events.put(pull_request_event(PullRequestEventKind.REVERTED, None, **fields))
    forget(store)
    left = [text(name) for name in items(store.client.call("HKEYS", PULL_REQUEST_EVENTS.texts.name))]
    assert sorted(left) == ["push-77", "push-9"]


def test_stream_entry_is_forgotten_with_any_json_spacing(store: Store) -> None:
    judge_once(store)
    stream = keys.events(pull_ref().installation_id).name
    for raw in ('{"repository_id": 7, "v": 1}', '{"v":1,"repository_id":7}', '{"repository_id" :\n7 }'):
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    others = [b'{"repository_id":77,"v":1}', b'{"repository_id":7.5}', b'{"number":7,"v":1}']
    for raw in others:
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    forget(store)
    assert [event.raw for event in store.events.read(pull_ref().installation_id)] == others


@pytest.mark.parametrize("is_installation", [False, True])
def test_forgetting_keeps_the_data_of_others(store: Store, *, is_installation: bool) -> None:
    judge_once(store)
    other = pull_ref(7, installation=200) if is_installation else pull_ref(7, repository=9)
    event = Event(EventKind.OUTCOME, {"repository_id": 77, "number": 1})
    store.events.publish(other.installation_id, "d", event)
    store.pulls.request_judging(judge_request(pull=other, repository="acme/other"))
    store.checks().record_opened(other, HEAD, CheckRunId(78))
    if is_installation:
        store.records().forget_installation(pull_ref().installation_id, REQUESTED_AT)
    else:
        forget(store)
    assert store.checks().open_checks(other) == {HEAD: 78}
    assert [event.kind for event in store.events.read(other.installation_id)] == [b"outcome.recorded"]
    assert require(dispatch_next(store)).request.pull == other


def test_lease_holder_of_a_forgotten_repository_writes_nothing(store: Store) -> None:
    leased = start_judging_new(store)
    forget(store)
    entry = ledger_entry_of("e", leased.lease.fence)
    with pytest.raises(LeaseLost):
        leased.lease.renew()
    with pytest.raises(LeaseLost):
        store.archive.store(pull_ref(), entry, dossier(), audit_record("e"))
    with pytest.raises(LeaseLost):
        store.ledger.append(pull_ref(), entry)
    assert find_holdings(store).is_empty


def test_dossier_without_a_verdict_is_forgotten(store: Store) -> None:
    entry = ledger_entry_of("e", start_judging_new(store).lease.fence)
    store.archive.store(pull_ref(), entry, dossier(), audit_record("e"))
    held = find_holdings(store)
    assert (held.verdicts, held.count("dossier")) == (0, 1)
    store.records().forget(held, REQUESTED_AT)
    assert store.archive.find(EvalId("e")) is None


def test_pause_alone_is_forgotten_with_its_repository(store: Store) -> None:
    ids = (pull_ref().installation_id, pull_ref().repository_id)
    store.pauses.pause(*ids, JudgingPause(repository="acme/quiet"))
    held = store.records().find_holdings("acme/quiet")
    assert (held.count("paused"), held.is_empty) == (1, False)
    store.records().forget(held, REQUESTED_AT)
    assert not store.pauses.is_paused(*ids)
    assert store.records().find_holdings("acme/quiet").is_empty


def added_repository(repository: int = 7) -> RepositoryAdded:
    return RepositoryAdded(
        installation_id=pull_ref().installation_id,
        repository_id=RepositoryId(repository),
        repository="acme/widgets",
        since=REQUESTED_AT,
    )


def test_added_repository_is_queued_until_completed(store: Store) -> None:
    add_repositories(store.client, [])
    add_repositories(store.client, [added_repository(number) for number in range(1, 103)])
    add_repositories(store.client, [added_repository(1)])
    assert store.client.call("ZCARD", ADDED_REPOSITORIES.order.name) == 102
    pending = require(store.added_repositories.next())
    store.added_repositories.complete(pending.added)
    assert store.client.call("ZCARD", ADDED_REPOSITORIES.order.name) == 101


def test_added_repository_continues_after_its_delay(store: Store) -> None:
    store.added_repositories.continue_later(added_repository(), timedelta(minutes=1))
    assert store.added_repositories.next() is None
    store.added_repositories.postpone(added_repository().model_copy(update={"page": 1}), timedelta(0))
    assert require(store.added_repositories.next()).added.page == 1
