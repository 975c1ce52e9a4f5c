"""The manifest by which GitHub creates the App, and the addresses that go into it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypedDict
from urllib.parse import urlencode, urlsplit

from worker.domain.config.app_permissions import OptIn, requested_permissions, select_events
from worker.domain.pattern import pattern

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


def web_url(api_url: str) -> str:
    """Where people use the GitHub whose API this is: github.com, a ghe.com tenant, or an Enterprise Server."""
    parts = urlsplit(api_url)
    if parts.netloc == "api.github.com" or parts.netloc.endswith(".ghe.com"):
        return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"
    return f"{parts.scheme}://{parts.netloc}{re.sub(r'/api/v3$', '', parts.path.rstrip('/'))}"


def register_url(api_url: str, organization: str, state: str) -> str:
    """The address that a browser posts the manifest to."""
    owner = f"/organizations/{organization}" if organization else ""
    return f"{web_url(api_url)}{owner}/settings/apps/new?{urlencode({'state': state})}"


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
