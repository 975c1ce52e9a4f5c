"""The two looks that are not for judging. Invariant: one request each."""

from datetime import UTC, datetime

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, Place
from worker.adapters.github.client import AppAccess
from worker.adapters.github.installations import GitHubListing
from worker.domain.config.config import Authors, Handling
from worker.domain.judge_request import AuthorKind
from worker.dossier.authors import classify_author
from worker.errors import SubjectGone


@pytest.fixture
def listing(access: AppAccess) -> GitHubListing:
    return GitHubListing(access)


def test_who_wrote_a_pull_request_is_told_by_its_account_and_its_commits(place: Place, listing: GitHubListing) -> None:
    signed = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    place.push("fix", {"a.py": "x = 2\n"}, message=signed)
    opened = place.opened("fix")
    looked = listing.find_author(opened.request)
    assert (looked.pull.author, looked.pull.head_sha, looked.pull.draft) == ("alice", opened.sha, False)
    assert classify_author(looked.pull) is AuthorKind.AGENT
    assert looked.authors == Authors()
    assert len(place.asked()) == 1


def test_who_wrote_a_pull_request_is_told_by_its_description(place: Place, listing: GitHubListing) -> None:
    place.push("fix", {"a.py": "x = 2\n"})
    opened = place.opened("fix", body="Retry.\n\n🤖 Generated with [Claude Code](https://claude.com/claude-code)\n")
    assert classify_author(listing.find_author(opened.request).pull) is AuthorKind.AGENT


def test_whom_the_repository_judges_comes_from_its_base(place: Place, listing: GitHubListing) -> None:
    place.push("main", {".github/assay.yml": "authors:\n  people: observe\n"})
    opened = place.pull({".github/assay.yml": "authors:\n  people: judge\n"})
    assert listing.find_author(opened.request).authors == Authors(people=Handling.OBSERVE)


def test_a_configuration_that_can_not_be_used_tells_nothing(place: Place, listing: GitHubListing) -> None:
    place.push("main", {".github/assay.yml": "authors: [\n"})
    assert listing.find_author(place.pull({"a.py": "x = 2\n"}).request).authors is None


@pytest.mark.parametrize(
    ("config", "lets_pass"),
    [("", False), ("mode: observe\n", True), ("abstains: {unproven: neutral}\n", True), ("abstains: {unproven: block}\n", False)],
)  # fmt: skip
def test_whether_merges_wait_for_the_check_is_told_with_what_the_repository_lets_pass(
    place: Place, listing: GitHubListing, config: str, *, lets_pass: bool
) -> None:
    place.push("main", {".github/assay.yml": config})
    opened = place.pull({"a.py": "x = 2\n"})
    assert not listing.find_author(opened.request).is_required
    place.github.verb("ruleset", repo=place.name, required=["Assay"])
    looked = listing.find_author(opened.request)
    assert (looked.is_required, looked.is_passed_unjudged) == (True, lets_pass)


def test_a_closed_one_is_gone(place: Place, listing: GitHubListing) -> None:
    opened = place.pull({"a.py": "x = 2\n"})
    opened.edit(state="closed")
    with pytest.raises(SubjectGone, match="closed"):
        listing.find_author(opened.request)


def test_the_open_pull_requests_are_listed_the_newest_first(place: Place, listing: GitHubListing) -> None:
    before = datetime.now(UTC)  # noqa: TID251 - GitHub's clock is this machine's
    first = place.pull({"a.py": "x = 2\n"}, login="copilot-swe-agent[bot]")
    place.push("more", {"a.py": "x = 3\n"})
    second = place.opened("more")
    second.edit(state="closed")
    place.push("last", {"a.py": "x = 4\n"})
    third = place.opened("last")
    found = list(listing.open_pulls(INSTALLATION, place.name))
    assert [(one.number, one.head_sha) for one in found] == [(third.number, third.sha), (first.number, first.sha)]
    assert [one.author for one in found] == [AuthorKind.PERSON, AuthorKind.AGENT]
    assert all((one.opened_at - before).total_seconds() > -60 and not one.draft for one in found)
