"""What events do to the stored state of pull requests: judge requests, completed checks, closes.

It imports neither rq nor cryptography nor redis-py, so that the web starts fast and stays small. A delivery counts once, however often it
arrives.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import RedisClient, Reply, items, read_json, text, whole
from worker.adapters.redis.connection.transactions import Operation, Transaction, run
from worker.adapters.redis.judging.state import PULL_S, expect_state, load, parse_state, read_commands, save
from worker.adapters.redis.keys import SHARED_HEADS, UNCONFIRMED, QueueKeys
from worker.domain.check.shared_head import CommitRef
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle import intake as lifecycle
from worker.domain.lifecycle.intake import (
    CheckCompleted,
    IntakeContext,
    IntakeMode,
    IntakeOutcome,
    JudgingRequested,
    NamedHead,
    RequestDelivery,
    find_mode,
)
from worker.domain.lifecycle.state import PullRequestState
from worker.domain.model import BaseHash, InstallationId, RepositoryId, Sha
from worker.settings import WRITES_A_MINUTE, WRITES_EACH, Timing

GATHERED_WINDOWS: Final = 5
"""Limit of all waits for further news together, in quiet windows."""

OUTSIDE_BURST: Final = WRITES_A_MINUTE // (2 * WRITES_EACH)
"""Heads of outside contributors that need no turn: half of a minute's writes are left to others."""

MOST_OUTSIDE_WAITING: Final = 100
"""Limit of pull requests that one event affects."""

MOST_PAGES: Final = 10
"""Pages of an index of pull requests that are searched for open ones."""


class CommitIdentity(Protocol):
    """A commit of a repository that the App sees."""

    @property
    def installation_id(self) -> InstallationId: ...

    @property
    def repository_id(self) -> RepositoryId: ...

    @property
    def head_sha(self) -> Sha: ...


class IntakeReceipt(NamedTuple):
    """Outcome of a request. `seq` numbers it among all events; 0 for a duplicate or late one."""

    outcome: IntakeOutcome
    seq: int


def request_judging(
    client: RedisClient, request: JudgeRequest, timing: Timing, by: NamedHead | None = None
) -> IntakeReceipt:
    """Request the judging of this pull request, once for its delivery. Raises Unavailable.

    *by*: the delivery that names its head; None: the head, if any, comes from GitHub.
    """
    delivery = keys.delivery(request.delivery_id)

    def request_once(transaction: Transaction) -> Operation[IntakeReceipt]:
        (is_received,) = yield from transaction.read(("EXISTS", delivery.name))
        if is_received:
            return IntakeReceipt(IntakeOutcome.DUPLICATE, 0)
        transaction.write("SET", delivery.name, 1, "EX", delivery.seconds)
        return (yield from receive_request(transaction, request, timing, by))

    return run(client, request_once)


def receive_request(
    transaction: Transaction,
    request: JudgeRequest,
    timing: Timing,
    by: NamedHead | None,
    unless_judged_by: Iterable[str] = (),
    *,
    is_confirmed: bool = False,
) -> Operation[IntakeReceipt]:
    """Apply a request to judge. *unless_judged_by*: marks of issues; it counts only where the recorded verdict depends on none.

    *is_confirmed*: head and base are GitHub's. A delivery of unknown order is queued until they are.
    """
    pull = request.pull
    event = _judging_requested(request, timing, by, is_confirmed=is_confirmed)
    installation, repository = pull.installation_id, pull.repository_id
    turn = keys.outside_turn(installation).name
    whole_state = read_commands(pull)
    number, window, turn_at, *replies = yield from transaction.peek(
        ("INCR", keys.COUNT.name),
        ("GET", keys.window(installation, repository, request.base).name),
        ("GET", turn),
        *whole_state,
    )
    expect_state(transaction, pull, replies[0])
    state = parse_state(pull, replies)
    ledger_expires_at, is_concluded = None, False
    if event.trigger in (Trigger.TEXT, Trigger.BASE):
        ledger_expires_at, is_concluded = yield from _look_around(transaction, pull, event, state)
    member = f"{repository}:{pull.number}"
    indexes = [("ZSCORE", keys.issue_pulls(installation, mark).name, member) for mark in unless_judged_by]
    scores = (yield from transaction.peek(*indexes)) if indexes else ()
    context = IntakeContext(
        quiet_ms=whole(window) if window else None,
        has_ledger=ledger_expires_at != NO_KEY,
        is_concluded=is_concluded,
        is_judged_by_issue=any(score is not None for score in scores),
        outside_turn_at=float(text(turn_at) or 0),
    )
    intake = lifecycle.request_judging(state, event, context, whole(number), transaction.now)
    save(transaction, pull, state, intake.state)
    if intake.outcome is IntakeOutcome.UNCONFIRMED and by is not None:
        delivery = RequestDelivery(request=request, named_by=by, unless_judged_by=tuple(unless_judged_by))
        add_item(transaction, UNCONFIRMED, request.delivery_id, delivery.model_dump_json())
    if intake.outside_turn_at is not None:
        transaction.expect(("GET", turn), turn_at)
        transaction.write("SET", turn, f"{intake.outside_turn_at:.0f}", "EX", PULL_S)
    if intake.is_reopened:
        for key in remembered_keys(pull):
            transaction.write("PERSIST", key.name)
    if intake.is_rebased:
        decisions = keys.decisions(pull).name
        transaction.write("HSET", decisions, "rebased", f"{transaction.now:.0f}")
        expire_with_ledger(transaction, decisions, ledger_expires_at, intake.state.ends_at)
    is_counted = intake.outcome in (IntakeOutcome.QUEUED, IntakeOutcome.COALESCED)
    if event.head is not None and is_counted:
        index_head(transaction, pull, event.head)
        name = keys.repository_numbers(request.repository).name
        transaction.write("SADD", name, f"{installation}:{repository}")
    return IntakeReceipt(intake.outcome, whole(number) if is_counted else 0)


def _judging_requested(
    request: JudgeRequest, timing: Timing, by: NamedHead | None, *, is_confirmed: bool
) -> JudgingRequested:
    trigger, arrived = request.trigger, request.arrived
    mode = find_mode(trigger, is_draft=request.draft, has_case=by is not None and by.has_case)
    quiet_ms, quiet_max_ms = quiet_window_ms(mode, timing)
    gap_ms = milliseconds(timing.outside_gap)
    return JudgingRequested(
        request=request.model_dump_json(),
        trigger=trigger,
        mode=mode,
        head=request.head_sha,
        base=request.base,
        named_by=by,
        is_confirmed=is_confirmed,
        first_seen_at=None if arrived is None else arrived.at.isoformat(),
        is_outside=request.outside,
        quiet_ms=quiet_ms,
        quiet_max_ms=quiet_max_ms,
        outside_gap_ms=gap_ms,
        outside_ahead_ms=gap_ms * (OUTSIDE_BURST - 1),
    )


def add_item(transaction: Transaction, queue: QueueKeys, name: str, text: str) -> None:
    """Queue an item, due now. It replaces the one of this name."""
    transaction.write("HSET", queue.texts.name, name, text)
    transaction.write("ZADD", queue.order.name, transaction.now, name)


def index_head(transaction: Transaction, pull: PullRef, head: Sha) -> None:
    """Find the pull request by this head, which it has or had."""
    heads = keys.heads(pull.installation_id, pull.repository_id, head).name
    transaction.write("SADD", heads, pull.number)
    transaction.write("EXPIRE", heads, PULL_S)


NO_KEY: Final = -2
NO_EXPIRY: Final = -1
"""Answers of PEXPIRETIME."""


def _look_around(
    transaction: Transaction, pull: PullRef, event: JudgingRequested, state: PullRequestState
) -> Operation[tuple[int, bool]]:
    """When the ledger expires, and whether the check run of the known head has its conclusion."""
    (ledger_expires_at,) = yield from transaction.read(("PEXPIRETIME", keys.ledger(pull).name))
    head = event.head or state.head
    if event.trigger is not Trigger.TEXT or head is None:
        return whole(ledger_expires_at), False
    has_check, is_open = yield from transaction.read(
        ("EXISTS", keys.check(pull, head).name), ("HEXISTS", keys.checks(pull).name, head)
    )
    return whole(ledger_expires_at), bool(has_check) and not is_open


def expire_with_ledger(
    transaction: Transaction, name: str, ledger_expires_at: int | None, ends_at: float | None
) -> None:
    """Let a key expire with the ledger, by its PEXPIRETIME, or at the end of its closed pull request."""
    if ledger_expires_at is not None and ledger_expires_at > 0:
        transaction.write("PEXPIREAT", name, ledger_expires_at)
    elif ledger_expires_at == NO_EXPIRY:
        transaction.write("PERSIST", name)
    elif ends_at is not None:  # closed before there was a ledger
        transaction.write("PEXPIREAT", name, f"{ends_at:.0f}")


def retrigger_ci(
    transaction: Transaction, at: CommitIdentity, timing: Timing, *, is_green: bool
) -> Operation[IntakeOutcome]:
    """Requeue pull requests that wait for CI on this commit, after another check completed.

    *is_green*: a whole suite passed, which ends the quiet window of this head.
    """
    installation, repository, gather_ms = at.installation_id, at.repository_id, milliseconds(timing.gather)
    event = CheckCompleted(at.head_sha, gather_ms, milliseconds(timing.gather * GATHERED_WINDOWS), is_green)
    index = keys.heads(installation, repository, at.head_sha).name
    (numbers,) = yield from transaction.peek(("SRANDMEMBER", index, MOST_OUTSIDE_WAITING))
    outcome = IntakeOutcome.UNKNOWN
    for member in items(numbers):
        pull = PullRef(installation_id=installation, repository_id=repository, number=whole(member))
        state = yield from load(transaction, pull)
        (seq,) = (yield from transaction.peek(("INCR", keys.COUNT.name))) if state.ci_request else (0,)
        after = lifecycle.retrigger(state, event, whole(seq), transaction.now)
        if after is not None:
            save(transaction, pull, state, after)
            outcome = IntakeOutcome.COALESCED
    return outcome


def find_requests_by_head(client: RedisClient, at: CommitIdentity) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request whose head is or was this commit. Raises Unavailable."""
    index = keys.heads(at.installation_id, at.repository_id, at.head_sha)
    return _find_requests(client, index, keys.prefix("pull", at.installation_id, at.repository_id))


def find_requests_by_issue(client: RedisClient, installation: InstallationId, mark: str) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request of the installation that was judged and closes an edited issue.

    Raises Unavailable.
    """
    changed = keys.last_change(installation, mark)
    return _find_requests(client, keys.issue_pulls(installation, mark), keys.pulls_of(installation), changed=changed)


def find_requests_by_base(
    client: RedisClient, installation: InstallationId, repository: RepositoryId, base: BaseHash
) -> tuple[JudgeRequest, ...]:
    """Newest request of each open pull request judged for a changed base, without those already due.

    Raises Unavailable.
    """
    index, changed = (
        keys.judged_bases(installation, repository, base),
        keys.last_change(installation, rules_at(repository, base)),
    )
    return _find_requests(client, index, keys.prefix("pull", installation, repository), "due", changed)


def rules_at(repository: RepositoryId, base: BaseHash) -> str:
    """Mark of the rules at a base in `keys.last_change`, beside the marks of issues."""
    return f"{repository}-{base}"


def _find_requests(
    client: RedisClient, index: keys.Key, prefix: str, but: str = "", changed: keys.Key | None = None
) -> tuple[JudgeRequest, ...]:
    """Newest requests of open pull requests in an index, without those in the state *but*.

    *changed*: what they depend on. A judging that enters the index after this finds there the number of the event.
    """
    if changed is not None:
        client.call("SET", changed.name, whole(client.call("INCR", keys.COUNT.name)), "EX", changed.seconds)
    requests, ignored = list[JudgeRequest](), {but} - {""}
    for members in _pages(client, index):
        rows = client.pipeline([("HMGET", f"{prefix}{text(member)}", "req", "over", "state") for member in members])
        for request, closed_at, phase in map(items, rows):
            if request and not closed_at and len(requests) < MOST_OUTSIDE_WAITING and text(phase) not in ignored:
                requests.append(read_json(JudgeRequest, text(request)))
        if len(requests) == MOST_OUTSIDE_WAITING:
            break
    return tuple(requests)


def _pages(client: RedisClient, index: keys.Key) -> Iterator[list[Reply]]:
    """Members of an index: some of a set, or the newest first, of which those that were closed stay for a while."""
    if index.type == "set":
        yield items(client.call("SRANDMEMBER", index.name, MOST_OUTSIDE_WAITING))
        return
    for first in range(0, MOST_PAGES * MOST_OUTSIDE_WAITING, MOST_OUTSIDE_WAITING):
        members = items(client.call("ZRANGE", index.name, first, first + MOST_OUTSIDE_WAITING - 1, "REV"))
        yield members
        if len(members) < MOST_OUTSIDE_WAITING:
            return


def close_pull_request(transaction: Transaction, pull: PullRef, left: timedelta) -> Operation[None]:
    """Close a pull request: pending work completes, and its data expires after *left*."""
    state = yield from load(transaction, pull)
    number, open_checks = yield from transaction.peek(("INCR", keys.COUNT.name), ("HLEN", keys.checks(pull).name))
    expires_at = transaction.now + milliseconds(left.total_seconds())
    for key in remembered_keys(pull):
        transaction.write("PEXPIREAT", key.name, f"{expires_at:.0f}")
    after = lifecycle.close_pull_request(
        state, expires_at, whole(number), transaction.now, has_open_checks=bool(open_checks)
    )
    save(transaction, pull, state, after)
    if state.request and state.published_head:
        yield from request_sync(transaction, pull, state.published_head)


def request_sync(transaction: Transaction, pull: PullRef, head: Sha, delay_ms: float = 0) -> Operation[None]:
    """Queue a commit whose check runs may be out of sync, unless it is the head of one pull request only."""
    shown = keys.shared_head_states(pull.installation_id, pull.repository_id, head).name
    (fields,) = yield from transaction.peek(("HKEYS", shown))
    if sum(text(field).isdecimal() for field in items(fields)) > 1:
        transaction.write("HINCRBY", shown, "v", 1)
        queue_sync(transaction, pull, head, delay_ms)


def queue_sync(transaction: Transaction, pull: PullRef, head: Sha, delay_ms: float) -> None:
    """Queue a commit whose check runs may be out of sync."""
    shown = keys.shared_head_states(pull.installation_id, pull.repository_id, head).name
    commit = CommitRef(installation_id=pull.installation_id, repository_id=pull.repository_id, head_sha=head)
    transaction.write("HSET", SHARED_HEADS.texts.name, shown, commit.model_dump_json())
    transaction.write("ZADD", SHARED_HEADS.order.name, "LT", transaction.now + delay_ms, shown)


def remembered_keys(pull: PullRef) -> tuple[keys.Key, ...]:
    """Keys that stay while a pull request is open."""
    return keys.ledger(pull), keys.decisions(pull), keys.pull_request_cost(pull)


def set_window(
    client: RedisClient, installation: InstallationId, repository: RepositoryId, base: BaseHash, seconds: float | None
) -> None:
    """Store a base's quiet window; None: not set, or unknown. Raises Unavailable."""
    key = keys.window(installation, repository, base)
    if seconds is None:
        client.call("DEL", key.name)
    else:
        client.call("SET", key.name, milliseconds(seconds), "EX", key.seconds)


def quiet_window_ms(mode: IntakeMode, timing: Timing) -> tuple[int, int]:
    """Quiet window and longest wait, in milliseconds."""
    if mode in (IntakeMode.WINDOW, IntakeMode.MOVED):
        return round(timing.quiet_window * 1000), round(timing.quiet_max * 1000)
    if mode is IntakeMode.SOON:
        return milliseconds(timing.gather), milliseconds(timing.gather * GATHERED_WINDOWS)
    return 0, 0


def stamp(at: datetime) -> str:
    """A time in the format of `worker.adapters.redis.records`, in whole seconds as GitHub's times are."""
    return str(int(at.timestamp()))


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
