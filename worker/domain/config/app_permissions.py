"""What the GitHub App asks for and what installations granted: permissions, and whether merges wait for our check.

docs/permissions.md, the manifest and `assay doctor` are made of the two tables of permissions. None means unknown, never "no".
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.config.config import Authors


class PermissionLevel(StrEnum):
    READ = "read"
    WRITE = "write"


LEVEL_RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {PermissionLevel.READ: 1, PermissionLevel.WRITE: 2, "admin": 3}
)


@dataclass(frozen=True)
class Permission:
    """One permission. *name* as the API spells it, *title* as GitHub's pages do; *reason*: what it is needed for."""

    name: str
    level: PermissionLevel
    title: str
    reason: str

    @property
    def label(self) -> str:
        return f"{self.name}: {self.level}"


CORE_PERMISSIONS: Final = (
    Permission(
        "metadata", PermissionLevel.READ, "Metadata", "read names, rulesets and who may command; every App is given it"
    ),
    Permission(
        "contents", PermissionLevel.READ, "Contents", "read the change, the files around it, and .github/assay.yml"
    ),
    Permission("pull_requests", PermissionLevel.READ, "Pull requests", "read what is judged, and hear of pushes"),
    Permission("issues", PermissionLevel.READ, "Issues", "read what was asked for, and comments with commands"),
    Permission("actions", PermissionLevel.READ, "Actions", "read the logs of failing jobs"),
    Permission(
        "statuses",
        PermissionLevel.READ,
        "Commit statuses",
        "see CI that reports statuses: nothing may pass while one fails",
    ),
    Permission("checks", PermissionLevel.WRITE, "Checks", "write the one check that Assay is, and see the others"),
)
"""Without any one of these nothing is judged, or judged wrongly."""


class OptIn(StrEnum):
    COMMENTS = "comments"
    REACTIONS = "reactions"
    MERGE_QUEUE = "merge_queue"
    CODE_SCANNING = "code_scanning"


@dataclass(frozen=True)
class OptionalPermission:
    """A permission that judging does not need. *consequence*: what does not work without it.

    *switch*: the setting that declines it where another opt-in has the same permission; "": no other has.
    """

    opt_in: OptIn
    permission: Permission
    consequence: str
    switch: str = ""


OPTIONAL_PERMISSIONS: Final = (
    OptionalPermission(
        OptIn.COMMENTS,
        Permission(
            "pull_requests",
            PermissionLevel.WRITE,
            "Pull requests",
            "comment on pull requests, answer commands, set a label, ask for a review",
        ),
        "the agent gets no comment, commands get no answer in words, and no review is requested; "
        "verdicts stand on the check alone",
        switch="ASSAY_COMMENTS",
    ),
    OptionalPermission(
        OptIn.REACTIONS,
        Permission(
            "pull_requests",
            PermissionLevel.WRITE,
            "Pull requests",
            "react to commands, so that they are seen to be taken or refused",
        ),
        "commands get no reaction: what follows shows on the check, and a refusal only in an answer",
        switch="ASSAY_REACTIONS",
    ),
    OptionalPermission(
        OptIn.MERGE_QUEUE,
        Permission("merge_queues", PermissionLevel.READ, "Merge queues", "hear of merge groups, and answer for them"),
        "merge groups get no answer: where Assay is required, a merge queue waits until it times out",
    ),
    OptionalPermission(
        OptIn.CODE_SCANNING,
        Permission(
            "security_events",
            PermissionLevel.WRITE,
            "Code scanning alerts",
            "upload SARIF where a repository sets `sarif: true`",
        ),
        "no SARIF is uploaded; where a repository wants it, its checks say so",
    ),
)

OPT_IN_SETTINGS: Final[Mapping[str, OptIn]] = MappingProxyType(
    {optional.switch: optional.opt_in for optional in OPTIONAL_PERMISSIONS if optional.switch}
)
"""Each setting that declines an opt-in."""

DEFAULT_OPT_INS: Final = frozenset(OptIn) - {OptIn.CODE_SCANNING}
"""The choices that /setup proposes."""

EVENT_PERMISSIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "check_run": "checks",
        "check_suite": "checks",
        "issue_comment": "issues",
        "issues": "issues",
        "label": "metadata",
        "member": "members",
        "merge_group": "merge_queues",
        "pull_request": "pull_requests",
        "pull_request_review": "pull_requests",
        "pull_request_review_comment": "pull_requests",
        "pull_request_review_thread": "pull_requests",
        "push": "contents",
        "repository": "metadata",
        "repository_ruleset": "metadata",
        "branch_protection_rule": "administration",
        "status": "statuses",
        "workflow_job": "actions",
        "workflow_run": "actions",
    }
)
"""The permission that GitHub requires for an event. It refuses a manifest with an event and without its permission."""

IMPLICIT_EVENTS: Final = frozenset(
    {"installation", "installation_repositories", "installation_target", "github_app_authorization"}
)
"""Every App gets these events, and can't subscribe to them."""


def find_optional(opt_in: OptIn) -> OptionalPermission:
    return next(optional for optional in OPTIONAL_PERMISSIONS if optional.opt_in is opt_in)


def requested_permissions(opt_ins: Iterable[OptIn]) -> dict[str, str]:
    """The permissions of an App with these opt-ins, as a manifest spells them."""
    optional = (find_optional(opt_in).permission for opt_in in sorted(opt_ins))  # they raise levels, and lower none
    return {permission.name: str(permission.level) for permission in (*CORE_PERMISSIONS, *optional)}


def find_declined(opt_ins: Collection[OptIn]) -> tuple[OptionalPermission, ...]:
    """The opt-ins that were not chosen although another one has their permission: only their setting declines them."""
    granted = requested_permissions(opt_ins)
    left = [optional for optional in OPTIONAL_PERMISSIONS if optional.opt_in not in opt_ins]
    return tuple(optional for optional in left if optional.switch and is_sufficient(granted, optional.permission))


def select_events(subscribed: Iterable[str], granted: Mapping[str, str]) -> tuple[str, ...]:
    """Those of *subscribed* that an App with these permissions may subscribe to."""
    return tuple(
        sorted(event for event in set(subscribed) - IMPLICIT_EVENTS if EVENT_PERMISSIONS.get(event) in granted)
    )


def is_sufficient(granted: Mapping[str, str], permission: Permission) -> bool:
    return LEVEL_RANKS.get(granted.get(permission.name, ""), 0) >= LEVEL_RANKS[permission.level]


def find_missing_permissions(granted: Mapping[str, str]) -> tuple[Permission, ...]:
    """The permissions that judging needs and that were not granted."""
    return tuple(permission for permission in CORE_PERMISSIONS if not is_sufficient(granted, permission))


def find_missing_opt_ins(granted: Mapping[str, str]) -> tuple[OptionalPermission, ...]:
    """The opt-ins that this does not allow."""
    return tuple(optional for optional in OPTIONAL_PERMISSIONS if not is_sufficient(granted, optional.permission))


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
