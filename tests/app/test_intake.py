"""Event -> what is written down. Invariant: nothing of the event is lost on the way."""

from datetime import UTC, datetime

import pytest

from app.events import CommandGiven, PullOpened, PullPushed, PullReady, PullReopened, RerunPressed
from app.intake import Judgeable, to_ask, to_request
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.request import Ask, CommandName, JudgeRequest, PullRef, Trigger

SHA = "1" * 40
PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)
DELIVERY = DeliveryId("d-1")
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("event", "trigger"),
    [
        (PullOpened(pull=PULL, repository="acme/widgets", head_sha=SHA), Trigger.OPENED),
        (PullPushed(pull=PULL, repository="acme/widgets", head_sha=SHA), Trigger.PUSHED),
        (PullReopened(pull=PULL, repository="acme/widgets", head_sha=SHA), Trigger.REOPENED),
        (PullReady(pull=PULL, repository="acme/widgets", head_sha=SHA), Trigger.READY),
        (RerunPressed(pull=PULL, repository="acme/widgets", head_sha=SHA), Trigger.RERUN),
        (RerunPressed(pull=PULL, repository="acme/widgets", head_sha=None), Trigger.RERUN),
    ],
)
def test_an_event_becomes_a_request_that_names_its_trigger(event: Judgeable, trigger: Trigger) -> None:
    assert to_request(event, DELIVERY, AT) == JudgeRequest(
        pull=PULL,
        repository="acme/widgets",
        head_sha=event.head_sha,
        trigger=trigger,
        delivery_id=DELIVERY,
        requested_at=AT,
    )


def test_a_command_becomes_an_ask_that_names_its_author_and_comment() -> None:
    given = CommandGiven(
        pull=PULL, repository="acme/widgets", comment_id=55, login="alice", command=CommandName.REJUDGE
    )
    assert to_ask(given, DELIVERY, AT) == Ask(
        pull=PULL,
        repository="acme/widgets",
        comment_id=55,
        login="alice",
        command=CommandName.REJUDGE,
        delivery_id=DELIVERY,
        asked_at=AT,
    )
