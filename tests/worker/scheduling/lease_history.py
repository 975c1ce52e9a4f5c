"""The leases of each pull request, read from Redis' append-only file.

Invariant: two leases at one time, a fence that does not grow, and a ledger entry without a lease are found, whichever
script allowed them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from tests.world.aof import Command
from worker.adapters.redis import keys
from worker.domain.model import DeliveryId

PULL, LEDGER = "pull", "ledger"
PARTS = 5
"""assay, installation, kind, repository, number."""


@dataclass
class LeaseTerm:
    """One judging. `until` (ms) is the end of its lease as last extended."""

    pull: str
    fence: int
    token: str
    began: float = 0.0
    until: float = 0.0
    is_ended: bool = False
    entries: list[str] = field(default_factory=list[str])


@dataclass
class LeaseHistory:
    """All lease terms of one pull request, oldest first, and the violations."""

    pull: str
    terms: list[LeaseTerm] = field(default_factory=list[LeaseTerm])
    violations: list[str] = field(default_factory=list[str])
    state: str = ""
    fence: int = 0

    def writer(self, eval_id: str) -> LeaseTerm | None:
        """Return the term that recorded this verdict."""
        return next((term for term in self.terms if eval_id in term.entries), None)

    def may_publish(self, eval_id: str, at_ms: float) -> bool:
        """Return whether a lease was held, or the term of this verdict was the last one."""
        begun = [term for term in self.terms if term.began <= at_ms]
        is_held = any(at_ms <= term.until for term in begun)
        return is_held or (bool(begun) and begun[-1] is self.writer(eval_id))

    @property
    def last(self) -> LeaseTerm | None:
        return self.terms[-1] if self.terms else None

    def set_fields(self, fields: Mapping[str, str]) -> None:
        if self.last and fields.get("done") == self.last.token:
            self.last.is_ended = True
        match fields.get("state"):
            case "given":
                self._dispatch(int(fields["fence"]))
            case "held":
                self._take_lease(fields["token"])
            case _:
                pass
        self.state = fields.get("state", self.state)

    def extend_lease(self, until: float, lease_ms: float) -> None:
        if self.state != "held" or self.last is None:
            return
        self.last.until = until
        if not self.last.began:
            self.last.began = until - lease_ms

    def record_entry(self, eval_id: str) -> None:
        if self.state != "held" or self.last is None:
            self.violations.append(f"{self.pull}: {eval_id} was recorded without a lease")
            return
        self.last.entries.append(eval_id)

    def _dispatch(self, fence: int) -> None:
        if fence <= self.fence or self.state != "due":
            self.violations.append(f"{self.pull}: {fence} was dispatched after {self.fence}, {self.state or 'closed'}")
        self.fence = fence

    def _take_lease(self, token: str) -> None:
        if self.state != "given":
            self.violations.append(f"{self.pull}: {self.fence} was begun while {self.state or 'closed'}")
        self.terms.append(LeaseTerm(self.pull, self.fence, token))


def read_histories(commands: Iterable[Command], lease_ms: float) -> Mapping[str, LeaseHistory]:
    """Return the lease history of every pull request, by `installation:repository:number`."""
    histories: dict[str, LeaseHistory] = {}
    for name, key, *rest in (command for command in commands if len(command) > 1):  # not MULTI and EXEC
        kind, pull = _parse(rest[-1] if key == keys.DISPATCHED.name and name == "ZADD" else key)
        if kind not in {PULL, LEDGER}:
            continue
        history = histories.setdefault(pull, LeaseHistory(pull))
        match name, kind:
            case "HSET", "pull":
                history.set_fields(dict(zip(rest[::2], rest[1::2], strict=True)))
            case "HDEL", "pull" if "state" in rest:
                history.state = ""
            case "ZADD", "pull":
                history.extend_lease(float(rest[-2]), lease_ms)
            case "HSET", "ledger":
                history.record_entry(rest[0])
            case _:
                pass
    return histories


def interrupted_fences(history: LeaseHistory) -> set[int]:
    """Return the fences whose lease neither ended nor expired before the next one began."""
    return {term.fence for term, after in pairwise(history.terms) if not term.is_ended and term.until > after.began}


def overtaken_tokens(commands: Iterable[Command]) -> set[str]:
    """Return the tokens of judges that noticed after a write that their lease was lost, and requested a judging."""
    prefix = keys.delivery(DeliveryId("late-")).name
    return {command[1].removeprefix(prefix) for command in commands if command[1:2] and command[1].startswith(prefix)}


def _parse(key: str) -> tuple[str, str]:
    """Return the kind and the pull request of a key of `worker.adapters.redis.keys`."""
    parts = key.split(":")
    return (parts[2], f"{parts[1]}:{parts[3]}:{parts[4]}") if len(parts) == PARTS else ("", "")
