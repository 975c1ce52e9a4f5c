"""What the checks of one commit say, by pull request, and the commits at which they may not say together what they should.

Does not talk to GitHub. Invariant: what a check says is noted before GitHub is told, so that nobody who shares the commit is shown
without it; the texts are encrypted; and a commit stays in the line until all of its checks say what they should.
"""

import json
from datetime import timedelta
from typing import Any, Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Wire, blob, items, text, whole
from worker.adapters.redis.delayed_queue import Waiting
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s, place_of, shown_of
from worker.adapters.redis.scripts import Script, run
from worker.adapters.redis.waiting_keys import COMMITS
from worker.domain.check.check_run import Block, Button, CheckContent, Conclusion
from worker.domain.check.shared_head import Member, Met, Place, Sibling, Together, hash_of, state_of, to_json
from worker.domain.check.wait_status import Awaiting
from worker.domain.ids import InstallationId, RepositoryId, Sha
from worker.domain.request.judge_request import PullRef
from worker.settings import Timing

BACKSTOP_MS: Final = 5_000
"""How soon somebody looks at a commit where a check was about to say something and was not heard of since."""


class RedisSiblings:
    """The Siblings port, and the line of commits to look at."""

    def __init__(self, wire: Wire, codec: Codec, timing: Timing) -> None:
        self._wire = wire
        self._codec = codec
        self._waiting = Waiting(wire, timing, Place, COMMITS)

    def says(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> Together:
        on = [keys.pull(pull), _key(pull, head_sha), COMMITS.order, COMMITS.texts]
        sealed = self._codec.seal(to_json(content), _seal_of(on[1], pull.number))
        pulls = keys.prefix("pull", pull.installation_id, pull.repository_id)
        times = (lifetime_s(on[1]), BACKSTOP_MS)
        told = (pull.number, head_sha, state_of(content), sealed, *times, pulls, shown_of(pull), place_of(pull))
        version, is_here, *others = items(run(self._wire, Script.SIBLING_SAYS, on, *told))
        found = zip(others[::2], others[1::2], strict=True)
        siblings = tuple(Sibling(int(text(number)), text(state)) for number, state in found)
        return Together(whole(version), bool(whole(is_here)), siblings)

    def told(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        self._told(pull, head_sha, version, content)

    def _told(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent, *settled: int) -> None:
        on = [_key(pull, head_sha), COMMITS.order, COMMITS.texts]
        place = f'{place_of(pull)}{head_sha}"}}'
        run(self._wire, Script.SIBLING_TOLD, on, pull.number, version, hash_of(content), place, *settled)

    def comes(self, pull: PullRef, head_sha: Sha) -> None:
        on = [keys.pull(pull), _key(pull, head_sha), COMMITS.order, COMMITS.texts]
        run(self._wire, Script.SIBLING_COMES, on, pull.number, head_sha, shown_of(pull), place_of(pull))

    def leaves(self, pull: PullRef, place: Place | None = None) -> None:
        """*place*: where; else where its check said anything last."""
        on = [keys.pull(pull), COMMITS.order, COMMITS.texts]
        name = place_of(pull)
        if place is not None:
            on.append(_of(place))
            name = place.model_dump_json()
        run(self._wire, Script.SIBLING_LEAVES, on, pull.number, shown_of(pull), name)

    # Whoever looks

    def next(self) -> tuple[Place, int] | None:
        """A commit to look at, and how often somebody did."""
        return self._waiting.next()

    def later(self, place: Place, delay: timedelta) -> None:
        self._waiting.later(_of(place).name, delay)

    def at(self, place: Place) -> Met:
        pulls = keys.prefix("pull", place.installation_id, place.repository_id)
        version, *told = items(run(self._wire, Script.SIBLINGS, [_of(place)], place.head_sha, pulls))
        found = zip(told[::4], told[1::4], told[2::4], told[3::4], strict=True)
        members = (
            Member(int(text(one)), text(state), bool(whole(here)), text(shown)) for one, state, here, shown in found
        )
        return Met(whole(version), tuple(sorted(members, key=lambda member: member.number)))

    def own(self, place: Place, number: int) -> CheckContent:
        """What this one's check says by itself."""
        key = _of(place)
        sealed = blob(self._wire.call("HGET", key.name, f"{number}:own"))
        return _content(self._codec.open(sealed, _seal_of(key, number)))

    def tells(self, place: Place, number: int) -> None:
        """GitHub is about to be told something else: until that is `settled`, nobody knows what its check shows."""
        self._wire.call("HSET", _of(place).name, f"{number}:on", 1)
        self._wire.call("HDEL", _of(place).name, f"{number}:as")

    def settled(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        """It was told this, as things were in that version."""
        self._told(pull, head_sha, version, content, 1)

    def done(self, place: Place, version: int) -> bool:
        """All say what they should, as of this version. False: something was said since."""
        return bool(run(self._wire, Script.SIBLINGS_DONE, [*COMMITS.keys, _of(place)], version))


def _key(pull: PullRef, head_sha: Sha) -> keys.Key:
    return keys.shown(pull.installation_id, pull.repository_id, head_sha)


def _of(place: Place) -> keys.Key:
    return keys.shown(InstallationId(place.installation_id), RepositoryId(place.repository_id), place.head_sha)


def _seal_of(key: keys.Key, number: int) -> str:
    return f"{key.name} {number}"


def _content(said: bytes) -> CheckContent:
    told: dict[str, Any] = json.loads(said)
    known: dict[str, Any] = {name: told[name] for name in CheckContent.__match_args__ if name in told}
    if known["conclusion"] is not None:
        known["conclusion"] = Conclusion(known["conclusion"])
    known["block"] = _block(known.get("block"))
    known["buttons"] = tuple(Button(one["label"], one["identifier"], one["description"]) for one in known["buttons"])
    return CheckContent(**known)


def _block(told: dict[str, Any] | None) -> Block | None:
    """None: an earlier version wrote it, and its text says all. What a later one adds is left out."""
    if told is None:
        return None
    known: dict[str, Any] = {name: told[name] for name in Block.__match_args__ if name in told}
    known["state"] = Awaiting(known["state"])
    return Block(**known)
