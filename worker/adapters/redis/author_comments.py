"""What is known of the comments that tell authors of verdicts.

Does not tell anybody. Invariant: nothing is noted of a pull request that was forgotten.
"""

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, text
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.check.author_comment import CommentRecord
from worker.domain.request.judge_request import PullRef


class RedisNotes:
    """The Notes port."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def find_record(self, pull: PullRef) -> CommentRecord | None:
        stored = self._wire.call("GET", keys.note(pull).name)
        return read_json(CommentRecord, text(stored)) if stored else None

    def put(self, pull: PullRef, record: CommentRecord) -> None:
        key = keys.note(pull)
        run_script(self._wire, Script.NOTE, [key, keys.pull(pull)], record.model_dump_json(), lifetime_s(key))
