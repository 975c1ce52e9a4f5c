"""Who reacted to a comment, and how.

Does not weigh it. Invariant: one request, and no login is kept.
"""

from datetime import datetime
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import ApiCall, GitHubAccess
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import RestResponse
from worker.domain.ids import RepositoryName
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.reactions import Reaction

MOST: Final = 100
"""The first ones. Nobody reads further into the reactions at one comment."""


class ReactorResponse(RestResponse):
    id: int
    type: str = ""


class ReactionResponse(RestResponse):
    """One reaction. Whoever has deleted their account is nobody."""

    id: int
    content: str
    created_at: datetime
    user: ReactorResponse | None = None


class ReactionsPage(RootModel[tuple[ReactionResponse, ...]]):
    """The reactions at a comment, oldest first."""


class GitHubReactions:
    """The Reactions port. Asks only while much is left to ask: a judging needs it more."""

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]:
        path = f"/repos/{repository}/issues/comments/{comment_id}/reactions"
        call = ApiCall("GET", path, {"per_page": MOST}, is_repeatable=True, need=RequestPriority.SWEEP)
        reactions = self._access.api(pull.installation_id).fetch(call, ReactionsPage).root
        return tuple(
            Reaction(reaction.id, reaction.user.id, reaction.user.type != "User", reaction.content, reaction.created_at)
            for reaction in reactions
            if reaction.user is not None
        )
