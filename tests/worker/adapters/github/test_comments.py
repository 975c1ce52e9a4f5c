"""Comments, commands and reactions: who may give a command, the sign that it was seen, and our own comment."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, GitHubRepository, OpenedPullRequest
from worker.adapters.github.client import AppAccess
from worker.adapters.github.comments import GitHubCommandApi, GitHubComments, GitHubReactions
from worker.domain.config.app_permissions import OptIn
from worker.domain.config.command_permissions import Role
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.judge_request import CommandName, CommandRequest, PullRef, ReviewRef
from worker.domain.ports import CurrentPull, PostedComment, PullHead
from worker.errors import Forbidden, RateLimited, SubjectGone


def ask(place: GitHubRepository, login: str, **changes: Any) -> CommandRequest:
    asked = CommandRequest(
        pull=PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=1),
        repository=place.name,
        comment_id=1,
        login=login,
        command=CommandName.REJUDGE,
        delivery_id=DeliveryId("d"),
        asked_at=datetime(2026, 11, 20, tzinfo=UTC),
    )
    return asked.model_copy(update=changes)


def texts(place: GitHubRepository, number: int) -> list[str]:
    return [
        one["body"] for one in place.github.request_as("alice", "GET", f"/repos/{place.name}/issues/{number}/comments")
    ]


@pytest.fixture
def desk(access: AppAccess) -> GitHubCommandApi:
    return GitHubCommandApi(access)


# Who may give a command


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
def test_a_role_is_what_github_says(
    github_repository: GitHubRepository, desk: GitHubCommandApi, login: str, role: Role
) -> None:
    assert desk.role(ask(github_repository, login)) is role


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
def test_a_role_of_an_organizations_own_counts_as_what_it_is_made_from(
    github_repository: GitHubRepository, desk: GitHubCommandApi, answer: object, role: Role
) -> None:
    github_repository.script_answer("GET .*/collaborators/bob/permission", answer)
    assert desk.role(ask(github_repository, "bob")) is role


def somebody(login: str, *, kind: str = "User", **may: bool) -> dict[str, object]:
    return {"login": login, "type": kind, "permissions": {"admin": False, "maintain": False, **may}}


ALICE = somebody("Alice", admin=True)


@pytest.mark.parametrize(
    ("status", "answer", "is_alone"),
    [
        pytest.param(200, [ALICE, somebody("bob")], True, id="alone"),
        pytest.param(200, [ALICE, somebody("ci[bot]", kind="Bot", admin=True)], True, id="a bot beside"),
        pytest.param(200, [ALICE, somebody("bob", maintain=True)], False, id="another maintainer"),
        pytest.param(200, [somebody("bob", admin=True)], False, id="another"),
        pytest.param(200, [ALICE, *(somebody(f"b{number}") for number in range(99))], False, id="too many"),
        pytest.param(403, {"message": "no"}, False, id="not told"),
    ],
)
def test_the_only_maintainer_is_who_no_other_person_is_beside(
    github_repository: GitHubRepository, desk: GitHubCommandApi, status: int, answer: object, *, is_alone: bool
) -> None:
    assert desk.is_only_maintainer(ask(github_repository, "alice")), "as the played GitHub tells"
    github_repository.script_answer(f"GET /repos/{github_repository.name}/collaborators", answer, status)
    assert desk.is_only_maintainer(ask(github_repository, "alice")) is is_alone


def test_a_pull_request_is_seen_with_its_author_and_its_newest_commit(
    github_repository: GitHubRepository, desk: GitHubCommandApi
) -> None:
    pull = github_repository.pull()
    asked = ask(github_repository, "alice", pull=pull.request.pull)
    assert desk.find_pull(asked) == CurrentPull(author="alice", head_sha=pull.sha, is_open=True)


# The sign that a command was seen


def in_comment(pull: OpenedPullRequest) -> CommandRequest:
    path = f"/repos/{pull.place.name}/issues/{pull.number}/comments"
    return ask(
        pull.place, "bob", comment_id=int(pull.place.github.request_as("bob", "POST", path, body="/rejudge")["id"])
    )


def in_review(pull: OpenedPullRequest) -> CommandRequest:
    path = f"/repos/{pull.place.name}/pulls/{pull.number}/reviews"
    made = pull.place.github.request_as("bob", "POST", path, event="COMMENT", body="/rejudge", commit_id=pull.sha)
    review = ReviewRef(id=made["id"], login="bob", node_id=made["node_id"])
    return ask(pull.place, "bob", comment_id=None, in_review=True, head_sha=pull.sha, review=review)


def test_a_reaction_is_left_once(github_repository: GitHubRepository, desk: GitHubCommandApi) -> None:
    asked = in_comment(github_repository.pull())
    github_repository.github.fault("POST .*/reactions", kind="reset", after=True)
    for content in ("eyes", "eyes", "-1"):
        desk.react(asked, content)
    assert [one["content"] for one in github_repository.github.state(github_repository.name)["reactions"]] == [
        "eyes",
        "-1",
    ]


def test_a_reaction_is_left_at_a_review_whose_text_is_the_command(
    github_repository: GitHubRepository, desk: GitHubCommandApi
) -> None:
    asked = in_review(github_repository.pull())
    for content in ("eyes", "eyes", "-1", "confused"):
        desk.react(asked, content)
    assert [one["content"] for one in github_repository.github.state(github_repository.name)["reactions"]] == [
        "eyes",
        "-1",
        "confused",
    ]


def test_where_the_app_may_not_react_to_a_review_nothing_fails(
    github_repository: GitHubRepository, desk: GitHubCommandApi, caplog: pytest.LogCaptureFixture
) -> None:
    asked = in_review(github_repository.pull())
    error = {"type": "FORBIDDEN", "path": ["addReaction"], "message": "Resource not accessible by integration"}
    github_repository.script_answer("AssayReact", {"data": {"addReaction": None}, "errors": [error]})
    with caplog.at_level("INFO"):
        desk.react(asked, "eyes")
    assert "pull_requests: write" in caplog.text


def test_what_can_not_be_reacted_to_or_was_declined_is_not_asked_of_github(
    github_repository: GitHubRepository, access: AppAccess
) -> None:
    for nothing in (
        {},
        {"review": ReviewRef(id=1, login="bob")},
    ):  # a button, and a review of which GraphQL has no name
        GitHubCommandApi(access).react(ask(github_repository, "bob", comment_id=None, **nothing), "eyes")
    GitHubCommandApi(access, {OptIn.REACTIONS}).react(ask(github_repository, "bob"), "eyes")
    assert GitHubCommandApi(access, {OptIn.COMMENTS}).post_comment(ask(github_repository, "bob"), "No.") is False
    assert github_repository.request_names() == []


def test_a_deleted_comment_is_gone_and_a_rate_limit_is_said(
    github_repository: GitHubRepository, desk: GitHubCommandApi
) -> None:
    github_repository.script_refusal("POST .*/reactions", 404, "Not Found")
    with pytest.raises(SubjectGone, match="comment deleted"):
        desk.react(ask(github_repository, "bob", comment_id=99), "eyes")
    github_repository.github.fault("POST .*/comments", kind="secondary")
    with pytest.raises(RateLimited):
        desk.post_comment(ask(github_repository, "bob"), "Hello")


@pytest.mark.parametrize("status", [403, 422])
def test_where_the_app_may_not_write_nothing_is_written_and_nothing_fails(
    github_repository: GitHubRepository, desk: GitHubCommandApi, status: int
) -> None:
    github_repository.script_refusal("POST .*/comments", status, count=5)
    desk.react(ask(github_repository, "bob"), "eyes")
    assert not desk.post_comment(ask(github_repository, "bob"), "Hello")
    assert github_repository.request_names() == [f"POST {status}"] * 2


def test_a_comment_is_written_once_whatever_becomes_of_the_answer(
    github_repository: GitHubRepository, desk: GitHubCommandApi
) -> None:
    pull = github_repository.pull()
    asked = ask(github_repository, "bob", pull=pull.request.pull)
    assert desk.post_comment(asked, "Hello")
    github_repository.github.fault("POST .*/comments", kind="reset", after=True)
    assert not desk.post_comment(asked, "Hello again")
    assert texts(github_repository, pull.number) == ["Hello", "Hello again"]


# Our own comment, changed by the request that finds the newest head out


@pytest.fixture
def comments(access: AppAccess) -> GitHubComments:
    return GitHubComments(access)


def comment(place: GitHubRepository, comments: GitHubComments, pull: PullRef) -> str:
    """What GraphQL calls a new comment of ours."""
    written = comments.write(pull, place.name, "Do this. <!-- mark -->")
    assert written.node_id is not None
    since = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251 - GitHub's time
    assert comments.find(pull, place.name, "<!-- mark -->", since) == written
    changed = comments.change(pull, place.name, written.id, "Do that.")
    assert changed == PostedComment(written.id, written.node_id)
    return written.node_id


def test_one_request_changes_the_comment_and_names_the_newest_head(
    github_repository: GitHubRepository, comments: GitHubComments
) -> None:
    opened = github_repository.pull()
    pull = opened.request.pull
    node_id = comment(github_repository, comments, pull)
    assert comments.change_and_read_head(pull, node_id, "Done.") == PullHead(opened.sha, is_open=True)
    assert texts(github_repository, pull.number) == ["Done."]
    newer = github_repository.push("fix", {"a.py": "x = 3\n"})
    assert comments.change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=True)
    opened.edit(state="closed")
    assert comments.change_and_read_head(pull, node_id, "Over.") == PullHead(newer, is_open=False)
    assert github_repository.request_names().count("AssayTell") == 3


def test_an_answer_about_anything_else_names_no_head(
    github_repository: GitHubRepository, comments: GitHubComments
) -> None:
    opened = github_repository.pull()
    issue = opened.request.pull.model_copy(update={"number": github_repository.issue("Words", "some")})
    of_issue, of_pull = (comment(github_repository, comments, pull) for pull in (issue, opened.request.pull))
    assert comments.change_and_read_head(issue, of_issue, "Done.") is None
    assert comments.change_and_read_head(issue, of_pull, "Done.") is None
    github_repository.script_answer("AssayTell", {"data": {"updateIssueComment": None}})
    assert comments.change_and_read_head(issue, of_pull, "Done.") is None


REFUSED = {"type": "FORBIDDEN", "path": ["updateIssueComment"], "message": "Resource not accessible by integration"}
UNKNOWN = {"extensions": {"code": "undefinedField"}, "message": "Field doesn't exist"}


def test_what_github_refuses_is_refused_and_what_is_deleted_is_gone(
    github_repository: GitHubRepository, comments: GitHubComments
) -> None:
    pull, nobodys = github_repository.pull().request.pull, "MDEyOklzc3VlQ29tbWVudDk5OTk5OTk="
    with pytest.raises(SubjectGone):
        comments.change_and_read_head(pull, nobodys, "Done.")
    for error, told in ((REFUSED, "pull_requests: write"), (UNKNOWN, "Field doesn't exist")):
        github_repository.script_answer("AssayTell", {"data": {"updateIssueComment": None}, "errors": [error]})
        with pytest.raises(Forbidden, match=told):
            comments.change_and_read_head(pull, nobodys, "Done.")
    github_repository.github.fault("AssayTell", kind="secondary")
    with pytest.raises(RateLimited):
        comments.change_and_read_head(pull, nobodys, "Done.")


def test_a_comment_that_github_does_not_take_is_refused(
    github_repository: GitHubRepository, comments: GitHubComments
) -> None:
    pull = github_repository.pull().request.pull
    github_repository.script_refusal("(POST|PATCH) .*/comments", 422, "Validation Failed", count=2)
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.write(pull, github_repository.name, "Do this.")
    with pytest.raises(Forbidden, match="Validation Failed"):
        comments.change(pull, github_repository.name, 1, "Do that.")


# Who reacted to a comment


def test_reactions_come_in_one_request_with_who_is_a_person(
    github_repository: GitHubRepository, access: AppAccess
) -> None:
    asked = in_comment(github_repository.pull())
    path = f"/repos/{github_repository.name}/issues/comments/{asked.comment_id}/reactions"
    for login, content in (("bob", "+1"), ("alice", "eyes"), ("copilot-swe-agent[bot]", "-1")):
        github_repository.github.request_as(login, "POST", path, content=content)
    found = GitHubReactions(access).reactions_to(asked.pull, github_repository.name, asked.comment_id or 0)
    assert [(one.content, one.is_bot) for one in found] == [("+1", False), ("eyes", False), ("-1", True)]
    assert len({one.account for one in found}) == len({one.id for one in found}) == 3
    assert github_repository.request_names() == ["GET 200"]


def test_a_reaction_of_a_deleted_account_is_nobodys_and_a_deleted_comment_is_gone(
    github_repository: GitHubRepository, access: AppAccess
) -> None:
    reactions, pull = GitHubReactions(access), github_repository.pull().request.pull
    one = {"id": 5, "node_id": "R", "user": None, "content": "+1", "created_at": "2026-11-20T12:00:00Z"}
    github_repository.script_answer("GET .*/reactions", [one])
    assert reactions.reactions_to(pull, github_repository.name, 1) == ()
    github_repository.script_refusal("GET .*/reactions", 404, "Not Found")
    with pytest.raises(SubjectGone):
        reactions.reactions_to(pull, github_repository.name, 99)
