"""Whether merges of a repository wait for our check, and what each installation granted. None means unknown, never "no"."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.config.app_permissions import LEVEL_RANKS
from worker.domain.config.config import Authors
from worker.domain.value import Value

NO_PERMISSIONS: Final[Mapping[str, str]] = MappingProxyType({})


class AppInstallation(Value):
    """One installation of the App: whose, and what its owner approved."""

    id: int
    account: str
    permissions: Mapping[str, str]
    url: str = ""
    is_suspended: bool = False


class Requirement(Value):
    """Where the check is required, and from which App. None: from any source."""

    by: str
    app_id: int | None


class RepositoryProtection(Value):
    """`installation` None: the App is not installed there, and nothing more is known.

    `teams`: those that own files there. Nobody tells an App who is in them. `authors`: whose pull requests its own configuration
    has judged.
    """

    repository: str
    installation: AppInstallation | None = None
    branch: str = ""
    requirements: tuple[Requirement, ...] = ()
    has_queue: bool | None = None
    teams: tuple[str, ...] = ()
    authors: Authors = Authors()


class RequirementSource(StrEnum):
    """What the rules make of our check."""

    OURS = "ours"
    ANYBODYS = "anybodys"
    ANOTHERS = "anothers"
    NONE = "none"


def find_requirement_source(gate: RepositoryProtection, our_app_id: int) -> RequirementSource:
    """All requirements have to be met, so one that names us is enough, and one that names another App never is."""
    sources = {requirement.app_id for requirement in gate.requirements}
    if sources - {our_app_id, None}:
        return RequirementSource.ANOTHERS
    if our_app_id in sources:
        return RequirementSource.OURS
    return RequirementSource.ANYBODYS if sources else RequirementSource.NONE


def list_unapproved(asked: Mapping[str, str], installed: AppInstallation) -> tuple[str, ...]:
    """What the App asks for and this installation's owner has not approved (yet), each as `name: level`."""
    granted = installed.permissions
    lacks = {
        name: level
        for name, level in asked.items()
        if LEVEL_RANKS.get(level, 0) > LEVEL_RANKS.get(granted.get(name, ""), 0)
    }
    return tuple(f"{name}: {lacks[name]}" for name in sorted(lacks))
