"""The App's installations, page by page.

Does not say what they granted. Invariant: at most MOST_PAGES requests.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import RootModel

from worker.github.client import Api
from worker.github.replies import InstallationView

MOST_PAGES: Final = 10
PER_PAGE: Final = 100
"""A thousand installations are looked at; who has more looks at the page of the one that is asked about."""


class Page(RootModel[tuple[InstallationView, ...]]):
    pass


def installations(api: Api) -> Iterator[InstallationView]:
    """Asked as the App itself. Raises as PullSource does."""
    for number in range(1, MOST_PAGES + 1):
        page = api.get("/app/installations", Page, per_page=PER_PAGE, page=number).root
        yield from page
        if len(page) < PER_PAGE:
            return
