"""The App's permissions: required, optional, granted and missing ones."""

from collections import Counter

import pytest

from app.ingest.events import SUBSCRIBED_EVENTS
from worker.domain.config.app_permissions import (
    CORE_PERMISSIONS,
    DEFAULT_OPT_INS,
    EVENT_PERMISSIONS,
    IMPLICIT_EVENTS,
    OPT_IN_SETTINGS,
    OPTIONAL_PERMISSIONS,
    AppInstallation,
    OptIn,
    PermissionLevel,
    RepositoryProtection,
    Requirement,
    RequirementSource,
    find_declined,
    find_missing_opt_ins,
    find_missing_permissions,
    find_optional,
    find_requirement_source,
    is_sufficient,
    list_unapproved,
    requested_permissions,
    select_events,
)


def test_core_permissions_write_only_checks() -> None:
    read = ("metadata", "contents", "pull_requests", "issues", "actions", "statuses")
    assert requested_permissions([]) == {**dict.fromkeys(read, "read"), "checks": "write"}


def test_each_opt_in_adds_its_own_permission() -> None:
    assert requested_permissions([OptIn.MERGE_QUEUE]) == requested_permissions([]) | {"merge_queues": "read"}
    for either in (OptIn.COMMENTS, OptIn.REACTIONS):
        assert requested_permissions([either]) == requested_permissions([]) | {"pull_requests": "write"}
    added = {"pull_requests": "write", "merge_queues": "read", "security_events": "write"}
    assert requested_permissions(OptIn) == requested_permissions([]) | added


def test_sarif_upload_is_no_default_opt_in() -> None:
    assert frozenset(OptIn) - DEFAULT_OPT_INS == {OptIn.CODE_SCANNING}


def test_opt_ins_keep_the_core_permissions() -> None:
    assert find_missing_permissions(requested_permissions(OptIn)) == ()


def test_sensitive_permissions_are_never_requested() -> None:
    names = {item.name for item in CORE_PERMISSIONS} | {item.permission.name for item in OPTIONAL_PERMISSIONS}
    assert not names & {"administration", "secrets", "workflows", "members", "organization_administration"}
    assert requested_permissions(OptIn)["contents"] == PermissionLevel.READ


def test_each_permission_has_a_reason_and_each_opt_in_a_consequence() -> None:
    assert all(permission.reason for permission in CORE_PERMISSIONS)
    assert all(optional.permission.reason and optional.consequence for optional in OPTIONAL_PERMISSIONS)
    assert {optional.opt_in for optional in OPTIONAL_PERMISSIONS} == set(OptIn)
    assert len({permission.name for permission in CORE_PERMISSIONS}) == len(CORE_PERMISSIONS)


def test_each_subscribed_event_has_a_known_permission() -> None:
    assert [event for event in sorted(SUBSCRIBED_EVENTS - IMPLICIT_EVENTS) if event not in EVENT_PERMISSIONS] == []


def test_app_subscribes_only_to_events_of_its_permissions() -> None:
    wanted = {"pull_request", "merge_group", "member", "installation", "made_up"}
    assert select_events(wanted, requested_permissions([])) == ("pull_request",)
    assert select_events(wanted, requested_permissions([OptIn.MERGE_QUEUE])) == ("merge_group", "pull_request")


@pytest.mark.parametrize(("granted", "is_enough"), [("read", False), ("write", True), ("admin", True), ("", False)])
def test_higher_permission_level_is_sufficient(granted: str, is_enough: bool) -> None:  # noqa: FBT001 - a table
    checks = next(permission for permission in CORE_PERMISSIONS if permission.name == "checks")
    assert is_sufficient({"checks": granted}, checks) is is_enough
    assert not is_sufficient({}, checks)


def test_missing_permissions_are_separate_from_missing_opt_ins() -> None:
    assert find_missing_permissions(requested_permissions([])) == ()
    missing = find_missing_permissions(requested_permissions([]) | {"checks": "read"})
    assert [permission.label for permission in missing] == ["checks: write"]
    opt_ins = [optional.opt_in for optional in find_missing_opt_ins(requested_permissions([]))]
    assert opt_ins == [OptIn.COMMENTS, OptIn.REACTIONS, OptIn.MERGE_QUEUE, OptIn.CODE_SCANNING]
    assert find_missing_opt_ins(requested_permissions(OptIn)) == ()
    assert find_optional(OptIn.MERGE_QUEUE).permission.label == "merge_queues: read"


@pytest.mark.parametrize(
    ("chosen", "declined"),
    [
        ([OptIn.COMMENTS], [OptIn.REACTIONS]),
        ([OptIn.REACTIONS, OptIn.MERGE_QUEUE], [OptIn.COMMENTS]),
        ([OptIn.COMMENTS, OptIn.REACTIONS], []),
        ([OptIn.MERGE_QUEUE], []),
        ([], []),
    ],
)
def test_unchosen_opt_in_is_declined_when_another_shares_its_permission(
    chosen: list[OptIn], declined: list[OptIn]
) -> None:
    assert [optional.opt_in for optional in find_declined(chosen)] == declined


def test_opt_in_with_its_own_permission_has_no_setting() -> None:
    names = Counter(optional.permission.name for optional in OPTIONAL_PERMISSIONS)
    shared = {optional.opt_in for optional in OPTIONAL_PERMISSIONS if names[optional.permission.name] > 1}
    assert shared == set(OPT_IN_SETTINGS.values())


OURS = 4711


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([], RequirementSource.NONE),
        ([None], RequirementSource.ANYBODYS),
        ([OURS], RequirementSource.OURS),
        ([None, OURS], RequirementSource.OURS),
        ([99], RequirementSource.ANOTHERS),
        ([OURS, 99], RequirementSource.ANOTHERS),
        ([None, 99], RequirementSource.ANOTHERS),
    ],
)
def test_required_check_is_ours_unless_another_app_is_named(
    sources: list[int | None], expected: RequirementSource
) -> None:
    requirements = tuple(Requirement("a ruleset", source) for source in sources)
    protection = RepositoryProtection("acme/widgets", requirements=requirements)
    assert find_requirement_source(protection, OURS) is expected


def test_unapproved_permissions_are_those_beyond_the_granted() -> None:
    installed = AppInstallation(1, "acme", {"checks": "write", "contents": "read", "issues": "read"})
    asked = {"checks": "read", "contents": "read", "issues": "write", "merge_queues": "read"}
    assert list_unapproved(asked, installed) == ("issues: write", "merge_queues: read")
    assert list_unapproved({}, installed) == ()
