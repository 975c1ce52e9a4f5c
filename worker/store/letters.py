"""Verdicts whose author may have to be told, and what is known of the comment that tells.

Does not tell anybody. Invariant: a letter stays until it is `done`; a newer one of the same pull request takes its place, and is
not done with the older.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.feedback import Letter, Note
from worker.domain.request import PullRef
from worker.domain.value import Value
from worker.domain.waiting import LETTERS
from worker.settings import Timing
from worker.store.door import lifetime_s
from worker.store.lua import Script, run
from worker.store.reading import read
from worker.store.waiting import Waiting
from worker.store.wire import Wire, text


class OpenLetter(Value):
    """A letter to write; *attempt* counts from 1."""

    letter: Letter
    attempt: int


class Letters:
    """The letters in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._waiting = Waiting(wire, timing, Letter, LETTERS)

    def put(self, letter: Letter) -> None:
        self._run(Script.LETTER_PUT, letter)

    def next(self) -> OpenLetter | None:
        found = self._waiting.next()
        return OpenLetter(*found) if found else None

    def is_waiting(self, pull: PullRef) -> bool:
        """Whether there is one of this pull request that was not done yet: somebody may be at it."""
        return self._waiting.wire.call("HEXISTS", LETTERS.texts.name, keys.pull(pull).name) == 1

    def later(self, letter: Letter, delay: timedelta) -> None:
        self._waiting.later(_name(letter), delay)

    def done(self, letter: Letter) -> None:
        self._run(Script.LETTER_DONE, letter)

    def _run(self, script: Script, letter: Letter) -> None:
        run(self._waiting.wire, script, LETTERS.keys, _name(letter), letter.model_dump_json())


class RedisNotes:
    """The Notes port."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def of(self, pull: PullRef) -> Note | None:
        found = self._wire.call("GET", keys.note(pull).name)
        return read(Note, text(found)) if found else None

    def put(self, pull: PullRef, note: Note) -> None:
        key = keys.note(pull)
        run(self._wire, Script.NOTE, [key, keys.pull(pull)], note.model_dump_json(), lifetime_s(key))


def _name(letter: Letter) -> str:
    return keys.pull(letter.pull).name
