"""Comments and reactions on GitHub: write, edit and find comments, react, and check a commenter's role.

Only a comment that is certainly ours is edited: `find` looks for a mark that only our comments contain.
"""

import logging
from collections.abc import Collection
from datetime import datetime
from typing import Final

from pydantic import AliasPath, Field

from worker.adapters.github.client import ApiCall, GitHubAccess
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.pull_request_query import REACT_MUTATION, UPDATE_COMMENT_MUTATION
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import (
    CreatedReactionResponse,
    GraphResponse,
    Page,
    PullState,
    RestPull,
    RestResponse,
)
from worker.adapters.github.reviews import list_maintainers, read_role
from worker.domain.config.command_permissions import Role
from worker.domain.config.github_app import OptIn
from worker.domain.judge_request import CommandRequest, PullRef
from worker.domain.model import RepositoryName
from worker.domain.ports import CurrentPull, PostedComment, PullHead
from worker.domain.verdict.outcomes import Reaction
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable

LOG: Final = logging.getLogger(__name__)
PER_PAGE: Final = 100
MOST_PAGES: Final = 3


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


class GitHubComments:
    """The Comments port. Raises as PullSource does."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

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
        for page in range(1, MOST_PAGES + 1):
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


MOST: Final = 100
"""Reactions that are read of one comment, from the first."""


class ReactionResponse(RestResponse):
    """One reaction. A deleted account has no user."""

    id: int
    content: str
    created_at: datetime
    user_id: int | None = Field(default=None, validation_alias=AliasPath("user", "id"))
    user_type: str = Field(default="", validation_alias=AliasPath("user", "type"))


class GitHubReactions:
    """The Reactions port. Skipped when few requests are left, since judging needs them."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]:
        path = f"/repos/{repository}/issues/comments/{comment_id}/reactions"
        call = ApiCall("GET", path, {"per_page": MOST}, is_repeatable=True, need=RequestPriority.SWEEP)
        reactions = self._access.api(pull.installation_id).fetch(call, Page[ReactionResponse]).root
        return tuple(
            Reaction(reaction.id, reaction.user_id, reaction.user_type != "User", reaction.content, reaction.created_at)
            for reaction in reactions
            if reaction.user_id is not None
        )
