"""GitHub's list of what it delivered to the App, and having it delivered again.

Does not decide what is delivered again (`worker.domain.missed` does). Invariant: at most MOST_PAGES requests for one look, the
newest deliveries first; asked as the App itself, so it takes nothing from any installation.
"""

import re
from datetime import datetime
from typing import Final

from pydantic import RootModel

from worker.domain.missed import Sent
from worker.errors import Forbidden
from worker.github.client import Api, Call
from worker.github.replies import Reply

PER_PAGE: Final = 100
MOST_PAGES: Final = 20
NEXT: Final = re.compile(r'<[^>]*[?&]cursor=([^&>]+)[^>]*>; *rel="next"')


class Listed(Reply):
    id: int
    guid: str
    delivered_at: datetime
    status_code: int = 0


class Page(RootModel[tuple[Listed, ...]]):
    """One page of deliveries, the newest first."""


class GitHubDeliveries:
    """The Deliveries port. Raises as PullSource does."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def since(self, at: datetime) -> list[Sent]:
        """All attempts since then, as far as MOST_PAGES go."""
        found: list[Sent] = []
        params: dict[str, str | int] = {"per_page": PER_PAGE}
        for _ in range(MOST_PAGES):
            call = Call("GET", "/app/hook/deliveries", params, is_repeatable=True)
            page, headers = self._api.fetch_with_headers(call, Page)
            found += [_sent(one) for one in page.root if one.delivered_at >= at]
            following = NEXT.search(headers.get("link", ""))
            if following is None or not page.root or page.root[-1].delivered_at < at:
                break
            params = {"per_page": PER_PAGE, "cursor": following[1]}
        return found

    def again(self, sent: Sent) -> bool:
        """Have it delivered once more; False: GitHub does not do that any more."""
        try:
            self._api.headers(Call("POST", f"/app/hook/deliveries/{sent.id}/attempts"))
        except Forbidden:
            return False
        return True


def _sent(one: Listed) -> Sent:
    return Sent(id=one.id, guid=one.guid, at=one.delivered_at, status_code=one.status_code)
