"""What is known of the comments that tell authors."""

from tests.worker.adapters.redis.played import HEAD, on_record, pull
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import Note


def test_a_note_is_kept_of_a_pull_request_that_is_known(store: Store) -> None:
    note = Note(nonce="n", comment_id=7, head_sha=HEAD)
    store.notes.put(pull(), note)
    assert store.notes.of(pull()) is None
    on_record(store, pull())
    store.notes.put(pull(), note)
    assert store.notes.of(pull()) == note
    assert isinstance(left := store.wire.call("TTL", keys.note(pull()).name), int)
    assert left > 0
