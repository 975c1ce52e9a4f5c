"""A merge group on GitHub: its pull request's head and check run, its diff, and a dossier of it.

The pull request is read by its number, not searched by the group's commit. Only check runs of our own App count.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from worker.adapters.github.client import DIFF, GitHubAccess, GitHubApi
from worker.adapters.github.errors import DiffTooLarge
from worker.adapters.github.pull_request_query import GroupMemberResponse, OwnRunResponse, PullQueries
from worker.adapters.github.pull_request_texts import PatchedDiff
from worker.adapters.github.pull_requests import MOST_READINGS, PullReader, ReadOptions
from worker.adapters.github.responses import CheckRunsPage, GraphContext, GraphPull
from worker.domain.check.check_run import CHECK_NAME, external_id
from worker.domain.check.merge_group import MergeGroup
from worker.domain.dossier import Ci, Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.judge_request import JudgeRequest
from worker.errors import SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun

PER_PAGE: Final = 100


def group_external_id(number: int) -> str:
    """External id of a group's check run; 0: the group names no credible pull request."""
    return f"group:{number}"


@dataclass(frozen=True)
class MergeGroupHead:
    """The newest commit of a pull request."""

    sha: Sha
    is_closed: bool


class GitHubMergeGroups:
    """The merge groups of the live App, whose check runs have `app_id`."""

    def __init__(self, access: GitHubAccess, looking: ReadOptions) -> None:
        self._access = access
        self._looking = looking
        self._told: dict[tuple[int, Sha], PublishedCheckRun | None] = {}

    def head(self, group: MergeGroup, number: int) -> MergeGroupHead | None:
        """The head of this pull request; None: there is none. Our check run is read in the same request."""
        self._told.clear()
        graph = PullQueries(self._api(group), group.repository, number)
        try:
            head = graph.head() if self._looking.app_id is None else graph.member(self._looking.app_id, CHECK_NAME)
        except SubjectGone:
            return None
        if isinstance(head, GroupMemberResponse) and (runs := head.own_runs()) is not None:
            with contextlib.suppress(ValueError):
                self._told[number, head.head_ref_oid] = newest_published(runs, number)
        return MergeGroupHead(head.head_ref_oid, head.state == "CLOSED")

    def published(self, group: MergeGroup, number: int, head_sha: Sha) -> PublishedCheckRun | None:
        """Our newest check run on the head of this pull request, from the answer of `head` if that was just read."""
        if (number, head_sha) in self._told:
            return self._told.pop((number, head_sha))
        path = f"/repos/{group.repository}/commits/{head_sha}/check-runs"
        runs = self._api(group).get(path, CheckRunsPage, check_name=CHECK_NAME, filter="all", per_page=PER_PAGE)
        ours = external_id(number)
        app_id = self._looking.app_id
        mine = [run for run in runs.check_runs if run.external_id == ours and run.app_id == app_id is not None]
        newest = max(mine, key=lambda run: run.id, default=None)
        if newest is None:
            return None
        conclusion = newest.conclusion if newest.status == "completed" else None
        return PublishedCheckRun(CheckRunId(newest.id), conclusion, newest.title or "")

    def diff(self, group: MergeGroup) -> str | None:
        """The group's diff against its base commit; None: GitHub can't show it."""
        try:
            return group_diff(self._api(group), group)
        except DiffTooLarge:
            return None

    def pulls(self, group: MergeGroup) -> "GroupPulls":
        """A source of GitHub's pull requests with the diff of this group."""
        return GroupPulls(self, group)

    def dossier(self, request: JudgeRequest, group: MergeGroup) -> Dossier:
        """The pull request with the diff and files of the group. Other checks are left to GitHub's own rules."""
        reading = GroupPullReading(self._api(group), request, self._looking, group)
        try:
            for _ in range(MOST_READINGS):
                if dossier := reading.dossier():
                    return at_group_commits(dossier, group)
        except DiffTooLarge as refusal:
            raise Unavailable("the merge group", str(refusal)) from refusal
        raise Unavailable("the pull request", "it is pushed to faster than it can be read")

    def _api(self, group: MergeGroup) -> GitHubApi:
        return self._access.api(group.installation_id)


def newest_published(runs: Sequence[OwnRunResponse], number: int) -> PublishedCheckRun | None:
    """The newest run of this pull request. Raises ValueError for a run whose URL does not end in its id."""
    ours = external_id(number)
    by_id = {int(run.url.partition("?")[0].rpartition("/")[2]): run for run in runs if run.external_id == ours}
    if not by_id:
        return None
    newest = max(by_id)
    run = by_id[newest]
    is_done = run.status == "COMPLETED" and run.conclusion is not None
    return PublishedCheckRun(
        CheckRunId(newest), run.conclusion.lower() if is_done and run.conclusion else None, run.title or ""
    )


@dataclass(frozen=True)
class GroupPulls:
    """A PullSource: the one pull request of a group."""

    groups: GitHubMergeGroups
    group: MergeGroup

    def dossier(self, request: JudgeRequest) -> Dossier:
        return self.groups.dossier(request, self.group)

    def head_sha(self, request: JudgeRequest) -> Sha:
        answer = self.groups.head(self.group, request.pull.number)
        if answer is None:
            raise SubjectGone("deleted")
        return answer.sha


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


def at_group_commits(dossier: Dossier, group: MergeGroup) -> Dossier:
    """The same dossier at the group's commits, without CI."""
    commits = {"head_sha": group.head_sha, "base_sha": group.base_sha, "merge_base_sha": group.base_sha}
    pull = dossier.pull_request.model_copy(update=commits)
    return dossier.model_copy(update={"pull_request": pull, "ci": None})
