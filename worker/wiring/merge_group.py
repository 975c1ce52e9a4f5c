"""Builds what answers and judges merge groups: `worker.wiring.app`'s part for them, in a file of its own.

Does not decide. Invariant: the checks of groups are known under a number that no pull request has, so that no judge of a
pull request takes them for those of an older head.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from worker.adapters.github.check_runs import GitHubChecks
from worker.adapters.github.merge_groups import GitHubMergeGroups, group_external_id
from worker.adapters.github.pull_requests import make_read_options
from worker.adapters.redis.merge_groups import LeasedGroup, PendingGroup
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent
from worker.domain.check.merge_group import MergeGroup
from worker.domain.config.app_manifest import web_url
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import CheckRunId
from worker.domain.ports import CheckPublisher, CheckRegistry, Clock, Fence
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.errors import RubricRefused
from worker.judge.context import JudgeContext
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.status import NullStatusReporter
from worker.scheduling.merge_queue import GroupJudge, GroupJudgement, GroupTerms, MergeGroupHandler
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, assemble
from worker.scheduling.queue import JudgeQueue
from worker.scheduling.record import VerdictRecorder, VerdictStores, event_publishing
from worker.settings import Settings
from worker.wiring.judge import BudgetAccount, open_judge_context

if TYPE_CHECKING:
    from worker.adapters.github.client import AppAccess

NO_PULL: Final = 0
"""The number under which the registry knows the checks of groups."""


class MergeGroupContext(Value):
    """What one process needs for the merge groups of the App's installations."""

    settings: Settings
    store: Store
    clock: Clock
    access: "AppAccess"

    def answer(self, opened: PendingGroup) -> None:
        """Do what can be done about a merge group now. May be called again."""
        self._handler().answer(opened)

    def expire(self, group: MergeGroup, check: CheckRunId) -> None:
        """Close the check of a group that nobody answered in time, unless somebody did meanwhile."""
        self._handler().expire(group, check)

    def judge(self, taken: LeasedGroup) -> None:
        """Judge a merge group that differs from what was accepted."""
        GroupJudge(
            queue=self.store.groups,
            source=self._github(),
            check=self._screen(),
            judging=self,
            ledger=self.store.ledger,
            stores=VerdictStores(self.store.ledger, self.store.archive),
            publishing=event_publishing(self.settings),
            clock=self.clock,
            site_url=self._site_url,
        ).judge(taken)

    def judge_dossier(
        self, request: JudgeRequest, taken: LeasedGroup, hold: Callable[[Dossier, JudgeContext], EvaluatedVerdict]
    ) -> GroupJudgement:
        """Have it judged as its pull request is: by the same rubric and the same configuration, out of the same purse."""
        source = self._github().pulls(taken.lease.group)
        store = self.store
        with open_judge_context(self.settings, self.settings.tier, payer=BudgetAccount(store, request.pull)) as bench:
            if refused := store.rubrics.refusal(bench.rubric):
                raise RubricRefused(refused)
            deps = JudgingDependencies(
                source=source,
                status=NullStatusReporter(source),
                ledger=store.ledger,
                recorder=VerdictRecorder(store.ledger, store.archive, store.events, taken.lease),
                context=bench,
                clock=self.clock,
                ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
                demoted_signals=store.demotions.signals(request.pull.installation_id),
                configs=store.configs,
                find_dossier=store.archive.find,
            )
            dossier = assemble(request, deps)
            return GroupJudgement(hold(dossier, bench), dossier)

    def _handler(self) -> MergeGroupHandler:
        return MergeGroupHandler(
            queue=self.store.groups,
            source=self._github(),
            check=self._screen(),
            ledger=self.store.ledger,
            dossiers=self.store.archive,
            submit=self._submit,
            clock=self.clock,
            terms=GroupTerms(timedelta(seconds=self.settings.timing.group_wait), self.settings.retries, self._site_url),
        )

    def _submit(self, group: MergeGroup, token: str) -> None:
        queue = JudgeQueue(self.settings)
        try:
            queue.submit_group(group.id, token)
        finally:
            queue.close()

    def _github(self) -> GitHubMergeGroups:
        return GitHubMergeGroups(
            self.access, make_read_options(self.settings.require_app().app_id, self.settings.github_api_url)
        )

    def _screen(self) -> "MergeGroupCheck":
        return MergeGroupCheck(self._checks, self.store.checks())

    def _checks(self, number: int) -> CheckPublisher:
        app_id = self.settings.require_app().app_id
        return GitHubChecks(self.access, app_id, lambda _: group_external_id(number))

    @property
    def _site_url(self) -> str:
        return web_url(self.settings.github_api_url)


class MergeGroupCheck(Value):
    """The one check run of each group's head. *checks* publishes those of a group that tries this pull request; 0: no matter which."""

    checks: Callable[[int], CheckPublisher]
    registry: CheckRegistry

    def show(self, group: MergeGroup, number: int, content: CheckContent, fence: Fence) -> None:
        """Write it to the check run of the group, which is made if need be."""
        CheckRunService(self.checks(number), self.registry, fence).write(_request(group), group.head_sha, content)

    def expire(self, group: MergeGroup, check: CheckRunId, content: CheckContent) -> bool:
        """Close a check run that says no end yet. False: it was concluded while this was written, perhaps over that."""
        desk = CheckRunService(self.checks(NO_PULL), self.registry, no_lease)
        return desk.expire(_request(group), group.head_sha, check, content)

    def is_open(self, group: MergeGroup) -> bool:
        """Whether a check run was made, or its making was begun, that says no end yet."""
        pull = _placeholder_pull(group)
        return group.head_sha in {*self.registry.open_checks(pull), *self.registry.list_unfinished_heads(pull)}


def _request(group: MergeGroup) -> JudgeRequest:
    return JudgeRequest(
        pull=_placeholder_pull(group),
        repository=group.repository,
        head_sha=group.head_sha,
        trigger=Trigger.PUSHED,  # its commit was made for it: where nobody claimed its check, there is none
        delivery_id=group.delivery_id,
        requested_at=group.at,
    )


def _placeholder_pull(group: MergeGroup) -> PullRef:
    return PullRef(installation_id=group.installation_id, repository_id=group.repository_id, number=NO_PULL)
