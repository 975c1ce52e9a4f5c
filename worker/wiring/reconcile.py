"""Builds what catches up with what was missed: `worker.wiring.app`'s part for it, in a file of its own.

Does not decide. Invariant: what is asked as the App itself goes by its first key that GitHub takes.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from worker.adapters.github.check_runs import GitHubPublishedRuns
from worker.adapters.github.client import GitHubApi, key_api
from worker.adapters.github.installations import (
    GitHubDeliveries,
    GitHubListing,
    GitHubRepositories,
    list_installation_pages,
)
from worker.adapters.redis.intake import IntakeOutcome
from worker.adapters.redis.metrics import EventCount
from worker.adapters.redis.records import RedisProgress
from worker.adapters.redis.store import Store
from worker.domain.config.config import Authors
from worker.domain.ids import BaseHash, CheckRunId, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.ports import Clock
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.request.missed_deliveries import DeliveryAttempt
from worker.domain.request.open_pulls import Repository
from worker.domain.value import Value
from worker.errors import Forbidden
from worker.publishing.check_runs import CheckRunService
from worker.publishing.initial_status import is_known_head, preexisting_content
from worker.scheduling import metrics
from worker.scheduling.reconcile import MissedDeliveries, OpenPullSweep, ReopenedCheckSweep
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.adapters.github.client import AppAccess

LOG: Final = logging.getLogger(__name__)


class ReconcileContext(Value):
    """What one process needs to catch up."""

    settings: Settings
    store: Store
    clock: Clock
    access: "AppAccess"
    check_service: CheckRunService

    def reconcile(self) -> None:
        """Have delivered again what was missed, then look for heads without a state. Raises as PullSource does."""
        app = self.settings.require_app()
        refused = Forbidden("the App has no key")
        for key in app.private_keys:
            try:
                with key_api(self.settings, app, key, self.clock) as api:
                    self._reconcile_with(api)
            except Forbidden as error:
                refused = error
            else:
                return
        raise refused

    def _reconcile_with(self, api: GitHubApi) -> None:
        progress = RedisProgress(self.store.client)
        listing, operators = GitHubListing(self.access), self.settings.authors
        heads = _HeadStates(self.store, self.check_service, self.clock, listing, operators)
        shown = GitHubPublishedRuns(self.access, self.settings.require_app().app_id)
        forgotten = ReopenedCheckSweep(shown, RedisEndedChecks(self.store))
        sweeping = OpenPullSweep(GitHubRepositories(self.access), heads, progress, self.clock, forgotten)
        try:
            self._redeliver(api, progress)
        finally:  # it finds what no delivery told of
            sweeping.run_all(_installations(api, progress))

    def _redeliver(self, api: GitHubApi, progress: RedisProgress) -> None:
        redelivering = MissedDeliveries(GitHubDeliveries(api), progress, self.clock, self._count_passed_over)
        again = redelivering.run()
        if again:
            LOG.warning("asked for deliveries that never arrived", extra={"count": again})

    def _count_passed_over(self, _: DeliveryAttempt) -> None:
        metrics.count_event(self.store, EventCount.PASSED_OVER)


def _installations(api: GitHubApi, progress: RedisProgress) -> Iterator[tuple[InstallationId, datetime]]:
    """Installations and since when they exist, from where the last round stopped; what is suspended is left out."""
    for page, following in list_installation_pages(api, progress.round()):
        yield from (
            (InstallationId(installation.id), installation.created_at)
            for installation in page
            if installation.suspended_at is None
        )
        progress.goes_on(following)


class _HeadStates(Value):
    store: Store
    check_service: CheckRunService
    clock: Clock
    listing: GitHubListing
    operators: Authors

    def has_state(self, pull: PullRef, head_sha: Sha) -> bool:
        return self.store.checks().stays(pull, head_sha) or self.store.pulls.find_initial_head(pull) == head_sha

    def recorded_base(self, pull: PullRef, base: BaseHash) -> BaseHash:
        return self.store.pulls.record_base(pull, base)

    def is_known_head(self, pull: PullRef, head_sha: Sha) -> bool:
        return is_known_head(pull, head_sha, self.store.pulls, self.store.ledger)

    def new_repositories(self, installation: InstallationId) -> Collection[RepositoryId]:
        return self.store.added_repositories.repositories(installation)

    def visible_since(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime
    ) -> Mapping[RepositoryId, datetime]:
        return self.store.first_seen.record_seen(installation, repositories, installed_at, self.clock.now())

    def request_judging(self, request: JudgeRequest) -> None:
        self.store.pulls.request_judging(request)

    def show_preexisting(self, request: JudgeRequest, head_sha: Sha) -> None:
        content = preexisting_content(request, self.listing, self.operators)
        if content is not None:
            self.check_service.open(request, head_sha, content)
            self.store.pulls.record_initial_head(request.pull, head_sha)


class RedisEndedChecks(Value):
    """The port Ends."""

    store: Store

    def find_doubt(self, pull: PullRef, head_sha: Sha) -> str:
        return self.store.checks().doubt(pull, head_sha)

    def confirm_ended(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        self.store.checks().is_as_known(pull, head_sha, doubt)

    def requeue(self, request: JudgeRequest, check: CheckRunId, doubt: str) -> bool:
        """By what was asked for last, as far as we know: a verdict that answered that is shown. Of one that was greeted, by this."""
        run = doubt.partition(" ")[0]
        if self.store.pulls.find_request(request.pull) is not None:
            return self.store.pulls.requeue_orphaned(request.pull, check, f"-{run}")
        named = DeliveryId(f"late-check-{check}-{run}")
        return (
            self.store.pulls.request_judging(request.model_copy(update={"delivery_id": named})).outcome
            is not IntakeOutcome.DUPLICATE
        )
