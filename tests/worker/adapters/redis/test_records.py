"""What is on record is found by its id, counted by repository, and forgotten whole."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, command, pull, wish
from tests.worker.adapters.redis.test_event_stream import begun
from tests.worker.adapters.redis.test_kept import audit, entry, judging
from tests.worker.adapters.redis.watching import happening
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text
from worker.adapters.redis.keys import PULL_REQUEST_EVENTS
from worker.adapters.redis.records import records
from worker.adapters.redis.records.records import RedisUninstallations
from worker.adapters.redis.store import Store
from worker.domain.ids import CheckRunId, EvalId, InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits
from worker.domain.pause import JudgingPause
from worker.domain.pull_request_events import PullRequestEventKind
from worker.domain.verdict.events import EvalTrigger, Event, EventKind, terminal_event
from worker.errors import LeaseLost

HERE = "acme/widgets"


def every_key(store: Store) -> dict[str, bytes]:
    """All keys of the server, with all that is in them, as bytes."""
    return {text(name): repr(_content(store, text(name))).encode() for name in items(store.client.call("KEYS", "*"))}


def _content(store: Store, name: str) -> object:
    read = {
        "string": ("GET", name),
        "hash": ("HGETALL", name),
        "set": ("SMEMBERS", name),
        "zset": ("ZRANGE", name, 0, -1, "WITHSCORES"),
        "list": ("LRANGE", name, 0, -1),
        "stream": ("XRANGE", name, "-", "+"),
    }
    return store.client.call(*read[text(store.client.call("TYPE", name))])


EMPTIED = keys.events(pull().installation_id).name
"""A stream without entries holds the number of its last one."""


def judged(store: Store, eval_id: str = "e") -> None:
    """One pull request that was judged, and asked for again since."""
    taken = judging(store)
    made = entry(eval_id, taken.lease.fence)
    store.events.record_started(pull(), taken.lease.fence, begun(eval_id))
    store.archive.store(pull(), made, dossier(), audit(eval_id))
    store.ledger.append(pull(), made, (terminal_event(made.verdict, EvalTrigger.BUS),))
    store.checks().record_opened(pull(), HEAD, CheckRunId(77))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def waiting(store: Store) -> None:
    """What was never judged: in the queue, with its check run begun, and a comment that nobody answered."""
    store.pulls.request_judging(wish(2))
    store.checks().claim(pull(2), HEAD)
    store.commands.put(command())


def test_a_verdict_is_found_by_its_id_in_whatever_ledger_it_stands(store: Store) -> None:
    judged(store)
    found = store.records().find_entry(EvalId("e"))
    assert found is not None
    assert (found.eval_id, found.verdict.subject.repository) == ("e", HERE)
    assert store.records().find_entry(EvalId("f")) is None


def test_all_is_looked_through_however_much_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(store)
    for number in range(40):
        store.client.call("SET", f"other:{number}", "")
    monkeypatch.setattr(records, "BATCH", 5)
    assert store.records().find_entry(EvalId("e")) is not None
    assert store.records().find_holdings(HERE).verdicts == 1


def test_all_that_is_stored_about_a_repository_is_counted(store: Store) -> None:
    judged(store)
    waiting(store)
    found = store.records().find_holdings("Acme/Widgets")
    assert not found.is_empty
    assert (found.verdicts, len(found.commands), found.forgotten_at) == (1, 1, None)
    counts = {what: found.count(what) for what in ("pull", "ledger", "dossier", "audit", "checks", "check", "kept")}
    assert counts == {"pull": 2, "ledger": 1, "dossier": 1, "audit": 1, "checks": 2, "check": 2, "kept": 1}


def test_nothing_is_stored_about_a_repository_that_was_never_seen(store: Store) -> None:
    judged(store)
    assert store.records().find_holdings("acme/other").is_empty


def test_nothing_is_left_of_a_repository_but_when_it_was_forgotten(store: Store) -> None:
    before = every_key(store)
    judged(store)
    waiting(store)
    store.pauses.pause(pull().installation_id, pull().repository_id)
    store.records().forget(store.records().find_holdings(HERE), AT)
    assert not store.pauses.is_paused(pull().installation_id, pull().repository_id)
    left = {name: content for name, content in every_key(store).items() if name not in before}
    tombstone = keys.tombstone(HERE).name
    deliveries = [name for name in left if name.startswith(("assay:delivery:", "assay:asked:"))]
    assert set(left) - set(deliveries) <= {tombstone, "assay:count", "assay:turn:due", "assay:turn:opening", EMPTIED}
    everything = b"".join([*left.values(), *(name.encode() for name in left)])
    for said in (b"widgets", b":7:", b"canary", HEAD.encode(), b"pull:"):
        assert said not in everything, said
    assert store.records().find_holdings(HERE).is_empty
    assert store.records().find_holdings(HERE).forgotten_at == AT
    assert store.pulls.next_due("after", DispatchLimits(1, 10)) is None
    assert store.pulls.next_to_open() is None
    assert store.commands.next() is None
    assert store.checks().take_expired() == ()


def test_an_evaluation_under_way_is_forgotten_before_a_watchdog_tells_of_it(store: Store) -> None:
    taken = judging(store)
    store.events.record_started(pull(), taken.lease.fence, begun("e"))
    found = store.records().find_holdings(HERE)
    assert (found.events, [one.evals for one in found.owned]) == (1, [("e",)])
    store.records().forget(found, AT)
    store.client.call("ZADD", keys.EVALUATION_DEADLINES.name, "XX", 0, "e")
    assert store.events.end_orphaned() == 0
    assert list(store.events.read(pull().installation_id)) == []


def test_nothing_is_left_of_an_installation_but_when_it_was_forgotten(store: Store) -> None:
    before = every_key(store)
    judged(store)
    waiting(store)
    store.pauses.pause(pull().installation_id, pull().repository_id)
    store.uninstallations().record_uninstalled(pull().installation_id)
    assert store.records().forget_installation(pull().installation_id, AT) > 5
    left = {name: content for name, content in every_key(store).items() if name not in before}
    known = ("assay:delivery:", "assay:asked:", "assay:forgotten:")
    others = [name for name in left if not name.startswith(known)]
    assert set(others) <= {"assay:count", "assay:turn:due", "assay:turn:opening"}
    everything = b"".join([*left.values(), *(name.encode() for name in left)])
    for said in (b"widgets", b"canary", HEAD.encode(), b"pull:"):
        assert said not in everything, said
    assert store.pulls.next_due("after", DispatchLimits(1, 10)) is None
    assert store.commands.next() is None
    assert store.uninstallations().list_due() == ()


def test_an_issue_still_knows_who_closes_it_in_other_repositories(store: Store) -> None:
    judged(store)
    beside = pull(repository=8)
    for one in (pull(), beside):
        store.outcomes.competing_pulls(one, "mark")
    store.records().forget(store.records().find_holdings(HERE), AT)
    name = keys.issue_pulls(pull().installation_id, "mark").name
    assert items(store.client.call("ZRANGE", name, 0, -1)) == [b"8:1"]


def test_other_installations_stay(store: Store) -> None:
    judged(store)
    other = pull(7, installation=200)
    store.pulls.request_judging(wish(pull=other))
    store.records().forget_installation(pull().installation_id, AT)
    due = store.pulls.next_due("after", DispatchLimits(1, 10))
    assert due is not None
    assert due.request.pull == other


def test_an_installation_that_left_is_due_after_the_grace_unless_it_is_back(store: Store) -> None:
    at_once = RedisUninstallations(store.client, timedelta(0))
    store.uninstallations().record_uninstalled(pull().installation_id)
    assert store.uninstallations().list_due() == ()
    at_once.record_uninstalled(InstallationId(200))
    at_once.record_uninstalled(InstallationId(300))
    assert set(at_once.list_due()) == {200, 300}
    at_once.record_installed(InstallationId(300))
    assert at_once.list_due() == (200,)
    at_once.record_uninstalled(pull().installation_id)
    assert at_once.list_due() == (200,), "the grace counts from the first time"


def test_what_happened_and_was_not_looked_into_is_forgotten_too(store: Store) -> None:
    judged(store)
    for repository in (7, 9, 77):
        told = {"repository_id": repository, "delivery_id": f"push-{repository}", "reverted_shas": (HEAD,)}
        store.pull_request_events.put(happening(PullRequestEventKind.REVERTED, None, **told))
    store.records().forget(store.records().find_holdings(HERE), AT)
    left = [text(one) for one in items(store.client.call("HKEYS", PULL_REQUEST_EVENTS.texts.name))]
    assert sorted(left) == ["push-77", "push-9"]


def test_an_entry_is_forgotten_however_its_body_is_spaced(store: Store) -> None:
    judged(store)
    stream = keys.events(pull().installation_id).name
    for raw in ('{"repository_id": 7, "v": 1}', '{"v":1,"repository_id":7}', '{"repository_id" :\n7 }'):
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    for raw in ('{"repository_id":77,"v":1}', '{"repository_id":7.5}', '{"number":7,"v":1}'):
        store.client.call("XADD", stream, "*", "k", "outcome.recorded", "j", raw)
    store.records().forget(store.records().find_holdings(HERE), AT)
    assert [one.raw for one in store.events.read(pull().installation_id)] == [
        b'{"repository_id":77,"v":1}',
        b'{"repository_id":7.5}',
        b'{"number":7,"v":1}',
    ]


def test_what_belongs_to_others_stays(store: Store) -> None:
    judged(store)
    store.events.publish(pull().installation_id, "d", Event(EventKind.OUTCOME, {"repository_id": 77, "number": 1}))
    other = pull(7, repository=9)
    store.pulls.request_judging(wish(pull=other, repository="acme/other"))
    store.checks().record_opened(other, HEAD, CheckRunId(78))
    store.records().forget(store.records().find_holdings(HERE), AT)
    assert store.checks().open_checks(other) == {HEAD: 78}
    assert [one.kind for one in store.events.read(pull().installation_id)] == [b"outcome.recorded"]
    due = store.pulls.next_due("after", DispatchLimits(1, 10))
    assert due is not None
    assert due.request.pull == other


def test_a_judge_that_is_at_it_loses_its_lease_and_writes_nothing(store: Store) -> None:
    taken = judging(store)
    store.records().forget(store.records().find_holdings(HERE), AT)
    made = entry("e", taken.lease.fence)
    with pytest.raises(LeaseLost):
        taken.lease.renew()
    with pytest.raises(LeaseLost):
        store.archive.store(pull(), made, dossier(), audit("e"))
    with pytest.raises(LeaseLost):
        store.ledger.append(pull(), made)
    assert store.records().find_holdings(HERE).is_empty


def test_a_dossier_whose_verdict_was_never_written_is_forgotten_too(store: Store) -> None:
    made = entry("e", judging(store).lease.fence)
    store.archive.store(pull(), made, dossier(), audit("e"))
    found = store.records().find_holdings(HERE)
    assert (found.verdicts, found.count("dossier")) == (0, 1)
    store.records().forget(found, AT)
    assert store.archive.find(EvalId("e")) is None


def test_a_repository_of_which_nothing_is_known_but_its_pause_is_forgotten_with_that(store: Store) -> None:
    where = (pull().installation_id, pull().repository_id)
    store.pauses.pause(*where, JudgingPause(repository="acme/quiet"))
    held = store.records().find_holdings("acme/quiet")
    assert (held.count("paused"), held.is_empty) == (1, False)
    store.records().forget(held, AT)
    assert not store.pauses.is_paused(*where)
    assert store.records().find_holdings("acme/quiet").is_empty
