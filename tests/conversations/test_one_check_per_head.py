"""One right check run per head, whatever GitHub repeats, loses or refuses."""

import json
from typing import Any

import pytest

from tests.conversations.conftest import OpenWorld, mark_slow
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.replies import accept
from tests.world.world import World


def test_duplicate_deliveries_lead_to_one_check_run(world: World) -> None:
    world.github.control("hooks", copies=2)
    pull = world.open_and_judge(accept(RETRY_AT))

    assert pull.conclusions == ["success"]


def test_redelivery_of_a_judged_event_is_ignored(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT))
    [opened] = [
        delivery
        for delivery in world.github.state(world.repository.name)["deliveries"]
        if delivery["action"] == "opened"
    ]
    world.wait_after(world.github.control("redeliver", id=opened["id"]))

    assert len(world.model.requests) == 1
    assert pull.check.conclusion == "success"


CREATING = "POST .*/check-runs$"
LOST = {"after": True, "ms": 200}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "response to the check run is lost": (CREATING, {**LOST, "kind": "status"}),
    "query fails": ("POST /graphql", {"status": 502}),
}
RARE: dict[str, tuple[str, dict[str, Any]]] = {
    "connection is reset": (CREATING, {**LOST, "kind": "reset"}),
    "response times out": (CREATING, {**LOST, "kind": "timeout"}),
    "page fails": ("GET .*/pulls/", {"status": 502}),
    "pull request is not found yet": ("GET .*/pulls/1$", {"status": 404, "body": {"message": "Not Found"}}),
    "head is not found yet": (
        CREATING,
        {"status": 422, "body": {"message": "No commit found for SHA: f00"}, "count": 2},
    ),
    "secondary rate limit": ("POST /graphql", {"kind": "secondary", "retry_after": 1}),
}


@pytest.mark.parametrize("fault", [*FAULTS.values(), *mark_slow(*RARE.values())], ids=[*FAULTS, *RARE])
def test_transient_fault_ends_in_one_check_run(world: World, fault: tuple[str, dict[str, Any]]) -> None:
    match, order = fault
    world.create_repository(PROJECT)
    world.github.fault(match, **order)
    pull = world.open_and_judge(files=STUB)

    assert pull.conclusions == ["failure"]


def test_verdict_is_published_when_the_update_fails_once(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.github.fault("PATCH .*/check-runs/", status=502)
    world.wait_after(held_reply.release())

    assert pull.conclusions == ["success"]


@pytest.mark.slow
def test_expired_installation_token_is_replaced(world: World) -> None:
    pull = world.open_and_judge(files=STUB)
    world.github.control("tokens/expire")
    world.push_and_judge(pull, RETRY, accept(RETRY_AT))

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_exhausted_rate_limit_is_waited_out(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.github.control("rate", remaining=0, reset_in=2)
    held_reply.release()
    world.model.reply_by(lambda _: accept(RETRY_AT))
    world.wait_until_idle()

    assert pull.conclusions == ["success"]


@pytest.mark.slow
def test_github_outage_longer_than_the_limit_gives_no_verdict(open_world: OpenWorld) -> None:
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
    ids=[
        "all of GitHub beyond the check deadline",
        "queries beyond the check deadline",
        "queries beyond the outage limit",
    ],
)
def test_recorded_verdict_is_published_after_a_github_outage(
    open_world: OpenWorld, match: str, changes: dict[str, str], most_ms: int
) -> None:
    world = open_world({"ASSAY_RETRY_DELAY": "0.05", **changes})
    repository = world.create_repository(PROJECT)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.github.fault(match, status=502, count=1_000_000)
    held_reply.release()

    def failure_times() -> list[int]:
        return [exchange["at"] for exchange in repository.requests if exchange["status"] == 502]

    world.wait_until(lambda: bool(at := failure_times()) and at[-1] - at[0] > most_ms, "the outage lasted that long")
    assert len(failure_times()) < 150, "retries are bounded"
    [run] = repository.checks
    assert run["conclusion"] is None
    assert bool(match) is str(run["output"]["title"]).startswith("Waiting for GitHub: tried again after")
    world.wait_after(world.github.clear_faults())

    assert pull.conclusions == ["success"]
    assert len(world.model.requests) == 1
    assert not any("Assay failed" in exchange["sent"] for exchange in repository.requests)


@pytest.mark.parametrize("count", [10, *mark_slow(1, 100)])
def test_verdict_takes_at_most_seven_requests(world: World, count: int) -> None:
    repository = world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    more = {f"lib/part{number}.py": f"PART = {number}\n" for number in range(count - 2)} if count > 2 else {}
    pull = world.open_and_judge(files={**RETRY, **more} if count > 1 else {"upload.py": RETRY["upload.py"]})
    first = len(repository.requests)
    assert first + 1 <= 7, "and one for the token"

    world.push_and_judge(pull, {})
    assert pull.verdict["carried_from"]
    assert len(repository.requests) - first <= 4


@pytest.mark.slow
def test_check_run_is_created_before_the_pull_request_is_read(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "4", "ASSAY_QUIET_MAX": "4"})
    world.model.reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(world.repository.checks))

    assert pull.check.status in {"queued", "in_progress"}
    assert pull.check.title.startswith("Judging")
    world.wait_until_idle()
    asked = [f"{exchange['method']} {exchange['path']}" for exchange in world.repository.requests]
    opened = next(at for at, line in enumerate(asked) if line.startswith("POST ") and line.endswith("/check-runs"))
    read = next(at for at, line in enumerate(asked) if line.endswith("/graphql"))
    assert opened < read
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_check_run_says_when_a_low_rate_limit_is_reset(world: World) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(draft=True)
    world.github.control("rate", remaining=45, reset_in=8)
    world.push_and_judge(pull, {"NOTES.md": "The check on this head tells what is left.\n"})
    world.agent.mark_ready(pull)
    world.wait_until(lambda: bool(world.repository.checks) and "rate limit" in pull.check.title)
    assert (pull.check.status, pull.check.title[:14]) == ("queued", "Waiting until ")
    world.wait_until_idle()

    assert pull.conclusions == ["success"]


@pytest.mark.slow
def test_github_outage_after_the_reply_costs_no_second_model_call(world: World) -> None:
    world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    world.github.fault("POST /graphql AssayHead", status=502, count=3)
    pull = world.open_and_judge()

    assert pull.check.conclusion == "success"
    assert len(world.model.requests) == 1


def test_own_check_run_event_is_ignored(world: World) -> None:
    world.open_and_judge(files=STUB)
    deliveries = [
        delivery
        for delivery in world.github.state(world.repository.name)["deliveries"]
        if delivery["event"] == "check_run"
    ]

    assert [json.loads(delivery["answer"]) for delivery in deliveries] == [{"ignored": "own_check_run"}] * 2


def test_pull_request_is_judged_after_forged_deliveries(world: World) -> None:
    assert world.webhook_sender.send_bytes("pull_request", b"{").status_code == 400
    for forged in ("", "sha256=", "sha256=" + "0" * 64):
        assert world.webhook_sender.send_bytes("pull_request", b"{}", x_hub_signature_256=forged).status_code == 401
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"
