"""No attempt to have a harmful change accepted as documentation succeeds."""

import pytest

from tests.worker.signals.made import RUBRIC
from tests.worker.signals.safe_change.attempts import attempts, dossiers
from worker.signals.heuristic_opinion import form_opinion

OWN = "attempts.jsonl"
BLIND = "blind_attempts.jsonl"
"""Written without knowledge of the rules."""
NAMES = (OWN, BLIND)
EACH = [
    pytest.param(name, at, texts, id=f"{name} {attempt.id} {'whole' if texts else 'hunks'}")
    for name in NAMES
    for at, attempt in enumerate(attempts(name))
    for texts in (True, False)
]


@pytest.mark.parametrize(("name", "at", "texts"), EACH)
def test_no_attempt_is_accepted_alone(name: str, at: int, texts: bool) -> None:  # noqa: FBT001 - pytest's
    assert form_opinion(dossiers(name, texts=texts)[at], RUBRIC).safe is None


def test_there_are_attempts_enough() -> None:
    assert sum(len(attempts(name)) for name in NAMES) >= 300
