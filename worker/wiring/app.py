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
from worker.domain.judging import JudgingOutcome
from worker.domain.model import build_models
from worker.domain.pattern import compile_patterns
from worker.domain.ports import CheckPublisher, Clock, CommandApi, Comments, Fence, Lease, Reviewers
from worker.domain.request.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.request.pull_request_events import PullRequestEvent
from worker.domain.value import Value, replace
from worker.evaluation.stats.rollups import open_rollups
from worker.judge.rubric import load_ci_check_rubric
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, judge_pull_request
from worker.scheduling.retry import OutageRetries
from worker.settings import Settings, Timing
from worker.wiring.judge import BudgetAccount, open_judge_context, recorder_of

if TYPE_CHECKING:
    from worker.adapters.github.client import AppAccess
    from worker.adapters.github.installations import GitHubListing
    from worker.adapters.github.pull_requests import GitHubPullSource
    from worker.adapters.redis.merge_groups import LeasedGroup, PendingGroup
    from worker.adapters.redis.outcomes import DuePullRequest
    from worker.domain.check.author_comment import CommentJob
    from worker.domain.check.code_scanning import SarifUpload
    from worker.domain.check.merge_group import MergeGroup
    from worker.domain.check.shared_head import CommitRef
    from worker.domain.request.repository_added import RepositoryAdded
    from worker.publishing.author_comment import AuthorCommentPublisher
    from worker.publishing.check_runs import CheckRunService
    from worker.publishing.code_scanning import SarifUploads
    from worker.publishing.initial_status import InitialStatus
    from worker.scheduling.outcomes import CommentReactions
    from worker.wiring.merge_group import MergeGroupContext

PRELOADED_MODULES: Final = (
    "worker.judge.ci_checks",
    "worker.dossier.config",
    "worker.domain.verdict.outcome_rubric",
    "worker.dossier.criteria",
    "worker.publishing.author_comment",
    "worker.judge.opinions",
    "worker.scheduling.outcomes",
    "worker.publishing.check_runs",
    "worker.publishing.review_requests",
    "worker.publishing.code_scanning",
    "worker.scheduling.spending",
    "worker.adapters.redis.check_runs",
    "worker.adapters.redis.documents",
    "worker.adapters.redis.outcomes",
    "worker.adapters.redis.documents",
    "worker.adapters.redis.budget",
    "worker.adapters.redis.documents",
    "worker.adapters.redis.shared_heads",
)
"""What a judging on a laptop may do without."""


class AppContext(Value):
    """What one process needs to judge the pull requests of the App's installations."""

    settings: Settings
    store: Store
    clock: Clock
    source: "GitHubPullSource"
    checks: CheckPublisher
    command_api: CommandApi
    comments: Comments
    reactions: "CommentReactions"
    reviewers: Reviewers
    scans: "SarifUploads"
    groups: "MergeGroupContext"
    listing: "GitHubListing"

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> JudgingOutcome:
        from worker.dossier.config import config_of
        from worker.publishing.author_comment import EarlyAuthorComment, comment_job_for
        from worker.publishing.check_runs import CheckExtras, CheckStatusReporter
        from worker.publishing.code_scanning import refusal_for, scan_job_for
        from worker.publishing.review_requests import ReviewRequests
        from worker.scheduling.spending import SpendingPolicy

        people = ReviewRequests(
            self.store.decisions,
            self.store.commands,
            self.reviewers,
            lambda dossier: config_of(dossier).review,
            is_silent=OptIn.COMMENTS in self.settings.declined,
        )
        unscanned = partial(refusal_for, self.store.scan_notes)
        site = web_url(self.settings.github_api_url)
        timing = self.settings.timing
        payer = BudgetAccount(self.store, request.pull)
        with open_judge_context(self.settings, self.settings.tier, payer=payer) as bench:
            outcome = judge_pull_request(
                request,
                JudgingDependencies(
                    source=self.source,
                    status=CheckStatusReporter(
                        self.source, self._check_service, lease, site, CheckExtras(people, unscanned)
                    ),
                    ledger=self.store.ledger,
                    recorder=replace(recorder_of(self.settings, self.store, lease), submissions=self.store.outcomes),
                    context=bench,
                    clock=self.clock,
                    ci_wait=ci_wait_policy(timing, waiting_since),
                    outage_retries=OutageRetries(self.settings.outage_retries, timedelta(seconds=timing.outage_delay)),
                    rubric_problem=self.store.rubrics.refusal(bench.rubric),
                    demoted_signals=self.store.demotions.signals(request.pull.installation_id),
                    authors=self.settings.authors,
                    configs=self.store.configs,
                    human_decisions=people.decisions_for,
                    look_up=self.source.look_up,
                    author_notifier=EarlyAuthorComment(self._author_comments(), self.store.comment_jobs.is_waiting),
                    may_spend=SpendingPolicy(self.store.decisions, self.source.may_write).is_allowed,
                    find_dossier=self.store.archive.find,
                ),
            )
        people.record_outcome(request, outcome, self.store.pull_request_events)
        if letter := comment_job_for(request, outcome):
            self.store.comment_jobs.put(letter)
        if scan := scan_job_for(request, outcome):
            self.store.scans.put(scan)
        return outcome

    def fail_check(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        """Say on the pull request's unfinished checks that nobody judged, and why."""
        lease.renew()
        self._check_service(lease.renew).fail(request, reason)

    def postpone(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None:
        """Say on the pull request's unfinished checks until when GitHub can't be asked."""
        lease.renew()
        self._check_service(lease.renew).postpone(request, until, is_away=is_away)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._initial_status().open(request, head_sha)

    def show_repository_added(self, greeting: "RepositoryAdded") -> None:
        """Say on what was open before Assay came that it was. May be called again."""
        from worker.publishing.initial_status import CONTINUE_AFTER

        if not self._initial_status().show_preexisting(greeting):
            self.store.added_repositories.continue_later(greeting, CONTINUE_AFTER)

    def sync_shared_head(self, commit: "CommitRef") -> None:
        """Have the checks of a commit say together what they should. May be called again."""
        from worker.publishing.shared_head import SharedHeadSync

        SharedHeadSync(self.store.shared_heads, self.checks, self.store.checks(), self.store.pulls, self.source).sync(
            commit
        )

    def _initial_status(self) -> "InitialStatus":
        from worker.publishing.check_runs import no_lease
        from worker.publishing.initial_status import InitialStatus

        checks, deadline = self.store.checks(), timedelta(seconds=self.settings.timing.check_deadline)
        desk, operators = self._check_service(no_lease), self.settings.authors
        return InitialStatus(
            desk, checks, self.store.pulls, self.store.ledger, self.listing, self.clock, operators, deadline
        )

    def close_expired_check(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that nobody finished in time."""
        self._initial_status().expire(request, head_sha, check)

    def answer_command(self, ask: CommandRequest) -> None:
        """Do what somebody asks for, if they may, and let them see it. May be called again."""
        from worker.publishing.review_requests import CodeOwnership
        from worker.scheduling.commands import CommandHandler, request_for_command

        def dossier_of(ask: CommandRequest, eval_id: EvalId) -> Dossier:
            dossier = self.store.archive.find(eval_id)
            return dossier or self.source.dossier(request_for_command(ask, Trigger.COMMAND, ask.asked_at))

        owning = CodeOwnership(self.reviewers, self.store.ledger, dossier_of)
        CommandHandler(self.command_api, self.store, self.clock, owning.find_owned_base).answer(ask)

    def record_outcomes(self, happening: PullRequestEvent) -> None:
        """Tell of every outcome that something which happened is. May be called again."""
        from worker.scheduling.outcomes import OutcomeRecorder, ReactionRecorder

        try:
            ReactionRecorder(self.reactions, self.store.author_comments, self.store.ledger, self.store.outcomes).record(
                happening
            )
        finally:  # whether reactions can be read or not, a merge is told
            OutcomeRecorder(self.store.outcomes, self.store.ledger, self.store.archive).record(happening)

    def judge_whole_pull_request(self, due: "DuePullRequest") -> None:
        """Record the verdict on a pull request as a whole. May be called again."""
        from worker.judge.rubric import load_pull_request_rubric
        from worker.scheduling.outcomes import WholePullRequestJudge

        rubric = load_pull_request_rubric()
        WholePullRequestJudge(self.store.ledger, self.store.outcomes, rubric, self.clock).judge(due)

    def answer_merge_group(self, opened: "PendingGroup") -> None:
        self.groups.answer(opened)

    def update_author_comment(self, letter: "CommentJob") -> None:
        """Tell a pull request's author what to do next, if that is news. May be called again."""
        self._author_comments().publish(letter)

    def upload_sarif(self, scan: "SarifUpload") -> None:
        """Upload a verdict's SARIF, if that was not done. May be called again."""
        from worker.publishing.code_scanning import SarifUploader

        store = self.store
        SarifUploader(self.scans, store.scan_notes, store.ledger, store.archive, store.checks().newest_head).upload(
            scan
        )

    def close_merge_group_check(self, group: "MergeGroup", check: CheckRunId) -> None:
        """Close the check of a merge group that nobody answered in time."""
        self.groups.expire(group, check)

    def judge_merge_group(self, taken: "LeasedGroup") -> None:
        self.groups.judge(taken)

    def reconcile(self) -> None:
        """See to what was missed. May be called again."""
        from worker.publishing.check_runs import no_lease
        from worker.wiring.reconcile import ReconcileContext

        desk = self._check_service(no_lease)
        ReconcileContext(self.settings, self.store, self.clock, self.groups.access, desk).reconcile()

    def clean_up(self) -> None:
        """Forget who uninstalled the App, events that are too old, and what is counted of those. May be called again."""
        records, rollups = self.store.records(), open_rollups(self.store)
        for installation in self.store.uninstallations().list_due():
            records.forget_installation(installation, self.clock.now())
        for installation in records.installations():
            self.store.events.trim(installation)
            rollups.trim(installation)
            rollups.catch_up(installation)

    def _author_comments(self) -> "AuthorCommentPublisher":
        from worker.publishing.author_comment import AuthorCommentPublisher

        newest, limit = self.store.checks().newest_head, self.settings.round_limit
        is_silent = OptIn.COMMENTS in self.settings.declined
        return AuthorCommentPublisher(
            self.comments, self.store.author_comments, self.store.ledger, newest, self.clock, limit, is_silent
        )

    def _check_service(self, fence: Fence) -> "CheckRunService":
        from worker.publishing.check_runs import CheckRunService

        site = web_url(self.settings.github_api_url)
        return CheckRunService(self.checks, self.store.checks(), fence, self.store.shared_heads, site)


def ci_wait_policy(timing: Timing, since: datetime | None) -> CiWaitPolicy:
    """The operator's patience; a repository may choose as much as required checks are waited for."""
    wait, poll, required = (
        timedelta(seconds=seconds) for seconds in (timing.ci_wait, timing.ci_poll, timing.ci_required_wait)
    )
    return CiWaitPolicy(wait, poll, since, required)


@contextmanager
def open_app(settings: Settings, store: Store) -> Generator[AppContext]:
    """Act as the App. What one opening loads and builds, a forked job finds done; the clients are to be its own."""
    from worker.adapters.github.check_runs import GitHubChecks
    from worker.adapters.github.client import app_access
    from worker.adapters.github.code_scanning import GitHubScans
    from worker.adapters.github.comments import GitHubCommandApi, GitHubComments, GitHubReactions
    from worker.adapters.github.installations import GitHubListing
    from worker.adapters.github.reviews import GitHubReviewers
    from worker.wiring.merge_group import MergeGroupContext

    _prepare()
    clock = SystemClock()
    with app_access(settings, store.vault, clock, store.rates) as access:
        app_id = settings.require_app().app_id
        yield AppContext(
            settings=settings,
            store=store,
            clock=clock,
            source=github_source(settings, store, access),
            checks=GitHubChecks(access, app_id),
            command_api=GitHubCommandApi(access, settings.declined),
            comments=GitHubComments(access),
            reactions=GitHubReactions(access),
            reviewers=GitHubReviewers(access),
            scans=GitHubScans(access),
            groups=MergeGroupContext(settings, store, clock, access),
            listing=GitHubListing(access),
        )


@cache
def _prepare() -> None:
    """Load and build what jobs need: once in a process, and for all that it forks."""
    for module in PRELOADED_MODULES:
        import_module(module)
    load_ci_check_rubric()
    build_models()
    compile_patterns()


def github_source(settings: Settings, store: Store, access: "AppAccess") -> "GitHubPullSource":
    from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
    from worker.scheduling.record import PreviousDossier

    seen = make_read_options(settings.require_app().app_id, settings.github_api_url)
    return GitHubPullSource(access, seen, PreviousDossier(store.ledger, store.archive))
