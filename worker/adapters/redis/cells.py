"""Cells: several Redis servers, each with the installations that one table assigns to it, and the move from one to another.

The table is in the main cell. Each other cell has its own copy for the installations that it has or had, so that it leaves those alone
that it has not.

A move refuses deliveries, takes the installation out of the queues in one transaction once nothing of it is under way, copies its keys,
routes deliveries to the new cell, and puts it into the queues there. An interrupted move continues: until deliveries are routed to the
new cell the earlier one has everything, and neither judges; afterwards the earlier one only has what is left to delete.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import SecretStr

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    ATTEMPTS,
    RedisClient,
    RedisRefused,
    Reply,
    blob,
    find_server_time,
    items,
    member_scores,
    scan_keys,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import Command, Operation, Transaction, run, write_all
from worker.adapters.redis.encryption_and_tokens import LACKS_KEY
from worker.adapters.redis.judging.state import CHECK_QUEUES, DUE_QUEUES
from worker.adapters.redis.keys import Key
from worker.domain.model import EvalId, InstallationId
from worker.errors import InputError
from worker.settings import MAIN_CELL

if TYPE_CHECKING:
    from worker.adapters.redis.store import Store

BATCH: Final = 200
SETTLE_TICKS: Final = 10
"""For what a judge does after its lease: it queues the comment for the author."""

TASK_QUEUES: Final = (
    keys.COMMANDS, keys.ADDED_REPOSITORIES, keys.PULL_REQUEST_EVENTS, keys.COMMENT_JOBS, keys.SCANS, keys.GROUPS,
    keys.SHARED_HEADS, keys.UNCONFIRMED,
)  # fmt: skip
SHARED: Final[tuple[tuple[Key, ...], ...]] = (
    (keys.PAUSED_REPOSITORIES,), (keys.MEASURED_INSTALLATIONS,), (keys.UNINSTALLATIONS,), (keys.LOOKAHEAD,),
    (keys.EVALUATION_DEADLINES, keys.OPEN_EVALUATIONS), (keys.DEADLINES, keys.DEADLINE_NOTES),
    *(queue.keys for queue in TASK_QUEUES),
)  # fmt: skip
"""Queues of all installations: a sorted set, and hashes about its members. Turns of installations follow from their own queues."""

ORDERS: Final = frozenset(order.name.encode() for order, *_ in SHARED)
TURNS: Final = (*DUE_QUEUES, *CHECK_QUEUES)

COPIED: Final = tuple(f"assay:{kind}:" for kind in ("delivery", "asked", "heard", "grouped", "forgotten"))
"""Beginnings of keys that name no installation and are copied for all: marks of deliveries, and tombstones."""

MOVING: Final = "moving"
"""Deliveries are refused, and neither cell judges."""

MOVED: Final = "moved"
"""Deliveries go to the new cell. The earlier one is being deleted."""


class Residence(NamedTuple):
    """Where an installation is. `step` of its move from `source`; "": it does not move."""

    cell: str = MAIN_CELL
    step: str = ""
    source: str = ""

    @classmethod
    def parse(cls, stored: Reply) -> "Residence":
        return cls(*text(stored).split()) if stored else cls()

    @property
    def is_moving(self) -> bool:
        return self.step == MOVING

    def __str__(self) -> str:
        return " ".join(self).strip()


def find_residence(client: RedisClient, installation: InstallationId) -> Residence:
    """Where an installation is, by the table of this cell. Raises Unavailable."""
    return Residence.parse(client.call("HGET", keys.CELLS.name, installation))


def is_resident(client: RedisClient, cell: str, installation: InstallationId) -> bool:
    """Whether *cell*, this one, has the installation: others leave it alone. Raises Unavailable."""
    residence = find_residence(client, installation)
    return residence.cell == cell and not residence.is_moving


def has_move(client: RedisClient) -> bool:
    """Whether deliveries of an installation are refused by the table of this cell. Raises Unavailable."""
    return any(Residence.parse(stored).is_moving for stored in items(client.call("HVALS", keys.CELLS.name)))


def in_cell(store: "Store", url: SecretStr) -> "Store":
    """The same store in another cell, which need not answer yet."""
    client = RedisClient(url.get_secret_value(), store.timing.redis_timeout, store.client.replicas)
    return replace(store, client=client, url=url)


@dataclass(frozen=True)
class CellMove:
    """Moves an installation between cells, by name. *report*: called with each step."""

    cells: Mapping[str, "Store"]
    installation: InstallationId
    report: Callable[[str], object] = lambda _: None

    def run(self, target: str) -> bool:
        """Move it to *target*, or go on with that. False: it is there already. Raises InputError and Unavailable.

        Back to where it comes from, until deliveries are routed to the new cell: what was copied is deleted.
        """
        residence = find_residence(self.cells[MAIN_CELL].client, self.installation)
        if residence == (target, "", ""):
            return False
        if any(store.is_key_missing() for store in self.cells.values()):
            raise InputError(LACKS_KEY)
        if not residence.step:
            residence = Residence(target, MOVING, residence.cell)
            self._record(residence)
        elif residence.is_moving and residence.source == target:
            self.report(f"back to {target}")
            self._delete(self.cells[residence.cell])
            self._attach(self.cells[target])
            self._record(Residence(target))
            return True
        elif residence.cell != target:
            raise InputError(f"It is being moved to {residence.cell}. Finish that first: --to {residence.cell}")
        source, destination = self.cells[residence.source], self.cells[target]
        if residence.is_moving:
            self._wait_until_idle(source)
            self.report("idle")
            self._detach(source)
            try:
                self.report(f"copied {self._copy(source, destination)} keys")
            except RedisRefused as refused:
                back = f"To go back: --to {residence.source}"
                raise InputError(f"The Redis of {target} does not take what is copied: {refused}. {back}") from refused
            self._record(residence._replace(step=MOVED))
        self._attach(destination)
        self._delete(source)
        self._record(Residence(target))
        return True

    def _record(self, residence: Residence) -> None:
        """Write where it is: first where it is not judged, last where it is."""
        self.report(str(residence))
        names = dict.fromkeys((residence.source or MAIN_CELL, MAIN_CELL, residence.cell))
        for name in names:
            self.cells[name].client.call("HSET", keys.CELLS.name, self.installation, str(residence))

    def _wait_until_idle(self, source: "Store") -> None:
        """Wait for deliveries that are being stored, for judgings, and for tasks, which end within the hold."""
        time.sleep(ATTEMPTS * source.timing.redis_timeout)
        while self._is_judging(source.client):
            source.client.pipeline(self._turns_removed())
            time.sleep(source.timing.tick)
        time.sleep(SETTLE_TICKS * source.timing.tick)
        limit = time.monotonic() + source.timing.open_hold
        while time.monotonic() < limit and self._has_task(source):
            time.sleep(source.timing.tick)

    def _turns_removed(self) -> list[Command]:
        return [("ZREM", turns.name, self.installation) for _, turns in TURNS]

    def _is_judging(self, client: RedisClient) -> bool:
        """Whether a delivery is to be applied, a pull request is dispatched or leased, or a merge group is judged."""
        inbox, *held = client.pipeline(
            [
                ("LRANGE", keys.INBOX.name, 0, -1),
                ("ZRANGE", keys.DISPATCHED.name, 0, -1),
                ("HKEYS", keys.GROUP_HOLDS.name),
            ]
        )
        beginnings = b"assay:%d:" % self.installation, b"%d:" % self.installation
        is_held = any(blob(name).startswith(beginnings) for reply in held for name in items(reply))
        return is_held or any(self._is_ours(blob(entry)) for entry in items(inbox))

    def _has_task(self, source: "Store") -> bool:
        """Whether an item was taken, as far as its due time shows."""
        now = find_server_time(source.client)
        until = now + source.timing.open_hold * 1000
        own = (keys.pending_checks(self.installation), keys.pending_checks_outside(self.installation))
        if any(whole(source.client.call("ZCOUNT", key.name, f"({now}", until)) for key in own):
            return True
        orders = {queue.order.name.encode() for queue in TASK_QUEUES} | {keys.LOOKAHEAD.name.encode()}
        shared = self._entries(source.client)
        return any(key in orders and now < float(value) <= until for key, _, value in shared)

    def _is_ours(self, *parts: bytes) -> bool:
        """Whether a member, or its value, is the installation's number, a key of it, or JSON that has it."""
        number = b"%d" % self.installation
        mark, beginning = b'"installation_id":%b,' % number, b"assay:%b:" % number
        return any(part == number or part.startswith(beginning) or mark in part.replace(b"}", b",") for part in parts)

    def _entries(self, client: RedisClient) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Its entries in queues of all: key, member and value."""
        for order, *hashes in SHARED:
            flat, *others = client.pipeline(
                [("ZRANGE", order.name, 0, -1, "WITHSCORES"), *(("HGETALL", key.name) for key in hashes)]
            )
            parts = {
                key: [blob(part) for part in items(reply)]
                for key, reply in zip((order, *hashes), (flat, *others), strict=True)
            }
            entries = [
                (key.name.encode(), member, value)
                for key, all_of_it in parts.items()
                for member, value in zip(all_of_it[::2], all_of_it[1::2], strict=True)
            ]
            ours = {member for _, member, value in entries if self._is_ours(member, value)}
            yield from (
                entry for entry in entries if ours & {entry[1], entry[1].partition(b" ")[0]}
            )  # `ID run` is about ID

    def _detach(self, source: "Store") -> None:
        """Take it out of the queues of all, into a key of its own, while nothing of it is dispatched."""
        staged = keys.moving(self.installation).name

        def detach(transaction: Transaction) -> Operation[bool]:
            aside, _ = yield from transaction.read(
                ("LRANGE", keys.INBOX_ASIDE.name, 0, -1), ("ZRANGE", keys.DISPATCHED.name, 0, -1)
            )
            if self._is_judging(source.client):
                return False
            transaction.write_each(self._turns_removed())
            for entry in filter(self._is_ours, map(blob, items(aside))):
                transaction.write("RPUSH", staged, keys.INBOX_ASIDE.name, "", entry)
                transaction.write("LREM", keys.INBOX_ASIDE.name, 1, entry)
            for key, member, value in self._entries(source.client):
                transaction.write("RPUSH", staged, key, member, value)
                transaction.write("ZREM" if key in ORDERS else "HDEL", key, member)
            return True

        while not run(source.client, detach):
            time.sleep(source.timing.tick)

    def _attach(self, target: "Store") -> None:
        """Put it into the queues of all again. What is newer there stays."""
        client, staged = target.client, keys.moving(self.installation).name
        parts = [blob(part) for part in items(client.call("LRANGE", staged, 0, -1))]
        entries = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        first = client.pipeline([("ZRANGE", queue(self.installation).name, 0, 0, "WITHSCORES") for queue, _ in TURNS])
        write_all(
            client,
            *(_entry_command(key, member, value) for key, member, value in entries),
            *(
                ("ZADD", turns.name, "LT", at, self.installation)
                for (_, turns), reply in zip(TURNS, first, strict=True)
                for _, at in member_scores(reply)
            ),
            ("DEL", staged),
        )

    def _copy(self, source: "Store", target: "Store") -> int:
        """Copy all keys with their lifetimes; their number. A copy of an earlier attempt is replaced."""
        count, stream = 0, keys.events(self.installation).name.encode()
        for names in scan_keys(source.client, "assay:*", BATCH):
            ours = [name for name in names if self._is_ours(name)]
            copied = [name for name in names if name.startswith(tuple(beginning.encode() for beginning in COPIED))]
            if stream in ours:
                ours.remove(stream)
                _copy_stream(source.client, target.client, stream)
            count += _copy_keys(source.client, target.client, [*ours, *self._records(source.client, ours), *copied])
            for name, pairs in self._numbers(source.client, names):
                target.client.call("SADD", name, *pairs)
        return count

    def _records(self, client: RedisClient, names: list[bytes]) -> list[bytes]:
        """Keys of dossiers and audit records, which name no installation."""
        kinds = {name: name.split(b":")[2] for name in names}
        lists = [("HKEYS", name) for name, kind in kinds.items() if kind == b"ledger"]
        lists += [("ZRANGE", name, 0, -1) for name, kind in kinds.items() if kind == b"kept"]
        evals = {EvalId(text(eval_id)) for reply in client.pipeline(lists) for eval_id in items(reply)} if lists else ()
        return [key(eval_id).name.encode() for eval_id in evals for key in (keys.dossier, keys.audit)]

    def _numbers(self, client: RedisClient, names: list[bytes]) -> Iterator[tuple[bytes, list[bytes]]]:
        """Its members in sets of ids by repository name."""
        named = [name for name in names if name.startswith(b"assay:named:")]
        replies = client.pipeline([("SMEMBERS", name) for name in named]) if named else []
        for name, reply in zip(named, replies, strict=True):
            if pairs := [blob(pair) for pair in items(reply) if blob(pair).startswith(b"%d:" % self.installation)]:
                yield name, pairs

    def _delete(self, source: "Store") -> None:
        """Delete what was copied. A record of a verdict whose ledger is gone already expires."""
        client = source.client
        client.pipeline(self._turns_removed())
        for names in scan_keys(client, "assay:*", BATCH):
            ours = [name for name in names if self._is_ours(name)]
            if ours:
                client.call("UNLINK", *self._records(client, ours), *ours)
            for name, pairs in self._numbers(client, names):
                client.call("SREM", name, *pairs)


def _entry_command(key: bytes, member: bytes, value: bytes) -> Command:
    """What adds an entry to a queue of all, unless a newer one is there."""
    if key == keys.INBOX_ASIDE.name.encode():
        return "RPUSH", key, value
    return ("ZADD", key, "LT", value, member) if key in ORDERS else ("HSETNX", key, member, value)


def _copy_keys(source: RedisClient, target: RedisClient, names: list[bytes]) -> int:
    """Copy keys, one batch of them; the number of those that exist."""
    commands: list[Command] = [command for name in names for command in (("DUMP", name), ("PTTL", name))]
    replies = source.pipeline(commands) if commands else []
    restores: list[Command] = [
        ("RESTORE", name, max(0, whole(ttl)), blob(dump), "REPLACE")
        for name, dump, ttl in zip(names, replies[::2], replies[1::2], strict=True)
        if dump is not None
    ]
    if restores:
        target.pipeline(restores)
    return len(restores)


def _copy_stream(source: RedisClient, target: RedisClient, name: bytes) -> None:
    """Copy a stream, which may be too long for one command."""
    target.call("UNLINK", name)
    after = "-"
    while entries := items(source.call("XRANGE", name, after, "+", "COUNT", 10 * BATCH)):
        pairs = [(text(id_), items(fields)) for id_, fields in map(items, entries)]
        target.pipeline([("XADD", name, id_, *map(blob, fields)) for id_, fields in pairs])
        after = f"({pairs[-1][0]}"
