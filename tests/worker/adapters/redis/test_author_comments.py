"""What is known of the comments that tell authors."""

from tests.worker.adapters.redis.played import HEAD, on_record, pull
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentRecord


def test_a_note_is_kept_of_a_pull_request_that_is_known(store: Store) -> None:
    note = CommentRecord(nonce="n", comment_id=7, head_sha=HEAD)
    store.author_comments.put(pull(), note)
    assert store.author_comments.find_record(pull()) is None
    on_record(store, pull())
    store.author_comments.put(pull(), note)
    assert store.author_comments.find_record(pull()) == note
    assert isinstance(left := store.client.call("TTL", keys.note(pull()).name), int)
    assert left > 0
