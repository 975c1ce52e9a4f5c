"""The state of a pull request in Redis: a hash, and its entries in the queues, which `save` derives from it.

Each installation has its own queues of due judgings and of check runs to open, with separate ones for outsiders' forks, and a turn among
the installations. `assay:out` holds what is dispatched or leased.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Reply, field_values, member_scores, text, whole
from worker.adapters.redis.connection.transactions import Command, Operation, Transaction
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.state import Phase, PullRequestState, Retention
from worker.domain.model import InstallationId

PULL_S: Final = int(keys.MONTH.total_seconds())
"""Lifetime of a state after its last judging."""

REOPENING_MARK: Final = " begun"


class _Field(NamedTuple):
    """A field of the state, its name in Redis, and its text there. What equals the default is not stored."""

    stored: str
    parse: Callable[[str], object]
    write: Callable[[Any], str] = str


def _write_words(value: tuple[str, ...]) -> str:
    return "".join(f"{word} " for word in value)


def _parse_words(stored: str) -> tuple[str, ...]:
    return tuple(stored.split())


def _parse_number(stored: str) -> int:
    return int(float(stored))


FIELDS: Final = {
    "version": _Field("v", _parse_number),
    "phase": _Field("state", Phase),
    "seq": _Field("seq", _parse_number),
    "read_seq": _Field("read", _parse_number),
    "request": _Field("req", str),
    "head": _Field("head", str),
    "base": _Field("base", str),
    "flags": _Field("flags", _parse_words, _write_words),
    "quiet_ms": _Field("quiet", _parse_number),
    "due_at": _Field("due", float),
    "first_event_at": _Field("since", float),
    "not_before": _Field("after", float),
    "limit_until": _Field("limit", float),
    "fence": _Field("fence", _parse_number),
    "token": _Field("token", str),
    "attempts": _Field("tries", _parse_number),
    "server_run": _Field("run", str),
    "spared": _Field("spared", _parse_number),
    "served_run": _Field("served", str),
    "outage_count": _Field("aways", _parse_number),
    "waiting_since": _Field("waiting", float),
    "is_outside": _Field("outside", bool, "{:d}".format),
    "head_first_seen_at": _Field("came", str),
    "is_idle_draft": _Field("rests", bool, "{:d}".format),
    "closed_at": _Field("over", float, "{:.0f}".format),
    "expires_at": _Field("ends", float, "{:.0f}".format),
    "ci_request": _Field("wake", str),
    "news_at": _Field("news", float),
    "look_at": _Field("look", float),
    "looks": _Field("looks", _parse_number),
    "eval_id": _Field("eval", str),
    "outdated_by": _Field("again", str),
    "known_outdated_by": _Field("knew", str),
    "judged_by": _Field("by", str),
    "author": _Field("author", str),
    "published_head": _Field("said", str),
    "finished_token": _Field("done", str),
    "finish_result": _Field("answer", str),
}
BY_STORED_NAME: Final = {field.stored: (name, field.parse) for name, field in FIELDS.items()}
DEFAULTS: Final = PullRequestState._field_defaults


def read_commands(pull: PullRef) -> tuple[Command, ...]:
    """The commands whose replies `parse_state` takes."""
    name, installation = keys.pull(pull).name, pull.installation_id
    queues = (
        keys.due(installation),
        keys.due_outside(installation),
        keys.pending_checks(installation),
        keys.pending_checks_outside(installation),
    )
    return (("HGETALL", name), *(("ZSCORE", queue.name, name) for queue in (keys.DISPATCHED, *queues)))


NO_PLACES: Final = (None,) * 5


def parse_state(pull: PullRef, replies: list[Reply]) -> PullRequestState:
    """The state from the replies to `read_commands`; from the first alone without its places in the queues."""
    flat, lease, due, due_outside, opening, opening_outside = replies if len(replies) > 1 else [*replies, *NO_PLACES]
    fields: dict[str, Any] = {}
    for stored, value in field_values(flat).items():
        if stored in BY_STORED_NAME:
            name, parse = BY_STORED_NAME[stored]
            fields[name] = parse(text(value))
    outdated_by: str = fields.get("outdated_by", "")
    if outdated_by.endswith(REOPENING_MARK):
        fields |= {"outdated_by": outdated_by.removesuffix(REOPENING_MARK), "is_reopening": True}
    return PullRequestState(
        pull.installation_id,
        **fields,
        queued_at=_first_score(due, due_outside),
        opening_at=_first_score(opening, opening_outside),
        lease_until=_first_score(lease),
    )


def _first_score(*replies: Reply) -> float | None:
    return next((float(text(reply)) for reply in replies if reply is not None), None)


def load(transaction: Transaction, pull: PullRef) -> Operation[PullRequestState]:
    """Read the state; the transaction fails if it changes."""
    replies = yield from transaction.peek(*read_commands(pull))
    expect_state(transaction, pull, replies[0])
    return parse_state(pull, replies)


VERSION_FIELDS: Final = ("v", "seq", "state", "fence", "token", "again")
"""Fields of which each change alters one; a version of Assay without "v" alters another."""


def expect_state(transaction: Transaction, pull: PullRef, stored: Reply) -> None:
    """Fail if the state, the first reply to `read_commands`, changes until the end."""
    fields = field_values(stored)
    transaction.expect(("HMGET", keys.pull(pull).name, *VERSION_FIELDS), [fields.get(name) for name in VERSION_FIELDS])


def save(transaction: Transaction, pull: PullRef, before: PullRequestState, after: PullRequestState) -> None:
    """Write what differs, with the queues."""
    if after is before:
        return
    name = keys.pull(pull).name
    after = after._replace(version=before.version + 1)
    fields = {"inst": str(after.installation)} if before.seq is None and after.seq is not None else {}
    gone = list[str]()
    for field, old, value in zip(PullRequestState._fields, before, after, strict=True):
        is_marked = field == "outdated_by" and after.is_reopening != before.is_reopening
        if field not in FIELDS or (value == old and not is_marked):
            continue
        stored, _, write = FIELDS[field]
        if value == DEFAULTS[field]:
            gone.append(stored)
        else:
            fields[stored] = write(value) + (REOPENING_MARK if field == "outdated_by" and after.is_reopening else "")
    if gone:
        transaction.write("HDEL", name, *gone)
    if fields:
        transaction.write("HSET", name, *(part for field in fields.items() for part in field))
    if after.retention is Retention.OPEN:
        transaction.write("PERSIST", name)
    elif after.retention is Retention.EXPIRING:
        transaction.write("EXPIRE", name, PULL_S)
    if before.outage_count is not None and not after.outage_count:
        transaction.write("ZREM", keys.retries(after.installation).name, name)
    _save_queue(transaction, name, (before, before.queued_at), (after, after.queued_at), DUE_QUEUES)
    _save_queue(transaction, name, (before, before.opening_at), (after, after.opening_at), CHECK_QUEUES)
    _save_lease(transaction, name, before, after)


Queues = tuple[
    tuple[Callable[[InstallationId], keys.Key], keys.Key], tuple[Callable[[InstallationId], keys.Key], keys.Key]
]
"""A queue of each installation and the installations' turns; for outsiders' forks, too."""

DUE_QUEUES: Final[Queues] = ((keys.due, keys.DUE_TURNS), (keys.due_outside, keys.DUE_OUTSIDE_TURNS))
CHECK_QUEUES: Final[Queues] = (
    (keys.pending_checks, keys.PENDING_CHECK_TURNS),
    (keys.pending_checks_outside, keys.PENDING_CHECK_OUTSIDE_TURNS),
)


def _save_queue(
    transaction: Transaction,
    name: str,
    before: tuple[PullRequestState, float | None],
    after: tuple[PullRequestState, float | None],
    queues: Queues,
) -> None:
    (old, old_at), (new, at) = before, after
    if old_at == at and old.is_outside == new.is_outside:
        return
    if old_at is not None and (at is None or old.is_outside != new.is_outside):
        transaction.write("ZREM", queues[old.is_outside][0](old.installation).name, name)
    if at is not None:
        queue, turns = queues[new.is_outside]
        transaction.write("ZADD", queue(new.installation).name, at, name)
        transaction.write("ZADD", turns.name, "LT", at, new.installation)


def _save_lease(transaction: Transaction, name: str, before: PullRequestState, after: PullRequestState) -> None:
    if before.lease_until == after.lease_until:
        return
    dispatched = keys.dispatched(after.installation).name
    if after.lease_until is None:
        transaction.write("ZREM", keys.DISPATCHED.name, name)
        transaction.write("SREM", dispatched, name)
        transaction.write("SREM", keys.DISPATCHED_OUTSIDE.name, name)
        # The installation may have lost its turn while it was at its limit.
        transaction.write("ZADD", keys.DUE_TURNS.name, "LT", transaction.now, after.installation)
        return
    transaction.write("ZADD", keys.DISPATCHED.name, after.lease_until, name)
    if before.lease_until is None:
        transaction.write("SADD", keys.DISPATCHED_OUTSIDE.name if after.is_outside else dispatched, name)


MOST_TURNS: Final = 50
"""Installations that are tried for each dispatch."""


def find_next(
    transaction: Transaction, queues: Queues, free_slots: tuple[bool, bool], most: int | None
) -> Operation[tuple[PullRef, PullRequestState] | None]:
    """The next pull request of the installation whose turn it is; of outsiders' forks only where no other is left.

    *free_slots*: whether the one and the other may be taken. *most*: dispatched ones of an installation, without outsiders'.
    """
    for (queue, turns), has_slot, is_outside in zip(queues, free_slots, (False, True), strict=True):
        if not has_slot:
            continue
        (flat,) = yield from transaction.peek(("ZRANGE", turns.name, 0, MOST_TURNS - 1, "WITHSCORES"))
        for member, turn in member_scores(flat):
            if turn > transaction.now:
                break
            installation = InstallationId(int(member))
            waiting, out = queue(installation).name, keys.dispatched(installation).name
            earliest, count = yield from transaction.read(("ZRANGE", waiting, 0, 0, "WITHSCORES"), ("SCARD", out))
            if not earliest or (most is not None and not is_outside and whole(count) >= most):
                transaction.write("ZREM", turns.name, installation)
                continue
            [(name, at)] = member_scores(earliest)
            if at > transaction.now:
                transaction.write("ZADD", turns.name, at, installation)
                continue
            transaction.write("ZADD", turns.name, transaction.now, installation)
            pull = keys.parse_pull(name)
            state = yield from load(transaction, pull)
            if state.request:
                return pull, state
            transaction.write("ZREM", waiting, name)
    return None
