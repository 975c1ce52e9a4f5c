"""What the stages need from outside, as Protocols of one to four methods.

Holds no implementation. Invariant: no SDK type crosses a port; adapters turn SDK errors into
`worker.errors` at their own edge.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from worker.domain.audit import AuditRecord
from worker.domain.check import CheckContent
from worker.domain.dossier import Dossier
from worker.domain.events import Begun, Event
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ledger import LedgerEntry
from worker.domain.money import Bill, Density, Level, Reservation
from worker.domain.request import Ask, JudgeRequest, PullRef
from worker.domain.value import Value
from worker.domain.verdict import Tokens


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC, with its zone."""
        ...

    def monotonic_ms(self) -> int: ...


class PullSource(Protocol):
    """Where pull requests come from: GitHub, a git checkout, or a recorded dossier."""

    def dossier(self, request: JudgeRequest) -> Dossier:
        """Everything the source knows about the pull request's newest head; what it can't know is left unset.

        Raises Gone (deleted, closed, uninstalled), RateLimited, Unavailable, Forbidden.
        """
        ...

    def head_sha(self, request: JudgeRequest) -> Sha:
        """The newest head right now. Raises as `dossier` does; Gone also when it was closed."""
        ...


class CheckPublisher(Protocol):
    """GitHub's check runs. Raises as PullSource does."""

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create the check run of this head. Finds ours first if there may be one (a lost answer): never two."""
        ...

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        """Our check run of this head, if there is one."""
        ...

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None: ...


class StopReason(StrEnum):
    END = "end_turn"
    TRUNCATED = "max_tokens"
    REFUSED = "refusal"
    CONTEXT_EXCEEDED = "model_context_window_exceeded"
    OTHER = "other"


class Prompt(Value):
    """What goes to the model. `turns` alternate user, assistant, user ...; the corrective retry adds two.

    `reply_tokens`: how long the reply may be; None: as long as the operator allows any to be.
    """

    system: str
    turns: tuple[str, ...]
    schema: Mapping[str, object]
    version: str
    reply_tokens: int | None = None


class Reply(Value):
    """What came back, billed. `cost_usd` is None where the price is not known; `near`: a cap that is almost reached.

    `lost_usd`: what tries before it may have cost, whose answers were lost.
    """

    text: str
    stop: StopReason
    stop_detail: str
    tokens: Tokens
    cost_usd: Decimal | None
    request_id: str | None
    near: Level | None = None
    lost_usd: Decimal = Decimal(0)


class Model(Protocol):
    """One language model. Raises Unavailable when it can't be reached or answers errors, after bounded retries.

    One that is asked for reserved money only (`worker.llm.metered`) also raises BudgetReached.
    """

    @property
    def name(self) -> str: ...

    @property
    def pricing_version(self) -> str | None: ...

    def ask(self, prompt: Prompt) -> Reply: ...


class Purse(Protocol):
    """The money for models. All of it may be called twice; raises Unavailable."""

    def density(self, pull: PullRef, model: str) -> Density:
        """How dense this installation's prompts have been."""
        ...

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Set money aside; the same *name* again changes nothing. Raises BudgetReached."""
        ...

    def settle(self, reservation: Reservation, bill: Bill) -> Level | None:
        """Give back what was not spent, once. The fuller of the caps that are almost reached, if one is."""
        ...


class Ledger(Protocol):
    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        """All entries of this pull request, oldest first."""
        ...

    def append(self, pull: PullRef, entry: LedgerEntry, told: Sequence[Event] = ()) -> None:
        """Append once (the same eval_id again changes nothing), and tell of it. Raises LeaseLost when another judge took over."""
        ...


class Events(Protocol):
    """What happened. All of it may be called twice; raises Unavailable."""

    def begin(self, pull: PullRef, fence: int, begun: Begun) -> None:
        """Tell that an evaluation began. It ends with its entry in the ledger, or by `end`. Raises LeaseLost."""
        ...

    def end(self, pull: PullRef, event: Event) -> bool:
        """End an evaluation that comes to no entry. False: it had ended before."""
        ...


class Watch(Protocol):
    """Who looks at what people do after a verdict. May be called twice; raises Unavailable."""

    def judged(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        """A verdict on a submission, which closes these issues, is about to be recorded."""
        ...


class Lease(Protocol):
    """The right to judge one pull request. `fence` grows with each judge."""

    @property
    def fence(self) -> int: ...

    def keep(self) -> None:
        """Prolong it. Called right before every outside write. Raises LeaseLost."""
        ...


class CheckRegistry(Protocol):
    """Which check run belongs to which head: one per head, for all processes."""

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """The known check run; None: ours to create now. Waits (bounded) while another process creates it.

        Raises Unavailable when that one never finished.
        """
        ...

    def opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None: ...

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        """Give up our claim, if it is still ours: it was not created, and the next who claims it may try."""
        ...

    def concluded(self, pull: PullRef, head_sha: Sha) -> None: ...

    def open_checks(self, pull: PullRef) -> Mapping[Sha, CheckRunId]:
        """The checks of this pull request that were opened and not concluded yet."""
        ...

    def begun(self, pull: PullRef) -> tuple[Sha, ...]:
        """The heads whose check run somebody claimed, and of which nobody said yet that it was opened or concluded."""
        ...

    def newest(self, pull: PullRef) -> Sha | None:
        """The head that the newest event named."""
        ...


class Desk(Protocol):
    """GitHub's side of a command: who may give it, and the sign that it was seen. Raises as PullSource does."""

    def may_command(self, ask: Ask) -> bool:
        """Whether the author of the comment has write permission, by GitHub's own answer."""
        ...

    def react(self, ask: Ask, content: str) -> None:
        """Leave a reaction (`eyes`: taken, `-1`: refused) at the comment; the same again changes nothing."""
        ...


class Archive(Protocol):
    """What verdicts were made from, and how, encrypted at rest and kept for a while."""

    def keep(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Keep them beside this entry of the ledger, which follows. Raises LeaseLost."""
        ...


class Vault(Protocol):
    """Small secrets that all processes share, encrypted at rest: GitHub's installation tokens."""

    def get(self, name: str) -> bytes | None:
        """What was put; None when it is not there or too old."""
        ...

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None: ...
