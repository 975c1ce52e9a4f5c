"""What the App, its operator and `assay doctor` find out about the App and about one repository."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.github.conftest import DAMAGED_KEY, INSTALLATION, Place, another_key, with_keys
from tests.world.contract import violations
from worker.adapters.github.client import GitHubApi
from worker.adapters.github.doctor import (
    AppReport,
    RepositoryNumbers,
    ask_as_app,
    clock_skew,
    count_opened_this_week,
    examine_app,
    find_installation,
    find_numbers,
    of_installation,
    read_branch_protection,
    repository_api,
)
from worker.adapters.github.installations import AccountSummary, InstallationView
from worker.clock import SystemClock
from worker.domain.config.app_permissions import RepositoryProtection, Requirement
from worker.domain.ports import Clock
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.settings import Settings

HEARD = {"pull_request", "issue_comment", "check_run", "push", "merge_group"}
GRANTED = {
    "checks": "write", "contents": "read", "issues": "write", "pull_requests": "write", "metadata": "read", "statuses": "read",
    "actions": "read", "merge_queues": "read",
}  # fmt: skip
NOW = SystemClock().now()


@dataclass
class Ahead:
    """A clock that is wrong."""

    by: timedelta

    def now(self) -> datetime:
        return SystemClock().now() + self.by

    def monotonic_ms(self) -> int:
        return 0


@pytest.fixture
def granted(place: Place) -> Iterator[Place]:
    """A repository in which a test changes what the App may do."""
    yield place
    place.github.verb("permissions", permissions=GRANTED)


def examined(settings: Settings, clock: Clock | None = None) -> AppReport:
    return examine_app(settings, clock or SystemClock(), HEARD)


def tokens_sent(place: Place) -> Any:
    return json.loads(place.github.traffic("POST /app/installations/100/access_tokens")[-1]["sent"])


# The App


def test_an_app_with_all_that_it_needs_is_well(settings: Settings) -> None:
    report = examined(settings)
    assert [(key.position, key.problem) for key in report.keys] == [(1, None)]
    assert report.app is not None
    assert (report.app.id, report.app.slug) == (settings.require_app().app_id, "assay")
    assert report.missing_events == ()
    assert [(one.id, one.account, one.is_suspended) for one in report.installations] == [(100, "acme", False)]


@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_a_wrong_clock_is_measured(settings: Settings, minutes: int) -> None:
    skew = examined(settings, Ahead(timedelta(minutes=minutes))).clock_skew
    assert skew is not None
    assert abs(skew - timedelta(minutes=minutes)) < timedelta(seconds=30)


@pytest.mark.parametrize("date", [None, "soon"])
def test_an_answer_without_a_readable_date_tells_no_skew(date: str | None) -> None:
    assert clock_skew(date, NOW) is None


def test_each_bad_key_is_told_apart(settings: Settings) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    report = examined(with_keys(settings, DAMAGED_KEY, curve.decode(), good))
    damaged, of_a_curve, none = (key.problem for key in report.keys)
    assert "can't be parsed" in (damaged or "")
    assert "not an RSA key" in (of_a_curve or "")
    assert none is None
    assert report.app is not None


def test_a_key_of_another_app_is_told(place: Place, settings: Settings) -> None:
    place.answers("GET /app$", {"id": 9, "slug": "other"})
    report = examined(settings)
    assert [key.problem for key in report.keys] == [
        "the key belongs to the App 9 (other), not to 4711. ASSAY_APP_ID and the key have to be of one App"
    ]
    assert (report.app, report.installations, report.missing_events) == (None, (), ())


def test_a_refused_key_is_told_in_githubs_words(place: Place, settings: Settings) -> None:
    place.refuses("GET /app$", 401, "A JSON web token could not be decoded", count=2)
    report = examined(settings)
    assert "could not be decoded" in (report.keys[0].problem or "")
    assert report.clock_skew is None


def test_events_that_an_app_may_hear_of_and_does_not_are_named(place: Place, settings: Settings) -> None:
    permissions = {"pull_requests": "read", "issues": "read"}
    place.answers("GET /app$", {"id": 4711, "permissions": permissions, "events": ["pull_request"]}, count=2)
    assert examined(settings).missing_events == ("issue_comment",)


def test_what_each_installation_granted_is_told(granted: Place, settings: Settings) -> None:
    granted.github.verb("permissions", permissions={"metadata": "read", "checks": "write"})
    [installed] = examined(settings).installations
    assert installed.permissions == {"metadata": "read", "checks": "write"}
    assert installed.url.endswith("/settings/installations/100")
    [listed] = [one for one in granted.github.traffic("GET /app/installations$") if one["status"] == 200][-1:]
    # GitHub's description wants an account that is a user and an enterprise at once.
    missing = r"GET /app/installations -> 200(: |; )(0\.account: '\w+' is a required property(; )?)+"
    [both_at_once] = violations([listed])
    assert re.fullmatch(missing, both_at_once)


@pytest.mark.parametrize(("pages", "listed"), [(1, 101), (11, 1000)], ids=["to the end", "ten pages at most"])
def test_more_than_a_page_of_installations_is_read(place: Place, settings: Settings, pages: int, listed: int) -> None:
    body: list[object] = [
        {"id": number, "permissions": {}, "created_at": "2026-01-01T00:00:00Z"} for number in range(101, 201)
    ]
    place.answers("GET /app/installations$", body, count=pages)
    ids = [one.id for one in examined(settings).installations]
    assert (ids[:100], len(ids)) == ([*range(101, 201)], listed)


@pytest.mark.parametrize(
    ("account", "name"),
    [(AccountSummary(login="acme"), "acme"), (AccountSummary(slug="corp"), "corp"), (None, "a deleted account")],
)
def test_an_installation_is_named_after_its_account(account: AccountSummary | None, name: str) -> None:
    installed = of_installation(InstallationView(id=5, account=account, created_at=NOW, suspended_at=NOW))
    assert (installed.account, installed.is_suspended) == (name, True)


# The protection of a branch


def seen(settings: Settings, place: Place, name: str = "") -> RepositoryProtection:
    return read_branch_protection(settings, SystemClock(), name or place.name)


def test_a_repository_without_rules_requires_nothing(place: Place, settings: Settings) -> None:
    gate = seen(settings, place)
    assert gate.installation is not None
    assert (gate.installation.id, gate.installation.account) == (100, "acme")
    assert (gate.branch, gate.requirements, gate.has_queue, gate.teams) == ("main", (), False, ())
    assert tokens_sent(place) == {
        "repositories": [place.name.partition("/")[2]],
        "permissions": {"metadata": "read", "contents": "read", "merge_queues": "read"},
    }


def test_rulesets_tell_whether_they_name_us_and_a_queue(place: Place, settings: Settings) -> None:
    required = ["ci", "Assay", {"context": "Assay", "integration_id": 4711}]
    place.github.verb("ruleset", repo=place.name, required=required)
    assert seen(settings, place).requirements == (Requirement("a ruleset", None), Requirement("a ruleset", 4711))
    place.github.verb("ruleset", repo=place.name, queue=True)
    assert seen(settings, place).has_queue is True


@pytest.mark.parametrize(("check", "app_id"), [("Assay", None), ({"context": "Assay", "app_id": 4711}, 4711)])
def test_branch_protection_is_seen_without_administration(
    place: Place, settings: Settings, check: object, app_id: int | None
) -> None:
    name = f"{place.name.partition('/')[2]}-p"
    place.github.verb("repo", name=name, files={"a": "b"}, protect=["ci", check])
    assert seen(settings, place, f"acme/{name}").requirements == (Requirement("branch protection", app_id),)


ANY_SOURCE = {"contexts": ["Assay"], "checks": [{"context": "Assay", "app_id": -1}]}


@pytest.mark.parametrize(
    ("branch", "is_required"),
    [
        pytest.param({"protection": {"required_status_checks": ANY_SOURCE}}, True, id="any source, spelt -1"),
        pytest.param({"protection": {"required_status_checks": {"contexts": ["Assay"]}}}, True, id="names only"),
        pytest.param({"name": "main"}, False, id="not protected"),
    ],
)
def test_branch_protection_has_several_spellings_and_an_old_server_no_rulesets(
    place: Place, settings: Settings, branch: object, *, is_required: bool
) -> None:
    place.answers("GET /repos/[^/]+/[^/]+/branches/main$", branch)
    place.refuses("GET .*/rules/branches/main$", 404, "Not Found")
    assert seen(settings, place).requirements == (Requirement("branch protection", None),) * is_required


def test_teams_that_own_files_are_told_by_the_file_that_github_reads(place: Place, settings: Settings) -> None:
    place.push("main", {"docs/CODEOWNERS": "* @acme/none\n", "CODEOWNERS": "*.py @alice @acme/web\n/x @acme/web\n"})
    assert seen(settings, place).teams == ("acme/web",)
    place.github.fault("AssayOwners", kind="status", status=502, count=9)
    assert seen(settings, place).teams == ()


def test_a_queue_by_branch_protection_is_seen_with_the_permission_and_unknown_without(
    granted: Place, settings: Settings
) -> None:
    granted.github.verb("merge-group", repo=granted.name, pulls=[granted.pull().number])
    assert seen(settings, granted).has_queue is True
    less = {name: level for name, level in GRANTED.items() if name != "merge_queues"}
    granted.github.verb("permissions", permissions=less)
    assert seen(settings, granted).has_queue is None


@pytest.mark.usefixtures("place")
def test_where_the_app_is_not_installed_nothing_more_is_asked(settings: Settings) -> None:
    assert read_branch_protection(settings, SystemClock(), "acme/nowhere") == RepositoryProtection("acme/nowhere")
    assert find_numbers(settings, SystemClock(), "acme/nowhere") is None


def test_without_a_good_key_the_refusal_is_told(place: Place, settings: Settings) -> None:
    for keys, told in (([DAMAGED_KEY], "GitHub refuses our credentials"), ([], "there is no key")):
        with pytest.raises(Forbidden, match=told):
            seen(with_keys(settings, *keys), place)


@pytest.mark.parametrize("match", ["/installation$", "/things-[^/]+$"])
def test_an_outage_is_told_as_one(place: Place, settings: Settings, match: str) -> None:
    for ask in (find_numbers, read_branch_protection):
        place.github.fault(f"GET .*{match}", kind="status", status=502, count=3)
        with pytest.raises(Unavailable):
            ask(settings, SystemClock(), place.name)


# The ids of a repository


def test_github_tells_the_numbers_of_a_repository_of_which_nothing_was_heard(place: Place, settings: Settings) -> None:
    repository = place.github.user("alice", "GET", f"/repos/{place.name}")["id"]
    assert find_numbers(settings, SystemClock(), place.name) == RepositoryNumbers(INSTALLATION, repository)
    assert tokens_sent(place) == {"repositories": [place.name.partition("/")[2]], "permissions": {"metadata": "read"}}


def test_a_key_that_github_refuses_gives_way_to_the_next_one(place: Place, settings: Settings) -> None:
    old, good = another_key(), settings.require_app().private_keys[0].get_secret_value()
    assert find_numbers(with_keys(settings, old, good), SystemClock(), place.name) is not None
    with pytest.raises(Forbidden):
        find_numbers(with_keys(settings, old), SystemClock(), place.name)


def test_what_was_not_granted_is_not_asked_for(place: Place, settings: Settings) -> None:
    def read(api: GitHubApi) -> None:
        installed = find_installation(api, place.name)
        assert installed is not None
        assert "administration" not in installed.permissions
        with repository_api(settings, SystemClock(), api, (installed, place.name), ("metadata", "administration")):
            pass

    ask_as_app(settings, SystemClock(), read)
    assert tokens_sent(place)["permissions"] == {"metadata": "read"}, "GitHub refuses a token for more than that"


# The pull requests of the last seven days


def test_pull_requests_of_the_last_seven_days_are_counted(place: Place, settings: Settings) -> None:
    assert count_opened_this_week(settings, SystemClock(), place.name) == 0
    place.pull()
    place.push("more", {"a.py": "x = 8\n"})
    place.opened("more")
    assert count_opened_this_week(settings, SystemClock(), place.name) == 2
    assert count_opened_this_week(settings, Ahead(timedelta(days=8)), place.name) == 0
    with pytest.raises(SubjectGone):
        count_opened_this_week(replace(settings, github_token=SecretStr("bench-bob")), SystemClock(), "acme/no-such")


@pytest.mark.parametrize(("pages", "expected", "asked"), [([100, 30], 130, 2), ([100] * 4, 300, 3)])
def test_a_busy_repository_is_read_page_by_page_and_three_of_them(
    httpserver: HTTPServer, tmp_path: Path, pages: list[int], expected: int, asked: int
) -> None:
    for number, count in enumerate(pages, start=1):
        listed = [{"created_at": NOW.astimezone(UTC).isoformat()}] * count
        query = {"state": "all", "sort": "created", "direction": "desc", "per_page": "100", "page": str(number)}
        httpserver.expect_request("/repos/acme/busy/pulls", query_string=query).respond_with_json(listed)
    settings = Settings(data_dir=tmp_path, github_api_url=httpserver.url_for("").rstrip("/"))
    assert count_opened_this_week(settings, SystemClock(), "acme/busy") == expected
    assert len(httpserver.log) == asked
