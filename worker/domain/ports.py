"""What the stages need from outside, as Protocols; adapters turn errors of SDKs into `worker.errors`."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.check_run import CheckContent
from worker.domain.check.overrides import HumanDecisions
from worker.domain.check.shared_head import CommitRef, SharedHeadState
from worker.domain.codeowners import Owner
from worker.domain.config.command_permissions import Role
from worker.domain.dossier import ConfigOrigin, Dossier, LookupRequest, LookupResult
from worker.domain.judge_request import CommandRequest, JudgeRequest, JudgingPlan, PullRef, ReviewRef, Trigger
from worker.domain.lifecycle.check_runs import CheckRunState, OutdatedCheckRun
from worker.domain.model import BaseHash, CheckRunId, EvalId, InstallationId, RepositoryName, Sha
from worker.domain.verdict.audit import AuditRecord
from worker.domain.verdict.budget import Bill, CapLevel, Density, Reservation
from worker.domain.verdict.events import EvaluationStarted, Event, StreamEntry, StreamExtent
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Tokens


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC, with its zone."""
        ...

    def monotonic_ms(self) -> int: ...


class PullSource(Protocol):
    """Where pull requests come from: GitHub, a git checkout, or a recorded dossier."""

    def dossier(self, request: JudgeRequest) -> Dossier:
        """Everything the source knows about the pull request's newest head; other fields are left unset.

        Raises Gone (deleted, closed, uninstalled), RateLimited, Unavailable, Forbidden.
        """
        ...

    def head_sha(self, request: JudgeRequest) -> Sha:
        """The newest head. Raises as `dossier` does; Gone also when it was closed."""
        ...


TreeLookup = Callable[[JudgeRequest, Dossier, LookupRequest], LookupResult]
"""Searches the dossier's head tree for functions and files. A failed lookup is left out. Raises as PullSource does."""

Fence = Callable[[], object]
"""Called right before each request that writes, retries included; LeaseLost (of a group: Unsettled) keeps it from being sent."""


class CheckPublisher(Protocol):
    """GitHub's check runs, which are written under a fence only."""

    def with_fence(self, fence: Fence) -> "CheckRuns": ...


class CheckRuns(Protocol):
    """GitHub's check runs under one fence. Raises what that raises, and as PullSource does."""

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create the check run of this head, or update the existing one; a concluded one stays where *content* gives way."""
        ...

    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """As `create`, for a head whose check run was never created: searches for ours only after a lost answer."""
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


FRAMING_BYTES: Final = 1_000
"""Bytes that the server adds to a prompt: roles and a description of the schema."""


@dataclass(frozen=True)
class Prompt:
    """What goes to the model. `turns` alternate user, assistant, user ...; the corrective retry adds two.

    `reply_tokens`: the limit of the reply; None: the operator's.
    """

    system: str
    turns: tuple[str, ...]
    schema: Mapping[str, object]
    version: str
    reply_tokens: int | None = None

    @property
    def size(self) -> int:
        """Bytes that the model reads. A token has at least a byte, so this also bounds the tokens."""
        texts = (self.system, *self.turns, json.dumps(self.schema, ensure_ascii=False))
        return FRAMING_BYTES + sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


@dataclass(frozen=True)
class ModelReply:
    """The reply, billed. `cost_usd` None: the price is not known. `near_cap`: a cap that is almost reached.

    `lost_usd`: the possible cost of earlier tries whose answers were lost.
    """

    text: str
    stop: StopReason
    stop_detail: str
    tokens: Tokens
    cost_usd: Decimal | None
    request_id: str | None
    near_cap: CapLevel | None = None
    lost_usd: Decimal = Decimal(0)


class Model(Protocol):
    """One language model. Raises Unavailable when it can't be reached or answers errors, after bounded retries.

    One with a budget (`worker.adapters.anthropic`) also raises BudgetReached.
    """

    @property
    def name(self) -> str: ...

    @property
    def pricing_version(self) -> str | None: ...

    def ask(self, prompt: Prompt) -> ModelReply: ...


class ModelBudget(Protocol):
    """The money for models. Idempotent; raises Unavailable."""

    def density(self, pull: PullRef, model: str) -> Density:
        """The token density of this installation's prompts."""
        ...

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve money; the same *name* again changes nothing.

        Raises BudgetReached, and LeaseLost where the state of the pull request is gone.
        """
        ...

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Release what was not spent, once. The fuller of the caps that are almost reached, if one is."""
        ...


EntryWithEvents = tuple[LedgerEntry, Sequence[Event]]


class Ledger(Protocol):
    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        """All entries of this pull request, oldest first."""
        ...

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        """Append an entry, its *child_entries* and all their events in one transaction; the same eval_id again changes nothing.

        Raises LeaseLost when another judge took over.
        """
        ...


class EvaluationEvents(Protocol):
    """Events of evaluations. Idempotent; raises Unavailable."""

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        """Record that an evaluation started. It ends with its entry in the ledger, or by `record_ended`. Raises LeaseLost."""
        ...

    def record_ended(self, pull: PullRef, event: Event) -> bool:
        """End an evaluation without an entry. False: it had ended before."""
        ...


class EventStreams(Protocol):
    """Reads the installations' streams of events. Raises Unavailable."""

    def extent(self, installation: InstallationId) -> StreamExtent | None:
        """Which entries the stream has; None: it has none."""
        ...

    def has_entry(self, installation: InstallationId, entry_id: str) -> bool: ...

    def read(self, installation: InstallationId, after: str = "") -> Iterator[StreamEntry]:
        """Entries after *after* (all if it is empty), oldest first."""
        ...


class Lease(Protocol):
    """The right to judge one pull request. `fence` grows with each judge."""

    @property
    def fence(self) -> int: ...

    def renew(self) -> Trigger | None:
        """Renew it, right before every outside write; the trigger since its start that outdates a verdict. Raises LeaseLost."""
        ...


class CheckRegistry(Protocol):
    """Which check run belongs to which head: one per head, for all processes."""

    def find(self, pull: PullRef, head_sha: Sha) -> CheckRunState:
        """What is recorded of the check run of this head."""
        ...

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """The known check run; None: ours to create now. Waits (bounded) while another process creates it.

        Raises Unavailable when that one never finished.
        """
        ...

    def is_claim_held(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether the claim is still ours: after a timeout another process may hold it."""
        ...

    def is_first(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether our claim was the first one ever of this head, so that there can be no check run yet."""
        ...

    def record_opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None: ...

    def record_waiting(
        self, pull: PullRef, head_sha: Sha, check: CheckRunId, *, is_watched: bool, is_deferred: bool = False
    ) -> None:
        """Record that it shows that judging has not begun, or can't go on. Not *is_watched*: without a deadline."""
        ...

    def find_outdated(self, pull: PullRef, head_sha: Sha) -> OutdatedCheckRun | None:
        """The check run of the newest head, if its conclusion is outdated; it is recorded as waiting.

        One that is being judged, or was reopened for that, is none.
        """
        ...

    def record_still_waiting(self, pull: PullRef, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Record this content, which has no conclusion. False, and nothing is recorded: it is being judged."""
        ...

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        """Release our claim, if it is still ours: the check run was not created, and the next claim may create it."""
        ...

    def mark_unwritable(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that GitHub refuses writes to its check run: its content is unknown, and the next claim searches for it."""
        ...

    def record_concluded(self, pull: PullRef, head_sha: Sha, check: CheckRunId | None = None) -> bool:
        """Record its conclusion. False: the watchdog closed it, or was about to, since it was opened last.

        *check*: its id, where that may not be known yet.
        """
        ...

    def mark_expiring(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that the watchdog is about to write it: a judge that concludes it meanwhile writes it again."""
        ...

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool:
        """Record that it was closed as expired. False, and nothing is recorded: it was no longer open."""
        ...

    def open_checks(self, pull: PullRef) -> Mapping[Sha, CheckRunId]:
        """The checks of this pull request that were opened and not concluded yet."""
        ...

    def list_unfinished_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """The heads whose check run was claimed, and not yet recorded as opened or concluded."""
        ...

    def newest_head(self, pull: PullRef) -> Sha | None:
        """The head that the newest event named."""
        ...

    def mark_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        """Mark the check run of this head as being written to."""
        ...

    def clear_reopened(self, pull: PullRef, head_sha: Sha) -> None:
        """Remove that mark."""
        ...

    def list_overwritten_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """The heads whose mark a dead process left behind, or whose check run a judge wrote meanwhile."""
        ...


class JudgeRequests(Protocol):
    """The newest request to judge each pull request, and when judging begins. Idempotent; raises Unavailable."""

    def request_judging(self, request: JudgeRequest) -> object: ...

    def withdraw(self, request: JudgeRequest) -> bool:
        """Withdraw this request. False: a newer one came, or it is being judged."""
        ...

    def record_outdated(self, pull: PullRef) -> None:
        """Record that the check run shows that its verdict is outdated."""
        ...

    def find_plan(self, pull: PullRef) -> JudgingPlan | None:
        """When judging begins; None: nothing is due."""
        ...

    def find_request(self, pull: PullRef) -> JudgeRequest | None:
        """The newest request of a pull request."""
        ...

    def record_initial_head(self, pull: PullRef, head_sha: Sha) -> None:
        """Record the head of a pull request that is older than the installation."""
        ...

    def find_initial_head(self, pull: PullRef) -> Sha | None:
        """The head that was recorded last."""
        ...


class SharedHeads(Protocol):
    """Pull requests of one commit, and the content of each one's own check run. Idempotent; raises Unavailable."""

    def record_content(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadState:
        """Record what this check is about to show; the state with it."""
        ...

    def record_written(
        self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent, *, is_sync: bool = False
    ) -> None:
        """Record what was written in that version; after a change in between, the dispatcher syncs the head again."""
        ...

    def rejoin(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that an earlier head of this pull request is its newest one again."""
        ...

    def leave(self, pull: PullRef, head_sha: Sha | None = None) -> None:
        """Remove a pull request from this head, or from the one it had last."""
        ...

    def find_state(self, commit: CommitRef) -> SharedHeadState:
        """The pull requests of this head, and a version of that."""
        ...

    def own_content(self, pull: PullRef, head_sha: Sha) -> CheckContent:
        """The content of one pull request's own check run."""
        ...

    def mark_updating(self, pull: PullRef, head_sha: Sha) -> None:
        """Record that a sync is about to write a check run: its content is unknown until `record_written`."""
        ...

    def close_version(self, commit: CommitRef, version: int) -> bool:
        """Close the head for this version. False: there is a newer version."""
        ...


class DecisionStore(Protocol):
    """What people decided about heads, and who was asked for a review. Idempotent; raises Unavailable."""

    def find_decisions(self, pull: PullRef, head_sha: Sha) -> HumanDecisions:
        """What people decided about this head."""
        ...

    def record_judged(self, pull: PullRef, head_sha: Sha, decisions: HumanDecisions) -> None:
        """Record that a judging answered these requests."""
        ...

    def find_requested_reviewers(self, pull: PullRef) -> tuple[str, ...] | None:
        """Who was asked to review this pull request; None: that is still open."""
        ...

    def record_requested_reviewers(self, pull: PullRef, names: tuple[str, ...]) -> None:
        """Record who was asked."""
        ...

    def is_labelled(self, pull: PullRef) -> bool:
        """Whether this pull request got the label of its repository."""
        ...

    def record_labelled(self, pull: PullRef) -> None:
        """Record that it did."""
        ...


Queued_contra = TypeVar("Queued_contra", contravariant=True)


class DeliveryQueue(Protocol[Queued_contra]):
    """Commands, or pull request events. Raises Unavailable."""

    def put(self, queued: Queued_contra, /) -> object:
        """Enqueue it; the same delivery again changes nothing."""
        ...


@dataclass(frozen=True)
class CurrentPull:
    """A pull request now: its author, and its newest commit."""

    author: str
    head_sha: Sha
    is_open: bool


class CommandApi(Protocol):
    """GitHub's side of a command: its author, and the answer. Raises as PullSource does."""

    def role(self, ask: CommandRequest) -> Role:
        """The role of the comment's author in this repository."""
        ...

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        """Whether no other account may maintain or administer this repository."""
        ...

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        """The pull request that it is about."""
        ...

    def react(self, ask: CommandRequest, sign: str) -> None:
        """Leave a reaction (`eyes`: taken, `-1`: refused) at the comment; the same again changes nothing.

        It may be in a review's own text. A button has no comment. Where GitHub or a setting does not let us, nothing is left.
        """
        ...

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        """Write a comment of our own. False: GitHub or a setting does not let us."""
        ...


@dataclass(frozen=True)
class SubmittedReview:
    """A person's newest review that approves or requests changes, and its commit."""

    review: ReviewRef
    head_sha: Sha
    is_approved: bool
    at: datetime


class Reviewers(Protocol):
    """GitHub's side of review requests. Raises as PullSource does."""

    def list_reviews(self, request: JudgeRequest) -> tuple[SubmittedReview, ...]:
        """The reviews by people with write access, oldest first."""
        ...

    def read_codeowners(self, pull: PullRef, repository: RepositoryName, base_sha: Sha) -> str | None:
        """The CODEOWNERS file at this commit; None: there is none."""
        ...

    def request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        """Request their reviews. Returns who was asked: GitHub refuses people without access, and the author."""
        ...

    def add_label(self, request: JudgeRequest, name: str) -> None:
        """Put this label on the pull request; idempotent."""
        ...


@dataclass(frozen=True)
class RateLimit:
    """How many requests are left until *reset_at*."""

    remaining: int
    reset_at: datetime


class RateLimits(Protocol):
    """GitHub's latest rate limits, shared by all processes. Idempotent; raises Unavailable."""

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        """By GitHub's name of the resource (`core`, `graphql`); unknown ones are left out."""
        ...

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None: ...


@dataclass(frozen=True)
class PostedComment:
    """A comment: its number, and its id in GraphQL."""

    id: int
    node_id: str | None = None


@dataclass(frozen=True)
class PullHead:
    """The newest commit of a pull request, and whether that is open."""

    head_sha: Sha
    is_open: bool


class Comments(Protocol):
    """Comments of ours in a pull request's conversation. Raises as PullSource does."""

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment: ...

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment: ...

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        """Change it, and read the pull request's head in the same answer; None: the answer lacks it."""
        ...

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        """The comment that ends in this mark."""
        ...


class CommentRecords(Protocol):
    """The record of the one comment at each pull request. Idempotent; raises Unavailable."""

    def find_record(self, pull: PullRef) -> CommentRecord | None: ...

    def put(self, pull: PullRef, record: CommentRecord) -> None: ...


class DossierLookup(Protocol):
    """The dossiers of verdicts, while they are kept."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class Archive(Protocol):
    """The dossiers and audits of verdicts, encrypted at rest, with a retention."""

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Store them before this entry is appended to the ledger. Raises LeaseLost."""
        ...


class Vault(Protocol):
    """Small secrets that all processes share, encrypted at rest: GitHub's installation tokens."""

    def get(self, name: str) -> bytes | None:
        """The secret of this name; None: there is none, or it expired."""
        ...

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None: ...


class LastGoodConfigs(Protocol):
    """The last `.github/assay.yml` of each repository without a mistake, by base. Idempotent; raises Unavailable."""

    def exchange(
        self, pull: PullRef, base: BaseHash, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Store the *good* texts, delete those in neither argument, and return the last good ones of the *broken*."""
        ...

    def store_quiet_window(self, pull: PullRef, base: BaseHash, quiet_window: float | None) -> None:
        """Store the quiet window of this base in seconds; None: the operator's."""
        ...
