"""What the App asks for, and that it is no more than what is written down."""

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


def test_judging_alone_writes_nothing_but_checks() -> None:
    assert requested_permissions([]) == {
        "metadata": "read",
        "contents": "read",
        "pull_requests": "read",
        "issues": "read",
        "actions": "read",
        "statuses": "read",
        "checks": "write",
    }


def test_an_opt_in_adds_its_one_permission_and_raises_what_is_there() -> None:
    assert requested_permissions([OptIn.MERGE_QUEUE]) == requested_permissions([]) | {"merge_queues": "read"}
    for either in (OptIn.COMMENTS, OptIn.REACTIONS):
        assert requested_permissions([either]) == requested_permissions([]) | {"pull_requests": "write"}
    assert requested_permissions(OptIn) == requested_permissions([]) | {
        "pull_requests": "write",
        "merge_queues": "read",
        "security_events": "write",
    }


def test_sarif_is_offered_and_not_chosen() -> None:
    assert frozenset(OptIn) - DEFAULT_OPT_INS == {OptIn.CODE_SCANNING}


def test_no_opt_in_lowers_what_judging_needs() -> None:
    assert find_missing_permissions(requested_permissions(OptIn)) == ()


def test_code_settings_and_secrets_are_never_asked_for() -> None:
    names = {item.name for item in CORE_PERMISSIONS} | {item.permission.name for item in OPTIONAL_PERMISSIONS}
    assert not names & {"administration", "secrets", "workflows", "members", "organization_administration"}
    assert requested_permissions(OptIn)["contents"] == PermissionLevel.READ


def test_every_permission_says_what_it_is_for_and_every_opt_in_what_is_lost() -> None:
    assert all(permission.reason for permission in CORE_PERMISSIONS)
    assert all(optional.permission.reason and optional.consequence for optional in OPTIONAL_PERMISSIONS)
    assert {optional.opt_in for optional in OPTIONAL_PERMISSIONS} == set(OptIn)
    assert len({permission.name for permission in CORE_PERMISSIONS}) == len(CORE_PERMISSIONS)


def test_every_event_that_we_read_has_a_permission_that_is_known() -> None:
    assert [event for event in sorted(SUBSCRIBED_EVENTS - IMPLICIT_EVENTS) if event not in EVENT_PERMISSIONS] == []


def test_an_app_subscribes_only_to_what_its_permissions_allow() -> None:
    wanted = {"pull_request", "merge_group", "member", "installation", "made_up"}
    assert select_events(wanted, requested_permissions([])) == ("pull_request",)
    assert select_events(wanted, requested_permissions([OptIn.MERGE_QUEUE])) == ("merge_group", "pull_request")


@pytest.mark.parametrize(("granted", "is_enough"), [("read", False), ("write", True), ("admin", True), ("", False)])
def test_a_higher_level_is_enough_and_a_lower_one_is_not(granted: str, is_enough: bool) -> None:  # noqa: FBT001 - a table
    checks = next(permission for permission in CORE_PERMISSIONS if permission.name == "checks")
    assert is_sufficient({"checks": granted}, checks) is is_enough
    assert not is_sufficient({}, checks)


def test_what_is_missing_is_told_apart_from_what_is_switched_off() -> None:
    assert find_missing_permissions(requested_permissions([])) == ()
    assert [
        permission.label for permission in find_missing_permissions(requested_permissions([]) | {"checks": "read"})
    ] == ["checks: write"]
    assert [optional.opt_in for optional in find_missing_opt_ins(requested_permissions([]))] == [
        OptIn.COMMENTS,
        OptIn.REACTIONS,
        OptIn.MERGE_QUEUE,
        OptIn.CODE_SCANNING,
    ]
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
def test_what_was_not_chosen_is_declined_where_another_choice_brings_its_permission(
    chosen: list[OptIn], declined: list[OptIn]
) -> None:
    assert [optional.opt_in for optional in find_declined(chosen)] == declined


def test_a_choice_that_has_its_permission_to_itself_needs_no_switch() -> None:
    alone = [
        optional
        for optional in OPTIONAL_PERMISSIONS
        if [two.permission.name for two in OPTIONAL_PERMISSIONS].count(optional.permission.name) == 1
    ]
    assert {optional.opt_in for optional in OPTIONAL_PERMISSIONS if optional not in alone} == set(
        OPT_IN_SETTINGS.values()
    )


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
def test_one_requirement_that_names_us_is_enough_and_one_of_another_app_is_too_much(
    sources: list[int | None], expected: RequirementSource
) -> None:
    gate = RepositoryProtection(
        "acme/widgets", requirements=tuple(Requirement("a ruleset", source) for source in sources)
    )
    assert find_requirement_source(gate, OURS) is expected


def test_what_was_not_approved_is_what_is_asked_beyond_what_was_granted() -> None:
    installed = AppInstallation(1, "acme", {"checks": "write", "contents": "read", "issues": "read"})
    asked = {"checks": "read", "contents": "read", "issues": "write", "merge_queues": "read"}
    assert list_unapproved(asked, installed) == ("issues: write", "merge_queues: read")
    assert list_unapproved({}, installed) == ()
