"""What has to be so for a repository's merges to wait for our check: read for `assay doctor --repo`.

Does not change anything and has no words for people (`worker.publishing.texts.gate` does). Invariant: asks with the least token that can
answer, which names the one repository; what GitHub does not tell is None, never a guess.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from pydantic import RootModel

from worker.adapters.github.client import Api
from worker.adapters.github.doctor import of_installation
from worker.adapters.github.one_repository import as_app, inside, installation_of
from worker.adapters.github.responses import Blob, Reply
from worker.domain.check.branch_protection import Gate, Requirement
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.codeowners import PLACES, rules_of
from worker.domain.config.config_place import PLACE
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText
from worker.domain.ids import RepositoryName
from worker.domain.ports import Clock
from worker.dossier.config_file import configured
from worker.errors import AssayError, Gone
from worker.settings import Settings

QUEUE: Final = """
query AssayQueue($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } }
}
"""

READ: Final = (*PLACES, PLACE)
"""The files that say who owns what, and whose pull requests are judged."""

OWNERS: Final = f"""
query AssayOwners($owner: String!, $name: String!, {", ".join(f"$place_{at}: String!" for at in range(len(READ)))}) {{
  repository(owner: $owner, name: $name) {{
    {" ".join(f"place_{at}: object(expression: $place_{at}) {{ ... on Blob {{ text }} }}" for at in range(len(READ)))}
  }}
}}
"""


class RequiredCheck(Reply):
    """`app_id` of branch protection, `integration_id` of a ruleset; none: any source will do."""

    context: str
    app_id: int | None = None
    integration_id: int | None = None


class RequiredChecks(Reply):
    checks: tuple[RequiredCheck, ...] = ()
    contexts: tuple[str, ...] = ()


class Protection(Reply):
    required_status_checks: RequiredChecks | None = None


class Branch(Reply):
    protection: Protection = Protection()


class Parameters(Reply):
    required_status_checks: tuple[RequiredCheck, ...] = ()


class Rule(Reply):
    type: str
    parameters: Parameters = Parameters()


class Rules(RootModel[tuple[Rule, ...]]):
    pass


class Named(Reply):
    default_branch: str


class Queue(Reply):
    id: str


class Queued(Reply):
    mergeQueue: Queue | None = None  # noqa: N815 - GraphQL's name


class QueuedRepository(Reply):
    repository: Queued


class Owning(Reply):
    """One field for each file that is read."""

    repository: dict[str, Blob | None]


def look(settings: Settings, clock: Clock, repository: RepositoryName) -> Gate:
    """Ask GitHub as the App. Raises AssayError for what it can't do without."""
    return as_app(settings, clock, lambda api: _looked(settings, clock, repository, api))


def _looked(settings: Settings, clock: Clock, repository: RepositoryName, api: Api) -> Gate:
    found = installation_of(api, repository)
    if found is None:
        return Gate(repository)
    with inside(settings, clock, api, (found, repository), ("metadata", "contents", "merge_queues")) as there:
        branch = there.get(f"/repos/{repository}", Named).default_branch
        rules = _rules(there, repository, branch)
        required = (*_classic(there, repository, branch), *_ruled(rules))
        is_queued = any(rule.type == "merge_queue" for rule in rules) or _has_queue(there, repository, branch)
        *owning, config = _texts(there, repository, branch)
        return Gate(
            repository,
            of_installation(found),
            branch,
            required,
            is_queued,
            _teams(next((text for text in owning if text is not None), "")),
            configured([ConfigText(origin=ConfigOrigin.REPOSITORY, text=config or "")]).config.authors,
        )


def _classic(api: Api, repository: RepositoryName, branch: str) -> Iterator[Requirement]:
    """Branch protection, of which GitHub shows this much to whoever may read the contents."""
    found = api.get(f"/repos/{repository}/branches/{quote(branch, safe='')}", Branch).protection.required_status_checks
    if found is None:
        return
    checks = found.checks or tuple(RequiredCheck(context=one) for one in found.contexts)
    yield from (Requirement("branch protection", _pinned(one.app_id)) for one in checks if one.context == CHECK_NAME)


def _rules(api: Api, repository: RepositoryName, branch: str) -> tuple[Rule, ...]:
    """The rules in force, of the repository's rulesets and its organization's. An old Enterprise Server has none."""
    try:
        return api.get(f"/repos/{repository}/rules/branches/{quote(branch, safe='')}", Rules, per_page=100).root
    except Gone:
        return ()


def _ruled(rules: tuple[Rule, ...]) -> Iterator[Requirement]:
    for rule in rules:
        for one in rule.parameters.required_status_checks if rule.type == "required_status_checks" else ():
            if one.context == CHECK_NAME:
                yield Requirement("a ruleset", _pinned(one.integration_id))


def _has_queue(api: Api, repository: RepositoryName, branch: str) -> bool | None:
    """A queue that branch protection asks for, which no ruleset tells. None: we may not see it."""
    owner, _, name = repository.partition("/")
    try:
        found = api.query(QUEUE, {"owner": owner, "name": name, "branch": branch}, QueuedRepository)
    except AssayError:
        return None
    return found.repository.mergeQueue is not None


def _texts(api: Api, repository: RepositoryName, branch: str) -> list[str | None]:
    """What stands in each of the files that are read; None: it is not there, or we may not see it."""
    owner, _, name = repository.partition("/")
    places = {f"place_{at}": f"{branch}:{place}" for at, place in enumerate(READ)}
    try:
        found = api.query(OWNERS, {"owner": owner, "name": name, **places}, Owning).repository
    except AssayError:
        return [None for _ in READ]
    blobs = [found.get(place) for place in places]
    return [None if blob is None else blob.text for blob in blobs]


def _teams(owning: str) -> tuple[str, ...]:
    """Teams that CODEOWNERS names."""
    return tuple(dict.fromkeys(one.name for rule in rules_of(owning) for one in rule.owners if one.team is not None))


def _pinned(app_id: int | None) -> int | None:
    """Branch protection says -1 as well as nothing where any source will do."""
    return app_id if app_id is not None and app_id > 0 else None
