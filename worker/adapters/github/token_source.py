"""Pull requests for `assay judge OWNER/REPO#N`: with a token as the App reads them, without one as anybody may.

Does not post anything. Invariant: a pull request that is closed or merged can be read all the same.
"""

from collections.abc import Generator
from contextlib import contextmanager

from worker.adapters.github.client import token_access
from worker.adapters.github.public_api import PublicPull, PublicPullReader
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.domain.ids import InstallationId, RepositoryName
from worker.domain.ports import Clock
from worker.domain.value import replace
from worker.settings import Settings


@contextmanager
def open_token_source(settings: Settings, clock: Clock) -> Generator[GitHubPullSource]:
    """Read with GITHUB_TOKEN; everything that the live App would see, if the token may."""
    with token_access(settings, clock) as access:
        yield GitHubPullSource(access, make_read_options(None, settings.github_api_url, open_only=False))


def open_public_pull(settings: Settings, clock: Clock, repository: RepositoryName, number: int) -> PublicPull:
    """Read a public pull request without a token, and say what was left out."""
    host = make_read_options(None, settings.github_api_url).host
    with token_access(replace(settings, github_token=None), clock) as access:
        return PublicPullReader(access.api(InstallationId(0)), repository, number, host).read()
