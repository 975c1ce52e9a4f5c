"""What a pull request was judged from the last time: the dossier of its own newest verdict, where it can be read."""

import json

from tests.worker.adapters.redis.played import HEAD, NEWER, pull
from tests.worker.adapters.redis.watching import judged
from tests.worker.publishing.texts.samples import accepted, dossier
from worker.adapters.redis import keys
from worker.adapters.redis.connection.encryption import Codec
from worker.adapters.redis.store import Store
from worker.domain.ids import new_eval_id
from worker.scheduling.record import PreviousDossier


def test_the_newest_verdict_on_the_pull_request_itself_counts(store: Store) -> None:
    memory = PreviousDossier(store.ledger, store.archive)
    assert memory(pull()) is None
    judged(store, diff="first", head=HEAD)
    newest = judged(store, diff="second", head=NEWER)
    found = memory(pull())
    assert found
    assert found.diff == "second"
    beside = newest.verdict.model_copy(
        update={"eval_id": new_eval_id(newest.created_at), "parent_eval_id": newest.eval_id}
    )
    judged(store, verdict=beside, diff="of a group")
    assert memory(pull()) == found
    assert memory(pull(2)) is None


def test_what_is_not_kept_or_can_not_be_read_is_not_remembered(store: Store) -> None:
    memory = PreviousDossier(store.ledger, store.archive)
    made = judged(store, verdict=accepted(), diff="first")
    key = keys.dossier(made.eval_id).name
    later = json.dumps(dossier(diff="").model_dump(mode="json") | {"dossier_version": 2}).encode()
    for sealed in (store.codec.seal(later, key), Codec([bytes(range(32))]).seal(later, key)):
        store.client.call("SET", key, sealed)
        assert memory(pull()) is None
    store.client.call("SET", key, b"junk")
    assert memory(pull()) is None
    store.client.call("DEL", key)
    assert memory(pull()) is None
