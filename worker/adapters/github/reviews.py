"""Reviews on GitHub: CODEOWNERS at the base, review requests, a label, and the roles of accounts.

A refused reviewer is left out, and the others are still requested. Repeating a request does not notify a pending
reviewer.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from pydantic import AliasPath, Field

from worker.adapters.github.client import ApiCall, GitHubAccess, GitHubApi
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.pull_request_query import LatestReviewResponse, PullQueries, PullQueryItems
from worker.adapters.github.responses import CreatedRunResponse as Made
from worker.adapters.github.responses import LabelResponse, Page, PermissionResponse, RestResponse
from worker.domain.codeowners import CODEOWNERS_PATHS, Owner
from worker.domain.config.command_permissions import Role
from worker.domain.judge_request import JudgeRequest, PullRef, ReviewRef
from worker.domain.model import RepositoryName, Sha
from worker.domain.ports import SubmittedReview
from worker.errors import Forbidden, SubjectGone

USER_TYPE: Final = "User"
REVIEW_STATES: Final = {"APPROVED": True, "CHANGES_REQUESTED": False}


class GitHubReviewers:
    """The Reviewers of the live App."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def read_codeowners(self, pull: PullRef, repository: RepositoryName, base_sha: Sha) -> str | None:
        """The first of the files that GitHub reads, all queried in one request."""
        graph = PullQueries(self._access.api(pull.installation_id), repository, pull.number)
        items = graph.fetch_items(PullQueryItems([f"{base_sha}:{path}" for path in CODEOWNERS_PATHS]))
        return next((blob.text for blob in items.blobs if blob is not None and blob.text is not None), None)

    def list_reviews(self, request: JudgeRequest) -> tuple[SubmittedReview, ...]:
        """Submitted reviews without those of bots and deleted accounts, and without those of no commit."""
        graph = PullQueries(self._api(request), request.repository, request.pull.number)
        reviews = [submitted for review in graph.reviews() if (submitted := _to_submitted_review(review))]
        return tuple(sorted(reviews, key=lambda review: review.at))

    def request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        """Request all owners together; if GitHub refuses one of them, request each singly."""
        if self._request_reviews(request, owners):
            return tuple(owners)
        return tuple(owner for owner in owners if len(owners) > 1 and self._request_reviews(request, [owner]))

    def add_label(self, request: JudgeRequest, name: str) -> None:
        """Add a label. Raises Forbidden also if GitHub refuses the label."""
        path = f"/repos/{request.repository}/issues/{request.pull.number}/labels"
        try:
            self._api(request).fetch(
                ApiCall("POST", path, body={"labels": [name]}, is_repeatable=True), Page[LabelResponse]
            )
        except GitHubBadRequest as refused:
            raise Forbidden(str(refused)) from refused

    def _request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> bool:
        path = f"/repos/{request.repository}/pulls/{request.pull.number}/requested_reviewers"
        body = {
            "reviewers": [owner.login for owner in owners if owner.team is None],
            "team_reviewers": [owner.team for owner in owners if owner.team is not None],
        }
        try:
            self._api(request).fetch(ApiCall("POST", path, body=body, is_repeatable=True), Made)
        except GitHubBadRequest:  # 422: a reviewer is the author, or lacks read access
            return False
        return True

    def _api(self, request: JudgeRequest) -> GitHubApi:
        return self._access.api(request.pull.installation_id)


def _to_submitted_review(latest: LatestReviewResponse) -> SubmittedReview | None:
    number, author = re.search(r"[1-9][0-9]*$", latest.url), latest.author
    if number is None or author is None or author.kind != USER_TYPE or latest.state not in REVIEW_STATES:
        return None
    if latest.commit_sha is None or latest.submitted_at is None:
        return None
    review = ReviewRef(id=int(number[0]), login=author.login)
    return SubmittedReview(review, latest.commit_sha, REVIEW_STATES[latest.state], latest.submitted_at)


PER_PAGE: Final = 100


class AbilitiesResponse(RestResponse):
    maintain: bool = False
    admin: bool = False


class CollaboratorResponse(RestResponse):
    login: str
    type: str = ""
    permissions: AbilitiesResponse | None = None


class CollaboratorPermission(PermissionResponse):
    """`permission` has no `maintain`, and `role_name` may be an organization's own role."""

    is_maintainer: bool = Field(default=False, validation_alias=AliasPath("user", "permissions", "maintain"))


def read_role(api: GitHubApi, repository: RepositoryName, login: str) -> Role:
    """Role of an account. A deleted account has none.

    An organization's own role counts as the role that it extends.
    """
    try:
        path = f"/repos/{repository}/collaborators/{quote(login, safe='')}/permission"
        permission = api.get(path, CollaboratorPermission)
    except SubjectGone:
        return Role.NONE
    may_maintain = permission.permission != Role.ADMIN and permission.is_maintainer
    role_names = (permission.role_name, Role.MAINTAIN if may_maintain else "", permission.permission)
    return next((Role(name) for name in role_names if name in set(Role)), Role.NONE)


def list_maintainers(api: GitHubApi, repository: RepositoryName) -> set[str] | None:
    """Accounts of people who may maintain or administer a repository; None: too many for one page."""
    accounts = api.get(f"/repos/{repository}/collaborators", Page[CollaboratorResponse], per_page=PER_PAGE).root
    if len(accounts) == PER_PAGE:
        return None
    abilities = [(account.login, account.permissions) for account in accounts if account.type == USER_TYPE]
    return {login.casefold() for login, may in abilities if may is not None and (may.maintain or may.admin)}
