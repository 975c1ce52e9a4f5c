"""Comments in a pull request's conversation: written, changed, and found again by what only ours holds.

Does not word them. Invariant: a comment that is not known to be ours is never changed.
"""

from datetime import datetime
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import Access, Call
from worker.adapters.github.errors import BadRequest
from worker.adapters.github.queries import TELL
from worker.adapters.github.rate_limits import Need
from worker.adapters.github.responses import GraphReply, PullState, Reply
from worker.domain.ids import RepositoryName
from worker.domain.ports import Posted, Tip
from worker.domain.request.judge_request import PullRef
from worker.errors import Forbidden

PER_PAGE: Final = 100
MOST_PAGES: Final = 3


class Written(Reply):
    id: int
    node_id: str | None = None
    body: str | None = None

    @property
    def posted(self) -> Posted:
        return Posted(self.id, self.node_id)


class Page(RootModel[tuple[Written, ...]]):
    """One page of a conversation, oldest first."""


class At(PullState):
    """The pull request that a comment is at."""

    number: int


class Commented(GraphReply):
    """A comment. `pull_request` None: it is at an issue."""

    pull_request: At | None = None


class Updated(GraphReply):
    issue_comment: Commented | None = None


class Told(GraphReply):
    """What a mutation answers that changes a comment."""

    update_issue_comment: Updated | None = None

    def tip_of(self, number: int) -> Tip | None:
        comment = self.update_issue_comment.issue_comment if self.update_issue_comment else None
        pull = comment.pull_request if comment else None
        return Tip(pull.head_ref_oid, pull.state == "OPEN") if pull and pull.number == number else None


def written(access: Access, pull: PullRef, repository: RepositoryName, text: str) -> Posted:
    """Write a comment in a pull request's conversation. Raises as PullSource does."""
    call = Call("POST", f"/repos/{repository}/issues/{pull.number}/comments", body={"body": text})
    return _taken(access, pull, call)


def _taken(access: Access, pull: PullRef, call: Call) -> Posted:
    """Raises Forbidden also where GitHub takes no such comment there, or none any more: the conversation is locked, or too long."""
    try:
        return access.api(pull.installation_id).fetch(call, Written).posted
    except BadRequest as refused:
        raise Forbidden(str(refused)) from refused


class GitHubComments:
    """The Comments port. Raises as PullSource does."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> Posted:
        return written(self._access, pull, repository, text)

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> Posted:
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        return _taken(self._access, pull, Call("PATCH", path, body={"body": text}, is_repeatable=True))

    def change_and_look(self, pull: PullRef, node_id: str, text: str) -> Tip | None:
        """It takes the place of a question for the newest head, so it may take the last request, as that may."""
        api = self._access.api(pull.installation_id)
        try:
            return api.query(TELL, {"comment": node_id, "text": text}, Told, Need.STATE).tip_of(pull.number)
        except BadRequest as refused:  # an older server than we know, or a rule of its own about comments
            raise Forbidden(str(refused)) from refused

    def find(self, pull: PullRef, repository: RepositoryName, mark: str, since: datetime) -> Posted | None:
        """The oldest comment that ends in this mark, which nobody could know before we wrote it."""
        path = f"/repos/{repository}/issues/{pull.number}/comments"
        for page in range(1, MOST_PAGES + 1):
            params: dict[str, str | int] = {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "per_page": PER_PAGE, "page": page}
            call = Call("GET", path, params, is_repeatable=True)
            found = self._access.api(pull.installation_id).fetch(call, Page).root
            for one in found:
                if (one.body or "").rstrip().endswith(mark):
                    return one.posted
            if len(found) < PER_PAGE:
                break
        return None
