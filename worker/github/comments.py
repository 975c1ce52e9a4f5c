"""Comments in a pull request's conversation: written, changed, and found again by what only ours holds.

Does not word them. Invariant: a comment that is not known to be ours is never changed.
"""

from datetime import datetime
from typing import Final

from pydantic import RootModel

from worker.domain.ids import RepositoryName
from worker.domain.request import PullRef
from worker.github.client import Access, Call
from worker.github.replies import Reply

PER_PAGE: Final = 100
MOST_PAGES: Final = 3


class Written(Reply):
    id: int
    body: str | None = None


class Page(RootModel[tuple[Written, ...]]):
    """One page of a conversation, oldest first."""


def written(access: Access, pull: PullRef, repository: RepositoryName, text: str) -> int:
    """Write a comment in a pull request's conversation. Raises as PullSource does."""
    call = Call("POST", f"/repos/{repository}/issues/{pull.number}/comments", body={"body": text})
    return access.api(pull.installation_id).fetch(call, Written).id


class GitHubComments:
    """The Comments port. Raises as PullSource does."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> int:
        return written(self._access, pull, repository, text)

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> None:
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        call = Call("PATCH", path, body={"body": text}, is_repeatable=True)
        self._access.api(pull.installation_id).fetch(call, Written)

    def find(self, pull: PullRef, repository: RepositoryName, mark: str, since: datetime) -> int | None:
        """The oldest comment that ends in this mark, which nobody could know before we wrote it."""
        path = f"/repos/{repository}/issues/{pull.number}/comments"
        for page in range(1, MOST_PAGES + 1):
            params: dict[str, str | int] = {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "per_page": PER_PAGE, "page": page}
            call = Call("GET", path, params, is_repeatable=True)
            found = self._access.api(pull.installation_id).fetch(call, Page).root
            for one in found:
                if (one.body or "").rstrip().endswith(mark):
                    return one.id
            if len(found) < PER_PAGE:
                break
        return None
