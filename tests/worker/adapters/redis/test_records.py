"""What is on record is found by its id, counted by repository, and forgotten whole."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.outcome_samples import pull_request_event
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    REQUESTED_AT,
    command_request,
    dispatch_next,
    judge_request,
    pull_ref,
)
from tests.worker.adapters.redis.test_cells import read_value
from tests.worker.adapters.redis.test_event_stream import evaluation_started
from tests.worker.adapters.redis.test_lease_writes import audit_record, ledger_entry_of, start_judging_new
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import blob, items, text
from worker.adapters.redis.keys import ADDED_REPOSITORIES, PULL_REQUEST_EVENTS
from worker.adapters.redis.records import records
from worker.adapters.redis.records.records import RedisUninstallations, RepositoryHoldings, add_repositories
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, EvalId, InstallationId, RepositoryId
from worker.domain.lifecycle.judging import Finish
from worker.domain.pause import JudgingPause
from worker.domain.pull_request_events import PullRequestEventKind, RepositoryAdded
from worker.domain.verdict.events import EvalTrigger, Event, EventKind, terminal_event
from worker.errors import LeaseLost

HERE = "acme/widgets"


def every_key(store: Store) -> dict[str, bytes]:
    """All keys of the server, with all that is in them, as bytes."""
    return {text(name): repr(read_value(store, blob(name))).encode() for name in items(store.client.call("KEYS", "*"))}


EMPTIED = keys.events(pull_ref().installation_id).name
"""A stream without entries holds the number of its last one."""


def judged(store: Store, eval_id: str = "e") -> None:
    """One pull request that was judged, and asked for again since."""
    taken = start_judging_new(store)
    made = ledger_entry_of(eval_id, taken.lease.fence)
    store.events.record_started(pull_ref(), taken.lease.fence, evaluation_started(eval_id))
    store.archive.store(pull_ref(), made, dossier(), audit_record(eval_id))
    store.ledger.append(pull_ref(), made, (terminal_event(made.verdict, EvalTrigger.BUS),))
    store.checks().record_opened(pull_ref(), HEAD, CheckRunId(77))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def waiting(store: Store) -> None:
    """What was never judged: in the queue, with its check run begun, and a comment that nobody answered."""
    store.pulls.request_judging(judge_request(2))
    store.checks().claim(pull_ref(2), HEAD)
    store.commands.put(command_request())


def holdings(store: Store, repository: str = HERE) -> RepositoryHoldings:
    return store.records().find_holdings(repository)


def forget(store: Store) -> None:
    store.records().forget(holdings(store), REQUESTED_AT)


@pytest.mark.parametrize("batch", [records.BATCH, 5])
def test_a_verdict_is_found_by_its_id_in_whatever_ledger_it_stands(
    store: Store, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(records, "BATCH", batch)
    judged(store)
    for number in range(40):
        store.client.call("SET", f"other:{number}", "")
    found = store.records().find_entry(EvalId("e"))
    assert found is not None
    assert (found.eval_id, found.verdict.subject.repository) == ("e", HERE)
    assert store.records().find_entry(EvalId("f")) is None
    assert holdings(store).verdicts == 1


def test_all_that_is_stored_about_a_repository_is_counted(store: Store) -> None:
    judged(store)
    waiting(store)
    found = holdings(store, "Acme/Widgets")
    assert not found.is_empty
    assert (found.verdicts, len(found.commands), found.forgotten_at) == (1, 1, None)
    counts = {what: found.count(what) for what in ("pull", "ledger", "dossier", "audit", "checks", "check", "kept")}
    assert counts == {"pull": 2, "ledger": 1, "dossier": 1, "audit": 1, "checks": 2, "check": 2, "kept": 1}


def test_nothing_is_stored_about_a_repository_that_was_never_seen(store: Store) -> None:
    judged(store)
    assert holdings(store, "acme/other").is_empty


@pytest.mark.parametrize("is_installation", [False, True])
def test_nothing_is_left_but_when_it_was_forgotten(store: Store, *, is_installation: bool) -> None:
    before, ids = every_key(store), (pull_ref().installation_id, pull_ref().repository_id)
    judged(store)
    waiting(store)
    store.pauses.pause(*ids)
    store.uninstallations().record_uninstalled(pull_ref().installation_id)
    if is_installation:
        assert store.records().forget_installation(pull_ref().installation_id, REQUESTED_AT) > 5
    else:
        forget(store)
        store.uninstallations().record_installed(pull_ref().installation_id)
        assert (holdings(store).is_empty, holdings(store).forgotten_at) == (True, REQUESTED_AT)
    left = {name: content for name, content in every_key(store).items() if name not in before}
    known = ("assay:delivery:", "assay:asked:", "assay:forgotten:")
    may_stay = {"assay:count", "assay:turn:due", "assay:turn:opening", "" if is_installation else EMPTIED}
    assert {name for name in left if not name.startswith(known)} <= may_stay
    everything = b"".join([*left.values(), *(name.encode() for name in left)])
    for said in (b"widgets", b":7:", b"canary", HEAD.encode(), b"pull:"):
        assert said not in everything, said
    assert not store.pauses.is_paused(*ids)
    assert (dispatch_next(store), store.pulls.next_to_open(), store.commands.next()) == (None, None, None)
    assert (store.checks().take_expired(), store.uninstallations().list_due()) == ((), ())


def test_an_evaluation_under_way_is_forgotten_before_a_watchdog_tells_of_it(store: Store) -> None:
    taken = start_judging_new(store)
    store.events.record_started(pull_ref(), taken.lease.fence, evaluation_started("e"))
    found = holdings(store)
    assert (found.events, [one.evals for one in found.owned]) == (1, [("e",)])
    store.records().forget(found, REQUESTED_AT)
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, "XX", 0, "e")
    assert store.events.end_orphaned() == 0
    assert list(store.events.read(pull_ref().installation_id)) == []


def test_an_issue_still_knows_who_closes_it_in_other_repositories(store: Store) -> None:
    judged(store)
    beside = pull_ref(repository=8)
    for one in (pull_ref(), beside):
        store.outcomes.competing_pulls(one, "mark")
    forget(store)
    name = keys.issue_pulls(pull_ref().installation_id, "mark").name
    assert items(store.client.call("ZRANGE", name, 0, -1)) == [b"8:1"]


def test_an_installation_that_left_is_due_after_the_grace_unless_it_is_back(store: Store) -> None:
    at_once = RedisUninstallations(store.client, timedelta(0))
    store.uninstallations().record_uninstalled(pull_ref().installation_id)
    assert store.uninstallations().list_due() == ()
    at_once.record_uninstalled(InstallationId(200))
    at_once.record_uninstalled(InstallationId(300))
    assert set(at_once.list_due()) == {200, 300}
    at_once.record_installed(InstallationId(300))
    assert at_once.list_due() == (200,)
    at_once.record_uninstalled(pull_ref().installation_id)
    assert at_once.list_due() == (200,), "the grace counts from the first time"


def test_what_happened_and_was_not_looked_into_is_forgotten_too(store: Store) -> None:
    judged(store)
    for repository in (7, 9, 77):
        told = {"repository_id": repository, "delivery_id": f"push-{repository}", "reverted_shas": (HEAD,)}
        store.pull_request_events.put(pull_request_event(PullRequestEventKind.REVERTED, None, **told))
    forget(store)
    left = [text(one) for one in items(store.client.call("HKEYS", PULL_REQUEST_EVENTS.texts.name))]
    assert sorted(left) == ["push-77", "push-9"]


def test_an_entry_is_forgotten_however_its_body_is_spaced(store: Store) -> None:
    judged(store)
    stream = keys.events(pull_ref().installation_id).name
    for raw in ('{"repository_id": 7, "v": 1}', '{"v":1,"repository_id":7}', '{"repository_id" :\n7 }'):
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    for raw in ('{"repository_id":77,"v":1}', '{"repository_id":7.5}', '{"number":7,"v":1}'):
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    forget(store)
    assert [one.raw for one in store.events.read(pull_ref().installation_id)] == [
        b'{"repository_id":77,"v":1}',
        b'{"repository_id":7.5}',
        b'{"number":7,"v":1}',
    ]


@pytest.mark.parametrize("is_installation", [False, True])
def test_what_belongs_to_others_stays(store: Store, *, is_installation: bool) -> None:
    judged(store)
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
    assert [told.kind for told in store.events.read(other.installation_id)] == [b"outcome.recorded"]
    job = dispatch_next(store)
    assert job is not None
    assert job.request.pull == other


def test_a_judge_that_is_at_it_loses_its_lease_and_writes_nothing(store: Store) -> None:
    taken = start_judging_new(store)
    forget(store)
    made = ledger_entry_of("e", taken.lease.fence)
    with pytest.raises(LeaseLost):
        taken.lease.renew()
    with pytest.raises(LeaseLost):
        store.archive.store(pull_ref(), made, dossier(), audit_record("e"))
    with pytest.raises(LeaseLost):
        store.ledger.append(pull_ref(), made)
    assert holdings(store).is_empty


def test_a_dossier_whose_verdict_was_never_written_is_forgotten_too(store: Store) -> None:
    made = ledger_entry_of("e", start_judging_new(store).lease.fence)
    store.archive.store(pull_ref(), made, dossier(), audit_record("e"))
    found = holdings(store)
    assert (found.verdicts, found.count("dossier")) == (0, 1)
    store.records().forget(found, REQUESTED_AT)
    assert store.archive.find(EvalId("e")) is None


def test_a_repository_of_which_nothing_is_known_but_its_pause_is_forgotten_with_that(store: Store) -> None:
    where = (pull_ref().installation_id, pull_ref().repository_id)
    store.pauses.pause(*where, JudgingPause(repository="acme/quiet"))
    held = store.records().find_holdings("acme/quiet")
    assert (held.count("paused"), held.is_empty) == (1, False)
    store.records().forget(held, REQUESTED_AT)
    assert not store.pauses.is_paused(*where)
    assert store.records().find_holdings("acme/quiet").is_empty


# Repositories that are new to us


def greeting(repository: int = 7) -> RepositoryAdded:
    return RepositoryAdded(
        installation_id=pull_ref().installation_id,
        repository_id=RepositoryId(repository),
        repository="acme/widgets",
        since=REQUESTED_AT,
    )


def test_a_repository_that_is_new_to_us_is_looked_at_until_it_is_done(store: Store) -> None:
    add_repositories(store.client, [])
    add_repositories(store.client, [greeting(number) for number in range(1, 103)])
    add_repositories(store.client, [greeting(1)])
    assert store.client.call("ZCARD", ADDED_REPOSITORIES.order.name) == 102
    waiting = store.added_repositories.next()
    assert waiting is not None
    store.added_repositories.complete(waiting.added)
    assert store.client.call("ZCARD", ADDED_REPOSITORIES.order.name) == 101


def test_what_is_left_of_a_repository_comes_after_a_while(store: Store) -> None:
    store.added_repositories.continue_later(greeting(), timedelta(minutes=1))
    assert store.added_repositories.next() is None
    store.added_repositories.postpone(greeting().model_copy(update={"page": 1}), timedelta(0))
    rest = store.added_repositories.next()
    assert rest is not None
    assert rest.added.page == 1
