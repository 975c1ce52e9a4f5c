"""How many pull requests a repository has had in the last seven days.

Does not read any of them. Invariant: at most three requests; beyond three hundred pull requests the answer is three
hundred.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import GitHubApi, token_access
from worker.adapters.github.responses import RestResponse
from worker.domain.ids import InstallationId, RepositoryName
from worker.domain.ports import Clock
from worker.settings import Settings

WEEK: Final = timedelta(days=7)
PER_PAGE: Final = 100
MOST_PAGES: Final = 3


class OpenedPullResponse(RestResponse):
    created_at: datetime


class OpenedPullsPage(RootModel[tuple[OpenedPullResponse, ...]]):
    pass


def count_opened_this_week(settings: Settings, clock: Clock, repository: RepositoryName) -> int:
    """Count with GITHUB_TOKEN, or as anybody may. Raises as a PullSource does."""
    since = clock.now() - WEEK
    with token_access(settings, clock) as access:
        pages = _newest_first(access.api(InstallationId(0)), repository)
        return sum(sum(pull.created_at >= since for pull in page) for page in pages)


def _newest_first(api: GitHubApi, repository: RepositoryName) -> Iterator[tuple[OpenedPullResponse, ...]]:
    order: dict[str, str | int] = {"state": "all", "sort": "created", "direction": "desc", "per_page": PER_PAGE}
    for number in range(1, MOST_PAGES + 1):
        page = api.get(f"/repos/{repository}/pulls", OpenedPullsPage, **order, page=number).root
        yield page
        if len(page) < PER_PAGE:
            return
