"""Our comment in a pull request's conversation, changed by the request that finds the newest head out."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.adapters.github.conftest import Place
from worker.adapters.github.client import AppAccess
from worker.adapters.github.comments import GitHubComments
from worker.domain.judge_request import PullRef
from worker.domain.ports import PostedComment, PullHead
from worker.errors import Forbidden, RateLimited, SubjectGone

NOBODYS = "MDEyOklzc3VlQ29tbWVudDk5OTk5OTk="
REFUSAL = {"type": "FORBIDDEN", "path": ["updateIssueComment"], "message": "Resource not accessible by integration"}
UNKNOWN = {"extensions": {"code": "undefinedField"}, "message": "Field doesn't exist"}


def comment(place: Place, access: AppAccess, pull: PullRef) -> str:
    """What GraphQL calls a new comment of ours."""
    written = GitHubComments(access).write(pull, place.name, "Do this. <!-- mark -->")
    assert written.node_id is not None
    found = GitHubComments(access).find(pull, place.name, "<!-- mark -->", datetime.now(UTC) - timedelta(hours=1))  # noqa: TID251 - GitHub's time
    assert found == written
    changed = GitHubComments(access).change(pull, place.name, written.id, "Do that.")
    assert changed == PostedComment(written.id, written.node_id)
    return written.node_id


def texts(place: Place, number: int) -> list[str]:
    return [one["body"] for one in place.github.user("alice", "GET", f"/repos/{place.name}/issues/{number}/comments")]


def test_one_request_changes_the_comment_and_names_the_newest_head(place: Place, access: AppAccess) -> None:
    opened = place.pull({"a.py": "x = 2\n"})
    pull = opened.request.pull
    node_id = comment(place, access, pull)
    assert GitHubComments(access).change_and_read_head(pull, node_id, "Done.") == PullHead(opened.sha, is_open=True)
    assert texts(place, pull.number) == ["Done."]

    newer = place.push("fix", {"a.py": "x = 3\n"})
    assert GitHubComments(access).change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=True)
    opened.edit(state="closed")
    assert GitHubComments(access).change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=False)
    assert place.asked().count("AssayTell") == 3


def test_an_answer_about_anything_else_names_no_head(place: Place, access: AppAccess) -> None:
    opened = place.pull({"a.py": "x = 2\n"})
    issue = opened.request.pull.model_copy(update={"number": place.issue("Words", "some")})
    of_issue = comment(place, access, issue)
    assert GitHubComments(access).change_and_read_head(issue, of_issue, "Done.") is None
    of_pull = comment(place, access, opened.request.pull)
    assert GitHubComments(access).change_and_read_head(issue, of_pull, "Done.") is None
    place.github.fault("AssayTell", status=200, body={"data": {"updateIssueComment": None}})
    assert GitHubComments(access).change_and_read_head(issue, of_pull, "Done.") is None


def test_what_github_refuses_is_refused_and_what_is_deleted_is_gone(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"}).request.pull
    with pytest.raises(SubjectGone):
        GitHubComments(access).change_and_read_head(pull, NOBODYS, "Done.")
    for error, words in ((REFUSAL, "pull_requests: write"), (UNKNOWN, "Field doesn't exist")):
        body = {"data": {"updateIssueComment": None}, "errors": [error]}
        place.github.fault("AssayTell", status=200, body=body)
        with pytest.raises(Forbidden, match=words):
            GitHubComments(access).change_and_read_head(pull, NOBODYS, "Done.")
    place.github.fault("AssayTell", kind="secondary")
    with pytest.raises(RateLimited):
        GitHubComments(access).change_and_read_head(pull, NOBODYS, "Done.")


def test_a_comment_that_github_does_not_take_is_refused(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"}).request.pull
    place.github.fault("(POST|PATCH) .*/comments", status=422, body={"message": "Validation Failed"}, count=2)
    comments = GitHubComments(access)
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.write(pull, place.name, "Do this.")
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.change(pull, place.name, 1, "Do that.")
