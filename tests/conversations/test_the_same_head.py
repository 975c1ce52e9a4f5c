"""Several pull requests of one head: GitHub looks at one check of a name for a commit, whoever's it is."""

import pytest

from tests.conversations.conftest import read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.people import Person
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest, Repository
from tests.world.replies import accept, reject
from tests.world.world import World

LAX = {**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"}


def again(here: Repository, person: Person, first: PullRequest, base: str = "release", **more: object) -> PullRequest:
    """The same branch is proposed once more, for another one."""
    path, body = f"/repos/{here.name}/pulls", {"title": "Again", "body": "", "head": first.branch, "base": base, **more}
    made = here.github.request_as(person.login, "POST", path, **body)
    return PullRequest(here, made["number"], first.source, first.branch)


def released(world: World, files: dict[str, str] = PROJECT) -> Repository:
    here = world.create_repository(files)
    world.github.control("push", repo=here.name, branch="release", files={"NEWS.md": "Soon.\n"})
    return here


def states(pull: PullRequest) -> list[str | None]:
    """What every check run of the head comes to, whichever of them GitHub takes."""
    return [run["conclusion"] or run["status"] for run in pull.check_runs_of(pull.head)]


def test_none_of_two_pull_requests_of_one_head_passes_before_both_are_accepted(world: World) -> None:
    here = released(world)
    first = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    second = again(here, world.agent, first)
    world.wait_until_idle()

    assert states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged
    assert second.check.title == f"Accepted here, but #{first.number} of the same commit is rejected"
    assert second.verdict["decision"] == "accept", "its own verdict stays readable"

    world.comment_and_wait(first, "/rejudge force", accept(RETRY_AT), by=world.alice)
    assert states(first) == ["success", "success"]
    assert second.check.title.startswith("Accepted")
    assert world.alice.merge(first).is_merged


@pytest.mark.slow
def test_a_persons_pull_request_of_a_rejected_head_lets_nothing_pass_until_the_other_one_is_closed(
    world: World,
) -> None:
    here = released(world, LAX)
    world.model.reply_with(reject("weak_test", RETRY_AT))
    world.github.control("push", repo=here.name, branch="fix", files=RETRY, **{"as": "bob"})
    first = again(here, world.agent, PullRequest(here, 0, here.name, "fix"), base="main")
    world.wait_until_idle()
    second = again(here, world.bob, first)
    world.wait_until_idle()
    assert states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged
    assert second.check.title == f"Skipped here, but #{first.number} of the same commit is rejected"

    world.agent.close(first)
    world.wait_until_idle()
    assert states(second) == ["skipped", "skipped"]
    assert second.check.title == "Skipped: written by a person"


@pytest.mark.slow
def test_a_head_that_one_of_two_pull_requests_leaves_is_the_other_ones_alone(world: World) -> None:
    here = released(world)
    first = world.open_and_judge(accept(RETRY_AT), reject("weak_test", RETRY_AT))
    path, ref = f"/repos/{here.name}/git/refs", "refs/heads/copy"
    here.github.request_as(world.alice.login, "POST", path, ref=ref, sha=first.head)
    copy = PullRequest(here, 0, first.source, "copy")
    second = again(here, world.agent, copy)
    world.wait_until_idle()
    assert states(first) == ["failure", "failure"]

    world.push_and_judge(second, {"more.py": "MORE = 1\n"}, accept(RETRY_AT))
    assert states(first) == ["success", "success"]
    assert world.alice.merge(first).is_merged


@pytest.mark.slow
def test_a_draft_of_the_same_head_holds_nobody_and_is_judged_when_it_is_ready(world: World) -> None:
    here = released(world)
    first = world.open_and_judge(accept(RETRY_AT))
    second = again(here, world.agent, first, draft=True)
    world.wait_until_idle()
    assert states(first) == ["success", "success"]
    assert second.check.title == f"As #{first.number}, which is accepted"

    world.model.reply_with(reject("weak_test", RETRY_AT))
    world.agent.mark_ready(second)
    world.wait_until_idle()
    assert states(first) == ["failure", "failure"]
    assert not world.alice.merge(first).is_merged


@pytest.mark.slow
def test_one_that_was_closed_in_a_pause_says_nothing_to_who_waits_once_that_is_over(world: World) -> None:
    here = released(world)
    world.model.reply_with(accept(RETRY_AT))
    people = world.product.environment
    assert run_assay(people, "pause", here.name, "--reason", "moving", "--by", "olga").returncode == 0
    first = world.open_and_judge()
    second = again(here, world.agent, first)
    world.wait_until_idle()
    assert states(first) == ["neutral", "neutral"]
    world.agent.close(first)
    world.wait_until_idle()

    assert run_assay(people, "resume", here.name).returncode == 0
    world.wait_until(lambda: second.check.conclusion == "success", "the open one is judged")
    world.wait_until_idle()
    told = read_wait_answer(world, here.name, second.head)
    assert (told["state"], told["verdict"]["decision"], told["number"]) == ("done", "accept", second.number)
