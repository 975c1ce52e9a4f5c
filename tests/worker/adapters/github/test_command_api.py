"""Who may give a command, by GitHub's own answer, and the sign that it was seen."""

from datetime import UTC, datetime

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, Opened, Place
from worker.adapters.github.client import AppAccess
from worker.adapters.github.comments import GitHubCommandApi
from worker.domain.config.app_permissions import OptIn
from worker.domain.config.command_permissions import Role
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.judge_request import CommandName, CommandRequest, PullRef, ReviewRef
from worker.domain.ports import CurrentPull
from worker.errors import RateLimited, SubjectGone


def ask(place: Place, login: str, comment_id: int = 1) -> CommandRequest:
    return CommandRequest(
        pull=PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=1),
        repository=place.name,
        comment_id=comment_id,
        login=login,
        command=CommandName.REJUDGE,
        delivery_id=DeliveryId("d"),
        asked_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


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
def test_a_role_is_what_github_says(place: Place, access: AppAccess, login: str, role: Role) -> None:
    assert GitHubCommandApi(access).role(ask(place, login)) is role


@pytest.mark.parametrize(
    ("answer", "role"),
    [
        ({"permission": "write", "role_name": "maintain"}, Role.MAINTAIN),
        ({"permission": "read", "role_name": "triage"}, Role.TRIAGE),
        ({"permission": "write", "role_name": "Release crew"}, Role.WRITE),
        (
            {"permission": "write", "role_name": "Release crew", "user": {"permissions": {"maintain": True}}},
            Role.MAINTAIN,
        ),
        ({"permission": "admin", "role_name": "Owners", "user": {"permissions": {"maintain": True}}}, Role.ADMIN),
        ({"permission": "none"}, Role.NONE),
        ({"permission": "something new"}, Role.NONE),
    ],
)
def test_a_role_of_an_organizations_own_counts_as_what_it_is_made_from(
    place: Place, access: AppAccess, answer: dict[str, object], role: Role
) -> None:
    place.github.fault("GET .*/collaborators/bob/permission", status=200, body=answer)
    assert GitHubCommandApi(access).role(ask(place, "bob")) is role


def somebody(login: str, *, kind: str = "User", **may: bool) -> dict[str, object]:
    return {"login": login, "type": kind, "permissions": {"admin": False, "maintain": False, **may}}


ALICE = somebody("Alice", admin=True)


@pytest.mark.parametrize(
    ("answer", "is_alone"),
    [
        ([ALICE, somebody("bob")], True),
        ([ALICE, somebody("ci[bot]", kind="Bot", admin=True)], True),
        ([ALICE, somebody("bob", maintain=True)], False),
        ([somebody("bob", admin=True)], False),
        ([ALICE, *(somebody(f"b{number}") for number in range(99))], False),
    ],
    ids=["alone", "a bot beside", "another maintainer", "another", "too many"],
)
def test_the_only_maintainer_is_who_no_other_person_is_beside(
    place: Place, access: AppAccess, answer: list[object], *, is_alone: bool
) -> None:
    place.github.fault(f"GET /repos/{place.name}/collaborators", status=200, body=answer)
    assert GitHubCommandApi(access).is_only_maintainer(ask(place, "alice")) is is_alone


def test_where_github_does_not_tell_who_collaborates_there_may_be_another_maintainer(
    place: Place, access: AppAccess
) -> None:
    assert GitHubCommandApi(access).is_only_maintainer(ask(place, "alice")), "as the played GitHub tells"
    place.github.fault(f"GET /repos/{place.name}/collaborators", status=403, body={"message": "no"})
    assert not GitHubCommandApi(access).is_only_maintainer(ask(place, "alice"))


def test_a_pull_request_is_seen_with_its_author_and_its_newest_commit(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    asked = ask(place, "alice").model_copy(update={"pull": pull.request.pull})
    assert GitHubCommandApi(access).find_pull(asked) == CurrentPull(author="alice", head_sha=pull.sha, is_open=True)


def test_a_reaction_is_left_once(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    path = f"/repos/{place.name}/issues/{pull.number}/comments"
    comment = int(place.github.user("bob", "POST", path, body="/rejudge")["id"])
    place.github.fault("POST .*/reactions", kind="reset", after=True)
    for content in ("eyes", "eyes", "-1"):
        GitHubCommandApi(access).react(ask(place, "bob", comment), content)
    assert [one["content"] for one in place.github.state(place.name)["reactions"]] == ["eyes", "-1"]


def in_review(place: Place, pull: Opened, login: str) -> CommandRequest:
    path = f"/repos/{place.name}/pulls/{pull.number}/reviews"
    made = place.github.user(login, "POST", path, event="COMMENT", body="/rejudge", commit_id=pull.sha)
    review = ReviewRef(id=made["id"], login=login, node_id=made["node_id"])
    changes = {"comment_id": None, "in_review": True, "head_sha": pull.sha, "review": review}
    return ask(place, login).model_copy(update=changes)


def test_a_reaction_is_left_at_a_review_whose_text_is_the_command(place: Place, access: AppAccess) -> None:
    given = in_review(place, place.pull({"a.py": "x = 2\n"}), "bob")
    for content in ("eyes", "eyes", "-1", "confused"):
        GitHubCommandApi(access).react(given, content)
    assert [one["content"] for one in place.github.state(place.name)["reactions"]] == ["eyes", "-1", "confused"]


def test_a_review_of_which_graphql_has_no_name_gets_none(place: Place, access: AppAccess) -> None:
    unnamed = {"comment_id": None, "review": ReviewRef(id=1, login="bob")}
    GitHubCommandApi(access).react(ask(place, "bob").model_copy(update=unnamed), "eyes")
    assert place.asked() == []


def test_where_the_app_may_not_react_to_a_review_nothing_fails(
    place: Place, access: AppAccess, caplog: pytest.LogCaptureFixture
) -> None:
    given = in_review(place, place.pull({"a.py": "x = 2\n"}), "bob")
    error = {"type": "FORBIDDEN", "path": ["addReaction"], "message": "Resource not accessible by integration"}
    place.github.fault("AssayReact", status=200, body={"data": {"addReaction": None}, "errors": [error]})
    with caplog.at_level("INFO"):
        GitHubCommandApi(access).react(given, "eyes")
    assert "pull_requests: write" in caplog.text


def test_a_comment_that_was_deleted_is_gone(place: Place, access: AppAccess) -> None:
    place.github.fault("POST .*/reactions", kind="status", status=404, body={"message": "Not Found"})
    with pytest.raises(SubjectGone, match="comment deleted"):
        GitHubCommandApi(access).react(ask(place, "bob", 99), "eyes")


def test_a_button_has_nothing_to_react_to(place: Place, access: AppAccess) -> None:
    pressed = ask(place, "bob").model_copy(update={"comment_id": None})
    GitHubCommandApi(access).react(pressed, "eyes")
    assert place.asked() == []


@pytest.mark.parametrize(
    ("status", "message"), [(403, "Resource not accessible by integration"), (422, "Validation Failed")]
)
def test_where_the_app_may_not_write_nothing_is_written_and_nothing_fails(
    place: Place, access: AppAccess, status: int, message: str
) -> None:
    place.github.fault("POST .*/comments", status=status, body={"message": message}, count=5)
    desk = GitHubCommandApi(access)
    desk.react(ask(place, "bob"), "eyes")
    assert not desk.post_comment(ask(place, "bob"), "Hello")
    assert [one["status"] for one in place.exchanges()] == [status, status]


def test_a_comment_is_written_once_whatever_becomes_of_the_answer(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    asked = ask(place, "bob").model_copy(update={"pull": pull.request.pull})
    assert GitHubCommandApi(access).post_comment(asked, "Hello")
    place.github.fault("POST .*/comments", kind="reset", after=True)
    assert not GitHubCommandApi(access).post_comment(asked, "Hello again")
    comments = place.github.user("alice", "GET", f"/repos/{place.name}/issues/{pull.number}/comments")
    assert [one["body"] for one in comments] == ["Hello", "Hello again"]


def test_a_comment_waits_for_the_rate_limit(place: Place, access: AppAccess) -> None:
    place.github.fault("POST .*/comments", kind="secondary")
    with pytest.raises(RateLimited):
        GitHubCommandApi(access).post_comment(ask(place, "bob"), "Hello")


def test_what_the_operator_declined_is_not_asked_of_github(place: Place, access: AppAccess) -> None:
    GitHubCommandApi(access, {OptIn.REACTIONS}).react(ask(place, "bob"), "eyes")
    assert GitHubCommandApi(access, {OptIn.COMMENTS}).post_comment(ask(place, "bob"), "No.") is False
    assert place.asked() == []
