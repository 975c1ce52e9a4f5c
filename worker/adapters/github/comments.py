"""Comments in a pull request's conversation: written, changed, and found again by what only ours holds.

Does not word them. Invariant: a comment that is not known to be ours is never changed.
"""

from datetime import datetime
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import ApiCall, GitHubAccess
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.queries import UPDATE_COMMENT_MUTATION
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import GraphResponse, PullState, RestResponse
from worker.domain.ids import RepositoryName
from worker.domain.ports import PostedComment, PullHead
from worker.domain.request.judge_request import PullRef
from worker.errors import Forbidden

PER_PAGE: Final = 100
MOST_PAGES: Final = 3


class CommentResponse(RestResponse):
    id: int
    node_id: str | None = None
    body: str | None = None

    @property
    def to_posted(self) -> PostedComment:
        return PostedComment(self.id, self.node_id)


class CommentsPage(RootModel[tuple[CommentResponse, ...]]):
    """One page of a conversation, oldest first."""


class CommentedPullState(PullState):
    """The pull request that a comment is at."""

    number: int


class CommentPlaceResponse(GraphResponse):
    """A comment. `pull_request` None: it is at an issue."""

    pull_request: CommentedPullState | None = None


class UpdatedCommentNode(GraphResponse):
    issue_comment: CommentPlaceResponse | None = None


class CommentUpdateResponse(GraphResponse):
    """What a mutation answers that changes a comment."""

    update_issue_comment: UpdatedCommentNode | None = None

    def tip_of(self, number: int) -> PullHead | None:
        comment = self.update_issue_comment.issue_comment if self.update_issue_comment else None
        pull = comment.pull_request if comment else None
        return PullHead(pull.head_ref_oid, pull.state == "OPEN") if pull and pull.number == number else None


def write_comment(access: GitHubAccess, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
    """Write a comment in a pull request's conversation. Raises as PullSource does."""
    call = ApiCall("POST", f"/repos/{repository}/issues/{pull.number}/comments", body={"body": text})
    return _send_comment(access, pull, call)


def _send_comment(access: GitHubAccess, pull: PullRef, call: ApiCall) -> PostedComment:
    """Raises Forbidden also where GitHub takes no such comment there, or none any more: the conversation is locked, or too long."""
    try:
        return access.api(pull.installation_id).fetch(call, CommentResponse).to_posted
    except GitHubBadRequest as refused:
        raise Forbidden(str(refused)) from refused


class GitHubComments:
    """The Comments port. Raises as PullSource does."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
        return write_comment(self._access, pull, repository, text)

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment:
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        return _send_comment(self._access, pull, ApiCall("PATCH", path, body={"body": text}, is_repeatable=True))

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        """It takes the place of a question for the newest head, so it may take the last request, as that may."""
        api = self._access.api(pull.installation_id)
        try:
            return api.query(
                UPDATE_COMMENT_MUTATION,
                {"comment": node_id, "text": text},
                CommentUpdateResponse,
                RequestPriority.STATE,
            ).tip_of(pull.number)
        except GitHubBadRequest as refused:  # an older server than we know, or a rule of its own about comments
            raise Forbidden(str(refused)) from refused

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        """The oldest comment that ends in this mark, which nobody could know before we wrote it."""
        path = f"/repos/{repository}/issues/{pull.number}/comments"
        for page in range(1, MOST_PAGES + 1):
            params: dict[str, str | int] = {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "per_page": PER_PAGE, "page": page}
            call = ApiCall("GET", path, params, is_repeatable=True)
            comments = self._access.api(pull.installation_id).fetch(call, CommentsPage).root
            for comment in comments:
                if (comment.body or "").rstrip().endswith(marker):
                    return comment.to_posted
            if len(comments) < PER_PAGE:
                break
        return None
