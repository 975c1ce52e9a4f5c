"""Heads, deliveries and retargets that were missed are caught up with."""

import pytest

from tests.conversations.conftest import (
    SWEEP_REQUEST,
    OpenWorld,
    pause_deliveries,
    wait_for_next_second,
    wait_for_sweep,
)
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY_AT, STUB
from tests.world.fake_anthropic import Reply
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, cannot_tell, reject
from tests.world.world import World

pytestmark = pytest.mark.slow
TOKEN = "^POST /app/installations/[0-9]+/access_tokens$"
NOWHERE = "http://127.0.0.1:9/nowhere"


def open_sweeping_world(open_world: OpenWorld) -> World:
    """Without a model, because the sweep also finds what other tests left open."""
    return open_world({"ASSAY_CATCH_UP": "0.5", "ASSAY_TIER": "heuristic"})


def test_lost_delivery_is_requested_again(open_world: OpenWorld) -> None:
    world = open_sweeping_world(open_world)
    repository = world.create_repository(PROJECT)
    world.github.control("hooks", url=NOWHERE)
    pull = world.agent.open_pull_request(STUB)
    world.github.settle()
    world.github.control("hooks", url=world.product.webhook_url)
    world.wait_until(lambda: bool(repository.checks) and pull.check.conclusion == "failure")


@pytest.mark.parametrize("is_listed", [True, False], ids=["deliveries listed", "deliveries cannot be listed"])
def test_pain_08_sweep_finds_head_without_a_delivery(open_world: OpenWorld, *, is_listed: bool) -> None:
    world = open_sweeping_world(open_world)
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    if not is_listed:
        world.github.fault("^GET /app/hook/deliveries$", kind="status", status=404, body={"message": ""}, count=10_000)
    with pause_deliveries(world):
        pull = world.agent.open_pull_request(STUB)
        world.wait_until(lambda: bool(repository.checks) and pull.check.conclusion == "failure")
    world.wait_after(world.github.clear_faults())
    assert len(pull.checks_of(pull.head)) == 1
    assert not [
        delivery
        for delivery in world.github.deliveries_of(repository.name, "pull_request")
        if delivery["action"] == "opened"
    ]


def test_sweep_finds_head_missed_during_a_suspension(open_world: OpenWorld) -> None:
    world = open_sweeping_world(open_world)
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    world.github.control("suspend")
    with pause_deliveries(world):
        pull = world.agent.open_pull_request(STUB)
        begun = count_requests(world, SWEEP_REQUEST)
        world.wait_until(lambda: count_requests(world, SWEEP_REQUEST) > begun + 1, "the running sweep has ended")
        looked, asked = count_requests(world, SWEEP_REQUEST), count_requests(world, TOKEN)
        world.wait_until(lambda: count_requests(world, SWEEP_REQUEST) > looked + 2, "two more sweeps are done")
        assert (repository.checks, count_requests(world, TOKEN)) == ([], asked)
        world.github.control("suspend", ends=True)
        world.wait_until(lambda: bool(repository.checks) and pull.check.conclusion == "failure")


@pytest.mark.parametrize(("reply", "conclusion"), [(accept(RETRY_AT), "success"), (cannot_tell(), "action_required")])
def test_verdict_made_during_suspension_is_published_later(
    open_world: OpenWorld, reply: Reply, conclusion: str
) -> None:
    world = open_world({"ASSAY_CATCH_UP": "0.5"})
    repository = world.create_repository(PROJECT)
    wait_for_sweep(world)
    held_reply, pull = world.open_and_hold_model(reply)
    world.github.control("suspend")
    held_reply.release()
    world.wait_until(lambda: not world.pending_keys())
    assert pull.check.status == "in_progress"

    world.github.control("suspend", ends=True)
    shown = "what is on record is shown"
    world.wait_until(lambda: pull.check.status == "completed", shown, seconds=90)
    world.wait_until_idle()
    assert (len(world.model.requests), len(repository.checks)) == (1, 1)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == (conclusion, None)


def test_sweep_finds_a_retarget_without_a_delivery(open_world: OpenWorld) -> None:
    world = open_sweeping_world(open_world)
    world.create_repository(PROJECT)
    wait_for_sweep(world)
    pull = world.wait_after(open_onto_stubs(world))
    assert pull.check.conclusion == "success"

    with pause_deliveries(world):
        world.alice.retarget(pull, "main")
        world.wait_until(lambda: pull.check.conclusion == "failure")
    world.wait_until_idle()
    assert "the base changed" in pull.text
    assert len(pull.checks_of(pull.head)) == 1
    judged = len(pull.check_runs_of(pull.head)), pull.verdict["eval_id"]
    wait_for_sweep(world)
    world.wait_until_idle()
    assert (len(pull.check_runs_of(pull.head)), pull.verdict["eval_id"]) == judged


def test_sweep_finds_a_retarget_of_a_pull_request_judged_on_command(open_world: OpenWorld) -> None:
    world = open_sweeping_world(open_world)
    world.github.fault("^GET /app/installations$", kind="status", status=404, body={"message": "No."}, count=10_000)
    repository = world.create_repository(PROJECT)
    with pause_deliveries(world):
        pull = open_onto_stubs(world)
        wait_for_next_second(world, pull)
    world.github.control("install", repositories=[repository.name])
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)))
    world.wait_until_idle()
    assert pull.check.conclusion == "neutral"
    world.comment_and_wait(pull, "/rejudge")
    assert pull.check.conclusion == "success"

    world.github.clear_faults()
    with pause_deliveries(world):
        world.alice.retarget(pull, "main")
        world.wait_until(lambda: pull.check.conclusion == "failure")
    assert "the base changed" in pull.text


def test_retarget_delivered_late_does_not_remove_an_override(world: World) -> None:
    repository = world.create_repository(PROJECT)
    repository.push("below", {}, start="main")
    world.model.reply_by(lambda _: reject("weak_test", RETRY_AT))
    pull = world.open_and_judge()
    with pause_deliveries(world):
        world.alice.retarget(pull, "below")
        world.github.settle()
    world.wait_after(world.alice.retarget(pull, "main"))
    world.comment_and_wait(pull, "/override we ship today", by=world.alice)
    overridden = pull.check
    assert overridden.conclusion == "neutral"

    payload = next(
        delivery
        for delivery in reversed(world.github.deliveries_of(repository.name, "pull_request"))
        if delivery["action"] == "edited"
    )
    assert payload["changes"]["base"]["ref"]["from"] == "below"
    payload["changes"]["base"]["ref"]["from"] = "main"
    payload["pull_request"]["base"]["ref"] = "below"
    assert world.webhook_sender.send("pull_request", payload).status_code == 202
    world.wait_until_idle()
    assert pull.check == overridden


def open_onto_stubs(world: World) -> PullRequest:
    """Open a documentation change whose base is a branch of stubs."""
    world.repository.push("below", STUB)
    world.repository.push("fix", ONLY_DOCUMENTATION, start="below")
    return world.agent.open_from_branch("fix", "below", title="Document how uploads work")


def count_requests(world: World, what: str) -> int:
    return len(world.github.traffic(what))
