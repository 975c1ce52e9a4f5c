"""What the web's door does in Redis: one script for a request, one for a command.

Imports neither rq nor cryptography nor redis-py: the door starts fast and stays small. Does not read anything
back. Invariant: a delivery counts once, however often it comes; both calls answer in one round trip.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol, assert_never

from worker.domain import keys
from worker.domain.greeting import Greeting
from worker.domain.happenings import Happened, Happening
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.request import DRAFT_TOO, Ask, JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.settings import Timing
from worker.store.lua import Script, run
from worker.store.reading import read
from worker.store.wire import Wire, items, text, whole

FORCE: Final = "force"
ANEW: Final = "anew"
CONTESTED: Final = "contest"
ASKED: Final = "asked"
FLAGS: Final[Mapping[Trigger, str]] = MappingProxyType(
    {
        Trigger.COMMAND: FORCE,
        Trigger.RERUN: FORCE,
        Trigger.FORCE: f"{FORCE} {ANEW}",
        Trigger.CONTEST: f"{FORCE} {CONTESTED}",
        Trigger.REVIEW: ASKED,
        Trigger.CASE: ASKED,
    }
)
"""Somebody asked for it: the request keeps saying so, though a push comes after it."""


class Mode(StrEnum):
    """When a request lets judging begin; `scripts/want.lua` says how."""

    WINDOW = "window"
    SOON = "soon"
    NOW = "now"
    HOLD = "hold"
    ASKED = "asked"


MODES: Final[Mapping[Trigger, Mode]] = MappingProxyType(
    {
        Trigger.OPENED: Mode.WINDOW,
        Trigger.PUSHED: Mode.WINDOW,
        Trigger.REOPENED: Mode.WINDOW,
        Trigger.READY: Mode.NOW,
        Trigger.REVIEW: Mode.ASKED,
        Trigger.CASE: Mode.NOW,
        Trigger.EDITED: Mode.SOON,
        Trigger.CRITERIA: Mode.SOON,
        Trigger.RULES: Mode.SOON,
        Trigger.CI: Mode.SOON,
        Trigger.COMMAND: Mode.NOW,
        Trigger.FORCE: Mode.NOW,
        Trigger.CONTEST: Mode.NOW,
        Trigger.RERUN: Mode.NOW,
        Trigger.SWEEP: Mode.SOON,
        Trigger.RESUMED: Mode.NOW,
        Trigger.LATE: Mode.NOW,
        Trigger.OUTAGE: Mode.NOW,
        Trigger.LOCAL: Mode.NOW,
    }
)

GATHERED: Final = 5
"""How many times as long as one wait for more news all of them together may take."""

MOST_ASIDE: Final = 100
"""How many pull requests one event may be about."""

MOST_LOOKS: Final = 20
"""How often other checks may wake one head after its verdict: an App that answers to ours would never end."""


class Commit(Protocol):
    """A commit of a repository that the App may see."""

    @property
    def installation_id(self) -> InstallationId: ...

    @property
    def repository_id(self) -> RepositoryId: ...

    @property
    def head_sha(self) -> Sha: ...


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
    """Have this pull request judged, when its time has come. Raises Unavailable."""
    pull, mode = request.pull, mode_of(request)
    on = [keys.pull(pull), keys.delivery(request.delivery_id), keys.window(pull.installation_id, pull.repository_id)]
    if request.head_sha is not None:
        on += [keys.heads(pull.installation_id, pull.repository_id, request.head_sha), keys.named(request.repository)]
    reply = items(
        run(
            wire,
            Script.WANT,
            on,
            pull.installation_id,
            request.head_sha or "",
            request.model_dump_json(),
            mode,
            *quiet(mode, timing),
            FLAGS.get(request.trigger, ""),
            lifetime_s(keys.delivery(request.delivery_id)),
            pull.number,
            lifetime_s(keys.pull(pull)),
            "" if request.arrived is None else request.arrived.at.isoformat(),
            int(mode is Mode.HOLD),
            pull.repository_id,
        )
    )
    return Wanted(Outcome(text(reply[0])), whole(reply[1]))


def nudge(wire: Wire, at: Commit, timing: Timing) -> Outcome:
    """Other checks ended on this commit: whoever waits for that looks again soon. Raises Unavailable."""
    found = run(
        wire,
        Script.NUDGE,
        [keys.heads(at.installation_id, at.repository_id, at.head_sha)],
        at.head_sha,
        keys.prefix("pull", at.installation_id, at.repository_id),
        milliseconds(timing.gather),
        milliseconds(timing.gather * GATHERED),
        MOST_LOOKS,
    )
    return Outcome.COALESCED if found else Outcome.UNKNOWN


def with_head(wire: Wire, at: Commit) -> tuple[JudgeRequest, ...]:
    """What was last asked of each open pull request whose head this commit is or was. Raises Unavailable."""
    index = keys.heads(at.installation_id, at.repository_id, at.head_sha)
    return _known(wire, index, keys.prefix("pull", at.installation_id, at.repository_id))


def closing(wire: Wire, installation: InstallationId, repository: RepositoryId, mark: str) -> tuple[JudgeRequest, ...]:
    """What was last asked of each open pull request of this repository that was judged and closes an issue. Raises Unavailable."""
    index = keys.solving(installation, repository, mark)
    return _known(wire, index, keys.prefix("pull", installation, repository))


def _known(wire: Wire, index: keys.Key, prefix: str) -> tuple[JudgeRequest, ...]:
    found = items(run(wire, Script.KNOWN, [index], prefix, MOST_ASIDE))
    return tuple(read(JudgeRequest, text(one)) for one in found)


def shut(wire: Wire, pull: PullRef) -> None:
    """A pull request was closed: what is unfinished of it is to be finished. Raises Unavailable."""
    run(wire, Script.SHUT, [keys.pull(pull), keys.checks(pull)], lifetime_s(keys.pull(pull)))


def greet(wire: Wire, greetings: Sequence[Greeting]) -> None:
    """The App may see these repositories from now on. Raises Unavailable."""
    for start in range(0, len(greetings), MOST_ASIDE):
        texts = [part for one in greetings[start : start + MOST_ASIDE] for part in (one.id, one.model_dump_json())]
        run(wire, Script.GREET, [keys.GREETINGS, keys.GREETING_TEXTS], *texts)


def set_window(wire: Wire, installation: InstallationId, repository: RepositoryId, seconds: float | None) -> None:
    """The quiet window that a repository's configuration sets; None: it sets none, or is not known. Raises Unavailable."""
    key = keys.window(installation, repository)
    run(wire, Script.WINDOW, [key], "" if seconds is None else milliseconds(seconds), lifetime_s(key))


def mode_of(request: JudgeRequest) -> Mode:
    """A draft waits, unless what happened is that somebody asks."""
    if request.draft and request.trigger not in DRAFT_TOO:
        return Mode.HOLD
    return MODES[request.trigger]


def quiet(mode: Mode, timing: Timing) -> tuple[int, int]:
    """How long to wait for more of it, and how long at the most, in milliseconds."""
    match mode:
        case Mode.WINDOW:
            return milliseconds(timing.quiet_window), milliseconds(timing.quiet_max)
        case Mode.SOON:
            return milliseconds(timing.gather), milliseconds(timing.gather * GATHERED)
        case Mode.NOW | Mode.HOLD | Mode.ASKED:
            return 0, 0
        case _:
            assert_never(mode)


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
    on = [key, keys.HAPPENINGS, keys.HAPPENING_TEXTS, *_about(happening)]
    reply = run(wire, Script.HAPPEN, on, happening.delivery_id, happening.model_dump_json(), lifetime_s(key))
    return Outcome(text(reply))


def _about(happening: Happening) -> list[keys.Key]:
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
