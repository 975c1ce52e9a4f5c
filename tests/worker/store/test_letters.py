"""Verdicts whose author may have to be told, and the note of what they were told."""

import json
from datetime import timedelta

from tests.worker.store.played import HEAD, NEWER, on_record, pull
from worker.domain import keys
from worker.domain.feedback import Letter, Note
from worker.domain.ids import DeliveryId, EvalId, Sha
from worker.domain.waiting import LETTERS
from worker.store.connection import Store


def letter(number: int = 1, head_sha: Sha = HEAD) -> Letter:
    return Letter(
        pull=pull(number), head_sha=head_sha, eval_id=EvalId(f"eval-{head_sha[0]}"), delivery_id=DeliveryId("d")
    )


def test_a_letter_comes_again_until_it_is_done(store: Store) -> None:
    assert not store.letters.is_waiting(pull())
    store.letters.put(letter())
    first = store.letters.next()
    assert store.letters.is_waiting(pull())
    assert not store.letters.is_waiting(pull(2))
    assert first is not None
    assert (first.follow_up, first.attempt) == (letter(), 1)
    assert store.letters.next() is None

    store.letters.later(letter(), timedelta(0))
    again = store.letters.next()
    assert again is not None
    assert again.attempt == 2

    store.letters.done(again)
    store.letters.done(again)
    assert not store.letters.is_waiting(pull())
    store.letters.later(letter(), timedelta(0))
    assert store.letters.next() is None


def test_a_letter_that_is_done_leaves_nothing(store: Store) -> None:
    store.letters.put(letter())
    opened = store.letters.next()
    assert opened is not None
    store.letters.done(opened)
    assert [store.wire.call("EXISTS", key.name) for key in LETTERS.keys] == [0, 0, 0]


def test_a_newer_verdict_takes_the_place_of_the_older_and_is_not_done_with_it(store: Store) -> None:
    store.letters.put(letter())
    older = store.letters.next()
    assert older is not None
    store.letters.put(letter(head_sha=NEWER))
    store.letters.done(older)
    found = store.letters.next()
    assert found is not None
    assert (found.follow_up.head_sha, found.attempt) == (NEWER, 1)


def test_a_letter_that_another_version_wrote_in_other_words_is_done_all_the_same(store: Store) -> None:
    store.letters.put(letter())
    fields = {"delivery_id": "d", "eval_id": "e", "head_sha": HEAD, "pull": pull().model_dump()}
    store.wire.call("HSET", LETTERS.texts.name, keys.pull(pull()).name, json.dumps(fields))
    opened = store.letters.next()
    assert opened is not None
    assert opened.follow_up == letter().model_copy(update={"eval_id": "e"})
    store.letters.done(opened)
    assert not store.letters.is_waiting(pull())


def test_letters_of_other_pull_requests_stay_apart(store: Store) -> None:
    store.letters.put(letter(1))
    store.letters.put(letter(2))
    assert {found.follow_up.pull.number for found in (store.letters.next(), store.letters.next()) if found} == {1, 2}


def test_a_note_is_kept_of_a_pull_request_that_is_known(store: Store) -> None:
    note = Note(nonce="n", comment_id=7, head_sha=HEAD)
    store.notes.put(pull(), note)
    assert store.notes.of(pull()) is None
    on_record(store, pull())
    store.notes.put(pull(), note)
    assert store.notes.of(pull()) == note
    assert isinstance(left := store.wire.call("TTL", keys.note(pull()).name), int)
    assert left > 0
