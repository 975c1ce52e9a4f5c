"""Asking code owners for their review. Invariant: whom GitHub refuses keeps nobody else from being asked."""

import pytest

from tests.worker.adapters.github.conftest import GitHubRepository, OpenedPullRequest
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
def test_codeowners_is_read_at_the_base_wherever_github_looks(
    github_repository: GitHubRepository, reviewers: GitHubReviewers, path: str
) -> None:
    without = github_repository.push("main", {"more.txt": "x\n"})
    base = github_repository.push("main", {path: "* @alice\n"})
    pull = github_repository.pull({path: "* @mallory\n"})
    read = [reviewers.read_codeowners(pull.request.pull, github_repository.name, sha) for sha in (base, without)]
    assert read == ["* @alice\n", None]


def test_those_who_may_be_asked_are_asked_once(github_repository: GitHubRepository, reviewers: GitHubReviewers) -> None:
    """Not who has no access here, and not the author."""
    pull, bob = github_repository.pull(), Owner("bob")
    assert reviewers.request_reviews(pull.request, [Owner("mallory"), Owner("alice"), bob]) == (bob,)
    for _ in range(2):
        reviewers.request_reviews(pull.request, [bob])
    pulls = github_repository.github.request_as("alice", "GET", f"/repos/{github_repository.name}/pulls/{pull.number}")
    assert [one["login"] for one in pulls["requested_reviewers"]] == ["bob"]
    assert reviewers.request_reviews(pull.request, [Owner("mallory")]) == ()


def test_a_label_is_put_on_once(github_repository: GitHubRepository, reviewers: GitHubReviewers) -> None:
    pull = github_repository.pull()
    for _ in range(2):
        reviewers.add_label(pull.request, "needs a person")
    found = github_repository.github.request_as("alice", "GET", f"/repos/{github_repository.name}/pulls/{pull.number}")
    assert [one["name"] for one in found["labels"]] == ["needs a person"]


def test_what_github_does_not_take_is_refused(github_repository: GitHubRepository, reviewers: GitHubReviewers) -> None:
    pull = github_repository.pull()
    github_repository.script_refusal("POST .*/labels$", 422, "Validation Failed")
    with pytest.raises(Forbidden, match="Validation Failed"):
        reviewers.add_label(pull.request, "needs a person")
    github_repository.script_refusal("POST .*/requested_reviewers", 403, "Resource not accessible by integration")
    with pytest.raises(Forbidden, match="pull_requests: write"):
        reviewers.request_reviews(pull.request, [Owner("bob")])


def reviewed(opened: OpenedPullRequest, login: str, event: str) -> int:
    path = f"/repos/{opened.place.name}/pulls/{opened.number}/reviews"
    body = {"event": event, "body": "Hm.", "commit_id": opened.sha}
    return int(opened.place.github.request_as(login, "POST", path, **body)["id"])


def test_who_may_write_is_heard_with_their_newest_decision_that_was_not_dismissed(
    github_repository: GitHubRepository, reviewers: GitHubReviewers
) -> None:
    pull = github_repository.pull(login=AGENT)
    first = reviewed(pull, "bob", "APPROVE")
    reviewed(pull, "bob", "COMMENT")
    reviewed(pull, "alice", "APPROVE")
    second = reviewed(pull, "alice", "REQUEST_CHANGES")
    reviewed(pull, "mallory", "APPROVE")
    heard = [
        (ReviewRef(id=first, login="bob"), True, pull.sha),
        (ReviewRef(id=second, login="alice"), False, pull.sha),
    ]

    def shown() -> list[tuple[ReviewRef, bool, str]]:
        return [(one.review, one.is_approved, one.head_sha) for one in reviewers.list_reviews(pull.request)]

    assert shown() == heard
    path = f"/repos/{github_repository.name}/pulls/{pull.number}/reviews/{first}/dismissals"
    github_repository.github.request_as("alice", "PUT", path, message="No.")
    assert shown() == heard[1:]
