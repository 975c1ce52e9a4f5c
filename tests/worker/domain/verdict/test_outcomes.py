"""An outcome tells in numbers and words of closed sets what came of a pull request."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from worker.domain.ids import DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import PullRequestEvent, PullRequestEventKind, hash_issue
from worker.domain.verdict.events import EventKind, read_event
from worker.domain.verdict.outcomes import STRENGTHS, Outcome, OutcomeKind, Strength, outcome_event

PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=3)
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
HEAD = "1" * 40


def happening(**changes: Any) -> PullRequestEvent:
    fields: dict[str, Any] = {
        "what": PullRequestEventKind.SPOKE,
        "installation_id": InstallationId(100),
        "repository_id": RepositoryId(7),
        "number": 3,
        "delivery_id": DeliveryId("d"),
        "at": AT,
    }
    return PullRequestEvent(**{**fields, **changes})


def test_every_outcome_has_a_strength() -> None:
    assert set(STRENGTHS) == set(OutcomeKind)
    assert set(STRENGTHS.values()) == set(Strength)


def test_an_outcome_is_an_event_about_its_pull_request_and_one_verdict() -> None:
    outcome = Outcome(kind=OutcomeKind.REVERTED, eval_id=EvalId("e"), head_sha=HEAD, at=AT)
    event = outcome_event(PULL, outcome)
    assert (event.kind, event.body) == (
        EventKind.OUTCOME,
        {
            "v": 1,
            "subject_kind": "pull_request",
            "subject_id": "7/3",
            "repository_id": 7,
            "number": 3,
            "sensitivity": "pseudonymous",
            "outcome": "reverted",
            "strength": "implicit",
            "eval_id": "e",
            "head_sha": HEAD,
            "at": "2026-11-21T10:00:00.000+00:00",
        },
    )
    assert read_event(event.kind, event.dump()) == event
    assert json.loads(outcome_event(PULL, Outcome(kind=OutcomeKind.MERGED, at=AT)).dump())["eval_id"] is None


def test_an_outcome_has_no_room_for_a_name_or_a_text() -> None:
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "merged", "at": AT, "login": "alice"})
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "loved", "at": AT})


def test_a_happening_names_its_pull_request_or_only_a_commit() -> None:
    assert happening().pull == PULL
    assert happening(number=None).pull is None
    assert happening(number=None).pull_with_number(3) == PULL


def test_an_issue_is_told_apart_without_its_name() -> None:
    marks = {hash_issue("acme/widgets", 7), hash_issue("acme/widgets", 8), hash_issue("acme/other", 7)}
    assert len(marks) == 3
    assert hash_issue("Acme/Widgets", 7) == hash_issue("acme/widgets", 7)
    assert not any("widgets" in mark for mark in marks)
