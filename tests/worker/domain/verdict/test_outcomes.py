"""Outcomes of a pull request, their rubric, and demotions of signals."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from worker.domain.github_events import PullRequestEvent, PullRequestEventKind, hash_issue
from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, EvalId, InstallationId, RepositoryId
from worker.domain.verdict.events import EventKind, read_event
from worker.domain.verdict.outcomes import (
    STRENGTHS,
    Demotion,
    Outcome,
    OutcomeKind,
    PullRequestRubric,
    Reaction,
    RejectCounts,
    Strength,
    last_thumbs,
    outcome_event,
)
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric
from worker.signals.heuristic_opinion import REGISTERED_NAMES

PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=3)
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
HEAD = "1" * 40


def pull_request_event(**changes: Any) -> PullRequestEvent:
    fields: dict[str, Any] = {"what": PullRequestEventKind.SPOKE, "delivery_id": DeliveryId("d"), "at": AT}
    return PullRequestEvent(**{**PULL.model_dump(), **fields, **changes})


def test_each_outcome_has_a_strength() -> None:
    assert set(STRENGTHS) == set(OutcomeKind)
    assert set(STRENGTHS.values()) == set(Strength)


def test_outcome_event_names_its_pull_request_and_verdict() -> None:
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


def test_outcome_has_no_field_for_a_name_or_a_text() -> None:
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "merged", "at": AT, "login": "alice"})
    with pytest.raises(ValidationError):
        Outcome.model_validate({"kind": "loved", "at": AT})


def test_pull_request_event_names_its_pull_request_or_only_a_commit() -> None:
    assert pull_request_event().pull == PULL
    assert pull_request_event(number=None).pull is None
    assert pull_request_event(number=None).pull_with_number(3) == PULL


def test_issue_hash_hides_the_repository_name() -> None:
    marks = {hash_issue("acme/widgets", 7), hash_issue("acme/widgets", 8), hash_issue("acme/other", 7)}
    assert len(marks) == 3
    assert hash_issue("Acme/Widgets", 7) == hash_issue("acme/widgets", 7)
    assert not any("widgets" in mark for mark in marks)


def rubric_with(**pull: float) -> dict[str, Any]:
    shipped = load_pull_request_rubric().model_dump()
    return {**shipped, "pull": {**shipped["pull"], **pull}}


def test_shipped_rubrics_name_known_signals_and_outcomes() -> None:
    assert set(load_ci_check_rubric().loosening) <= REGISTERED_NAMES
    spoken = set(load_pull_request_rubric().speaks_for)
    contested = {OutcomeKind.CONTEST, OutcomeKind.CONTEST_UPHELD}
    rated = {OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL, OutcomeKind.REOPENED} | contested
    silent = {OutcomeKind.OWN_OVERRIDE}
    assert spoken == set(OutcomeKind) - rated - silent, "what people say of a verdict depends on the verdict"


@pytest.mark.parametrize(
    ("rubric", "problem"),
    [
        (rubric_with(explicit=0.6), "explicit has to be more"),
        (rubric_with(implicit=0.9), "explicit has to be more"),
        (rubric_with(implicit=0.5, explicit=0.6), "explicit has to be more"),
        (rubric_with(lifecycle=0.7), "explicit has to be more"),
        (rubric_with(lifecycle=0.0), "explicit has to be more"),
        ({**rubric_with(), "pull": {}}, "explicit has to be more"),
        ({**rubric_with(), "favourite": 1}, "extra"),
    ],
)
def test_rubric_with_inverted_strengths_or_unknown_fields_is_refused(rubric: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        PullRequestRubric.model_validate(rubric)


@pytest.mark.parametrize(
    ("rejects", "overturned", "is_too_much"),
    [(39, 39, False), (40, 2, False), (40, 3, True), (100, 5, False), (100, 6, True), (0, 0, False)],
)
def test_more_than_five_per_cent_of_forty_rejects_is_over_the_limit(
    rejects: int, overturned: int, *, is_too_much: bool
) -> None:
    assert RejectCounts(rejects=rejects, overturned=overturned).is_over_limit is is_too_much


def test_demotion_notice_says_why_and_how_to_undo_it() -> None:
    demotion = Demotion(
        signal="stub", tally=RejectCounts(rejects=50, overturned=4), at=datetime(2026, 11, 20, tzinfo=UTC)
    )
    assert demotion.notice(InstallationId(7)) == (
        "stub is a suspicion since 2026-11-20: 4 of its 50 rejects were overridden, more than 5 % "
        "(installation 7). `assay rubric promote stub --installation 7` takes it back."
    )


REACTED_AT = datetime(2026, 11, 20, tzinfo=UTC)


def reaction(number: int, content: str, account: int = 1, **other: Any) -> Reaction:
    return Reaction(number, account, other.get("is_bot", False), content, REACTED_AT)


def test_last_thumb_of_each_account_counts() -> None:
    up, down, other = reaction(3, "+1"), reaction(5, "-1"), reaction(4, "+1", account=2)
    assert last_thumbs([down, up, other]) == (other, down)


def test_reactions_of_bots_and_without_a_thumb_are_ignored() -> None:
    reactions = [reaction(1, "-1", is_bot=True)]
    reactions += [
        reaction(n, feeling) for n, feeling in enumerate(("laugh", "hooray", "confused", "heart", "rocket", "eyes"))
    ]
    assert last_thumbs(reactions) == ()
