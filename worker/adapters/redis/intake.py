"""The web's writes to Redis: one script for a judge request, one for a command, one for an event.

It imports neither rq nor cryptography nor redis-py, so that the web starts fast and stays small. A frequent write is
split in a call and a parser of its reply, which the web uses on its event loop (`worker.adapters.redis.async_client`).
A delivery counts once, however often it arrives, and takes one round trip.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, Reply, items, text
from worker.adapters.redis.keys import SHARED_HEADS
from worker.adapters.redis.scripts import Script, ScriptCall, make_call, run_script, send_call
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import BaseHash, DeliveryId, InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.request.judge_request import (
    DRAFT_TRIGGERS,
    OUTDATING_TRIGGERS,
    JudgeRequest,
    PullRef,
    Trigger,
)
from worker.settings import WRITES_A_MINUTE, WRITES_EACH, Timing

if TYPE_CHECKING:
    from msgspec.json import Encoder

DELIVERY_S, PULL_S = int(keys.REDELIVERY_TTL.total_seconds()), int(keys.MONTH.total_seconds())
"""Lifetimes of `keys.delivery`, and of `keys.pull` and `keys.heads`."""

NO_HEAD: Final[Sha] = "0" * 40
NOT_GIVEN: Final = "-"

FORCE_FLAG: Final = "force"
ANEW_FLAG: Final = "anew"
CONTEST_FLAG: Final = "contest"
ASKED_FLAG: Final = "asked"
FLAGS: Final[Mapping[Trigger, str]] = MappingProxyType(
    {
        Trigger.COMMAND: FORCE_FLAG,
        Trigger.RERUN: FORCE_FLAG,
        Trigger.FORCE: f"{FORCE_FLAG} {ANEW_FLAG}",
        Trigger.CONTEST: f"{FORCE_FLAG} {CONTEST_FLAG}",
        Trigger.REVIEW: ASKED_FLAG,
        Trigger.CASE: ASKED_FLAG,
    }
)
"""Flags of a request by a person, which later pushes keep."""


class IntakeMode(StrEnum):
    """When a request starts a judging; see `lua/want.lua`."""

    WINDOW = "window"
    SOON = "soon"
    NOW = "now"
    MOVED = "moved"
    HOLD = "hold"
    ASKED = "asked"


WINDOW, SOON, MOVED, HOLD = (
    IntakeMode.WINDOW,
    IntakeMode.SOON,
    IntakeMode.MOVED,
    IntakeMode.HOLD,
)  # a set lookup takes as long as ten comparisons

MODES: Final[Mapping[Trigger, IntakeMode]] = MappingProxyType(
    {
        Trigger.OPENED: IntakeMode.WINDOW,
        Trigger.PUSHED: IntakeMode.WINDOW,
        Trigger.REOPENED: IntakeMode.WINDOW,
        Trigger.READY: IntakeMode.NOW,
        Trigger.REVIEW: IntakeMode.ASKED,
        Trigger.CASE: IntakeMode.NOW,
        Trigger.EDITED: IntakeMode.SOON,
        Trigger.TEXT: IntakeMode.WINDOW,
        Trigger.BASE: IntakeMode.MOVED,
        Trigger.CRITERIA: IntakeMode.SOON,
        Trigger.RULES: IntakeMode.SOON,
        Trigger.CI: IntakeMode.SOON,
        Trigger.COMMAND: IntakeMode.NOW,
        Trigger.FORCE: IntakeMode.NOW,
        Trigger.CONTEST: IntakeMode.NOW,
        Trigger.RERUN: IntakeMode.NOW,
        Trigger.SWEEP: IntakeMode.SOON,
        Trigger.RESUMED: IntakeMode.NOW,
        Trigger.DISMISSED: IntakeMode.NOW,
        Trigger.LATE: IntakeMode.NOW,
        Trigger.OUTAGE: IntakeMode.NOW,
        Trigger.LOCAL: IntakeMode.NOW,
    }
)

GATHERED_WINDOWS: Final = 5
"""Limit of all waits for further news together, in quiet windows."""

OUTSIDE_BURST: Final = WRITES_A_MINUTE // (2 * WRITES_EACH)
"""Heads of outside contributors that need no turn: half of a minute's writes are left to others."""

MOST_OUTSIDE_WAITING: Final = 100
"""Limit of pull requests that one event affects."""

MOST_LOOKS: Final = 60
"""Limit of retriggers of one head by other checks after its verdict, over at least seven hours: an App could answer forever."""


class CommitIdentity(Protocol):
    """A commit of a repository that the App sees."""

    @property
    def installation_id(self) -> InstallationId: ...

    @property
    def repository_id(self) -> RepositoryId: ...

    @property
    def head_sha(self) -> Sha: ...


class FirstSeenHead(Protocol):
    """When a head was first seen."""

    @property
    def at(self) -> datetime: ...


class JudgeRequestFields(Protocol):
    """The fields of a JudgeRequest that are stored; the web writes one without making it (`app.ingest.judge_requests`)."""

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
    def arrived(self) -> FirstSeenHead | None: ...

    @property
    def base(self) -> BaseHash | None: ...


class NamedHead(NamedTuple):
    """A head named by a delivery, which may be old: GitHub delivers in any order, and repeatedly.

    `previous_sha`: the commit before a push; NO_HEAD: none, the pull request was opened with this head; None: unknown.
    `previous_base`: the base before a change of base. `has_case`: the author has made the case for it, so there is no
    quiet window.
    """

    previous_sha: Sha | None = None
    previous_base: BaseHash | None = None
    has_case: bool = False


class IntakeOutcome(StrEnum):
    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    UNKNOWN = "unknown"
    """Not about a judged pull request."""
    LATE = "late"
    """About a head that the branch has left: nothing starts for it."""


OUTCOMES: Final[Mapping[str, IntakeOutcome]] = MappingProxyType({outcome.value: outcome for outcome in IntakeOutcome})


class IntakeReceipt(NamedTuple):
    """Outcome of a request. `seq` numbers it among all events; 0 for a duplicate or late one."""

    outcome: IntakeOutcome
    seq: int


def request_judging(
    wire: RedisClient, request: JudgeRequest, timing: Timing, by: NamedHead | None = None
) -> IntakeReceipt:
    """Request the judging of this pull request. Raises Unavailable."""
    return parse_receipt(send_call(wire, judging_call(request, timing, by)))


def judging_call(request: JudgeRequestFields, timing: Timing, by: NamedHead | None = None) -> ScriptCall:
    """The script call of a request. *by*: the delivery that names its head; None: the head, if any, comes from GitHub."""
    pull, head_sha, trigger, arrived = request.pull, request.head_sha, request.trigger, request.arrived
    installation, repository, mode = pull.installation_id, pull.repository_id, mode_of(request)
    if mode is WINDOW and by is not None and by.has_case:
        mode = IntakeMode.NOW
    on = [
        keys.pull(pull).name,
        keys.delivery(request.delivery_id).name,
        keys.window(installation, repository, request.base).name,
    ]
    if head_sha is not None or trigger is Trigger.BASE:  # without a head its key is not read
        on += [
            keys.heads(installation, repository, head_sha or NO_HEAD).name,
            keys.repository_numbers(request.repository).name,
        ]
        if trigger in (Trigger.TEXT, Trigger.BASE):
            on.append(keys.ledger(pull).name)
        if trigger is Trigger.BASE:
            on.append(keys.decisions(pull).name)
    quiet_ms, quiet_max_ms = quiet_window_ms(mode, timing)
    came = "" if arrived is None else _encoder().encode(arrived.at)[1:-1].decode()
    show = int(mode is HOLD or mode is MOVED)
    stale = trigger if mode is not HOLD and trigger in OUTDATING_TRIGGERS else ""
    before, left = ("", "") if by is None else (by.previous_sha or NOT_GIVEN, by.previous_base or "")
    gap_ms = milliseconds(timing.outside_gap)
    # One line: separate arguments take several times as long to send.
    parts = (
        f"{installation} {repository} {pull.number} {head_sha or ''} {mode} {quiet_ms} {quiet_max_ms} {DELIVERY_S} {PULL_S} "
        f"{came} {show} {stale} {request.base or ''} {left} {before} {gap_ms} {gap_ms * (OUTSIDE_BURST - 1)} {FLAGS.get(trigger, '')}"
    )
    return ScriptCall(
        Script.WANT, (len(on), *on, request_json(request), parts)
    )  # as `make_call`, which looks for keys among them


def request_json(request: JudgeRequestFields) -> str:
    """The JSON of `model_dump_json`, in a third of the time."""
    return _encoder().encode(request).decode()


@cache
def _encoder() -> "Encoder":
    from msgspec.json import Encoder  # noqa: PLC0415 - not needed by a judge

    return Encoder(enc_hook=vars)


def parse_receipt(reply: Reply) -> IntakeReceipt:
    return IntakeReceipt(parse_outcome(reply), int(text(reply).partition(" ")[2]))


def parse_outcome(reply: Reply) -> IntakeOutcome:
    """Parse the outcome of a request."""
    return OUTCOMES[text(reply).partition(" ")[0]]


def retrigger_ci(wire: RedisClient, at: CommitIdentity, timing: Timing, *, is_green: bool = False) -> IntakeOutcome:
    """Requeue pull requests that wait for CI on this commit, after another check completed. Raises Unavailable."""
    return parse_retrigger(send_call(wire, retrigger_ci_call(at, timing, is_green=is_green)))


def retrigger_ci_call(at: CommitIdentity, timing: Timing, *, is_green: bool) -> ScriptCall:
    """The script call of a retrigger. *is_green*: a whole suite passed, which ends the quiet window of this head."""
    return make_call(
        Script.NUDGE,
        [keys.heads(at.installation_id, at.repository_id, at.head_sha)],
        at.head_sha,
        keys.prefix("pull", at.installation_id, at.repository_id),
        milliseconds(timing.gather),
        milliseconds(timing.gather * GATHERED_WINDOWS),
        MOST_LOOKS,
        int(is_green),
    )


def parse_retrigger(reply: Reply) -> IntakeOutcome:
    return IntakeOutcome.COALESCED if reply else IntakeOutcome.UNKNOWN


def find_requests_by_head(wire: RedisClient, at: CommitIdentity) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request whose head is or was this commit. Raises Unavailable."""
    index = keys.heads(at.installation_id, at.repository_id, at.head_sha)
    return _find_requests(wire, index, keys.prefix("pull", at.installation_id, at.repository_id))


def find_requests_by_issue(wire: RedisClient, installation: InstallationId, mark: str) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request of the installation that was judged and closes an edited issue.

    Raises Unavailable.
    """
    changed = keys.last_change(installation, mark)
    return _find_requests(wire, keys.issue_pulls(installation, mark), keys.pulls_of(installation), changed=changed)


def find_requests_by_base(
    wire: RedisClient, installation: InstallationId, repository: RepositoryId, base: BaseHash
) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request judged for a changed base, without those already due.

    Raises Unavailable.
    """
    index, changed = (
        keys.judged_bases(installation, repository, base),
        keys.last_change(installation, rules_at(repository, base)),
    )
    return _find_requests(wire, index, keys.prefix("pull", installation, repository), "due", changed)


def is_judged_by(wire: RedisClient, pull: PullRef, mark: str) -> bool:
    """Whether a pull request was judged by the issue or rules with this mark. Raises Unavailable."""
    reply = wire.call(
        "ZSCORE", keys.issue_pulls(pull.installation_id, mark).name, f"{pull.repository_id}:{pull.number}"
    )
    return bool(reply)


def rules_at(repository: RepositoryId, base: BaseHash) -> str:
    """Mark of the rules at a base in `keys.last_change`, beside the marks of issues."""
    return f"{repository}-{base}"


def _find_requests(
    wire: RedisClient, index: keys.Key, prefix: str, but: str = "", changed: keys.Key | None = None
) -> tuple[JudgeRequest, ...]:
    on, what = ([index], ()) if changed is None else ([index, changed], (lifetime_s(changed),))
    requests = items(run_script(wire, Script.KNOWN, on, prefix, MOST_OUTSIDE_WAITING, but, *what))
    return tuple(read_json(JudgeRequest, text(request)) for request in requests)


def close_pull_request(wire: RedisClient, pull: PullRef, left: timedelta) -> None:
    """Close a pull request: pending work completes, and its data expires after *left*.

    Raises Unavailable.
    """
    send_call(wire, close_pull_request_call(pull, left))


def close_pull_request_call(pull: PullRef, left: timedelta) -> ScriptCall:
    on = [keys.pull(pull), keys.checks(pull), SHARED_HEADS.order, SHARED_HEADS.texts, *remembered_keys(pull)]
    left_ms = milliseconds(left.total_seconds())
    return make_call(Script.SHUT, on, lifetime_s(on[0]), left_ms, shared_head_prefix(pull), commit_prefix(pull))


def shared_head_prefix(pull: PullRef) -> str:
    """Prefix of the keys with the published states at the commits of its repository."""
    return keys.prefix("shown", pull.installation_id, pull.repository_id)


def commit_prefix(pull: PullRef) -> str:
    """Prefix of a CommitRef of its repository (`worker.domain.check.shared_head.CommitRef`)."""
    return f'{{"installation_id":{pull.installation_id},"repository_id":{pull.repository_id},"head_sha":"'


def reopen_pull_request(wire: RedisClient, pull: PullRef) -> None:
    """Reopen a pull request: its data stays. Raises Unavailable."""
    for key in remembered_keys(pull):
        wire.call("PERSIST", key.name)


def remembered_keys(pull: PullRef) -> tuple[keys.Key, ...]:
    """Keys that stay while a pull request is open."""
    return keys.ledger(pull), keys.decisions(pull), keys.pull_request_cost(pull)


def set_window(
    wire: RedisClient, installation: InstallationId, repository: RepositoryId, base: BaseHash, seconds: float | None
) -> None:
    """Store a base's quiet window; None: not set, or unknown. Raises Unavailable."""
    key = keys.window(installation, repository, base)
    if seconds is None:
        wire.call("DEL", key.name)
    else:
        wire.call("SET", key.name, milliseconds(seconds), "EX", lifetime_s(key))


def mode_of(request: JudgeRequestFields) -> IntakeMode:
    """Mode of a request. A draft waits, unless a person asks."""
    if request.draft and request.trigger not in DRAFT_TRIGGERS:
        return IntakeMode.HOLD
    return MODES[request.trigger]


def quiet_window_ms(mode: IntakeMode, timing: Timing) -> tuple[int, int]:
    """Quiet window and longest wait, in milliseconds."""
    if mode is WINDOW or mode is MOVED:
        return round(timing.quiet_window * 1000), round(timing.quiet_max * 1000)
    if mode is SOON:
        return milliseconds(timing.gather), milliseconds(timing.gather * GATHERED_WINDOWS)
    return 0, 0


def stamp(at: datetime) -> str:
    """A time in the format of `worker.adapters.redis.records`, in whole seconds as GitHub's times are."""
    return str(int(at.timestamp()))


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def lifetime_s(key: keys.Key) -> int:
    """Lifetime of a value under this key, in seconds; the key must expire."""
    if key.ttl is None:
        raise ValueError(f"{key.name} stays for good")
    return _seconds(key.ttl)


@cache
def _seconds(ttl: timedelta) -> int:
    return int(ttl.total_seconds())
