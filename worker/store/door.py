"""What the web's door does in Redis: one script for a request, one for a command.

Imports neither rq nor cryptography nor redis-py: the door starts fast and stays small. Does not read anything
back. Invariant: a delivery counts once, however often it comes; both calls answer in one round trip.
"""

from enum import StrEnum
from typing import Final

from worker.domain import keys
from worker.domain.happenings import Happened, Happening
from worker.domain.ids import DeliveryId
from worker.domain.request import Ask, JudgeRequest, Trigger
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.lua import Script, run
from worker.store.wire import Wire, items, text, whole

FORCE: Final = "force"
FORCING: Final = frozenset({Trigger.COMMAND, Trigger.RERUN})
"""Somebody asked by hand: the request keeps saying so, though a push comes after it."""

AT_ONCE: Final = frozenset({Trigger.COMMAND, Trigger.RERUN, Trigger.LATE, Trigger.LOCAL})
"""Nobody is still pushing: no quiet window."""


class Outcome(StrEnum):
    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    UNKNOWN = "unknown"
    """About nothing that was judged here."""


class Wanted(Value):
    """What became of a request. `seq` numbers it among all events; 0 for a duplicate."""

    outcome: Outcome
    seq: int


def want(wire: Wire, request: JudgeRequest, timing: Timing) -> Wanted:
    """Have this pull request judged, after its quiet window. Raises Unavailable."""
    is_immediate = request.trigger in AT_ONCE
    reply = items(
        run(
            wire,
            Script.WANT,
            [keys.pull(request.pull), keys.delivery(request.delivery_id)],
            request.pull.installation_id,
            request.head_sha or "",
            request.model_dump_json(),
            0 if is_immediate else milliseconds(timing.quiet_window),
            milliseconds(timing.quiet_max),
            FORCE if request.trigger in FORCING else "",
            lifetime_s(keys.delivery(request.delivery_id)),
        )
    )
    return Wanted(Outcome(text(reply[0])), whole(reply[1]))


def ask(wire: Wire, command: Ask) -> Outcome:
    """Take down a command whose author nobody has checked yet. Raises Unavailable."""
    key = keys.asked(DeliveryId(command.delivery_id))
    reply = run(
        wire,
        Script.ASK_PUT,
        [key, keys.ASKS, keys.ASK_TEXTS],
        command.delivery_id,
        command.model_dump_json(),
        lifetime_s(key),
    )
    return Outcome.QUEUED if reply else Outcome.DUPLICATE


def happen(wire: Wire, happening: Happening) -> Outcome:
    """Note down what may be an outcome of something that was judged. Raises Unavailable."""
    key = keys.heard(happening.delivery_id)
    on = [key, keys.HAPPENINGS, keys.HAPPENING_TEXTS, *_known(happening)]
    reply = run(wire, Script.HAPPEN, on, happening.delivery_id, happening.model_dump_json(), lifetime_s(key))
    return Outcome(text(reply))


def _known(happening: Happening) -> list[keys.Key]:
    """One of these is there if it is about something that was judged; none: it is rare enough to be looked into."""
    if happening.what is Happened.CI_FAILED and happening.head_sha:
        return [keys.commit(happening.installation_id, happening.repository_id, happening.head_sha)]
    about = [happening.pull, *(happening.beside(number) for number in happening.reverts)]
    return [keys.watch(one) for one in about if one is not None]


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def lifetime_s(key: keys.Key) -> int:
    """How long a value stays under this key, in seconds; the key must have an end."""
    if key.ttl is None:
        raise ValueError(f"{key.name} stays for good")
    return int(key.ttl.total_seconds())
