"""The doctor's reports about the App, its installations and one repository."""

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

from tests.worker.adapters.github.conftest import DAMAGED_KEY, INSTALLATION, FakeRepo, another_key, with_keys
from tests.world.contract import find_violations
from worker.adapters.github.client import GitHubApi, ask_as_app
from worker.adapters.github.doctor import (
    AppReport,
    RepositoryNumbers,
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
from worker.domain.config.github_app import RepositoryProtection, Requirement
from worker.domain.ports import Clock
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.process import SystemClock
from worker.settings import Settings

EVENTS = {"pull_request", "issue_comment", "check_run", "push", "merge_group"}
GRANTED = {
    "checks": "write", "contents": "read", "issues": "write", "pull_requests": "write", "metadata": "read", "statuses": "read",
    "actions": "read", "merge_queues": "read",
}  # fmt: skip
NOW = SystemClock().now()


@dataclass
class WrongClock:
    """A clock with a constant error."""

    by: timedelta

    def now(self) -> datetime:
        return SystemClock().now() + self.by

    def monotonic_ms(self) -> int:
        return 0


@pytest.fixture
def restored_repo(repo: FakeRepo) -> Iterator[FakeRepo]:
    """A repository whose permissions are restored after the test."""
    yield repo
    repo.github.control("permissions", permissions=GRANTED)


def examine(settings: Settings, clock: Clock | None = None) -> AppReport:
    return examine_app(settings, clock or SystemClock(), EVENTS)


def tokens_sent(repo: FakeRepo) -> Any:
    return json.loads(repo.github.traffic("POST /app/installations/100/access_tokens")[-1]["sent"])


# The App


def test_complete_app_has_no_problem(settings: Settings) -> None:
    report = examine(settings)
    assert [(key.position, key.problem) for key in report.keys] == [(1, None)]
    assert report.app is not None
    assert (report.app.id, report.app.slug) == (settings.require_app().app_id, "assay")
    assert report.missing_events == ()
    [installation] = report.installations
    assert (installation.id, installation.account, installation.is_suspended) == (100, "acme", False)


@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_clock_skew_is_measured(settings: Settings, minutes: int) -> None:
    skew = examine(settings, WrongClock(timedelta(minutes=minutes))).clock_skew
    assert skew is not None
    assert abs(skew - timedelta(minutes=minutes)) < timedelta(seconds=30)


@pytest.mark.parametrize("date", [None, "soon"])
def test_unreadable_date_gives_no_clock_skew(date: str | None) -> None:
    assert clock_skew(date, NOW) is None


def test_each_bad_key_has_its_own_problem(settings: Settings) -> None:
    good = settings.require_app().private_keys[0].get_secret_value()
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    report = examine(with_keys(settings, DAMAGED_KEY, curve.decode(), good))
    damaged, of_a_curve, none = (key.problem for key in report.keys)
    assert "can't be parsed" in (damaged or "")
    assert "not an RSA key" in (of_a_curve or "")
    assert none is None
    assert report.app is not None


def test_key_of_another_app_is_reported(repo: FakeRepo, settings: Settings) -> None:
    repo.script_answer("GET /app$", {"id": 9, "slug": "other"})
    report = examine(settings)
    problem = "the key belongs to the App 9 (other), not to 4711. ASSAY_APP_ID and the key have to be of one App"
    assert [key.problem for key in report.keys] == [problem]
    assert (report.app, report.installations, report.missing_events) == (None, (), ())


def test_refused_key_reports_the_message_of_github(repo: FakeRepo, settings: Settings) -> None:
    repo.script_refusal("GET /app$", 401, "A JSON web token could not be decoded", count=2)
    report = examine(settings)
    assert "could not be decoded" in (report.keys[0].problem or "")
    assert report.clock_skew is None


def test_missing_events_are_those_the_permissions_allow(repo: FakeRepo, settings: Settings) -> None:
    permissions = {"pull_requests": "read", "issues": "read"}
    repo.script_answer("GET /app$", {"id": 4711, "permissions": permissions, "events": ["pull_request"]}, count=2)
    assert examine(settings).missing_events == ("issue_comment",)


def test_permissions_of_each_installation_are_read(restored_repo: FakeRepo, settings: Settings) -> None:
    restored_repo.github.control("permissions", permissions={"metadata": "read", "checks": "write"})
    [installed] = examine(settings).installations
    assert installed.permissions == {"metadata": "read", "checks": "write"}
    assert installed.url.endswith("/settings/installations/100")
    exchanges = restored_repo.github.traffic("GET /app/installations$")
    listed = [exchange for exchange in exchanges if exchange["status"] == 200][-1]
    # GitHub's description wants an account that is both a user and an enterprise.
    missing = r"GET /app/installations -> 200(: |; )(0\.account: '\w+' is a required property(; )?)+"
    [both_at_once] = find_violations([listed])
    assert re.fullmatch(missing, both_at_once)


@pytest.mark.parametrize(("pages", "listed"), [(1, 101), (11, 1000)], ids=["to the end", "ten pages at most"])
def test_installations_are_read_up_to_ten_pages(repo: FakeRepo, settings: Settings, pages: int, listed: int) -> None:
    body: list[object] = [
        {"id": number, "permissions": {}, "created_at": "2026-01-01T00:00:00Z"} for number in range(101, 201)
    ]
    repo.script_answer("GET /app/installations$", body, count=pages)
    ids = [installation.id for installation in examine(settings).installations]
    assert (ids[:100], len(ids)) == ([*range(101, 201)], listed)


@pytest.mark.parametrize(
    ("account", "name"),
    [(AccountSummary(login="acme"), "acme"), (AccountSummary(slug="corp"), "corp"), (None, "a deleted account")],
)
def test_installation_is_named_after_its_account(account: AccountSummary | None, name: str) -> None:
    installed = of_installation(InstallationView(id=5, account=account, created_at=NOW, suspended_at=NOW))
    assert (installed.account, installed.is_suspended) == (name, True)


# Branch protection


def read_protection(settings: Settings, repo: FakeRepo, name: str = "") -> RepositoryProtection:
    return read_branch_protection(settings, SystemClock(), name or repo.name)


def test_repository_without_rules_requires_nothing(repo: FakeRepo, settings: Settings) -> None:
    gate = read_protection(settings, repo)
    assert gate.installation is not None
    assert (gate.installation.id, gate.installation.account) == (100, "acme")
    assert (gate.branch, gate.requirements, gate.has_queue, gate.teams) == ("main", (), False, ())
    permissions = {"metadata": "read", "contents": "read", "merge_queues": "read"}
    assert tokens_sent(repo) == {"repositories": [repo.name.partition("/")[2]], "permissions": permissions}


def test_rulesets_show_our_required_check_and_the_merge_queue(repo: FakeRepo, settings: Settings) -> None:
    required = ["ci", "Assay", {"context": "Assay", "integration_id": 4711}]
    repo.github.control("ruleset", repo=repo.name, required=required)
    requirements = (Requirement("a ruleset", None), Requirement("a ruleset", 4711))
    assert read_protection(settings, repo).requirements == requirements
    repo.github.control("ruleset", repo=repo.name, queue=True)
    assert read_protection(settings, repo).has_queue is True


@pytest.mark.parametrize(("check", "app_id"), [("Assay", None), ({"context": "Assay", "app_id": 4711}, 4711)])
def test_branch_protection_is_read_without_administration(
    repo: FakeRepo, settings: Settings, check: object, app_id: int | None
) -> None:
    name = f"{repo.name.partition('/')[2]}-p"
    repo.github.control("repo", name=name, files={"a": "b"}, protect=["ci", check])
    assert read_protection(settings, repo, f"acme/{name}").requirements == (Requirement("branch protection", app_id),)


ANY_SOURCE = {"contexts": ["Assay"], "checks": [{"context": "Assay", "app_id": -1}]}


@pytest.mark.parametrize(
    ("branch", "is_required"),
    [
        pytest.param({"protection": {"required_status_checks": ANY_SOURCE}}, True, id="any source, spelt -1"),
        pytest.param({"protection": {"required_status_checks": {"contexts": ["Assay"]}}}, True, id="names only"),
        pytest.param({"name": "main"}, False, id="not protected"),
    ],
)
def test_branch_protection_spellings_are_read_without_rulesets(
    repo: FakeRepo, settings: Settings, branch: object, *, is_required: bool
) -> None:
    repo.script_answer("GET /repos/[^/]+/[^/]+/branches/main$", branch)
    repo.script_refusal("GET .*/rules/branches/main$", 404, "Not Found")
    assert read_protection(settings, repo).requirements == (Requirement("branch protection", None),) * is_required


def test_owning_teams_come_from_the_effective_codeowners_file(repo: FakeRepo, settings: Settings) -> None:
    repo.push("main", {"docs/CODEOWNERS": "* @acme/none\n", "CODEOWNERS": "*.py @alice @acme/web\n/x @acme/web\n"})
    assert read_protection(settings, repo).teams == ("acme/web",)
    repo.github.fault("AssayOwners", kind="status", status=502, count=9)
    assert read_protection(settings, repo).teams == ()


def test_merge_queue_is_unknown_without_its_permission(restored_repo: FakeRepo, settings: Settings) -> None:
    restored_repo.github.control("merge-group", repo=restored_repo.name, pulls=[restored_repo.pull().number])
    assert read_protection(settings, restored_repo).has_queue is True
    less = {name: level for name, level in GRANTED.items() if name != "merge_queues"}
    restored_repo.github.control("permissions", permissions=less)
    assert read_protection(settings, restored_repo).has_queue is None


@pytest.mark.usefixtures("repo")
def test_repository_without_the_app_is_asked_nothing_more(settings: Settings) -> None:
    assert read_branch_protection(settings, SystemClock(), "acme/nowhere") == RepositoryProtection("acme/nowhere")
    assert find_numbers(settings, SystemClock(), "acme/nowhere") is None


def test_missing_good_key_is_forbidden(repo: FakeRepo, settings: Settings) -> None:
    for keys, message in (([DAMAGED_KEY], "GitHub refuses our credentials"), ([], "there is no key")):
        with pytest.raises(Forbidden, match=message):
            read_protection(with_keys(settings, *keys), repo)


@pytest.mark.parametrize("match", ["/installation$", "/things-[^/]+$"])
def test_outage_is_raised_as_unavailable(repo: FakeRepo, settings: Settings, match: str) -> None:
    for ask in (find_numbers, read_branch_protection):
        repo.github.fault(f"GET .*{match}", kind="status", status=502, count=3)
        with pytest.raises(Unavailable):
            ask(settings, SystemClock(), repo.name)


# Repository numbers


def test_repository_numbers_are_read_from_github(repo: FakeRepo, settings: Settings) -> None:
    repository = repo.request_as("alice", "GET", "")["id"]
    assert find_numbers(settings, SystemClock(), repo.name) == RepositoryNumbers(INSTALLATION, repository)
    name = repo.name.partition("/")[2]
    assert tokens_sent(repo) == {"repositories": [name], "permissions": {"metadata": "read"}}


def test_next_key_is_used_when_github_refuses_the_first(repo: FakeRepo, settings: Settings) -> None:
    old, good = another_key(), settings.require_app().private_keys[0].get_secret_value()
    assert find_numbers(with_keys(settings, old, good), SystemClock(), repo.name) is not None
    with pytest.raises(Forbidden):
        find_numbers(with_keys(settings, old), SystemClock(), repo.name)


def test_token_asks_only_for_granted_permissions(repo: FakeRepo, settings: Settings) -> None:
    def read(api: GitHubApi) -> None:
        installed = find_installation(api, repo.name)
        assert installed is not None
        assert "administration" not in installed.permissions
        with repository_api(settings, SystemClock(), api, (installed, repo.name), ("metadata", "administration")):
            pass

    ask_as_app(settings, SystemClock(), read)
    assert tokens_sent(repo)["permissions"] == {"metadata": "read"}, "GitHub refuses a token for more than that"


# Pull requests of the last seven days


def test_pull_requests_of_the_last_seven_days_are_counted(repo: FakeRepo, settings: Settings) -> None:
    assert count_opened_this_week(settings, SystemClock(), repo.name) == 0
    repo.pull()
    repo.push("more", {"a.py": "x = 8\n"})
    repo.open_pull_request("more")
    assert count_opened_this_week(settings, SystemClock(), repo.name) == 2
    assert count_opened_this_week(settings, WrongClock(timedelta(days=8)), repo.name) == 0
    with pytest.raises(SubjectGone):
        count_opened_this_week(replace(settings, github_token=SecretStr("bench-bob")), SystemClock(), "acme/no-such")


@pytest.mark.parametrize(("pages", "expected", "asked"), [([100, 30], 130, 2), ([100] * 4, 300, 3)])
def test_busy_repository_is_read_up_to_three_pages(
    httpserver: HTTPServer, tmp_path: Path, pages: list[int], expected: int, asked: int
) -> None:
    for number, count in enumerate(pages, start=1):
        listed = [{"created_at": NOW.astimezone(UTC).isoformat()}] * count
        query = {"state": "all", "sort": "created", "direction": "desc", "per_page": "100", "page": str(number)}
        httpserver.expect_request("/repos/acme/busy/pulls", query_string=query).respond_with_json(listed)
    settings = Settings(data_dir=tmp_path, github_api_url=httpserver.url_for("").rstrip("/"))
    assert count_opened_this_week(settings, SystemClock(), "acme/busy") == expected
    assert len(httpserver.log) == asked
