"""What never arrived at the door is caught up with."""

import time
from datetime import datetime

import pytest

from tests.conversations.conftest import SWEEP_REQUEST, OpenWorld, pause_deliveries, wait_for_sweep
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY_AT, STUB
from tests.world.fake_anthropic import Reply
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, cannot_tell, reject
from tests.world.world import World

TOKEN = "^POST /app/installations/[0-9]+/access_tokens$"
NOWHERE = "http://127.0.0.1:9/nowhere"


def looking(open_world: OpenWorld) -> World:
    """It finds what other stories left open, too: no model is asked about that."""
    return open_world({"ASSAY_CATCH_UP": "0.5", "ASSAY_TIER": "heuristic"})


@pytest.mark.slow
def test_a_delivery_that_never_arrived_is_asked_for_again(open_world: OpenWorld) -> None:
    world = looking(open_world)
    here = world.create_repository(PROJECT)
    world.github.control("hooks", url=NOWHERE)
    pull = world.agent.open_pull_request(STUB)
    world.github.settle()
    world.github.control("hooks", url=world.product.webhook_url)
    world.wait_until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")


@pytest.mark.slow
@pytest.mark.parametrize("is_listed", [True, False], ids=["", "GitHub tells nothing of its deliveries"])
def test_pain_08_a_head_of_which_nobody_told_us_is_found_by_the_sweep(
    open_world: OpenWorld, *, is_listed: bool
) -> None:
    world = looking(open_world)
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    if not is_listed:
        world.github.fault(
            "^GET /app/hook/deliveries$", kind="status", status=404, body={"message": "No."}, count=10_000
        )
    with pause_deliveries(world):
        pull = world.agent.open_pull_request(STUB)
        world.wait_until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")
    world.github.clear_faults()
    world.wait_until_idle()
    assert len(pull.checks_of(pull.head)) == 1
    assert not [one for one in world.github.deliveries_of(here.name, "pull_request") if one["action"] == "opened"]


@pytest.mark.slow
def test_what_was_missed_while_an_installation_was_suspended_is_found_afterwards(open_world: OpenWorld) -> None:
    world = looking(open_world)
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    world.github.control("suspend")
    with pause_deliveries(world):
        pull = world.agent.open_pull_request(STUB)
        begun = seen(world, SWEEP_REQUEST)
        world.wait_until(lambda: seen(world, SWEEP_REQUEST) > begun + 1, "whatever was under way has ended")
        looked, asked = seen(world, SWEEP_REQUEST), seen(world, TOKEN)
        world.wait_until(lambda: seen(world, SWEEP_REQUEST) > looked + 2, "it was looked for what was missed")
        assert (here.checks, seen(world, TOKEN)) == ([], asked)
        world.github.control("suspend", ends=True)
        world.wait_until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "conclusion"), [(accept(RETRY_AT), "success"), (cannot_tell(), "action_required")])
def test_a_verdict_that_was_made_as_access_was_lost_is_shown_when_it_is_back_and_not_paid_again(
    open_world: OpenWorld, reply: Reply, conclusion: str
) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5"})
    here = world.create_repository(PROJECT)
    wait_for_sweep(world)
    thought, pull = world.open_and_hold_model(reply)
    world.github.control("suspend")
    thought.release()
    world.wait_until(lambda: not world.pending_keys(), "the judging has ended")
    assert pull.check.status == "in_progress"

    world.github.control("suspend", ends=True)
    shown = "what is on record is shown"
    world.wait_until(
        lambda: pull.check.status == "completed", shown, seconds=90
    )  # a sweep takes a head up once a minute
    world.wait_until_idle()
    assert (len(world.model.requests), len(here.checks)) == (1, 1)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == (conclusion, None)


@pytest.mark.slow
def test_another_base_of_which_nobody_told_us_is_found_by_the_sweep(open_world: OpenWorld) -> None:
    world = looking(open_world)
    world.create_repository(PROJECT)
    wait_for_sweep(world)
    pull = opens_upon_a_stub(world)
    world.wait_until_idle()
    assert pull.check.conclusion == "success", "what it does not change there is not its own"

    with pause_deliveries(world):
        world.alice.retarget(pull, "main")
        world.wait_until(lambda: pull.check.conclusion == "failure", "it is judged as what it changes here")
    world.wait_until_idle()
    assert "the base changed" in pull.text
    assert len(pull.checks_of(pull.head)) == 1
    judged = len(pull.check_runs_of(pull.head)), pull.verdict["eval_id"]
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (len(pull.check_runs_of(pull.head)), pull.verdict["eval_id"]) == judged, "and once is enough"


@pytest.mark.slow
def test_another_base_of_one_that_is_older_than_assay_and_was_judged_on_command_is_found_too(
    open_world: OpenWorld,
) -> None:
    world = looking(open_world)
    world.github.fault("^GET /app/installations$", kind="status", status=404, body={"message": "No."}, count=10_000)
    here = world.create_repository(PROJECT)
    with pause_deliveries(world):
        pull = opens_upon_a_stub(world)
        opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
        world.wait_until(lambda: time.time() >= opened + 1, "the second in which it was opened is over")
    world.github.control("install", repositories=[here.name])
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)), "the old pull request has its check")
    world.wait_until_idle()
    assert pull.check.conclusion == "neutral"
    world.comment_and_wait(pull, "/rejudge")
    assert pull.check.conclusion == "success"

    world.github.clear_faults()
    with pause_deliveries(world):
        world.alice.retarget(pull, "main")
        world.wait_until(lambda: pull.check.conclusion == "failure", "it is judged as what it changes here")
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_that_it_left_its_base_told_after_it_came_back_takes_no_override_away(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.github.control("push", repo=here.name, branch="below", files={}, **{"from": "main"})
    world.model.reply_by(lambda _: reject("weak_test", RETRY_AT))
    pull = world.open_and_judge()
    with pause_deliveries(world):
        world.alice.retarget(pull, "below")
        world.github.settle()
    world.alice.retarget(pull, "main")
    world.wait_until_idle()
    world.comment_and_wait(pull, "/override we ship today", by=world.alice)
    overridden = pull.check
    assert overridden.conclusion == "neutral"

    late = next(
        one for one in reversed(world.github.deliveries_of(here.name, "pull_request")) if one["action"] == "edited"
    )
    assert late["changes"]["base"]["ref"]["from"] == "below"
    late["changes"]["base"]["ref"]["from"] = "main"
    late["pull_request"]["base"]["ref"] = "below"
    assert world.webhook_sender.send("pull_request", late).status_code == 202
    world.wait_until_idle()
    assert pull.check == overridden


def opens_upon_a_stub(world: World) -> PullRequest:
    """Documentation, into a branch of stubs."""
    here = world.repository
    world.github.control("push", repo=here.name, branch="below", files=STUB)
    world.github.control("push", repo=here.name, branch="fix", files=ONLY_DOCUMENTATION, **{"from": "below"})
    said = {"title": "Document how uploads work", "body": "", "head": "fix", "base": "below"}
    made = world.github.request_as(world.agent.login, "POST", f"/repos/{here.name}/pulls", **said)
    return PullRequest(here, made["number"], here.name, "fix")


def seen(world: World, what: str) -> int:
    return len(world.github.traffic(what))
