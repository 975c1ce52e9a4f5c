"""A check that merges wait for: what passes it, where nobody judged or nobody knows of an agent."""

import pytest

from tests.conversations.conftest import Open
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.product import run
from tests.world.replies import reject

PERSON = "Assay took the author for a person: neither the account, nor the branch, nor a commit, nor the description is a coding agent's."


def test_without_a_model_a_required_check_does_not_pass_unjudged_and_any_other_is_neutral(another_world: Open) -> None:
    world = another_world({"ANTHROPIC_API_KEY": ""})
    world.repository(PROJECT, protect=["Assay"])
    required = world.opened()
    assert (required.check.conclusion, required.verdict["abstain_reason"]) == ("action_required", "unproven")
    assert "The base branch requires this check, so a change that was not judged does not pass." in required.text
    assert not world.alice.merges(required).is_merged

    world.repository(PROJECT, protect=[])
    free = world.person("copilot-swe-agent[bot]").opens(RETRY)
    world.settles()
    assert (free.check.conclusion, free.verdict["abstain_reason"]) == ("neutral", "unproven")

    config = {".github/assay.yml": "abstains: {unproven: neutral}\n"}
    world.repository({**PROJECT, **config}, protect=["Assay"])
    chosen = world.person("copilot-swe-agent[bot]").opens(RETRY)
    world.settles()
    assert (chosen.check.conclusion, chosen.verdict["abstain_reason"]) == ("neutral", "unproven")
    assert "unproven does not block (`abstains`)" in chosen.text


def test_an_author_who_is_taken_for_a_person_is_judged_and_not_blocked_and_the_check_says_why(
    another_world: Open,
) -> None:
    world = another_world({"ASSAY_PEOPLE": ""})
    here = world.repository(PROJECT)
    pull = world.opened(reject("weak_test", RETRY_AT), by=world.bob)
    assert (pull.check.conclusion, pull.check.title[:24]) == ("neutral", "Would have rejected with")
    assert PERSON in pull.text
    assert len(world.model.asked) == 1

    said = " ".join(run(world.product.environment, "doctor", "--repo", here.name).stdout.split())
    assert "the pull requests of people are only observed, so the required check never blocks one" in said
    assert "Set `authors: {people: judge}` in .github/assay.yml" in said
    assert "the pull requests of bots are only observed, so the required check never blocks one" in said

    world.model.answers(reject("weak_test", RETRY_AT))
    here.github.verb("push", repo=here.name, branch="main", files={".github/assay.yml": "authors: {people: judge}\n"})
    world.settles()
    assert pull.check.conclusion == "failure"
    assert "pull requests of people" not in run(world.product.environment, "doctor", "--repo", here.name).stdout


@pytest.mark.slow
def test_a_repository_may_still_leave_people_alone(another_world: Open) -> None:
    world = another_world({"ASSAY_PEOPLE": "skip"})
    pull = world.opened(files=ONLY_DOCUMENTATION, by=world.bob)
    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
