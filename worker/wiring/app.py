"""Compose what a process needs to act as the App: judging, commands, merge groups, reconciling.

All clients are created per opening, since a forked job must not share its parent's connections.
"""

import contextlib
import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib import import_module
from typing import Final

from worker.adapters.github.checks import GitHubChecks, GitHubPublishedRuns, GitHubScans
from worker.adapters.github.client import AppAccess, GitHubApi, app_access, ask_as_app
from worker.adapters.github.collaborators import GitHubCommandApi, GitHubComments, GitHubReactions, GitHubReviewers
from worker.adapters.github.installations import (
    GitHubDeliveries,
    GitHubListing,
    GitHubRepositories,
    list_installation_pages,
)
from worker.adapters.github.merge_groups import GitHubMergeGroups, GroupPullSource, group_external_id
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.adapters.redis.cells import has_move, is_resident
from worker.adapters.redis.records import RedisProgress
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.check.shared_head import CommitRef
from worker.domain.config.github_app import OptIn
from worker.domain.dossier import Dossier
from worker.domain.github_events import DeliveryAttempt, MergeGroup, PullRequestEvent, RepositoryAdded
from worker.domain.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.lifecycle.judging import JudgingOutcome
from worker.domain.lifecycle.work import DuePullRequest, GroupLease, PendingGroup, QueuedDelivery
from worker.domain.metrics import EventCount
from worker.domain.model import CheckRunId, EvalId, InstallationId, Sha, build_models
from worker.domain.pattern import compile_patterns
from worker.domain.ports import CheckPublisher, Clock, Comments, Fence, Lease, Reviewers
from worker.dossier.config import config_of
from worker.errors import RubricRefused
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric
from worker.process import SystemClock
from worker.publishing.check_runs import CheckRunService, CheckStatusReporter, SharedHeadSync, no_lease
from worker.publishing.follow_ups import (
    AuthorCommentPublisher,
    EarlyAuthorComment,
    SarifUploader,
    comment_job_for,
    refusal_for,
    scan_job_for,
)
from worker.publishing.initial_status import CONTINUE_AFTER, InitialStatus
from worker.publishing.review_requests import CodeOwnership, ReviewRequests
from worker.scheduling.commands import CommandHandler, request_for_command
from worker.scheduling.jobs import count_event
from worker.scheduling.merge_queue import GroupTerms, MergeGroupHandler
from worker.scheduling.outcomes import CommentReactions, OutcomeRecorder, ReactionRecorder, WholePullRequestJudge
from worker.scheduling.pipeline import (
    CiWaitPolicy,
    JudgingDependencies,
    NullStatusReporter,
    SpendingPolicy,
    assemble,
    judge_pull_request,
)
from worker.scheduling.ports import Subject
from worker.scheduling.queue import JudgeQueue
from worker.scheduling.reconcile import DeliveryConfirmation, MissedDeliveries, OpenPullSweep, ReopenedCheckSweep
from worker.scheduling.record import PreviousDossier, VerdictRecorder, VerdictStores, event_publishing
from worker.scheduling.retry import OutageRetries
from worker.settings import Settings, Timing, web_url
from worker.wiring.judge import BudgetAccount, open_judge_context, recorder_of
from worker.wiring.store import FiguresBuilder, open_figures_cache

LOG: Final = logging.getLogger(__name__)
PRELOADED_MODULES: Final = (
    "worker.adapters.redis.budget",
    "worker.adapters.redis.judging.check_runs",
    "worker.adapters.redis.documents",
    "worker.judge.llm.opinions",
    "worker.judge.outcome_scores",
)
"""What a judging imports late; loaded here, before the fork."""


@dataclass(frozen=True)
class AppContext:
    """What one process needs to judge the pull requests of the App's installations.

    All methods but `judge`, `fail_check` and `postpone` are idempotent.
    """

    settings: Settings
    store: Store
    clock: Clock
    source: GitHubPullSource
    checks: CheckPublisher
    comments: Comments
    reactions: CommentReactions
    reviewers: Reviewers
    access: AppAccess

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> JudgingOutcome:
        store, timing = self.store, self.settings.timing
        reviews = ReviewRequests(
            store.decisions,
            store.commands,
            self.reviewers,
            lambda dossier: config_of(dossier).review,
            is_silent=OptIn.COMMENTS in self.settings.declined,
        )
        status = CheckStatusReporter(
            self.source,
            self._check_service,
            lease,
            web_url(self.settings.github_api_url),
            reviews,
            partial(refusal_for, store.scan_notes),
        )
        account = BudgetAccount(store, request.pull)
        with open_judge_context(self.settings, self.settings.tier, account=account) as context:
            outcome = judge_pull_request(
                request,
                JudgingDependencies(
                    source=self.source,
                    status=status,
                    ledger=store.ledger,
                    recorder=replace(recorder_of(self.settings, store, lease), submissions=store.outcomes),
                    context=context,
                    clock=self.clock,
                    ci_wait=ci_wait_policy(timing, waiting_since),
                    outage_retries=OutageRetries(self.settings.outage_retries, timedelta(seconds=timing.outage_delay)),
                    rubric_problem=store.rubrics.refusal(context.rubric),
                    demoted_signals=store.demotions.signals(request.pull.installation_id),
                    authors=self.settings.authors,
                    configs=store.configs,
                    human_decisions=reviews.decisions_for,
                    look_up=self.source.look_up,
                    author_notifier=EarlyAuthorComment(self._author_comments(), store.comment_jobs.is_waiting),
                    may_spend=SpendingPolicy(store.decisions, self.source.may_write).is_allowed,
                    find_dossier=store.archive.find,
                ),
            )
        reviews.record_outcome(request, outcome, store.pull_request_events)
        if comment := comment_job_for(request, outcome):
            store.comment_jobs.put(comment)
        if scan := scan_job_for(request, outcome):
            store.scans.put(scan)
        return outcome

    def fail_check(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        """Report on the pull request's unfinished checks that judging failed, and why."""
        lease.renew()
        self._check_service(lease.renew).fail(request, reason)

    def postpone(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None:
        """Report on the pull request's unfinished checks until when GitHub can't be asked."""
        lease.renew()
        self._check_service(lease.renew).postpone(request, until, is_away=is_away)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._initial_status().open(request, head_sha)

    def show_repository_added(self, added: RepositoryAdded) -> None:
        """Give the pull requests that were open before Assay was installed their neutral check run."""
        if not self._initial_status().show_repository_added(added):
            self.store.added_repositories.continue_later(added, CONTINUE_AFTER)

    def sync_shared_head(self, commit: CommitRef) -> None:
        """Show the strictest status of all open pull requests with this head on each of them."""
        store = self.store
        SharedHeadSync(store.shared_heads, self.checks, store.checks(), store.pulls, self.source).sync(commit)

    def close_expired_check(self, subject: Subject, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that passed its deadline, unless it was concluded meanwhile."""
        if isinstance(subject, MergeGroup):
            self._merge_groups().expire(subject, check)
        else:
            self._initial_status().expire(subject, head_sha, check)

    def confirm_delivery(self, queued: QueuedDelivery) -> None:
        """Let a delivery of unknown order count with the head and base that GitHub shows."""
        pause = timedelta(seconds=self.settings.timing.gather)
        deliveries, current = self.store.unconfirmed, GitHubListing(self.access)
        DeliveryConfirmation(current, deliveries, self.clock, pause).confirm(queued)

    def answer_command(self, command: CommandRequest) -> None:
        """Execute a command if its author may give it, and answer."""

        def dossier_of(command: CommandRequest, eval_id: EvalId) -> Dossier:
            request = request_for_command(command, Trigger.COMMAND, command.asked_at)
            return self.store.archive.find(eval_id) or self.source.dossier(request)

        owners = CodeOwnership(self.reviewers, self.store.ledger, dossier_of)
        api = GitHubCommandApi(self.access, self.settings.declined)
        CommandHandler(api, self.store, self.clock, owners.find_owned_base).answer(command)

    def record_outcomes(self, event: PullRequestEvent) -> None:
        """Record every outcome that an event at a pull request is."""
        store = self.store
        try:
            ReactionRecorder(self.reactions, store.author_comments, store.ledger, store.outcomes).record(event)
        finally:  # a merge is recorded even where reactions can't be read
            OutcomeRecorder(store.outcomes, store.ledger, store.archive).record(event)

    def judge_whole_pull_request(self, due: DuePullRequest) -> None:
        """Record the verdict on a pull request as a whole."""
        rubric = load_pull_request_rubric()
        WholePullRequestJudge(self.store.ledger, self.store.outcomes, rubric, self.clock).judge(due)

    def answer_merge_group(self, pending: PendingGroup) -> None:
        """Do what can be done about a merge group now. Idempotent."""
        self._merge_groups().answer(pending)

    def update_author_comment(self, job: CommentJob) -> None:
        """Tell a pull request's author what to do next, if that changed."""
        self._author_comments().publish(job)

    def upload_sarif(self, scan: SarifUpload) -> None:
        """Upload a verdict's SARIF, unless it was uploaded before."""
        store, uploads = self.store, GitHubScans(self.access)
        SarifUploader(uploads, store.scan_notes, store.ledger, store.archive, store.checks().newest_head).upload(scan)

    def reconcile(self) -> None:
        """Redeliver what was missed, then find heads without a state. Raises as PullSource does.

        Asks as the App itself, with the first of its keys that GitHub accepts.
        """
        ask_as_app(self.settings, self.clock, self._reconcile_with)

    def _reconcile_with(self, api: GitHubApi) -> None:
        progress = RedisProgress(self.store.client)
        published = GitHubPublishedRuns(self.access, self.settings.require_app().app_id)
        reopened = ReopenedCheckSweep(published, self.store)
        show, repositories = self._initial_status().show_preexisting, GitHubRepositories(self.access)
        sweep = OpenPullSweep(repositories, self.store, progress, self.clock, reopened, show)

        def count_passed_over(_: DeliveryAttempt) -> None:
            count_event(self.store, EventCount.PASSED_OVER)

        try:
            redelivery = MissedDeliveries(GitHubDeliveries(api), progress, self.clock, count_passed_over)
            if self.settings.cells and has_move(self.store.client):  # each delivery is requested a few times only
                LOG.warning("redeliveries postponed, an installation is moving to another cell")
            elif count := redelivery.run():
                LOG.warning("missed deliveries requested", extra={"count": count})
        finally:  # it finds what no delivery reported
            sweep.run_all(self._installations(api, progress))

    def _installations(self, api: GitHubApi, progress: RedisProgress) -> Iterator[tuple[InstallationId, datetime]]:
        """Active installations of this cell and their creation times, from where the last round stopped."""
        for page, following in list_installation_pages(api, progress.round()):
            for installation in page:
                number, settings = InstallationId(installation.id), self.settings
                if installation.suspended_at is None and (
                    not settings.cells or is_resident(self.store.client, settings.cell, number)
                ):
                    yield number, installation.created_at
            progress.goes_on(following)

    def clean_up(self) -> None:
        """Forget uninstalled installations, expired events and what is counted of them here."""
        records = self.store.records()
        for installation in self.store.uninstallations().list_due():
            records.forget_installation(installation, self.clock.now())
        for installation in records.installations():
            self.store.events.trim(installation)
        figures = open_figures_cache(self.settings, self.store)
        FiguresBuilder(self.settings, self.store, figures).run(records.installations())

    def _initial_status(self) -> InitialStatus:
        store, deadline = self.store, timedelta(seconds=self.settings.timing.check_deadline)
        service, authors = self._check_service(no_lease), self.settings.authors
        listing = GitHubListing(self.access)
        return InitialStatus(service, store.checks(), store.pulls, store.ledger, listing, self.clock, authors, deadline)

    def _author_comments(self) -> AuthorCommentPublisher:
        store, settings = self.store, self.settings
        return AuthorCommentPublisher(
            self.comments,
            store.author_comments,
            store.ledger,
            store.checks().newest_head,
            self.clock,
            settings.round_limit,
            OptIn.COMMENTS in settings.declined,
        )

    def _merge_groups(self) -> MergeGroupHandler:
        settings, store, access = self.settings, self.store, self.access
        app_id, registry = settings.require_app().app_id, store.checks()
        group_wait, site = timedelta(seconds=settings.timing.group_wait), web_url(settings.github_api_url)

        def open_check(group: MergeGroup, fence: Fence) -> CheckRunService:
            checks = GitHubChecks(access, app_id, lambda _: group_external_id(group.number))
            return CheckRunService(checks, registry, fence)

        def submit(group: MergeGroup, token: str) -> None:
            with contextlib.closing(JudgeQueue(settings)) as queue:
                queue.submit_group(group.id, token)

        return MergeGroupHandler(
            queue=store.groups,
            source=GitHubMergeGroups(access, app_id),
            open_check=open_check,
            open_judging=self._open_group_judging,
            submit=submit,
            ledger=store.ledger,
            dossiers=store.archive,
            stores=VerdictStores(store.ledger, store.archive),
            publishing=event_publishing(settings),
            clock=self.clock,
            terms=GroupTerms(group_wait, settings.retries, site),
        )

    @contextmanager
    def _open_group_judging(self, request: JudgeRequest, lease: GroupLease) -> Generator[tuple[Dossier, JudgeContext]]:
        """Judge the group as its pull request is judged: same rubric, same configuration, same budget."""
        store = self.store
        read_options = make_read_options(self.settings.require_app().app_id, self.settings.github_api_url)
        source = GroupPullSource(self.access, read_options, lease.group)
        with open_judge_context(
            self.settings, self.settings.tier, account=BudgetAccount(store, request.pull)
        ) as context:
            if refused := store.rubrics.refusal(context.rubric):
                raise RubricRefused(refused)
            deps = JudgingDependencies(
                source=source,
                status=NullStatusReporter(source),
                ledger=store.ledger,
                recorder=VerdictRecorder(store.ledger, store.archive, store.events, lease),
                context=context,
                clock=self.clock,
                ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
                demoted_signals=store.demotions.signals(request.pull.installation_id),
                configs=store.configs,
                find_dossier=store.archive.find,
            )
            yield assemble(request, deps), context

    def _check_service(self, fence: Fence) -> CheckRunService:
        site = web_url(self.settings.github_api_url)
        return CheckRunService(self.checks, self.store.checks(), fence, self.store.shared_heads, site)


def ci_wait_policy(timing: Timing, since: datetime | None) -> CiWaitPolicy:
    """How long to wait for CI: the operator's settings; a repository may choose up to the limit of required checks."""
    wait, poll, required = (
        timedelta(seconds=seconds) for seconds in (timing.ci_wait, timing.ci_poll, timing.ci_required_wait)
    )
    return CiWaitPolicy(wait, poll, since, required)


@contextmanager
def open_app(settings: Settings, store: Store) -> Generator[AppContext]:
    """Act as the App. The first opening of a process loads what later forks find loaded."""
    _preload()
    clock = SystemClock()
    with app_access(settings, store.vault, clock, store.rates) as access:
        read_options = make_read_options(settings.require_app().app_id, settings.github_api_url)
        yield AppContext(
            settings=settings,
            store=store,
            clock=clock,
            source=GitHubPullSource(access, read_options, PreviousDossier(store.ledger, store.archive)),
            checks=GitHubChecks(access, settings.require_app().app_id),
            comments=GitHubComments(access),
            reactions=GitHubReactions(access),
            reviewers=GitHubReviewers(access),
            access=access,
        )


@cache
def _preload() -> None:
    for module in PRELOADED_MODULES:
        import_module(module)
    load_ci_check_rubric()
    build_models()
    compile_patterns()
