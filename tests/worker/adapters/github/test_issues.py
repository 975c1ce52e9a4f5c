"""The title and the text of a linked issue, when somebody edited them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import Opened, Place
from worker.adapters.github.pull_request_texts import linked_issues
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.adapters.github.responses import GraphIssue, GraphPull
from worker.domain.dossier import Issue

CHANGE = {"a.py": "x = 1\ny = 3\n"}
AGENT = "copilot-swe-agent[bot]"
OPENED = datetime(2026, 11, 20, 12, tzinfo=UTC)


def edit(place: Place, number: int, body: str, by: str) -> None:
    place.github.user(by, "PATCH", f"/repos/{place.name}/issues/{number}", body=body)


def shown(issue: Issue) -> tuple[str, list[tuple[str, bool]], str | None]:
    return issue.body, [(one.by, one.used) for one in issue.late_edits], issue.edited_by


def of(source: GitHubPullSource, pull: Opened) -> tuple[str, list[tuple[str, bool]], str | None]:
    (found,) = source.dossier(pull.request).issues
    return shown(found)


def test_what_an_author_makes_of_his_issue_is_not_read_until_somebody_else_takes_it_over(
    place: Place, source: GitHubPullSource
) -> None:
    number = place.issue("Wrong sum", "y is 3")
    pull = place.pull(CHANGE, body=f"Closes #{number}", login="mallory")
    assert of(source, pull) == ("y is 3", [], None)
    edit(place, number, "y is 2", "mallory")
    edit(place, number, "y may be 2", "mallory")
    assert of(source, pull) == ("y is 3", [("mallory", False), ("mallory", False)], "mallory")
    edit(place, number, "y may be 2 or 3", "alice")
    assert of(source, pull) == ("y may be 2 or 3", [], "alice")
    edit(place, number, "anything", AGENT)
    assert of(source, pull) == ("y may be 2 or 3", [(AGENT, False)], AGENT)


def test_an_issue_that_only_the_body_names_is_held_to_the_same(place: Place, source: GitHubPullSource) -> None:
    number = place.issue("Wrong sum", "y is 3")
    pull = place.pull(CHANGE, body=f"Closes https://127.0.0.1/{place.name}/issues/{number}", login="mallory")
    edit(place, number, "y is 2", "mallory")
    assert of(source, pull) == ("y is 3", [("mallory", False)], "mallory")
    assert place.asked() == ["AssayPull", "GET 200", "AssayTexts"]


def rename(place: Place, number: int, title: str, by: str) -> None:
    place.github.user(by, "PATCH", f"/repos/{place.name}/issues/{number}", title=title)


def called(issue: Issue) -> tuple[str, list[tuple[str, bool]]]:
    return issue.title, [(one.by, one.used) for one in issue.late_renames]


def test_what_an_author_calls_his_issue_is_not_read_until_somebody_else_takes_it_over(
    place: Place, source: GitHubPullSource
) -> None:
    def now() -> tuple[str, list[tuple[str, bool]]]:
        (found,) = source.dossier(pull.request).issues
        return called(found)

    number = place.issue("Wrong sum", "y is 3")
    pull = place.pull(CHANGE, body=f"Closes #{number}", login="mallory")
    assert now() == ("Wrong sum", [])
    rename(place, number, "Sum", "mallory")
    rename(place, number, "No sum", "mallory")
    assert now() == ("Wrong sum", [("mallory", False), ("mallory", False)])
    rename(place, number, "The sum", "alice")
    assert now() == ("The sum", [])
    rename(place, number, "Anything", AGENT)
    edit(place, number, "anything", AGENT)
    assert now() == ("The sum", [(AGENT, False)])
    assert of(source, pull) == ("y is 3", [(AGENT, False)], AGENT)


def told(login: str | None, minutes: int, text: str | None, kind: str = "User") -> dict[str, Any]:
    editor = None if login is None else {"__typename": kind, "login": login}
    return {"editedAt": OPENED + timedelta(minutes=minutes), "editor": editor, "diff": text}


WRITTEN = told("alice", -60, "as written")


def read(
    nodes: list[dict[str, Any] | None] | None, *, more: bool = False, written: bool = True, **fields: Any
) -> Issue:
    edits = None if nodes is None else {"nodes": nodes, "pageInfo": {"hasNextPage": more}}
    issue = GraphIssue.model_validate(
        {
            "number": 7,
            "title": "Sum",
            "body": "now",
            "url": "https://github.com/acme/things/issues/7",
            "repository": {"nameWithOwner": "acme/things"},
            "includesCreatedEdit": written,
            "userContentEdits": edits,
            **fields,
        }
    )
    (found,) = linked_issues(PULL, [issue], [])
    return found


PULL = GraphPull.model_validate(
    {
        "state": "OPEN",
        "title": "Fix",
        "body": "",
        "createdAt": OPENED,
        "isDraft": False,
        "changedFiles": 1,
        "baseRefName": "main",
        "baseRefOid": "b" * 40,
        "headRefName": "fix",
        "headRefOid": "a" * 40,
        "author": {"__typename": "User", "login": "bob"},
        "commits": {"nodes": []},
    }
)


@pytest.mark.parametrize(
    ("editor", "kind", "is_used"),
    [("bob", "User", False), ("renovate", "Bot", False), ("cursoragent", "User", False), ("carol", "User", True)],
    ids=["the author", "a bot", "an agent's own account", "somebody else"],
)
def test_the_author_and_bots_are_told_from_people(editor: str, kind: str, is_used: bool) -> None:  # noqa: FBT001 - both ways
    found = read([told(editor, 5, "now", kind), WRITTEN])
    assert found.body == ("now" if is_used else "as written")
    assert ("late_edits" in found.model_fields_set) is not is_used


@pytest.mark.parametrize(
    ("nodes", "fields"),
    [
        pytest.param([told("bob", 5, "now")], {"more": True}, id="there are more"),
        pytest.param([told("bob", 5, "now")], {"written": False}, id="the first text is not among them"),
        pytest.param([told("bob", 5, "now"), None, WRITTEN], {}, id="one may not be seen"),
        pytest.param([told("bob", 5, "now"), told("alice", -60, None)], {}, id="the text may not be seen"),
        pytest.param(
            None, {"lastEditedAt": OPENED, "editor": {"__typename": "User", "login": "bob"}}, id="none at all"
        ),
    ],
)
def test_an_edit_that_cannot_be_taken_back_is_used_and_told(
    nodes: list[dict[str, Any] | None] | None, fields: dict[str, Any]
) -> None:
    assert shown(read(nodes, **fields))[:2] == ("now", [("bob", True)])


def test_an_issue_that_was_never_edited_has_no_history() -> None:
    assert shown(read(None)) == shown(read([])) == ("now", [], None)


def renamed(login: str | None, minutes: int, before: str, after: str, kind: str = "User") -> dict[str, Any]:
    actor = None if login is None else {"__typename": kind, "login": login}
    at = OPENED + timedelta(minutes=minutes)
    return {"createdAt": at, "previousTitle": before, "currentTitle": after, "actor": actor}


def read_title(nodes: list[dict[str, Any] | None] | None, *, earlier: bool = False) -> Issue:
    return read(None, timelineItems={"nodes": nodes, "pageInfo": {"hasPreviousPage": earlier}})


@pytest.mark.parametrize(
    ("actor", "kind", "is_used"),
    [("bob", "User", False), ("renovate", "Bot", False), ("cursoragent", "User", False), ("carol", "User", True)],
    ids=["the author", "a bot", "an agent's own account", "somebody else"],
)
def test_the_author_and_bots_that_rename_are_told_from_people(actor: str, kind: str, is_used: bool) -> None:  # noqa: FBT001 - both ways
    found = read_title([renamed(actor, 5, "Product", "Sum", kind)])
    assert found.title == ("Sum" if is_used else "Product")
    assert ("late_renames" in found.model_fields_set) is not is_used


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([renamed("bob", -5, "Product", "Sum")], id="before the pull request was there"),
        pytest.param([renamed("bob", 5, "Product", "Sums"), renamed(None, 5, "Sums", "Sum")], id="by who is gone"),
        pytest.param([], id="never"),
        pytest.param(None, id="nobody tells"),
    ],
)
def test_a_title_that_nobody_changed_late_is_the_title(nodes: list[dict[str, Any] | None] | None) -> None:
    assert called(read_title(nodes)) == called(read(None)) == ("Sum", [])


def test_of_renames_in_the_same_second_the_last_one_told_is_the_newest() -> None:
    found = read_title([renamed("carol", 5, "Product", "Sums"), renamed("bob", 5, "Sums", "Sum")])
    assert called(found) == ("Sums", [("bob", False)])


@pytest.mark.parametrize(
    ("nodes", "earlier"),
    [
        pytest.param([renamed("bob", 5, "Product", "Sum")], True, id="there were earlier ones"),
        pytest.param([None, renamed("bob", 5, "Product", "Sum")], False, id="one may not be seen"),
        pytest.param([renamed("bob", 5, "Product", "Quotient")], False, id="of another title"),
    ],
)
def test_a_title_that_cannot_be_taken_back_is_used_and_told(
    nodes: list[dict[str, Any] | None],
    earlier: bool,  # noqa: FBT001 - both ways
) -> None:
    assert called(read_title(nodes, earlier=earlier)) == ("Sum", [("bob", True)])
