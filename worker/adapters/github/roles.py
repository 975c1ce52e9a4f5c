"""What an account may do in a repository, by GitHub's own answer.

Does not know any command. Invariant: the association that a comment or a pull request shows gives no role.
"""

from typing import Final
from urllib.parse import quote

from pydantic import RootModel

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.responses import PermissionResponse, RestResponse
from worker.domain.config.command_permissions import Role
from worker.domain.ids import RepositoryName
from worker.errors import SubjectGone

PER_PAGE: Final = 100
USER_TYPE: Final = "User"


class AbilitiesResponse(RestResponse):
    maintain: bool = False
    admin: bool = False


class CollaboratorResponse(RestResponse):
    login: str
    type: str = ""
    permissions: AbilitiesResponse | None = None


class CollaboratorsPage(RootModel[tuple[CollaboratorResponse, ...]]):
    """A page of those who have access to a repository."""


class PermittedUser(RestResponse):
    permissions: AbilitiesResponse = AbilitiesResponse()


class CollaboratorPermission(PermissionResponse):
    """`permission` knows no `maintain`, and `role_name` may be a word of the organization's own."""

    user: PermittedUser | None = None


def read_role(api: GitHubApi, repository: RepositoryName, login: str) -> Role:
    """The role of an account. One that is gone has none.

    A role of an organization's own counts as the one that it is made from.
    """
    try:
        permission = api.get(
            f"/repos/{repository}/collaborators/{quote(login, safe='')}/permission", CollaboratorPermission
        )
    except SubjectGone:
        return Role.NONE
    may_maintain = (
        permission.permission != Role.ADMIN and permission.user is not None and permission.user.permissions.maintain
    )
    role_names = (permission.role_name, Role.MAINTAIN if may_maintain else "", permission.permission)
    return next((Role(name) for name in role_names if name in set(Role)), Role.NONE)


def list_maintainers(api: GitHubApi, repository: RepositoryName) -> set[str] | None:
    """The accounts of people who may maintain or administer a repository; None: more have access than one page shows."""
    accounts = api.get(f"/repos/{repository}/collaborators", CollaboratorsPage, per_page=PER_PAGE).root
    if len(accounts) == PER_PAGE:
        return None
    abilities = [(account.login, account.permissions) for account in accounts if account.type == USER_TYPE]
    return {login.casefold() for login, may in abilities if may is not None and (may.maintain or may.admin)}
