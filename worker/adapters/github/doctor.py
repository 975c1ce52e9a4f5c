"""What `assay doctor` wants to know of the GitHub App.

Does not print and changes nothing. Invariant: never raises for what it is asked to find out; every answer is
a value.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import SecretStr

from worker.adapters.github.client import ApiCall, key_api
from worker.adapters.github.installations import AccountSummary, InstallationView, list_installations
from worker.adapters.github.responses import AppView
from worker.domain.check.branch_protection import AppInstallation
from worker.domain.config.app_permissions import select_events
from worker.domain.ports import Clock
from worker.errors import AssayError, Unavailable
from worker.settings import AppCredentials, Settings

SAME_APP_HINT: Final = "ASSAY_APP_ID and the key have to be of one App"


@dataclass(frozen=True, slots=True)
class AppKeyReport:
    """One private key; `problem` None: GitHub takes it for this App's."""

    position: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class AppReport:
    """What was found out. `app` and what depends on it is None or empty when no key was accepted."""

    keys: tuple[AppKeyReport, ...]
    app: AppView | None
    missing_events: tuple[str, ...]
    clock_skew: timedelta | None
    """How far this machine's clock is ahead of GitHub's; None when GitHub did not answer."""
    installations: tuple[AppInstallation, ...] = ()


def examine_app(settings: Settings, clock: Clock, subscribed: Iterable[str]) -> AppReport:
    """Ask GitHub who the App is, once with each key, and where it is installed. *subscribed*: what it would hear of."""
    app = settings.require_app()
    answers = [check_key(settings, app, key, clock) for key in app.private_keys]
    keys = tuple(AppKeyReport(position, answer.problem) for position, answer in enumerate(answers, start=1))
    view = next((answer.app for answer in answers if answer.app), None)
    return AppReport(
        keys=keys,
        app=view,
        missing_events=tuple(sorted(set(select_events(subscribed, view.permissions)) - set(view.events)))
        if view
        else (),
        clock_skew=next((answer.skew for answer in answers if answer.skew is not None), None),
        installations=next((answer.installations for answer in answers if answer.app), ()),
    )


@dataclass(frozen=True, slots=True)
class KeyCheckResult:
    """What GitHub said to one key."""

    app: AppView | None
    problem: str | None
    skew: timedelta | None
    installations: tuple[AppInstallation, ...] = ()


def check_key(settings: Settings, app: AppCredentials, key: SecretStr, clock: Clock) -> KeyCheckResult:
    if problem := key_problem(key):
        return KeyCheckResult(None, problem, None)
    try:
        with key_api(settings, app, key, clock) as api:
            view = api.get("/app", AppView)
            installed = tuple(map(of_installation, list_installations(api)))
            skew = clock_skew(api.headers(ApiCall("GET", "/app", is_repeatable=True)).get("date"), clock.now())
    except Unavailable as error:
        return KeyCheckResult(None, f"{error}. Check the network and ASSAY_GITHUB_API_URL", None)
    except AssayError as error:
        return KeyCheckResult(None, f"{str(error).rstrip('.')}. {SAME_APP_HINT}", None)
    if view.id != app.app_id:
        return KeyCheckResult(
            None, f"the key belongs to the App {view.id} ({view.slug}), not to {app.app_id}. {SAME_APP_HINT}", skew
        )
    return KeyCheckResult(view, None, skew, installed)


def of_installation(view: InstallationView) -> AppInstallation:
    account = view.account or AccountSummary()
    name = account.login or account.slug or "a deleted account"
    return AppInstallation(view.id, name, view.permissions, view.html_url, view.suspended_at is not None)


def key_problem(key: SecretStr) -> str | None:
    """Why this text can't be an App's private key; None when it can."""
    try:
        loaded = load_pem_private_key(key.get_secret_value().encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "the PEM text can't be parsed: it is cut or damaged. Copy the whole file again"
    return None if isinstance(loaded, RSAPrivateKey) else "it is not an RSA key, so not one that GitHub made"


def clock_skew(date: str | None, now: datetime) -> timedelta | None:
    """How far our clock is ahead, to the second, by the Date header of an answer."""
    try:
        return None if date is None else now - parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        return None
