"""Events on an installation's stream: evaluations start and end, people react to a verdict.

A started evaluation ends exactly once: by its entry in the ledger, by `record_ended`, or by the watchdog after its
judge died. One script decides in each case.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, Reply, blob, items, text, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.transactions import Transaction
from worker.domain.ids import InstallationId
from worker.domain.pattern import pattern
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import EvaluationStarted, Event, dump_started
from worker.errors import LeaseLost

PAGE: Final = 2_000
"""Entries per read."""

STREAM_NAME: Final = pattern(rb"assay:(0|[1-9][0-9]{0,18}):events")
"""Name of an installation's stream."""

DEDUPLICATION_TTL: Final = keys.MONTH


class StreamEntry(NamedTuple):
    """One stored entry: `id` starts with the server's time in milliseconds."""

    id: str
    kind: bytes
    raw: bytes

    @property
    def at_ms(self) -> int:
        return int(self.id.partition("-")[0])


def parse_entry(reply: Reply) -> StreamEntry:
    """Parse an entry as Redis lists it. An entry that Assay did not write has no kind: its reader skips and counts it."""
    name, fields = items(reply)
    parts = items(fields)
    values = dict(zip(map(blob, parts[::2]), parts[1::2], strict=True))
    return StreamEntry(text(name), blob(values.get(b"k", b"")), blob(values.get(b"j", b"")))


def append_event(transaction: Transaction, stream: str, keep_ms: int, kind: str, event: str | bytes) -> None:
    """Append to an installation's stream and remove older entries than *keep_ms*; 0: none."""
    limit = ("MINID", "~", f"{max(0, transaction.now - keep_ms):.0f}") if keep_ms > 0 else ()
    transaction.write("XADD", stream, *limit, "*", "k", kind, "j", event)


class RedisEvents:
    """The Events port, and the reader of streams. *told_for*: retention of an entry (0: unlimited)."""

    def __init__(self, wire: RedisClient, told_for: timedelta, hold: timedelta) -> None:
        self._wire = wire
        self._told_ms = int(told_for.total_seconds() * 1000)
        self._hold_ms = int(hold.total_seconds() * 1000)

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        """Record that an evaluation started under this fence. Idempotent. Raises LeaseLost."""
        on, stream = keys.pull(pull), keys.events(pull.installation_id)
        started, lost = dump_started(evaluation)
        note = f"{on.name}\n{fence}\n{stream.name}\n{self._told_ms}\n".encode() + lost
        if (
            whole(
                run_script(
                    self._wire,
                    Script.EVAL_STARTED,
                    [on, stream],
                    evaluation.eval_id,
                    note,
                    started,
                    self._hold_ms,
                    fence,
                )
            )
            < 0
        ):
            raise LeaseLost

    def record_ended(self, pull: PullRef, event: Event) -> bool:
        """End an evaluation without a recorded verdict. False: it had already ended."""
        on = [keys.events(pull.installation_id)]
        arguments = (event.body["eval_id"], self._told_ms, event.kind, event.dump())
        return whole(run_script(self._wire, Script.EVAL_ENDED, on, *arguments)) == 1

    def end_orphaned(self) -> int:
        """End the evaluations of dead judges; return their number."""
        return whole(run_script(self._wire, Script.EVALS_LOST, [], self._hold_ms))

    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool:
        """Publish events in one step, once under this *name*. False: already published."""
        on = [keys.events(installation), keys.published_event(installation, name)]
        known_s = int(DEDUPLICATION_TTL.total_seconds())
        pairs = (part for event in events for part in (event.kind, event.dump()))
        return whole(run_script(self._wire, Script.TELL, on, self._told_ms, known_s, *pairs)) == 1

    def read(self, installation: InstallationId, after: str = "", until_ms: int | None = None) -> Iterator[StreamEntry]:
        """Entries after *after* (all if it is empty), oldest first, read in pages."""
        start = f"({after}" if after else "-"
        end = "+" if until_ms is None else str(until_ms)
        while page := items(self._wire.call("XRANGE", keys.events(installation).name, start, end, "COUNT", PAGE)):
            yield from map(parse_entry, page)
            if len(page) < PAGE:
                return
            start = f"({text(items(page[-1])[0])}"

    def trim(self, installation: InstallationId) -> int:
        """Remove entries older than the retention; return their number. Needed for a stream without new entries."""
        if not self._told_ms:
            return 0
        seconds, _ = items(self._wire.call("TIME"))  # ids of entries have the server's time
        first = max(0, int(text(seconds)) * 1000 - self._told_ms)
        return whole(self._wire.call("XTRIM", keys.events(installation).name, "MINID", first))

    def installations(self) -> tuple[InstallationId, ...]:
        """Installations with a stream; an alien key with a similar name is skipped."""
        installations, cursor = set[InstallationId](), "0"
        while True:
            scan = ("SCAN", cursor, "MATCH", keys.EVERY_STREAM, "COUNT", PAGE, "TYPE", "stream")
            after, names = items(self._wire.call(*scan))
            installations |= {
                InstallationId(int(match[1])) for name in items(names) if (match := STREAM_NAME.fullmatch(blob(name)))
            }
            cursor = text(after)
            if cursor == "0":
                return tuple(sorted(installations))
