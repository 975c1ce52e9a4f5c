"""Builds the server's adapters from Settings: what one process needs for the installations of the App.

Does not decide; who judges is composed in `worker.wiring.judge`, what a command judges with in `worker.wiring.cli`. Invariant: what is
made here is made anew, so that it may run in a forked job.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.config.app_manifest import web_url
from worker.domain.config.app_permissions import OptIn
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import CheckRunId, EvalId, Sha
from worker.domain.judging import Outcome
from worker.domain.model import build_models
from worker.domain.pattern import compile_patterns
from worker.domain.ports import CheckPublisher, Clock, Comments, Desk, Fence, Lease, Reviewers
from worker.domain.request.judge_request import Ask, JudgeRequest, Trigger
from worker.domain.request.pull_request_events import Happening
from worker.domain.value import Value, replace
from worker.evaluation.stats.rollups import open_rollups
from worker.judge.rubric import load_ci_check_rubric
from worker.scheduling.outage import Outages
from worker.scheduling.pipeline import CiPatience, Deps, judge_pull_request
from worker.settings import Settings, Timing
from worker.wiring.judge import Payer, keepers_of, open_bench

if TYPE_CHECKING:
    from worker.adapters.github.client import AppAccess
    from worker.adapters.github.listing import GitHubListing
    from worker.adapters.github.pull_requests import GitHubPullSource
    from worker.adapters.redis.merge_groups import OpenGroup, TakenGroup
    from worker.adapters.redis.outcomes import Due
    from worker.domain.check.author_comment import Letter
    from worker.domain.check.code_scanning import Scan
    from worker.domain.check.merge_group import MergeGroup
    from worker.domain.check.shared_head import Place
    from worker.domain.request.greeting import Greeting
    from worker.publishing.author_comment import Writer
    from worker.publishing.check_runs import CheckDesk
    from worker.publishing.code_scanning import Scans
    from worker.publishing.initial_status import Reception
    from worker.scheduling.reactions import Reactions
    from worker.wiring.group_court import GroupCourt

OF_JOBS: Final = (
    "worker.judge.ci_checks",
    "worker.dossier.config",
    "worker.domain.verdict.aftermath",
    "worker.dossier.criteria",
    "worker.publishing.author_comment",
    "worker.judge.opinions",
    "worker.scheduling.outcomes",
    "worker.publishing.check_runs",
    "worker.publishing.review_requests",
    "worker.publishing.code_scanning",
    "worker.scheduling.spending",
    "worker.adapters.redis.check_runs",
    "worker.adapters.redis.decisions",
    "worker.adapters.redis.outcomes",
    "worker.adapters.redis.demotions",
    "worker.adapters.redis.budget",
    "worker.adapters.redis.rubrics",
    "worker.adapters.redis.shared_heads",
)
"""What a judging on a laptop may do without."""


class Court(Value):
    """What one process needs to judge the pull requests of the App's installations."""

    settings: Settings
    store: Store
    clock: Clock
    source: "GitHubPullSource"
    checks: CheckPublisher
    desk: Desk
    comments: Comments
    reactions: "Reactions"
    reviewers: Reviewers
    scans: "Scans"
    groups: "GroupCourt"
    listing: "GitHubListing"

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> Outcome:
        from worker.dossier.config import config_of
        from worker.publishing.author_comment import Riding, letter_of
        from worker.publishing.check_runs import Beside, CheckBoard
        from worker.publishing.code_scanning import refusal_for, scan_of
        from worker.publishing.review_requests import People
        from worker.scheduling.spending import Spending

        people = People(
            self.store.decisions,
            self.store.asks,
            self.reviewers,
            lambda dossier: config_of(dossier).review,
            asks_nobody=OptIn.COMMENTS in self.settings.declined,
        )
        unscanned = partial(refusal_for, self.store.scan_notes)
        site = web_url(self.settings.github_api_url)
        timing = self.settings.timing
        payer = Payer(self.store, request.pull)
        with open_bench(self.settings, self.settings.tier, payer=payer) as bench:
            outcome = judge_pull_request(
                request,
                Deps(
                    source=self.source,
                    board=CheckBoard(self.source, self._checks_under, lease, site, Beside(people, unscanned)),
                    ledger=self.store.ledger,
                    keepers=replace(keepers_of(self.settings, self.store, lease), watch=self.store.outcomes),
                    bench=bench,
                    clock=self.clock,
                    patience=ci_patience(timing, waiting_since),
                    outages=Outages(self.settings.outage_retries, timedelta(seconds=timing.outage_delay)),
                    refused=self.store.rubrics.refusal(bench.rubric),
                    demoted=self.store.demotions.signals(request.pull.installation_id),
                    authors=self.settings.authors,
                    configs=self.store.configs,
                    said=people.said,
                    look_up=self.source.look_up,
                    author=Riding(self._writer(), self.store.letters.is_waiting),
                    may_spend=Spending(self.store.decisions, self.source.may_write).is_allowed,
                    archived=self.store.archive.find,
                ),
            )
        people.heard(request, outcome, self.store.happenings)
        if letter := letter_of(request, outcome):
            self.store.letters.put(letter)
        if scan := scan_of(request, outcome):
            self.store.scans.put(scan)
        return outcome

    def give_up(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        """Say on the pull request's unfinished checks that nobody judged, and why."""
        lease.keep()
        self._checks_under(lease.keep).fail(request, reason)

    def put_off(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None:
        """Say on the pull request's unfinished checks until when GitHub can't be asked."""
        lease.keep()
        self._checks_under(lease.keep).put_off(request, until, is_away=is_away)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._reception().open(request, head_sha)

    def greet(self, greeting: "Greeting") -> None:
        """Say on what was open before Assay came that it was. May be called again."""
        from worker.publishing.initial_status import GOES_ON

        if not self._reception().greet(greeting):
            self.store.greetings.goes_on(greeting, GOES_ON)

    def settle(self, place: "Place") -> None:
        """Have the checks of a commit say together what they should. May be called again."""
        from worker.publishing.shared_head import Settling

        Settling(self.store.siblings, self.checks, self.store.checks(), self.store.pulls, self.source).settle(place)

    def _reception(self) -> "Reception":
        from worker.publishing.check_runs import no_lease
        from worker.publishing.initial_status import Reception

        checks, deadline = self.store.checks(), timedelta(seconds=self.settings.timing.check_deadline)
        desk, operators = self._checks_under(no_lease), self.settings.authors
        return Reception(
            desk, checks, self.store.pulls, self.store.ledger, self.listing, self.clock, operators, deadline
        )

    def close_overdue(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that nobody finished in time."""
        self._reception().expire(request, head_sha, check)

    def answer(self, ask: Ask) -> None:
        """Do what somebody asks for, if they may, and let them see it. May be called again."""
        from worker.publishing.review_requests import Owning
        from worker.scheduling.commands import Clerk, request_of

        def dossier_of(ask: Ask, eval_id: EvalId) -> Dossier:
            found = self.store.archive.find(eval_id)
            return found or self.source.dossier(request_of(ask, Trigger.COMMAND, ask.asked_at))

        owning = Owning(self.reviewers, self.store.ledger, dossier_of)
        Clerk(self.desk, self.store, self.clock, owning.owns_into).answer(ask)

    def follow(self, happening: Happening) -> None:
        """Tell of every outcome that something which happened is. May be called again."""
        from worker.scheduling.outcomes import Follower
        from worker.scheduling.reactions import Listener

        try:
            Listener(self.reactions, self.store.notes, self.store.ledger, self.store.outcomes).hear(happening)
        finally:  # whether reactions can be read or not, a merge is told
            Follower(self.store.outcomes, self.store.ledger, self.store.archive).follow(happening)

    def conclude(self, due: "Due") -> None:
        """Record the verdict on a pull request as a whole. May be called again."""
        from worker.judge.rubric import load_pull_request_rubric
        from worker.scheduling.outcomes import Concluding

        rubric = load_pull_request_rubric()
        Concluding(self.store.ledger, self.store.outcomes, rubric, self.clock).conclude(due)

    def answer_group(self, opened: "OpenGroup") -> None:
        self.groups.answer(opened)

    def tell(self, letter: "Letter") -> None:
        """Tell a pull request's author what to do next, if that is news. May be called again."""
        self._writer().tell(letter)

    def scan(self, scan: "Scan") -> None:
        """Upload a verdict's SARIF, if that was not done. May be called again."""
        from worker.publishing.code_scanning import Scanner

        store = self.store
        Scanner(self.scans, store.scan_notes, store.ledger, store.archive, store.checks().newest).upload(scan)

    def close_group(self, group: "MergeGroup", check: CheckRunId) -> None:
        """Close the check of a merge group that nobody answered in time."""
        self.groups.expire(group, check)

    def judge_group(self, taken: "TakenGroup") -> None:
        self.groups.judge(taken)

    def catch_up(self) -> None:
        """See to what was missed. May be called again."""
        from worker.publishing.check_runs import no_lease
        from worker.wiring.watch_court import WatchCourt

        desk = self._checks_under(no_lease)
        WatchCourt(self.settings, self.store, self.clock, self.groups.access, desk).catch_up()

    def tidy(self) -> None:
        """Forget who uninstalled the App, events that are too old, and what is counted of those. May be called again."""
        records, rollups = self.store.records(), open_rollups(self.store)
        for installation in self.store.leaving().due():
            records.forget_installation(installation, self.clock.now())
        for installation in records.installations():
            self.store.events.trim(installation)
            rollups.trim(installation)
            rollups.catch_up(installation)

    def _writer(self) -> "Writer":
        from worker.publishing.author_comment import Writer

        newest, limit = self.store.checks().newest, self.settings.round_limit
        is_silent = OptIn.COMMENTS in self.settings.declined
        return Writer(self.comments, self.store.notes, self.store.ledger, newest, self.clock, limit, is_silent)

    def _checks_under(self, fence: Fence) -> "CheckDesk":
        from worker.publishing.check_runs import CheckDesk

        site = web_url(self.settings.github_api_url)
        return CheckDesk(self.checks, self.store.checks(), fence, self.store.siblings, site)


def ci_patience(timing: Timing, since: datetime | None) -> CiPatience:
    """The operator's patience; a repository may choose as much as required checks are waited for."""
    wait, poll, required = (timedelta(seconds=one) for one in (timing.ci_wait, timing.ci_poll, timing.ci_required_wait))
    return CiPatience(wait, poll, since, required)


@contextmanager
def open_court(settings: Settings, store: Store) -> Generator[Court]:
    """Act as the App. What one opening loads and builds, a forked job finds done; the clients are to be its own."""
    from worker.adapters.github.check_runs import GitHubChecks
    from worker.adapters.github.client import app_access
    from worker.adapters.github.code_scanning import GitHubScans
    from worker.adapters.github.comments import GitHubComments
    from worker.adapters.github.desk import GitHubDesk
    from worker.adapters.github.listing import GitHubListing
    from worker.adapters.github.reactions import GitHubReactions
    from worker.adapters.github.reviews import GitHubReviewers
    from worker.wiring.group_court import GroupCourt

    _prepare()
    clock = SystemClock()
    with app_access(settings, store.vault, clock, store.rates) as access:
        app_id = settings.require_app().app_id
        yield Court(
            settings=settings,
            store=store,
            clock=clock,
            source=github_source(settings, store, access),
            checks=GitHubChecks(access, app_id),
            desk=GitHubDesk(access, settings.declined),
            comments=GitHubComments(access),
            reactions=GitHubReactions(access),
            reviewers=GitHubReviewers(access),
            scans=GitHubScans(access),
            groups=GroupCourt(settings, store, clock, access),
            listing=GitHubListing(access),
        )


@cache
def _prepare() -> None:
    """Load and build what jobs need: once in a process, and for all that it forks."""
    for module in OF_JOBS:
        import_module(module)
    load_ci_check_rubric()
    build_models()
    compile_patterns()


def github_source(settings: Settings, store: Store, access: "AppAccess") -> "GitHubPullSource":
    from worker.adapters.github.pull_requests import GitHubPullSource, looking
    from worker.scheduling.remembering import Memory

    seen = looking(settings.require_app().app_id, settings.github_api_url)
    return GitHubPullSource(access, seen, Memory(store.ledger, store.archive))
