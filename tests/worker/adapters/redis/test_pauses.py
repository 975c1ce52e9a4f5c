"""Pauses, and what waits for their end: nothing of it is lost, and nothing of it is looked at in vain for ever."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, expire_hold, judge_request, pull_ref
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.lifecycle.work import ActivePause, PausedRepository
from worker.domain.pause import JudgingPause

OURS, THEIRS = InstallationId(100), InstallationId(101)
WIDGETS, GADGETS = RepositoryId(7), RepositoryId(8)
LATER = REQUESTED_AT + timedelta(days=36_500)
STORM = JudgingPause(by="alice", at=REQUESTED_AT, until=LATER, reason="a storm")
BOBS = JudgingPause(by="bob")
KEY = keys.pause(OURS, WIDGETS).name
HERE = PausedRepository(installation_id=OURS, repository_id=WIDGETS)


def test_a_repository_is_paused_until_it_is_resumed_and_no_other_one_is(store: Store) -> None:
    for _ in range(2):
        store.pauses.pause(OURS, WIDGETS)
    others = ((OURS, GADGETS), (THEIRS, WIDGETS))
    assert [store.pauses.is_paused(*ids) for ids in ((OURS, WIDGETS), *others)] == [True, False, False]
    assert [store.pauses.resume(OURS, WIDGETS) for _ in range(2)] == [True, False]
    assert not store.pauses.is_paused(OURS, WIDGETS)


def test_a_pause_says_who_until_when_and_why_ends_by_itself_and_is_replaced(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(STORM, is_everywhere=False)
    assert whole(store.client.call("PEXPIRETIME", KEY)) == LATER.timestamp() * 1000
    store.pauses.pause(OURS, WIDGETS, BOBS)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(BOBS, is_everywhere=False)
    assert whole(store.client.call("PTTL", KEY)) == -1
    store.pauses.pause(OURS, WIDGETS, STORM.model_copy(update={"until": REQUESTED_AT - timedelta(days=1)}))
    assert not store.pauses.is_paused(OURS, WIDGETS), "one that is over stops nobody"


def test_a_pause_of_everything_stops_all_and_is_taken_back_alone(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, BOBS)
    store.pauses.pause_all(STORM)
    for ids in ((THEIRS, GADGETS), (OURS, WIDGETS)):
        assert store.pauses.find_pause(*ids) == ActivePause(STORM, is_everywhere=True)
    assert [pause.suspension.by for pause in store.pauses.list_pauses()] == ["alice", "bob"]
    assert store.pauses.resume_all()
    assert [store.pauses.is_paused(*ids) for ids in ((THEIRS, GADGETS), (OURS, WIDGETS))] == [False, True]


@pytest.mark.parametrize(
    ("said", "read"),
    [("1", JudgingPause()), (STORM.model_dump_json().replace("{", '{"colour":"red",', 1), STORM)],
    ids=["the version before", "a later version"],
)
def test_what_another_version_wrote_down_is_a_pause(store: Store, said: str, read: JudgingPause) -> None:
    store.client.call("SET", KEY, said)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(read, is_everywhere=False)
    assert store.pauses.list_pauses() == (ActivePause(read, is_everywhere=False),)
    assert text(store.client.call("GET", KEY)) == said


def test_what_was_paused_is_found_by_its_name_however_that_is_written(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM.model_copy(update={"repository": "acme/widgets"}))
    store.pauses.pause(THEIRS, GADGETS, STORM.model_copy(update={"repository": "acme/gadgets"}))
    store.pauses.pause(THEIRS, WIDGETS)
    store.pauses.pause_all(STORM)
    assert store.pauses.find_by_name("Acme/Widgets") == {(OURS, WIDGETS)}
    assert store.pauses.find_by_name("acme/nowhere") == set()


# Heads that wait for the end


def looks(store: Store) -> tuple[PausedRepository, ...]:
    """The time to look has come."""
    expire_hold(store, keys.PAUSED_REPOSITORIES, HERE.model_dump_json())
    return store.paused_heads.next()


def test_what_was_put_there_waits_until_it_is_taken(store: Store) -> None:
    first, second = judge_request(1), judge_request(2)
    for request in (first, second, second):
        store.paused_heads.put(request)
    assert store.paused_heads.next() == (), "a pause that began just now is not over"
    assert (looks(store), store.paused_heads.next()) == ((HERE,), ()), "not twice at once"
    requests = store.paused_heads.list_requests(HERE)
    assert sorted(requests, key=lambda request: request.pull.number) == [first, second]
    store.paused_heads.remove(pull_ref(1))
    assert store.paused_heads.list_requests(HERE) == (second,)
    assert looks(store) == (HERE,)
    store.paused_heads.remove(pull_ref(2))
    assert looks(store) == ()
    assert not whole(store.client.call("EXISTS", keys.PAUSED_REPOSITORIES.name))


def test_a_newer_request_of_a_pull_request_takes_the_place_of_the_one_before(store: Store) -> None:
    requests = [judge_request(head_sha=head) for head in (HEAD, NEWER)]
    for request in requests:
        store.paused_heads.put(request)
    assert store.paused_heads.list_requests(HERE) == (requests[1],)
    shelf, name = keys.paused_heads(OURS, WIDGETS).name, keys.pull(pull_ref()).name
    said = text(store.client.call("HGET", shelf, name)).replace("{", '{"colour":"red",', 1)
    store.client.call("HSET", shelf, name, said)
    assert store.paused_heads.list_requests(HERE) == (requests[1],), "as a later version wrote it"


def test_when_a_pause_is_taken_back_what_waits_is_looked_at_at_once(store: Store) -> None:
    store.paused_heads.put(judge_request())
    store.pauses.resume(OURS, WIDGETS)
    assert store.paused_heads.next() == (HERE,)


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_place_is_given_up_once_nothing_waits_there(store: Store, *, is_forgotten: bool) -> None:
    store.paused_heads.put(judge_request())
    if is_forgotten:
        store.client.call("DEL", keys.paused_heads(OURS, WIDGETS).name)
        assert looks(store) == (HERE,)
        assert store.paused_heads.list_requests(HERE) == ()
    store.paused_heads.remove_repository(HERE)
    assert looks(store) == (() if is_forgotten else (HERE,))
