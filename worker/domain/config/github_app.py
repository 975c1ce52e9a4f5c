"""The GitHub App: what it asks for, what installations granted, whether merges wait for our check, and the manifest that makes it.

docs/permissions.md, the manifest and `assay doctor` are made of the two tables of permissions. None means unknown, never "no".
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypedDict
from urllib.parse import urlencode, urlsplit

from worker.domain.config.config import Authors
from worker.domain.pattern import pattern


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


WEBHOOKS: Final = "/github/webhooks"
CALLBACK: Final = "/setup/callback"
LONGEST_ADDRESS: Final = 200
ADDRESS: Final = pattern(r"https?://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)(:(?P<port>\d{1,5}))?(/[\w./~-]*)?", re.ASCII)
LAST_PORT: Final = 65_535
LONGEST_NAME: Final = 34
"""GitHub's limit for an App's name."""
LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class SetupForm:
    """The filled form: the address of Assay, that of deliveries, the App's organization ("": the user's own), and the opt-ins."""

    address: str
    webhook_base: str
    organization: str
    opt_ins: frozenset[OptIn]


class HookAttributes(TypedDict):
    url: str
    active: bool


class Manifest(TypedDict):
    """As GitHub reads it."""

    name: str
    description: str
    url: str
    hook_attributes: HookAttributes
    redirect_url: str
    public: bool
    default_permissions: dict[str, str]
    default_events: list[str]


class SetupFormError(Exception):
    """A field that can't be used; the message names what is expected."""


def read_setup_form(address: str, deliveries: str, organization: str, opt_ins: Iterable[str]) -> SetupForm:
    """Read the fields of the form. Raises SetupFormError."""
    here = check_address(address, "The address of this Assay")
    there = check_address(deliveries, "Where deliveries go") if deliveries.strip() else here + WEBHOOKS
    if not re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9-]{0,38})?", organization.strip()):
        raise SetupFormError(
            "The organization: expected its name as in github.com/NAME, or nothing for your own account."
        )
    by_name = {str(opt_in): opt_in for opt_in in OptIn}
    return SetupForm(here, there, organization.strip(), frozenset(by_name[name] for name in opt_ins if name in by_name))


def check_address(address: str, name: str) -> str:
    """The address without its last slash. Raises SetupFormError."""
    text = address.strip().rstrip("/")
    match = ADDRESS.fullmatch(text) if len(text) <= LONGEST_ADDRESS else None
    expected = f"{name}: expected https://HOST, with a path if need be, and nothing else"
    if match is None or int(match["port"] or 0) > LAST_PORT:
        raise SetupFormError(f"{expected}.")
    if text.startswith("http://") and not is_loopback(text):
        raise SetupFormError(
            f"{expected}. http:// is for this machine alone: the App's key would cross the network readably."
        )
    return text


def is_loopback(address: str) -> bool:
    """Whether this is an address that GitHub can't reach."""
    return urlsplit(address).hostname in LOOPBACK_HOSTS


def guess_address(host: str) -> str:
    """The address that a browser asked for, to be confirmed by its user; "": none."""
    match = re.fullmatch(r"(\[[0-9a-f:]+\]|[A-Za-z0-9.-]{1,150})(:\d{1,5})?", host, re.ASCII)
    if match is None:
        return ""
    return f"{'http' if match[1].strip('[]') in LOOPBACK_HOSTS else 'https'}://{host}"


def register_url(site: str, organization: str, state: str) -> str:
    """The address that a browser posts the manifest to; *site*: where people use GitHub."""
    owner = f"/organizations/{organization}" if organization else ""
    return f"{site}{owner}/settings/apps/new?{urlencode({'state': state})}"


def build_manifest(wanted: SetupForm, subscribed: Iterable[str]) -> Manifest:
    """The App that GitHub is asked to create."""
    permissions = requested_permissions(wanted.opt_ins)
    name = f"Assay for {wanted.organization}" if wanted.organization else "Assay"
    return {
        "name": name[:LONGEST_NAME],
        "description": "Judges agent-written pull requests: a proper solution, or does it just happen to pass?",
        "url": wanted.address,
        "hook_attributes": {"url": wanted.webhook_base, "active": True},
        "redirect_url": wanted.address + CALLBACK,
        "public": False,
        "default_permissions": permissions,
        "default_events": list(select_events(subscribed, permissions)),
    }
