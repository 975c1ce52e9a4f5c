"""Open pull requests as a look around finds them: who wrote one, and which ones a repository has.

Does not look. Invariant: plain values, whoever looks.
"""

from datetime import datetime

from worker.domain.config.config import Authors
from worker.domain.dossier.dossier import PullRequest
from worker.domain.ids import BaseHash, RepositoryId, RepositoryName, Sha
from worker.domain.request.judge_request import AuthorKind
from worker.domain.value import Value


class PullSnapshot(Value):
    """A pull request's author and state. `authors` None: whom the repository judges can't be told from here.

    `is_required`: merges into its base wait for our check. `is_passed_unjudged`: the repository lets it pass where nothing was judged.
    """

    pull: PullRequest
    authors: Authors | None
    is_required: bool = False
    is_passed_unjudged: bool = False


class OpenPull(Value):
    """One open pull request. `author` by account and branch alone; `base`: which branch it is to be merged into."""

    number: int
    head_sha: Sha
    opened_at: datetime
    draft: bool
    author: AuthorKind
    base: BaseHash


class Repository(Value):
    """A repository that the App may see. `is_busy`: an issue or a pull request may be open there."""

    id: RepositoryId
    name: RepositoryName
    is_busy: bool = True


class OpenRepository(Value):
    """A repository with its open pull requests."""

    repository: Repository
    pulls: tuple[OpenPull, ...]
