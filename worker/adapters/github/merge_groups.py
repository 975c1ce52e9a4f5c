"""A merge group on GitHub: its pull request's head and check run, its diff, and a dossier of it.

The pull request is read by its number, not searched by the group's commit. Only check runs of our own App count.
"""

from typing import Final

from worker.adapters.github.checks import newest_published
from worker.adapters.github.client import DIFF, GitHubAccess, GitHubApi
from worker.adapters.github.errors_and_rate_limits import DiffTooLarge
from worker.adapters.github.pull_request_query import PullQueries
from worker.adapters.github.pull_request_texts import PatchedDiff
from worker.adapters.github.pull_requests import GitHubPullSource, PullReader, ReadOptions
from worker.adapters.github.responses import CheckRunsPage, GraphContext, GraphPull
from worker.domain.check.check_run import CHECK_NAME, external_id
from worker.domain.dossier import Ci, Dossier
from worker.domain.github_events import MergeGroup
from worker.domain.judge_request import JudgeRequest
from worker.domain.model import CheckRunId, Sha
from worker.errors import SubjectGone, Unavailable
from worker.judge.merge_group import GroupPullRequest, PublishedCheckRun

PER_PAGE: Final = 100


def group_external_id(number: int) -> str:
    """External id of a group's check run; 0: the group names no credible pull request."""
    return f"group:{number}"


class GitHubMergeGroups:
    """The merge groups of the live App, whose check runs have `app_id`."""

    def __init__(self, access: GitHubAccess, app_id: int) -> None:
        self._access = access
        self._app_id = app_id

    def pull_request(self, group: MergeGroup) -> GroupPullRequest | None:
        """The pull request that the group tries, and our newest check run on its head; None: there is none."""
        try:
            member = PullQueries(self._api(group), group.repository, group.number).member(self._app_id, CHECK_NAME)
        except SubjectGone:
            return None
        head_sha, runs = member.head_ref_oid, member.own_runs()
        try:
            published = self._find_published(group, head_sha) if runs is None else newest_published(runs, group.number)
        except ValueError:
            published = self._find_published(group, head_sha)
        return GroupPullRequest(head_sha, member.state == "CLOSED", published)

    def _find_published(self, group: MergeGroup, head_sha: Sha) -> PublishedCheckRun | None:
        path = f"/repos/{group.repository}/commits/{head_sha}/check-runs"
        page = self._api(group).get(path, CheckRunsPage, check_name=CHECK_NAME, filter="all", per_page=PER_PAGE)
        ours = external_id(group.number)
        runs = (
            PublishedCheckRun(
                CheckRunId(run.id), run.conclusion if run.status == "completed" else None, run.title or ""
            )
            for run in page.check_runs
            if run.external_id == ours and run.app_id == self._app_id
        )
        return max(runs, key=lambda run: run.check, default=None)

    def diff(self, group: MergeGroup) -> str | None:
        """The group's diff against its base commit; None: GitHub can't show it."""
        try:
            return group_diff(self._api(group), group)
        except DiffTooLarge:
            return None

    def _api(self, group: MergeGroup) -> GitHubApi:
        return self._access.api(group.installation_id)


class GroupPullSource(GitHubPullSource):
    """A PullSource: the one pull request of a group, as the group changes it. Other checks are left to GitHub's own rules."""

    def __init__(self, access: GitHubAccess, looking: ReadOptions, group: MergeGroup) -> None:
        super().__init__(access, looking)
        self._group = group

    def open_reader(self, request: JudgeRequest) -> PullReader:
        return GroupPullReading(self._access.api(request.pull.installation_id), request, self._looking, self._group)

    def dossier(self, request: JudgeRequest) -> Dossier:
        group = self._group
        try:
            dossier = super().dossier(request)
        except DiffTooLarge as refusal:
            raise Unavailable("the merge group", str(refusal)) from refusal
        commits = {"head_sha": group.head_sha, "base_sha": group.base_sha, "merge_base_sha": group.base_sha}
        pull = dossier.pull_request.model_copy(update=commits)
        return dossier.model_copy(update={"pull_request": pull, "ci": None})


class GroupPullReading(PullReader):
    """A pull request whose change is read from its merge group."""

    def __init__(self, api: GitHubApi, request: JudgeRequest, looking: ReadOptions, group: MergeGroup) -> None:
        super().__init__(api, request, looking)
        self._group = group

    def _diff(self, pull: GraphPull) -> PatchedDiff:  # noqa: ARG002 - it is the group's
        return PatchedDiff(group_diff(self._api, self._group), ())

    def _texts_at(self, pull: GraphPull) -> Sha:  # noqa: ARG002 - as above
        return self._group.head_sha

    def _contexts(self, pull: GraphPull) -> list[GraphContext]:  # noqa: ARG002 - as above
        return []

    def _ci(self, pull: GraphPull, contexts: object, config: object) -> Ci:  # noqa: ARG002 - as above
        return Ci()


def group_diff(api: GitHubApi, group: MergeGroup) -> str:
    """The group's diff. Raises DiffTooLarge."""
    path = f"/repos/{group.repository}/compare/{group.base_sha}...{group.head_sha}"
    return api.get_bytes(path, DIFF).decode("utf-8", "replace")
