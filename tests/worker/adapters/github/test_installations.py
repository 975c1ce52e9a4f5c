"""What GitHub lists: deliveries, installations, their repositories, and the pull requests in them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, GitHubRepository
from worker.adapters.github import installations
from worker.adapters.github.client import MOST_REMEMBERED, AppAccess, GitHubApi, key_api
from worker.adapters.github.installations import GitHubDeliveries, GitHubListing, GitHubRepositories
from worker.clock import SystemClock
from worker.domain.config.config import Authors, Handling
from worker.domain.judge_request import AuthorKind
from worker.domain.pull_request_events import DeliveryAttempt
from worker.dossier.authors import classify_author
from worker.errors import SubjectGone
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
def sent(github_repository: GitHubRepository, api: GitHubApi, monkeypatch: pytest.MonkeyPatch) -> list[DeliveryAttempt]:
    """Nine deliveries that reached nobody, the newest first; GitHub shows two at a time, and one look reads four."""
    github_repository.github.control("hooks", url="http://127.0.0.1:9/nowhere", events=["issues"])
    for number in range(9):
        github_repository.issue(f"Issue {number}", "")
    github_repository.github.settle()
    whole, _ = GitHubDeliveries(api).list_since(AGES_AGO, None)
    github_repository.github.control("hooks", url=None, events=[])
    monkeypatch.setattr(installations, "PER_PAGE", 2)
    monkeypatch.setattr(installations, "MOST_DELIVERY_PAGES", 2)
    return whole


def test_a_look_reads_so_much_and_the_next_one_goes_on(api: GitHubApi, sent: list[DeliveryAttempt]) -> None:
    assert len(sent) >= 9
    looks = [GitHubDeliveries(api).list_since(AGES_AGO, None)]
    while cursor := looks[-1][1]:
        looks.append(GitHubDeliveries(api).list_since(AGES_AGO, cursor))
    assert [attempt for some, _ in looks for attempt in some] == sent
    assert {len(some) for some, _ in looks[:-1]} == {4}
    assert len(looks) == -(-len(sent) // 4)


def test_what_is_older_is_left_and_an_unknown_cursor_begins_at_the_newest(
    api: GitHubApi, sent: list[DeliveryAttempt]
) -> None:
    assert GitHubDeliveries(api).list_since(sent[0].at + timedelta(seconds=1), None) == ([], None)
    assert GitHubDeliveries(api).list_since(AGES_AGO, "strange")[0] == sent[:4]


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_what_github_does_not_deliver_again_is_let_go(
    github_repository: GitHubRepository, api: GitHubApi, sent: list[DeliveryAttempt], status: int
) -> None:
    github_repository.script_refusal("POST /app/hook/deliveries", status)
    assert [GitHubDeliveries(api).redeliver(one) for one in sent[:2]] == [False, True]


def test_a_refusal_of_the_newest_is_one(github_repository: GitHubRepository, api: GitHubApi) -> None:
    github_repository.script_refusal("GET /app/hook/deliveries", 404, "Not Found")
    with pytest.raises(SubjectGone):
        GitHubDeliveries(api).list_since(AGES_AGO, None)


# Installations and their repositories


def test_installations_are_read_by_so_many_pages_and_the_last_one_leads_to_the_first(
    github_repository: GitHubRepository, api: GitHubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pages(first: int) -> list[tuple[int, int]]:
        return [(len(page), following) for page, following in installations.list_installation_pages(api, first)]

    assert pages(1) == [(1, 1)]
    assert len(list(installations.list_installations(api))) == 1
    monkeypatch.setattr(installations, "PER_PAGE", 1)
    monkeypatch.setattr(installations, "MOST_PAGES", 1)
    assert pages(1) == [(1, 2)]
    github_repository.script_answer("GET /app/installations", [])
    assert pages(2) == [(0, 1)]


@pytest.fixture
def repositories(access: AppAccess) -> GitHubRepositories:
    return GitHubRepositories(access)


def listed(place: GitHubRepository) -> list[Any]:
    return [one["status"] for one in place.github.traffic("GET /installation/repositories")]


def test_a_list_that_is_the_same_is_not_sent_again_and_takes_nothing_of_the_hour(
    github_repository: GitHubRepository, repositories: GitHubRepositories
) -> None:
    before = len(listed(github_repository))
    first, second = (repositories.list_page(INSTALLATION, number) for number in (1, 2))
    assert first != second
    assert [repositories.list_page(INSTALLATION, number) for number in (1, 2)] == [first, second]
    assert listed(github_repository)[before:] == [200, 200, 304, 304]
    assert github_repository.github.traffic("GET /installation/repositories")[-1]["received"] is None


def test_a_list_that_has_changed_is_read_anew(
    github_repository: GitHubRepository, repositories: GitHubRepositories
) -> None:
    def names() -> set[str]:
        found, number, has_more = set[str](), 0, True
        while has_more:
            number += 1
            page, has_more = repositories.list_page(INSTALLATION, number)
            found |= {one.name for one in page}
        return found

    assert github_repository.name in names()
    added = f"things-{uuid4().hex[:8]}"
    github_repository.github.control("repo", name=added, files={"a.py": "x = 1\n"})
    assert f"acme/{added}" in names()


def test_another_token_asks_for_the_list_without_what_the_old_one_was_told(
    github_repository: GitHubRepository, repositories: GitHubRepositories
) -> None:
    """GitHub's ETags are of one credential: it sends the list anew, and that counts from then on."""
    first = repositories.list_page(INSTALLATION, 1)
    github_repository.github.control("tokens/expire")
    before = len(listed(github_repository))
    assert [repositories.list_page(INSTALLATION, 1) for _ in range(2)] == [first, first]
    assert listed(github_repository)[before:] == [401, 200, 304]


def test_of_many_pages_those_that_were_asked_for_last_are_remembered(
    github_repository: GitHubRepository, repositories: GitHubRepositories
) -> None:
    for number in (*range(1, MOST_REMEMBERED + 2), MOST_REMEMBERED + 1, 2, 1):
        repositories.list_page(INSTALLATION, number)
    assert listed(github_repository)[-3:] == [304, 304, 200]


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
def test_who_wrote_a_pull_request_is_told_in_one_request(
    github_repository: GitHubRepository, listing: GitHubListing, message: str, body: str
) -> None:
    github_repository.push("fix", {"a.py": "x = 2\n"}, message=message)
    opened = github_repository.open_pull_request("fix", body)
    looked = listing.find_author(opened.request)
    assert (looked.pull.author, looked.pull.head_sha, looked.pull.draft) == ("alice", opened.sha, False)
    assert classify_author(looked.pull) is AuthorKind.AGENT
    assert looked.authors == Authors()
    assert len(github_repository.request_names()) == 1


def test_whom_the_repository_judges_comes_from_its_base_if_that_can_be_read(
    github_repository: GitHubRepository, listing: GitHubListing
) -> None:
    github_repository.push("main", {CONFIG: "authors:\n  people: observe\n"})
    opened = github_repository.pull({CONFIG: "authors:\n  people: judge\n"})
    assert listing.find_author(opened.request).authors == Authors(people=Handling.OBSERVE)
    github_repository.push("main", {CONFIG: "authors: [\n"})
    assert listing.find_author(opened.request).authors is None


@pytest.mark.parametrize(
    ("config", "lets_pass"),
    [("", False), ("mode: observe\n", True), ("abstains: {unproven: neutral}\n", True), ("abstains: {unproven: block}\n", False)],
)  # fmt: skip
def test_whether_merges_wait_for_the_check_is_told_with_what_the_repository_lets_pass(
    github_repository: GitHubRepository, listing: GitHubListing, config: str, *, lets_pass: bool
) -> None:
    github_repository.push("main", {CONFIG: config})
    opened = github_repository.pull()
    assert not listing.find_author(opened.request).is_required
    github_repository.github.control("ruleset", repo=github_repository.name, required=["Assay"])
    looked = listing.find_author(opened.request)
    assert (looked.is_required, looked.is_passed_unjudged) == (True, lets_pass)


def test_the_open_pull_requests_are_listed_the_newest_first_and_a_closed_one_is_gone(
    github_repository: GitHubRepository, listing: GitHubListing
) -> None:
    before = datetime.now(UTC)  # noqa: TID251 - GitHub's clock is this machine's
    first = github_repository.pull(login="copilot-swe-agent[bot]")
    for branch in ("more", "last"):
        github_repository.push(branch, {"a.py": f"x = '{branch}'\n"})
    second, third = github_repository.open_pull_request("more"), github_repository.open_pull_request("last")
    second.edit(state="closed")
    found = list(listing.open_pulls(INSTALLATION, github_repository.name))
    assert [(one.number, one.head_sha) for one in found] == [(third.number, third.sha), (first.number, first.sha)]
    assert [one.author for one in found] == [AuthorKind.PERSON, AuthorKind.AGENT]
    assert all((one.opened_at - before).total_seconds() > -60 and not one.draft for one in found)
    with pytest.raises(SubjectGone, match="closed"):
        listing.find_author(second.request)
