"""Whether merges of a repository wait for our check, and what each installation granted. None means unknown, never "no"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from worker.domain.config.app_permissions import LEVEL_RANKS
from worker.domain.config.config import Authors


@dataclass(frozen=True)
class AppInstallation:
    """One installation of the App: its account, and the permissions that its owner approved."""

    id: int
    account: str
    permissions: Mapping[str, str]
    url: str = ""
    is_suspended: bool = False


@dataclass(frozen=True)
class Requirement:
    """A rule that requires the check. `by`: which rule. `app_id`: from which App; None: from any source."""

    by: str
    app_id: int | None


@dataclass(frozen=True)
class RepositoryProtection:
    """`installation` None: the App is not installed there, and nothing more is known.

    `teams`: those that own files there; GitHub does not show an App their members. `authors`: the kinds of author that its
    configuration has judged.
    """

    repository: str
    installation: AppInstallation | None = None
    branch: str = ""
    requirements: tuple[Requirement, ...] = ()
    has_queue: bool | None = None
    teams: tuple[str, ...] = ()
    authors: Authors = field(default_factory=Authors)


class RequirementSource(StrEnum):
    """Whose check the rules require."""

    OURS = "ours"
    ANYBODYS = "anybodys"
    ANOTHERS = "anothers"
    NONE = "none"


def find_requirement_source(gate: RepositoryProtection, our_app_id: int) -> RequirementSource:
    """Whose check is required. All requirements have to be met: one of another App decides, else one that names us is enough."""
    sources = {requirement.app_id for requirement in gate.requirements}
    if sources - {our_app_id, None}:
        return RequirementSource.ANOTHERS
    if our_app_id in sources:
        return RequirementSource.OURS
    return RequirementSource.ANYBODYS if sources else RequirementSource.NONE


def list_unapproved(asked: Mapping[str, str], installed: AppInstallation) -> tuple[str, ...]:
    """The permissions in *asked* that this installation's owner has not approved (yet), each as `name: level`."""
    ranks = {name: LEVEL_RANKS.get(level, 0) for name, level in installed.permissions.items()}
    lacking = (name for name in sorted(asked) if LEVEL_RANKS.get(asked[name], 0) > ranks.get(name, 0))
    return tuple(f"{name}: {asked[name]}" for name in lacking)
