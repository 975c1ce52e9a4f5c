"""A rubric says how much, not what outweighs what."""

from typing import Any

import pytest
from pydantic import ValidationError

from worker.domain.verdict.outcome_rubric import PullRequestRubric
from worker.domain.verdict.outcomes import OutcomeKind
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric
from worker.signals.registry import REGISTERED_NAMES


def changed(**pull: float) -> dict[str, Any]:
    shipped = load_pull_request_rubric().model_dump()
    return {**shipped, "pull": {**shipped["pull"], **pull}}


def test_the_rubrics_that_ship_can_be_read_and_name_what_there_is() -> None:
    assert set(load_ci_check_rubric().loosening) <= REGISTERED_NAMES
    spoken = set(load_pull_request_rubric().speaks_for)
    contested = {OutcomeKind.CONTEST, OutcomeKind.CONTEST_UPHELD}
    rated = {OutcomeKind.HELPFUL, OutcomeKind.NOT_HELPFUL, OutcomeKind.REOPENED} | contested
    silent = {OutcomeKind.OWN_OVERRIDE}
    assert spoken == set(OutcomeKind) - rated - silent, "what people say of a verdict depends on the verdict"


@pytest.mark.parametrize(
    "pull",
    [
        {"explicit": 0.6},
        {"implicit": 0.9},
        {"implicit": 0.5, "explicit": 0.6},
        {"lifecycle": 0.7},
        {"lifecycle": 0.0},
    ],
)
def test_a_rubric_that_turns_the_strengths_round_is_refused(pull: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="explicit has to be more"):
        PullRequestRubric.model_validate(changed(**pull))


def test_a_rubric_that_names_no_strength_is_refused() -> None:
    with pytest.raises(ValidationError, match="explicit has to be more"):
        PullRequestRubric.model_validate({**changed(), "pull": {}})


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra"):
        PullRequestRubric.model_validate({**changed(), "favourite": 1})
