"""Who gives a command, by GitHub's own answer, and what they are told: a reaction, a comment.

Does not know any command. Invariant: only GitHub's own answer about the repository gives somebody a role; where the App may
not write, or whoever runs it declined that, nothing is written and nothing fails; what is not sure to be unsaid is not said twice.
"""

import logging
from collections.abc import Collection
from typing import Final

from worker.adapters.github import queries
from worker.adapters.github.client import ApiCall, GitHubAccess
from worker.adapters.github.comments import write_comment
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.responses import CreatedReactionResponse, RestPull, RestResponse
from worker.adapters.github.roles import list_maintainers, read_role
from worker.domain.config.app_permissions import OptIn
from worker.domain.config.command_permissions import Role
from worker.domain.ports import CurrentPull
from worker.domain.request.judge_request import CommandRequest
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable

LOG: Final = logging.getLogger(__name__)
GHOST_LOGIN: Final = "ghost"


REACTION_CONTENTS: Final = {"eyes": "EYES", "-1": "THUMBS_DOWN", "confused": "CONFUSED"}
"""GraphQL's words for the reactions that we leave."""


class ReactionCreated(RestResponse):
    """It is there. What else is answered says nothing new."""


class GitHubCommandApi:
    """The Desk of the live App."""

    def __init__(self, access: GitHubAccess, declined: Collection[OptIn] = ()) -> None:
        self._access = access
        self._declined = declined

    def role(self, ask: CommandRequest) -> Role:
        """The role of the comment's author."""
        return read_role(self._access.api(ask.pull.installation_id), ask.repository, ask.login)

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        """Where GitHub does not show who collaborates, there may be another one."""
        try:
            names = list_maintainers(self._access.api(ask.pull.installation_id), ask.repository)
        except (Forbidden, SubjectGone):
            return False
        return names is not None and names == {ask.login.casefold()}

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        path = f"/repos/{ask.repository}/pulls/{ask.pull.number}"
        pull = self._access.api(ask.pull.installation_id).get(path, RestPull)
        author = pull.user.login if pull.user else GHOST_LOGIN
        return CurrentPull(author=author, head_sha=pull.head.sha, is_open=pull.state == "open")

    def react(self, ask: CommandRequest, sign: str) -> None:
        """Leave a reaction at the comment, or at the review. GitHub keeps one of each kind, so that it may be left again."""
        if OptIn.REACTIONS in self._declined:
            return
        api = self._access.api(ask.pull.installation_id)
        try:
            if ask.comment_id is not None:
                kind = "pulls" if ask.in_review else "issues"
                path = f"/repos/{ask.repository}/{kind}/comments/{ask.comment_id}/reactions"
                api.fetch(ApiCall("POST", path, body={"content": sign}, is_repeatable=True), CreatedReactionResponse)
            elif ask.review is not None and ask.review.node_id:
                api.query(
                    queries.REACT_MUTATION,
                    {"subject": ask.review.node_id, "content": REACTION_CONTENTS[sign]},
                    ReactionCreated,
                )
        except (Forbidden, GitHubBadRequest) as refused:
            LOG.info("no reaction was left: %s", refused, extra={"repository": ask.repository})

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        """Write a comment in the conversation. Raises RateLimited: it was surely not written, as it may have been in any other outage."""
        if OptIn.COMMENTS in self._declined:
            return False
        try:
            write_comment(self._access, ask.pull, ask.repository, text)
        except RateLimited:
            raise
        except (Forbidden, Unavailable) as refused:
            LOG.info("no comment was written: %s", refused, extra={"repository": ask.repository})
            return False
        return True
