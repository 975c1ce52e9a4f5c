"""Builds what catches up with what was missed: `worker.wiring.app`'s part for it, in a file of its own.

Does not decide. Invariant: what is asked as the App itself goes by its first key that GitHub takes.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from worker.adapters.github.client import Api, key_api
from worker.adapters.github.deliveries import GitHubDeliveries
from worker.adapters.github.installations import pages
from worker.adapters.github.listing import GitHubListing
from worker.adapters.github.repositories import GitHubRepositories
from worker.adapters.github.shown import GitHubShown
from worker.adapters.redis.intake import Outcome
from worker.adapters.redis.metrics import Count
from worker.adapters.redis.progress import RedisProgress
from worker.adapters.redis.store import Store
from worker.domain.config.config import Authors
from worker.domain.ids import BaseMark, CheckRunId, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.ports import Clock
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.request.missed_deliveries import Sent
from worker.domain.request.open_pulls import Repository
from worker.domain.value import Value
from worker.errors import Forbidden
from worker.publishing.check_runs import CheckDesk
from worker.publishing.initial_status import of_before, was_heard_of
from worker.scheduling import metrics
from worker.scheduling.forgotten import Forgotten
from worker.scheduling.reconcile import Redelivering, Sweeping
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.adapters.github.client import AppAccess

LOG: Final = logging.getLogger(__name__)


class WatchCourt(Value):
    """What one process needs to catch up."""

    settings: Settings
    store: Store
    clock: Clock
    access: "AppAccess"
    desk: CheckDesk

    def catch_up(self) -> None:
        """Have delivered again what was missed, then look for heads without a state. Raises as PullSource does."""
        app = self.settings.require_app()
        refused = Forbidden("the App has no key")
        for key in app.private_keys:
            try:
                with key_api(self.settings, app, key, self.clock) as api:
                    self._with(api)
            except Forbidden as error:
                refused = error
            else:
                return
        raise refused

    def _with(self, api: Api) -> None:
        progress = RedisProgress(self.store.wire)
        listing, operators = GitHubListing(self.access), self.settings.authors
        heads = _Heads(self.store, self.desk, self.clock, listing, operators)
        shown = GitHubShown(self.access, self.settings.require_app().app_id)
        forgotten = Forgotten(shown, RedisEnds(self.store))
        sweeping = Sweeping(GitHubRepositories(self.access), heads, progress, self.clock, forgotten)
        try:
            self._deliver(api, progress)
        finally:  # it finds what no delivery told of
            sweeping.everywhere(_round(api, progress))

    def _deliver(self, api: Api, progress: RedisProgress) -> None:
        redelivering = Redelivering(GitHubDeliveries(api), progress, self.clock, self._passed_over)
        again = redelivering.run()
        if again:
            LOG.warning("asked for deliveries that never arrived", extra={"count": again})

    def _passed_over(self, _: Sent) -> None:
        metrics.happened(self.store, Count.PASSED_OVER)


def _round(api: Api, progress: RedisProgress) -> Iterator[tuple[InstallationId, datetime]]:
    """Installations and since when they exist, from where the last round stopped; what is suspended is left out."""
    for page, following in pages(api, progress.round()):
        yield from ((InstallationId(one.id), one.created_at) for one in page if one.suspended_at is None)
        progress.goes_on(following)


class _Heads(Value):
    store: Store
    desk: CheckDesk
    clock: Clock
    listing: GitHubListing
    operators: Authors

    def stays(self, pull: PullRef, head_sha: Sha) -> bool:
        return self.store.checks().stays(pull, head_sha) or self.store.pulls.greeted_head(pull) == head_sha

    def went_into(self, pull: PullRef, base: BaseMark) -> BaseMark:
        return self.store.pulls.went_into(pull, base)

    def was_heard_of(self, pull: PullRef, head_sha: Sha) -> bool:
        return was_heard_of(pull, head_sha, self.store.pulls, self.store.ledger)

    def to_greet(self, installation: InstallationId) -> Collection[RepositoryId]:
        return self.store.greetings.repositories(installation)

    def seen_since(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime
    ) -> Mapping[RepositoryId, datetime]:
        return self.store.arrivals.seen(installation, repositories, installed_at, self.clock.now())

    def want(self, request: JudgeRequest) -> None:
        self.store.pulls.want(request)

    def greet(self, request: JudgeRequest, head_sha: Sha) -> None:
        content = of_before(request, self.listing, self.operators)
        if content is not None:
            self.desk.open(request, head_sha, content)
            self.store.pulls.greeted(request.pull, head_sha)


class RedisEnds(Value):
    """The port Ends."""

    store: Store

    def doubt(self, pull: PullRef, head_sha: Sha) -> str:
        return self.store.checks().doubt(pull, head_sha)

    def is_as_known(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        self.store.checks().is_as_known(pull, head_sha, doubt)

    def set_right(self, request: JudgeRequest, check: CheckRunId, doubt: str) -> bool:
        """By what was asked for last, as far as we know: a verdict that answered that is shown. Of one that was greeted, by this."""
        run = doubt.partition(" ")[0]
        if self.store.pulls.request(request.pull) is not None:
            return self.store.pulls.want_for(request.pull, check, f"-{run}")
        named = DeliveryId(f"late-check-{check}-{run}")
        return self.store.pulls.want(request.model_copy(update={"delivery_id": named})).outcome is not Outcome.DUPLICATE
