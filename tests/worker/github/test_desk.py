"""Who may give a command, by GitHub's own answer, and the sign that it was seen."""

from datetime import UTC, datetime

import pytest

from tests.worker.github.conftest import INSTALLATION, Place
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.request import Ask, CommandName, PullRef
from worker.errors import Gone
from worker.github.client import AppAccess
from worker.github.desk import GitHubDesk


def ask(place: Place, login: str, comment_id: int = 1) -> Ask:
    return Ask(
        pull=PullRef(installation_id=INSTALLATION, repository_id=RepositoryId(1), number=1),
        repository=place.name,
        comment_id=comment_id,
        login=login,
        command=CommandName.REJUDGE,
        delivery_id=DeliveryId("d"),
        asked_at=datetime(2026, 11, 20, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("login", "may"),
    [
        ("alice", True),
        ("bob", True),
        ("mallory", False),
        ("copilot-swe-agent[bot]", False),
        ("../collaborators/alice", False),
    ],
)
def test_only_writers_may_command(place: Place, access: AppAccess, login: str, *, may: bool) -> None:
    assert GitHubDesk(access).may_command(ask(place, login)) is may


def test_a_reaction_is_left_once(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    path = f"/repos/{place.name}/issues/{pull.number}/comments"
    comment = int(place.github.user("bob", "POST", path, body="/rejudge")["id"])
    place.github.fault("POST .*/reactions", kind="reset", after=True)
    for content in ("eyes", "eyes", "-1"):
        GitHubDesk(access).react(ask(place, "bob", comment), content)
    assert [one["content"] for one in place.github.state(place.name)["reactions"]] == ["eyes", "-1"]


def test_a_comment_that_was_deleted_is_gone(place: Place, access: AppAccess) -> None:
    place.github.fault("POST .*/reactions", kind="status", status=404, body={"message": "Not Found"})
    with pytest.raises(Gone, match="comment deleted"):
        GitHubDesk(access).react(ask(place, "bob", 99), "eyes")
