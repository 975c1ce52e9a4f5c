"""What the App asks for, and that it is no more than what is written down."""

import pytest

from app.ingest.events import SUBSCRIBED
from worker.domain.config.app_permissions import (
    CORE,
    EXTRAS,
    NEEDED_BY,
    OFFERED,
    SWITCHES,
    UNASKED,
    Level,
    OptIn,
    asked,
    declined_of,
    events,
    extra,
    lacking,
    suffices,
    switched_off,
)


def test_judging_alone_writes_nothing_but_checks() -> None:
    assert asked([]) == {
        "metadata": "read",
        "contents": "read",
        "pull_requests": "read",
        "issues": "read",
        "actions": "read",
        "statuses": "read",
        "checks": "write",
    }


def test_an_opt_in_adds_its_one_permission_and_raises_what_is_there() -> None:
    assert asked([OptIn.MERGE_QUEUE]) == asked([]) | {"merge_queues": "read"}
    for either in (OptIn.COMMENTS, OptIn.REACTIONS):
        assert asked([either]) == asked([]) | {"pull_requests": "write"}
    assert asked(OptIn) == asked([]) | {"pull_requests": "write", "merge_queues": "read", "security_events": "write"}


def test_sarif_is_offered_and_not_chosen() -> None:
    assert frozenset(OptIn) - OFFERED == {OptIn.CODE_SCANNING}


def test_no_opt_in_lowers_what_judging_needs() -> None:
    assert lacking(asked(OptIn)) == ()


def test_code_settings_and_secrets_are_never_asked_for() -> None:
    names = {one.name for one in CORE} | {one.permission.name for one in EXTRAS}
    assert not names & {"administration", "secrets", "workflows", "members", "organization_administration"}
    assert asked(OptIn)["contents"] == Level.READ


def test_every_permission_says_what_it_is_for_and_every_opt_in_what_is_lost() -> None:
    assert all(one.reason for one in CORE)
    assert all(one.permission.reason and one.lost for one in EXTRAS)
    assert {one.opt_in for one in EXTRAS} == set(OptIn)
    assert len({one.name for one in CORE}) == len(CORE)


def test_every_event_that_we_read_has_a_permission_that_is_known() -> None:
    assert [one for one in sorted(SUBSCRIBED - UNASKED) if one not in NEEDED_BY] == []


def test_an_app_subscribes_only_to_what_its_permissions_allow() -> None:
    wanted = {"pull_request", "merge_group", "member", "installation", "made_up"}
    assert events(wanted, asked([])) == ("pull_request",)
    assert events(wanted, asked([OptIn.MERGE_QUEUE])) == ("merge_group", "pull_request")


@pytest.mark.parametrize(("granted", "is_enough"), [("read", False), ("write", True), ("admin", True), ("", False)])
def test_a_higher_level_is_enough_and_a_lower_one_is_not(granted: str, is_enough: bool) -> None:  # noqa: FBT001 - a table
    checks = next(one for one in CORE if one.name == "checks")
    assert suffices({"checks": granted}, checks) is is_enough
    assert not suffices({}, checks)


def test_what_is_missing_is_told_apart_from_what_is_switched_off() -> None:
    assert lacking(asked([])) == ()
    assert [one.spelled for one in lacking(asked([]) | {"checks": "read"})] == ["checks: write"]
    assert [one.opt_in for one in switched_off(asked([]))] == [
        OptIn.COMMENTS,
        OptIn.REACTIONS,
        OptIn.MERGE_QUEUE,
        OptIn.CODE_SCANNING,
    ]
    assert switched_off(asked(OptIn)) == ()
    assert extra(OptIn.MERGE_QUEUE).permission.spelled == "merge_queues: read"


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
    assert [one.opt_in for one in declined_of(chosen)] == declined


def test_a_choice_that_has_its_permission_to_itself_needs_no_switch() -> None:
    alone = [one for one in EXTRAS if [two.permission.name for two in EXTRAS].count(one.permission.name) == 1]
    assert {one.opt_in for one in EXTRAS if one not in alone} == set(SWITCHES.values())
