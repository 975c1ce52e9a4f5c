"""Comments, command authors, reactions, and review requests to code owners: one whom GitHub refuses does not stop the others."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo, OpenedPull
from worker.adapters.github.client import AppAccess
from worker.adapters.github.collaborators import GitHubCommandApi, GitHubComments, GitHubReactions, GitHubReviewers
from worker.domain.codeowners import Owner
from worker.domain.config.command_permissions import Role
from worker.domain.config.github_app import OptIn
from worker.domain.judge_request import CommandName, CommandRequest, PullRef, ReviewRef
from worker.domain.model import RepositoryId
from worker.domain.ports import CurrentPull, PostedComment, PullHead
from worker.errors import Forbidden, RateLimited, SubjectGone


def ask(repo: FakeRepo, login: str, **changes: Any) -> CommandRequest:
    pull = PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=1)
    fields: dict[str, Any] = {"pull": pull, "repository": repo.name, "comment_id": 1, "login": login}
    fields |= {"command": CommandName.REJUDGE, "delivery_id": "d", "asked_at": datetime(2026, 11, 20, tzinfo=UTC)}
    return CommandRequest(**{**fields, **changes})


def texts(repo: FakeRepo, number: int) -> list[str]:
    return [comment["body"] for comment in repo.request_as("alice", "GET", f"/issues/{number}/comments")]


def stored_reactions(repo: FakeRepo) -> list[str]:
    return [reaction["content"] for reaction in repo.github.state(repo.name)["reactions"]]


@pytest.fixture
def api(access: AppAccess) -> GitHubCommandApi:
    return GitHubCommandApi(access)


# Roles


@pytest.mark.parametrize(
    ("login", "role"),
    [
        ("alice", Role.ADMIN),
        ("bob", Role.WRITE),
        ("mallory", Role.READ),
        ("copilot-swe-agent[bot]", Role.READ),
        ("nobody-at-all", Role.NONE),
        ("../collaborators/alice", Role.NONE),
    ],
)
def test_role_is_read_from_github(repo: FakeRepo, api: GitHubCommandApi, login: str, role: Role) -> None:
    assert api.role(ask(repo, login)) is role


MAINTAINS = {"permissions": {"maintain": True}}


@pytest.mark.parametrize(
    ("answer", "role"),
    [
        ({"permission": "write", "role_name": "maintain"}, Role.MAINTAIN),
        ({"permission": "read", "role_name": "triage"}, Role.TRIAGE),
        ({"permission": "write", "role_name": "Release crew"}, Role.WRITE),
        ({"permission": "write", "role_name": "Release crew", "user": MAINTAINS}, Role.MAINTAIN),
        ({"permission": "admin", "role_name": "Owners", "user": MAINTAINS}, Role.ADMIN),
        ({"permission": "none"}, Role.NONE),
        ({"permission": "something new"}, Role.NONE),
    ],
)
def test_custom_role_counts_as_its_base_role(repo: FakeRepo, api: GitHubCommandApi, answer: object, role: Role) -> None:
    repo.script_answer("GET .*/collaborators/bob/permission", answer)
    assert api.role(ask(repo, "bob")) is role


def collaborator(login: str, *, kind: str = "User", **may: bool) -> dict[str, object]:
    return {"login": login, "type": kind, "permissions": {"admin": False, "maintain": False, **may}}


ALICE = collaborator("Alice", admin=True)


@pytest.mark.parametrize(
    ("status", "answer", "is_alone"),
    [
        pytest.param(200, [ALICE, collaborator("bob")], True, id="alone"),
        pytest.param(200, [ALICE, collaborator("ci[bot]", kind="Bot", admin=True)], True, id="a bot beside"),
        pytest.param(200, [ALICE, collaborator("bob", maintain=True)], False, id="another maintainer"),
        pytest.param(200, [collaborator("bob", admin=True)], False, id="another"),
        pytest.param(200, [ALICE, *(collaborator(f"b{number}") for number in range(99))], False, id="too many"),
        pytest.param(403, {"message": "no"}, False, id="not told"),
    ],
)
def test_only_maintainer_has_no_other_person_beside(
    repo: FakeRepo, api: GitHubCommandApi, status: int, answer: object, *, is_alone: bool
) -> None:
    assert api.is_only_maintainer(ask(repo, "alice")), "as the fake GitHub answers"
    repo.script_answer(f"GET /repos/{repo.name}/collaborators", answer, status)
    assert api.is_only_maintainer(ask(repo, "alice")) is is_alone


def test_pull_request_is_read_with_author_and_newest_commit(repo: FakeRepo, api: GitHubCommandApi) -> None:
    pull = repo.pull()
    asked = ask(repo, "alice", pull=pull.request.pull)
    assert api.find_pull(asked) == CurrentPull(author="alice", head_sha=pull.sha, is_open=True)


# Reactions to commands


def in_comment(pull: OpenedPull) -> CommandRequest:
    comment = pull.repository.request_as("bob", "POST", f"/issues/{pull.number}/comments", body="/rejudge")
    return ask(pull.repository, "bob", comment_id=int(comment["id"]))


def in_review(pull: OpenedPull) -> CommandRequest:
    fields = {"event": "COMMENT", "body": "/rejudge", "commit_id": pull.sha}
    posted = pull.repository.request_as("bob", "POST", f"/pulls/{pull.number}/reviews", **fields)
    review = ReviewRef(id=posted["id"], login="bob", node_id=posted["node_id"])
    return ask(pull.repository, "bob", comment_id=None, in_review=True, head_sha=pull.sha, review=review)


def test_reaction_is_left_once(repo: FakeRepo, api: GitHubCommandApi) -> None:
    asked = in_comment(repo.pull())
    repo.github.fault("POST .*/reactions", kind="reset", after=True)
    for content in ("eyes", "eyes", "-1"):
        api.react(asked, content)
    assert stored_reactions(repo) == ["eyes", "-1"]


def test_reaction_is_left_on_a_review_with_a_command(repo: FakeRepo, api: GitHubCommandApi) -> None:
    asked = in_review(repo.pull())
    for content in ("eyes", "eyes", "-1", "confused"):
        api.react(asked, content)
    assert stored_reactions(repo) == ["eyes", "-1", "confused"]


def test_refused_reaction_on_a_review_is_logged(
    repo: FakeRepo, api: GitHubCommandApi, caplog: pytest.LogCaptureFixture
) -> None:
    asked = in_review(repo.pull())
    error = {"type": "FORBIDDEN", "path": ["addReaction"], "message": "Resource not accessible by integration"}
    repo.script_answer("AssayReact", {"data": {"addReaction": None}, "errors": [error]})
    with caplog.at_level("INFO"):
        api.react(asked, "eyes")
    assert "pull_requests: write" in caplog.text


def test_impossible_or_declined_reactions_and_comments_are_not_sent(repo: FakeRepo, access: AppAccess) -> None:
    for nothing in ({}, {"review": ReviewRef(id=1, login="bob")}):  # a button, and a review without a GraphQL id
        GitHubCommandApi(access).react(ask(repo, "bob", comment_id=None, **nothing), "eyes")
    GitHubCommandApi(access, {OptIn.REACTIONS}).react(ask(repo, "bob"), "eyes")
    assert GitHubCommandApi(access, {OptIn.COMMENTS}).post_comment(ask(repo, "bob"), "No.") is False
    assert repo.request_names() == []


def test_deleted_comment_is_gone_and_rate_limit_is_raised(repo: FakeRepo, api: GitHubCommandApi) -> None:
    repo.script_refusal("POST .*/reactions", 404, "Not Found")
    with pytest.raises(SubjectGone, match="comment deleted"):
        api.react(ask(repo, "bob", comment_id=99), "eyes")
    repo.github.fault("POST .*/comments", kind="secondary")
    with pytest.raises(RateLimited):
        api.post_comment(ask(repo, "bob"), "Hello")


@pytest.mark.parametrize("status", [403, 422])
def test_missing_write_permission_skips_reactions_and_comments(
    repo: FakeRepo, api: GitHubCommandApi, status: int
) -> None:
    repo.script_refusal("POST .*/comments", status, count=5)
    api.react(ask(repo, "bob"), "eyes")
    assert not api.post_comment(ask(repo, "bob"), "Hello")
    assert repo.request_names() == [f"POST {status}"] * 2


def test_comment_is_posted_once_when_the_response_is_lost(repo: FakeRepo, api: GitHubCommandApi) -> None:
    pull = repo.pull()
    asked = ask(repo, "bob", pull=pull.request.pull)
    assert api.post_comment(asked, "Hello")
    repo.github.fault("POST .*/comments", kind="reset", after=True)
    assert not api.post_comment(asked, "Hello again")
    assert texts(repo, pull.number) == ["Hello", "Hello again"]


# Comment edits that also read the newest head


@pytest.fixture
def comments(access: AppAccess) -> GitHubComments:
    return GitHubComments(access)


def comment(repo: FakeRepo, comments: GitHubComments, pull: PullRef) -> str:
    """The GraphQL node id of a new comment."""
    written = comments.write(pull, repo.name, "Do this. <!-- mark -->")
    assert written.node_id is not None
    since = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251 - GitHub's time
    assert comments.find(pull, repo.name, "<!-- mark -->", since) == written
    changed = comments.change(pull, repo.name, written.id, "Do that.")
    assert changed == PostedComment(written.id, written.node_id)
    return written.node_id


def test_comment_edit_and_newest_head_take_one_request(repo: FakeRepo, comments: GitHubComments) -> None:
    opened = repo.pull()
    pull = opened.request.pull
    node_id = comment(repo, comments, pull)
    assert comments.change_and_read_head(pull, node_id, "Done.") == PullHead(opened.sha, is_open=True)
    assert texts(repo, pull.number) == ["Done."]
    newer = repo.push("fix", {"a.py": "x = 3\n"})
    assert comments.change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=True)
    opened.edit(state="closed")
    assert comments.change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=False)
    assert repo.request_names().count("AssayTell") == 3


def test_comment_edit_without_our_pull_request_names_no_head(repo: FakeRepo, comments: GitHubComments) -> None:
    opened = repo.pull()
    issue = opened.request.pull.model_copy(update={"number": repo.issue("Words", "some")})
    of_issue, of_pull = (comment(repo, comments, pull) for pull in (issue, opened.request.pull))
    assert comments.change_and_read_head(issue, of_issue, "Done.") is None
    assert comments.change_and_read_head(issue, of_pull, "Done.") is None
    repo.script_answer("AssayTell", {"data": {"updateIssueComment": None}})
    assert comments.change_and_read_head(issue, of_pull, "Done.") is None


REFUSED = {"type": "FORBIDDEN", "path": ["updateIssueComment"], "message": "Resource not accessible by integration"}
UNKNOWN = {"extensions": {"code": "undefinedField"}, "message": "Field doesn't exist"}


def test_refused_comment_edit_is_forbidden_and_deleted_comment_is_gone(
    repo: FakeRepo, comments: GitHubComments
) -> None:
    pull, unknown_node = repo.pull().request.pull, "MDEyOklzc3VlQ29tbWVudDk5OTk5OTk="
    with pytest.raises(SubjectGone):
        comments.change_and_read_head(pull, unknown_node, "Done.")
    for error, message in ((REFUSED, "pull_requests: write"), (UNKNOWN, "Field doesn't exist")):
        repo.script_answer("AssayTell", {"data": {"updateIssueComment": None}, "errors": [error]})
        with pytest.raises(Forbidden, match=message):
            comments.change_and_read_head(pull, unknown_node, "Done.")
    repo.github.fault("AssayTell", kind="secondary")
    with pytest.raises(RateLimited):
        comments.change_and_read_head(pull, unknown_node, "Done.")


def test_comment_that_github_rejects_is_forbidden(repo: FakeRepo, comments: GitHubComments) -> None:
    pull = repo.pull().request.pull
    repo.script_refusal("(POST|PATCH) .*/comments", 422, "Validation Failed", count=2)
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.write(pull, repo.name, "Do this.")
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.change(pull, repo.name, 1, "Do that.")


# Reactions to a comment


def test_reactions_are_read_in_one_request_with_their_account_kind(repo: FakeRepo, access: AppAccess) -> None:
    asked = in_comment(repo.pull())
    for login, content in (("bob", "+1"), ("alice", "eyes"), ("copilot-swe-agent[bot]", "-1")):
        repo.request_as(login, "POST", f"/issues/comments/{asked.comment_id}/reactions", content=content)
    reactions = GitHubReactions(access).reactions_to(asked.pull, repo.name, asked.comment_id or 0)
    contents = [(reaction.content, reaction.is_bot) for reaction in reactions]
    assert contents == [("+1", False), ("eyes", False), ("-1", True)]
    assert len({reaction.account for reaction in reactions}) == len({reaction.id for reaction in reactions}) == 3
    assert repo.request_names() == ["GET 200"]


def test_reaction_of_a_deleted_account_is_ignored_and_deleted_comment_is_gone(
    repo: FakeRepo, access: AppAccess
) -> None:
    reactions, pull = GitHubReactions(access), repo.pull().request.pull
    reaction = {"id": 5, "node_id": "R", "user": None, "content": "+1", "created_at": "2026-11-20T12:00:00Z"}
    repo.script_answer("GET .*/reactions", [reaction])
    assert reactions.reactions_to(pull, repo.name, 1) == ()
    repo.script_refusal("GET .*/reactions", 404, "Not Found")
    with pytest.raises(SubjectGone):
        reactions.reactions_to(pull, repo.name, 99)


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
