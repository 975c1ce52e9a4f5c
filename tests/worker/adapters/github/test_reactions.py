"""Who reacted to a comment, by GitHub's own answer."""

import pytest

from tests.worker.adapters.github.conftest import Opened, Place
from worker.adapters.github.client import AppAccess
from worker.adapters.github.comments import GitHubReactions
from worker.domain.verdict.outcomes import Reaction
from worker.errors import SubjectGone


def read(place: Place, access: AppAccess, pull: Opened, comment: int) -> tuple[Reaction, ...]:
    return GitHubReactions(access).reactions_to(pull.request.pull, place.name, comment)


def test_reactions_come_in_one_request_with_who_is_a_person(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    path = f"/repos/{place.name}/issues"
    comment = int(place.github.user("alice", "POST", f"{path}/{pull.number}/comments", body="Told")["id"])
    for login, content in (("bob", "+1"), ("alice", "eyes"), ("copilot-swe-agent[bot]", "-1")):
        place.github.user(login, "POST", f"{path}/comments/{comment}/reactions", content=content)
    found = read(place, access, pull, comment)
    assert [(one.content, one.is_bot) for one in found] == [("+1", False), ("eyes", False), ("-1", True)]
    assert len({one.account for one in found}) == len({one.id for one in found}) == 3
    assert place.asked() == ["GET 200"]


def test_a_reaction_of_an_account_that_is_gone_is_nobodys(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    one = {"id": 5, "node_id": "R", "user": None, "content": "+1", "created_at": "2026-11-20T12:00:00Z"}
    place.github.fault("GET .*/reactions", kind="status", status=200, body=[one])
    assert read(place, access, pull, 1) == ()


def test_of_a_comment_that_was_deleted_there_are_none(place: Place, access: AppAccess) -> None:
    pull = place.pull({"a.py": "x = 2\n"})
    place.github.fault("GET .*/reactions", kind="status", status=404, body={"message": "Not Found"})
    with pytest.raises(SubjectGone):
        read(place, access, pull, 99)
