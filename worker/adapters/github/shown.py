"""What our check runs say on the heads of many pull requests, in few requests.

Does not decide. Invariant: one request for each hundred; all of them wait while pull requests need what is left.
"""

from collections.abc import Sequence
from typing import Final

from worker.adapters.github.client import Access, Api
from worker.adapters.github.merge_groups import newest_of
from worker.adapters.github.pull_request_query import Member
from worker.adapters.github.queries import MEMBER_FIELDS
from worker.adapters.github.rate_limits import Need
from worker.adapters.github.repositories import Answer
from worker.adapters.github.responses import GraphReply
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import JudgeRequest
from worker.judge.merge_group import Published

AT_ONCE: Final = 100
"""GitHub counts 12 points for as many, of 5,000 an hour."""


class Here(GraphReply):
    pull_request: Member | None = None


class GitHubShown:
    """The look of the live App, whose App id is `app_id`. Raises as PullSource does."""

    def __init__(self, access: Access, app_id: int) -> None:
        self._access = access
        self._app_id = app_id

    def shown(self, installation: InstallationId, asked: Sequence[JudgeRequest]) -> list[Published | None]:
        """Our newest run for each pull request on this head; None: there is none, or GitHub shows another head."""
        api, found = self._access.api(installation), list[Published | None]()
        for start in range(0, len(asked), AT_ONCE):
            found += self._some(api, asked[start : start + AT_ONCE])
        return found

    def _some(self, api: Api, asked: Sequence[JudgeRequest]) -> list[Published | None]:
        parameters, fields = ["$app: Int!", "$check: String!"], list[str]()
        variables: dict[str, object] = {"app": self._app_id, "check": CHECK_NAME}
        for at, one in enumerate(asked):
            owner, _, name = one.repository.partition("/")
            variables |= {f"owner_{at}": owner, f"name_{at}": name, f"number_{at}": one.pull.number}
            parameters += [f"$owner_{at}: String!", f"$name_{at}: String!", f"$number_{at}: Int!"]
            fields.append(
                f"pull_{at}: repository(owner: $owner_{at}, name: $name_{at}) "
                f"{{ pullRequest(number: $number_{at}) {{ ...member }} }}"
            )
        document = f"query AssayShown({', '.join(parameters)}) {{ {' '.join(fields)} }}{MEMBER_FIELDS}"
        answer = api.query(document, variables, Answer, Need.SWEEP).model_extra or {}
        return [_of(one, Here.model_validate(answer.get(f"pull_{at}") or {})) for at, one in enumerate(asked)]


def _of(request: JudgeRequest, here: Here) -> Published | None:
    pull = here.pull_request
    if pull is None or pull.head_ref_oid != request.head_sha:
        return None
    return newest_of(pull.our_runs() or (), request.pull.number)
