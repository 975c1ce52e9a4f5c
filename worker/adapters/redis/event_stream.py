"""What happened, written on an installation's stream: evaluations begin and end, people do something about a verdict.

Does not count. Invariant: an evaluation that was begun ends exactly once, whoever dies: by its entry in the ledger, by
`end`, or by whoever finds that its judge is dead (one script each decides).
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, Reply, blob, items, text, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.ids import InstallationId
from worker.domain.pattern import pattern
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import EvaluationStarted, Event, dump_started
from worker.errors import LeaseLost

PAGE: Final = 2_000
"""Entries that are read at a time."""

STREAM_NAME: Final = pattern(rb"assay:(0|[1-9][0-9]{0,18}):events")
"""The name of an installation's stream."""

DEDUPLICATION_TTL: Final = keys.MONTH


class StreamEntry(NamedTuple):
    """One entry as it stands there: `id` begins with the milliseconds at which the server took it."""

    id: str
    kind: bytes
    raw: bytes

    @property
    def at_ms(self) -> int:
        return int(self.id.partition("-")[0])


def parse_entry(reply: Reply) -> StreamEntry:
    """An entry as Redis lists it. What somebody else wrote there has no kind: the reader of its body skips and counts it."""
    name, fields = items(reply)
    parts = items(fields)
    values = dict(zip(map(blob, parts[::2]), parts[1::2], strict=True))
    return StreamEntry(text(name), blob(values.get(b"k", b"")), blob(values.get(b"j", b"")))


class RedisEvents:
    """The Events port, and the way back. *told_for*: how long an entry stays (0: for good)."""

    def __init__(self, wire: RedisClient, told_for: timedelta, hold: timedelta) -> None:
        self._wire = wire
        self._told_ms = int(told_for.total_seconds() * 1000)
        self._hold_ms = int(hold.total_seconds() * 1000)

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        """Tell that an evaluation began, under this fence. Again: changes nothing. Raises LeaseLost."""
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
        """End an evaluation without a verdict on record. False: it had ended before."""
        on = [keys.events(pull.installation_id)]
        arguments = (event.body["eval_id"], self._told_ms, event.kind, event.dump())
        return whole(run_script(self._wire, Script.EVAL_ENDED, on, *arguments)) == 1

    def end_orphaned(self) -> int:
        """End the evaluations whose judges are dead; how many there were."""
        return whole(run_script(self._wire, Script.EVALS_LOST, [], self._hold_ms))

    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool:
        """Tell what happened, once under this *name*, and in one step. False: it is known."""
        on = [keys.events(installation), keys.published_event(installation, name)]
        known_s = int(DEDUPLICATION_TTL.total_seconds())
        pairs = (part for event in events for part in (event.kind, event.dump()))
        return whole(run_script(self._wire, Script.TELL, on, self._told_ms, known_s, *pairs)) == 1

    def read(self, installation: InstallationId, after: str = "", until_ms: int | None = None) -> Iterator[StreamEntry]:
        """The entries behind the one named *after* (all of them where it is empty), oldest first, a page at a time."""
        start = f"({after}" if after else "-"
        end = "+" if until_ms is None else str(until_ms)
        while page := items(self._wire.call("XRANGE", keys.events(installation).name, start, end, "COUNT", PAGE)):
            yield from map(parse_entry, page)
            if len(page) < PAGE:
                return
            start = f"({text(items(page[-1])[0])}"

    def trim(self, installation: InstallationId) -> int:
        """Drop what was told longer ago than is kept; how many entries. Where nothing new is told, nobody else does."""
        if not self._told_ms:
            return 0
        seconds, _ = items(self._wire.call("TIME"))  # the names of entries are of the server's clock
        first = max(0, int(text(seconds)) * 1000 - self._told_ms)
        return whole(self._wire.call("XTRIM", keys.events(installation).name, "MINID", first))

    def installations(self) -> tuple[InstallationId, ...]:
        """All whose streams there are; what somebody else put there under a name like theirs is none."""
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
