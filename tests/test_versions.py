"""What ships under a version stays what it is: whoever runs Assay has verdicts on record that name it."""

from worker.domain.law import digest_of
from worker.rulebook import load_rubric

RELEASED = {
    "default 1": "f8cd03781a26a631fb55dc40543868933996bdb23fd9c8c6869158f70f2eb150",
}
"""Raise the version of `rubrics/default.yml` with every edit of what it says, and put the new one here."""


def test_the_rubric_that_ships_says_what_its_version_stands_for() -> None:
    rubric = load_rubric()
    assert RELEASED.get(f"{rubric.id} {rubric.version}") == digest_of(rubric), "raise its version: it was edited"
