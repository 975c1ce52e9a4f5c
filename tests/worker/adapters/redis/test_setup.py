"""Who may set Assay up: tokens and states, each good for one App."""

from datetime import timedelta

from worker.adapters.redis import keys
from worker.adapters.redis.setup import RedisSetup
from worker.adapters.redis.store import Store


def test_a_token_opens_until_an_app_was_made(store: Store) -> None:
    setup = store.setup()
    assert not setup.is_open()
    first, second = setup.open(), setup.open()
    assert first != second
    assert setup.is_open()
    assert setup.is_token(first)
    assert setup.is_token(second)
    setup.close()
    assert not setup.is_open()
    assert not setup.is_token(first)
    assert setup.begin_setup() is None


def test_what_is_no_token_opens_nothing(store: Store) -> None:
    setup = store.setup()
    token = setup.open()
    state = setup.begin_setup()
    assert state is not None
    guesses = ["", token[:-1], token + "x", token.swapcase(), state, "\ud800", "*"]
    assert [one for one in guesses if setup.is_token(one)] == []


def test_a_state_is_taken_once_and_only_one_that_was_begun(store: Store) -> None:
    setup = store.setup()
    token = setup.open()
    state = setup.begin_setup()
    assert state is not None
    assert setup.take_state("made up") is None
    assert setup.take_state(token) is None
    assert setup.take_state(state) is not None
    assert setup.take_state(state) is None


def test_a_state_that_was_given_back_may_be_taken_again_but_not_by_a_stranger(store: Store) -> None:
    setup = store.setup()
    setup.open()
    state = setup.begin_setup()
    assert state is not None
    taker = setup.take_state(state)
    assert taker is not None
    setup.give_back(state, "another")
    assert setup.take_state(state) is None
    setup.give_back(state, taker)
    assert setup.take_state(state) is not None


def test_a_state_brings_back_what_was_not_chosen_and_nothing_that_was_put_into_it(store: Store) -> None:
    setup = store.setup()
    setup.open()
    plain, state = setup.begin_setup(), setup.begin_setup(declined=["reactions", "comments"])
    assert plain is not None
    assert state is not None
    assert (RedisSetup.declined_in(plain), RedisSetup.declined_in(state)) == (frozenset(), {"comments", "reactions"})
    assert setup.take_state(f"{state},more") is None
    assert setup.take_state(f"{plain}.comments") is None
    assert setup.take_state(state) is not None


def test_a_state_grows_old(store: Store) -> None:
    setup = store.setup()
    setup.open()
    state = setup.begin_setup(timedelta(seconds=-1))
    assert state is not None
    assert setup.take_state(state) is None


def test_closing_makes_states_worthless_that_are_under_way(store: Store) -> None:
    setup = store.setup()
    setup.open()
    state = setup.begin_setup()
    assert state is not None
    setup.close()
    setup.open()
    assert setup.take_state(state) is None


def test_nobody_finds_a_token_or_a_state_in_redis_and_they_do_not_stay(store: Store) -> None:
    setup = store.setup()
    secrets = [setup.open(), setup.begin_setup()]
    kept = repr(store.client.call("HGETALL", keys.SETUP.name))
    assert not any(str(one) in kept for one in secrets)
    left = store.client.call("PTTL", keys.SETUP.name)
    assert isinstance(left, int)
    assert 0 < left <= 86_400_000
