"""Who may give a command, and the sign that it was seen.

Does not know any command. Invariant: only GitHub's own answer about the repository makes somebody a writer.
"""

from typing import Final
from urllib.parse import quote

from worker.domain.request import Ask
from worker.errors import Gone
from worker.github.client import Access, Call
from worker.github.replies import Permission, Reaction

WRITERS: Final = frozenset({"admin", "maintain", "write"})


class GitHubDesk:
    """The Desk of the live App."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def may_command(self, ask: Ask) -> bool:
        """Whether the author of the comment has write permission. An account that is gone has none."""
        path = f"/repos/{ask.repository}/collaborators/{quote(ask.login, safe='')}/permission"
        try:
            found = self._access.api(ask.pull.installation_id).get(path, Permission)
        except Gone:
            return False
        return found.permission in WRITERS

    def react(self, ask: Ask, content: str) -> None:
        """Leave a reaction at the comment. GitHub keeps one of each kind, so that it may be left again."""
        path = f"/repos/{ask.repository}/issues/comments/{ask.comment_id}/reactions"
        call = Call("POST", path, body={"content": content}, is_repeatable=True)
        self._access.api(ask.pull.installation_id).fetch(call, Reaction)
