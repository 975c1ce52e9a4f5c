"""Review requests to code owners; a reviewer whom GitHub refuses does not stop the others."""

import pytest

from tests.worker.adapters.github.conftest import FakeRepo, OpenedPull
from worker.adapters.github.client import AppAccess
from worker.adapters.github.reviews import GitHubReviewers
from worker.domain.codeowners import Owner
from worker.domain.judge_request import ReviewRef
from worker.errors import Forbidden

AGENT = "copilot-swe-agent[bot]"


@pytest.fixture
def reviewers(access: AppAccess) -> GitHubReviewers:
    return GitHubReviewers(access)


@pytest.mark.parametrize("path", [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"])
def test_codeowners_is_read_from_the_base_in_each_location(
    repo: FakeRepo, reviewers: GitHubReviewers, path: str
) -> None:
    without = repo.push("main", {"more.txt": "x\n"})
    base = repo.push("main", {path: "* @alice\n"})
    pull = repo.pull({path: "* @mallory\n"})
    read = [reviewers.read_codeowners(pull.request.pull, repo.name, sha) for sha in (base, without)]
    assert read == ["* @alice\n", None]


def test_reviewers_with_access_are_asked_once(repo: FakeRepo, reviewers: GitHubReviewers) -> None:
    """The author and accounts without access are not asked."""
    pull, bob = repo.pull(), Owner("bob")
    assert reviewers.request_reviews(pull.request, [Owner("mallory"), Owner("alice"), bob]) == (bob,)
    for _ in range(2):
        reviewers.request_reviews(pull.request, [bob])
    opened = repo.request_as("alice", "GET", f"/pulls/{pull.number}")
    assert [reviewer["login"] for reviewer in opened["requested_reviewers"]] == ["bob"]
    assert reviewers.request_reviews(pull.request, [Owner("mallory")]) == ()


def test_label_is_added_once(repo: FakeRepo, reviewers: GitHubReviewers) -> None:
    pull = repo.pull()
    for _ in range(2):
        reviewers.add_label(pull.request, "needs a person")
    labels = repo.request_as("alice", "GET", f"/pulls/{pull.number}")["labels"]
    assert [label["name"] for label in labels] == ["needs a person"]


def test_refused_label_or_review_request_is_forbidden(repo: FakeRepo, reviewers: GitHubReviewers) -> None:
    pull = repo.pull()
    repo.script_refusal("POST .*/labels$", 422, "Validation Failed")
    with pytest.raises(Forbidden, match="Validation Failed"):
        reviewers.add_label(pull.request, "needs a person")
    repo.script_refusal("POST .*/requested_reviewers", 403, "Resource not accessible by integration")
    with pytest.raises(Forbidden, match="pull_requests: write"):
        reviewers.request_reviews(pull.request, [Owner("bob")])


def submit_review(opened: OpenedPull, login: str, event: str) -> int:
    body = {"event": event, "body": "Hm.", "commit_id": opened.sha}
    return int(opened.repository.request_as(login, "POST", f"/pulls/{opened.number}/reviews", **body)["id"])


def test_newest_undismissed_review_of_each_writer_counts(repo: FakeRepo, reviewers: GitHubReviewers) -> None:
    pull = repo.pull(login=AGENT)
    first = submit_review(pull, "bob", "APPROVE")
    submit_review(pull, "bob", "COMMENT")
    submit_review(pull, "alice", "APPROVE")
    second = submit_review(pull, "alice", "REQUEST_CHANGES")
    submit_review(pull, "mallory", "APPROVE")
    rows = ((first, "bob", True), (second, "alice", False))
    expected = [(ReviewRef(id=number, login=login), is_approved, pull.sha) for number, login, is_approved in rows]

    def read_reviews() -> list[tuple[ReviewRef, bool, str]]:
        return [(review.review, review.is_approved, review.head_sha) for review in reviewers.list_reviews(pull.request)]

    assert read_reviews() == expected
    repo.request_as("alice", "PUT", f"/pulls/{pull.number}/reviews/{first}/dismissals", message="No.")
    assert read_reviews() == expected[1:]
