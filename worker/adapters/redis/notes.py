"""What is known of the comments that tell authors of verdicts.

Does not tell anybody. Invariant: nothing is noted of a pull request that was forgotten.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.versioned_json import read
from worker.domain.check.author_comment import Note
from worker.domain.request.judge_request import PullRef


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
