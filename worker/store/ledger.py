"""The ledger in Redis: entries of a pull request, encrypted since they quote its source.

Does not choose what goes into the prompt. Invariant: an entry is written once, by the judge that holds the pull
request at that moment (one script checks and writes), and never changed.
"""

from collections.abc import Sequence
from datetime import timedelta

from worker.domain import keys
from worker.domain.events import Event
from worker.domain.ledger import LedgerEntry
from worker.domain.request import PullRef
from worker.errors import LeaseLost
from worker.store.codec import Codec
from worker.store.lua import Script, run
from worker.store.wire import Wire, blob, items, text


class RedisLedger:
    """The Ledger port."""

    def __init__(self, wire: Wire, codec: Codec, told_for: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._told_ms = int(told_for.total_seconds() * 1000)

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        key = keys.ledger(pull)
        sealed = items(self._wire.call("HVALS", key.name))
        opened = [LedgerEntry.model_validate_json(self._codec.open(blob(entry), key.name)) for entry in sealed]
        return tuple(sorted(opened, key=lambda entry: (entry.fence, entry.created_at, entry.eval_id)))

    def ends_in(self, pull: PullRef, left: timedelta) -> None:
        """The pull request was closed: its memory goes after so long, unless it is judged again before."""
        for key in (keys.ledger(pull), keys.spent(pull)):
            self._wire.call("EXPIRE", key.name, int(left.total_seconds()))

    def stays(self, pull: PullRef) -> None:
        """It was reopened."""
        for key in (keys.ledger(pull), keys.spent(pull)):
            self._wire.call("PERSIST", key.name)

    def append(self, pull: PullRef, entry: LedgerEntry, told: Sequence[Event] = ()) -> None:
        """Append under the fence that the entry names; one that judges another anew, beside that."""
        key = keys.ledger(pull)
        named, stream = keys.named(entry.verdict.subject.repository), keys.events(pull.installation_id)
        on = [keys.pull(pull), key, named, stream]
        sealed = self._codec.seal(entry.model_dump_json().encode(), key.name)
        parent, numbers = entry.verdict.parent_eval_id or "", f"{pull.installation_id}:{pull.repository_id}"
        what = (entry.fence, parent, entry.eval_id, sealed, numbers, self._told_ms)
        pairs = (part for event in told for part in (event.kind, event.dump()))
        answer = run(self._wire, Script.APPEND, on, *what, *pairs)
        if text(answer) == "lost":
            raise LeaseLost
