"""Collaborators on GitHub: their roles, comments, reactions and reviews, and what Assay writes to them.

Only a comment that is certainly ours is edited: `find` looks for a mark that only our comments contain. A refused
reviewer is left out, and the others are still requested. Repeating a request does not notify a pending reviewer.
"""

import logging
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

from pydantic import AliasPath, Field

from worker.adapters.github.client import ApiCall, GitHubAccess, GitHubApi, GitHubPart
from worker.adapters.github.errors_and_rate_limits import GitHubBadRequest, RequestPriority
from worker.adapters.github.pull_request_query import (
    REACT_MUTATION,
    UPDATE_COMMENT_MUTATION,
    LatestReviewResponse,
    PullQueries,
    PullQueryItems,
)
from worker.adapters.github.responses import (
    CreatedReactionResponse,
    GraphResponse,
    LabelResponse,
    Page,
    PermissionResponse,
    PullState,
    RestPull,
    RestResponse,
)
from worker.adapters.github.responses import CreatedRunResponse as Made
from worker.domain.codeowners import CODEOWNERS_PATHS, Owner
from worker.domain.config.command_permissions import Role
from worker.domain.config.github_app import OptIn
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef, ReviewRef
from worker.domain.model import RepositoryName, Sha
from worker.domain.ports import CurrentPull, PostedComment, PullHead, SubmittedReview
from worker.domain.verdict.events import Reaction
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable

LOG: Final = logging.getLogger(__name__)
USER_TYPE: Final = "User"
REVIEW_STATES: Final = {"APPROVED": True, "CHANGES_REQUESTED": False}


class GitHubReviewers(GitHubPart):
    """The Reviewers of the live App."""

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


MOST_COMMENT_PAGES: Final = 3


class CommentResponse(RestResponse):
    id: int
    node_id: str | None = None
    body: str | None = None


class CommentedPullState(PullState):
    """The pull request of a comment."""

    number: int


class CommentUpdateResponse(GraphResponse):
    """Answer of the mutation that edits a comment. `pull_request` None: the comment belongs to an issue."""

    pull_request: CommentedPullState | None = Field(
        default=None, validation_alias=AliasPath("updateIssueComment", "issueComment", "pullRequest")
    )

    def tip_of(self, number: int) -> PullHead | None:
        pull = self.pull_request
        return PullHead(pull.head_ref_oid, pull.state == "OPEN") if pull and pull.number == number else None


def send_comment(access: GitHubAccess, pull: PullRef, call: ApiCall) -> PostedComment:
    """Send a comment. Raises as PullSource does, and Forbidden for a conversation that is locked or too long."""
    try:
        made = access.api(pull.installation_id).fetch(call, CommentResponse)
    except GitHubBadRequest as refused:
        raise Forbidden(str(refused)) from refused
    return PostedComment(made.id, made.node_id)


def write_comment(access: GitHubAccess, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
    """Post a comment in a pull request's conversation."""
    path = f"/repos/{repository}/issues/{pull.number}/comments"
    return send_comment(access, pull, ApiCall("POST", path, body={"body": text}))


class GitHubComments(GitHubPart):
    """The Comments port. Raises as PullSource does."""

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
        return write_comment(self._access, pull, repository, text)

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment:
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        return send_comment(self._access, pull, ApiCall("PATCH", path, body={"body": text}, is_repeatable=True))

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        """Edit a comment and read the newest head in the same request, which may therefore use the last one."""
        api = self._access.api(pull.installation_id)
        try:
            variables = {"comment": node_id, "text": text}
            answer = api.query(UPDATE_COMMENT_MUTATION, variables, CommentUpdateResponse, RequestPriority.STATE)
        except GitHubBadRequest as refused:  # an older server, or a rule of its own about comments
            raise Forbidden(str(refused)) from refused
        return answer.tip_of(pull.number)

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        """Find the oldest comment that ends in this unguessable mark."""
        path = f"/repos/{repository}/issues/{pull.number}/comments"
        for page in range(1, MOST_COMMENT_PAGES + 1):
            params: dict[str, str | int] = {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "per_page": PER_PAGE, "page": page}
            call = ApiCall("GET", path, params, is_repeatable=True)
            comments = self._access.api(pull.installation_id).fetch(call, Page[CommentResponse]).root
            for comment in comments:
                if (comment.body or "").rstrip().endswith(marker):
                    return PostedComment(comment.id, comment.node_id)
            if len(comments) < PER_PAGE:
                break
        return None


REACTION_CONTENTS: Final = {"eyes": "EYES", "-1": "THUMBS_DOWN", "confused": "CONFUSED"}
"""GraphQL's names of the reactions that we leave."""


class GitHubCommandApi:
    """The CommandApi of the live App."""

    def __init__(self, access: GitHubAccess, declined: Collection[OptIn] = ()) -> None:
        self._access = access
        self._declined = declined

    def role(self, ask: CommandRequest) -> Role:
        """Role of the comment's author."""
        return read_role(self._access.api(ask.pull.installation_id), ask.repository, ask.login)

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        """Whether the author is the only maintainer. False if GitHub does not list the collaborators."""
        try:
            names = list_maintainers(self._access.api(ask.pull.installation_id), ask.repository)
        except (Forbidden, SubjectGone):
            return False
        return names is not None and names == {ask.login.casefold()}

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        path = f"/repos/{ask.repository}/pulls/{ask.pull.number}"
        pull = self._access.api(ask.pull.installation_id).get(path, RestPull)
        return CurrentPull(author=pull.author, head_sha=pull.head_sha, is_open=pull.state == "open")

    def react(self, ask: CommandRequest, sign: str) -> None:
        """React to the comment or review. Idempotent: GitHub keeps one reaction of each kind."""
        if OptIn.REACTIONS in self._declined:
            return
        api = self._access.api(ask.pull.installation_id)
        try:
            if ask.comment_id is not None:
                kind = "pulls" if ask.in_review else "issues"
                path = f"/repos/{ask.repository}/{kind}/comments/{ask.comment_id}/reactions"
                api.fetch(ApiCall("POST", path, body={"content": sign}, is_repeatable=True), CreatedReactionResponse)
            elif ask.review is not None and ask.review.node_id:
                variables = {"subject": ask.review.node_id, "content": REACTION_CONTENTS[sign]}
                api.query(REACT_MUTATION, variables, RestResponse)
        except (Forbidden, GitHubBadRequest) as refused:
            LOG.info("reaction not added: %s", refused, extra={"repository": ask.repository})

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        """Post a comment in the conversation. After RateLimited it is certainly not posted; after other outages it may be."""
        if OptIn.COMMENTS in self._declined:
            return False
        try:
            write_comment(self._access, ask.pull, ask.repository, text)
        except RateLimited:
            raise
        except (Forbidden, Unavailable) as refused:
            LOG.info("comment not written: %s", refused, extra={"repository": ask.repository})
            return False
        return True


MOST_REACTIONS: Final = 100
"""Reactions that are read of one comment, from the first."""


class ReactionResponse(RestResponse):
    """One reaction. A deleted account has no user."""

    id: int
    content: str
    created_at: datetime
    user_id: int | None = Field(default=None, validation_alias=AliasPath("user", "id"))
    user_type: str = Field(default="", validation_alias=AliasPath("user", "type"))


class GitHubReactions(GitHubPart):
    """The Reactions port. Skipped when few requests are left, since judging needs them."""

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]:
        path = f"/repos/{repository}/issues/comments/{comment_id}/reactions"
        call = ApiCall("GET", path, {"per_page": MOST_REACTIONS}, is_repeatable=True, need=RequestPriority.SWEEP)
        reactions = self._access.api(pull.installation_id).fetch(call, Page[ReactionResponse]).root
        return tuple(
            Reaction(reaction.id, reaction.user_id, reaction.user_type != "User", reaction.content, reaction.created_at)
            for reaction in reactions
            if reaction.user_id is not None
        )
