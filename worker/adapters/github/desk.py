"""Who gives a command, by GitHub's own answer, and what they are told: a reaction, a comment.

Does not know any command. Invariant: only GitHub's own answer about the repository gives somebody a role; where the App may
not write, or whoever runs it declined that, nothing is written and nothing fails; what is not sure to be unsaid is not said twice.
"""

import logging
from collections.abc import Collection
from typing import Final

from worker.adapters.github import queries
from worker.adapters.github.client import Access, Call
from worker.adapters.github.comments import written
from worker.adapters.github.errors import BadRequest
from worker.adapters.github.responses import Reaction, Reply, RestPull
from worker.adapters.github.roles import maintainers, role_in
from worker.domain.config.app_permissions import OptIn
from worker.domain.config.command_permissions import Role
from worker.domain.ports import Proposal
from worker.domain.request.judge_request import Ask
from worker.errors import Forbidden, Gone, RateLimited, Unavailable

LOG: Final = logging.getLogger(__name__)
GHOST: Final = "ghost"


SIGNS: Final = {"eyes": "EYES", "-1": "THUMBS_DOWN", "confused": "CONFUSED"}
"""GraphQL's words for the reactions that we leave."""


class Reacted(Reply):
    """It is there. What else is answered says nothing new."""


class GitHubDesk:
    """The Desk of the live App."""

    def __init__(self, access: Access, declined: Collection[OptIn] = ()) -> None:
        self._access = access
        self._declined = declined

    def role(self, ask: Ask) -> Role:
        """The role of the comment's author."""
        return role_in(self._access.api(ask.pull.installation_id), ask.repository, ask.login)

    def is_only_maintainer(self, ask: Ask) -> bool:
        """Where GitHub does not show who collaborates, there may be another one."""
        try:
            names = maintainers(self._access.api(ask.pull.installation_id), ask.repository)
        except (Forbidden, Gone):
            return False
        return names is not None and names == {ask.login.casefold()}

    def proposal(self, ask: Ask) -> Proposal:
        path = f"/repos/{ask.repository}/pulls/{ask.pull.number}"
        found = self._access.api(ask.pull.installation_id).get(path, RestPull)
        author = found.user.login if found.user else GHOST
        return Proposal(author=author, head_sha=found.head.sha, is_open=found.state == "open")

    def react(self, ask: Ask, sign: str) -> None:
        """Leave a reaction at the comment, or at the review. GitHub keeps one of each kind, so that it may be left again."""
        if OptIn.REACTIONS in self._declined:
            return
        api = self._access.api(ask.pull.installation_id)
        try:
            if ask.comment_id is not None:
                kind = "pulls" if ask.in_review else "issues"
                path = f"/repos/{ask.repository}/{kind}/comments/{ask.comment_id}/reactions"
                api.fetch(Call("POST", path, body={"content": sign}, is_repeatable=True), Reaction)
            elif ask.review is not None and ask.review.node_id:
                api.query(queries.REACT, {"subject": ask.review.node_id, "content": SIGNS[sign]}, Reacted)
        except (Forbidden, BadRequest) as refused:
            LOG.info("no reaction was left: %s", refused, extra={"repository": ask.repository})

    def say(self, ask: Ask, text: str) -> bool:
        """Write a comment in the conversation. Raises RateLimited: it was surely not written, as it may have been in any other outage."""
        if OptIn.COMMENTS in self._declined:
            return False
        try:
            written(self._access, ask.pull, ask.repository, text)
        except RateLimited:
            raise
        except (Forbidden, Unavailable) as refused:
            LOG.info("no comment was written: %s", refused, extra={"repository": ask.repository})
            return False
        return True
