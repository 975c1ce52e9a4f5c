"""What never arrived at the door is caught up with."""

import pytest

from tests.conversations.conftest import Open
from tests.world.changes import PROJECT, STUB
from tests.world.tester import World

NOWHERE = "http://127.0.0.1:9/nowhere"


def looking(another_world: Open) -> World:
    """It finds what other stories left open, too: no model is asked about that."""
    return another_world({"ASSAY_CATCH_UP": "0.5", "ASSAY_TIER": "heuristic"})


@pytest.mark.slow
def test_a_delivery_that_never_arrived_is_asked_for_again(another_world: Open) -> None:
    world = looking(another_world)
    here = world.repository(PROJECT)
    world.github.verb("hooks", url=NOWHERE)
    pull = world.agent.opens(STUB)
    world.github.settle()
    world.github.verb("hooks", url=world.product.webhooks)
    world.until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")


@pytest.mark.slow
def test_pain_08_a_head_of_which_nobody_told_us_is_found_by_the_sweep(another_world: Open) -> None:
    world = looking(another_world)
    here = world.repository(PROJECT)
    events = world.github.verb("hooks")["events"]
    world.github.verb("hooks", events=[])
    pull = world.agent.opens(STUB)
    world.github.verb("hooks", events=events)
    world.until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")
    world.settles()
    assert len(pull.checks_of(pull.head)) == 1
