"""What is on record, by eval id and by repository: found for people who ask, and forgotten whole.

Looks through all keys: nothing here is for a judge. Does not edit anything. Invariant: what was found of a repository is
what is deleted, and what is left of it then is its tombstone: when it was forgotten.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, blob, items, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.event_stream import Events as Stream
from worker.adapters.redis.pauses import Switches
from worker.adapters.redis.repositories import find_repositories
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.versioned_json import read
from worker.adapters.redis.waiting_keys import ASKS, HAPPENINGS
from worker.domain.ids import EvalId, InstallationId, RepositoryId
from worker.domain.request.judge_request import Ask, JudgeRequest
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry

BATCH: Final = 1_000


class Owned(Value):
    """The names of all keys of a repository under one pair of numbers, by what they hold.

    `events`: its entries on the installation's stream; `evals`: its evaluations that have not ended.
    """

    installation: InstallationId
    repository: RepositoryId
    names: Mapping[str, Sequence[str]]
    events: Sequence[str] = ()
    evals: Sequence[str] = ()


class Holdings(Value):
    """All that is stored about a repository. `forgotten_at`: when it was forgotten before."""

    repository: str
    owned: tuple[Owned, ...]
    commands: tuple[Ask, ...]
    verdicts: int
    forgotten_at: datetime | None

    def count(self, what: str) -> int:
        return sum(len(one.names[what]) for one in self.owned)

    @property
    def events(self) -> int:
        return sum(len(one.events) for one in self.owned)

    @property
    def is_empty(self) -> bool:
        kept = any(names for one in self.owned for names in (*one.names.values(), one.events, one.evals))
        return not kept and not self.commands


class Records:
    """The reader of everything, and the one who forgets."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def find(self, eval_id: EvalId) -> LedgerEntry | None:
        """The entry of this name, in whatever ledger."""
        for batch in self._scanned(keys.every("ledger")):
            if found := items(run(self._wire, Script.FIND_ENTRY, batch, eval_id)):
                return read(LedgerEntry, self._codec.open(blob(found[1]), text(found[0])))
        return None

    def of_repository(self, repository: str) -> Holdings:
        """All that is stored about a repository, under whatever numbers it was judged."""
        numbers = sorted(self._numbers(repository))
        owned = tuple(self._owned(*one) for one in numbers)
        said = self._wire.call("GET", keys.forgotten(repository).name)
        return Holdings(
            repository,
            owned,
            commands=tuple(
                one for one in self._asks() if (one.pull.installation_id, one.pull.repository_id) in numbers
            ),
            verdicts=sum(whole(self._wire.call("HLEN", name)) for one in owned for name in one.names["ledger"]),
            forgotten_at=datetime.fromisoformat(text(said)) if said else None,
        )

    def forget(self, holdings: Holdings, at: datetime) -> None:
        """Delete it, and leave the tombstone. A judge that is at it loses its lease."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.forgotten(holdings.repository))
        for one in holdings.owned:
            self._delete(on, [name for names in one.names.values() for name in names], one.installation, at)
            self._untell(one)
            self._unlink(one)
        for ask in holdings.commands:
            run(self._wire, Script.ASK_DONE, ASKS.keys, ask.delivery_id)
        for one in holdings.owned:
            self._unhear(f'"repository_id":{one.repository},')
        last = keys.named(holdings.repository)
        run(self._wire, Script.FORGET, [*on, last], "", _stamp(at))

    def forget_installation(self, installation: InstallationId, at: datetime) -> int:
        """Delete all that is stored about an installation, repository by repository; how many keys there were."""
        on = (keys.DEADLINES, keys.DEADLINE_NOTES, keys.forgotten(f"installation {installation}"))
        gone, repositories = 0, self._repositories(installation)
        for repository in repositories:
            owned = self._owned(installation, repository)
            self._untell(owned)
            gone += self._delete(on, [name for names in owned.names.values() for name in names], installation, at)
        for ask in [one for one in self._asks() if one.pull.installation_id == installation]:
            run(self._wire, Script.ASK_DONE, ASKS.keys, ask.delivery_id)
        self._unhear(f'"installation_id":{installation},')
        for batch in self._scanned(keys.of_installation(installation)):
            gone += self._delete(on, batch, installation, at)
        if pairs := [f"{installation}:{repository}" for repository in repositories]:
            for batch in self._scanned(keys.any_named()):
                for name in batch:
                    self._wire.call("SREM", name, *pairs)
        self._wire.call("ZREM", keys.LEAVING.name, installation)
        return gone

    def installations(self) -> tuple[InstallationId, ...]:
        """All of which something is told."""
        return self._stream().installations()

    def _repositories(self, installation: InstallationId) -> tuple[RepositoryId, ...]:
        """Those that anything of a pull request is kept of."""
        kinds = {what.encode() for what in (*keys.OF_PULLS, "kept")}
        found: set[int] = set()
        for batch in self._scanned(keys.of_installation(installation)):
            parts = [name.encode().split(b":") for name in batch]
            found |= {int(one[3]) for one in parts if len(one) > 3 and one[2] in kinds}  # noqa: PLR2004 - assay:I:what:R
        return tuple(RepositoryId(one) for one in sorted(found))

    def _delete(self, on: Sequence[keys.Key], names: Sequence[str], installation: InstallationId, at: datetime) -> int:
        pages = (names[start : start + BATCH] for start in range(0, len(names), BATCH))
        return sum(whole(run(self._wire, Script.FORGET, [*on, *page], installation, _stamp(at))) for page in pages)

    def _unhear(self, mark: str) -> None:
        """Drop what happened and was not looked into yet."""
        notes = items(self._wire.call("HGETALL", HAPPENINGS.texts.name))
        for name, note in zip(notes[::2], notes[1::2], strict=True):
            if mark in f"{text(note)},".replace("}", ","):
                on = HAPPENINGS.keys
                run(self._wire, Script.ASK_DONE, on, text(name))

    def _unlink(self, owned: Owned) -> None:
        """No issue is closed by its pull requests any more."""
        mine = f"{owned.repository}:"
        for batch in self._scanned(keys.solving_any(owned.installation)):
            for name in batch:
                members = [text(one) for one in items(self._wire.call("ZRANGE", name, 0, -1))]
                if closing := [one for one in members if one.startswith(mine)]:
                    self._wire.call("ZREM", name, *closing)

    def _untell(self, owned: Owned) -> None:
        """Take its happenings off the stream. First what has not ended: a watchdog would tell of it."""
        for start in range(0, len(owned.evals), BATCH):
            evals = owned.evals[start : start + BATCH]
            self._wire.call("HDEL", keys.EVALS.name, *evals)
            self._wire.call("ZREM", keys.EVALS_BY.name, *evals)
        for start in range(0, len(owned.events), BATCH):
            self._wire.call("XDEL", keys.events(owned.installation).name, *owned.events[start : start + BATCH])
        counted = (keys.rollup(owned.installation), keys.rolled(owned.installation))
        self._wire.call("UNLINK", *(key.name for key in counted))  # what is left is counted again

    def _numbers(self, repository: str) -> set[tuple[InstallationId, RepositoryId]]:
        """Of what was recorded, of what only waits to be judged, and of what was only paused."""
        paused = Switches(self._wire).of(repository)
        waiting = (request for request in self._requests() if request.repository.lower() == repository.lower())
        return (
            paused
            | set(find_repositories(self._wire, repository))
            | {(request.pull.installation_id, request.pull.repository_id) for request in waiting}
        )

    def _requests(self) -> Iterator[JudgeRequest]:
        for batch in self._scanned(keys.every("pull")):
            for name in batch:
                if said := self._wire.call("HGET", name, "req"):
                    yield read(JudgeRequest, text(said))

    def _asks(self) -> Iterator[Ask]:
        return (read(Ask, text(said)) for said in items(self._wire.call("HVALS", ASKS.texts.name)))

    def _owned(self, installation: InstallationId, repository: RepositoryId) -> Owned:
        names: dict[str, list[str]] = {what: [] for what in keys.OF_PULLS}
        beginnings = {what: keys.prefix(what, installation, repository) for what in keys.OF_PULLS}
        for batch in self._scanned(keys.of_installation(installation)):
            for what, beginning in beginnings.items():
                names[what] += [name for name in batch if name.startswith(beginning)]
        unique = {what: sorted(set(found)) for what, found in names.items()}
        kept = keys.kept(installation, repository).name
        ids = self._eval_ids(kept, unique["ledger"])
        blobs = {
            "dossier": self._there(keys.dossier(one).name for one in ids),
            "audit": self._there(keys.audit(one).name for one in ids),
            "kept": self._there(iter([kept])),
            "paused": self._there(iter([keys.paused(installation, repository).name])),
            "shelf": self._there(iter([keys.shelf(installation, repository).name])),
        }
        told, evals = self._told(installation, repository), self._begun(installation, repository)
        return Owned(installation, repository, {**unique, **blobs}, told, evals)

    def _told(self, installation: InstallationId, repository: RepositoryId) -> tuple[str, ...]:
        """The entries of the stream that name the repository; what can't be read names nobody."""
        names = re.compile(rb'"repository_id"\s*:\s*%d\s*[,}]' % repository)
        return tuple(one.id for one in self._stream().read(installation) if names.search(one.raw))

    def _stream(self) -> Stream:
        return Stream(self._wire, timedelta(0), timedelta(0))

    def _begun(self, installation: InstallationId, repository: RepositoryId) -> tuple[str, ...]:
        beginning = keys.prefix("pull", installation, repository).encode()
        notes = items(self._wire.call("HGETALL", keys.EVALS.name))
        pairs = zip(notes[::2], notes[1::2], strict=True)
        return tuple(text(name) for name, note in pairs if blob(note).startswith(beginning))

    def _eval_ids(self, kept: str, ledgers: Sequence[str]) -> list[EvalId]:
        listed = items(self._wire.call("ZRANGE", kept, 0, -1))
        entered = [one for name in ledgers for one in items(self._wire.call("HKEYS", name))]
        return sorted({EvalId(text(one)) for one in (*listed, *entered)})

    def _there(self, names: Iterator[str]) -> list[str]:
        return [name for name in names if whole(self._wire.call("EXISTS", name))]

    def _scanned(self, pattern: str) -> Iterator[list[str]]:
        """The names of all keys of a pattern, in batches, each name at least once."""
        cursor = "0"
        while True:
            after, found = items(self._wire.call("SCAN", cursor, "MATCH", pattern, "COUNT", BATCH))
            if names := [text(one) for one in items(found)]:
                yield names
            cursor = text(after)
            if cursor == "0":
                return


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
