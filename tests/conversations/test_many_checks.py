"""A head with three hundred checks of others, as a matrix makes them: three of GitHub's pages."""

from collections.abc import Iterable

import pytest

from tests.conversations.conftest import nothing_told
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.pulls import Repository
from tests.world.replies import accept
from tests.world.tester import World

pytestmark = pytest.mark.slow  # who plays GitHub takes a while to make as many
TEN = {**RETRY, **{f"lib/part{number}.py": f"PART = {number}\n" for number in range(8)}}
MOST_LOOKS = 3
"""Of the news that it ended, and of what may have come while that was looked at."""

MATRIX = tuple(f"matrix ({number})" for number in range(299))


def green(world: World, here: Repository, sha: str, names: Iterable[str]) -> None:
    with nothing_told(world):
        for name in names:
            here.reports_ci(sha, name, "success")
        world.github.settle()


def asked(world: World, here: Repository) -> list[str]:
    """What GitHub was asked about it, in order: a query by its name."""
    return [one["operation"] or one["method"] for one in world.github.requests(here.name)]


def test_a_required_one_on_the_last_page_is_waited_for_by_name_and_the_wait_ends_with_it(world: World) -> None:
    here = world.repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.opens(TEN, draft=True)
    green(world, here, pull.head, MATRIX)
    tests = here.starts_ci(pull.head, "unit tests")
    world.settles()
    world.agent.marks_ready(pull)
    world.until(
        lambda: pull.check.title == "Waiting for CI: unit tests", "the check waits for the one that is not done"
    )
    assert world.model.asked == []
    before = len(asked(world, here))

    world.model.answers(accept(RETRY_AT))
    tests.finishes("success")
    world.settles()
    assert pull.check.conclusion == "success"
    assert asked(world, here)[before:].count("AssayPull") <= MOST_LOOKS, "nobody looks for each of three hundred"


def test_the_one_that_failed_on_the_last_page_is_the_evidence_and_comes_first(world: World) -> None:
    here = world.repository(PROJECT, protect=["Assay", "unit tests"])
    pull = world.agent.opens(TEN, draft=True)
    green(world, here, pull.head, MATRIX)
    here.reports_ci(pull.head, "unit tests", "failure", "E   assert 503 == 200 in tests/test_retry.py")
    world.agent.marks_ready(pull)
    world.settles()
    assert pull.check == ("completed", "action_required", "Not judged: CI failed (unit tests)")
    assert pull.verdict["abstain_reason"] == "ci_failed"
    assert "assert 503 == 200" in pull.text
    assert "CI: failed: unit tests (failure, required), matrix (0) (success)" in pull.text
    assert world.model.asked == []


def test_a_first_verdict_takes_one_request_more_for_each_further_hundred(world: World) -> None:
    here = world.repository(PROJECT, protect=["Assay", "unit tests"])
    world.model.answers(accept(RETRY_AT))
    pull = world.agent.opens(TEN, draft=True)
    green(world, here, pull.head, (*MATRIX[1:], "unit tests"))  # and our own: three hundred
    world.settles()  # the check run of the draft is open
    before = len(asked(world, here))
    world.agent.marks_ready(pull)
    world.settles()
    assert pull.check.conclusion == "success"
    words = world.model.asked[0].text
    assert words.count("matrix (") == len(MATRIX) - 1
    assert words.index("unit tests") < words.index("matrix ("), "what is required comes first"
    asks = [
        one for one in asked(world, here)[before:] if one != "AssayHead"
    ]  # where the last page is not fresh any more
    assert asks[asks.index("GET") :] == ["GET", "AssayPull", "AssayChecks", "AssayChecks", "PATCH"]
