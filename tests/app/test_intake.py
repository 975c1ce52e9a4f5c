"""Event -> what is written down. Invariant: nothing of the event is lost on the way."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.events import (
    Afterwards,
    CiFailed,
    CommandGiven,
    CommitsReverted,
    PersonSpoke,
    PullClosed,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    RerunPressed,
    ThumbGiven,
)
from app.intake import Judgeable, to_ask, to_happening, to_request
from worker.domain.happenings import Happened
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


HERE: dict[str, Any] = {"pull": PULL, "repository": "acme/widgets"}
SOMEWHERE: dict[str, Any] = {"installation_id": InstallationId(1), "repository_id": RepositoryId(7)}
OTHER = "2" * 40


@pytest.mark.parametrize(
    ("event", "noted"),
    [
        (
            PullPushed(**HERE, head_sha=SHA, by_another=True),
            {"what": Happened.PUSHED_BY_ANOTHER, "number": 3, "by_person": True, "head_sha": SHA},
        ),
        (
            PullReopened(**HERE, head_sha=SHA, by_person=True),
            {"what": Happened.REOPENED, "number": 3, "by_person": True, "head_sha": SHA},
        ),
        (PullReopened(**HERE, head_sha=SHA), {"what": Happened.REOPENED, "number": 3, "head_sha": SHA}),
        (PersonSpoke(**HERE), {"what": Happened.SPOKE, "number": 3, "by_person": True}),
        (
            ThumbGiven(**HERE, head_sha=SHA, is_helpful=True),
            {"what": Happened.HELPFUL, "number": 3, "by_person": True, "head_sha": SHA},
        ),
        (
            ThumbGiven(**HERE, head_sha=None, is_helpful=False),
            {"what": Happened.NOT_HELPFUL, "number": 3, "by_person": True},
        ),
        (PullClosed(**HERE, head_sha=SHA, by_person=False), {"what": Happened.CLOSED, "number": 3, "head_sha": SHA}),
        (
            PullClosed(**HERE, head_sha=SHA, by_person=True, merge_sha=OTHER, mends=True, reverts=(2,)),
            {
                "what": Happened.MERGED,
                "number": 3,
                "by_person": True,
                "head_sha": SHA,
                "merge_sha": OTHER,
                "mends": True,
                "reverts": (2,),
            },
        ),
        (CiFailed(**SOMEWHERE, head_sha=SHA), {"what": Happened.CI_FAILED, "head_sha": SHA}),
        (CommitsReverted(**SOMEWHERE, shas=(SHA,)), {"what": Happened.REVERTED, "reverted_shas": (SHA,)}),
    ],
)
def test_what_may_be_an_outcome_is_noted_with_numbers_alone(event: Judgeable | Afterwards, noted: Any) -> None:
    happening = to_happening(event, DELIVERY, AT)
    assert happening is not None
    assert happening.model_dump(exclude_defaults=True) == {**SOMEWHERE, "delivery_id": DELIVERY, "at": AT, **noted}


@pytest.mark.parametrize(
    "event",
    [
        PullOpened(**HERE, head_sha=SHA),
        PullPushed(**HERE, head_sha=SHA),
        PullReady(**HERE, head_sha=SHA),
        RerunPressed(**HERE, head_sha=SHA),
    ],
)
def test_what_is_only_to_be_judged_is_not_noted(event: Judgeable) -> None:
    assert to_happening(event, DELIVERY, AT) is None
