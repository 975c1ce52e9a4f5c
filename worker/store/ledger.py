"""The ledger in Redis: entries of a pull request, encrypted since they quote its source.

Does not choose what goes into the prompt. Invariant: an entry is written once, by the judge that holds the pull
request at that moment (one script checks and writes), and never changed.
"""

from worker.domain import keys
from worker.domain.ledger import LedgerEntry
from worker.domain.request import PullRef
from worker.errors import LeaseLost
from worker.store.codec import Codec
from worker.store.lua import Script, run
from worker.store.wire import Wire, blob, items, text


class RedisLedger:
    """The Ledger port."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        key = keys.ledger(pull)
        sealed = items(self._wire.call("HVALS", key.name))
        opened = [LedgerEntry.model_validate_json(self._codec.open(blob(entry), key.name)) for entry in sealed]
        return tuple(sorted(opened, key=lambda entry: (entry.fence, entry.created_at, entry.eval_id)))

    def append(self, pull: PullRef, entry: LedgerEntry) -> None:
        """Append under the fence that the entry names; one that judges another anew, beside that."""
        key = keys.ledger(pull)
        on = [keys.pull(pull), key, keys.named(entry.verdict.subject.repository)]
        sealed = self._codec.seal(entry.model_dump_json().encode(), key.name)
        parent, numbers = entry.verdict.parent_eval_id or "", f"{pull.installation_id}:{pull.repository_id}"
        answer = run(self._wire, Script.APPEND, on, entry.fence, parent, entry.eval_id, sealed, numbers)
        if text(answer) == "lost":
            raise LeaseLost
