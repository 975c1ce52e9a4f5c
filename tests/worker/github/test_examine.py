"""What `assay doctor` finds out about the App."""

from datetime import datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from tests.worker.github.conftest import Place
from worker.domain.value import replace
from worker.github.examine import REQUIRED_EVENTS, REQUIRED_PERMISSIONS, clock_skew, examine, missing_permissions
from worker.settings import AppCredentials, Settings
from worker.system_clock import SystemClock


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
    report = examine(settings, SystemClock())
    assert [(key.position, key.problem) for key in report.keys] == [(1, None)]
    assert report.app is not None
    assert (report.app.id, report.app.slug) == (settings.require_app().app_id, "assay")
    assert report.missing_permissions == ()
    assert report.clock_skew is not None
    assert abs(report.clock_skew) < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("by", "least", "most"), [(timedelta(minutes=5), 270, 330), (timedelta(minutes=-5), -330, -270)]
)
def test_a_wrong_clock_is_measured(settings: Settings, by: timedelta, least: int, most: int) -> None:
    skew = examine(settings, Ahead(by)).clock_skew
    assert skew is not None
    assert least < skew.total_seconds() < most


def test_each_bad_key_is_told_apart(settings: Settings) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    damaged = "-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----"
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    report = examine(with_keys(settings, damaged, curve.decode(), good), SystemClock())
    problems = [key.problem for key in report.keys]
    assert problems[0] is not None
    assert "can't be parsed" in problems[0]
    assert problems[1] is not None
    assert "not an RSA key" in problems[1]
    assert problems[2] is None
    assert report.app is not None


def test_a_key_of_another_app_is_told(place: Place, settings: Settings) -> None:
    place.github.fault("GET /app$", kind="status", status=200, body={"id": 9, "slug": "other"})
    report = examine(settings, SystemClock())
    assert [key.problem for key in report.keys] == [
        "the key belongs to the App 9 (other), not to 4711. ASSAY_APP_ID and the key have to be of one App"
    ]
    assert (report.app, report.missing_permissions, report.missing_events) == (None, (), ())


def test_a_refused_key_is_told_in_githubs_words(place: Place, settings: Settings) -> None:
    body = {"message": "A JSON web token could not be decoded"}
    place.github.fault("GET /app$", kind="status", status=401, body=body, count=2)
    report = examine(settings, SystemClock())
    assert report.keys[0].problem is not None
    assert "could not be decoded" in report.keys[0].problem
    assert report.clock_skew is None


def test_what_an_app_lacks_is_named(place: Place, settings: Settings) -> None:
    body = {"id": 4711, "permissions": {"checks": "read", "contents": "write"}, "events": ["pull_request"]}
    place.github.fault("GET /app$", kind="status", status=200, body=body)
    report = examine(settings, SystemClock())
    assert report.missing_permissions == (
        "checks: write",
        "issues: write",
        "metadata: read",
        "pull_requests: read",
        "statuses: read",
    )
    assert report.missing_events == ("check_run", "issue_comment", "push")


def test_more_than_needed_is_enough() -> None:
    assert missing_permissions(dict.fromkeys(REQUIRED_PERMISSIONS, "admin")) == ()
    assert set(missing_permissions({})) == {f"{name}: {level}" for name, level in REQUIRED_PERMISSIONS.items()}
    assert "pull_request" in REQUIRED_EVENTS


@pytest.mark.parametrize("date", [None, "soon"])
def test_an_answer_without_a_readable_date_tells_no_skew(date: str | None) -> None:
    assert clock_skew(date, SystemClock().now()) is None
