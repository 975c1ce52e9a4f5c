"""The ledger in Redis: entries of a pull request, encrypted since they quote its source.

Does not choose what goes into the prompt. Invariant: an entry is written once, by the judge that holds the pull
request at that moment (one script checks and writes), and never changed.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, blob, items, text
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ports import EntryWithEvents
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import Event
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import LeaseLost


class RedisLedger:
    """The Ledger port."""

    def __init__(self, wire: RedisClient, codec: Codec, told_for: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._told_ms = int(told_for.total_seconds() * 1000)

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        key = keys.ledger(pull)
        sealed = items(self._wire.call("HVALS", key.name))
        opened = [read_json(LedgerEntry, self._codec.open(blob(entry), key.name)) for entry in sealed]
        return tuple(sorted(opened, key=lambda entry: (entry.fence, entry.created_at, entry.eval_id)))

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        """Append under the fence that the entry names; one that judges another anew, beside that."""
        key = keys.ledger(pull)
        named, stream = keys.repository_numbers(entry.verdict.subject.repository), keys.events(pull.installation_id)
        on = [keys.pull(pull), key, named, stream, keys.decisions(pull), keys.pull_request_cost(pull)]
        parent, numbers = entry.verdict.parent_eval_id or "", f"{pull.installation_id}:{pull.repository_id}"
        what = (
            entry.fence,
            parent,
            entry.eval_id,
            self._sealed(entry, key),
            numbers,
            self._told_ms,
            *_event_arguments(events),
        )
        children = (
            part
            for child, events in child_entries
            for part in (child.eval_id, self._sealed(child, key), *_event_arguments(events))
        )
        answer = run_script(self._wire, Script.APPEND, on, *what, *children)
        if text(answer) == "lost":
            raise LeaseLost

    def _sealed(self, entry: LedgerEntry, key: keys.Key) -> bytes:
        return self._codec.seal(entry.model_dump_json().encode(), key.name)


def _event_arguments(events: Sequence[Event]) -> Iterator[Argument]:
    """As `lua/append.lua` reads them: how many, and then each."""
    yield len(events)
    for event in events:
        yield event.kind
        yield event.dump()
