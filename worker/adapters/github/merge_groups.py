"""A merge group as GitHub tells of it: where its pull request stands now, what it changes, and a dossier of it.

Does not decide. Invariant: the pull request is asked for by its number, never looked for through the group's commit; and of
its check runs only our own App's counts, whatever others call theirs.
"""

import contextlib
from collections.abc import Sequence
from typing import Final

from worker.adapters.github.client import DIFF, GitHubAccess, GitHubApi
from worker.adapters.github.errors import DiffTooLarge
from worker.adapters.github.pull_request_query import GroupMemberResponse, OwnRunResponse, PullQueries
from worker.adapters.github.pull_request_texts import PatchedDiff
from worker.adapters.github.pull_requests import MOST_READINGS, PullReader, ReadOptions
from worker.adapters.github.responses import CheckRunsPage, GraphContext, GraphPull
from worker.domain.check.check_run import CHECK_NAME, external_id
from worker.domain.check.merge_group import MergeGroup
from worker.domain.dossier.dossier import Ci, Dossier
from worker.domain.ids import CheckRunId, Sha
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.value import Value
from worker.errors import SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun

PER_PAGE: Final = 100


def group_external_id(number: int) -> str:
    """What we write into the check run of a group; 0: it names no pull request that could be believed."""
    return f"group:{number}"


class MergeGroupHead(Value):
    """The newest commit of a pull request."""

    sha: Sha
    is_closed: bool


class GitHubMergeGroups:
    """What the live App may ask about merge groups. `app_id` tells our own check runs."""

    def __init__(self, access: GitHubAccess, looking: ReadOptions) -> None:
        self._access = access
        self._looking = looking
        self._told: dict[tuple[int, Sha], PublishedCheckRun | None] = {}

    def head(self, group: MergeGroup, number: int) -> MergeGroupHead | None:
        """The pull request of this number as it is now; None: there is none. Our check there is asked for in the same request."""
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
        """Our newest check run on the head of this pull request: as it was told with the head, if that was just asked for."""
        if (number, head_sha) in self._told:
            return self._told.pop((number, head_sha))
        path = f"/repos/{group.repository}/commits/{head_sha}/check-runs"
        runs = self._api(group).get(path, CheckRunsPage, check_name=CHECK_NAME, filter="all", per_page=PER_PAGE)
        ours = external_id(number)
        mine = [
            run for run in runs.check_runs if run.external_id == ours and run.app and run.app.id == self._looking.app_id
        ]
        newest = max(mine, key=lambda run: run.id, default=None)
        if newest is None:
            return None
        conclusion = newest.conclusion if newest.status == "completed" else None
        return PublishedCheckRun(CheckRunId(newest.id), conclusion, newest.output.title or "")

    def diff(self, group: MergeGroup) -> str | None:
        """What the group changes against the commit that it was put upon; None: GitHub does not show so much."""
        try:
            return group_diff(self._api(group), group)
        except DiffTooLarge:
            return None

    def pulls(self, group: MergeGroup) -> "GroupPulls":
        """The pull requests of GitHub, as this group changes them."""
        return GroupPulls(self, group)

    def dossier(self, request: JudgeRequest, group: MergeGroup) -> Dossier:
        """The pull request with the group's change and files in place of its own. Other checks are GitHub's to require."""
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
    """The newest of this pull request's. Raises ValueError where the address of a run does not end in its id."""
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


class GroupPulls(Value):
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
    """Raises DiffTooLarge."""
    path = f"/repos/{group.repository}/compare/{group.base_sha}...{group.head_sha}"
    return api.get_bytes(path, DIFF).decode("utf-8", "replace")


def at_group_commits(dossier: Dossier, group: MergeGroup) -> Dossier:
    """The same dossier, at the commits of the group, without validators' reports."""
    commits = {"head_sha": group.head_sha, "base_sha": group.base_sha, "merge_base_sha": group.base_sha}
    pull = dossier.pull_request.model_copy(update=commits)
    return dossier.model_copy(update={"pull_request": pull, "ci": None})
