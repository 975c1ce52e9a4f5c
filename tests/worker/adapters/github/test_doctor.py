"""What `assay doctor` finds out about the App."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import Place
from tests.world.contract import violations
from worker.adapters.github.doctor import clock_skew, examine_app, of_installation
from worker.adapters.github.installations import AccountSummary, InstallationView
from worker.clock import SystemClock
from worker.settings import AppCredentials, Settings

HEARD = {"pull_request", "issue_comment", "check_run", "push", "merge_group"}
GRANTED = {
    "checks": "write", "contents": "read", "issues": "write", "pull_requests": "write", "metadata": "read", "statuses": "read",
    "actions": "read", "merge_queues": "read",
}  # fmt: skip


class Ahead:
    """A clock that is wrong."""

    def __init__(self, by: timedelta) -> None:
        self._by = by

    def now(self) -> datetime:
        return SystemClock().now() + self._by

    def monotonic_ms(self) -> int:
        return 0


def with_keys(settings: Settings, *keys: str) -> Settings:
    app = settings.require_app()
    secrets = tuple(SecretStr(key) for key in keys)
    return replace(settings, app=AppCredentials(app.app_id, secrets, app.webhook_secrets))


def test_an_app_with_all_that_it_needs_is_well(settings: Settings) -> None:
    report = examine_app(settings, SystemClock(), HEARD)
    assert [(key.position, key.problem) for key in report.keys] == [(1, None)]
    assert report.app is not None
    assert (report.app.id, report.app.slug) == (settings.require_app().app_id, "assay")
    assert report.missing_events == ()
    assert [(one.id, one.account, one.is_suspended) for one in report.installations] == [(100, "acme", False)]
    assert report.clock_skew is not None
    assert abs(report.clock_skew) < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("by", "least", "most"), [(timedelta(minutes=5), 270, 330), (timedelta(minutes=-5), -330, -270)]
)
def test_a_wrong_clock_is_measured(settings: Settings, by: timedelta, least: int, most: int) -> None:
    skew = examine_app(settings, Ahead(by), HEARD).clock_skew
    assert skew is not None
    assert least < skew.total_seconds() < most


def test_each_bad_key_is_told_apart(settings: Settings) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    damaged = "-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----"
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    report = examine_app(with_keys(settings, damaged, curve.decode(), good), SystemClock(), HEARD)
    problems = [key.problem for key in report.keys]
    assert problems[0] is not None
    assert "can't be parsed" in problems[0]
    assert problems[1] is not None
    assert "not an RSA key" in problems[1]
    assert problems[2] is None
    assert report.app is not None


def test_a_key_of_another_app_is_told(place: Place, settings: Settings) -> None:
    place.github.fault("GET /app$", kind="status", status=200, body={"id": 9, "slug": "other"})
    report = examine_app(settings, SystemClock(), HEARD)
    assert [key.problem for key in report.keys] == [
        "the key belongs to the App 9 (other), not to 4711. ASSAY_APP_ID and the key have to be of one App"
    ]
    assert (report.app, report.installations, report.missing_events) == (None, (), ())


def test_a_refused_key_is_told_in_githubs_words(place: Place, settings: Settings) -> None:
    body = {"message": "A JSON web token could not be decoded"}
    place.github.fault("GET /app$", kind="status", status=401, body=body, count=2)
    report = examine_app(settings, SystemClock(), HEARD)
    assert report.keys[0].problem is not None
    assert "could not be decoded" in report.keys[0].problem
    assert report.clock_skew is None


def test_events_that_an_app_may_hear_of_and_does_not_are_named(place: Place, settings: Settings) -> None:
    permissions = {"pull_requests": "read", "issues": "read"}
    body = {"id": 4711, "permissions": permissions, "events": ["pull_request"]}
    place.github.fault("GET /app$", kind="status", status=200, body=body, count=2)
    assert examine_app(settings, SystemClock(), HEARD).missing_events == ("issue_comment",)


def test_what_each_installation_granted_is_told(place: Place, settings: Settings) -> None:
    place.github.verb("permissions", permissions={"metadata": "read", "checks": "write"})
    try:
        [installed] = examine_app(settings, SystemClock(), HEARD).installations
    finally:
        place.github.verb("permissions", permissions=GRANTED)
    assert installed.permissions == {"metadata": "read", "checks": "write"}
    assert installed.url.endswith("/settings/installations/100")
    [listed] = [one for one in place.github.traffic("GET /app/installations$") if one["status"] == 200][-1:]
    [both_at_once] = violations(
        [listed]
    )  # GitHub's description wants an account that is a user and an enterprise at once
    assert re.fullmatch(
        r"GET /app/installations -> 200(: |; )(0\.account: '\w+' is a required property(; )?)+", both_at_once
    )


def test_more_than_a_page_of_installations_is_read_to_its_end(place: Place, settings: Settings) -> None:
    body: list[dict[str, Any]] = [
        {"id": number, "permissions": {}, "created_at": "2026-01-01T00:00:00Z"} for number in range(1, 101)
    ]
    place.github.fault("GET /app/installations$", kind="status", status=200, body=body)
    assert [one.id for one in examine_app(settings, SystemClock(), HEARD).installations] == [*range(1, 101), 100]


def test_no_more_than_ten_pages_are_read(place: Place, settings: Settings) -> None:
    body: list[dict[str, Any]] = [
        {"id": number, "permissions": {}, "created_at": "2026-01-01T00:00:00Z"} for number in range(100)
    ]
    place.github.fault("GET /app/installations$", kind="status", status=200, body=body, count=11)
    assert len(examine_app(settings, SystemClock(), HEARD).installations) == 1000


@pytest.mark.parametrize(
    ("account", "name"),
    [(AccountSummary(login="acme"), "acme"), (AccountSummary(slug="corp"), "corp"), (None, "a deleted account")],
)
def test_an_installation_is_named_after_its_account(account: AccountSummary | None, name: str) -> None:
    view = InstallationView(id=5, account=account, created_at=SystemClock().now(), suspended_at=SystemClock().now())
    assert (of_installation(view).account, of_installation(view).is_suspended) == (name, True)


@pytest.mark.parametrize("date", [None, "soon"])
def test_an_answer_without_a_readable_date_tells_no_skew(date: str | None) -> None:
    assert clock_skew(date, SystemClock().now()) is None
