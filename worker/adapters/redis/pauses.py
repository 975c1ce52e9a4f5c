"""Where judging is stopped: in single repositories, or everywhere.

Does not know what waits meanwhile (`worker.adapters.redis.paused_heads` does). Invariant: a pause that was given an end is over then,
whether anybody looks or not; any other one stays until it is taken back.
"""

from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, Reply, items, text
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName
from worker.domain.request.pause import JudgingPause
from worker.domain.value import Value

UNKNOWN_SUSPENSION: Final = JudgingPause()
"""What the version before this one wrote down of a pause: that there is one."""


class ActivePause(Value):
    """A pause that is in force. `is_everywhere`: the operator set it, for all repositories."""

    suspension: JudgingPause
    is_everywhere: bool


class RedisPauses:
    """The pauses in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def find_pause(self, installation: InstallationId, repository: RepositoryId) -> ActivePause | None:
        """The pause that this repository is under, if it is under one."""
        both = self._wire.call("MGET", keys.PAUSE_ALL.name, keys.pause(installation, repository).name)
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
        """Go on; whether it was paused. What waited is looked at now."""
        return bool(
            run_script(self._wire, Script.RESUME, [keys.pause(installation, repository), keys.PAUSED_REPOSITORIES])
        )

    def resume_all(self) -> bool:
        """Take back the pause of all repositories; those that are paused on their own stay so."""
        return bool(run_script(self._wire, Script.RESUME, [keys.PAUSE_ALL, keys.PAUSED_REPOSITORIES]))

    def list_pauses(self) -> tuple[ActivePause, ...]:
        """All pauses, the one of everything first. Looks through all keys: for people who ask."""
        everywhere = _read(self._wire.call("GET", keys.PAUSE_ALL.name))
        first = () if everywhere is None else (ActivePause(everywhere, is_everywhere=True),)
        pauses = [_read(self._wire.call("GET", name)) for name in sorted(self._names())]
        return *first, *(ActivePause(pause, is_everywhere=False) for pause in pauses if pause is not None)

    def find_by_name(self, repository: RepositoryName) -> set[tuple[InstallationId, RepositoryId]]:
        """The numbers of those that were paused under this name: perhaps nothing else is known of them. Looks through all keys."""
        pauses = {name: _read(self._wire.call("GET", name)) for name in self._names()}
        named = [name.split(":") for name, pause in pauses.items() if pause and _is_of(pause, repository)]
        return {(InstallationId(int(installation)), RepositoryId(int(other))) for _, installation, _, other in named}

    def _names(self) -> set[str]:
        names, cursor = set[str](), "0"
        while True:
            after, batch = items(self._wire.call("SCAN", cursor, "MATCH", keys.any_pause(), "COUNT", 1_000))
            names |= {text(name) for name in items(batch)}
            cursor = text(after)
            if cursor == "0":
                return names

    def _set(self, key: keys.Key, suspension: JudgingPause) -> None:
        end = "" if suspension.until is None else int(suspension.until.timestamp() * 1000)
        run_script(self._wire, Script.PAUSE, [key], suspension.model_dump_json(), end)


def _is_of(suspension: JudgingPause, repository: RepositoryName) -> bool:
    return (suspension.repository or "").lower() == repository.lower()


def _read(reply: Reply) -> JudgingPause | None:
    if reply is None:
        return None
    stored = text(reply)
    return read_json(JudgingPause, stored) if stored.startswith("{") else UNKNOWN_SUSPENSION
