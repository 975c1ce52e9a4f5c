"""Who held which pull request when: read from everything that Redis ever wrote.

Does not ask the scripts: it sees only what they changed. Invariant: two judges of one pull request at one time, a fence
that does not grow, and an entry in the ledger by somebody who held nothing are found, whichever script let them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from tests.world.aof import Command
from worker.adapters.redis import keys
from worker.domain.ids import DeliveryId

PULL, LEDGER = "pull", "ledger"
PARTS = 5
"""assay, installation, what, repository, number."""


@dataclass
class LeaseTerm:
    """One judging that was begun. `until` (ms) is the end of its lease as last prolonged."""

    pull: str
    fence: int
    token: str
    began: float = 0.0
    until: float = 0.0
    is_ended: bool = False
    entries: list[str] = field(default_factory=list[str])


@dataclass
class LeaseHistory:
    """All sittings of one pull request, oldest first, and what was against the rules."""

    pull: str
    terms: list[LeaseTerm] = field(default_factory=list[LeaseTerm])
    violations: list[str] = field(default_factory=list[str])
    state: str = ""
    fence: int = 0

    def is_held(self, at_ms: float) -> bool:
        """Whether somebody's lease ran at that time."""
        return any(one.began <= at_ms <= one.until for one in self.terms)

    def writer(self, eval_id: str) -> LeaseTerm | None:
        """Who recorded this verdict."""
        return next((one for one in self.terms if eval_id in one.entries), None)

    def may_publish(self, eval_id: str, at_ms: float) -> bool:
        """Whether whoever said this verdict then held it, or had let his lease run out with nobody after him yet."""
        begun = [one for one in self.terms if one.began <= at_ms]
        return self.is_held(at_ms) or (bool(begun) and begun[-1] is self.writer(eval_id))

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

    def close(self) -> None:
        self.state = ""

    def extend_lease(self, until: float, lease_ms: float) -> None:
        if self.state != "held" or self.last is None:
            return
        self.last.until = until
        if not self.last.began:
            self.last.began = until - lease_ms

    def record_entry(self, eval_id: str) -> None:
        if self.state != "held" or self.last is None:
            self.violations.append(f"{self.pull}: {eval_id} was recorded by nobody who held it")
            return
        self.last.entries.append(eval_id)

    def _dispatch(self, fence: int) -> None:
        if fence <= self.fence or self.state != "due":
            self.violations.append(
                f"{self.pull}: {fence} was given out after {self.fence}, while {self.state or 'closed'}"
            )
        self.fence = fence

    def _take_lease(self, token: str) -> None:
        if self.state != "given":
            self.violations.append(f"{self.pull}: {self.fence} was begun while {self.state or 'closed'}")
        self.terms.append(LeaseTerm(self.pull, self.fence, token))


def read_histories(told: Iterable[Command], lease_ms: float) -> Mapping[str, LeaseHistory]:
    """Every pull request's docket, by `installation:repository:number`."""
    found: dict[str, LeaseHistory] = {}
    for name, key, *rest in (command for command in told if len(command) > 1):  # not MULTI and EXEC
        what, pull = _of(rest[-1] if key == keys.DISPATCHED.name and name == "ZADD" else key)
        if what not in {PULL, LEDGER}:
            continue
        docket = found.setdefault(pull, LeaseHistory(pull))
        match name, what:
            case "HSET", "pull":
                docket.set_fields(dict(zip(rest[::2], rest[1::2], strict=True)))
            case "HDEL", "pull" if "state" in rest:
                docket.close()
            case "ZADD", "pull":
                docket.extend_lease(float(rest[-2]), lease_ms)
            case "HSET", "ledger":
                docket.record_entry(rest[0])
            case _:
                pass
    return found


def interrupted_fences(docket: LeaseHistory) -> set[int]:
    """The fences whose judges neither ended nor kept silent for a whole lease before the next one began."""
    return {one.fence for one, after in pairwise(docket.terms) if not one.is_ended and one.until > after.began}


def overtaken_tokens(told: Iterable[Command]) -> set[str]:
    """The tokens of the judges that found out after a write that they had been overtaken, and asked for another."""
    beginning = keys.delivery(DeliveryId("late-")).name
    return {command[1].removeprefix(beginning) for command in told if command[1:2] and command[1].startswith(beginning)}


def _of(key: str) -> tuple[str, str]:
    """What a key of a pull request holds, and of which: the parts that `worker.adapters.redis.keys` puts together."""
    parts = key.split(":")
    return (parts[2], f"{parts[1]}:{parts[3]}:{parts[4]}") if len(parts) == PARTS else ("", "")
