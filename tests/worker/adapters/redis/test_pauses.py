"""Pauses of judging, and the heads that wait for their end."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, expire_hold, judge_request, pull_ref
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.store import Store
from worker.domain.lifecycle.work import ActivePause, PausedRepository
from worker.domain.model import InstallationId, RepositoryId
from worker.domain.time_range import JudgingPause

OURS, THEIRS = InstallationId(100), InstallationId(101)
WIDGETS, GADGETS = RepositoryId(7), RepositoryId(8)
LATER = REQUESTED_AT + timedelta(days=36_500)
STORM = JudgingPause(by="alice", at=REQUESTED_AT, until=LATER, reason="a storm")
BOBS = JudgingPause(by="bob")
KEY = keys.pause(OURS, WIDGETS).name
REPOSITORY = PausedRepository(installation_id=OURS, repository_id=WIDGETS)


def test_pause_covers_one_repository_until_it_is_resumed(store: Store) -> None:
    for _ in range(2):
        store.pauses.pause(OURS, WIDGETS)
    others = ((OURS, GADGETS), (THEIRS, WIDGETS))
    assert [store.pauses.is_paused(*ids) for ids in ((OURS, WIDGETS), *others)] == [True, False, False]
    assert [store.pauses.resume(OURS, WIDGETS) for _ in range(2)] == [True, False]
    assert not store.pauses.is_paused(OURS, WIDGETS)


def test_pause_stores_its_details_and_expires_or_is_replaced(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(STORM, is_everywhere=False)
    assert whole(store.client.call("PEXPIRETIME", KEY)) == LATER.timestamp() * 1000
    store.pauses.pause(OURS, WIDGETS, BOBS)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(BOBS, is_everywhere=False)
    assert whole(store.client.call("PTTL", KEY)) == -1
    store.pauses.pause(OURS, WIDGETS, STORM.model_copy(update={"until": REQUESTED_AT - timedelta(days=1)}))
    assert not store.pauses.is_paused(OURS, WIDGETS), "an ended pause has no effect"


def test_pause_of_everything_is_resumed_separately(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, BOBS)
    store.pauses.pause_all(STORM)
    for ids in ((THEIRS, GADGETS), (OURS, WIDGETS)):
        assert store.pauses.find_pause(*ids) == ActivePause(STORM, is_everywhere=True)
    assert [pause.suspension.by for pause in store.pauses.list_pauses()] == ["alice", "bob"]
    assert store.pauses.resume_all()
    assert [store.pauses.is_paused(*ids) for ids in ((THEIRS, GADGETS), (OURS, WIDGETS))] == [False, True]


@pytest.mark.parametrize(
    ("stored", "pause"),
    [("1", JudgingPause()), (STORM.model_dump_json().replace("{", '{"colour":"red",', 1), STORM)],
    ids=["earlier version", "later version"],
)
def test_pause_of_another_version_is_read(store: Store, stored: str, pause: JudgingPause) -> None:
    store.client.call("SET", KEY, stored)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(pause, is_everywhere=False)
    assert store.pauses.list_pauses() == (ActivePause(pause, is_everywhere=False),)
    assert text(store.client.call("GET", KEY)) == stored


def test_pause_is_found_by_repository_name_in_any_case(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM.model_copy(update={"repository": "acme/widgets"}))
    store.pauses.pause(THEIRS, GADGETS, STORM.model_copy(update={"repository": "acme/gadgets"}))
    store.pauses.pause(THEIRS, WIDGETS)
    store.pauses.pause_all(STORM)
    assert store.pauses.find_by_name("Acme/Widgets") == {(OURS, WIDGETS)}
    assert store.pauses.find_by_name("acme/nowhere") == set()


def take_due(store: Store) -> tuple[PausedRepository, ...]:
    """Make the repository due and take it."""
    expire_hold(store, keys.PAUSED_REPOSITORIES, REPOSITORY.model_dump_json())
    return store.paused_heads.next()


def test_paused_heads_wait_until_they_are_removed(store: Store) -> None:
    first, second = judge_request(1), judge_request(2)
    for request in (first, second, second):
        store.paused_heads.put(request)
    assert store.paused_heads.next() == (), "not before its first check"
    assert (take_due(store), store.paused_heads.next()) == ((REPOSITORY,), ()), "it is held"
    requests = store.paused_heads.list_requests(REPOSITORY)
    assert sorted(requests, key=lambda request: request.pull.number) == [first, second]
    store.paused_heads.remove(pull_ref(1))
    assert store.paused_heads.list_requests(REPOSITORY) == (second,)
    assert take_due(store) == (REPOSITORY,)
    store.paused_heads.remove(pull_ref(2))
    assert take_due(store) == ()
    assert not whole(store.client.call("EXISTS", keys.PAUSED_REPOSITORIES.name))


def test_newer_request_replaces_the_paused_one(store: Store) -> None:
    requests = [judge_request(head_sha=head) for head in (HEAD, NEWER)]
    for request in requests:
        store.paused_heads.put(request)
    assert store.paused_heads.list_requests(REPOSITORY) == (requests[1],)
    key, name = keys.paused_heads(OURS, WIDGETS).name, keys.pull(pull_ref()).name
    stored = text(store.client.call("HGET", key, name)).replace("{", '{"colour":"red",', 1)
    store.client.call("HSET", key, name, stored)
    assert store.paused_heads.list_requests(REPOSITORY) == (requests[1],), "a field of a later version is ignored"


def test_resume_makes_paused_heads_due(store: Store) -> None:
    store.paused_heads.put(judge_request())
    store.pauses.resume(OURS, WIDGETS)
    assert store.paused_heads.next() == (REPOSITORY,)


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_repository_is_removed_only_without_paused_heads(store: Store, *, is_forgotten: bool) -> None:
    store.paused_heads.put(judge_request())
    if is_forgotten:
        store.client.call("DEL", keys.paused_heads(OURS, WIDGETS).name)
        assert take_due(store) == (REPOSITORY,)
        assert store.paused_heads.list_requests(REPOSITORY) == ()
    store.paused_heads.remove_repository(REPOSITORY)
    assert take_due(store) == (() if is_forgotten else (REPOSITORY,))
