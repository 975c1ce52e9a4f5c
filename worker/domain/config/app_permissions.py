"""What the GitHub App asks for: the permissions that judging needs, and those that only add to it.

Does not ask GitHub (`worker.adapters.github.doctor` does) and knows no words for people (`worker.publishing.texts.permissions` does). Invariant: what
is not in these two tables is never asked for; docs/permissions.md, the manifest and `assay doctor` are made of them.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.value import Value


class Level(StrEnum):
    READ = "read"
    WRITE = "write"


RANK: Final[Mapping[str, int]] = MappingProxyType({Level.READ: 1, Level.WRITE: 2, "admin": 3})


class Permission(Value):
    """One permission. *name* as the API spells it, *title* as GitHub's pages do; *reason*: what it is needed for."""

    name: str
    level: Level
    title: str
    reason: str

    @property
    def spelled(self) -> str:
        return f"{self.name}: {self.level}"


CORE: Final = (
    Permission("metadata", Level.READ, "Metadata", "read names, rulesets and who may command; every App is given it"),
    Permission("contents", Level.READ, "Contents", "read the change, the files around it, and .github/assay.yml"),
    Permission("pull_requests", Level.READ, "Pull requests", "read what is judged, and hear of pushes"),
    Permission("issues", Level.READ, "Issues", "read what was asked for, and comments with commands"),
    Permission("actions", Level.READ, "Actions", "read the logs of failing jobs"),
    Permission(
        "statuses", Level.READ, "Commit statuses", "see CI that reports statuses: nothing may pass while one fails"
    ),
    Permission("checks", Level.WRITE, "Checks", "write the one check that Assay is, and see the others"),
)
"""Without any one of these nothing is judged, or something would be judged wrongly."""


class OptIn(StrEnum):
    COMMENTS = "comments"
    REACTIONS = "reactions"
    MERGE_QUEUE = "merge_queue"
    CODE_SCANNING = "code_scanning"


class Extra(Value):
    """A permission that judging does without. *lost*: what does not work without it.

    *switch*: the setting that declines it where another opt-in brings its permission; "": it has that to itself.
    """

    opt_in: OptIn
    permission: Permission
    lost: str
    switch: str = ""


EXTRAS: Final = (
    Extra(
        OptIn.COMMENTS,
        Permission(
            "pull_requests",
            Level.WRITE,
            "Pull requests",
            "comment on pull requests, answer commands, set a label, ask for a review",
        ),
        "the agent gets no comment, commands get no answer in words, and no review is requested; "
        "verdicts stand on the check alone",
        switch="ASSAY_COMMENTS",
    ),
    Extra(
        OptIn.REACTIONS,
        Permission(
            "pull_requests",
            Level.WRITE,
            "Pull requests",
            "react to commands, so that they are seen to be taken or refused",
        ),
        "commands get no reaction: what follows shows on the check, and a refusal only in an answer",
        switch="ASSAY_REACTIONS",
    ),
    Extra(
        OptIn.MERGE_QUEUE,
        Permission("merge_queues", Level.READ, "Merge queues", "hear of merge groups, and answer for them"),
        "merge groups get no answer: where Assay is required, a merge queue waits until it times out",
    ),
    Extra(
        OptIn.CODE_SCANNING,
        Permission(
            "security_events", Level.WRITE, "Code scanning alerts", "upload SARIF where a repository sets `sarif: true`"
        ),
        "no SARIF is uploaded; where a repository wants it, its checks say so",
    ),
)

SWITCHES: Final[Mapping[str, OptIn]] = MappingProxyType({one.switch: one.opt_in for one in EXTRAS if one.switch})
"""Each setting that declines an opt-in."""

OFFERED: Final = frozenset(OptIn) - {OptIn.CODE_SCANNING}
"""What /setup has ticked already."""

NEEDED_BY: Final[Mapping[str, str]] = MappingProxyType(
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
"""Which permission GitHub wants of who subscribes to an event. A manifest with an event and not its permission is refused."""

UNASKED: Final = frozenset(
    {"installation", "installation_repositories", "installation_target", "github_app_authorization"}
)
"""Every App hears of these, and none subscribes to them."""


def extra(opt_in: OptIn) -> Extra:
    return next(one for one in EXTRAS if one.opt_in is opt_in)


def asked(opt_ins: Iterable[OptIn]) -> dict[str, str]:
    """The permissions of an App with these opt-ins, as a manifest spells them."""
    wanted = [
        *CORE,
        *(extra(one).permission for one in sorted(opt_ins)),
    ]  # an opt-in raises what is there, and lowers nothing
    return {one.name: str(one.level) for one in wanted}


def declined_of(opt_ins: Collection[OptIn]) -> tuple[Extra, ...]:
    """What was not chosen although its permission comes with what was: only a setting keeps it from being done."""
    granted = asked(opt_ins)
    left = [one for one in EXTRAS if one.opt_in not in opt_ins]
    return tuple(one for one in left if one.switch and suffices(granted, one.permission))


def events(subscribed: Iterable[str], granted: Mapping[str, str]) -> tuple[str, ...]:
    """What an App with these permissions may subscribe to, of what we would like to hear."""
    return tuple(sorted(one for one in set(subscribed) - UNASKED if NEEDED_BY.get(one) in granted))


def suffices(granted: Mapping[str, str], permission: Permission) -> bool:
    return RANK.get(granted.get(permission.name, ""), 0) >= RANK[permission.level]


def lacking(granted: Mapping[str, str]) -> tuple[Permission, ...]:
    """What judging needs and was not granted."""
    return tuple(one for one in CORE if not suffices(granted, one))


def switched_off(granted: Mapping[str, str]) -> tuple[Extra, ...]:
    """The opt-ins that this does not allow."""
    return tuple(one for one in EXTRAS if not suffices(granted, one.permission))
