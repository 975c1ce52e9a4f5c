"""Pauses of judging, per repository or global, and the heads that wait for their end.

A pause with an end expires without any process; others stay until resumed.
"""

from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    Reply,
    find_server_time,
    items,
    read_json,
    scan_keys,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    read_due,
    write_all,
)
from worker.adapters.redis.judging.intake import milliseconds
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.lifecycle.work import ActivePause, PausedRepository
from worker.domain.model import InstallationId, RepositoryId, RepositoryName
from worker.domain.time_range import JudgingPause
from worker.settings import Timing

UNKNOWN_SUSPENSION: Final = JudgingPause()
"""A pause in the format of the previous version, which has no details."""


class RedisPauses(RedisPart):
    """Pauses in Redis. All methods raise Unavailable and are idempotent."""

    def find_pause(self, installation: InstallationId, repository: RepositoryId) -> ActivePause | None:
        """Find the pause that applies to this repository."""
        both = self._client.call("MGET", keys.PAUSE_ALL.name, keys.pause(installation, repository).name)
        everywhere, here = (_read(reply) for reply in items(both))
        if everywhere is not None:
            return ActivePause(everywhere, is_everywhere=True)
        return None if here is None else ActivePause(here, is_everywhere=False)

    def is_paused(self, installation: InstallationId, repository: RepositoryId) -> bool:
        return self.find_pause(installation, repository) is not None

    def pause(
        self, installation: InstallationId, repository: RepositoryId, suspension: JudgingPause = UNKNOWN_SUSPENSION
    ) -> None:
        self._set(keys.pause(installation, repository), suspension)

    def pause_all(self, suspension: JudgingPause) -> None:
        self._set(keys.PAUSE_ALL, suspension)

    def resume(self, installation: InstallationId, repository: RepositoryId) -> bool:
        """Resume a repository, and return whether it was paused. Its waiting heads are checked now."""
        return self._resume(keys.pause(installation, repository))

    def resume_all(self) -> bool:
        """End the global pause; pauses of single repositories stay."""
        return self._resume(keys.PAUSE_ALL)

    def list_pauses(self) -> tuple[ActivePause, ...]:
        """All pauses, the global one first. Scans all keys: for interactive use."""
        everywhere = _read(self._client.call("GET", keys.PAUSE_ALL.name))
        first = () if everywhere is None else (ActivePause(everywhere, is_everywhere=True),)
        pauses = [_read(self._client.call("GET", name)) for name in sorted(self._names())]
        return *first, *(ActivePause(pause, is_everywhere=False) for pause in pauses if pause is not None)

    def find_by_name(self, repository: RepositoryName) -> set[tuple[InstallationId, RepositoryId]]:
        """Ids of repositories paused under this name, which may have no other record. Scans all keys."""
        pauses = {name: _read(self._client.call("GET", name)) for name in self._names()}
        wanted = repository.lower()
        named = [
            name.split(":") for name, pause in pauses.items() if pause and (pause.repository or "").lower() == wanted
        ]
        return {(InstallationId(int(installation)), RepositoryId(int(other))) for _, installation, _, other in named}

    def _names(self) -> set[str]:
        return {name.decode() for names in scan_keys(self._client, keys.EVERY_PAUSE, 1_000) for name in names}

    def _set(self, key: keys.Key, suspension: JudgingPause) -> None:
        end = () if suspension.until is None else ("PXAT", int(suspension.until.timestamp() * 1000))
        self._client.call("SET", key.name, suspension.model_dump_json(), *end)

    @in_transaction
    def _resume(self, transaction: Transaction, key: keys.Key) -> Operation[bool]:
        paused, repositories = yield from transaction.read(
            ("EXISTS", key.name), ("ZRANGE", keys.PAUSED_REPOSITORIES.name, 0, -1)
        )
        for repository in map(text, items(repositories)):
            transaction.write("ZADD", keys.PAUSED_REPOSITORIES.name, "LT", transaction.now, repository)
        transaction.write("DEL", key.name)
        return paused == 1


def _read(reply: Reply) -> JudgingPause | None:
    if reply is None:
        return None
    stored = text(reply)
    return read_json(JudgingPause, stored) if stored.startswith("{") else UNKNOWN_SUSPENSION


AT_A_TIME: Final = 100
"""Batch size of one repository's heads."""

REPOSITORIES_AT_A_TIME: Final = 20


class RedisPausedHeads(RedisPart):
    """Paused heads in Redis. All methods raise Unavailable and are idempotent."""

    def __init__(self, client: RedisClient, timing: Timing) -> None:
        super().__init__(client)
        self._look_ms = milliseconds(2 * timing.sweep)

    def put(self, request: JudgeRequest) -> None:
        """Store a request until the pause ends; a newer one of the same pull request replaces it."""
        pull = request.pull
        key, repository = keys.paused_heads(pull.installation_id, pull.repository_id), _place(pull).model_dump_json()
        look_at = find_server_time(self._client) + self._look_ms
        write_all(
            self._client,
            ("HSET", key.name, keys.pull(pull).name, request.model_dump_json()),
            ("EXPIRE", key.name, key.seconds),
            ("ZADD", keys.PAUSED_REPOSITORIES.name, "LT", look_at, repository),
        )

    def remove(self, pull: PullRef) -> None:
        """Remove a pull request from the paused heads."""
        self._remove(_place(pull), keys.pull(pull).name)

    @in_transaction
    def next(self, transaction: Transaction) -> Operation[tuple[PausedRepository, ...]]:
        """Take the repositories to check now. Each returns after the hold while a head waits there."""
        due = yield from read_due(transaction, keys.PAUSED_REPOSITORIES, REPOSITORIES_AT_A_TIME)
        for name in due:
            transaction.write("ZADD", keys.PAUSED_REPOSITORIES.name, transaction.now + self._look_ms, name)
        return tuple(read_json(PausedRepository, name) for name in due)

    def list_requests(self, paused: PausedRepository) -> tuple[JudgeRequest, ...]:
        """A batch of the waiting requests."""
        key = keys.paused_heads(paused.installation_id, paused.repository_id)
        _, fields = items(self._client.call("HSCAN", key.name, 0, "COUNT", AT_A_TIME))
        return tuple(read_json(JudgeRequest, text(stored)) for stored in items(fields)[1::2])

    def remove_repository(self, paused: PausedRepository) -> None:
        """Remove a repository without waiting heads."""
        self._remove(paused, "")

    @in_transaction
    def _remove(self, transaction: Transaction, paused: PausedRepository, pull_key: str) -> Operation[None]:
        heads_key = keys.paused_heads(paused.installation_id, paused.repository_id).name
        waits, count = map(whole, (yield from transaction.read(("HEXISTS", heads_key, pull_key), ("HLEN", heads_key))))
        if waits:
            transaction.write("HDEL", heads_key, pull_key)
        if waits == count:
            transaction.write("ZREM", keys.PAUSED_REPOSITORIES.name, paused.model_dump_json())


def _place(pull: PullRef) -> PausedRepository:
    return PausedRepository(installation_id=pull.installation_id, repository_id=pull.repository_id)
