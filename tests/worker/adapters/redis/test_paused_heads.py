"""What waits for the end of a pause: nothing of it is lost, and nothing of it is looked at in vain for ever."""

from tests.worker.adapters.redis.played import HEAD, NEWER, comes_again, pull, wish
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.store import Store
from worker.domain.judge_request import JudgeRequest
from worker.domain.lifecycle.work import PausedRepository

HERE = PausedRepository.model_validate({"installation_id": 100, "repository_id": 7})


def looks(store: Store) -> tuple[PausedRepository, ...]:
    """The time to look at each place has come."""
    for place in (HERE,):
        comes_again(store, keys.PAUSED_REPOSITORIES, place.model_dump_json())
    return store.paused_heads.next()


def test_what_was_put_there_waits_until_it_is_taken(store: Store) -> None:
    first, second = wish(1), wish(2)
    for one in (first, second, second):
        store.paused_heads.put(one)
    assert store.paused_heads.next() == (), "a pause that began just now is not over"
    assert looks(store) == (HERE,)
    assert store.paused_heads.next() == (), "not twice at once"
    assert sorted(store.paused_heads.list_requests(HERE), key=lambda one: one.pull.number) == [first, second]
    store.paused_heads.remove(pull(1))
    assert store.paused_heads.list_requests(HERE) == (second,)
    assert looks(store) == (HERE,)
    store.paused_heads.remove(pull(2))
    assert looks(store) == ()
    assert not whole(store.client.call("EXISTS", keys.PAUSED_REPOSITORIES.name))


def test_a_newer_request_of_a_pull_request_takes_the_place_of_the_one_before(store: Store) -> None:
    store.paused_heads.put(wish(head_sha=HEAD))
    newer = wish(head_sha=NEWER)
    store.paused_heads.put(newer)
    assert store.paused_heads.list_requests(HERE) == (newer,)


def test_when_a_pause_is_taken_back_what_waits_is_looked_at_at_once(store: Store) -> None:
    store.paused_heads.put(wish())
    store.pauses.resume(HERE.installation_id, HERE.repository_id)
    assert store.paused_heads.next() == (HERE,)


def test_a_place_of_which_all_was_forgotten_is_looked_at_no_more(store: Store) -> None:
    store.paused_heads.put(wish())
    store.client.call("DEL", keys.paused_heads(HERE.installation_id, HERE.repository_id).name)
    assert looks(store) == (HERE,)
    assert store.paused_heads.list_requests(HERE) == ()
    store.paused_heads.remove_repository(HERE)
    assert looks(store) == ()


def test_a_place_where_something_waits_is_not_given_up(store: Store) -> None:
    store.paused_heads.put(wish())
    store.paused_heads.remove_repository(HERE)
    assert looks(store) == (HERE,)


def test_what_a_later_version_put_there_can_be_read(store: Store) -> None:
    request: JudgeRequest = wish()
    store.paused_heads.put(request)
    name = keys.paused_heads(HERE.installation_id, HERE.repository_id).name
    said = text(store.client.call("HGET", name, keys.pull(pull()).name)).replace("{", '{"colour":"red",', 1)
    store.client.call("HSET", name, keys.pull(pull()).name, said)
    assert store.paused_heads.list_requests(HERE) == (request,)
