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

from tests.worker.adapters.github.conftest import DAMAGED_KEY, INSTALLATION, GitHubRepository, another_key, with_keys
from tests.world.contract import find_violations
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
def granted(github_repository: GitHubRepository) -> Iterator[GitHubRepository]:
    """A repository in which a test changes what the App may do."""
    yield github_repository
    github_repository.github.control("permissions", permissions=GRANTED)


def examined(settings: Settings, clock: Clock | None = None) -> AppReport:
    return examine_app(settings, clock or SystemClock(), HEARD)


def tokens_sent(place: GitHubRepository) -> Any:
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


def test_a_key_of_another_app_is_told(github_repository: GitHubRepository, settings: Settings) -> None:
    github_repository.script_answer("GET /app$", {"id": 9, "slug": "other"})
    report = examined(settings)
    assert [key.problem for key in report.keys] == [
        "the key belongs to the App 9 (other), not to 4711. ASSAY_APP_ID and the key have to be of one App"
    ]
    assert (report.app, report.installations, report.missing_events) == (None, (), ())


def test_a_refused_key_is_told_in_githubs_words(github_repository: GitHubRepository, settings: Settings) -> None:
    github_repository.script_refusal("GET /app$", 401, "A JSON web token could not be decoded", count=2)
    report = examined(settings)
    assert "could not be decoded" in (report.keys[0].problem or "")
    assert report.clock_skew is None


def test_events_that_an_app_may_hear_of_and_does_not_are_named(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    permissions = {"pull_requests": "read", "issues": "read"}
    github_repository.script_answer(
        "GET /app$", {"id": 4711, "permissions": permissions, "events": ["pull_request"]}, count=2
    )
    assert examined(settings).missing_events == ("issue_comment",)


def test_what_each_installation_granted_is_told(granted: GitHubRepository, settings: Settings) -> None:
    granted.github.control("permissions", permissions={"metadata": "read", "checks": "write"})
    [installed] = examined(settings).installations
    assert installed.permissions == {"metadata": "read", "checks": "write"}
    assert installed.url.endswith("/settings/installations/100")
    [listed] = [one for one in granted.github.traffic("GET /app/installations$") if one["status"] == 200][-1:]
    # GitHub's description wants an account that is a user and an enterprise at once.
    missing = r"GET /app/installations -> 200(: |; )(0\.account: '\w+' is a required property(; )?)+"
    [both_at_once] = find_violations([listed])
    assert re.fullmatch(missing, both_at_once)


@pytest.mark.parametrize(("pages", "listed"), [(1, 101), (11, 1000)], ids=["to the end", "ten pages at most"])
def test_more_than_a_page_of_installations_is_read(
    github_repository: GitHubRepository, settings: Settings, pages: int, listed: int
) -> None:
    body: list[object] = [
        {"id": number, "permissions": {}, "created_at": "2026-01-01T00:00:00Z"} for number in range(101, 201)
    ]
    github_repository.script_answer("GET /app/installations$", body, count=pages)
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


def seen(settings: Settings, place: GitHubRepository, name: str = "") -> RepositoryProtection:
    return read_branch_protection(settings, SystemClock(), name or place.name)


def test_a_repository_without_rules_requires_nothing(github_repository: GitHubRepository, settings: Settings) -> None:
    gate = seen(settings, github_repository)
    assert gate.installation is not None
    assert (gate.installation.id, gate.installation.account) == (100, "acme")
    assert (gate.branch, gate.requirements, gate.has_queue, gate.teams) == ("main", (), False, ())
    assert tokens_sent(github_repository) == {
        "repositories": [github_repository.name.partition("/")[2]],
        "permissions": {"metadata": "read", "contents": "read", "merge_queues": "read"},
    }


def test_rulesets_tell_whether_they_name_us_and_a_queue(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    required = ["ci", "Assay", {"context": "Assay", "integration_id": 4711}]
    github_repository.github.control("ruleset", repo=github_repository.name, required=required)
    assert seen(settings, github_repository).requirements == (
        Requirement("a ruleset", None),
        Requirement("a ruleset", 4711),
    )
    github_repository.github.control("ruleset", repo=github_repository.name, queue=True)
    assert seen(settings, github_repository).has_queue is True


@pytest.mark.parametrize(("check", "app_id"), [("Assay", None), ({"context": "Assay", "app_id": 4711}, 4711)])
def test_branch_protection_is_seen_without_administration(
    github_repository: GitHubRepository, settings: Settings, check: object, app_id: int | None
) -> None:
    name = f"{github_repository.name.partition('/')[2]}-p"
    github_repository.github.control("repo", name=name, files={"a": "b"}, protect=["ci", check])
    assert seen(settings, github_repository, f"acme/{name}").requirements == (Requirement("branch protection", app_id),)


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
    github_repository: GitHubRepository, settings: Settings, branch: object, *, is_required: bool
) -> None:
    github_repository.script_answer("GET /repos/[^/]+/[^/]+/branches/main$", branch)
    github_repository.script_refusal("GET .*/rules/branches/main$", 404, "Not Found")
    assert seen(settings, github_repository).requirements == (Requirement("branch protection", None),) * is_required


def test_teams_that_own_files_are_told_by_the_file_that_github_reads(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    github_repository.push(
        "main", {"docs/CODEOWNERS": "* @acme/none\n", "CODEOWNERS": "*.py @alice @acme/web\n/x @acme/web\n"}
    )
    assert seen(settings, github_repository).teams == ("acme/web",)
    github_repository.github.fault("AssayOwners", kind="status", status=502, count=9)
    assert seen(settings, github_repository).teams == ()


def test_a_queue_by_branch_protection_is_seen_with_the_permission_and_unknown_without(
    granted: GitHubRepository, settings: Settings
) -> None:
    granted.github.control("merge-group", repo=granted.name, pulls=[granted.pull().number])
    assert seen(settings, granted).has_queue is True
    less = {name: level for name, level in GRANTED.items() if name != "merge_queues"}
    granted.github.control("permissions", permissions=less)
    assert seen(settings, granted).has_queue is None


@pytest.mark.usefixtures("github_repository")
def test_where_the_app_is_not_installed_nothing_more_is_asked(settings: Settings) -> None:
    assert read_branch_protection(settings, SystemClock(), "acme/nowhere") == RepositoryProtection("acme/nowhere")
    assert find_numbers(settings, SystemClock(), "acme/nowhere") is None


def test_without_a_good_key_the_refusal_is_told(github_repository: GitHubRepository, settings: Settings) -> None:
    for keys, told in (([DAMAGED_KEY], "GitHub refuses our credentials"), ([], "there is no key")):
        with pytest.raises(Forbidden, match=told):
            seen(with_keys(settings, *keys), github_repository)


@pytest.mark.parametrize("match", ["/installation$", "/things-[^/]+$"])
def test_an_outage_is_told_as_one(github_repository: GitHubRepository, settings: Settings, match: str) -> None:
    for ask in (find_numbers, read_branch_protection):
        github_repository.github.fault(f"GET .*{match}", kind="status", status=502, count=3)
        with pytest.raises(Unavailable):
            ask(settings, SystemClock(), github_repository.name)


# The ids of a repository


def test_github_tells_the_numbers_of_a_repository_of_which_nothing_was_heard(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    repository = github_repository.github.request_as("alice", "GET", f"/repos/{github_repository.name}")["id"]
    assert find_numbers(settings, SystemClock(), github_repository.name) == RepositoryNumbers(INSTALLATION, repository)
    assert tokens_sent(github_repository) == {
        "repositories": [github_repository.name.partition("/")[2]],
        "permissions": {"metadata": "read"},
    }


def test_a_key_that_github_refuses_gives_way_to_the_next_one(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    old, good = another_key(), settings.require_app().private_keys[0].get_secret_value()
    assert find_numbers(with_keys(settings, old, good), SystemClock(), github_repository.name) is not None
    with pytest.raises(Forbidden):
        find_numbers(with_keys(settings, old), SystemClock(), github_repository.name)


def test_what_was_not_granted_is_not_asked_for(github_repository: GitHubRepository, settings: Settings) -> None:
    def read(api: GitHubApi) -> None:
        installed = find_installation(api, github_repository.name)
        assert installed is not None
        assert "administration" not in installed.permissions
        with repository_api(
            settings, SystemClock(), api, (installed, github_repository.name), ("metadata", "administration")
        ):
            pass

    ask_as_app(settings, SystemClock(), read)
    assert tokens_sent(github_repository)["permissions"] == {"metadata": "read"}, (
        "GitHub refuses a token for more than that"
    )


# The pull requests of the last seven days


def test_pull_requests_of_the_last_seven_days_are_counted(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    assert count_opened_this_week(settings, SystemClock(), github_repository.name) == 0
    github_repository.pull()
    github_repository.push("more", {"a.py": "x = 8\n"})
    github_repository.open_pull_request("more")
    assert count_opened_this_week(settings, SystemClock(), github_repository.name) == 2
    assert count_opened_this_week(settings, Ahead(timedelta(days=8)), github_repository.name) == 0
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
