"""What our check runs say on the heads of many pull requests, in few requests.

Does not decide. Invariant: one request for each hundred; all of them wait while pull requests need what is left.
"""

from collections.abc import Sequence
from typing import Final

from worker.adapters.github.client import GitHubAccess, GitHubApi
from worker.adapters.github.merge_groups import newest_published
from worker.adapters.github.pull_request_query import GroupMemberResponse
from worker.adapters.github.queries import MEMBER_FRAGMENT
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.repositories import RepositoriesQueryResponse
from worker.adapters.github.responses import GraphResponse
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import JudgeRequest
from worker.judge.merge_group import PublishedCheckRun

PULLS_PER_QUERY: Final = 100
"""GitHub counts 12 points for as many, of 5,000 an hour."""


class OwnRunsResponse(GraphResponse):
    pull_request: GroupMemberResponse | None = None


class GitHubPublishedRuns:
    """The look of the live App, whose App id is `app_id`. Raises as PullSource does."""

    def __init__(self, access: GitHubAccess, app_id: int) -> None:
        self._access = access
        self._app_id = app_id

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> list[PublishedCheckRun | None]:
        """Our newest run for each pull request on this head; None: there is none, or GitHub shows another head."""
        api, runs = self._access.api(installation), list[PublishedCheckRun | None]()
        for start in range(0, len(asked), PULLS_PER_QUERY):
            runs += self._some(api, asked[start : start + PULLS_PER_QUERY])
        return runs

    def _some(self, api: GitHubApi, asked: Sequence[JudgeRequest]) -> list[PublishedCheckRun | None]:
        parameters, fields = ["$app: Int!", "$check: String!"], list[str]()
        variables: dict[str, object] = {"app": self._app_id, "check": CHECK_NAME}
        for at, number in enumerate(asked):
            owner, _, name = number.repository.partition("/")
            variables |= {f"owner_{at}": owner, f"name_{at}": name, f"number_{at}": number.pull.number}
            parameters += [f"$owner_{at}: String!", f"$name_{at}: String!", f"$number_{at}: Int!"]
            fields.append(
                f"pull_{at}: repository(owner: $owner_{at}, name: $name_{at}) "
                f"{{ pullRequest(number: $number_{at}) {{ ...member }} }}"
            )
        document = f"query AssayShown({', '.join(parameters)}) {{ {' '.join(fields)} }}{MEMBER_FRAGMENT}"
        answer = api.query(document, variables, RepositoriesQueryResponse, RequestPriority.SWEEP).model_extra or {}
        return [
            _published_of(number, OwnRunsResponse.model_validate(answer.get(f"pull_{at}") or {}))
            for at, number in enumerate(asked)
        ]


def _published_of(request: JudgeRequest, here: OwnRunsResponse) -> PublishedCheckRun | None:
    pull = here.pull_request
    if pull is None or pull.head_ref_oid != request.head_sha:
        return None
    return newest_published(pull.own_runs() or (), request.pull.number)
