"""What the stages need from outside, as Protocols; adapters turn errors of SDKs into `worker.errors`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.check_run import CheckContent
from worker.domain.check.overrides import HumanDecisions
from worker.domain.check.shared_head import CommitRef, SharedHeadState, SharedHeadView
from worker.domain.codeowners import Owner
from worker.domain.config.command_permissions import Role
from worker.domain.dossier.dossier import ConfigOrigin, Dossier, LookupRequest, LookupResult
from worker.domain.ids import BaseHash, CheckRunId, InstallationId, RepositoryName, Sha
from worker.domain.request.judge_request import CommandRequest, JudgeRequest, JudgingPlan, PullRef, ReviewRef, Trigger
from worker.domain.request.pull_request_events import PullRequestEvent
from worker.domain.value import Value
from worker.domain.verdict.audit import AuditRecord
from worker.domain.verdict.budget import Bill, CapLevel, Density, Reservation
from worker.domain.verdict.events import EvaluationStarted, Event
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
        """Everything the source knows about the pull request's newest head; what it can't know is left unset.

        Raises Gone (deleted, closed, uninstalled), RateLimited, Unavailable, Forbidden.
        """
        ...

    def head_sha(self, request: JudgeRequest) -> Sha:
        """The newest head right now. Raises as `dossier` does; Gone also when it was closed."""
        ...


TreeLookup = Callable[[JudgeRequest, Dossier, LookupRequest], LookupResult]
"""Searches the dossier's head tree for functions and files. What can't be looked up is left out. Raises as PullSource does."""

Fence = Callable[[], object]
"""Asked right before each request that writes, sent again or not. It is not sent where this raises LeaseLost (a group: Unsettled)."""


class CheckPublisher(Protocol):
    """GitHub's check runs, which nobody writes without a fence."""

    def with_fence(self, fence: Fence) -> "CheckRuns": ...


class CheckRuns(Protocol):
    """GitHub's check runs, as they may be written under one fence. Raises what that raises, and as PullSource does."""

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create the check run of this head, or take the one that is there: never two. Where *content* gives way, its end stays."""
        ...

    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """As `create`, where it is known that nobody began to before: looks for ours only after a lost answer."""
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


class ModelReply(Value):
    """What came back, billed. `cost_usd` is None where the price is not known; `near_cap`: a cap that is almost reached.

    `lost_usd`: what tries before it may have cost, whose answers were lost.
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

    One that is asked for reserved money only (`worker.adapters.anthropic.budgeted_model`) also raises BudgetReached.
    """

    @property
    def name(self) -> str: ...

    @property
    def pricing_version(self) -> str | None: ...

    def ask(self, prompt: Prompt) -> ModelReply: ...


class ModelBudget(Protocol):
    """The money for models. All of it may be called twice; raises Unavailable."""

    def density(self, pull: PullRef, model: str) -> Density:
        """How dense this installation's prompts have been."""
        ...

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Set money aside; the same *name* again changes nothing.

        Raises BudgetReached, and LeaseLost where nothing is on record of the pull request any more.
        """
        ...

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back what was not spent, once. The fuller of the caps that are almost reached, if one is."""
        ...


EntryWithEvents = tuple[LedgerEntry, Sequence[Event]]
"""An entry, and what is told of it."""


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
        """Append once (the same eval_id again changes nothing), and tell of it; with its children *child_entries* it, or none of it.

        Raises LeaseLost when another judge took over.
        """
        ...


class EvaluationEvents(Protocol):
    """What happened. All of it may be called twice; raises Unavailable."""

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        """Tell that an evaluation began. It ends with its entry in the ledger, or by `record_ended`. Raises LeaseLost."""
        ...

    def record_ended(self, pull: PullRef, event: Event) -> bool:
        """End an evaluation that comes to no entry. False: it had ended before."""
        ...


class Lease(Protocol):
    """The right to judge one pull request. `fence` grows with each judge."""

    @property
    def fence(self) -> int: ...

    def renew(self) -> Trigger | None:
        """Prolong it, right before every outside write. What was told since it began that has a verdict count no more. Raises LeaseLost."""
        ...


class OutdatedCheckRun(Value):
    """A check run that says what counts no more: `trigger`; None: it was cancelled before this was the newest head again."""

    check: CheckRunId
    trigger: Trigger | None


class CheckRegistry(Protocol):
    """Which check run belongs to which head: one per head, for all processes."""

    def claim(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """The known check run; None: ours to create now. Waits (bounded) while another process creates it.

        Raises Unavailable when that one never finished.
        """
        ...

    def is_claim_held(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether it is still ours to create: who took too long over it may have been followed by somebody else."""
        ...

    def is_first(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether our claim was the first one ever of this head, so that there can be no check run yet."""
        ...

    def record_opened(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> None: ...

    def record_waiting(
        self, pull: PullRef, head_sha: Sha, check: CheckRunId, *, is_watched: bool, is_deferred: bool = False
    ) -> None:
        """It is there, and says that judging has not begun, or can't go on. Not *is_watched*: for as long as it takes."""
        ...

    def is_waiting(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether that is still so."""
        ...

    def find_outdated(self, pull: PullRef, head_sha: Sha) -> OutdatedCheckRun | None:
        """The check run of the newest head, if it is concluded by what counts no more; it rests from then on.

        One that is being judged, or was reopened for that, is none.
        """
        ...

    def record_still_waiting(self, pull: PullRef, head_sha: Sha, check: CheckRunId, content: CheckContent) -> bool:
        """Note that it says this, which is not concluded; False, and nothing is noted: somebody judges it by now."""
        ...

    def is_deferred(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether it says until when it can't be judged."""
        ...

    def is_announced(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether one that rests says when judging begins: it is watched, and not put off."""
        ...

    def release(self, pull: PullRef, head_sha: Sha) -> None:
        """Give up our claim, if it is still ours: it was not created, and the next who claims it may try."""
        ...

    def mark_unwritable(self, pull: PullRef, head_sha: Sha) -> None:
        """GitHub lets nobody write its check run: what that says is not known, and who claims it looks for it first."""
        ...

    def record_concluded(self, pull: PullRef, head_sha: Sha, check: CheckRunId | None = None) -> bool:
        """It has its conclusion; False: the watchdog closed it, or was about to, since it was opened last.

        *check*: which one it is, where that may not be known yet.
        """
        ...

    def mark_expiring(self, pull: PullRef, head_sha: Sha) -> None:
        """It is about to be written to by nobody who judges: who concludes it meanwhile writes his words once more."""
        ...

    def record_expired(self, pull: PullRef, head_sha: Sha, check: CheckRunId) -> bool:
        """It was closed as overdue. False: by then it was open no more, and what is noted of it stands."""
        ...

    def open_checks(self, pull: PullRef) -> Mapping[Sha, CheckRunId]:
        """The checks of this pull request that were opened and not concluded yet."""
        ...

    def list_unfinished_heads(self, pull: PullRef) -> tuple[Sha, ...]:
        """The heads whose check run somebody claimed, and of which nobody said yet that it was opened or concluded."""
        ...

    def newest_head(self, pull: PullRef) -> Sha | None:
        """The head that the newest event named."""
        ...


class ReopenedChecks(CheckRegistry, Protocol):
    """Check runs that are written to without a lease: for each a mark says so until the write is over."""

    def find_check_run(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None:
        """The check run of this head, if there is one."""
        ...

    def has_check_run(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether this head has its check run, or is about to get it."""
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

    def record_outdated(self, pull: PullRef) -> None:
        """Note that the check run says that its verdict is outdated."""
        ...


class JudgeRequests(Protocol):
    """The newest request to judge each pull request, and when judging begins. May be called twice; raises Unavailable."""

    def request_judging(self, request: JudgeRequest) -> object:
        """Request a judging."""
        ...

    def withdraw(self, request: JudgeRequest) -> bool:
        """Withdraw this request. False: a newer one came, or it is being judged."""
        ...

    def find_plan(self, pull: PullRef) -> JudgingPlan | None:
        """When judging begins; None: nothing is due."""
        ...

    def find_request(self, pull: PullRef) -> JudgeRequest | None:
        """The newest request of a pull request."""
        ...

    def record_initial_head(self, pull: PullRef, head_sha: Sha) -> None:
        """Note the head at which a pull request was found that is older than the installation."""
        ...

    def find_initial_head(self, pull: PullRef) -> Sha | None:
        """The head that was noted last."""
        ...


class SharedHeads(Protocol):
    """Check runs of pull requests that share a head. May be called twice; raises Unavailable."""

    def find_state(self, commit: CommitRef) -> SharedHeadState:
        """The pull requests of this head, and a version of that."""
        ...

    def own_content(self, commit: CommitRef, number: int) -> CheckContent:
        """What the check run of one pull request says by itself."""
        ...

    def mark_updating(self, commit: CommitRef, number: int) -> None:
        """Note that a check run is about to be written: what it shows is not known until `record_shown`."""
        ...

    def record_shown(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        """Note what a check run shows since that version."""
        ...

    def leave(self, pull: PullRef, commit: CommitRef | None = None) -> None:
        """Remove a pull request from this head, or from the one it had last."""
        ...

    def close_version(self, commit: CommitRef, version: int) -> bool:
        """Close the head for this version. False: there is a newer version."""
        ...


class DecisionStore(Protocol):
    """What people decided about heads, and who was asked for a review. May be called twice; raises Unavailable."""

    def find_decisions(self, pull: PullRef, head_sha: Sha) -> HumanDecisions:
        """What people decided about this head."""
        ...

    def record_judged(self, pull: PullRef, head_sha: Sha, decisions: HumanDecisions) -> None:
        """Note that a judging answered these requests."""
        ...

    def find_requested_reviewers(self, pull: PullRef) -> tuple[str, ...] | None:
        """Who was asked to review this pull request; None: the question is still open."""
        ...

    def record_requested_reviewers(self, pull: PullRef, names: tuple[str, ...]) -> None:
        """Note who was asked."""
        ...

    def is_labelled(self, pull: PullRef) -> bool:
        """Whether this pull request was given the label of its repository."""
        ...

    def record_labelled(self, pull: PullRef) -> None:
        """Note that it was."""
        ...


class CommandQueue(Protocol):
    """Commands from comments and reviews. May be called twice; raises Unavailable."""

    def put(self, command: CommandRequest) -> object:
        """Enqueue a command; the same delivery again changes nothing."""
        ...


class PullRequestEventQueue(Protocol):
    """Pull request events. May be called twice; raises Unavailable."""

    def put(self, happening: PullRequestEvent) -> object:
        """Enqueue an event; the same delivery again changes nothing."""
        ...


class SharedHeadMembers(Protocol):
    """Pull requests of one commit, and what each one's check says by itself. May be called twice; raises Unavailable."""

    def record_content(self, pull: PullRef, head_sha: Sha, content: CheckContent) -> SharedHeadView:
        """Note what this one's is about to say, and see what it is said beside."""
        ...

    def record_written(self, pull: PullRef, head_sha: Sha, version: int, content: CheckContent) -> None:
        """GitHub was told this, as things were in that version; where they changed meanwhile, somebody looks again."""
        ...

    def rejoin(self, pull: PullRef, head_sha: Sha) -> None:
        """This head, where its check said something before, is its newest one again."""
        ...

    def leave(self, pull: PullRef) -> None:
        """This one is closed: it counts no more where its check said anything last."""
        ...


class CurrentPull(Value):
    """A pull request as it is right now: who opened it, and its newest commit."""

    author: str
    head_sha: Sha
    is_open: bool


class CommandApi(Protocol):
    """GitHub's side of a command: who gives it, and what they are told. Raises as PullSource does."""

    def role(self, ask: CommandRequest) -> Role:
        """What the author of the comment may do in this repository, by GitHub's own answer."""
        ...

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        """Whether no other account may maintain or administer this repository."""
        ...

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        """The pull request that it is about."""
        ...

    def react(self, ask: CommandRequest, sign: str) -> None:
        """Leave a reaction (`eyes`: taken, `-1`: refused) at the comment; the same again changes nothing.

        It may be in a review's own text. A button has no comment. Where GitHub does not let us, or we are not to, nothing is left.
        """
        ...

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        """Write a comment of our own; whether it was written: GitHub may not let us, and we may not be to."""
        ...


class SubmittedReview(Value):
    """What somebody's newest review that decides anything says, and about which commit."""

    review: ReviewRef
    head_sha: Sha
    is_approved: bool
    at: datetime


class Reviewers(Protocol):
    """GitHub's side of asking people to look at a pull request. Raises as PullSource does."""

    def list_reviews(self, request: JudgeRequest) -> tuple[SubmittedReview, ...]:
        """What those people who may write here said of it already, in the order in which they did."""
        ...

    def read_codeowners(self, pull: PullRef, repository: RepositoryName, base_sha: Sha) -> str | None:
        """The CODEOWNERS file at this commit; None: there is none."""
        ...

    def request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        """Ask for their review; who was asked, since GitHub refuses some: who has no access here, and the author."""
        ...

    def add_label(self, request: JudgeRequest, name: str) -> None:
        """Put this label on the pull request; the same again changes nothing."""
        ...


class RateLimit(Value):
    """How many requests are left until *reset_at*."""

    remaining: int
    reset_at: datetime


class RateLimits(Protocol):
    """What GitHub said last of rate limits, shared by all processes. May be called twice; raises Unavailable."""

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        """By GitHub's name of the budget (`core`, `graphql`); those of which nobody noted anything are left out."""
        ...

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None: ...


class PostedComment(Value):
    """A comment, by its number and by what GraphQL calls it."""

    id: int
    node_id: str | None = None


class PullHead(Value):
    """The newest commit of a pull request, and whether that is open."""

    head_sha: Sha
    is_open: bool


class Comments(Protocol):
    """Comments of ours in a pull request's conversation. Raises as PullSource does."""

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment: ...

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment: ...

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        """Change it, and see in the same answer where this pull request stands; None: the answer does not say."""
        ...

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        """The comment that ends in this mark."""
        ...


class CommentRecords(Protocol):
    """What is known of the one comment at each pull request. May be called twice; raises Unavailable."""

    def find_record(self, pull: PullRef) -> CommentRecord | None: ...

    def put(self, pull: PullRef, record: CommentRecord) -> None: ...


class Archive(Protocol):
    """What verdicts were made from, and how, encrypted at rest and kept for a while."""

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        """Keep them beside this entry of the ledger, which follows. Raises LeaseLost."""
        ...


class Vault(Protocol):
    """Small secrets that all processes share, encrypted at rest: GitHub's installation tokens."""

    def get(self, name: str) -> bytes | None:
        """What was put; None when it is not there or too old."""
        ...

    def put(self, name: str, secret: bytes, ttl: timedelta) -> None: ...


class LastGoodConfigs(Protocol):
    """The last `.github/assay.yml` of each repository that could be used, by base. May be called twice; raises Unavailable."""

    def exchange(
        self, pull: PullRef, base: BaseHash, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Keep the good ones, forget what is in neither, and get the last good ones of the broken. *base*: where they were read."""
        ...

    def store_quiet_window(self, pull: PullRef, base: BaseHash, quiet_window: float | None) -> None:
        """How many seconds pull requests into this base stay quiet after a push; None: as long as the operator says."""
        ...
