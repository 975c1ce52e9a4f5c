"""Lists read from GitHub: deliveries, installations, repositories and pull requests."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo
from worker.adapters.github import installations
from worker.adapters.github.client import MOST_REMEMBERED, AppAccess, GitHubApi, key_api
from worker.adapters.github.installations import GitHubDeliveries, GitHubListing, GitHubRepositories
from worker.domain.config.config import Authors, Handling
from worker.domain.github_events import DeliveryAttempt
from worker.domain.judge_request import AuthorKind
from worker.domain.lifecycle.intake import ShownPull
from worker.domain.model import hash_base
from worker.dossier.authors import classify_author
from worker.errors import SubjectGone
from worker.process import SystemClock
from worker.settings import Settings

AGES_AGO = datetime(2020, 1, 1, tzinfo=UTC)
CONFIG = ".github/assay.yml"


@pytest.fixture
def api(settings: Settings) -> Iterator[GitHubApi]:
    app = settings.require_app()
    with key_api(settings, app, app.private_keys[0], SystemClock()) as api:
        yield api


# Deliveries


@pytest.fixture
def failed_deliveries(repo: FakeRepo, api: GitHubApi, monkeypatch: pytest.MonkeyPatch) -> list[DeliveryAttempt]:
    """Failed deliveries, newest first; a page has two, and one listing reads four."""
    repo.github.control("hooks", url="http://127.0.0.1:9/nowhere", events=["issues"])
    for number in range(5):
        repo.issue(f"Issue {number}", "")
    repo.github.settle()
    whole, _ = GitHubDeliveries(api).list_since(AGES_AGO, None)
    repo.github.control("hooks", url=None, events=[])
    monkeypatch.setattr(installations, "PER_PAGE", 2)
    monkeypatch.setattr(installations, "MOST_DELIVERY_PAGES", 2)
    return whole


def test_delivery_listing_continues_at_its_cursor(api: GitHubApi, failed_deliveries: list[DeliveryAttempt]) -> None:
    assert len(failed_deliveries) >= 5
    looks = [GitHubDeliveries(api).list_since(AGES_AGO, None)]
    while cursor := looks[-1][1]:
        looks.append(GitHubDeliveries(api).list_since(AGES_AGO, cursor))
    assert [attempt for some, _ in looks for attempt in some] == failed_deliveries
    assert {len(some) for some, _ in looks[:-1]} == {4}
    assert len(looks) == -(-len(failed_deliveries) // 4)


def test_delivery_listing_skips_old_ones_and_restarts_on_an_unknown_cursor(
    api: GitHubApi, failed_deliveries: list[DeliveryAttempt]
) -> None:
    assert GitHubDeliveries(api).list_since(failed_deliveries[0].at + timedelta(seconds=1), None) == ([], None)
    assert GitHubDeliveries(api).list_since(AGES_AGO, "strange")[0] == failed_deliveries[:4]


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_refused_redelivery_is_skipped(
    repo: FakeRepo, api: GitHubApi, failed_deliveries: list[DeliveryAttempt], status: int
) -> None:
    repo.script_refusal("POST /app/hook/deliveries", status)
    assert [GitHubDeliveries(api).redeliver(delivery) for delivery in failed_deliveries[:2]] == [False, True]


def test_refused_delivery_listing_is_raised(repo: FakeRepo, api: GitHubApi) -> None:
    repo.script_refusal("GET /app/hook/deliveries", 404, "Not Found")
    with pytest.raises(SubjectGone):
        GitHubDeliveries(api).list_since(AGES_AGO, None)


# Installations and their repositories


def test_installation_pages_continue_and_the_last_leads_to_the_first(
    repo: FakeRepo, api: GitHubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pages(first: int) -> list[tuple[int, int]]:
        return [(len(page), following) for page, following in installations.list_installation_pages(api, first)]

    assert pages(1) == [(1, 1)]
    assert len(list(installations.list_installations(api))) == 1
    monkeypatch.setattr(installations, "PER_PAGE", 1)
    monkeypatch.setattr(installations, "MOST_PAGES", 1)
    assert pages(1) == [(1, 2)]
    repo.script_answer("GET /app/installations", [])
    assert pages(2) == [(0, 1)]


@pytest.fixture
def repositories(access: AppAccess) -> GitHubRepositories:
    return GitHubRepositories(access)


def list_statuses(repo: FakeRepo) -> list[Any]:
    return [exchange["status"] for exchange in repo.github.traffic("GET /installation/repositories")]


def test_unchanged_repository_list_uses_its_etag(repo: FakeRepo, repositories: GitHubRepositories) -> None:
    before = len(list_statuses(repo))
    first, second = (repositories.list_page(INSTALLATION, number) for number in (1, 2))
    assert first != second
    assert [repositories.list_page(INSTALLATION, number) for number in (1, 2)] == [first, second]
    assert list_statuses(repo)[before:] == [200, 200, 304, 304]
    assert repo.github.traffic("GET /installation/repositories")[-1]["received"] is None


def test_changed_repository_list_is_read(repo: FakeRepo, repositories: GitHubRepositories) -> None:
    def names() -> set[str]:
        names, number, has_more = set[str](), 0, True
        while has_more:
            number += 1
            page, has_more = repositories.list_page(INSTALLATION, number)
            names |= {repository.name for repository in page}
        return names

    assert repo.name in names()
    added = f"things-{uuid4().hex[:8]}"
    repo.github.control("repo", name=added, files={"a.py": "x = 1\n"})
    assert f"acme/{added}" in names()


def test_etag_of_an_expired_token_is_not_sent(repo: FakeRepo, repositories: GitHubRepositories) -> None:
    """An ETag belongs to one token, so GitHub sends the whole list to the next one."""
    first = repositories.list_page(INSTALLATION, 1)
    repo.github.control("tokens/expire")
    before = len(list_statuses(repo))
    assert [repositories.list_page(INSTALLATION, 1) for _ in range(2)] == [first, first]
    assert list_statuses(repo)[before:] == [401, 200, 304]


def test_most_recently_used_pages_are_remembered(repo: FakeRepo, repositories: GitHubRepositories) -> None:
    for number in (*range(1, MOST_REMEMBERED + 2), MOST_REMEMBERED + 1, 2, 1):
        repositories.list_page(INSTALLATION, number)
    assert list_statuses(repo)[-3:] == [304, 304, 200]


# Pull requests and their authors


@pytest.fixture
def listing(access: AppAccess) -> GitHubListing:
    return GitHubListing(access)


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>", ""),
        ("Retry", "Retry.\n\n🤖 Generated with [Claude Code](https://claude.com/claude-code)\n"),
    ],
    ids=["by its commits", "by its description"],
)
def test_author_of_a_pull_request_is_read_in_one_request(
    repo: FakeRepo, listing: GitHubListing, message: str, body: str
) -> None:
    repo.push("fix", {"a.py": "x = 2\n"}, message=message)
    opened = repo.open_pull_request("fix", body)
    pull = listing.find_author(opened.request)
    assert (pull.pull.author, pull.pull.head_sha, pull.pull.draft) == ("alice", opened.sha, False)
    assert classify_author(pull.pull) is AuthorKind.AGENT
    assert pull.authors == Authors()
    assert len(repo.request_names()) == 1


def test_head_base_and_draft_state_are_those_shown_now(repo: FakeRepo, listing: GitHubListing) -> None:
    opened = repo.pull()
    assert listing.find_shown(opened.request) == ShownPull(opened.sha, hash_base("main"), draft=False)
    opened.edit(state="closed")
    with pytest.raises(SubjectGone, match="closed"):
        listing.find_shown(opened.request)


def test_judged_authors_come_from_the_readable_base_configuration(repo: FakeRepo, listing: GitHubListing) -> None:
    repo.push("main", {CONFIG: "authors:\n  people: observe\n"})
    opened = repo.pull({CONFIG: "authors:\n  people: judge\n"})
    assert listing.find_author(opened.request).authors == Authors(people=Handling.OBSERVE)
    repo.push("main", {CONFIG: "authors: [\n"})
    assert listing.find_author(opened.request).authors is None


@pytest.mark.parametrize(
    ("config", "lets_pass"),
    [("", False), ("mode: observe\n", True), ("abstains: {unproven: neutral}\n", True), ("abstains: {unproven: block}\n", False)],
)  # fmt: skip
def test_required_check_is_read_with_what_passes_unjudged(
    repo: FakeRepo, listing: GitHubListing, config: str, *, lets_pass: bool
) -> None:
    repo.push("main", {CONFIG: config})
    opened = repo.pull()
    assert not listing.find_author(opened.request).is_required
    repo.github.control("ruleset", repo=repo.name, required=["Assay"])
    pull = listing.find_author(opened.request)
    assert (pull.is_required, pull.is_passed_unjudged) == (True, lets_pass)


def test_open_pull_requests_are_listed_newest_first(repo: FakeRepo, listing: GitHubListing) -> None:
    before = datetime.now(UTC)  # noqa: TID251 - GitHub's clock is this machine's
    first = repo.pull(login="copilot-swe-agent[bot]")
    for branch in ("more", "last"):
        repo.push(branch, {"a.py": f"x = '{branch}'\n"})
    second, third = repo.open_pull_request("more"), repo.open_pull_request("last")
    second.edit(state="closed")
    pulls = list(listing.open_pulls(INSTALLATION, repo.name))
    assert [(pull.number, pull.head_sha) for pull in pulls] == [(third.number, third.sha), (first.number, first.sha)]
    assert [pull.author for pull in pulls] == [AuthorKind.PERSON, AuthorKind.AGENT]
    assert all((pull.opened_at - before).total_seconds() > -60 and not pull.draft for pull in pulls)
    with pytest.raises(SubjectGone, match="closed"):
        listing.find_author(second.request)
