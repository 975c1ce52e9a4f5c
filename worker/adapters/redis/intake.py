"""What the web's door does in Redis: one script for a request, one for a command.

Imports neither rq nor cryptography nor redis-py: the door starts fast and stays small. Does not read anything
back. What comes often is a `to_...` that says what to send, and a reader of the reply, so that the web asks on its event loop
(`worker.adapters.redis.async_client`) what others ask on a wire. Invariant: a delivery counts once, however often it comes; each answers in one
round trip.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from worker.adapters.redis import keys
from worker.adapters.redis.client import Reply, Wire, items, text
from worker.adapters.redis.scripts import Call, Script, call_of, run, sent
from worker.adapters.redis.versioned_json import read
from worker.adapters.redis.waiting_keys import ASKS, COMMITS, GREETINGS, HAPPENINGS
from worker.domain.ids import BaseMark, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.request.greeting import Greeting
from worker.domain.request.judge_request import DRAFT_TOO, OUTDATING, Ask, JudgeRequest, PullRef, Trigger
from worker.domain.request.pull_request_events import Happened, Happening
from worker.settings import WRITES_A_MINUTE, WRITES_EACH, Timing

if TYPE_CHECKING:
    from msgspec.json import Encoder

DELIVERY_S, PULL_S = int(keys.REPEATS.total_seconds()), int(keys.MONTH.total_seconds())
"""How long `keys.delivery`, and `keys.pull` and `keys.heads` stay."""

NO_HEAD: Final[Sha] = "0" * 40
UNSAID: Final = "-"

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
    """When a request lets judging begin; `lua/want.lua` says how."""

    WINDOW = "window"
    SOON = "soon"
    NOW = "now"
    MOVED = "moved"
    HOLD = "hold"
    ASKED = "asked"


WINDOW, SOON, MOVED, HOLD = (
    Mode.WINDOW,
    Mode.SOON,
    Mode.MOVED,
    Mode.HOLD,
)  # to look one up takes as long as to compare ten

MODES: Final[Mapping[Trigger, Mode]] = MappingProxyType(
    {
        Trigger.OPENED: Mode.WINDOW,
        Trigger.PUSHED: Mode.WINDOW,
        Trigger.REOPENED: Mode.WINDOW,
        Trigger.READY: Mode.NOW,
        Trigger.REVIEW: Mode.ASKED,
        Trigger.CASE: Mode.NOW,
        Trigger.EDITED: Mode.SOON,
        Trigger.TEXT: Mode.WINDOW,
        Trigger.BASE: Mode.MOVED,
        Trigger.CRITERIA: Mode.SOON,
        Trigger.RULES: Mode.SOON,
        Trigger.CI: Mode.SOON,
        Trigger.COMMAND: Mode.NOW,
        Trigger.FORCE: Mode.NOW,
        Trigger.CONTEST: Mode.NOW,
        Trigger.RERUN: Mode.NOW,
        Trigger.SWEEP: Mode.SOON,
        Trigger.RESUMED: Mode.NOW,
        Trigger.DISMISSED: Mode.NOW,
        Trigger.LATE: Mode.NOW,
        Trigger.OUTAGE: Mode.NOW,
        Trigger.LOCAL: Mode.NOW,
    }
)

GATHERED: Final = 5
"""How many times as long as one wait for more news all of them together may take."""

OUTSIDE_AT_ONCE: Final = WRITES_A_MINUTE // (2 * WRITES_EACH)
"""How many heads that strangers push need not wait for their turns: half of a minute's writes are left to others."""

MOST_ASIDE: Final = 100
"""How many pull requests one event may be about."""

MOST_LOOKS: Final = 60
"""How often other checks may wake one head after its verdict, in seven hours at the least: an App that answers to ours would never end."""


class Commit(Protocol):
    """A commit of a repository that the App may see."""

    @property
    def installation_id(self) -> InstallationId: ...

    @property
    def repository_id(self) -> RepositoryId: ...

    @property
    def head_sha(self) -> Sha: ...


class Arrived(Protocol):
    """When a head came."""

    @property
    def at(self) -> datetime: ...


class Wanting(Protocol):
    """What the door reads of a JudgeRequest; the web writes one without making it (`app.ingest.wishes`)."""

    @property
    def pull(self) -> PullRef: ...

    @property
    def repository(self) -> RepositoryName: ...

    @property
    def head_sha(self) -> Sha | None: ...

    @property
    def trigger(self) -> Trigger: ...

    @property
    def delivery_id(self) -> DeliveryId: ...

    @property
    def draft(self) -> bool: ...

    @property
    def arrived(self) -> Arrived | None: ...

    @property
    def base(self) -> BaseMark | None: ...


class Named(NamedTuple):
    """That a delivery names the head, which may be old: GitHub delivers in any order, and again.

    `before`: which commit a push led from; NO_HEAD: of none, the pull request was opened with this head; None: nobody said.
    `left`: which base it went into before, where it goes into another one now. `has_case`: the author has made the case for it, so
    that no quiet window is waited for.
    """

    before: Sha | None = None
    left: BaseMark | None = None
    has_case: bool = False


class Outcome(StrEnum):
    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    UNKNOWN = "unknown"
    """About nothing that was judged here."""
    LATE = "late"
    """About a head that the branch has left since: nothing is begun for it."""


OUTCOMES: Final[Mapping[str, Outcome]] = MappingProxyType({one.value: one for one in Outcome})


class Wanted(NamedTuple):
    """What became of a request. `seq` numbers it among all events; 0 for a duplicate, and for one that is late."""

    outcome: Outcome
    seq: int


def want(wire: Wire, request: JudgeRequest, timing: Timing, by: Named | None = None) -> Wanted:
    """Have this pull request judged, when its time has come. Raises Unavailable."""
    return wanted(sent(wire, to_want(request, timing, by)))


def to_want(request: Wanting, timing: Timing, by: Named | None = None) -> Call:
    """*by*: what names its head; None: GitHub was asked for it, if it is named."""
    pull, head_sha, trigger, arrived = request.pull, request.head_sha, request.trigger, request.arrived
    installation, repository, mode = pull.installation_id, pull.repository_id, mode_of(request)
    if mode is WINDOW and by is not None and by.has_case:
        mode = Mode.NOW
    on = [
        keys.pull(pull).name,
        keys.delivery(request.delivery_id).name,
        keys.window(installation, repository, request.base).name,
    ]
    if head_sha is not None or trigger is Trigger.BASE:  # where no head is told nobody looks at its key
        on += [keys.heads(installation, repository, head_sha or NO_HEAD).name, keys.named(request.repository).name]
        if trigger in (Trigger.TEXT, Trigger.BASE):
            on.append(keys.ledger(pull).name)
        if trigger is Trigger.BASE:
            on.append(keys.decisions(pull).name)
    quiet_ms, quiet_max_ms = quiet(mode, timing)
    came = "" if arrived is None else _encoder().encode(arrived.at)[1:-1].decode()
    show = int(mode is HOLD or mode is MOVED)
    stale = trigger if mode is not HOLD and trigger in OUTDATING else ""
    before, left = ("", "") if by is None else (by.before or UNSAID, by.left or "")
    gap_ms = milliseconds(timing.outside_gap)
    # one line: each argument by itself takes several times as long to send as a word of it
    words = (
        f"{installation} {repository} {pull.number} {head_sha or ''} {mode} {quiet_ms} {quiet_max_ms} {DELIVERY_S} {PULL_S} "
        f"{came} {show} {stale} {request.base or ''} {left} {before} {gap_ms} {gap_ms * (OUTSIDE_AT_ONCE - 1)} {FLAGS.get(trigger, '')}"
    )
    return Call(Script.WANT, (len(on), *on, written(request), words))  # as `call_of`, which looks for keys among them


def written(request: Wanting) -> str:
    """What `model_dump_json` says, in a third of the time."""
    return _encoder().encode(request).decode()


@cache
def _encoder() -> "Encoder":
    from msgspec.json import Encoder  # noqa: PLC0415 - who only judges writes none

    return Encoder(enc_hook=vars)


def wanted(reply: Reply) -> Wanted:
    return Wanted(became(reply), int(text(reply).partition(" ")[2]))


def became(reply: Reply) -> Outcome:
    """What became of a request, for who needs no more."""
    return OUTCOMES[text(reply).partition(" ")[0]]


def nudge(wire: Wire, at: Commit, timing: Timing, *, is_green: bool = False) -> Outcome:
    """Other checks ended on this commit: whoever waits for that looks again soon. Raises Unavailable."""
    return nudged(sent(wire, to_nudge(at, timing, is_green=is_green)))


def to_nudge(at: Commit, timing: Timing, *, is_green: bool) -> Call:
    """*is_green*: a whole suite passed, which ends the quiet window of this head."""
    return call_of(
        Script.NUDGE,
        [keys.heads(at.installation_id, at.repository_id, at.head_sha)],
        at.head_sha,
        keys.prefix("pull", at.installation_id, at.repository_id),
        milliseconds(timing.gather),
        milliseconds(timing.gather * GATHERED),
        MOST_LOOKS,
        int(is_green),
    )


def nudged(reply: Reply) -> Outcome:
    return Outcome.COALESCED if reply else Outcome.UNKNOWN


def with_head(wire: Wire, at: Commit) -> tuple[JudgeRequest, ...]:
    """What was last asked of each open pull request whose head this commit is or was. Raises Unavailable."""
    index = keys.heads(at.installation_id, at.repository_id, at.head_sha)
    return _known(wire, index, keys.prefix("pull", at.installation_id, at.repository_id))


def closing(wire: Wire, installation: InstallationId, mark: str) -> tuple[JudgeRequest, ...]:
    """An issue was edited: what was last asked of each open pull request, of any repository here, that was judged and closes it.

    Raises Unavailable.
    """
    changed = keys.changed(installation, mark)
    return _known(wire, keys.solving(installation, mark), keys.pulls_of(installation), changed=changed)


def judged_into(
    wire: Wire, installation: InstallationId, repository: RepositoryId, base: BaseMark
) -> tuple[JudgeRequest, ...]:
    """A base changed: what was last asked of each open pull request that was judged for it, but where it is judged again anyway.

    Raises Unavailable.
    """
    index, changed = keys.into(installation, repository, base), keys.changed(installation, rules_at(repository, base))
    return _known(wire, index, keys.prefix("pull", installation, repository), "due", changed)


def is_judged_by(wire: Wire, pull: PullRef, mark: str) -> bool:
    """Whether a pull request was judged by the issue with this mark. Raises Unavailable."""
    found = wire.call("ZSCORE", keys.solving(pull.installation_id, mark).name, f"{pull.repository_id}:{pull.number}")
    return bool(found)


def rules_at(repository: RepositoryId, base: BaseMark) -> str:
    """What the rules at a base are called among what may change (`keys.changed`), where an issue has its mark."""
    return f"{repository}-{base}"


def _known(
    wire: Wire, index: keys.Key, prefix: str, but: str = "", changed: keys.Key | None = None
) -> tuple[JudgeRequest, ...]:
    on, what = ([index], ()) if changed is None else ([index, changed], (lifetime_s(changed),))
    found = items(run(wire, Script.KNOWN, on, prefix, MOST_ASIDE, but, *what))
    return tuple(read(JudgeRequest, text(one)) for one in found)


def shut(wire: Wire, pull: PullRef, left: timedelta) -> None:
    """A pull request was closed: what is unfinished of it is to be finished, and its memory goes after so long.

    Raises Unavailable.
    """
    sent(wire, to_shut(pull, left))


def to_shut(pull: PullRef, left: timedelta) -> Call:
    on = [keys.pull(pull), keys.checks(pull), COMMITS.order, COMMITS.texts, *remembered_of(pull)]
    left_ms = milliseconds(left.total_seconds())
    return call_of(Script.SHUT, on, lifetime_s(on[0]), left_ms, shown_of(pull), place_of(pull))


def shown_of(pull: PullRef) -> str:
    """How the names of the keys begin that say what is shown at the commits of its repository."""
    return keys.prefix("shown", pull.installation_id, pull.repository_id)


def place_of(pull: PullRef) -> str:
    """What tells of a commit of its repository, up to the commit itself (`worker.domain.check.shared_head.Place`)."""
    return f'{{"installation_id":{pull.installation_id},"repository_id":{pull.repository_id},"head_sha":"'


def reopen(wire: Wire, pull: PullRef) -> None:
    """It was reopened: what is remembered of it stays. Raises Unavailable."""
    for key in remembered_of(pull):
        wire.call("PERSIST", key.name)


def remembered_of(pull: PullRef) -> tuple[keys.Key, ...]:
    """What stays while a pull request is open."""
    return keys.ledger(pull), keys.decisions(pull), keys.spent(pull)


def greet(wire: Wire, greetings: Sequence[Greeting]) -> None:
    """The App may see these repositories from now on. Raises Unavailable."""
    for start in range(0, len(greetings), MOST_ASIDE):
        some = greetings[start : start + MOST_ASIDE]
        on = [GREETINGS.order, GREETINGS.texts, *(keys.arrival(one.installation_id, one.repository_id) for one in some)]
        told = [part for one in some for part in (one.id, one.model_dump_json(), stamp(one.since))]
        run(wire, Script.GREET, on, *told)


def set_window(
    wire: Wire, installation: InstallationId, repository: RepositoryId, base: BaseMark, seconds: float | None
) -> None:
    """The quiet window that the configuration at a base sets; None: it sets none, or is not known. Raises Unavailable."""
    key = keys.window(installation, repository, base)
    run(wire, Script.WINDOW, [key], "" if seconds is None else milliseconds(seconds), lifetime_s(key))


def mode_of(request: Wanting) -> Mode:
    """A draft waits, unless what happened is that somebody asks."""
    if request.draft and request.trigger not in DRAFT_TOO:
        return Mode.HOLD
    return MODES[request.trigger]


def quiet(mode: Mode, timing: Timing) -> tuple[int, int]:
    """How long to wait for more of it, and how long at the most, in milliseconds."""
    if mode is WINDOW or mode is MOVED:
        return round(timing.quiet_window * 1000), round(timing.quiet_max * 1000)
    if mode is SOON:
        return milliseconds(timing.gather), milliseconds(timing.gather * GATHERED)
    return 0, 0


def ask(wire: Wire, command: Ask) -> Outcome:
    """Take down a command whose author nobody has checked yet. Raises Unavailable."""
    key = keys.asked(DeliveryId(command.delivery_id))
    reply = run(
        wire,
        Script.ASK_PUT,
        [key, ASKS.order, ASKS.texts],
        command.delivery_id,
        command.model_dump_json(),
        lifetime_s(key),
    )
    return Outcome.QUEUED if reply else Outcome.DUPLICATE


def happen(wire: Wire, happening: Happening) -> Outcome:
    """Note down what may be an outcome of something that was judged. Raises Unavailable."""
    return happened(sent(wire, to_happen(happening)))


def to_happen(happening: Happening) -> Call:
    key = keys.heard(happening.delivery_id)
    on = [key, HAPPENINGS.order, HAPPENINGS.texts, *_about(happening)]
    return call_of(Script.HAPPEN, on, happening.delivery_id, happening.model_dump_json(), lifetime_s(key))


def happened(reply: Reply) -> Outcome:
    return OUTCOMES[text(reply)]


def _about(happening: Happening) -> list[keys.Key]:
    """One of these is there if it is about something that was judged; none: it is rare enough to be looked into."""
    if happening.what is Happened.CI_FAILED and happening.head_sha:
        return [keys.commit(happening.installation_id, happening.repository_id, happening.head_sha)]
    about = [happening.pull, *(happening.beside(number) for number in happening.reverts)]
    return [keys.watch(one) for one in about if one is not None]


def stamp(at: datetime) -> str:
    """A moment as `worker.adapters.redis.arrivals` reads it, in whole seconds as GitHub tells when something was opened."""
    return str(int(at.timestamp()))


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def lifetime_s(key: keys.Key) -> int:
    """How long a value stays under this key, in seconds; the key must have an end."""
    if key.ttl is None:
        raise ValueError(f"{key.name} stays for good")
    return _seconds(key.ttl)


@cache
def _seconds(ttl: timedelta) -> int:
    return int(ttl.total_seconds())
