"""Heads that nobody judged while judging was paused, until it goes on.

Does not know whether it is paused (`worker.adapters.redis.pauses` does) and does not ask for a judging. Invariant: what was put
here stays until it is taken, whoever dies meanwhile.
"""

from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, items, text
from worker.adapters.redis.intake import lifetime_s, milliseconds
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.versioned_json import read
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.model import Frozen
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.settings import Timing

AT_A_TIME: Final = 100
"""How many of a repository are looked at in one go."""


class Place(Frozen):
    """A repository in which something waits for the end of a pause."""

    installation_id: InstallationId
    repository_id: RepositoryId


class Shelf:
    """What waits in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, timing: Timing) -> None:
        self._wire = wire
        self._look_ms = milliseconds(2 * timing.sweep)

    def put(self, request: JudgeRequest) -> None:
        """Have this judged when the pause is over; a newer request of the same pull request takes its place."""
        key = _shelf(request.pull)
        on = [key, keys.SHELVES]
        name, said = keys.pull(request.pull).name, request.model_dump_json()
        run(self._wire, Script.SHELVE, on, name, _place(request.pull), said, self._look_ms, lifetime_s(key))

    def take(self, pull: PullRef) -> None:
        """It waits no more."""
        run(self._wire, Script.UNSHELVE, [_shelf(pull), keys.SHELVES], keys.pull(pull).name, _place(pull))

    def next(self) -> tuple[Place, ...]:
        """Where to look now. Each comes again after a while, as long as anything waits there."""
        found = items(run(self._wire, Script.SHELVES_NEXT, [keys.SHELVES], self._look_ms))
        return tuple(read(Place, text(one)) for one in found)

    def at(self, place: Place) -> tuple[JudgeRequest, ...]:
        """What waits there, or a part of it."""
        key = keys.shelf(place.installation_id, place.repository_id)
        _, found = items(self._wire.call("HSCAN", key.name, 0, "COUNT", AT_A_TIME))
        return tuple(read(JudgeRequest, text(one)) for one in items(found)[1::2])

    def forget(self, place: Place) -> None:
        """Look there no more, if nothing waits there."""
        on = [keys.shelf(place.installation_id, place.repository_id), keys.SHELVES]
        run(self._wire, Script.UNSHELVE, on, "", place.model_dump_json())


def _shelf(pull: PullRef) -> keys.Key:
    return keys.shelf(pull.installation_id, pull.repository_id)


def _place(pull: PullRef) -> str:
    return Place(installation_id=pull.installation_id, repository_id=pull.repository_id).model_dump_json()
