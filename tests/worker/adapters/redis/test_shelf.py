"""What waits for the end of a pause: nothing of it is lost, and nothing of it is looked at in vain for ever."""

from tests.worker.adapters.redis.played import HEAD, NEWER, comes_again, pull, wish
from worker.adapters.redis import keys
from worker.adapters.redis.client import text, whole
from worker.adapters.redis.shelf import Place
from worker.adapters.redis.store import Store
from worker.domain.request.judge_request import JudgeRequest

HERE = Place.model_validate({"installation_id": 100, "repository_id": 7})


def looks(store: Store) -> tuple[Place, ...]:
    """The time to look at each place has come."""
    for place in (HERE,):
        comes_again(store, keys.SHELVES, place.model_dump_json())
    return store.shelf.next()


def test_what_was_put_there_waits_until_it_is_taken(store: Store) -> None:
    first, second = wish(1), wish(2)
    for one in (first, second, second):
        store.shelf.put(one)
    assert store.shelf.next() == (), "a pause that began just now is not over"
    assert looks(store) == (HERE,)
    assert store.shelf.next() == (), "not twice at once"
    assert sorted(store.shelf.at(HERE), key=lambda one: one.pull.number) == [first, second]
    store.shelf.take(pull(1))
    assert store.shelf.at(HERE) == (second,)
    assert looks(store) == (HERE,)
    store.shelf.take(pull(2))
    assert looks(store) == ()
    assert not whole(store.wire.call("EXISTS", keys.SHELVES.name))


def test_a_newer_request_of_a_pull_request_takes_the_place_of_the_one_before(store: Store) -> None:
    store.shelf.put(wish(head_sha=HEAD))
    newer = wish(head_sha=NEWER)
    store.shelf.put(newer)
    assert store.shelf.at(HERE) == (newer,)


def test_when_a_pause_is_taken_back_what_waits_is_looked_at_at_once(store: Store) -> None:
    store.shelf.put(wish())
    store.switches.resume(HERE.installation_id, HERE.repository_id)
    assert store.shelf.next() == (HERE,)


def test_a_place_of_which_all_was_forgotten_is_looked_at_no_more(store: Store) -> None:
    store.shelf.put(wish())
    store.wire.call("DEL", keys.shelf(HERE.installation_id, HERE.repository_id).name)
    assert looks(store) == (HERE,)
    assert store.shelf.at(HERE) == ()
    store.shelf.forget(HERE)
    assert looks(store) == ()


def test_a_place_where_something_waits_is_not_given_up(store: Store) -> None:
    store.shelf.put(wish())
    store.shelf.forget(HERE)
    assert looks(store) == (HERE,)


def test_what_a_later_version_put_there_can_be_read(store: Store) -> None:
    request: JudgeRequest = wish()
    store.shelf.put(request)
    name = keys.shelf(HERE.installation_id, HERE.repository_id).name
    said = text(store.wire.call("HGET", name, keys.pull(pull()).name)).replace("{", '{"colour":"red",', 1)
    store.wire.call("HSET", name, keys.pull(pull()).name, said)
    assert store.shelf.at(HERE) == (request,)
