"""Heads that nobody judged while judging was paused, until it goes on.

Does not know whether it is paused (`worker.adapters.redis.pauses` does) and does not ask for a judging. Invariant: what was put
here stays until it is taken, whoever dies meanwhile.
"""

from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, items, text
from worker.adapters.redis.intake import lifetime_s, milliseconds
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.model import Frozen
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.settings import Timing

AT_A_TIME: Final = 100
"""How many of a repository are looked at in one go."""


class PausedRepository(Frozen):
    """A repository in which something waits for the end of a pause."""

    installation_id: InstallationId
    repository_id: RepositoryId


class RedisPausedHeads:
    """What waits in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, timing: Timing) -> None:
        self._wire = wire
        self._look_ms = milliseconds(2 * timing.sweep)

    def put(self, request: JudgeRequest) -> None:
        """Have this judged when the pause is over; a newer request of the same pull request takes its place."""
        key = _shelf(request.pull)
        on = [key, keys.PAUSED_REPOSITORIES]
        name, text = keys.pull(request.pull).name, request.model_dump_json()
        run_script(self._wire, Script.SHELVE, on, name, _place(request.pull), text, self._look_ms, lifetime_s(key))

    def remove(self, pull: PullRef) -> None:
        """It waits no more."""
        run_script(
            self._wire, Script.UNSHELVE, [_shelf(pull), keys.PAUSED_REPOSITORIES], keys.pull(pull).name, _place(pull)
        )

    def next(self) -> tuple[PausedRepository, ...]:
        """Where to look now. Each comes again after a while, as long as anything waits there."""
        repositories = items(run_script(self._wire, Script.SHELVES_NEXT, [keys.PAUSED_REPOSITORIES], self._look_ms))
        return tuple(read_json(PausedRepository, text(repository)) for repository in repositories)

    def list_requests(self, paused: PausedRepository) -> tuple[JudgeRequest, ...]:
        """What waits there, or a part of it."""
        key = keys.paused_heads(paused.installation_id, paused.repository_id)
        _, fields = items(self._wire.call("HSCAN", key.name, 0, "COUNT", AT_A_TIME))
        return tuple(read_json(JudgeRequest, text(stored)) for stored in items(fields)[1::2])

    def remove_repository(self, paused: PausedRepository) -> None:
        """Look there no more, if nothing waits there."""
        on = [keys.paused_heads(paused.installation_id, paused.repository_id), keys.PAUSED_REPOSITORIES]
        run_script(self._wire, Script.UNSHELVE, on, "", paused.model_dump_json())


def _shelf(pull: PullRef) -> keys.Key:
    return keys.paused_heads(pull.installation_id, pull.repository_id)


def _place(pull: PullRef) -> str:
    return PausedRepository(installation_id=pull.installation_id, repository_id=pull.repository_id).model_dump_json()
