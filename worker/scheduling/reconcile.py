"""Reconcile with GitHub: deliveries of unknown order and missed ones, open heads without a state, and checks that are open again.

Each run is bounded in requests, and a delivery in its redeliveries. A check that Redis has as ended may be open at GitHub after a restore
from a backup: its head is compared once per run of the Redis server, while no judging is due, and requeued once per check run.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.github_events import (
    REDELIVERY_LIMIT,
    DeliveryAttempt,
    DeliveryCursor,
    OpenPull,
    OpenRepository,
    Repository,
    find_missed,
    retry_order,
)
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome, ShownPull
from worker.domain.lifecycle.work import QueuedDelivery
from worker.domain.model import DeliveryId, InstallationId, Sha
from worker.domain.ports import Clock
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable, unavailable_if_recent
from worker.judge.merge_group import PublishedCheckRun
from worker.publishing.initial_status import is_known_head, request_for_open_pull
from worker.scheduling.ports import SchedulingStore, UnconfirmedDeliveries

LOG: Final = logging.getLogger(__name__)

OVERLAP: Final = timedelta(minutes=10)
"""Overlap with the previous run, for deliveries that were in flight then."""
FIRST_LOOKBACK: Final = timedelta(hours=1)
MAX_REDELIVERIES: Final = 100
"""Redeliveries per run."""
MAX_CONSECUTIVE_FAILURES: Final = 3
"""Failures after which GitHub counts as down, and the rest waits for the next run."""
MAX_FAILED_ATTEMPTS: Final = 3
"""Failed runs after which a delivery is reported."""
MAX_PENDING: Final = 1_000
"""While this many wait, no more are listed: GitHub keeps its list for days."""
MAX_HEADS: Final = 100
"""Heads of an installation that one sweep requests."""
MAX_PAGES: Final = 3
"""Pages of a hundred repositories per sweep: at most 3 * 6 requests for repositories with few pull requests."""


class DeliveryLog(Protocol):
    """GitHub's log of deliveries. Raises as PullSource does."""

    def list_since(self, since: datetime, cursor: str | None) -> tuple[Sequence[DeliveryAttempt], str | None]:
        """One batch of attempts since then, the newest first, and the cursor to go on from."""
        ...

    def redeliver(self, sent: DeliveryAttempt) -> bool: ...


class RepositoryListing(Protocol):
    """An installation's repositories and their open pull requests. Raises as PullSource does."""

    def list_page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]: ...

    def list_open(
        self, installation: InstallationId, repositories: Sequence[Repository]
    ) -> Iterator[OpenRepository]: ...


class RedeliveryProgress(Protocol):
    """The progress of redeliveries. Idempotent; raises Unavailable."""

    def last_completed_at(self) -> datetime | None:
        """The start of the last completed run."""
        ...

    def complete(self, at: datetime) -> None: ...

    def load_position(self) -> DeliveryCursor | None:
        """The position of an incomplete run."""
        ...

    def save_position(self, position: DeliveryCursor) -> None: ...

    def pending(self) -> Sequence[DeliveryAttempt]:
        """The deliveries to request."""
        ...

    def add_pending(self, attempts: Iterable[DeliveryAttempt]) -> None: ...

    def remove_pending(self, guid: str) -> None: ...

    def mark_arrived(self, guid: str) -> None:
        """Another attempt arrived: it is not requested again."""
        ...

    def is_settled(self, guid: str, attempt: int) -> bool:
        """Whether it arrived, or was requested after this attempt or a later one."""
        ...

    def may_redeliver(self, guid: str, attempt: int) -> bool:
        """Whether this delivery has redeliveries left; the same *attempt* counts once."""
        ...


class SweepProgress(Protocol):
    """The progress of sweeps. Idempotent; raises Unavailable."""

    def next_page(self, installation: InstallationId) -> int: ...

    def set_next_page(self, installation: InstallationId, page: int) -> None: ...


@dataclass(frozen=True)
class MissedDeliveries:
    """Redelivers what never arrived. *on_passed_over*: called for a delivery that GitHub keeps failing to redeliver."""

    deliveries: DeliveryLog
    progress: RedeliveryProgress
    clock: Clock
    on_passed_over: Callable[[DeliveryAttempt], None] = lambda _: None

    def run(self) -> int:
        """Redeliver what never arrived; the number of redeliveries."""
        waiting = self.progress.pending()
        if len(waiting) < MAX_PENDING:
            self._read_missed(waiting, self.clock.now())
        return self._redeliver(sorted(self.progress.pending(), key=retry_order))

    def _read_missed(self, waiting: Iterable[DeliveryAttempt], now: datetime) -> None:
        """List one batch of what never arrived; the next run goes on from there."""
        position = self.progress.load_position()
        if position is None:
            last = self.progress.last_completed_at()
            position = DeliveryCursor(began=now, since=last - OVERLAP if last else now - FIRST_LOOKBACK)
        deliveries, cursor = self.deliveries.list_since(max(position.since, now - REDELIVERY_LIMIT), position.cursor)
        waiting_ids = {delivery.guid: delivery.id for delivery in waiting}
        for delivery in deliveries:
            if delivery.is_delivered and (delivery.is_again or delivery.guid in waiting_ids):
                self.progress.mark_arrived(delivery.guid)
        self.progress.add_pending(
            delivery
            for delivery in find_missed(deliveries, now)
            if waiting_ids.get(delivery.guid, 0) < delivery.id
            and not self.progress.is_settled(delivery.guid, delivery.id)
        )
        if cursor is None:
            self.progress.complete(position.began)
        else:
            self.progress.save_position(position.model_copy(update={"cursor": cursor}))

    def _redeliver(self, waiting: Sequence[DeliveryAttempt]) -> int:
        """Request each delivery, and drop it afterwards: a crash in between requests one of them twice."""
        asked = again = in_a_row = 0
        for delivery in waiting:
            if asked == MAX_REDELIVERIES:
                break
            if delivery.is_settled(self.clock.now()) and self.progress.may_redeliver(delivery.guid, delivery.id):
                asked += 1
                try:
                    again += self.deliveries.redeliver(delivery)
                except RateLimited:
                    raise
                except Unavailable as error:
                    in_a_row += 1
                    self._requeue_failed(delivery, error)
                    if in_a_row == MAX_CONSECUTIVE_FAILURES:
                        raise
                    continue
                in_a_row = 0
            self.progress.remove_pending(delivery.guid)
        return again

    def _requeue_failed(self, delivery: DeliveryAttempt, error: Unavailable) -> None:
        """Retry a failed redelivery after all others, until it succeeds or is too old."""
        late = delivery.model_copy(update={"failed": delivery.failed + 1})
        self.progress.add_pending((late,))
        LOG.info("redelivery postponed: %s", error, extra={"delivery_id": delivery.guid, "failed": late.failed})
        if late.failed == MAX_FAILED_ATTEMPTS:
            LOG.warning("delivery requested after the others: %s", error, extra={"delivery_id": delivery.guid})
            self.on_passed_over(late)


LOOKS_FOR: Final = 5
"""How long GitHub is asked for what a delivery announces, in pauses: its answer may lag. A sweep finds what comes later."""

MOST_DOUBLINGS: Final = 2


class CurrentPulls(Protocol):
    """Pull requests as GitHub shows them now. Raises SubjectGone for a closed one, and as PullSource does."""

    def find_shown(self, request: JudgeRequest) -> ShownPull: ...


@dataclass(frozen=True)
class DeliveryConfirmation:
    """Asks GitHub for head and base where a delivery does not follow from the known ones. `pause`: before it is asked again."""

    current: CurrentPulls
    deliveries: UnconfirmedDeliveries
    clock: Clock
    pause: timedelta

    def confirm(self, queued: QueuedDelivery) -> None:
        """Let a delivery count with the head and base that GitHub shows. Idempotent."""
        delivery, now = queued.delivery, self.clock.now()
        received_at = delivery.request.requested_at
        try:
            shown = self.current.find_shown(delivery.request)
        except SubjectGone as gone:
            if late := unavailable_if_recent("the pull request", gone, received_at, now):
                raise late from gone
            raise
        is_last = now - received_at >= self.pause * LOOKS_FOR
        outcome = self.deliveries.confirm(queued, shown, is_last=is_last)
        if outcome is IntakeOutcome.UNCONFIRMED:
            self.deliveries.postpone(delivery, timedelta(0))
        elif outcome is IntakeOutcome.LATE:
            self.deliveries.postpone(delivery, self.pause * 2 ** min(queued.attempt - 1, MOST_DOUBLINGS))


MAX_DOUBTFUL_HEADS: Final = 1_000
"""Ten requests; the rest follows in the next sweep."""


class PublishedChecks(Protocol):
    """Check runs at GitHub. Raises as PullSource does."""

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> Sequence[PublishedCheckRun | None]:
        """Assay's newest check run on each head; None: it has none, or is not the newest head."""
        ...


@dataclass(frozen=True)
class ReopenedCheckSweep:
    """Compares ended checks with what GitHub shows."""

    published: PublishedChecks
    store: SchedulingStore

    def requeue_reopened(self, installation: InstallationId, requests: Sequence[JudgeRequest]) -> int:
        """Requeue the heads whose check GitHub shows open; their number."""
        doubtful = [(request, doubt) for request in requests if (doubt := self._find_doubt(request))][
            :MAX_DOUBTFUL_HEADS
        ]
        shown = self.published.newest_runs(installation, [request for request, _ in doubtful])
        return sum(
            self._requeue_if_reopened(request, doubt, run)
            for (request, doubt), run in zip(doubtful, shown, strict=True)
        )

    def _find_doubt(self, request: JudgeRequest) -> str:
        return self.store.checks().doubt(request.pull, request.head_sha) if request.head_sha else ""

    def _requeue_if_reopened(self, request: JudgeRequest, doubt: str, run: PublishedCheckRun | None) -> bool:
        """Repeat a request whose check GitHub shows open. False: it does not, or it was repeated before."""
        head_sha = request.head_sha
        if head_sha is None or self._find_doubt(request) != doubt:
            return False  # a judge may have ended it after GitHub answered
        if run is None or run.conclusion is not None:
            self.store.checks().is_as_known(request.pull, head_sha, doubt)
            return False
        server, pulls = doubt.partition(" ")[0], self.store.pulls
        if pulls.find_request(request.pull) is not None:  # the last one, whose verdict is shown then
            return pulls.requeue_orphaned(request.pull, run.check, f"-{server}")
        delivery_id = DeliveryId(f"late-check-{run.check}-{server}")
        pulls.request_judging(request.model_copy(update={"delivery_id": delivery_id}))
        return True


@dataclass(frozen=True)
class OpenPullSweep:
    """Requests judgings of open pull requests whose head has no state, or whose base changed.

    *show_preexisting*: called for a head that precedes Assay.
    """

    listing: RepositoryListing
    store: SchedulingStore
    progress: SweepProgress
    clock: Clock
    reopened: ReopenedCheckSweep
    show_preexisting: Callable[[JudgeRequest, Sha], object]

    def run_all(self, installed: Iterable[tuple[InstallationId, datetime]]) -> None:
        """Sweep every installation, also after failures of others. Raises Unavailable if all failed."""
        failed, looked_at = list[Unavailable](), 0
        for installation, installed_at in installed:
            fields = {"installation_id": installation}
            try:
                taken = self.run(installation, installed_at)
            except Unavailable as error:
                LOG.warning("sweep failed: %s", error, extra=fields)
                failed.append(error)
                continue
            looked_at += 1
            if taken:
                LOG.warning("untracked heads queued", extra={"count": taken, **fields})
        if failed and not looked_at:
            raise failed[0]

    def run(self, installation: InstallationId, installed_at: datetime) -> int:
        """Sweep the next pages of an installation that exists since *installed_at*; the number of heads that were requested."""
        taken, number = 0, self.progress.next_page(installation)
        try:
            for _ in range(MAX_PAGES):
                repositories, has_more = self.listing.list_page(installation, number)
                since = self.store.first_seen.record_seen(installation, repositories, installed_at, self.clock.now())
                new = self.store.added_repositories.repositories(installation)
                busy = [repository for repository in repositories if repository.is_busy and repository.id not in new]
                unchanged = list[JudgeRequest]()
                for repository in self.listing.list_open(installation, busy):
                    taken += self._take_up(
                        installation, repository, since[repository.repository.id], MAX_HEADS - taken, unchanged
                    )
                taken += self.reopened.requeue_reopened(installation, unchanged)
                number = number + 1 if has_more else 1
                self.progress.set_next_page(installation, number)
                if number == 1 or taken >= MAX_HEADS:
                    break
        except (Forbidden, SubjectGone, RateLimited) as refused:
            LOG.info("sweep postponed: %s", refused, extra={"installation_id": installation})
        return taken

    def _take_up(
        self,
        installation: InstallationId,
        repository: OpenRepository,
        since: datetime,
        most: int,
        unchanged: list[JudgeRequest],
    ) -> int:
        """Request up to *most* heads of a repository; their number. Heads with a current state are added to *unchanged*."""
        taken = 0
        for open_pull in repository.pulls:
            pull = PullRef(
                installation_id=installation, repository_id=repository.repository.id, number=open_pull.number
            )
            if taken >= most:
                break
            head_sha = open_pull.head_sha  # GitHub shows it open, so `stays` renews the retention of its state
            is_known = self.store.checks().stays(pull, head_sha) or self.store.pulls.find_initial_head(pull) == head_sha
            if is_known and self.store.pulls.record_base(pull, open_pull.base) == open_pull.base:
                unchanged.append(self._request(pull, repository.repository, open_pull, Trigger.SWEEP))
                continue
            request = self._request(pull, repository.repository, open_pull, Trigger.BASE if is_known else Trigger.SWEEP)
            is_new = open_pull.opened_at >= since
            if is_known or is_new or is_known_head(pull, head_sha, self.store.pulls, self.store.ledger):
                self.store.pulls.request_judging(request)
            else:
                self.show_preexisting(request, head_sha)
            taken += 1
        return taken

    def _request(self, pull: PullRef, repository: Repository, open_pull: OpenPull, trigger: Trigger) -> JudgeRequest:
        now, head = self.clock.now(), open_pull.head_sha[:12]
        delivery_id = DeliveryId(f"swept-{pull.repository_id}-{open_pull.number}-{head}-{now:%Y%m%d%H%M}")
        return request_for_open_pull(pull, repository.name, open_pull, trigger, delivery_id, now)
