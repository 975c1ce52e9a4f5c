"""What never arrived at the door is caught up with."""

import time
from datetime import datetime

import pytest

from tests.conversations.conftest import SWEEP, Open, is_seen, nothing_told
from tests.world.anthropic import Reply
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY_AT, STUB
from tests.world.pulls import Pull
from tests.world.replies import accept, cannot_tell, reject
from tests.world.tester import World

TOKEN = "^POST /app/installations/[0-9]+/access_tokens$"
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
@pytest.mark.parametrize("is_listed", [True, False], ids=["", "GitHub tells nothing of its deliveries"])
def test_pain_08_a_head_of_which_nobody_told_us_is_found_by_the_sweep(another_world: Open, *, is_listed: bool) -> None:
    world = looking(another_world)
    here = world.repository(PROJECT)
    is_seen(world)
    if not is_listed:
        world.github.fault(
            "^GET /app/hook/deliveries$", kind="status", status=404, body={"message": "No."}, count=10_000
        )
    with nothing_told(world):
        pull = world.agent.opens(STUB)
        world.until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")
    world.github.clear_faults()
    world.settles()
    assert len(pull.checks_of(pull.head)) == 1
    assert not [one for one in world.github.told(here.name, "pull_request") if one["action"] == "opened"]


@pytest.mark.slow
def test_what_was_missed_while_an_installation_was_suspended_is_found_afterwards(another_world: Open) -> None:
    world = looking(another_world)
    here = world.repository(PROJECT)
    is_seen(world)
    world.github.verb("suspend")
    with nothing_told(world):
        pull = world.agent.opens(STUB)
        begun = seen(world, SWEEP)
        world.until(lambda: seen(world, SWEEP) > begun + 1, "whatever was under way has ended")
        looked, asked = seen(world, SWEEP), seen(world, TOKEN)
        world.until(lambda: seen(world, SWEEP) > looked + 2, "it was looked for what was missed")
        assert (here.checks, seen(world, TOKEN)) == ([], asked)
        world.github.verb("suspend", ends=True)
        world.until(lambda: bool(here.checks) and pull.check.conclusion == "failure", "the pull request is judged")


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "conclusion"), [(accept(RETRY_AT), "success"), (cannot_tell(), "action_required")])
def test_a_verdict_that_was_made_as_access_was_lost_is_shown_when_it_is_back_and_not_paid_again(
    another_world: Open, reply: Reply, conclusion: str
) -> None:
    world = another_world({"ASSAY_CATCH_UP": "0.5"})
    here = world.repository(PROJECT)
    is_seen(world)
    thought, pull = world.judging(reply)
    world.github.verb("suspend")
    thought.arrives()
    world.until(lambda: not world.busy(), "the judging has ended")
    assert pull.check.status == "in_progress"

    world.github.verb("suspend", ends=True)
    shown = "what is on record is shown"
    world.until(lambda: pull.check.status == "completed", shown, seconds=90)  # a sweep takes a head up once a minute
    world.settles()
    assert (len(world.model.asked), len(here.checks)) == (1, 1)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == (conclusion, None)


@pytest.mark.slow
def test_another_base_of_which_nobody_told_us_is_found_by_the_sweep(another_world: Open) -> None:
    world = looking(another_world)
    world.repository(PROJECT)
    is_seen(world)
    pull = opens_upon_a_stub(world)
    world.settles()
    assert pull.check.conclusion == "success", "what it does not change there is not its own"

    with nothing_told(world):
        world.alice.retargets(pull, "main")
        world.until(lambda: pull.check.conclusion == "failure", "it is judged as what it changes here")
    world.settles()
    assert "the base changed" in pull.text
    assert len(pull.checks_of(pull.head)) == 1
    judged = len(pull.runs_of(pull.head)), pull.verdict["eval_id"]
    is_seen(world)
    world.settles()
    assert (len(pull.runs_of(pull.head)), pull.verdict["eval_id"]) == judged, "and once is enough"


@pytest.mark.slow
def test_another_base_of_one_that_is_older_than_assay_and_was_judged_on_command_is_found_too(
    another_world: Open,
) -> None:
    world = looking(another_world)
    world.github.fault("^GET /app/installations$", kind="status", status=404, body={"message": "No."}, count=10_000)
    here = world.repository(PROJECT)
    with nothing_told(world):
        pull = opens_upon_a_stub(world)
        opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
        world.until(lambda: time.time() >= opened + 1, "the second in which it was opened is over")
    world.github.verb("install", repositories=[here.name])
    world.until(lambda: bool(pull.runs_of(pull.head)), "the old pull request has its check")
    world.settles()
    assert pull.check.conclusion == "neutral"
    world.commented(pull, "/rejudge")
    assert pull.check.conclusion == "success"

    world.github.clear_faults()
    with nothing_told(world):
        world.alice.retargets(pull, "main")
        world.until(lambda: pull.check.conclusion == "failure", "it is judged as what it changes here")
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_that_it_left_its_base_told_after_it_came_back_takes_no_override_away(world: World) -> None:
    here = world.repository(PROJECT)
    world.github.verb("push", repo=here.name, branch="below", files={}, **{"from": "main"})
    world.model.decides(lambda _: reject("weak_test", RETRY_AT))
    pull = world.opened()
    with nothing_told(world):
        world.alice.retargets(pull, "below")
        world.github.settle()
    world.alice.retargets(pull, "main")
    world.settles()
    world.commented(pull, "/override we ship today", by=world.alice)
    overridden = pull.check
    assert overridden.conclusion == "neutral"

    late = next(one for one in reversed(world.github.told(here.name, "pull_request")) if one["action"] == "edited")
    assert late["changes"]["base"]["ref"]["from"] == "below"
    late["changes"]["base"]["ref"]["from"] = "main"
    late["pull_request"]["base"]["ref"] = "below"
    assert world.door.sends("pull_request", late).status_code == 202
    world.settles()
    assert pull.check == overridden


def opens_upon_a_stub(world: World) -> Pull:
    """Documentation, into a branch of stubs."""
    here = world.here
    world.github.verb("push", repo=here.name, branch="below", files=STUB)
    world.github.verb("push", repo=here.name, branch="fix", files=ONLY_DOCUMENTATION, **{"from": "below"})
    said = {"title": "Document how uploads work", "body": "", "head": "fix", "base": "below"}
    made = world.github.user(world.agent.login, "POST", f"/repos/{here.name}/pulls", **said)
    return Pull(here, made["number"], here.name, "fix")


def seen(world: World, what: str) -> int:
    return len(world.github.traffic(what))
