"""The notes of what became of SARIF that was due."""

import pytest

from tests.worker.adapters.redis.played import HEAD, on_record, pull
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import UploadedSarif, UploadRefusal
from worker.domain.ids import EvalId

SENT = UploadedSarif(head_sha=HEAD, origin=EvalId("e"))
NAME = "acme/widgets"


def named(store: Store) -> None:
    store.client.call("SADD", keys.repository_numbers(NAME).name, f"{pull().installation_id}:{pull().repository_id}")


def test_a_refusal_is_the_repositorys_until_something_of_it_is_taken(store: Store) -> None:
    on_record(store, pull())
    on_record(store, pull(2))
    named(store)
    store.scan_notes.note(pull(), SENT, UploadRefusal.PERMISSION)
    assert store.scan_notes.last_scan(pull()) == SENT
    assert store.scan_notes.last_scan(pull(2)) is None
    assert store.scan_notes.refusal(pull(2)) is UploadRefusal.PERMISSION
    assert store.scan_notes.refusals(NAME) == (UploadRefusal.PERMISSION,)

    store.scan_notes.note(pull(2), SENT, None)
    assert store.scan_notes.refusal(pull()) is None
    assert store.scan_notes.refusals(NAME) == ()


@pytest.mark.parametrize("number", [1, None])
def test_what_is_noted_goes_by_itself(store: Store, number: int | None) -> None:
    on_record(store, pull())
    store.scan_notes.note(pull(), SENT, UploadRefusal.NOT_ENABLED)
    key = keys.scan_note(pull().installation_id, pull().repository_id, number)
    left = store.client.call("TTL", key.name)
    assert isinstance(left, int)
    assert left > 0


def test_nothing_is_noted_of_a_pull_request_that_was_forgotten(store: Store) -> None:
    store.scan_notes.note(pull(), SENT, UploadRefusal.PERMISSION)
    assert store.scan_notes.last_scan(pull()) is None
    assert store.scan_notes.refusal(pull()) is None


def test_a_word_of_a_later_version_is_none_that_is_told(store: Store) -> None:
    store.client.call("SET", keys.scan_note(pull().installation_id, pull().repository_id, None).name, "moon_phase")
    assert store.scan_notes.refusal(pull()) is None
