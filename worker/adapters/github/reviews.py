"""Asking people to look at a pull request: CODEOWNERS at the base, requested reviewers, a label.

Does not decide who is asked (`worker.publishing.review_requests` does). Invariant: whom GitHub refuses is left out, and the others are asked all
the same; asking twice asks nobody anew who did not answer yet.
"""

import re
from collections.abc import Sequence
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import Access, Api, Call
from worker.adapters.github.errors import BadRequest
from worker.adapters.github.pull_request_query import Asked, LatestReview, PullGraph
from worker.adapters.github.responses import CreatedRun as Made
from worker.adapters.github.responses import Label
from worker.domain.codeowners import PLACES, Owner
from worker.domain.ids import RepositoryName, Sha
from worker.domain.ports import GivenReview
from worker.domain.request.judge_request import JudgeRequest, PullRef, ReviewRef
from worker.errors import Forbidden


class Labels(RootModel[tuple[Label, ...]]):
    """The labels of a pull request."""


PERSON: Final = "User"
SAYS: Final = {"APPROVED": True, "CHANGES_REQUESTED": False}


class GitHubReviewers:
    """The Reviewers of the live App."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def owners(self, pull: PullRef, repository: RepositoryName, base_sha: Sha) -> str | None:
        """The first of the files that GitHub reads, all asked for at once."""
        graph = PullGraph(self._access.api(pull.installation_id), repository, pull.number)
        found = graph.ask(Asked([f"{base_sha}:{place}" for place in PLACES]))
        return next((blob.text for blob in found.blobs if blob is not None and blob.text is not None), None)

    def given(self, request: JudgeRequest) -> tuple[GivenReview, ...]:
        """What a bot says, an account that is gone, or somebody about no commit, is left out."""
        graph = PullGraph(self._api(request), request.repository, request.pull.number)
        found = [given for one in graph.reviews() if (given := _given(one))]
        return tuple(sorted(found, key=lambda one: one.at))

    def ask(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        """Ask all at once; where GitHub refuses that, since one of them can't be asked, one by one."""
        if self._asked(request, owners):
            return tuple(owners)
        return tuple(one for one in owners if len(owners) > 1 and self._asked(request, [one]))

    def label(self, request: JudgeRequest, name: str) -> None:
        """Raises Forbidden also where GitHub takes no such label."""
        path = f"/repos/{request.repository}/issues/{request.pull.number}/labels"
        try:
            self._api(request).fetch(Call("POST", path, body={"labels": [name]}, is_repeatable=True), Labels)
        except BadRequest as refused:
            raise Forbidden(str(refused)) from refused

    def _asked(self, request: JudgeRequest, owners: Sequence[Owner]) -> bool:
        path = f"/repos/{request.repository}/pulls/{request.pull.number}/requested_reviewers"
        body = {
            "reviewers": [one.login for one in owners if one.team is None],
            "team_reviewers": [one.team for one in owners if one.team is not None],
        }
        try:
            self._api(request).fetch(Call("POST", path, body=body, is_repeatable=True), Made)
        except BadRequest:  # 422: one of them is the author, or may not read here
            return False
        return True

    def _api(self, request: JudgeRequest) -> Api:
        return self._access.api(request.pull.installation_id)


def _given(said: LatestReview) -> GivenReview | None:
    number, author = re.search(r"[1-9][0-9]*$", said.url), said.author
    if number is None or author is None or author.kind != PERSON or said.commit is None or said.submitted_at is None:
        return None
    if said.state not in SAYS:
        return None
    review = ReviewRef(id=int(number[0]), login=author.login)
    return GivenReview(review, said.commit.oid, SAYS[said.state], said.submitted_at)
