"""GitHub repeats itself, loses answers and refuses: still one check run for each head, and the right one."""

import json
from typing import Any

import pytest

from tests.conversations.conftest import OpenWorld, mark_slow
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.replies import accept
from tests.world.world import World


def test_every_delivery_twice_is_one_check_and_one_question(world: World) -> None:
    world.github.control("hooks", copies=2)
    world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def test_a_redelivery_of_a_judged_event_judges_nothing(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))
    [opened] = [one for one in world.github.state(here.name)["deliveries"] if one["action"] == "opened"]
    world.github.control("redeliver", id=opened["id"])
    world.wait_until_idle()

    assert len(world.model.requests) == 1
    assert pull.check.conclusion == "success"


CREATING = "POST .*/check-runs$"
LOST = {"after": True, "ms": 200}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "the answer to creating the check is lost": (CREATING, {**LOST, "kind": "status"}),
    "GitHub fails at a query": ("POST /graphql", {"status": 502}),
}
RARE: dict[str, tuple[str, dict[str, Any]]] = {
    "the connection of that answer is reset": (CREATING, {**LOST, "kind": "reset"}),
    "that answer takes too long": (CREATING, {**LOST, "kind": "timeout"}),
    "GitHub fails at a page": ("GET .*/pulls/", {"status": 502}),
    "the pull request is not there yet": ("GET .*/pulls/1$", {"status": 404, "body": {"message": "Not Found"}}),
    "nor is its head": (CREATING, {"status": 422, "body": {"message": "No commit found for SHA: f00"}, "count": 2}),
    "a secondary rate limit": ("POST /graphql", {"kind": "secondary", "retry_after": 1}),
}


@pytest.mark.parametrize("fault", [*FAULTS.values(), *mark_slow(*RARE.values())], ids=[*FAULTS, *RARE])
def test_what_passes_is_tried_again_and_ends_in_one_check(world: World, fault: tuple[str, dict[str, Any]]) -> None:
    match, order = fault
    world.create_repository(PROJECT)
    world.github.fault(match, **order)
    pull = world.open_and_judge(files=STUB)

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["failure"]


def test_a_lost_answer_to_the_verdict_is_repaired(world: World) -> None:
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.fault("PATCH .*/check-runs/", status=502)
    late.release()
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


@pytest.mark.slow
def test_an_expired_installation_token_is_replaced(world: World) -> None:
    pull = world.open_and_judge(files=STUB)
    world.github.control("tokens/expire")
    world.push_and_judge(pull, RETRY, accept(RETRY_AT))

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_rate_limit_that_is_used_up_is_waited_out_until_its_reset(world: World) -> None:
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.github.control("rate", remaining=0, reset_in=2)
    late.release()
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.wait_until_idle()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_github_being_down_for_longer_than_is_waited_is_no_verdict(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_GITHUB_DELAY": "0.3", "ASSAY_GITHUB_OUTAGE": "1"})
    world.create_repository(PROJECT)
    world.github.fault("POST /graphql", status=502, count=500)
    pull = world.open_and_judge(files=STUB)
    world.github.clear_faults()

    assert pull.check.conclusion == "action_required"
    assert not world.alice.merge(pull).is_merged


@pytest.mark.slow
@pytest.mark.parametrize(
    ("match", "changes", "most_ms"),
    [
        ("", {"ASSAY_GITHUB_DELAY": "0.5", "ASSAY_CHECK_DEADLINE": "4"}, 8_000),
        ("POST /graphql", {"ASSAY_GITHUB_DELAY": "0.5", "ASSAY_CHECK_DEADLINE": "4"}, 8_000),
        ("POST /graphql", {"ASSAY_GITHUB_DELAY": "0.3", "ASSAY_GITHUB_OUTAGE": "1"}, 6_000),
    ],
    ids=["all of GitHub, longer than a check may be open", "one endpoint of it", "longer than it is waited out"],
)
def test_github_being_down_for_long_ends_with_the_verdict_that_is_on_record(
    open_world: OpenWorld, match: str, changes: dict[str, str], most_ms: int
) -> None:
    """Where the queries alone fail, the check can be written all the time; the pull request can't be read."""
    world = open_world({"ASSAY_RETRY_DELAY": "0.05", **changes})
    here = world.create_repository(PROJECT)
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.github.fault(match, status=502, count=1_000_000)
    late.release()

    went_wrong = lambda: [one["at"] for one in world.github.requests(here.name) if one["status"] == 502]  # noqa: E731 - asked again
    world.wait_until(lambda: bool(at := went_wrong()) and at[-1] - at[0] > most_ms, "GitHub was away that long")
    assert len(went_wrong()) < 150, "nobody storms it"
    [run] = here.checks
    assert run["conclusion"] is None
    assert bool(match) is str(run["output"]["title"]).startswith("Waiting for GitHub: tried again after")
    world.github.clear_faults()
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]
    assert len(world.model.requests) == 1
    assert not any("Assay failed" in one["sent"] for one in world.github.requests(here.name))


@pytest.mark.parametrize("count", [10, *mark_slow(1, 100)])
def test_a_verdict_takes_at_most_seven_requests_and_one_carried_over_four_however_many_files(
    world: World, count: int
) -> None:
    here = world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    more = {f"lib/part{number}.py": f"PART = {number}\n" for number in range(count - 2)} if count > 2 else {}
    pull = world.open_and_judge(files={**RETRY, **more} if count > 1 else {"upload.py": RETRY["upload.py"]})
    first = len(world.github.requests(here.name))
    assert first + 1 <= 7, "and one for the token"

    world.push_and_judge(pull, {})
    assert pull.verdict["carried_from"]
    assert len(world.github.requests(here.name)) - first <= 4, "one that is carried over"


@pytest.mark.slow
def test_the_check_is_there_before_any_judge_is(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "4", "ASSAY_QUIET_MAX": "4"})
    here = world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(here.checks), "the check is there")

    assert pull.check.status in {"queued", "in_progress"}
    assert pull.check.title.startswith("Judging")
    world.wait_until_idle()
    asked = [f"{one['method']} {one['path']}" for one in world.github.requests(here.name)]
    opened = next(at for at, one in enumerate(asked) if one.startswith("POST ") and one.endswith("/check-runs"))
    read = next(at for at, one in enumerate(asked) if one.endswith("/graphql"))
    assert opened < read, "the check is opened before anybody reads the pull request"
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_rate_limit_that_is_almost_used_up_is_told_with_the_time_and_waited_out(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(draft=True)
    world.github.control("rate", remaining=45, reset_in=8)
    world.push_and_judge(pull, {"NOTES.md": "The check on this head tells what is left.\n"})
    world.agent.mark_ready(pull)
    world.wait_until(lambda: bool(here.checks) and "rate limit" in pull.check.title, "the check says that it waits")
    assert (pull.check.status, pull.check.title[:14]) == ("queued", "Waiting until ")
    world.wait_until_idle()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_an_outage_between_the_answer_and_the_check_costs_no_second_question(world: World) -> None:
    world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    world.github.fault("POST /graphql AssayHead", status=502, count=3)
    pull = world.open_and_judge()

    assert pull.check.conclusion == "success"
    assert len(world.model.requests) == 1


def test_our_own_check_run_is_ignored(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.open_and_judge(files=STUB)
    told = [one for one in world.github.state(here.name)["deliveries"] if one["event"] == "check_run"]

    assert [json.loads(one["answer"]) for one in told] == [{"ignored": "own_check_run"}] * 2


def test_after_bad_input_the_next_pull_request_is_judged(world: World) -> None:
    assert world.webhook_sender.send_bytes("pull_request", b"{").status_code == 400
    for forged in ("", "sha256=", "sha256=" + "0" * 64):
        assert world.webhook_sender.send_bytes("pull_request", b"{}", x_hub_signature_256=forged).status_code == 401
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"
