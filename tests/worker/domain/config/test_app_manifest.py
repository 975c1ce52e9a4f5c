"""The App manifest: requested permissions and events, and the addresses that it accepts."""

import pytest

from worker.domain.config.app_manifest import (
    SetupForm,
    SetupFormError,
    build_manifest,
    check_address,
    guess_address,
    is_loopback,
    read_setup_form,
    register_url,
    web_url,
)
from worker.domain.config.app_permissions import OptIn, requested_permissions

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


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://ghe.example.org/api/v3", "https://ghe.example.org"),
        ("https://ghe.example.org/api/v3/", "https://ghe.example.org"),
        ("https://api.acme.ghe.com", "https://acme.ghe.com"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000"),
    ],
)
def test_web_url_belongs_to_the_api(api: str, web: str) -> None:
    assert web_url(api) == web


def test_manifest_is_posted_to_personal_or_organization_settings() -> None:
    assert register_url("https://api.github.com", "", "s&t") == "https://github.com/settings/apps/new?state=s%26t"
    organization = register_url("https://g.example/api/v3", "acme", "s")
    assert organization == "https://g.example/organizations/acme/settings/apps/new?state=s"
