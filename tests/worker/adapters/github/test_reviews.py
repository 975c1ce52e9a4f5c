"""Asking code owners for their review. Invariant: whom GitHub refuses keeps nobody else from being asked."""

import pytest

from tests.worker.adapters.github.conftest import Opened, Place
from worker.adapters.github.client import AppAccess
from worker.adapters.github.reviews import GitHubReviewers
from worker.domain.codeowners import Owner
from worker.domain.judge_request import ReviewRef
from worker.errors import Forbidden


def asked(opened: Opened) -> list[str]:
    path = f"/repos/{opened.place.name}/pulls/{opened.number}"
    found = opened.place.github.user("alice", "GET", path)
    return [one["login"] for one in found["requested_reviewers"]]


@pytest.mark.parametrize("path", [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"])
def test_codeowners_is_read_at_the_base_wherever_github_looks(place: Place, access: AppAccess, path: str) -> None:
    base = place.push("main", {path: "* @alice\n"})
    pull = place.pull({path: "* @mallory\n"})
    reviewers = GitHubReviewers(access)
    assert reviewers.read_codeowners(pull.request.pull, place.name, base) == "* @alice\n"


def test_a_repository_may_have_no_codeowners(place: Place, access: AppAccess) -> None:
    base = place.push("main", {"more.txt": "x\n"})
    pull = place.pull({"a.py": "x = 2\n"})
    assert GitHubReviewers(access).read_codeowners(pull.request.pull, place.name, base) is None


def test_all_are_asked_at_once(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    owners = [Owner("bob"), Owner("mallory")]
    GitHubReviewers(access).request_reviews(pull.request, owners[:1])
    GitHubReviewers(access).request_reviews(pull.request, owners[:1])
    assert asked(pull) == ["bob"]


def test_who_has_no_access_here_and_the_author_are_left_out(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    owners = [Owner("mallory"), Owner("alice"), Owner("bob")]
    assert GitHubReviewers(access).request_reviews(pull.request, owners) == (Owner("bob"),)
    assert asked(pull) == ["bob"]
    assert GitHubReviewers(access).request_reviews(pull.request, owners[:1]) == ()


def test_a_label_is_put_on_once(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    for _ in range(2):
        GitHubReviewers(access).add_label(pull.request, "needs a person")
    found = place.github.user("alice", "GET", f"/repos/{place.name}/pulls/{pull.number}")
    assert [one["name"] for one in found["labels"]] == ["needs a person"]


def test_a_label_that_github_does_not_take_is_refused(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    place.github.fault("POST .*/labels$", status=422, body={"message": "Validation Failed"})
    with pytest.raises(Forbidden, match="Validation Failed"):
        GitHubReviewers(access).add_label(pull.request, "needs a person")


def test_without_the_permission_nobody_is_asked(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    words = {"message": "Resource not accessible by integration"}
    place.github.fault("POST .*/requested_reviewers", status=403, body=words)
    with pytest.raises(Forbidden, match="pull_requests: write"):
        GitHubReviewers(access).request_reviews(pull.request, [Owner("bob")])


def reviewed(opened: Opened, login: str, event: str, sha: str | None = None) -> int:
    path = f"/repos/{opened.place.name}/pulls/{opened.number}/reviews"
    body = {"event": event, "body": "Hm.", "commit_id": sha or opened.sha}
    return int(opened.place.github.user(login, "POST", path, **body)["id"])


def test_who_may_write_is_heard_with_their_newest_decision(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"}, login="copilot-swe-agent[bot]")
    first = reviewed(pull, "bob", "APPROVE")
    reviewed(pull, "bob", "COMMENT")
    reviewed(pull, "alice", "APPROVE")
    second = reviewed(pull, "alice", "REQUEST_CHANGES")
    reviewed(pull, "mallory", "APPROVE")
    found = GitHubReviewers(access).list_reviews(pull.request)
    assert [(one.review, one.is_approved, one.head_sha) for one in found] == [
        (ReviewRef(id=first, login="bob"), True, pull.sha),
        (ReviewRef(id=second, login="alice"), False, pull.sha),
    ]


def test_a_dismissed_review_says_nothing_any_more(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"}, login="copilot-swe-agent[bot]")
    review = reviewed(pull, "bob", "APPROVE")
    path = f"/repos/{place.name}/pulls/{pull.number}/reviews/{review}/dismissals"
    place.github.user("alice", "PUT", path, message="No.")
    assert GitHubReviewers(access).list_reviews(pull.request) == ()
