"""The App's permissions: required, optional, granted and missing ones."""

from collections import Counter

import pytest

from app.ingest.events import SUBSCRIBED_EVENTS
from worker.domain.config.github_app import (
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
    SetupForm,
    SetupFormError,
    build_manifest,
    check_address,
    find_declined,
    find_missing_opt_ins,
    find_missing_permissions,
    find_optional,
    find_requirement_source,
    guess_address,
    is_loopback,
    is_sufficient,
    list_unapproved,
    read_setup_form,
    register_url,
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


HOME = "https://assay.example.org"


def test_manifest_asks_for_the_documented_permissions_and_events() -> None:
    form = read_setup_form(HOME, "", "acme", ["merge_queue"])
    assert build_manifest(form, {"pull_request", "merge_group", "installation"}) == {
        "name": "Assay for acme",
        "description": "Judges agent-written pull requests: a proper solution, or does it just happen to pass?",
        "url": HOME,
        "hook_attributes": {"url": f"{HOME}/github/webhooks", "active": True},
        "redirect_url": f"{HOME}/setup/callback",
        "public": False,
        "default_permissions": requested_permissions([OptIn.MERGE_QUEUE]),
        "default_events": ["merge_group", "pull_request"],
    }


def test_event_without_its_permission_is_left_out() -> None:
    manifest = build_manifest(read_setup_form(HOME, "", "", []), {"pull_request", "merge_group"})
    assert manifest["default_events"] == ["pull_request"]


def test_app_name_keeps_the_length_limit_of_github() -> None:
    assert build_manifest(read_setup_form(HOME, "", "", []), ())["name"] == "Assay"
    assert len(str(build_manifest(read_setup_form(HOME, "", "a" * 39, []), ())["name"])) == 34


def test_setup_form_accepts_a_tunnel_and_drops_unknown_opt_ins() -> None:
    tunnel = "https://tunnel.example/abc"
    form = read_setup_form(f" {HOME}/ ", tunnel, " acme ", ["comments", "administration"])
    assert form == SetupForm(HOME, tunnel, "acme", frozenset({OptIn.COMMENTS}))


@pytest.mark.parametrize(
    "address",
    [
        "https://assay.example.org",
        "https://a.b:8443/assay",
        "http://localhost:8000",
        "http://127.0.0.1:1",
        "http://[::1]:8000",
    ],
)
def test_valid_address_is_kept(address: str) -> None:
    assert check_address(address, "It") == address


@pytest.mark.parametrize(
    "address",
    [
        "", "assay.example.org", "ftp://a.b", "javascript:alert(1)", "https://", "https://a b", "https://user:pw@a.b",
        "https://a.b?x=1", "https://a.b#x", 'https://a.b/"><script>', "https://a.b/\r\nX: y", "https://ä.b",
        "http://assay.example.org", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "https://" + "a" * 200,
        "https://a.b:999999", "https://a.b@evil.example", "https://a.bé",
    ],
)  # fmt: skip
def test_misleading_address_is_refused_with_what_is_expected(address: str) -> None:
    with pytest.raises(SetupFormError, match=r"^It: expected https://HOST"):
        check_address(address, "It")


@pytest.mark.parametrize("organization", ["a/b", "-a", "a" * 40, "a b", "../settings", "a?x"])
def test_organization_must_be_a_plain_name(organization: str) -> None:
    with pytest.raises(SetupFormError, match=r"^The organization"):
        read_setup_form(HOME, "", organization, [])


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("assay.example.org", "https://assay.example.org"),
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("a.b:8443", "https://a.b:8443"),
        ('x"><script>', ""),
        ("a.b/evil", ""),
        ("user@a.b", ""),
        ("a" * 151, ""),
        ("", ""),
    ],
)
def test_host_header_is_offered_only_when_it_is_a_host(host: str, address: str) -> None:
    assert guess_address(host) == address


def test_loopback_address_is_recognised() -> None:
    assert is_loopback("http://localhost:8000/x")
    assert not is_loopback(HOME)


def test_manifest_is_posted_to_personal_or_organization_settings() -> None:
    assert register_url("https://github.com", "", "s&t") == "https://github.com/settings/apps/new?state=s%26t"
    organization = register_url("https://g.example", "acme", "s")
    assert organization == "https://g.example/organizations/acme/settings/apps/new?state=s"
