"""Verdicts whose author may have to be told, and what is known of the comment that tells.

Does not tell anybody. Invariant: a letter stays until it is `done`; a newer one of the same pull request takes its place, and is
not done with the older.
"""

from datetime import timedelta

from worker.domain import keys
from worker.domain.feedback import Letter, Note
from worker.domain.request import PullRef
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.door import lifetime_s, milliseconds
from worker.store.lua import Script, run
from worker.store.reading import read, read_or_leave
from worker.store.wire import Wire, items, text, whole


class OpenLetter(Value):
    """A letter to write; *attempt* counts from 1."""

    letter: Letter
    attempt: int


class Letters:
    """The letters in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._timing = timing

    def put(self, letter: Letter) -> None:
        on = [keys.LETTERS, keys.LETTER_TEXTS, keys.LETTER_TRIES]
        run(self._wire, Script.LETTER_PUT, on, _name(letter), letter.model_dump_json())

    def next(self) -> OpenLetter | None:
        """The oldest one, for a while."""
        on = [keys.LETTERS, keys.LETTER_TEXTS, keys.LETTER_TRIES]
        reply = items(run(self._wire, Script.ASK_NEXT, on, milliseconds(self._timing.open_hold)))
        found = read_or_leave(Letter, text(reply[0])) if reply else None
        return OpenLetter(found, whole(reply[1])) if found else None

    def later(self, letter: Letter, delay: timedelta) -> None:
        delay_ms = max(0, milliseconds(delay.total_seconds()))
        run(self._wire, Script.ASK_LATER, [keys.LETTERS], _name(letter), delay_ms)

    def done(self, letter: Letter) -> None:
        on = [keys.LETTERS, keys.LETTER_TEXTS, keys.LETTER_TRIES]
        run(self._wire, Script.LETTER_DONE, on, _name(letter), letter.model_dump_json())


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
