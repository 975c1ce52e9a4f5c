"""The App's installations, page by page.

Does not say what they granted. Invariant: at most MOST_PAGES requests.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from pydantic import Field, RootModel

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.responses import RestResponse

MOST_PAGES: Final = 10
"""A thousand installations are looked at in one go; a sweep goes on with the others."""
PER_PAGE: Final = 100


class AccountSummary(RestResponse):
    """A user or an organization has a login, an enterprise a slug."""

    login: str = ""
    slug: str = ""


class InstallationView(RestResponse):
    """What `GET /app/installations` tells about one of them."""

    id: int
    account: AccountSummary | None = None
    html_url: str = ""
    permissions: dict[str, str] = Field(default_factory=dict[str, str])
    created_at: datetime
    suspended_at: datetime | None = None


class InstallationsPage(RootModel[tuple[InstallationView, ...]]):
    pass


def list_installations(api: GitHubApi) -> Iterator[InstallationView]:
    """The first ones. Asked as the App itself. Raises as PullSource does."""
    for page, _ in list_installation_pages(api, 1):
        yield from page


def list_installation_pages(api: GitHubApi, first: int) -> Iterator[tuple[tuple[InstallationView, ...], int]]:
    """Pages from this one on, each with the number of the one that follows: 1 after the last. Raises as PullSource does."""
    for number in range(first, first + MOST_PAGES):
        page = api.get("/app/installations", InstallationsPage, per_page=PER_PAGE, page=number).root
        is_last = len(page) < PER_PAGE
        yield page, 1 if is_last else number + 1
        if is_last:
            return
