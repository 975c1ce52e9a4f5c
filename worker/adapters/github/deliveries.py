"""GitHub's list of what it delivered to the App, and having it delivered again.

Does not decide what is delivered again (`worker.domain.request.missed_deliveries` does). Invariant: at most MOST_PAGES requests for one look, the
newest deliveries first, and a look that this is too few for can go on where it stopped; asked as the App itself, so it takes
nothing from any installation.
"""

import logging
import re
from datetime import datetime
from typing import Final
from urllib.parse import unquote

from pydantic import RootModel

from worker.adapters.github.client import ApiCall, GitHubApi
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.responses import RestResponse
from worker.domain.request.missed_deliveries import DeliveryAttempt
from worker.errors import Forbidden, SubjectGone

LOG: Final = logging.getLogger(__name__)
PER_PAGE: Final = 100
MOST_PAGES: Final = 40
"""With a look every five minutes, 480 of the 5,000 requests that an App has in an hour: 13 deliveries a second."""
NEXT_CURSOR: Final = re.compile(r'<[^>]*[?&]cursor=([^&>]+)[^>]*>; *rel="next"')


class AppDeliveryResponse(RestResponse):
    id: int
    guid: str
    delivered_at: datetime
    status_code: int = 0
    redelivery: bool = False


class DeliveriesPage(RootModel[tuple[AppDeliveryResponse, ...]]):
    """One page of deliveries, the newest first."""


class GitHubDeliveries:
    """The Deliveries port. Raises as PullSource does."""

    def __init__(self, api: GitHubApi) -> None:
        self._api = api

    def list_since(self, since: datetime, cursor: str | None) -> tuple[list[DeliveryAttempt], str | None]:
        """The attempts since then, as far as MOST_PAGES go, and where to go on. A cursor that GitHub forgot: from the newest."""
        attempts: list[DeliveryAttempt] = []
        for _ in range(MOST_PAGES):
            page, following = self._page(cursor)
            attempts += [_to_sent(delivery) for delivery in page if delivery.delivered_at >= since]
            if following is None or not page or page[-1].delivered_at < since:
                return attempts, None
            cursor = following
        return attempts, cursor

    def _page(self, cursor: str | None) -> tuple[tuple[AppDeliveryResponse, ...], str | None]:
        params: dict[str, str | int] = {"per_page": PER_PAGE} | ({"cursor": cursor} if cursor else {})
        call = ApiCall("GET", "/app/hook/deliveries", params, is_repeatable=True)
        try:
            page, headers = self._api.fetch_with_headers(call, DeliveriesPage)
        except (GitHubBadRequest, SubjectGone):
            if cursor is None:
                raise
            return self._page(None)
        following = NEXT_CURSOR.search(headers.get("link", ""))
        return page.root, unquote(following[1]) if following else None

    def redeliver(self, sent: DeliveryAttempt) -> bool:
        """Have it delivered once more; False: GitHub does not do that any more."""
        try:
            self._api.headers(ApiCall("POST", f"/app/hook/deliveries/{sent.id}/attempts"))
        except (Forbidden, SubjectGone, GitHubBadRequest) as refused:  # too old, or not listed any more
            LOG.warning("a delivery is not made again: %s", refused, extra={"delivery_id": sent.guid})
            return False
        return True


def _to_sent(delivery: AppDeliveryResponse) -> DeliveryAttempt:
    return DeliveryAttempt(
        id=delivery.id,
        guid=delivery.guid,
        at=delivery.delivered_at,
        status_code=delivery.status_code,
        is_again=delivery.redelivery,
    )
