"""What is on record, by eval id and by repository: found for people who ask, and forgotten whole.

Looks through all keys: nothing here is for a judge. Does not edit anything. Invariant: what was found of a repository is
what is deleted, and what is left of it then is its tombstone: when it was forgotten.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.event_stream import RedisEvents as Stream
from worker.adapters.redis.pauses import RedisPauses
from worker.adapters.redis.queue_keys import COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.repositories import find_repositories
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import EvalId, InstallationId, RepositoryId
from worker.domain.request.judge_request import CommandRequest, JudgeRequest
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry

BATCH: Final = 1_000


class RepositoryKeys(Value):
    """The names of all keys of a repository under one pair of numbers, by what they hold.

    `events`: its entries on the installation's stream; `evals`: its evaluations that have not ended.
    """

    installation: InstallationId
    repository: RepositoryId
    names: Mapping[str, Sequence[str]]
    events: Sequence[str] = ()
    evals: Sequence[str] = ()


class RepositoryHoldings(Value):
    """All that is stored about a repository. `forgotten_at`: when it was forgotten before."""

    repository: str
    owned: tuple[RepositoryKeys, ...]
    commands: tuple[CommandRequest, ...]
    verdicts: int
    forgotten_at: datetime | None

    def count(self, what: str) -> int:
        return sum(len(owned.names[what]) for owned in self.owned)

    @property
    def events(self) -> int:
        return sum(len(owned.events) for owned in self.owned)

    @property
    def is_empty(self) -> bool:
        kept = any(names for owned in self.owned for names in (*owned.names.values(), owned.events, owned.evals))
        return not kept and not self.commands


class RedisRecords:
    """The reader of everything, and the one who forgets."""

    def __init__(self, wire: RedisClient, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def find_entry(self, eval_id: EvalId) -> LedgerEntry | None:
        """The entry of this name, in whatever ledger."""
        for batch in self._scanned(keys.any_pull_key("ledger")):
            if reply := items(run_script(self._wire, Script.FIND_ENTRY, batch, eval_id)):
                return read_json(LedgerEntry, self._codec.open(blob(reply[1]), text(reply[0])))
        return None

    def find_holdings(self, repository: str) -> RepositoryHoldings:
        """All that is stored about a repository, under whatever numbers it was judged."""
        numbers = sorted(self._numbers(repository))
        owned = tuple(self._owned(*pair) for pair in numbers)
        forgotten_at = self._wire.call("GET", keys.tombstone(repository).name)
        return RepositoryHoldings(
            repository,
            owned,
            commands=tuple(
                command
                for command in self._asks()
                if (command.pull.installation_id, command.pull.repository_id) in numbers
            ),
            verdicts=sum(whole(self._wire.call("HLEN", name)) for part in owned for name in part.names["ledger"]),
            forgotten_at=datetime.fromisoformat(text(forgotten_at)) if forgotten_at else None,
        )

    def forget(self, holdings: RepositoryHoldings, at: datetime) -> None:
        """Delete it, and leave the tombstone. A judge that is at it loses its lease."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.tombstone(holdings.repository))
        for owned in holdings.owned:
            self._delete(on, [name for names in owned.names.values() for name in names], owned.installation, at)
            self._delete_stream_entries(owned)
            self._unlink(owned)
        for ask in holdings.commands:
            run_script(self._wire, Script.ASK_DONE, COMMANDS.keys, ask.delivery_id)
        for owned in holdings.owned:
            self._delete_events(f'"repository_id":{owned.repository},')
        last = keys.repository_numbers(holdings.repository)
        run_script(self._wire, Script.FORGET, [*on, last], "", _stamp(at))

    def forget_installation(self, installation: InstallationId, at: datetime) -> int:
        """Delete all that is stored about an installation, repository by repository; how many keys there were."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.tombstone(f"installation {installation}"))
        gone, repositories = 0, self._repositories(installation)
        for repository in repositories:
            owned = self._owned(installation, repository)
            self._delete_stream_entries(owned)
            gone += self._delete(on, [name for names in owned.names.values() for name in names], installation, at)
        for ask in [command for command in self._asks() if command.pull.installation_id == installation]:
            run_script(self._wire, Script.ASK_DONE, COMMANDS.keys, ask.delivery_id)
        self._delete_events(f'"installation_id":{installation},')
        for batch in self._scanned(keys.any_installation_key(installation)):
            gone += self._delete(on, batch, installation, at)
        if pairs := [f"{installation}:{repository}" for repository in repositories]:
            for batch in self._scanned(keys.any_repository_numbers()):
                for name in batch:
                    self._wire.call("SREM", name, *pairs)
        self._wire.call("ZREM", keys.UNINSTALLATIONS.name, installation)
        return gone

    def installations(self) -> tuple[InstallationId, ...]:
        """All of which something is told."""
        return self._stream().installations()

    def _repositories(self, installation: InstallationId) -> tuple[RepositoryId, ...]:
        """Those that anything of a pull request is kept of."""
        kinds = {what.encode() for what in (*keys.PULL_KEY_KINDS, "kept")}
        numbers: set[int] = set()
        for batch in self._scanned(keys.any_installation_key(installation)):
            parts = [name.encode().split(b":") for name in batch]
            numbers |= {int(part[3]) for part in parts if len(part) > 3 and part[2] in kinds}  # noqa: PLR2004 - assay:I:what:R
        return tuple(RepositoryId(number) for number in sorted(numbers))

    def _delete(self, on: Sequence[keys.Key], names: Sequence[str], installation: InstallationId, at: datetime) -> int:
        pages = (names[start : start + BATCH] for start in range(0, len(names), BATCH))
        return sum(
            whole(run_script(self._wire, Script.FORGET, [*on, *page], installation, _stamp(at))) for page in pages
        )

    def _delete_events(self, mark: str) -> None:
        """Drop what happened and was not looked into yet."""
        notes = items(self._wire.call("HGETALL", PULL_REQUEST_EVENTS.texts.name))
        for name, note in zip(notes[::2], notes[1::2], strict=True):
            if mark in f"{text(note)},".replace("}", ","):
                on = PULL_REQUEST_EVENTS.keys
                run_script(self._wire, Script.ASK_DONE, on, text(name))

    def _unlink(self, owned: RepositoryKeys) -> None:
        """No issue is closed by its pull requests any more."""
        mine = f"{owned.repository}:"
        for batch in self._scanned(keys.any_issue_pulls(owned.installation)):
            for name in batch:
                members = [text(member) for member in items(self._wire.call("ZRANGE", name, 0, -1))]
                if closing := [member for member in members if member.startswith(mine)]:
                    self._wire.call("ZREM", name, *closing)

    def _delete_stream_entries(self, owned: RepositoryKeys) -> None:
        """Take its happenings off the stream. First what has not ended: a watchdog would tell of it."""
        for start in range(0, len(owned.evals), BATCH):
            evals = owned.evals[start : start + BATCH]
            self._wire.call("HDEL", keys.OPEN_EVALUATIONS.name, *evals)
            self._wire.call("ZREM", keys.EVALUATION_DEADLINES.name, *evals)
        for start in range(0, len(owned.events), BATCH):
            self._wire.call("XDEL", keys.events(owned.installation).name, *owned.events[start : start + BATCH])
        counted = (keys.rollup(owned.installation), keys.pull_rollups(owned.installation))
        self._wire.call("UNLINK", *(key.name for key in counted))  # what is left is counted again

    def _numbers(self, repository: str) -> set[tuple[InstallationId, RepositoryId]]:
        """Of what was recorded, of what only waits to be judged, and of what was only paused."""
        paused = RedisPauses(self._wire).find_by_name(repository)
        waiting = (request for request in self._requests() if request.repository.lower() == repository.lower())
        return (
            paused
            | set(find_repositories(self._wire, repository))
            | {(request.pull.installation_id, request.pull.repository_id) for request in waiting}
        )

    def _requests(self) -> Iterator[JudgeRequest]:
        for batch in self._scanned(keys.any_pull_key("pull")):
            for name in batch:
                if request := self._wire.call("HGET", name, "req"):
                    yield read_json(JudgeRequest, text(request))

    def _asks(self) -> Iterator[CommandRequest]:
        return (
            read_json(CommandRequest, text(stored)) for stored in items(self._wire.call("HVALS", COMMANDS.texts.name))
        )

    def _owned(self, installation: InstallationId, repository: RepositoryId) -> RepositoryKeys:
        names: dict[str, list[str]] = {what: [] for what in keys.PULL_KEY_KINDS}
        beginnings = {what: keys.prefix(what, installation, repository) for what in keys.PULL_KEY_KINDS}
        for batch in self._scanned(keys.any_installation_key(installation)):
            for what, beginning in beginnings.items():
                names[what] += [name for name in batch if name.startswith(beginning)]
        unique = {what: sorted(set(keys_found)) for what, keys_found in names.items()}
        kept = keys.archived_evals(installation, repository).name
        ids = self._eval_ids(kept, unique["ledger"])
        blobs = {
            "dossier": self._there(keys.dossier(id_).name for id_ in ids),
            "audit": self._there(keys.audit(id_).name for id_ in ids),
            "kept": self._there(iter([kept])),
            "paused": self._there(iter([keys.pause(installation, repository).name])),
            "shelf": self._there(iter([keys.paused_heads(installation, repository).name])),
        }
        published, evals = self._told(installation, repository), self._begun(installation, repository)
        return RepositoryKeys(installation, repository, {**unique, **blobs}, published, evals)

    def _told(self, installation: InstallationId, repository: RepositoryId) -> tuple[str, ...]:
        """The entries of the stream that name the repository; what can't be read names nobody."""
        names = re.compile(rb'"repository_id"\s*:\s*%d\s*[,}]' % repository)
        return tuple(entry.id for entry in self._stream().read(installation) if names.search(entry.raw))

    def _stream(self) -> Stream:
        return Stream(self._wire, timedelta(0), timedelta(0))

    def _begun(self, installation: InstallationId, repository: RepositoryId) -> tuple[str, ...]:
        beginning = keys.prefix("pull", installation, repository).encode()
        notes = items(self._wire.call("HGETALL", keys.OPEN_EVALUATIONS.name))
        pairs = zip(notes[::2], notes[1::2], strict=True)
        return tuple(text(name) for name, note in pairs if blob(note).startswith(beginning))

    def _eval_ids(self, kept: str, ledgers: Sequence[str]) -> list[EvalId]:
        listed = items(self._wire.call("ZRANGE", kept, 0, -1))
        entered = [field for name in ledgers for field in items(self._wire.call("HKEYS", name))]
        return sorted({EvalId(text(eval_id)) for eval_id in (*listed, *entered)})

    def _there(self, names: Iterator[str]) -> list[str]:
        return [name for name in names if whole(self._wire.call("EXISTS", name))]

    def _scanned(self, pattern: str) -> Iterator[list[str]]:
        """The names of all keys of a pattern, in batches, each name at least once."""
        cursor = "0"
        while True:
            after, batch = items(self._wire.call("SCAN", cursor, "MATCH", pattern, "COUNT", BATCH))
            if names := [text(name) for name in items(batch)]:
                yield names
            cursor = text(after)
            if cursor == "0":
                return


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
